//! Learns about traps from the first visits of a cycle, in the URL order of the merge.

use super::{OriginTraps, TrapRules, known};
use recrawl_repository::SledTables;
use recrawl_types::{CanonicalUrl, Content, DatedRound, Origin};
use std::cell::RefCell;
use std::io;

/// Counts the visits of a cycle, one origin at a time: its evidence is read at its first page, and
/// stored at the first page of the next origin. So memory does not grow with the cycle, and the
/// order of its log does not matter. Targets of redirects, whose first visits only the merge
/// recognizes, count like any page.
pub struct TrapLesson<'t> {
    rules: &'t TrapRules,
    tables: &'t SledTables,
    round: DatedRound,
    open: RefCell<Option<Open>>,
    failed: RefCell<Option<io::Error>>,
}

/// The origin whose pages are being merged.
struct Open {
    home: CanonicalUrl,
    /// None if there is nothing to learn: the host is exempt, or an earlier run of the cycle
    /// counted it.
    known: Option<OriginTraps>,
}

impl<'t> TrapLesson<'t> {
    /// A lesson of this round.
    pub fn new(rules: &'t TrapRules, tables: &'t SledTables, round: DatedRound) -> TrapLesson<'t> {
        TrapLesson { rules, tables, round, open: RefCell::default(), failed: RefCell::default() }
    }

    /// Adds a page's first visit.
    pub fn observe(&self, url: &CanonicalUrl, content: &Content) {
        if !super::tells_of_traps(content) {
            return;
        }
        let mut open = self.open.borrow_mut();
        if !open.as_ref().is_some_and(|open| open.home.same_origin(url)) {
            let next = self.close(open.take()).and_then(|()| self.open(url));
            match next {
                Ok(next) => *open = Some(next),
                Err(error) => {
                    self.failed.borrow_mut().get_or_insert(error);
                }
            }
        }
        if let Some(known) = open.as_mut().and_then(|open| open.known.as_mut()) {
            known.observe(url, content.fingerprint.simhash, self.round.cycle, &self.rules.rule);
        }
    }

    fn open(&self, url: &CanonicalUrl) -> io::Result<Open> {
        let known = match self.rules.hold_for(&url.host()) {
            true => {
                Some(known(self.tables, &Origin::of(url))?).filter(|known| known.as_of < self.round.round)
            }
            false => None,
        };
        Ok(Open { home: url.clone(), known })
    }

    fn close(&self, open: Option<Open>) -> io::Result<()> {
        let Some(Open { home, known: Some(mut known) }) = open else { return Ok(()) };
        let origin = Origin::of(&home);
        for pattern in known.settle(self.round, &self.rules.rule) {
            tracing::warn!(%origin, %pattern, "trap: pattern cut off, its pages are near-duplicates");
        }
        self.tables.keep_traps(&origin, &known.to_bytes())
    }

    /// Stores the evidence of the last origin.
    ///
    /// # Errors
    /// When the evidence of an origin could not be read or stored.
    pub fn keep(self) -> io::Result<()> {
        self.close(self.open.take())?;
        self.failed.into_inner().map_or(Ok(()), Err)
    }
}
