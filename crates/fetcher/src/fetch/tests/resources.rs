//! Requests of pages that are rendered: under the rules of pages, in their turn, and never after the run.

use super::*;
use crate::testing::LoggedRequest;
use crate::{
    HeaderMap, HeaderName, HeaderValue, LoadingPages, NetworkError, PageLoad, RequestOptions, Resources,
};
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::mpsc::Receiver;

const DELAY: Duration = Duration::from_secs(10);

/// Renders every page; full while the flag says so.
#[derive(Default)]
struct All(Arc<AtomicBool>);

impl LoadingPages for All {
    fn is_rendered(&self, _url: &CanonicalUrl) -> bool {
        true
    }

    fn waits(&self, _url: &CanonicalUrl) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Runs the setup beside a renderer.
async fn run_with<T>(
    setup: &mut Setup,
    all: All,
    render: impl AsyncFnOnce(Arc<Resources>, Receiver<FetchedPage>) -> T,
) -> (FetchReport, T) {
    let fetcher = setup.fetcher();
    let resources = fetcher.resources(Box::new(all));
    setup.resources = Some(resources.clone());
    let (out, pages) = channel(4);
    let (report, rendered) = tokio::join!(fetcher.run(setup.job(out)), render(resources, pages));
    assert_eq!(setup.control.early_requests(), 0, "no request came before its time");
    (report.unwrap(), rendered)
}

/// Takes a page and begins to render it, as a stage does.
async fn begin(resources: &Arc<Resources>, pages: &mut Receiver<FetchedPage>) -> PageLoad {
    let page = pages.recv().await.expect("a page");
    let rendering = resources.begin();
    drop(page);
    rendering
}

async fn get(rendering: &PageLoad, page: &str) -> String {
    ask(rendering, page, RequestOptions { is_anonymous: true, fields: accept(), ..RequestOptions::default() })
        .await
}

fn accept() -> HeaderMap {
    HeaderMap::from_iter([(HeaderName::from_static("accept"), HeaderValue::from_static("*/*"))])
}

async fn ask(rendering: &PageLoad, page: &str, manner: RequestOptions) -> String {
    let Some(asked) = rendering.ask(url(page), manner).await else { return "ended".into() };
    asked.answer().await.map_or("ended".into(), |result| short(&result))
}

#[tokio::test(start_paused = true)]
async fn they_keep_robots_delay_opt_outs_and_back_off_and_the_run_waits_for_them() {
    let answer = |r: &Request| match (&*r.url.host(), r.url.path_and_query()) {
        ("c.test", "/robots.txt") => reply(200, "User-agent: *\nDisallow: /private").into(),
        (_, "/robots.txt") => reply(404, "").into(),
        (_, "/broken") => reply(500, "").into(),
        _ => reply(200, "hello").into(),
    };
    let mut setup = Setup::new(&["http://a.test/1", "http://a.test/2"], answer).delay(DELAY);
    setup.opted_out = Arc::new(|host| host == "out.test");
    setup.refuses = Arc::new(|entry| (&*entry.url.host() != "a.test").then_some(Skip::OutOfScope));
    let (report, found) = run_with(&mut setup, All::default(), async |resources, mut pages| {
        let first = begin(&resources, &mut pages).await;
        let mut found = Vec::new();
        for resource in
            ["http://a.test/x.js", "http://c.test/private", "http://c.test/open", "http://out.test/x"]
        {
            found.push(get(&first, resource).await);
        }
        for _ in 0..9 {
            found.push(get(&first, "http://b.test/broken").await);
        }
        drop(first);
        drop(begin(&resources, &mut pages).await);
        found
    })
    .await;
    assert_eq!(found[..4], ["page 200", "RobotsDenied", "page 200", "Skipped(OptedOut)"]);
    let mut failed = found[4..].iter();
    assert!(failed.all(|result| result == "page 500"), "no page brings a host into back-off: {found:?}");
    assert!(shortest_gap(&setup.network.log()) >= DELAY);
    assert_eq!((report.outcomes.total(), report.stopped_by), (2, StoppedBy::End), "only pages count");
    let log = setup.network.log();
    let as_asked =
        |asked: &&LoggedRequest| asked.request.manner.is_anonymous && asked.request.manner.fields == accept();
    assert!(log.iter().filter(as_asked).count() >= 11);
    assert!(setup.network.urls().iter().all(|url| !url.contains("out.test") && !url.contains("private")));
}

/// Neither robots.txt nor the state of such a host is touched, so its own pages lose nothing, and a page cannot tell it
/// from a host that does not exist.
#[tokio::test(start_paused = true)]
async fn what_is_for_public_addresses_only_is_refused_before_anything_is_asked() {
    let mut setup = Setup::new(&["http://a.test/1"], friendly).delay(DELAY);
    setup.network = ScriptedNetwork::with_addresses(friendly, |host| match host {
        "inside.test" => Ok([10, 0, 0, 1].into()),
        "none.test" => Err(NetworkError::Dns),
        _ => Ok([9, 9, 9, 9].into()),
    });
    let found = run_with(&mut setup, All::default(), async |resources, mut pages| {
        let rendering = begin(&resources, &mut pages).await;
        let public = RequestOptions { is_public_only: true, ..RequestOptions::default() };
        let start = tokio::time::Instant::now();
        let mut found = Vec::new();
        for host in ["inside.test", "none.test"] {
            found.push(ask(&rendering, &format!("http://{host}/x"), public.clone()).await);
        }
        assert_eq!(start.elapsed(), Duration::ZERO, "both at once");
        found.push(ask(&rendering, "http://outside.test/x", public).await);
        found.push(ask(&rendering, "http://inside.test/x", RequestOptions::default()).await);
        found
    });
    let (_, found) = found.await;
    assert_eq!(
        found,
        ["RefusedAddress(Some(Special))", "RefusedAddress(Some(Special))", "page 200", "page 200"]
    );
    let log = setup.network.log();
    let of = |host: &str| -> Vec<bool> {
        let of_host = log.iter().filter(|asked| &*asked.request.url.host() == host);
        of_host.map(|asked| asked.request.manner.is_public_only).collect()
    };
    // robots.txt, then the resource.
    assert_eq!((of("outside.test"), of("inside.test")), (vec![true, true], vec![false, false]));
    assert_eq!(of("none.test"), Vec::<bool>::new());
}

#[tokio::test(start_paused = true)]
async fn while_too_many_pages_wait_only_resources_are_requested() {
    let pages = ["http://a.test/1", "http://a.test/2", "http://b.test/1"];
    let mut setup = Setup::new(&pages, friendly).delay(Duration::from_secs(1));
    let full = Arc::new(AtomicBool::new(false));
    let (report, ()) = run_with(&mut setup, All(full.clone()), async |resources, mut pages| {
        let rendering = begin(&resources, &mut pages).await;
        full.store(true, Ordering::Relaxed);
        let before = tokio::time::Instant::now();
        assert_eq!(get(&rendering, "http://a.test/x.js").await, "page 200");
        assert!(before.elapsed() < Duration::from_secs(2), "{:?}", before.elapsed());
        tokio::time::sleep(DELAY).await;
        let others = std::iter::from_fn(|| pages.try_recv().ok()).count();
        assert!(others <= 1, "those that were under way: {others}");
        full.store(false, Ordering::Relaxed);
        drop(rendering);
        while pages.recv().await.is_some() {}
    })
    .await;
    assert_eq!(report.outcomes.total(), 3);
}

#[tokio::test(start_paused = true)]
async fn what_nobody_waits_for_is_not_requested_and_a_page_hears_of_its_turn() {
    let mut setup = Setup::new(&["http://a.test/1"], friendly).delay(DELAY);
    run_with(&mut setup, All::default(), async |resources, mut pages| {
        let rendering = begin(&resources, &mut pages).await;
        let ask = async |path: &str| {
            rendering.ask(url(&format!("http://a.test/{path}")), RequestOptions::default()).await.unwrap()
        };
        let given_up = [ask("x").await, ask("y").await, ask("z").await];
        let mut wanted = ask("wanted").await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(
            tokio::time::timeout(Duration::from_secs(1), wanted.started()).await.is_err(),
            "it waits for its turn"
        );
        drop(given_up);
        wanted.started().await;
        assert_eq!(wanted.answer().await.map(|result| short(&result)).as_deref(), Some("page 200"));
        // Of another origin of the host, opened last, while the first has pages.
        let other = rendering.ask(url("https://a.test/x.js"), RequestOptions::default()).await.unwrap();
        assert_eq!(other.answer().await.map(|result| short(&result)).as_deref(), Some("page 200"));
    })
    .await;
    let urls = setup.network.urls();
    assert!(urls.iter().all(|url| !"xyz".contains(url.rsplit('/').next().unwrap())), "{urls:?}");
}

/// A host has one connection by default. The server of a long poll would keep it.
#[tokio::test(start_paused = true)]
async fn what_a_page_gives_up_in_flight_makes_room_for_others() {
    let answer = |r: &Request| match r.url.path_and_query() {
        "/poll" => Script::from(reply(200, "late")).after(Duration::from_secs(20)),
        _ => friendly(r),
    };
    let mut setup = Setup::new(&["http://a.test/1"], answer);
    let (report, waited) = run_with(&mut setup, All::default(), async |resources, mut pages| {
        let rendering = begin(&resources, &mut pages).await;
        let mut poll = rendering.ask(url("http://a.test/poll"), RequestOptions::default()).await.unwrap();
        poll.started().await;
        let given_up = Instant::now();
        drop(poll);
        assert_eq!(get(&rendering, "http://a.test/x.js").await, "page 200");
        given_up.elapsed()
    })
    .await;
    assert!(waited < Duration::from_secs(20), "{waited:?}");
    // robots.txt, the page, both resources.
    assert_eq!(report.requests, 4, "what was sent counts");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_requested_after_the_end_and_nobody_waits_for_it() {
    let mut setup = Setup::new(&["http://a.test/1", "http://a.test/2"], friendly).delay(DELAY);
    setup.deadline = Some(Instant::now() + Duration::from_secs(25));
    let (report, ()) = run_with(&mut setup, All::default(), async |resources, mut pages| {
        let rendering = begin(&resources, &mut pages).await;
        // Its robots.txt is in time; itself would come after the deadline.
        assert_eq!(get(&rendering, "http://b.test/x.js").await, "ended");
        assert_eq!(resources.ended(), Some(StoppedBy::Deadline));
        assert_eq!(get(&rendering, "http://b.test/x.js").await, "ended");
        while pages.recv().await.is_some() {}
    })
    .await;
    assert_eq!(report.stopped_by, StoppedBy::Deadline);
    let mut setup = Setup::new(&["http://a.test/1"], friendly);
    let stop = setup.stop.clone();
    let (report, ()) = run_with(&mut setup, All::default(), async |resources, mut pages| {
        let rendering = begin(&resources, &mut pages).await;
        stop.cancel();
        tokio::time::sleep(DELAY).await;
        assert_eq!(get(&rendering, "http://a.test/x.js").await, "ended");
    })
    .await;
    assert_eq!(report.stopped_by, StoppedBy::Stop);
}

#[tokio::test(start_paused = true)]
async fn pages_that_are_rendered_are_requested_without_validators() {
    let content = recrawl_types::Content {
        validators: recrawl_types::Validators::new(Some("\"a\""), None),
        ..recrawl_types::Content::default()
    };
    let mut setup = Setup::new(&[], friendly);
    setup.entries = vec![visited("http://a.test/1", content)];
    run_with(&mut setup, All::default(), async |resources, mut pages| {
        drop(begin(&resources, &mut pages).await);
    })
    .await;
    assert!(setup.network.log().iter().all(|asked| asked.request.validators.is_empty()));
}
