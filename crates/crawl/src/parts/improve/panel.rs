//! The panel: pages that are visited in every cycle for a while, so that their histories have no gaps.
//!
//! It rotates: each cycle, the first pages drawn for the audit sample enter it, and those that entered
//! [`CYCLES`] cycles before leave, as in labour surveys (Ohlsson 1995). With `max_per_host`, pages of full hosts are
//! drawn less often.

use crate::failure::Failure;
use crate::stored::{keep, kept};
use recrawl_repository::SledTables;
use recrawl_types::{CanonicalUrl, Cycle, UrlRules};
use serde::{Deserialize, Serialize};

/// Cycles that a page stays in the panel.
pub const CYCLES: u32 = 28;
/// The name under which the panel is kept.
const PANEL: &str = "panel";

/// The pages of the panel in the order of their URLs, each with the cycle in which it entered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AuditPanel {
    members: Vec<(CanonicalUrl, Cycle)>,
}

/// The panel in the tables.
#[derive(Serialize, Deserialize)]
struct StoredPanel {
    members: Vec<(String, Cycle)>,
}

impl AuditPanel {
    /// The panel of a cycle. Pages that entered in it do not count: they are visited for the audit.
    ///
    /// # Errors
    /// When the tables cannot be read.
    pub fn for_cycle(tables: &SledTables, cycle: Cycle) -> Result<AuditPanel, Failure> {
        let AuditPanel { mut members } = AuditPanel::read(tables)?;
        members.retain(|(_, entered)| *entered < cycle && cycle.since(*entered) <= CYCLES);
        Ok(AuditPanel { members })
    }

    fn read(tables: &SledTables) -> Result<AuditPanel, Failure> {
        let members = kept::<StoredPanel>(tables, PANEL)?.map(|kept| kept.members).unwrap_or_default();
        let rules = UrlRules::keep_all();
        let url = |text: &str| rules.canonicalize(text).map_err(Failure::work);
        let members = members.into_iter().map(|(text, entered)| Ok((url(&text)?, entered)));
        Ok(AuditPanel { members: members.collect::<Result<_, Failure>>()? })
    }

    /// Removes pages, which may be named nowhere.
    ///
    /// # Errors
    /// When the tables cannot be read or written.
    pub fn forget(tables: &SledTables, is_meant: &dyn Fn(&CanonicalUrl) -> bool) -> Result<(), Failure> {
        let AuditPanel { mut members } = AuditPanel::read(tables)?;
        let pages = members.len();
        members.retain(|(url, _)| !is_meant(url));
        if members.len() < pages { AuditPanel { members }.write(tables) } else { Ok(()) }
    }

    /// Keeps a panel of one page.
    #[cfg(test)]
    pub fn plant(tables: &SledTables, page: &CanonicalUrl) {
        AuditPanel { members: vec![(page.clone(), Cycle(1))] }.write(tables).unwrap();
    }

    fn write(&self, tables: &SledTables) -> Result<(), Failure> {
        let members = self.members.iter().map(|(url, entered)| (url.as_text(), *entered)).collect();
        keep(tables, PANEL, &StoredPanel { members })
    }

    /// Its pages.
    pub fn urls(&self) -> Vec<CanonicalUrl> {
        self.members.iter().map(|(url, _)| url.clone()).collect()
    }

    /// Pages that enter in a cycle, so that in the long run the panel has `pages` of them.
    pub fn entrants(pages: f64, cycle: Cycle) -> u64 {
        let a_cycle = pages / f64::from(CYCLES);
        let until = |cycle: u32| (a_cycle * f64::from(cycle)).floor();
        (until(cycle.0.saturating_add(1)) - until(cycle.0)) as u64
    }

    /// Keeps the panel with its entrants.
    ///
    /// # Errors
    /// When the tables cannot be written.
    pub fn keep(
        mut self,
        tables: &SledTables,
        entrants: Vec<CanonicalUrl>,
        cycle: Cycle,
    ) -> Result<(), Failure> {
        self.members.extend(entrants.into_iter().map(|url| (url, cycle)));
        self.members.sort();
        self.members.dedup_by(|later, first| later.0 == first.0);
        self.write(tables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_stays_for_as_many_cycles_and_a_cycle_that_is_planned_again_has_the_same_panel() {
        let folder = tempfile::tempdir().unwrap();
        let tables = SledTables::open(folder.path()).unwrap();
        let url =
            |cycle: u32| UrlRules::keep_all().canonicalize(&format!("http://a.example/{cycle}")).unwrap();
        for cycle in 1..100 {
            let cycle = Cycle(cycle);
            let panel = AuditPanel::for_cycle(&tables, cycle).unwrap();
            let mut expected: Vec<_> = (cycle.0.saturating_sub(CYCLES).max(1)..cycle.0).map(url).collect();
            expected.sort();
            assert_eq!(panel.urls(), expected, "{cycle}");
            // A crash between these and the schedule's end.
            panel.clone().keep(&tables, vec![url(cycle.0)], cycle).unwrap();
            assert_eq!(AuditPanel::for_cycle(&tables, cycle).unwrap(), panel);
            panel.keep(&tables, vec![url(cycle.0)], cycle).unwrap();
        }
        AuditPanel::forget(&tables, &|page| *page == url(90)).unwrap();
        let left = AuditPanel::for_cycle(&tables, Cycle(100)).unwrap();
        assert_eq!((left.members.len(), left.urls().contains(&url(90))), (CYCLES as usize - 1, false));
    }

    #[test]
    fn in_the_long_run_as_many_enter_as_leave() {
        for pages in [0.0, 0.9, 25.0, 28.0, 1000.0] {
            let entered: u64 = (0..2800).map(|cycle| AuditPanel::entrants(pages, Cycle(cycle))).sum();
            assert!((entered as f64 - 100.0 * pages).abs() <= 1.0, "{entered} for {pages}");
        }
    }
}
