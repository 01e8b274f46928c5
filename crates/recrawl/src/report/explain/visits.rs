//! The stored visits of a page.

use recrawl_crawl::labels;
use recrawl_crawl::labels::counted;
use recrawl_repository::StoredVisit;
use recrawl_types::{Change, Cycle, Outcome, PageRecord, VisitRequest};
use serde_json::{Value, json};

/// Visits in a printed strip: the last ones.
const STRIP: usize = 60;

/// As JSON, oldest first.
pub fn json(visits: &[(Cycle, StoredVisit)]) -> Value {
    let one = |(cycle, visit): &(Cycle, StoredVisit)| {
        let changed = visit.outcome.change().and_then(|change| match change {
            Change::Changed => Some(true),
            Change::Unchanged => Some(false),
            Change::First | Change::Undecided => None,
        });
        json!({
            "cycle": cycle.0, "time": visit.at, "outcome": visit.outcome.name(), "changed": changed,
            "why": visit.outcome.why(), "reason": reason(visit.outcome), "status": visit.outcome.status(), "share": labels::share(visit.share).0,
        })
    };
    visits.iter().map(one).collect()
}

/// The times of the visits that the record has the cycles of, by its fields, in milliseconds since 1970: those whose visits
/// are stored.
pub fn times(visits: &[(Cycle, StoredVisit)], record: &PageRecord) -> Value {
    let history = record.visited.as_ref().map(|visited| visited.history);
    let times = |cycle: Cycle, is_meant: fn(Outcome) -> bool| {
        let meant = move |(of, visit): &&(Cycle, StoredVisit)| *of == cycle && is_meant(visit.outcome);
        visits.iter().filter(meant).map(|(_, visit)| visit.at * 1000)
    };
    let has_changed = |outcome: Outcome| matches!(outcome.change(), Some(Change::Changed | Change::First));
    let found = [
        ("first", history.and_then(|history| times(history.first, Outcome::is_visit).next())),
        ("last", history.and_then(|history| times(history.last, Outcome::is_visit).next_back())),
        ("last_change", history.and_then(|history| times(history.last_change, has_changed).next_back())),
        ("last_attempt", times(record.known.last_attempt, is_attempt).next_back()),
    ];
    found.into_iter().filter_map(|(name, at)| Some((name, at?))).collect()
}

/// Does a visit with this outcome count as an attempt?
pub fn is_attempt(outcome: Outcome) -> bool {
    !outcome.is_skip() || outcome.request() == VisitRequest::Page
}

/// In words why a visit did not get the page, if so.
pub fn reason(outcome: Outcome) -> Option<String> {
    (!outcome.is_visit()).then(|| outcome.to_string())
}

/// One sign per visit, oldest first, and a legend; none without visits.
pub fn strip(visits: &[(Cycle, StoredVisit)]) -> Option<String> {
    let visits = &visits[visits.len().saturating_sub(STRIP)..];
    let (first, last) = (visits.first()?.0, visits.last()?.0);
    let signs: String = visits.iter().map(|(_, visit)| sign(visit.outcome)).collect();
    let shown = counted(signs.len() as u64, "visit");
    let cycles = if first == last { format!("cycle {first}") } else { format!("cycles {first} to {last}") };
    Some(format!(
        "{signs}  ({shown} in {cycles}: * first, # changed, - unchanged, x failed, . skipped; \
         a cycle that does not select the page has no sign)"
    ))
}

/// Failed and skipped as in the reports of cycles ([`recrawl_crawl::report::Tally::all_failed`]).
fn sign(outcome: Outcome) -> char {
    match outcome.change() {
        Some(Change::First) => '*',
        Some(Change::Changed) => '#',
        Some(Change::Unchanged | Change::Undecided) => '-',
        None => match outcome {
            Outcome::NotFound(_) | Outcome::Failed(_) | Outcome::RobotsUnreachable(_) => 'x',
            _ => '.',
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::{Content, Failure, History, Share, Skip, UrlRules, Visited};

    #[test]
    fn the_record_has_the_times_of_visits_that_are_stored() {
        let url = UrlRules::default().canonicalize("http://a.test/").unwrap();
        let visit = |cycle, at, outcome| {
            let (share, confirmed, missed, learned) = (Share::Score, 0, 0, None);
            (Cycle(cycle), StoredVisit { url: url.clone(), at, share, outcome, confirmed, missed, learned })
        };
        let stored = [
            visit(3, 30, Outcome::Fetched(Change::Unchanged)),
            visit(3, 31, Outcome::Fetched(Change::Changed)),
            visit(3, 32, Outcome::NotModified),
            visit(4, 40, Outcome::Failed(Failure::Dns)),
            visit(4, 41, Outcome::Skipped(Skip::HostBackOff)),
        ];
        let mut record = PageRecord::discovered(Cycle(1), 0);
        record.known.last_attempt = Cycle(4);
        assert_eq!(times(&stored, &record), json!({"last_attempt": 40_000}));
        // Its first visit is no longer stored.
        let history =
            History { first: Cycle(2), last: Cycle(3), last_change: Cycle(3), ..History::default() };
        record.visited = Some(Visited { history, content: Content::default() });
        assert_eq!(
            times(&stored, &record),
            json!({"last": 32_000, "last_change": 31_000, "last_attempt": 40_000})
        );
    }

    #[test]
    fn each_visit_has_its_sign() {
        let url = UrlRules::default().canonicalize("http://a.test/").unwrap();
        let visit = |outcome| StoredVisit {
            url: url.clone(),
            at: 0,
            share: Share::Asked,
            outcome,
            confirmed: 0,
            missed: 0,
            learned: None,
        };
        let all: Vec<_> = [
            Outcome::Fetched(Change::First),
            Outcome::Fetched(Change::Changed),
            Outcome::NotModified,
            Outcome::Failed(Failure::Dns),
            Outcome::Skipped(Skip::Blocked),
            Outcome::RobotsUnreachable(None),
            Outcome::RefusedAddress(None),
        ]
        .into_iter()
        .zip(3..)
        .map(|(outcome, cycle)| (Cycle(cycle), visit(outcome)))
        .collect();
        let text = strip(&all).unwrap();
        assert!(text.starts_with("*#-x.x.  (7 visits in cycles 3 to 9:"), "{text}");
        let many: Vec<_> = (0..70).flat_map(|_| all[..1].to_vec()).collect();
        assert!(strip(&many).unwrap().starts_with(&format!("{}  (60 visits in cycle 3:", "*".repeat(60))));
        assert_eq!(strip(&[]), None);
        let json = json(&all);
        assert_eq!(
            (&json[1]["changed"], &json[4]["why"], &json[4]["share"]),
            (&true.into(), &"blocked".into(), &"asked".into())
        );
    }
}
