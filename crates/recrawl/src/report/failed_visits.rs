//! The visits of a host that did not get their pages.

use super::{counted, thousands};
use recrawl_archive::timestamp;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::output::page_history::MAX_HISTORY_BYTES;
use recrawl_repository::{StoredRounds, StoredVisit};
use recrawl_types::{Cycle, Origin, Outcome, OutcomeEffect, UrlRules};

/// The visits of a host in a cycle.
#[derive(Default)]
pub struct HostVisits {
    cycle: Cycle,
    /// Were only its newest rounds read?
    is_cut: bool,
    all: u64,
    /// Refused by the address guard, and why the last was.
    refused: (u64, Option<Outcome>),
    failed: u64,
    /// The last that failed.
    last_failed: Option<StoredVisit>,
}

/// The visits of the newest cycle that visited the origin; none if none did. Reads at most some [`MAX_HISTORY_BYTES`].
///
/// # Errors
/// When the stored visits cannot be read.
pub fn newest(kept: &StoredRounds, origin: &Origin) -> Result<Option<HostVisits>, Failure> {
    read(kept, origin, MAX_HISTORY_BYTES)
}

fn read(kept: &StoredRounds, origin: &Origin, most: u64) -> Result<Option<HostVisits>, Failure> {
    let home = UrlRules::keep_all().canonicalize(&origin.to_string()).map_err(Failure::work)?;
    let (mut found, mut bytes): (Option<HostVisits>, u64) = (None, 0);
    for round in kept.list().map_err(Failure::work)?.into_iter().rev() {
        if found.as_ref().is_some_and(|found| found.cycle != round.cycle) {
            break;
        }
        if bytes >= most {
            found.iter_mut().for_each(|found| found.is_cut = true);
            break;
        }
        // A commit may just have removed the oldest file.
        let Some(mut visits) = kept.visits(round).map_err(Failure::work)? else { continue };
        while let Some(visit) = visits.next_from(home.origin_key()).map_err(Failure::work)?
            && visit.url.origin_key() == home.origin_key()
        {
            // A host in back-off is left alone: the visits before say why.
            if !visit.outcome.is_skip() {
                let fresh = || HostVisits { cycle: round.cycle, ..HostVisits::default() };
                found.get_or_insert_with(fresh).take(visit);
            }
        }
        bytes += visits.bytes_read();
    }
    Ok(found)
}

impl HostVisits {
    fn take(&mut self, visit: StoredVisit) {
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
        let of_cycle = if self.is_cut { "the newest rounds of cycle" } else { "cycle" };
        if let (refused, Some(why)) = self.refused {
            let visits = counted(refused, "visit");
            lines.push(format!("addresses     {visits} refused in {of_cycle} {}: {why}", self.cycle));
        }
        if let Some(last) = &self.last_failed {
            let (failed, all) = (thousands(self.failed), counted(self.all, "visit"));
            lines.push(format!("failed        {failed} of {all} in {of_cycle} {}; the last:", self.cycle));
            lines.push(format!("              {} {}: {}", timestamp(last.at * 1000), last.url, last.outcome));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_repository::Repository;
    use recrawl_repository::storage::MemoryStorage;
    use recrawl_types::outcome::AddressRefusal;
    use recrawl_types::{CanonicalUrl, Change, Share, Skip};
    use std::sync::Arc;

    fn url(text: &str) -> CanonicalUrl {
        UrlRules::keep_all().canonicalize(text).unwrap()
    }

    /// Commits a round with these visits.
    fn commit(repository: &mut Repository, cycle: u32, visits: &[(&str, u64, Outcome)]) {
        let before = repository.current();
        let mut round = repository.begin(&before, Cycle(cycle)).unwrap();
        for &(page, at, outcome) in visits {
            let (confirmed, missed, learned) = (0, 0, None);
            let share = Share::Asked;
            round
                .keep_visit(&StoredVisit { url: url(page), at, share, outcome, confirmed, missed, learned })
                .unwrap();
        }
        repository.commit(round, b"{}").unwrap();
    }

    #[test]
    fn the_failures_are_those_of_the_newest_cycle_and_the_last_says_why() {
        let mut repository = Repository::open(Arc::new(MemoryStorage::new())).unwrap().keeping_visits(99);
        let origin = Origin::from_url(&url("http://a.test/"));
        let lines = |repository: &Repository, most| {
            let found = read(&repository.kept(), &origin, most).unwrap();
            found.map(|found| found.lines()).unwrap_or_default()
        };
        let failed = |status| Outcome::Failed(recrawl_types::Failure::Status(status));
        commit(&mut repository, 6, &[("http://a.test/old", 1_000, failed(500))]);
        commit(&mut repository, 7, &[("http://a.test/fine", 1_001, Outcome::Fetched(Change::First))]);
        assert!(lines(&repository, u64::MAX).is_empty(), "all of this cycle went well");
        let refused = Outcome::RefusedAddress(Some(AddressRefusal::NoContact));
        commit(
            &mut repository,
            7,
            &[
                ("http://a.tes/", 1_790_000_009, failed(501)),
                ("http://a.test/a", 1_790_000_003, failed(403)),
                ("http://a.test/b", 1_790_000_002, Outcome::NotFound(404)),
                ("http://a.test/d", 1_790_000_005, Outcome::Skipped(Skip::Blocked)),
                ("http://a.test/e", 1_790_000_006, refused),
                ("https://a.test/", 1_790_000_009, failed(502)),
            ],
        );
        commit(
            &mut repository,
            7,
            &[("http://a.test/d", 1_790_000_008, Outcome::Skipped(Skip::HostBackOff))],
        );
        commit(&mut repository, 8, &[("http://b.test/", 1_790_000_010, failed(503))]);
        let told = lines(&repository, u64::MAX);
        assert!(
            told[0].starts_with("addresses     1 visit refused in cycle 7: the crawl has no"),
            "{told:?}"
        );
        assert!(!told[0].contains("allow_addresses"), "the other reason: {told:?}");
        assert_eq!(told[1], "failed        2 of 4 visits in cycle 7; the last:");
        assert_eq!(told[2], "              2026-09-21T14:13:23Z http://a.test/a: HTTP status 403");
        assert_eq!(lines(&repository, 1), [""; 0], "the newest round has no visit of it");
        commit(&mut repository, 8, &[("http://a.test/a", 1_790_000_011, failed(404))]);
        commit(&mut repository, 8, &[("http://a.test/a", 1_790_000_012, failed(404))]);
        let told = &lines(&repository, 1)[0];
        assert_eq!(told, "failed        1 of 1 visit in the newest rounds of cycle 8; the last:");
    }
}
