//! Pages of other media types than the crawl keeps: their bodies are not read.

use super::{Setup, url, visited};
use crate::testing::{Script, reply, with_header};
use crate::{Condition, KeptTypes, Request};
use recrawl_types::{Content, ContentKind, Cycle, HostTable, MediaTypes, Origin, Outcome, Skip, Validators};
use std::sync::Arc;

const LEFT_OUT: Outcome = Outcome::Skipped(Skip::MediaType);

fn typed(content_type: &str, status: u16) -> Script {
    with_header(reply(status, "a body of 18 bytes"), "content-type", content_type).into()
}

/// Answers a PDF, but for some paths.
fn papers(request: &Request) -> Script {
    match request.url.path_and_query() {
        "/robots.txt" => typed("application/pdf", 404),
        "/page" => typed("text/html", 200),
        "/missing" => typed("application/pdf", 404),
        "/old" => with_header(reply(301, ""), "location", "/new").into(),
        _ if !request.validators.is_empty() => reply(304, "").into(),
        _ => typed("application/pdf", 200),
    }
}

fn setup(pages: &[&str], since: Cycle) -> Setup {
    let mut setup = Setup::new(pages, papers);
    setup.config.host_failures = 1;
    setup.types = Some(Arc::new(KeptTypes { types: MediaTypes::new(["text/html"]).unwrap(), since }));
    setup
}

#[tokio::test(start_paused = true)]
async fn only_bodies_of_kept_types_are_read() {
    let pages =
        ["/a", "/b", "/missing", "/old", "/page", "/sitemap.xml"].map(|path| format!("http://a.test{path}"));
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let output = setup(&pages, Cycle(1)).run().await;
    for path in ["/a", "/b", "/new"] {
        assert_eq!(output.outcome(&format!("http://a.test{path}")), LEFT_OUT, "{path}");
    }
    assert_eq!(output.outcome("http://a.test/missing"), Outcome::NotFound(404));
    assert_eq!(output.result("http://a.test/old"), "→ http://a.test/new");
    assert_eq!(output.result("http://a.test/page"), "page 200");
    assert_eq!(output.result("http://a.test/sitemap.xml"), "page 200", "any type may be that of a sitemap");
    let report = &output.report;
    assert_eq!((report.outcomes.skipped_media_type, report.outcomes.skipped()), (3, 3));
    assert_eq!(report.bytes, 4 * 18, "of the page, the sitemap, and two that are missing");
}

#[tokio::test(start_paused = true)]
async fn a_page_that_was_seen_before_the_list_is_told_by_its_type_and_not_by_a_304() {
    let content = Content { validators: Validators::new(Some("\"v1\""), None), ..Content::default() };
    let sitemap = Content { kind: ContentKind::Hints, ..content.clone() };
    // The pages were last visited in cycle 1.
    for (since, expected, condition) in [
        (Cycle(2), "Skipped(MediaType)", Condition::Unconditional),
        // The list may have come after that visit, in the same cycle.
        (Cycle(1), "Skipped(MediaType)", Condition::Unconditional),
        (Cycle(0), "not modified", Condition::Conditional),
    ] {
        let mut setup = setup(&[], since);
        setup.entries.push(visited("http://a.test/paper", content.clone()));
        setup.entries.push(visited("http://a.test/sitemap", sitemap.clone()));
        let output = setup.run().await;
        let page = output.pages.iter().find(|page| page.entry.url == url("http://a.test/paper")).unwrap();
        assert_eq!((output.result("http://a.test/paper").as_str(), page.condition), (expected, condition));
        assert_ne!(output.result("http://a.test/sitemap"), "Skipped(MediaType)", "a known sitemap is read");
        let state = setup.hosts.load(&Origin::from_url(&page.entry.url)).unwrap().unwrap_or_default();
        assert_eq!(state.failures, 0, "the host answered");
    }
}
