//! Pages that load what comes into view, in a real browser. scripts/browser-tests.sh runs these.

use recrawl_renderer::{
    AnswerFuture, Ask, RenderOptions, Renderer, Resource, ResourceAnswer, ResourceSource, ServedPage,
    WaitingRequest,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Answers every request after some milliseconds, each time others, and counts them.
#[derive(Default)]
struct SlowLists {
    asked: AtomicUsize,
}

impl ResourceSource for SlowLists {
    fn get<'a>(&'a self, ask: &'a Ask, waiting: WaitingRequest) -> AnswerFuture<'a> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed) as u64;
        Box::pin(async move {
            drop(waiting);
            tokio::time::sleep(Duration::from_millis(asked * 37 % 90)).await;
            let path = ask.url.rsplit('/').next().unwrap_or_default();
            let body = format!("loaded {path}").into();
            ResourceAnswer::Response(Arc::new(Resource { status: 200, body, ..Resource::default() }))
        })
    }
}

const ADD: &str = "<!doctype html><main id=m></main><script>
    const add = (text, to = m) => { const p = document.createElement('p'); p.textContent = text; to.append(p); };
    const load = async (path) => (await fetch(path)).text();
    const seen = (element, then, options) => new IntersectionObserver((entries, observer) => {
      if (entries.some((entry) => entry.isIntersecting)) then(observer); }, options).observe(element);
    </script>";

fn page(html: &str) -> ServedPage {
    let headers = vec![("content-type".to_owned(), "text/html; charset=utf-8".to_owned())];
    ServedPage { url: "http://a.test/list".into(), status: 200, headers, body: format!("{ADD}{html}").into() }
}

fn renderer(options: RenderOptions) -> Renderer {
    Renderer::new(RenderOptions { time: Duration::from_secs(600), ..options }).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_into_view_is_loaded() {
    let renderer = renderer(RenderOptions::default());
    let far = "<div style='height:4000px'></div>";
    for (name, html, expected) in [
        (
            "an observer at the end",
            format!("{far}<i id=end>-</i><script>seen(end, async (o) => {{ o.disconnect(); add(await load('/a')) }})</script>"),
            "<p>loaded a</p>",
        ),
        (
            "an observer in the middle",
            format!("{far}<i id=mid>-</i>{far}<script>seen(mid, () => add('came into view'))</script>"),
            "<p>came into view</p>",
        ),
        ("an observer without scrolling", "<i id=end>-</i><script>seen(end, () => add('seen'))</script>".into(), "<p>seen</p>"),
        (
            "the first scroll",
            format!("{far}<script>addEventListener('scroll', () => add('scrolled'), {{once: true}})</script>"),
            "<p>scrolled</p>",
        ),
        (
            "a handler that waits until scrolling ends",
            format!("{far}<script>let t; onscroll = () => {{ clearTimeout(t); t = setTimeout(() => add('at ' + (scrollY > 3000)), 200) }};\
                setTimeout(() => onscroll = null, 5900)</script>"),
            "<p>at true</p>",
        ),
        (
            "a box in the page",
            "<div style='height:2000px'></div><div id=box style='height:200px;overflow:auto'><div style='height:900px'></div>\
             <i id=end>-</i></div><div style='height:2000px'></div>\
             <script>seen(end, () => add('in the box')); box.onscroll = () => { box.onscroll = null; add('box moved') }</script>"
                .into(),
            "<p>in the box</p>",
        ),
        (
            "a box in place of the page",
            "<style>html, body { height: 100%; overflow: hidden; margin: 0 } #box { height: 100%; overflow-y: scroll }</style>\
             <div id=box><div style='height:5000px'></div><i id=end>-</i></div><script>seen(end, () => add('in the box'))</script>"
                .into(),
            "<p>in the box</p>",
        ),
        (
            "a box in a shadow tree",
            "<div id=host></div><script>const tree = host.attachShadow({mode: 'open'}); tree.innerHTML = '<div id=box \
             style=\"height:200px;overflow:auto\"><div style=\"height:900px\"></div><i id=end>-</i></div>';\
             seen(tree.getElementById('end'), () => add('in the shadow'))</script>"
                .into(),
            "<p>in the shadow</p>",
        ),
        (
            "smooth scrolling",
            format!("<style>html {{ scroll-behavior: smooth }}</style>{far}<i id=end>-</i>\
                <script>seen(end, () => add('came into view'))</script>"),
            "<p>came into view</p>",
        ),
        (
            "a dialog meanwhile",
            format!("{far}<script>addEventListener('scroll', () => {{ alert(1); add('scrolled') }}, {{once: true}})</script>"),
            "<p>scrolled</p>",
        ),
        (
            "a list that holds only what is in view",
            "<div id=all style='height:8000px;position:relative'></div><script>const show = () => { const at = Math.floor(scrollY / 100);\
             all.textContent = ''; for (let i = at; i < at + 8; i++) add('row ' + i, all) }; show(); onscroll = show</script>"
                .into(),
            "<p>row 0</p>",
        ),
    ] {
        let rendered = renderer.render(&page(&html), &SlowLists::default()).await.unwrap();
        assert!(rendered.html.contains(expected), "{name}: {}", rendered.html);
    }
}

/// However fast the answers come, an endless list is the same each time.
#[tokio::test(flavor = "multi_thread")]
async fn an_endless_list_ends_and_always_at_the_same_place() {
    let renderer = Arc::new(renderer(RenderOptions { scroll: 5, ..RenderOptions::default() }));
    let more = "let n = 0, busy = false; const more = async () => { if (busy) return; busy = true; const text = await load('/' + n);\
        for (let i = 0; i < 30; i++) add('item ' + n + '.' + i + ' ' + text); n++; busy = false }; more()";
    for (name, html) in [
        ("an observer", format!("<i id=end>-</i><script>{more}.then(() => seen(end, more))</script>")),
        (
            "a margin",
            format!(
                "<i id=end>-</i><script>{more}.then(() => seen(end, more, {{rootMargin: '300px'}}))</script>"
            ),
        ),
        (
            "a handler",
            format!(
                "<script>{more}; onscroll = () => {{ if (scrollY + innerHeight > document.body.scrollHeight - 300) more() }}</script>"
            ),
        ),
    ] {
        let lists = Arc::new(SlowLists::default());
        let pages = (0..8).map(|_| {
            let (renderer, lists, page) = (renderer.clone(), lists.clone(), page(&html));
            tokio::spawn(async move { renderer.render(&page, &*lists).await })
        });
        let pages: Vec<_> = pages.collect();
        let mut documents = Vec::new();
        for page in pages {
            documents.push(page.await.unwrap().unwrap().html);
        }
        let loads: Vec<usize> = documents.iter().map(|html| html.matches(".29 ").count()).collect();
        assert!(documents.iter().all(|html| *html == documents[0]), "{name}: {loads:?}");
        assert_eq!(loads[0], 6, "{name}: one before it is scrolled, and one each time");
        assert_eq!(lists.asked.load(Ordering::Relaxed), 8 * loads[0], "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_left_at_its_top_if_it_must_not_be_scrolled() {
    let renderer = renderer(RenderOptions { scroll: 0, ..RenderOptions::default() });
    let html = "<div style='height:4000px'></div><script>onscroll = () => add('scrolled')</script>";
    let rendered = renderer.render(&page(html), &SlowLists::default()).await.unwrap();
    assert!(!rendered.html.contains("<p>scrolled</p>"), "{}", rendered.html);
}
