//! The visits of a host that did not get their pages.

use super::{counted, thousands};
use recrawl_archive::timestamp;
use recrawl_crawl::failure::Failure;
use recrawl_repository::{StoredRounds, StoredVisit};
use recrawl_types::{Cycle, Origin, Outcome, OutcomeEffect};

/// Rounds that are read: the newest with stored visits.
const ROUNDS: usize = 10;

/// The visits of a host in a round.
pub struct HostVisits {
    cycle: Cycle,
    all: u64,
    /// Refused by the address guard, and why the last was.
    refused: (u64, Option<Outcome>),
    failed: u64,
    /// The last that failed.
    last_failed: Option<StoredVisit>,
}

/// The visits of the newest round that visited the origin; none if none did.
///
/// # Errors
/// When the stored visits cannot be read.
pub fn newest(kept: &StoredRounds, origin: &Origin) -> Result<Option<HostVisits>, Failure> {
    for round in kept.list().map_err(Failure::work)?.into_iter().rev().take(ROUNDS) {
        // A commit may just have removed the oldest file.
        let Some(mut visits) = kept.visits(round).map_err(Failure::work)? else { continue };
        let mut found =
            HostVisits { cycle: round.cycle, all: 0, refused: (0, None), failed: 0, last_failed: None };
        while let Some(visit) = visits.next_visit().map_err(Failure::work)? {
            if *visit.url.host() == *origin.host && Origin::from_url(&visit.url) == *origin {
                found.take(visit);
            }
        }
        if found.all > 0 {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

impl HostVisits {
    fn take(&mut self, visit: StoredVisit) {
        // A host in back-off is left alone: the round before says why.
        if visit.outcome.is_skip() {
            return;
        }
        self.all += 1;
        match visit.outcome.effect() {
            _ if matches!(visit.outcome, Outcome::RefusedAddress(_)) => {
                self.refused = (self.refused.0 + 1, Some(visit.outcome));
            }
            OutcomeEffect::Absence | OutcomeEffect::Failure => {
                self.failed += 1;
                if self.last_failed.as_ref().is_none_or(|last| last.at <= visit.at) {
                    self.last_failed = Some(visit);
                }
            }
            OutcomeEffect::Visit | OutcomeEffect::Refusal | OutcomeEffect::Nothing => {}
        }
    }

    /// The lines for people; none if all went well.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let (refused, Some(why)) = self.refused {
            let visits = counted(refused, "visit");
            lines.push(format!("addresses     {visits} refused in cycle {}: {why}", self.cycle));
        }
        if let Some(last) = &self.last_failed {
            let (failed, all) = (thousands(self.failed), counted(self.all, "visit"));
            lines.push(format!("failed        {failed} of {all} in cycle {}; the last:", self.cycle));
            lines.push(format!("              {} {}: {}", timestamp(last.at), last.url, last.outcome));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::outcome::AddressRefusal;
    use recrawl_types::{Change, Share, Skip, UrlRules};

    #[test]
    fn the_last_failure_says_why() {
        let mut found =
            HostVisits { cycle: Cycle(7), all: 0, refused: (0, None), failed: 0, last_failed: None };
        assert!(found.lines().is_empty());
        let url = |path: &str| UrlRules::default().canonicalize(&format!("http://a.test/{path}")).unwrap();
        for (path, at, outcome) in [
            ("a", 3_000, Outcome::Failed(recrawl_types::Failure::Status(403))),
            ("b", 2_000, Outcome::NotFound(404)),
            ("c", 4_000, Outcome::Fetched(Change::First)),
            ("d", 5_000, Outcome::Skipped(Skip::Blocked)),
            ("e", 6_000, Outcome::RefusedAddress(Some(AddressRefusal::NoContact))),
        ] {
            let (confirmed, missed, learned) = (0, 0, None);
            let visit =
                StoredVisit { url: url(path), at, share: Share::Asked, outcome, confirmed, missed, learned };
            found.take(visit);
        }
        let lines = found.lines();
        assert!(
            lines[0].starts_with("addresses     1 visit refused in cycle 7: the crawl has no"),
            "{lines:?}"
        );
        assert!(!lines[0].contains("allow_addresses"), "the other reason: {lines:?}");
        assert_eq!(lines[1], "failed        2 of 4 visits in cycle 7; the last:");
        assert_eq!(lines[2], "              1970-01-01T00:00:03Z http://a.test/a: HTTP status 403");
    }
}
