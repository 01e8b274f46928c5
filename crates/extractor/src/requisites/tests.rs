use super::*;
use proptest::prelude::*;
use std::time::{Duration, Instant};

fn url(text: &str) -> CanonicalUrl {
    UrlRules::keep_all().canonicalize(text).unwrap()
}

fn of_page(html: &str) -> Vec<(RequisiteKind, String)> {
    let fields = BodyFields { content_type: Some("text/html; charset=utf-8"), ..BodyFields::default() };
    let found = requisites(html.as_bytes(), &fields, &url("http://a.test/d/p"), &MediaTypes::default());
    short(found)
}

fn of_style(css: &str) -> Vec<(RequisiteKind, String)> {
    named_in(RequisiteKind::Style, css)
}

fn named_in(kind: RequisiteKind, body: &str) -> Vec<(RequisiteKind, String)> {
    let requisite = Requisite { url: url("http://a.test/s/x.css"), kind };
    let fields = BodyFields { content_type: Some("text/css"), ..BodyFields::default() };
    short(requisite.named_in(body.as_bytes(), &fields, &MediaTypes::default()))
}

fn short(found: Vec<Requisite>) -> Vec<(RequisiteKind, String)> {
    let path = |url: CanonicalUrl| url.to_string().replace("http://a.test", "");
    found.into_iter().map(|requisite| (requisite.kind, path(requisite.url))).collect()
}

#[test]
fn all_that_a_browser_might_load_is_found_once_the_most_important_first() {
    use RequisiteKind::*;
    let html = "<base href='/b/'><body background=ground.png>
        <img src=one.png srcset='one.png 1x, two.png 2x,three.png 3x, a,b.png 100w' alt=x>
        <picture><source srcset='four.webp'><img src=' five.png '></picture>
        <link rel='Alternate StyleSheet' href=main.css><link rel=icon href=/favicon.ico>
        <link rel=preload as=font href=f.woff2><link rel=modulepreload href=m.js><link rel=next href=next>
        <script src=s.js></script><style>@import 'more.css' print; p { background: url(six.png) }</style>
        <p style='background: url(&quot;seven.png&quot;)'>x<input type=IMAGE src=eight.png><input src=no.png>
        <video poster=poster.png src=v.mp4><source src=w.webm><track src=t.vtt></video>
        <img src='data:image/gif;base64,R0' data-src=late.png data-srcset='later.png 2x'>
        <picture><source data-srcset=latest.webp></picture><link rel=preload as=image imagesrcset='set.png 2x'>
        <link rel=preload as=style href=early.css><link rel=preload as=fetch href=no.json>
        <p style='background: image-set(&quot;set1.png&quot; 1x)'><div data-src=no.png></div>
        <img data-lazy-src=late1.png><img data-original=late2.png data-lazy-srcset='late3.png 1x'>
        <iframe srcdoc=\"<base href=c/><img src=in.png><iframe srcdoc='<img src=deep.png>'></iframe>\" src=no.html></iframe>
        <iframe src=frame.html></iframe><iframe data-src=late.html></iframe><object data=o.swf></object>
        <svg><image href=nine.png /><use xlink:href='sprite.svg#a'/></svg>
        <a href=link.html>x</a><img src='data:image/png;base64,AAAA'><img src='#top'><img src=''><img src=/d/p>
        <img src='javascript:x'><noscript><img src=ten.png></noscript><img src='//cdn.test/x.png'>";
    let of = |kind: RequisiteKind| -> Vec<String> {
        of_page(html).into_iter().filter(|(of, _)| *of == kind).map(|(_, path)| path).collect()
    };
    assert_eq!(of(Style), ["/b/main.css", "/b/more.css", "/b/early.css"]);
    assert_eq!((of(Script), of(Module)), (vec!["/b/s.js".into()], vec!["/b/m.js".into()]));
    assert_eq!(of(Font), ["/b/f.woff2"]);
    let images = [
        "/b/ground.png",
        "/b/one.png",
        "/b/two.png",
        "/b/three.png",
        "/b/a,b.png",
        "/b/four.webp",
        "/b/five.png",
        "/favicon.ico",
        "/b/six.png",
        "/b/seven.png",
        "/b/eight.png",
        "/b/poster.png",
        "/b/late.png",
        "/b/later.png",
        "/b/latest.webp",
        "/b/set.png",
        "/b/set1.png",
        "/b/late1.png",
        "/b/late2.png",
        "/b/late3.png",
        "/b/c/in.png",
        "/b/c/deep.png",
        "/b/nine.png",
        "/b/sprite.svg",
        "/b/ten.png",
        "http://cdn.test/x.png",
    ];
    assert_eq!(of(Image), images);
    assert_eq!(
        (of(Frame), of(Media)),
        (
            vec!["/b/frame.html".into(), "/b/late.html".into()],
            ["/b/v.mp4", "/b/w.webm", "/b/t.vtt", "/b/o.swf"].map(str::to_owned).to_vec()
        )
    );
    let kinds: Vec<RequisiteKind> = of_page(html).into_iter().map(|(kind, _)| kind).collect();
    assert!(kinds.is_sorted());
    assert_eq!(of_page("<base href='data:text/html,x'><img src=x.png>")[0].1, "/d/x.png");
    assert_eq!(requisites(b"{}", &BodyFields::default(), &url("http://a.test/"), &MediaTypes::default()), []);
}

#[test]
fn modules_and_what_they_import_are_found() {
    use RequisiteKind::*;
    let html = r#"<script type=importmap>{"imports": {"a": "./mapped.js", "b/": "/folder/"}, "scopes": {"/x/": {"c": "/scoped.js"}}}
        </script><script type=Module src=main.js></script><script type=module>import "/own.js"; import "a"</script>
        <script>import("./no.js")</script><script type=importmap>{</script>"#;
    let found = ["/scoped.js", "/d/mapped.js", "/d/main.js", "/own.js"];
    assert_eq!(of_page(html), found.map(|path| (Module, path.to_owned())));
    assert_eq!(named_in(Module, "export * from './y.js'"), [(Module, "/s/y.js".to_owned())]);
    assert_eq!(named_in(Script, "import('./y.js')"), []);
}

#[test]
fn a_style_sheet_is_read_as_browsers_read_it() {
    use RequisiteKind::*;
    let css = r#"@charset "utf-8"; @import "i.css" screen; @import url(j.css); @namespace url(http://n.test/);
        @font-face { font-family: x; src: url("f.woff2") format("woff2"), url(f.woff) }
        a { background: u\72l("k.png") } /* url(no.png) */ b::after { content: "url(no2.png)" }
        @media screen { c { background: image-set("l.png" 1x, url(m.png) 2x) } }
        @import "late.css"; d { mask: url('n.png' bad, o.png); cursor: url( p.cur ), auto; background: url("\70.png") }"#;
    let found = of_style(css);
    let expected = [
        (Style, "/s/i.css"),
        (Style, "/s/j.css"),
        (Font, "/s/f.woff2"),
        (Font, "/s/f.woff"),
        (Image, "/s/k.png"),
        (Image, "/s/l.png"),
        (Image, "/s/m.png"),
        (Image, "/s/n.png"),
        (Image, "/s/p.cur"),
        (Image, "/s/p.png"),
    ];
    assert_eq!(found, expected.map(|(kind, path)| (kind, path.to_owned())));
    assert_eq!(of_style("@import 'x.css'; @import url(x.css)"), [], "its own URL");
}

#[test]
fn hostile_pages_and_style_sheets_cost_little() {
    let start = Instant::now();
    let many: String = (0..100_000).map(|i| format!("<img src={i}>")).collect();
    assert_eq!(of_page(&many).len(), 100_000);
    let data = format!("<img src='data:image/png;base64,{}'>", "A".repeat(10 << 20));
    assert_eq!(of_page(&data), []);
    for css in [
        "(".repeat(500_000),
        "a{".repeat(300_000),
        "url(".repeat(200_000),
        "@import 'a' ".repeat(50_000),
        "@import ".repeat(100_000),
        "@import 'a' supports(".repeat(20_000),
        "image-set(".repeat(100_000) + "'x.png'",
        "url('".repeat(100_000),
        "\\".repeat(500_000),
        "a{background:url(x.png)}".repeat(40_000),
    ] {
        assert!(of_style(&css).len() <= 1, "{}", &css[..20]);
        rewrite(&css, &mut |_| String::new());
    }
    // Far more than it takes, far less than a quadratic cost.
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

proptest! {
    #[test]
    fn a_rewritten_style_sheet_names_only_what_was_put_in(
        parts in prop::collection::vec(prop::sample::select(vec![
            "url(", "url(x", "URL('y'", ")", "'", "\"", "@import", " ", ";", "{", "}", "(", "[", "]", "\\", "\n", "/*", "*/",
            "image-set(", "u\\72l(", "</style>", "<!--", "a", ":", "@font-face", "src(", "http://evil.test/", "@namespace",
        ]), 0..40)
    ) {
        let css = parts.concat();
        let rewritten = rewrite(&css, &mut |_| "none".into());
        let mut left = Vec::new();
        css::scan(&rewritten, &mut |reference| left.push(format!("{reference:?}")));
        prop_assert!(left.is_empty(), "{:?} from {:?}: {:?}", rewritten, css, left);
        prop_assert!(!rewritten.contains("</"));
    }

    #[test]
    fn any_bytes_are_read(body in prop::collection::vec(any::<u8>(), 0..300)) {
        let page = url("http://a.test/");
        let fields = BodyFields { content_type: Some("text/html"), ..BodyFields::default() };
        let found = requisites(&body, &fields, &page, &MediaTypes::default());
        prop_assert!(found.iter().all(|requisite| requisite.url != page));
        for kind in [RequisiteKind::Style, RequisiteKind::Module] {
            Requisite { url: page.clone(), kind }.named_in(&body, &fields, &MediaTypes::default());
        }
    }
}

#[test]
fn documents_in_documents_are_read_up_to_a_limit() {
    let many = "<iframe srcdoc='<img src=x.png>'></iframe>".repeat(MAX_EMBEDDED)
        + "<iframe srcdoc='<img src=y.png>'></iframe>";
    assert_eq!(of_page(&many).len(), 1);
    let escaped = |html: &str| html.replace('&', "&amp;").replace('"', "&quot;");
    let nested = |levels: usize| {
        (0..levels).fold("<img src=z.png>".to_owned(), |html, _| {
            format!("<iframe srcdoc=\"{}\"></iframe>", escaped(&html))
        })
    };
    assert_eq!((of_page(&nested(MAX_NESTED)).len(), of_page(&nested(MAX_NESTED + 1)).len()), (1, 0));
}
