//! Requests that no server processed are repeated if useful, and do not count as failures.

use super::*;
use crate::NetworkError;
use recrawl_types::Failure;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::mpsc::error::TryRecvError;

/// A web where requests fail with these errors in turn, and then succeed.
pub fn at_first(ends: &'static [NetworkError]) -> impl Fn(&Request) -> Script + Send + Sync + 'static {
    let asked = AtomicUsize::new(0);
    move |r| match ends.get(asked.fetch_add(1, Ordering::SeqCst)) {
        Some(end) => (*end).into(),
        None => friendly(r),
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_the_server_did_not_take_is_repeated_once_and_after_the_delay() {
    use NetworkError::NotProcessed;
    let setup = Setup::new(&["http://a.test/1"], at_first(&[NotProcessed])).delay(Duration::from_secs(1));
    let output = setup.run().await;
    assert_eq!(output.result("http://a.test/1"), "page 200");
    assert_eq!((output.report.requests, output.report.repeated), (2, 1));
    let log = setup.network.log();
    assert_eq!(log.len(), 3, "robots.txt twice, and the page");
    assert!(log.windows(2).all(|w| w[1].start - w[0].end.unwrap() >= Duration::from_secs(1)));
    let state = setup.state("http://a.test/1");
    assert_eq!((state.failures, state.requests), (0, 2));
    // Twice in a row is a failure.
    let setup = Setup::new(&["http://a.test/1"], at_first(&[NotProcessed, NotProcessed]));
    let ended = setup.run().await.outcome("http://a.test/1");
    assert_eq!(ended, Outcome::RobotsUnreachable(Some(Failure::Protocol)));
    assert_eq!(setup.network.log().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_closes_what_is_kept_has_a_connection_for_each_request() {
    let pages: Vec<String> = (0..6).map(|page| format!("http://a.test/{page}")).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    // A kept connection is found closed, unless it is the request's own or a fresh one.
    let kept = std::sync::Mutex::new(false);
    let setup = Setup::new(&pages, move |r| {
        let mut kept = kept.lock().unwrap();
        if std::mem::take(&mut *kept) {
            return NetworkError::NotProcessed.into();
        }
        *kept = !r.last;
        friendly(r)
    });
    let output = setup.run().await;
    assert_eq!(output.report.outcomes.page, 6);
    assert_eq!(output.report.repeated, 2, "two are closed, and then none is kept");
}

#[tokio::test(start_paused = true)]
async fn what_this_machine_lacks_is_waited_for_and_held_against_nobody() {
    use NetworkError::Exhausted;
    let setup = Setup::new(&["http://a.test/1", "http://b.test/1"], at_first(&[Exhausted; 9]));
    let output = setup.run().await;
    for page in ["http://a.test/1", "http://b.test/1"] {
        assert_eq!((output.result(page).as_str(), setup.state(page).failures), ("page 200", 0));
    }
    assert_eq!(output.report.requests, 4, "what was not sent is not counted");
}

#[tokio::test(start_paused = true)]
async fn where_this_machine_lacks_for_long_the_run_ends_and_says_what_to_do() {
    let start = Instant::now();
    let setup = Setup::new(&["http://a.test/1"], |_| NetworkError::Exhausted.into());
    let error = setup.try_run().await.err().expect("nothing can be asked");
    assert!(matches!(error, FetchError::Exhausted) && error.to_string().contains("ulimit -n"), "{error}");
    assert!(start.elapsed() >= crate::net::limits::MAX_EXHAUSTED_WAIT);
    assert_eq!(setup.state("http://a.test/1"), HostState::default(), "nothing is known of the host");
}

/// Later stages end when all senders of pages are dropped; otherwise the program would hang.
#[test]
fn a_run_that_ends_with_an_error_lets_go_of_its_output() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let pages: Vec<String> = (0..40).map(|page| format!("http://b.test/{page}")).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).chain(["http://a.test/1"]).collect();
    let error = runtime.unwrap().block_on(async {
        let setup = Setup::new(&pages, |request| match &*request.url.host() {
            "a.test" => NetworkError::Exhausted.into(),
            _ => friendly(request).after(Duration::from_secs(9)),
        });
        let (out, mut pages) = channel(40);
        let error = setup.fetcher().run(setup.job(out)).await.expect_err("a.test cannot be asked");
        // Does not await, as if the run were the only task of the runtime.
        while pages.try_recv().is_ok() {}
        assert_eq!(pages.try_recv().err(), Some(TryRecvError::Disconnected));
        error
    });
    assert!(matches!(error, FetchError::Exhausted), "{error}");
}
