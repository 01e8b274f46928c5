//! Validators are checked, and not sent if they are not trusted.

use super::{NOW, RunOutput, Setup, url, visited};
use crate::testing::reply;
use crate::{Condition, Request};
use recrawl_types::{Belief, Content, Cycle, HostState, HostTable, Origin, Outcome, Skip};
use recrawl_types::{ValidatorTrust, Validators};
use std::time::Duration;

const PAGES: u64 = 400;

fn page(i: u64) -> String {
    format!("http://a.test/{i}")
}

/// 304 to every conditional request.
fn lazy(request: &Request) -> crate::testing::Script {
    match request.url.path_and_query() {
        "/robots.txt" => reply(404, "").into(),
        _ if !request.validators.is_empty() => reply(304, "").into(),
        _ => reply(200, "hello").into(),
    }
}

fn setup(belief: Belief) -> Setup {
    setup_of(belief, lazy)
}

fn setup_of(belief: Belief, server: fn(&Request) -> crate::testing::Script) -> Setup {
    let mut setup = Setup::new(&[], server);
    let content = Content { validators: Validators::new(Some("\"v1\""), None), ..Content::default() };
    setup.entries = (0..PAGES).map(|i| visited(&page(i), content.clone())).collect();
    setup.entries.sort_by(|a, b| a.url.cmp(&b.url));
    setup.config.validator_checks = 0.1;
    let trust = ValidatorTrust { belief, ..ValidatorTrust::default() };
    let state = HostState { trust, ..HostState::default() };
    setup.hosts.store(&Origin::from_url(&url("http://a.test/")), &state).unwrap();
    setup
}

fn is_tested(page: &str, cycle: Cycle) -> bool {
    ValidatorTrust::is_tested(&url(page), cycle, 0.1)
}

/// How each page was requested, and its result.
fn conditions(output: &RunOutput) -> Vec<(String, Condition, String)> {
    let told = |p: &crate::FetchedPage| (p.entry.url.to_string(), p.condition, super::short(&p.result));
    output.pages.iter().map(told).collect()
}

#[tokio::test(start_paused = true)]
async fn a_share_of_the_304s_is_checked_and_another_in_the_next_cycle() {
    let mut chosen = Vec::new();
    for cycle in [Cycle(2), Cycle(3)] {
        let mut setup = setup(Belief::Believed);
        setup.cycle = cycle;
        let output = setup.run().await;
        assert_eq!(output.pages.len() as u64, PAGES, "each comes out once");
        for (page, condition, result) in conditions(&output) {
            let expected = match is_tested(&page, cycle) {
                true => (Condition::Checked, "page 200"),
                false => (Condition::Conditional, "not modified"),
            };
            assert_eq!((condition, result.as_str()), expected, "{page}");
        }
        let checked: Vec<String> =
            conditions(&output).into_iter().filter(|c| c.1 == Condition::Checked).map(|c| c.0).collect();
        assert!((20..60).contains(&checked.len()), "{}", checked.len());
        assert_eq!(setup.network.log().len() as u64, 1 + PAGES + checked.len() as u64);
        chosen.push(checked);
    }
    assert_ne!(chosen[0], chosen[1]);
}

#[tokio::test(start_paused = true)]
async fn a_check_keeps_the_delay_like_any_request() {
    let mut setup = setup(Belief::Believed).delay(Duration::from_millis(100));
    setup.entries.truncate(100);
    setup.run().await;
    assert!(setup.network.log().len() > 101);
    assert!(super::shortest_gap(&setup.network.log()) >= Duration::from_millis(100));
}

#[tokio::test(start_paused = true)]
async fn validators_that_are_not_believed_are_sent_only_where_they_are_tested() {
    for belief in [Belief::Lying, Belief::Vain] {
        let output = setup(belief).run().await;
        for (page, condition, result) in conditions(&output) {
            let expected =
                if is_tested(&page, Cycle(2)) { Condition::Checked } else { Condition::Unconditional };
            assert_eq!((condition, result.as_str()), (expected, "page 200"), "{page}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_that_waits_for_its_check_comes_out_at_the_deadline_too() {
    let mut setup = setup(Belief::Believed).delay(Duration::from_secs(1));
    setup.config.validator_checks = 1.0;
    // robots.txt is requested after one second, the first page after two. Its check would be after
    // three.
    setup.deadline = Some(tokio::time::Instant::now() + Duration::from_millis(2500));
    let output = setup.run().await;
    assert_eq!(setup.network.log().len(), 2);
    assert_eq!(output.pages.len() as u64, PAGES, "each comes out once");
    assert_eq!(output.outcome(&page(0)), Outcome::Skipped(Skip::Deadline));
    assert!(output.pages.iter().all(|p| p.at >= NOW));
}

#[tokio::test(start_paused = true)]
async fn a_page_whose_validators_are_refused_is_asked_for_without_them() {
    let refusing = |request: &Request| match request.url.path_and_query() {
        "/robots.txt" => reply(404, "").into(),
        "/1" => reply(412, "").into(),
        _ if request.validators.is_empty() => reply(200, "hello").into(),
        "/2" => reply(400, "").into(),
        "/3" => reply(403, "").into(),
        "/4" => reply(501, "").into(),
        "/5" => reply(404, "").into(),
        "/6" => reply(500, "").into(),
        _ => reply(412, "").into(),
    };
    let mut setup = setup_of(Belief::Believed, refusing);
    setup.entries.retain(|entry| entry.url.path_and_query().len() == 2);
    setup.entries.truncate(7);
    let again = |result: &str| (Condition::Checked, result.to_owned());
    let once = |result: &str| (Condition::Conditional, result.to_owned());
    let page = || again("page 200");
    // Who fails may be overloaded.
    let failed = once("Failed(Status(500))");
    let expected =
        [page(), again("Failed(Status(412))"), page(), page(), page(), once("NotFound(404)"), failed];
    let output = setup.run().await;
    let results = conditions(&output).into_iter().map(|(_, condition, result)| (condition, result));
    assert_eq!(results.collect::<Vec<_>>(), expected, "once each");
    assert_eq!(setup.network.log().len(), 1 + 7 + 5);
}

#[tokio::test(start_paused = true)]
async fn after_a_failure_a_page_is_asked_for_without_validators() {
    let mut setup = setup(Belief::Believed);
    setup.config.validator_checks = 0.0;
    setup.entries.truncate(2);
    setup.entries[1].record.known.failures = 1;
    let output = setup.run().await;
    let results = conditions(&output).into_iter().map(|(_, condition, result)| (condition, result));
    let (conditional, whole) = (Condition::Conditional, Condition::Unconditional);
    let expected = [(conditional, "not modified".to_owned()), (whole, "page 200".to_owned())];
    assert_eq!(results.collect::<Vec<_>>(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_page_that_is_read_anew_is_asked_for_without_validators() {
    let mut setup = setup(Belief::Believed);
    setup.config.validator_checks = 0.0;
    setup.entries.truncate(2);
    setup.reads_anew = std::sync::Arc::new(|entry| entry.url.to_string().ends_with("/1"));
    let results =
        conditions(&setup.run().await).into_iter().map(|(_, condition, result)| (condition, result));
    let (conditional, whole) = (Condition::Conditional, Condition::Unconditional);
    let expected = [(conditional, "not modified".to_owned()), (whole, "page 200".to_owned())];
    assert_eq!(results.collect::<Vec<_>>(), expected);
}
