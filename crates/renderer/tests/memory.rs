//! What pages may take of the machine's memory, in a real browser. scripts/browser-tests.sh runs these.

use recrawl_renderer::{
    AnswerFuture, Ask, RenderOptions, Renderer, ResourceAnswer, ResourceSource, ServedPage, WaitingRequest,
};
use std::time::Duration;

struct NoResources;

impl ResourceSource for NoResources {
    fn get<'a>(&'a self, _ask: &'a Ask, _waiting: WaitingRequest) -> AnswerFuture<'a> {
        Box::pin(async { ResourceAnswer::Refused })
    }
}

fn page(script: &str) -> ServedPage {
    let headers = vec![("content-type".to_owned(), "text/html; charset=utf-8".to_owned())];
    let body = format!("<p>static words</p><script>{script}</script>").into();
    ServedPage { url: "http://a.test/".into(), status: 200, headers, body }
}

/// The kernel does not give a page what it may not have, however fast it asks: it is told, or ended. What is written at
/// once is never there, so no look at the memory could be late.
#[tokio::test(flavor = "multi_thread")]
async fn the_kernel_keeps_a_page_below_its_limit() {
    let memory = 700 << 20;
    let renderer =
        Renderer::new(RenderOptions { memory, time: Duration::from_secs(600), ..RenderOptions::default() })
            .unwrap();
    for (name, script) in [
        ("an array", "try { new Uint8Array(1.9e9).fill(1); said = 'given' } catch (e) { said = e.name }"),
        (
            "WebAssembly",
            "try { const m = new WebAssembly.Memory({initial: 20000}); new Uint8Array(m.buffer).fill(1); said = 'given' } \
             catch (e) { said = e.name }",
        ),
        (
            "a buffer that grows",
            "try { const b = new ArrayBuffer(1, {maxByteLength: 1.9e9}); b.resize(1.9e9); said = 'given' } \
             catch (e) { said = e.name }",
        ),
    ] {
        let script = format!("let said; {script}; document.body.append('said ' + said)");
        let rendered = renderer.render(&page(&script), &NoResources).await.unwrap();
        assert!(rendered.html.contains("said RangeError"), "{name}: {}", rendered.html);
    }
    // Pages that need less are not disturbed.
    let script =
        "const all = new Uint8Array(1e8).fill(1); document.body.append('sum ' + all.reduce((a, b) => a + b))";
    let rendered = renderer.render(&page(script), &NoResources).await.unwrap();
    assert!(rendered.html.contains("sum 100000000"), "{}", rendered.html);
    let figures = renderer.figures();
    assert_eq!((figures.starts, figures.crashes, figures.too_large), (1, 0, 0), "{figures:?}");
}

/// The smallest limit that may be set is enough for a page.
#[tokio::test(flavor = "multi_thread")]
async fn pages_render_under_the_smallest_limit() {
    let memory = 256 << 20;
    let options =
        RenderOptions { memory, tabs: 1, time: Duration::from_secs(600), ..RenderOptions::default() };
    let renderer = Renderer::new(options).unwrap();
    renderer.start().await.unwrap();
    assert_eq!(renderer.figures().starts, 1);
}
