//! Learns about traps from the first visits of a cycle, in the URL order of the merge.

use super::{OriginTraps, TrapRules, known};
use crate::failure::Failure;
use crate::lesson::RoundLesson;
use recrawl_repository::SledTables;
use recrawl_types::{CanonicalUrl, Content, DatedRound, Origin};
use std::io;
use std::sync::Arc;

/// Counts the visits of a cycle, one origin at a time: its evidence is read at its first page, and
/// stored at the first page of the next origin. So memory does not grow with the cycle, and the
/// order of its log does not matter. Targets of redirects, whose first visits only the merge
/// recognizes, count like any page.
pub struct TrapLesson {
    rules: TrapRules,
    tables: Arc<SledTables>,
    round: DatedRound,
    open: Option<OpenOrigin>,
    failed: Option<io::Error>,
}

/// The origin whose pages are being merged.
struct OpenOrigin {
    home: CanonicalUrl,
    /// None if there is nothing to learn: the host is exempt, or an earlier run of the cycle
    /// counted it.
    known: Option<OriginTraps>,
}

impl TrapLesson {
    /// A lesson of this round.
    pub fn new(rules: &TrapRules, tables: &Arc<SledTables>, round: DatedRound) -> TrapLesson {
        TrapLesson { rules: rules.clone(), tables: tables.clone(), round, open: None, failed: None }
    }

    fn open(&self, url: &CanonicalUrl) -> io::Result<OpenOrigin> {
        let known = match self.rules.hold_for(&url.host()) {
            true => Some(known(&self.tables, &Origin::from_url(url))?)
                .filter(|known| known.as_of < self.round.round),
            false => None,
        };
        Ok(OpenOrigin { home: url.clone(), known })
    }

    fn close(&self, open: Option<OpenOrigin>) -> io::Result<()> {
        let Some(OpenOrigin { home, known: Some(mut known) }) = open else { return Ok(()) };
        let origin = Origin::from_url(&home);
        for pattern in known.settle(self.round, &self.rules.rule) {
            tracing::warn!(%origin, %pattern, "trap: pattern cut off, its pages are near-duplicates");
        }
        self.tables.keep_traps(&origin, &known.to_bytes())
    }
}

impl RoundLesson for TrapLesson {
    fn visited_first(&mut self, url: &CanonicalUrl, content: &Content) {
        if !super::tells_of_traps(content) {
            return;
        }
        if !self.open.as_ref().is_some_and(|open| open.home.same_origin(url)) {
            let last = self.open.take();
            match self.close(last).and_then(|()| self.open(url)) {
                Ok(next) => self.open = Some(next),
                Err(error) => _ = self.failed.get_or_insert(error),
            }
        }
        if let Some(known) = self.open.as_mut().and_then(|open| open.known.as_mut()) {
            known.observe(url, content.fingerprint.simhash, self.round.cycle, &self.rules.rule);
        }
    }

    /// Stores the evidence of the last origin: that of the others is stored already.
    fn store(&mut self, _tables: &SledTables, _round: DatedRound) -> Result<(), Failure> {
        let last = self.open.take();
        self.close(last)?;
        Ok(self.failed.take().map_or(Ok(()), Err)?)
    }
}
