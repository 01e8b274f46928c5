//! Every outcome: its code, its names, and what the documentation says of it.

use recrawl_types::outcome::{AddressRefusal, Detail};
use recrawl_types::{Failure, Outcome, Skip, VisitRequest};
use std::collections::{BTreeMap, BTreeSet};

const OUTCOMES: &str = include_str!("../../../docs/outcomes.md");
const FORMATS: &str = include_str!("../../../docs/internals/formats.md");
const OUTPUTS: &str = include_str!("../../../docs/outputs.md");

#[test]
fn every_outcome_has_a_code_of_its_own() {
    let all = Outcome::all(418);
    let codes: BTreeSet<(u8, u64)> = all.iter().map(|outcome| outcome.code()).collect();
    assert_eq!(codes.len(), all.len());
    for outcome in all {
        let (tag, detail) = outcome.code();
        assert_eq!(Outcome::of_code(tag, detail), Some(outcome));
    }
    for tag in 0..=u8::MAX {
        for detail in (0..600).chain([1 << 16, u64::MAX]) {
            let outcome = Outcome::of_code(tag, detail);
            assert!(outcome.is_none_or(|outcome| outcome.code() == (tag, detail)), "{outcome:?}");
        }
    }
}

/// A code that changes its meaning makes old logs say something else.
#[test]
fn codes_of_older_logs_mean_what_they_meant() {
    let names = [
        "fetched",
        "not_modified",
        "redirected",
        "not_found",
        "failed",
        "failed",
        "robots_denied",
        "robots_unreachable",
        "refused_address",
        "skipped",
    ];
    for (tag, name) in (0..).zip(names) {
        assert_eq!(Outcome::of_code(tag, 0).unwrap().name(), name);
    }
    let changes = ["first", "unchanged", "changed", "undecided"];
    let failures = ["dns", "connect", "tls", "timeout", "protocol", "encoding", "redirect"];
    let skips = [
        "deadline",
        "host_back_off",
        "out_of_scope",
        "crawl_delay",
        "opted_out",
        "byte_budget",
        "trap",
        "blocked",
        "media_type",
    ];
    for (tag, names) in [(0, &changes[..]), (2, &changes), (5, &failures), (9, &skips)] {
        for (detail, name) in (0..).zip(names) {
            assert_eq!(Outcome::of_code(tag, detail).unwrap().detail(), Some(*name));
        }
    }
    for (tag, names) in [(7, &failures[..]), (8, &["special", "no_contact"])] {
        assert_eq!(Outcome::of_code(tag, 0).unwrap().why(), None);
        for (detail, name) in (1..).zip(names) {
            assert_eq!(Outcome::of_code(tag, detail).unwrap().why(), Some(*name));
        }
    }
    assert_eq!(Outcome::of_code(4, 503), Some(Outcome::Failed(Failure::Status(503))));
    assert_eq!(Outcome::of_code(7, 8 + 503), Some(Outcome::RobotsUnreachable(Some(Failure::Status(503)))));
}

#[test]
fn names_and_texts_are_for_their_readers() {
    for outcome in Outcome::all(429) {
        let is_name = |name: &str| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        assert!(is_name(outcome.name()) && outcome.detail().is_none_or(is_name), "{outcome:?}");
        assert!(outcome.change().is_some() == outcome.is_visit(), "{outcome:?}");
        let text = outcome.to_string();
        assert!(!text.contains("::") && !text.ends_with('.'), "{text}");
        for name in [Some(outcome.name()), outcome.why()].into_iter().flatten() {
            assert!(OUTPUTS.contains(&format!("`{name}`")), "docs/outputs.md does not mention {name}");
        }
    }
    let told = |outcome: Outcome| (outcome.why(), outcome.status());
    assert_eq!(told(Outcome::Failed(Failure::Status(503))), (Some("status"), Some(503)));
    assert_eq!(told(Outcome::NotFound(410)), (None, Some(410)));
    assert_eq!(told(Outcome::RobotsUnreachable(Some(Failure::Status(429)))), (Some("status"), Some(429)));
    assert_eq!(told(Outcome::RobotsUnreachable(None)), (None, None));
}

/// The table as the page should have it, or the test fails and prints it.
fn assert_listed(page: &str, text: &str, head: &str, rows: impl IntoIterator<Item = Vec<String>>) {
    let columns = head.split(" | ").count();
    let mut table = format!("| {head} |\n|{}\n", "---|".repeat(columns));
    rows.into_iter().for_each(|cells| table += &format!("| {} |\n", cells.join(" | ")));
    assert!(text.contains(&format!("\n{table}\n")), "{page} should have this table:\n{table}");
}

/// Outcomes that agree in what `of` says of them, in order.
fn grouped<K: PartialEq>(of: impl Fn(Outcome) -> K) -> Vec<(K, Vec<Outcome>)> {
    let mut groups: Vec<(K, Vec<Outcome>)> = Vec::new();
    for outcome in Outcome::all(0) {
        match groups.iter_mut().find(|(key, _)| *key == of(outcome)) {
            Some((_, group)) => group.push(outcome),
            None => groups.push((of(outcome), vec![outcome])),
        }
    }
    groups
}

#[test]
fn outcomes_are_listed() {
    let rows = grouped(|outcome| (outcome.name(), outcome.request(), outcome.effect()));
    let row = |((name, request, effect), group): ((&str, VisitRequest, _), Vec<Outcome>)| {
        let reasons: Vec<_> = group.iter().filter_map(|outcome| outcome.why()).collect();
        let reasons = reasons.iter().map(|why| format!("`{why}`")).collect::<Vec<_>>().join(", ");
        let reasons = if reasons.is_empty() { "–".into() } else { reasons };
        let request = match request {
            VisitRequest::Page => "yes",
            VisitRequest::RobotsTxt => "only robots.txt",
            VisitRequest::Nothing => "no",
        };
        vec![format!("`{name}`"), reasons, request.into(), format!("{effect:?}").to_lowercase()]
    };
    assert_listed(
        "docs/outcomes.md",
        OUTCOMES,
        "outcome | reason | request sent? | effect",
        rows.into_iter().map(row),
    );
}

#[test]
fn reasons_are_listed() {
    let cells = |name: Option<&str>, text: String| vec![format!("`{}`", name.unwrap()), text];
    let failures =
        Failure::all(0).into_iter().map(|why| cells(why.name(), why.to_string().replace(" 0", "")));
    let skips = Skip::all(0).into_iter().map(|why| cells(why.name(), why.to_string()));
    let refusals = AddressRefusal::all(0).into_iter().map(|why| cells(why.name(), why.to_string()));
    let all = failures.chain(refusals).chain(skips);
    assert_listed("docs/outcomes.md", OUTCOMES, "reason | meaning", all);
}

#[test]
fn codes_are_listed() {
    let mut rows: BTreeMap<u8, (&str, Vec<String>)> = BTreeMap::new();
    for outcome in Outcome::all(0) {
        let (tag, detail) = outcome.code();
        let detail = match (outcome.status(), outcome.detail()) {
            (Some(_), _) if detail == 0 => "the status".into(),
            (Some(_), _) => format!("{detail} + the status"),
            (None, Some(name)) => format!("{detail} `{name}`"),
            (None, None) => detail.to_string(),
        };
        rows.entry(tag).or_insert((outcome.name(), Vec::new())).1.push(detail);
    }
    let row =
        |(tag, (name, details)): (u8, (&str, Vec<_>))| vec![format!("{tag} `{name}`"), details.join(", ")];
    assert_listed("docs/internals/formats.md", FORMATS, "outcome | detail", rows.into_iter().map(row));
}
