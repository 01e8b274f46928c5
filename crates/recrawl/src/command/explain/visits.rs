//! The stored visits of a page.

use crate::words;
use recrawl_repository::KeptVisit;
use recrawl_types::{Change, Cycle, Outcome, Request};
use serde_json::{Value, json};

/// Visits in a printed strip: the last ones.
const STRIP: usize = 60;

/// As JSON, oldest first.
pub fn json(visits: &[(Cycle, KeptVisit)]) -> Value {
    let one = |(cycle, visit): &(Cycle, KeptVisit)| {
        let changed = visit.outcome.change().and_then(|change| match change {
            Change::Changed => Some(true),
            Change::Unchanged => Some(false),
            Change::First | Change::Undecided => None,
        });
        json!({
            "cycle": cycle.0, "time": visit.at, "outcome": visit.outcome.name(), "changed": changed,
            "why": visit.outcome.why(), "status": visit.outcome.status(), "share": words::share(visit.share).0,
        })
    };
    visits.iter().map(one).collect()
}

/// One sign per visit, oldest first, and a legend; none without visits.
pub fn strip(visits: &[(Cycle, KeptVisit)]) -> Option<String> {
    let (first, last) = (visits.first()?.0, visits.last()?.0);
    let signs: String =
        visits[visits.len().saturating_sub(STRIP)..].iter().map(|(_, v)| sign(v.outcome)).collect();
    Some(format!("{signs}  (cycles {first} to {last}: * first, # changed, - unchanged, x failed, . skipped)"))
}

fn sign(outcome: Outcome) -> char {
    match outcome.change() {
        Some(Change::First) => '*',
        Some(Change::Changed) => '#',
        Some(Change::Unchanged | Change::Undecided) => '-',
        None if outcome.request() == Request::Nothing => '.',
        None => 'x',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::{Failure, Share, Skip, UrlRules};

    #[test]
    fn each_visit_has_its_sign() {
        let url = UrlRules::default().canonicalize("http://a.test/").unwrap();
        let visit =
            |outcome| KeptVisit { url: url.clone(), at: 0, share: Share::Asked, outcome, confirmed: 0 };
        let all: Vec<_> = [
            Outcome::Fetched(Change::First),
            Outcome::Fetched(Change::Changed),
            Outcome::NotModified,
            Outcome::Failed(Failure::Dns),
            Outcome::Skipped(Skip::Blocked),
        ]
        .into_iter()
        .zip(3..)
        .map(|(outcome, cycle)| (Cycle(cycle), visit(outcome)))
        .collect();
        let text = strip(&all).unwrap();
        assert!(text.starts_with("*#-x.  (cycles 3 to 7:"), "{text}");
        assert_eq!(strip(&[]), None);
        let json = json(&all);
        assert_eq!(
            (&json[1]["changed"], &json[4]["why"], &json[4]["share"]),
            (&true.into(), &"blocked".into(), &"asked".into())
        );
    }
}
