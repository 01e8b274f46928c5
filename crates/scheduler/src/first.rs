//! Pages that a cycle visits whatever their score: the panel, and promises.

use crate::chosen::{ChosenBy, ChosenEntry};
use crate::runs::Runs;
use std::io;

/// A page to visit before others, if it is due for a revisit and its host has a free slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DueFirst {
    /// Ordinal of the page.
    pub ordinal: u64,
    /// Why.
    pub why: WhyFirst,
}

/// Why a page is visited before others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WhyFirst {
    /// It is in the panel.
    Panel,
    /// A promise would be broken in the next cycle.
    Promised,
}

impl DueFirst {
    pub(crate) fn choose(self, choice: &mut ChosenEntry, disk: &mut Runs) -> io::Result<()> {
        let by = match self.why {
            WhyFirst::Panel => ChosenBy::Panel,
            WhyFirst::Promised => ChosenBy::Promised,
        };
        choice.push(self.ordinal, by, self.ordinal, f32::NAN, disk)
    }
}

/// The pages in the order of ordinals, taken while a scan passes them.
#[derive(Clone, Debug, Default)]
pub(crate) struct FirstInOrder {
    pages: Vec<DueFirst>,
    next: usize,
}

impl FirstInOrder {
    /// Of several reasons for a page, the first one counts.
    pub fn new(mut pages: Vec<DueFirst>) -> FirstInOrder {
        pages.sort_unstable();
        pages.dedup_by_key(|page| page.ordinal);
        FirstInOrder { pages, next: 0 }
    }

    /// Is this page one of them? Ordinals are asked for in ascending order.
    pub fn take(&mut self, ordinal: u64) -> Option<DueFirst> {
        while self.pages.get(self.next)?.ordinal < ordinal {
            self.next += 1;
        }
        Some(self.pages[self.next]).filter(|page| page.ordinal == ordinal)
    }
}
