//! Pages in a real browser. scripts/browser-tests.sh runs these, since not every machine has one.

use recrawl_renderer::{
    AnswerFuture, Ask, RenderError, RenderOptions, Renderer, Resource, ResourceAnswer, ResourceKind,
    ResourceSource, ServedPage, WaitingRequest,
};
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long a request waits to be sent, if its path is `/queued`.
const QUEUED: Duration = Duration::from_secs(65);

/// Answers from a table, and keeps what was asked for.
#[derive(Default)]
struct TableSource {
    answers: BTreeMap<&'static str, ResourceAnswer>,
    asked: Mutex<Vec<Ask>>,
}

impl TableSource {
    fn with(mut self, url: &'static str, status: u16, fields: &[(&str, &str)], body: &str) -> TableSource {
        let headers = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let resource = Resource { status, headers, body: body.to_owned().into() };
        self.answers.insert(url, ResourceAnswer::Response(Arc::new(resource)));
        self
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|ask| ask.url.clone()).collect()
    }
}

impl ResourceSource for TableSource {
    fn get<'a>(&'a self, ask: &'a Ask, waiting: WaitingRequest) -> AnswerFuture<'a> {
        self.asked.lock().unwrap().push(ask.clone());
        let answer = self.answers.get(ask.url.as_str()).cloned().unwrap_or(ResourceAnswer::Refused);
        Box::pin(async move {
            if ask.url.ends_with("/queued") {
                tokio::time::sleep(QUEUED).await;
            }
            drop(waiting);
            if ask.url.contains("/endless") {
                std::future::pending::<()>().await;
            }
            answer
        })
    }
}

fn page(url: &str, html: &str) -> ServedPage {
    let headers = vec![("content-type".to_owned(), "text/html; charset=utf-8".to_owned())];
    ServedPage { url: url.to_owned(), status: 200, headers, body: html.to_owned().into() }
}

fn renderer(options: RenderOptions) -> Renderer {
    Renderer::new(options).unwrap()
}

/// Options under which a page fails by time only if it never ends, however busy the machine is.
fn patient() -> RenderOptions {
    RenderOptions { time: Duration::from_secs(600), ..RenderOptions::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_as_its_scripts_made_it() {
    let source = TableSource::default()
        .with(
            "https://a.test/app.js",
            200,
            &[("content-type", "text/javascript")],
            "window.load = p => fetch(p)",
        )
        .with("https://a.test/go", 302, &[("location", "/data")], "")
        .with("https://a.test/data", 200, &[], "late text");
    let html = "<title>t</title><link rel=stylesheet href=/x.css><noscript>no scripts</noscript><p id=p>early</p>\
        <div id=host></div><script src=/app.js></script><script>setTimeout(async () => {\
        p.textContent = await (await load('/go')).text() + ' at ' + location.href + ' by ' + navigator.userAgent;\
        const a = document.createElement('a'); a.href = '/next'; a.textContent = 'more'; document.body.append(a);\
        host.attachShadow({mode: 'open'}).innerHTML = '<b>in the shadow</b>'; }, 8e5)</script>";
    // Its timer runs for longer than the page may take, but not by the clock on the wall.
    let settle = Duration::from_secs(900);
    let renderer = renderer(RenderOptions { user_agent: "recrawl/1".into(), settle, ..patient() });
    let rendered = renderer.render(&page("https://a.test/p?q=1", html), &source).await.unwrap();
    for part in [
        "late text at https://a.test/p?q=1 by recrawl/1",
        "<a href=\"/next\">more</a>",
        "<b>in the shadow</b>",
    ] {
        assert!(rendered.html.contains(part), "{part}: {}", rendered.html);
    }
    assert!(!rendered.html.contains("no scripts") && !rendered.html.contains("early"), "{}", rendered.html);
    assert_eq!(source.asked(), ["https://a.test/app.js", "https://a.test/go", "https://a.test/data"]);
    assert!(
        source.asked.lock().unwrap()[2]
            == Ask {
                url: "https://a.test/data".into(),
                kind: ResourceKind::Data,
                is_own: false,
                body_time: None,
                fields: vec![("accept", "*/*".into())],
            }
    );
    renderer.render(&page("https://a.test/p?q=1", html), &source).await.unwrap();
    assert_eq!(source.asked()[3..], ["https://a.test/go", "https://a.test/data"], "the script is kept");
    let figures = renderer.figures();
    assert_eq!((figures.rendered, figures.starts, figures.cached, figures.answered), (2, 1, 1, 5));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_scripts_opened_and_wrote_into_fields_is_read() {
    let html = "<div popover=manual id=a>opened</div><div popover id=b>closed</div><textarea id=c>before</textarea>\
        <textarea>as it is</textarea><div id=host></div><script>a.showPopover(); c.value = 'wri<tten';\
        host.attachShadow({mode: 'open'}).innerHTML = '<div popover id=d>in the shadow</div>';\
        host.shadowRoot.getElementById('d').showPopover()</script>";
    let rendered =
        renderer(patient()).render(&page("https://a.test/", html), &TableSource::default()).await.unwrap();
    for part in [
        "<div popover=\"manual\" id=\"a\" style=\"display: block;\">opened</div>",
        "<div popover=\"\" id=\"b\">closed</div>",
        "<textarea id=\"c\">wri&lt;tten</textarea><textarea>as it is</textarea>",
        "<div popover=\"\" id=\"d\" style=\"display: block;\">in the shadow</div>",
    ] {
        assert!(rendered.html.contains(part), "{part}: {}", rendered.html);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_markup_can_say_does_not_become_text() {
    let html = "<p>seen</p><script>document.body.append(new Comment('a --> b'), new Comment('> c'), new Comment('d'));\
        const e = document.createElement('script'); e.type = 'application/json'; e.text = '\"<!-- </scr' + 'ipt> f\"';\
        document.body.append(e); document.currentScript.remove()</script>";
    let rendered =
        renderer(patient()).render(&page("https://a.test/", html), &TableSource::default()).await.unwrap();
    let kept = "<p>seen</p><!----><!----><!--d--><script type=\"application/json\">\"\\u003c!-- \\u003c/script> f\"</script>";
    assert!(rendered.html.contains(kept), "{}", rendered.html);
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_pages_cost_themselves() {
    let renderer = renderer(RenderOptions { max_document: 1 << 20, ..patient() });
    let source = TableSource::default().with("http://a.test/more", 200, &[], "more");
    let good = "<p>x</p><script>document.body.append('y')</script>";
    for (name, html, expected) in [
        ("a large document", "<script>document.write('x'.repeat(5e6))</script>", Err(RenderError::Size)),
        ("reloads", "<p>here</p><script>location.reload()</script>", Ok("here")),
        ("another page", "<p>here</p><script>location = '/more'</script>", Ok("here")),
        ("a local file", "<p>here</p><script>location = 'file:///etc/passwd'</script>", Ok("here")),
        ("dialogs", "<script>alert(1);confirm(2);prompt(3);document.write('here')</script>", Ok("here")),
        ("windows", "<script>document.write(window.open('/more') ? 'opened' : 'here')</script>", Ok("here")),
        ("timers", "<p>here</p><script>setInterval(() => document.title += 'x', 0)</script>", Ok("here")),
        ("a download", "<p>here</p><a id=a href=/more download></a><script>a.click()</script>", Ok("here")),
        ("printing", "<p>here</p><script>print()</script>", Ok("here")),
        ("nothing", "<p>here</p><script>location = 'about:blank'</script>", Err(RenderError::Left)),
        (
            "a page of its own",
            "<p>here</p><script>location = URL.createObjectURL(new Blob(['<p>other'], \
            {type: 'text/html'}))</script>",
            Err(RenderError::Left),
        ),
        (
            "leaving",
            "<p>here</p><script>onbeforeunload = e => e.preventDefault(); location = '/more'</script>",
            Ok("here"),
        ),
    ] {
        let rendered = renderer.render(&page("http://a.test/hostile", html), &source).await;
        match (&rendered, expected) {
            (Ok(rendered), Ok(text)) => assert!(rendered.html.contains(text), "{name}: {}", rendered.html),
            (found, expected) => assert_eq!(found.as_ref().err().cloned(), expected.err(), "{name}"),
        }
        let after = renderer.render(&page("http://a.test/good", good), &source).await.unwrap();
        assert!(after.html.contains("</script>y"), "after {name}: {}", after.html);
    }
    assert!(source.asked().is_empty(), "{:?}", source.asked());
    assert_eq!(renderer.figures().starts, 1, "no page took the browser with it");
    let away = renderer
        .render(&page("http://a.test/", "<script>location = '/more'</script>"), &source)
        .await
        .unwrap();
    assert_eq!(away.navigations, ["http://a.test/more"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_never_ends_is_left_and_the_page_is_read() {
    // Requests may take three seconds.
    let renderer = renderer(RenderOptions { settle: Duration::from_secs(1), ..patient() });
    let source = TableSource::default().with("http://a.test/more", 200, &[], "more");
    for (name, script) in [
        ("a poll", "fetch('/endless').catch(() => document.body.append('given up'))"),
        ("a script", "</script><script async src=/endless.js onerror=\"document.body.append('given up')\">"),
        // Asks again at once, and is answered at once.
        (
            "polls",
            "let n = 0; const poll = () => fetch('/endless').catch(() => ++n < 9 ? poll() : document.body.append('given up')); \
             poll()",
        ),
    ] {
        let html = format!("<p>here</p><script>fetch('/more');{script}</script>");
        let rendered = renderer.render(&page("http://a.test/", &html), &source).await.unwrap();
        let text = "given up";
        assert!(rendered.html.contains(text), "{name}: {}", rendered.html);
    }
    let asked = source.asked();
    assert_eq!(asked.iter().filter(|url| url.contains("/endless")).count(), 3, "{asked:?}");
    assert_eq!(renderer.figures().failed, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_events_is_read_for_a_time_and_not_again() {
    let settle = Duration::from_secs(4);
    let renderer = renderer(RenderOptions { settle, ..patient() });
    let events = [("content-type", "text/event-stream")];
    let source = TableSource::default().with("http://a.test/live", 200, &events, "retry: 1\ndata: news\n\n");
    let html = "<p>here</p><script>const live = new EventSource('/live');\
        live.onmessage = event => document.body.append(event.data + ';')</script>";
    let rendered = renderer.render(&page("http://a.test/", html), &source).await.unwrap();
    assert!(rendered.html.contains("</script>news;"), "{}", rendered.html);
    let asked = source.asked.lock().unwrap();
    let times: Vec<_> = asked.iter().map(|ask| (ask.url.as_str(), ask.body_time)).collect();
    assert_eq!(times, [("http://a.test/live", Some(settle))]);
}

/// Each poll has a URL of its own, so no answer comes at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_whose_time_is_over_is_read_as_it_stands() {
    let options = RenderOptions { time: Duration::from_secs(30), ..RenderOptions::default() };
    let renderer = renderer(RenderOptions { settle: Duration::from_secs(600), ..options });
    let html = "<p>here</p><script>let n = 0; const poll = () => fetch('/endless?' + n++).catch(poll); poll()</script>";
    let rendered = renderer.render(&page("http://a.test/", html), &TableSource::default()).await.unwrap();
    assert!(rendered.html.contains("<p>here</p>"), "{}", rendered.html);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_never_end_are_given_up() {
    let renderer = renderer(RenderOptions { time: Duration::from_secs(3), ..RenderOptions::default() });
    for html in [
        "<script>for(;;);</script>",
        "<script>(function f(){Promise.resolve().then(f)})()</script>",
        // Scrolling never ends.
        "<div style='height:9999px'></div><script>onscroll = () => { for(;;); }</script>",
    ] {
        let error =
            renderer.render(&page("http://a.test/", html), &TableSource::default()).await.unwrap_err();
        assert_eq!(error, RenderError::Time, "{html}");
    }
    assert_eq!(renderer.figures().starts, 1, "no page took the browser with it");
}

const STAR: (&str, &str) = ("access-control-allow-origin", "*");
const SCRIPT: (&str, &str) = ("content-type", "text/javascript");

/// What a page of http://a.test/ says after these scripts, of which each adds a word or more by `say`.
async fn said(source: &TableSource, scripts: &[&str]) -> String {
    let html = format!(
        "<p id=p></p><script type=module>const all = [], \
        say = w => {{ all.push(w); p.textContent = all.join(' ') + '.'; }}, \
        get = (path, more) => fetch('http://b.test/' + path, more).then(r => r.text()).then(say, () => say('-')), \
        load = (url, kind) => new Promise(end => {{ const s = document.createElement('script'); s.src = url; \
        if (kind) s.type = kind; s.onload = () => end(say('loaded')); s.onerror = () => end(say('-')); \
        document.body.append(s); }});\n{}</script>",
        scripts.join(";\n")
    );
    let rendered = renderer(patient()).render(&page("http://a.test/", &html), source).await.unwrap();
    let said = rendered.html.split("<p id=\"p\">").nth(1).and_then(|rest| rest.split_once(".</p>"));
    said.unwrap_or_else(|| panic!("{}", rendered.html)).0.to_owned()
}

/// The fields of servers reach the browser as they are, and it is told no others.
#[tokio::test(flavor = "multi_thread")]
async fn other_origins_are_read_with_the_consent_of_their_servers_alone() {
    let own = ("access-control-allow-origin", "http://a.test");
    let other = ("access-control-allow-origin", "http://c.test");
    let fields = ("access-control-allow-headers", "x-app");
    let source = TableSource::default()
        .with("http://b.test/silent", 200, &[], "secret")
        .with("http://b.test/star", 200, &[STAR], "star")
        .with("http://b.test/own", 200, &[own], "own")
        .with("http://b.test/other", 200, &[other], "secret")
        .with("http://b.test/both", 200, &[own, own], "secret")
        .with("http://b.test/gone", 404, &[STAR], "gone")
        .with("http://b.test/asked", 200, &[own, fields], "asked")
        .with("http://b.test/hop", 302, &[STAR, ("location", "http://c.test/own")], "")
        .with("http://c.test/own", 200, &[own], "secret")
        .with("http://b.test/silent-hop", 302, &[("location", "/star")], "")
        .with("http://b.test/hop-to-star", 302, &[STAR, ("location", "/star")], "");
    let with_field = "{headers: {'x-app': '1'}}";
    let found = said(
        &source,
        &[
            "await get('silent')",
            "await get('star')",
            "await get('star', {credentials: 'include'})",
            "await get('own')",
            "await get('other')",
            "await get('both')",
            "await get('gone')",
            "await get('silent', {mode: 'no-cors'})",
            &format!("await get('asked', {with_field})"),
            &format!("await get('star', {with_field})"),
            "await get('star', {method: 'POST'})",
            "await get('asked', {method: 'DELETE'})",
            "await get('hop')",
            "await get('silent-hop')",
            "await get('hop-to-star')",
        ],
    )
    .await;
    assert_eq!(found, "- star - own - - gone - asked - - - - - star");
    let asked = source.asked.lock().unwrap();
    assert!(asked.iter().all(|ask| !ask.is_own));
    let origin = |ask: &Ask| ask.field("origin").map(str::to_owned);
    let tainted: Vec<_> =
        asked.iter().filter(|ask| origin(ask).as_deref() != Some("http://a.test")).collect();
    assert_eq!(tainted.len(), 1, "{tainted:?}");
    assert_eq!((&*tainted[0].url, origin(tainted[0]).as_deref()), ("http://c.test/own", Some("null")));
    let preflights: Vec<_> = asked.iter().filter(|ask| ask.kind == ResourceKind::Preflight).collect();
    assert_eq!(preflights.len(), 2, "only those of GET: {preflights:?}");
    for preflight in preflights {
        assert_eq!(preflight.field("access-control-request-method"), Some("GET"));
        assert_eq!(preflight.field("access-control-request-headers"), Some("x-app"));
    }
}

/// Data is no script, and a script that nobody consented to says nothing of its errors.
#[tokio::test(flavor = "multi_thread")]
async fn scripts_of_other_origins_run_and_data_does_not() {
    let json = ("content-type", "application/json");
    let source = TableSource::default()
        .with("http://b.test/x.js", 200, &[SCRIPT], "self.x = 'x'")
        .with("http://b.test/m.js", 200, &[SCRIPT, STAR], "self.m = 'm'")
        .with("http://b.test/data", 200, &[json], "{\"secret\": 1}")
        .with("http://b.test/text", 200, &[("content-type", "text/plain")], "secret")
        .with("http://b.test/page", 200, &[("content-type", "text/html")], "self.secret = 1")
        .with("http://b.test/none", 200, &[], "self.secret = 1")
        .with("http://b.test/broken.js", 200, &[SCRIPT], "secret.of.b")
        .with("http://b.test/hop.js", 302, &[("location", "/x.js")], "")
        .with("http://a.test/text", 200, &[("content-type", "text/plain")], "self.own = 'own'");
    let found = said(
        &source,
        &[
            "self.onerror = (message, file, line) => say(message + line)",
            "await load('http://b.test/x.js'), say(self.x)",
            "await load('http://b.test/x.js', 'module')",
            "await load('http://b.test/m.js', 'module'), say(self.m)",
            "for (const path of ['data', 'text', 'page', 'none']) await load('http://b.test/' + path)",
            "await load('http://b.test/absent.js')",
            "await load('http://b.test/broken.js')",
            "await load('http://b.test/hop.js')",
            "await load('/text'), say(self.own)",
            "say(performance.getEntriesByType('resource').filter(e => e.name.includes('b.test/x.js'))\
            .map(e => e.transferSize + e.decodedBodySize + e.responseStatus + e.responseStart).join())",
        ],
    )
    .await;
    let expected = "loaded x - loaded m - - - - - Script error.0 loaded loaded loaded own 0,0";
    assert_eq!(found, expected);
}

/// Each way in which a page asks beside `fetch` in its own document.
#[tokio::test(flavor = "multi_thread")]
async fn workers_and_frames_have_the_rights_of_their_page_at_most() {
    let source = TableSource::default()
        .with("http://b.test/silent", 200, &[], "secret")
        .with("http://b.test/star", 200, &[STAR], "star")
        .with("http://b.test/x.js", 200, &[SCRIPT], "self.x = 'x'")
        .with("http://b.test/data", 200, &[("content-type", "application/json")], "1")
        .with("http://a.test/own", 200, &[], "own")
        .with("http://a.test/queued", 200, &[], "");
    let ask = "const get = u => fetch(u).then(r => r.text()).catch(() => '-')";
    let worker = format!(
        "{ask}; (async () => {{ const all = [await get('http://a.test/own'), await get('http://b.test/silent'), \
        await get('http://b.test/star')]; for (const path of ['x.js', 'data']) try {{ \
        importScripts('http://b.test/' + path); all.push(self.x) }} catch {{ all.push('-') }} \
        postMessage(all.join(' ')) }})()"
    );
    let frame = format!(
        "<script>{ask}; (async () => parent.postMessage([await get('http://a.test/own'), \
        await get('http://b.test/silent'), await get('http://b.test/star')].join(' '), '*'))()<\\/script>"
    );
    let in_frame = |sandbox: &str| {
        format!(
            "await new Promise(end => {{ const f = document.createElement('iframe'); {sandbox} \
            onmessage = e => end(say(e.data)); f.srcdoc = \"{frame}\"; document.body.append(f) }})"
        )
    };
    // The page's time does not wait for workers, but for what it loads itself.
    let in_worker = "const slow = fetch('http://a.test/queued'); await new Promise(end => { \
        const w = new Worker(URL.createObjectURL(new Blob([code]))); w.onmessage = e => end(say(e.data)) }); await slow";
    let foreign_frame = "await new Promise(end => { const f = document.createElement('iframe'); \
        f.src = 'http://b.test/star'; f.onload = () => end(say(f.contentDocument ? f.contentDocument.body.innerText : '-')); \
        document.body.append(f) })";
    let found = said(
        &source,
        &[
            &format!("const code = {}", serde_json::to_string(&worker).unwrap()),
            in_worker,
            &in_frame(""),
            &in_frame("f.sandbox = 'allow-scripts';"),
            foreign_frame,
            "say(String(self.open('http://b.test/star')))",
            "for (const url of ['http://b.test/star', 'http://a.test/none']) await new Promise(end => { \
            const i = new Image(); i.onload = () => end(say('image')); i.onerror = () => end(say('-')); i.src = url })",
        ],
    )
    .await;
    assert_eq!(found, "own - star x - own - star - - star - null - -");
    let asked = source.asked();
    assert_eq!(asked.iter().filter(|url| url.ends_with("star")).count(), 3, "worker and frames: {asked:?}");
}

/// docs/rendering.md says what a site sees; nothing is disguised.
#[tokio::test(flavor = "multi_thread")]
async fn a_site_sees_that_a_program_looks_at_it() {
    let html = "<p id=p></p><script>p.textContent = [navigator.webdriver, navigator.userAgent, navigator.languages, \
        JSON.stringify(navigator.userAgentData), screen.width, screen.height, document.visibilityState].join('; ')</script>";
    let renderer = renderer(RenderOptions { user_agent: "recrawl/1".into(), ..patient() });
    let rendered = renderer.render(&page("https://a.test/", html), &TableSource::default()).await.unwrap();
    let hints = r#"{"brands":[],"mobile":false,"platform":""}"#;
    // Chromium 156 adds the language without its country.
    let seen = ["en-US", "en-US,en"]
        .map(|languages| format!("true; recrawl/1; {languages}; {hints}; 800; 600; visible"));
    assert!(seen.iter().any(|seen| rendered.html.contains(seen)), "{}", rendered.html);
}

/// A request that waits for its turn takes none of the page's time.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_does_not_pay_for_our_waiting() {
    let source = TableSource::default().with("http://a.test/queued", 200, &[], "late");
    let html =
        "<p id=p></p><script>fetch('/queued').then(r => r.text()).then(t => p.textContent = t)</script>";
    let renderer = renderer(RenderOptions { time: QUEUED - Duration::from_secs(5), ..patient() });
    let rendered = renderer.render(&page("http://a.test/", html), &source).await.unwrap();
    assert!(rendered.html.contains("late"), "{}", rendered.html);
}

/// A page that floods the browser with requests is refused them, and a page that takes all memory is ended.
#[tokio::test(flavor = "multi_thread")]
async fn requests_and_memory_are_bounded() {
    let renderer = renderer(RenderOptions { memory: 500 << 20, max_requests: 5, ..patient() });
    let source = TableSource::default();
    let many = "<script>for (let i = 0; i < 200; i++) fetch('/' + i).catch(() => 0)</script><p>here</p>";
    assert!(renderer.render(&page("http://a.test/", many), &source).await.unwrap().html.contains("here"));
    assert_eq!(source.asked().len(), 5);
    // It goes on when the kernel refuses memory; a script that does not catch the error ends there, and frees it.
    let greedy = "<script>const all = []; for (;;) try { all.push(new Uint8Array(1 << 24).fill(1)) } catch {}</script>";
    let error = renderer.render(&page("http://a.test/", greedy), &source).await.unwrap_err();
    assert!(matches!(error, RenderError::Crashed | RenderError::Time), "{error:?}");
    let after = renderer.render(&page("http://a.test/", "<p>here</p>"), &source).await.unwrap();
    assert!(after.html.contains("here"));
    assert!(renderer.memory().await < 500 << 20, "{}", renderer.memory().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_that_is_killed_loses_no_page_and_leaves_nothing() {
    let renderer = Arc::new(renderer(RenderOptions { restart_after: 7, ..patient() }));
    let source = Arc::new(TableSource::default());
    let killer = renderer.clone();
    // By what was done, not by time: a page that each of three kills hits would fail.
    let killing = tokio::spawn(async move {
        for rendered in [1, 10] {
            while killer.figures().rendered < rendered {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            killer.crash().await;
        }
    });
    let pages = (0..24).map(|i| {
        let (renderer, source) = (renderer.clone(), source.clone());
        tokio::spawn(async move {
            let html = format!("<script>document.write('page {i}')</script>");
            renderer.render(&page(&format!("http://a.test/{i}"), &html), &*source).await
        })
    });
    let pages: Vec<_> = pages.collect();
    for (i, page) in pages.into_iter().enumerate() {
        assert!(page.await.unwrap().unwrap().html.contains(&format!("page {i}")), "{i}");
    }
    killing.await.unwrap();
    let figures = renderer.figures();
    assert!(figures.rendered == 24 && figures.starts >= 24 / 7, "{figures:?}");
    renderer.rest().await;
    assert_eq!(renderer.memory().await, 0);
}

/// The processes that this one started: browsers, each the first of its group.
fn children() -> Vec<u32> {
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_child = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1));
        parent == Some(&std::process::id().to_string())
    };
    pids.filter(is_child).collect()
}

/// A browser that stops without an end is found out before the next page, and another one is started.
#[tokio::test(flavor = "multi_thread")]
async fn a_browser_that_hangs_is_replaced() {
    let renderer = renderer(patient());
    let source = TableSource::default();
    let here = page("http://a.test/", "<p>here</p>");
    renderer.render(&here, &source).await.unwrap();
    let children = children();
    for child in &children {
        let mut stop = Command::new("kill");
        assert!(stop.args(["-STOP", "--", &format!("-{child}")]).status().unwrap().success());
    }
    assert!(!children.is_empty(), "no browser was found");
    assert!(renderer.render(&here, &source).await.unwrap().html.contains("here"));
    let figures = renderer.figures();
    assert_eq!((figures.starts, figures.crashes), (2, 1), "{figures:?}");
}

/// What scripts leave in a page need not be text.
#[tokio::test(flavor = "multi_thread")]
async fn half_a_surrogate_pair_is_read_as_a_replacement_character() {
    let renderer = renderer(patient());
    for (script, expected) in [
        (r"p.textContent = 'boats \ud83d\ude00'.substring(0, 7) + '\u2026'", ">boats \u{fffd}…</p>"),
        (r"p.textContent = 'end \ude00 of it'", ">end \u{fffd} of it</p>"),
        (r"p.textContent = 'whole \ud83d\ude00'", ">whole 😀</p>"),
        (r"document.title = 'Sale \ud83d'", "<title>Sale \u{fffd}</title>"),
        (r"p.title = '\ud800'", "title=\"\u{fffd}\""),
        (r"p.innerHTML = '<a href=\u0022/\ud800?q=\udc00\u0022>a</a>'", "href=\"/\u{fffd}?q=\u{fffd}\""),
        (r"p.append(new Comment('\udfff'))", "<!--\u{fffd}-->"),
        (r"p.attachShadow({mode: 'open'}).innerHTML = '<b>\ud83d</b>'", "<b>\u{fffd}</b>"),
        (r"p.textContent = 'a\0b'", ">a\0b</p>"),
        (r"console.log('\ud83d'); alert('\ud83d'); p.textContent = 'said'", ">said</p>"),
        (r"fetch('/\ud83d').catch(() => 0).then(() => p.textContent = 'asked')", ">asked</p>"),
    ] {
        let html = format!("<title>t</title><p id=p>base</p><script>{script}</script>");
        let rendered =
            renderer.render(&page("http://a.test/", &html), &TableSource::default()).await.unwrap();
        assert!(rendered.html.contains(expected), "{script}: {}", rendered.html);
    }
    let html = r"<p>here</p><script>location = '/go?\ud83d'</script>";
    let rendered = renderer.render(&page("http://a.test/", html), &TableSource::default()).await.unwrap();
    assert_eq!(rendered.navigations, ["http://a.test/go?%EF%BF%BD"]);
}

/// Values nested too deeply to be read are a matter of the page's scripts; the page itself is read.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_too_long_fails_its_page_alone() {
    let renderer = renderer(RenderOptions { max_document: 1 << 20, ..patient() });
    let source = TableSource::default();
    let quiet = "<p>here</p><script>setTimeout(() => document.body.append('late'), 4000)</script>";
    let long = "'x'.repeat(3e7)";
    for script in
        [format!("fetch('/x', {{headers: {{a: {long}}}}}).catch(() => 0)"), format!("prompt('', {long})")]
    {
        let html = format!("<p>here</p><script>{script}</script>");
        let (loud, quiet) = (page("http://a.test/loud", &html), page("http://a.test/quiet", quiet));
        let (loud, quiet) = tokio::join!(renderer.render(&loud, &source), renderer.render(&quiet, &source));
        assert_eq!(loud, Err(RenderError::Unreadable), "{script}");
        assert!(quiet.unwrap().html.contains("late"));
    }
    let deep =
        "<p>here</p><script>let a = {}; for (let i = 0; i < 1e4; i++) a = {a}; console.log(a)</script>";
    assert!(renderer.render(&page("http://a.test/", deep), &source).await.unwrap().html.contains("here"));
    let figures = renderer.figures();
    assert_eq!((figures.starts, figures.crashes), (1, 0), "{figures:?}");
}
