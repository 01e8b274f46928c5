//! Hosts of seeds of which no page can be fetched: a dead site is told, also when few pages were asked for.
//!
//! A host stands in the list from a round on in which all that was asked of it failed, until a round gets an answer,
//! be it a 404. What was not asked, or refused by robots.txt, changes nothing.

use crate::failure::Failure;
use crate::lesson::RoundLesson;
use crate::part::{InTables, Takedown};
use crate::stored::{keep, kept};
use recrawl_repository::{Generation, SledTables};
use recrawl_types::outcome::OutcomeEffect;
use recrawl_types::{CanonicalUrl, DatedRound, Origin, Share, Visit, VisitRequest};
use std::collections::{BTreeMap, BTreeSet};

/// Hosts at most that are listed: more are told no better.
const MAX_LISTED: usize = 100;
/// Pages of a host, the first in URL order, among which its seed is looked for.
const LOOKED_AT: usize = 100;

/// Name of the setting in the tables.
const FAILING: &str = "failing_seed_hosts";

/// The hosts of seeds of which no page can be fetched.
///
/// # Errors
/// When the tables cannot be read.
pub fn failing(tables: &SledTables) -> Result<BTreeSet<String>, Failure> {
    Ok(kept(tables, FAILING)?.unwrap_or_default())
}

/// Removes the hosts that are meant as a whole.
///
/// # Errors
/// When the tables cannot be read or written.
pub fn forget(down: &Takedown<'_>, removed: &mut InTables) -> Result<(), Failure> {
    let mut hosts = failing(down.tables)?;
    let before = hosts.len();
    hosts.retain(|host| !home(host).is_some_and(|home| down.meant.covers_host(&home.host())));
    removed.hosts += (before - hosts.len()) as u64;
    if hosts.len() < before && !down.only_count {
        keep(down.tables, FAILING, &hosts)?;
    }
    Ok(())
}

fn home(origin: &str) -> Option<CanonicalUrl> {
    recrawl_types::UrlRules::keep_all().canonicalize(origin).ok()
}

/// The answers of one host in a round.
struct HostAnswers {
    has_answered: bool,
    /// A page that failed.
    failed: Option<CanonicalUrl>,
}

/// The lesson of a round. Memory: an entry for each host that it asked.
pub struct SeedHostLesson<'r> {
    /// As the round began.
    generation: &'r Generation,
    asked: BTreeMap<Origin, HostAnswers>,
}

impl<'r> SeedHostLesson<'r> {
    /// An empty lesson of a round that begins with this generation.
    pub fn new(generation: &'r Generation) -> SeedHostLesson<'r> {
        SeedHostLesson { generation, asked: BTreeMap::new() }
    }

    /// Is a page of this host a seed? One that was asked for and is not known yet is one.
    fn is_of_seed(&self, failed: &CanonicalUrl) -> Result<bool, Failure> {
        if self.generation.get(failed)?.is_none() {
            return Ok(true);
        }
        let origin = failed.origin_key();
        let first = self.generation.first_ordinal(origin);
        let mut pages = self.generation.gather(first..self.generation.pages());
        let mut seen = 0;
        while let Some((_, url, record)) = pages.next_page()? {
            if url.key() < origin {
                continue;
            }
            if url.origin_key() != origin || seen == LOOKED_AT {
                break;
            }
            if record.known.depth == 0 {
                return Ok(true);
            }
            seen += 1;
        }
        Ok(false)
    }
}

impl RoundLesson for SeedHostLesson<'_> {
    fn visited(&mut self, visit: &Visit) {
        let has_failed = match visit.outcome.effect() {
            OutcomeEffect::Failure => true,
            OutcomeEffect::Visit | OutcomeEffect::Absence => false,
            // It answered, with another media type.
            OutcomeEffect::Refusal if visit.outcome.request() == VisitRequest::Page => false,
            OutcomeEffect::Refusal | OutcomeEffect::Nothing => return,
        };
        let answers = HostAnswers { has_answered: false, failed: None };
        let answers = self.asked.entry(Origin::from_url(&visit.url)).or_insert(answers);
        answers.has_answered |= !has_failed;
        // What a redirect led to may be unknown, and is no seed.
        if has_failed && visit.share != Share::Followed {
            answers.failed.get_or_insert_with(|| visit.url.clone());
        }
    }

    /// The same after the same round, however often it is stored.
    fn store(&mut self, tables: &SledTables, _round: DatedRound) -> Result<(), Failure> {
        let before = failing(tables)?;
        let mut hosts = before.clone();
        for (origin, answers) in &self.asked {
            match &answers.failed {
                _ if answers.has_answered => _ = hosts.remove(&origin.to_string()),
                Some(failed) if hosts.len() < MAX_LISTED && self.is_of_seed(failed)? => {
                    hosts.insert(origin.to_string());
                }
                _ => {}
            }
        }
        if hosts == before { Ok(()) } else { keep(tables, FAILING, &hosts) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_repository::Repository;
    use recrawl_repository::storage::MemoryStorage;
    use recrawl_types::{Change, Cycle, Outcome, PageRecord, Skip, UrlRules};
    use std::sync::Arc;

    fn url(text: &str) -> CanonicalUrl {
        UrlRules::keep_all().canonicalize(text).unwrap()
    }

    #[test]
    fn a_seeds_host_is_listed_from_its_failure_to_its_next_answer() {
        let mut repository = Repository::open(Arc::new(MemoryStorage::new())).unwrap();
        let empty = Generation::default();
        let mut writer = repository.begin(&empty, Cycle(1)).unwrap();
        for (page, depth) in [("http://a.test/", 0), ("http://a.test/x", 1), ("http://b.test/", 1)] {
            writer.push(url(page).key(), &PageRecord::discovered(Cycle(1), depth)).unwrap();
        }
        repository.commit(writer, b"report").unwrap();
        let (tables, generation) = (SledTables::temporary().unwrap(), repository.current());
        let timeout = Outcome::Failed(recrawl_types::Failure::Timeout);
        let after = |visits: &[(&str, Outcome)]| {
            let mut lesson = SeedHostLesson::new(&generation);
            visits.iter().for_each(|(page, outcome)| lesson.visited(&Visit::new(url(page), *outcome)));
            // A crash between two stores makes no difference.
            (0..2).for_each(|_| lesson.store(&tables, DatedRound::only_of(Cycle(2))).unwrap());
            failing(&tables).unwrap().into_iter().collect::<Vec<_>>()
        };
        let nothing: [&str; 0] = [];
        let found = Outcome::Fetched(Change::Unchanged);
        assert_eq!(
            after(&[("http://a.test/x", timeout), ("http://a.test/", found)]),
            nothing,
            "one page fails"
        );
        assert_eq!(after(&[("http://b.test/", timeout)]), nothing, "it is no seed's");
        assert_eq!(after(&[("http://a.test/x", timeout)]), ["http://a.test"]);
        assert_eq!(after(&[("http://new.test/", timeout)]), ["http://a.test", "http://new.test"]);
        let not_asked = [Outcome::Skipped(Skip::HostBackOff), Outcome::RobotsDenied];
        let not_asked = not_asked.map(|outcome| ("http://a.test/", outcome));
        assert_eq!(after(&not_asked), ["http://a.test", "http://new.test"], "as before");
        assert_eq!(after(&[("http://a.test/x", Outcome::NotFound(404))]), ["http://new.test"], "it answers");
    }
}
