//! The pass without a tree against the tree. `PROPTEST_CASES` sets the number of generated pages.

use super::*;
use proptest::prelude::*;
use recrawl_mockweb::procedural::Procedural;
use recrawl_mockweb::replay::ReplayedWeb;
use recrawl_mockweb::web::Web;
use recrawl_mockweb::{ProceduralConfig, ReplayConfig};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Pages of the bundled recording in their first and last version, and of a procedural web.
static PAGES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let replay = ReplayedWeb::new(&ReplayConfig::default()).unwrap();
    let procedural = Procedural::new(ProceduralConfig { pages: 100, ..ProceduralConfig::default() }).unwrap();
    let mut pages = Vec::new();
    for web in [&replay as &dyn Web, &procedural] {
        let names: Vec<String> = (0..web.hosts()).map(|host| format!("host-{host}.test")).collect();
        for page in 0..web.pages() {
            let (first, last) = web.lifetime(page);
            let mut versions = [Some(first), last].map(|cycle| web.version(page, cycle?)).to_vec();
            versions.dedup();
            for version in versions.into_iter().flatten() {
                let mut html = Vec::new();
                web.write_page(page, version, "<p>notice</p>", &names, &mut html);
                pages.push(String::from_utf8(html).unwrap());
            }
        }
    }
    pages
});

#[test]
fn few_recorded_pages_need_the_tree() {
    let mut why = BTreeMap::<_, usize>::new();
    for page in PAGES.iter() {
        if let Err(reason) = assert_both_ways(page) {
            *why.entry(reason).or_default() += 1;
        }
    }
    let slow: usize = why.values().sum();
    println!("{slow} of {} pages need the tree: {why:?}", PAGES.len());
    assert!(PAGES.len() > 1_000 && slow * 100 <= PAGES.len(), "{slow} of {}: {why:?}", PAGES.len());
}

#[test]
fn the_corpus_is_read_as_by_the_tree() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/html");
    let mut fast = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        fast += usize::from(assert_both_ways(&String::from_utf8_lossy(&bytes)).is_ok());
    }
    assert!(fast > 20, "{fast}");
}

/// Names of elements that have rules of their own, and some that have none.
const NAMES: &[&str] = &[
    "a",
    "a",
    "b",
    "i",
    "font",
    "nobr",
    "p",
    "p",
    "div",
    "div",
    "span",
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
    "table",
    "table",
    "caption",
    "colgroup",
    "col",
    "tbody",
    "thead",
    "tfoot",
    "tr",
    "td",
    "th",
    "form",
    "input",
    "button",
    "select",
    "option",
    "optgroup",
    "noscript",
    "head",
    "body",
    "html",
    "nav",
    "header",
    "footer",
    "main",
    "article",
    "aside",
    "section",
    "h1",
    "h2",
    "hr",
    "br",
    "img",
    "image",
    "link",
    "meta",
    "base",
    "object",
    "applet",
    "svg",
    "math",
    "mi",
    "desc",
    "text",
    "tspan",
    "defs",
    "slot",
    "annotation",
    "foreignobject",
    "annotation-xml",
    "path",
    "g",
    "frame",
    "pre",
    "listing",
    "ruby",
    "rt",
    "rp",
    "rb",
    "rtc",
    "dialog",
    "video",
    "source",
    "area",
    "wbr",
    "my-card",
    "x",
    "address",
    "summary",
    "details",
    "em",
];

/// A piece of markup, of any kind.
fn piece() -> impl Strategy<Value = String> {
    let attribute = prop_oneof![
        4 => Just(""),
        1 => proptest::sample::select(vec![
            " href=/a", " href='/b?x=1&amp;y=2'", " href=\"/c\"", " HREF=/d href=/e", " rel=nofollow", " rel=canonical",
            " rel='alternate' hreflang=de", " rel=next", " name=robots content=noindex", " http-equiv=refresh content='0;/r'",
            " hidden", " aria-hidden=true", " style='display:none'", " style='display:block;white-space:pre'", " popover",
            " style='visibility:hidden'", " style='visibility:visible;white-space:normal'", " type=submit value='a\nb'", " x=1",
            " display=none", " visibility=hidden", " slot=s", " shadowrootmode=x", " role=navigation", " role=main", " src=/s", " open",
            " type=hidden", " color=red", " lang=de", " alt='an image'", " aria-label='a label'", " xlink:href=/x", " class=z",
            " title='a<b c'", " data-x=\"<p>\"", " a=b/", " =x", " x = y", "/", " /", " href=a&lt=b&copy", " alt=&#x41;&nbsp",
            " href='a\r\nb'", " charset=utf-8", " encoding=text/html",
        ]).prop_map(|attribute| attribute),
    ];
    let name = proptest::sample::select(NAMES);
    let start = (name.clone(), attribute.clone(), attribute).prop_map(|(n, a, b)| format!("<{n}{a}{b}>"));
    let text = proptest::sample::select(vec![
        " ",
        "\n",
        "\r\n",
        "a",
        "word word",
        " some text ",
        "two\nlines",
        "two\r\nlines\r",
        "\u{a0}",
        "é",
        "\u{feff}",
        "&amp;",
        "&nbsp;",
        "&lt",
        "&notit;",
        "&#65;",
        "&#x80;",
        "&#0;",
        "&",
        "& b",
        "&unknown;",
        "<",
        "< ",
        "</",
        "</>",
        "<>",
        "<3",
        "\u{c}",
        "\u{b}",
        "]]>",
    ]);
    let other = proptest::sample::select(vec![
        "<!doctype html>",
        "<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0 Strict//EN\">",
        "<!doctype>",
        "<!-- c -->",
        "<!-->",
        "<!--->",
        "<!--!>-->",
        "<!-- a --!>",
        "<!-- <b x -->",
        "<!x>",
        "<?php a ?>",
        "</ x>",
        "<![CDATA[x]]>",
        "<script>if (a<b) {'</p>'}</script>",
        "<script><!-- <script></script>--></script>",
        "<title>T &amp; t</title>",
        "<title> </title>",
        "<style>a<b{}</style>",
        "<textarea>\n a &lt; </textarea>",
        "<P>",
        "</DIV>",
        "<svg/>",
        "<a/>",
        "<iframe src=/f>x<p></iframe>",
        "<xmp><p>&amp;</xmp >",
        "<noembed><p></noembed>",
        "<noframes><a href=/n></noframes/>",
        "<style/></style>",
        "<script/>var a</script x=y>",
        "<textarea/>a<p></p></textarea>",
        "<title><a href=/t></title>",
        "<p",
        "<p x",
        "<!--",
        "<div x='",
        "<script>",
        "<title>",
        "<frameset>",
        "<plaintext>",
        "<template>",
        "<template>",
        "</template>",
        "</template>",
        "<i><i><i><i></i>",
        "<font size=1><font size=1><font size=1><font size=1><p>x</font></p>",
        "<template>a</template>",
        "<noscript><img></noscript>",
        "<noscript><iframe src=/n/></noscript>",
        "<noscript><p>&amp;<a href=/n>n</noscript>",
        "<noscript><meta name=robots content=noindex><base href=/n/><title>n</title></noscript>",
        "<noscript><link rel=canonical href=/n><!-- \r\n</noscript>",
        "<noscript><noscript><a href='\r\n/n'></noscript>",
        "<noscript><iframe srcdoc='<base href=/n/><a href=n><noscript><p></noscript>'></iframe></noscript>",
        "<noscript><div><template shadowrootmode=open><slot></slot></template></div></noscript>",
        "<head><title>x</title></head>",
        "<table><tr><td>a</table>",
        "<ul><li>a<li>b</ul>",
        "<b><p>x</b>y",
        "<a href=/1>x<a href=/2>y</a>",
    ]);
    prop_oneof![
        8 => start,
        6 => name.prop_map(|name| format!("</{name}>")),
        6 => text.prop_map(str::to_owned),
        2 => other.prop_map(str::to_owned),
    ]
}

/// Markup as people write it: elements in each other, most of them closed.
fn nested() -> impl Strategy<Value = String> {
    piece().prop_recursive(6, 60, 6, |inner| {
        let name = proptest::sample::select(NAMES);
        (name, proptest::collection::vec(inner, 0..6), 0u8..8).prop_map(|(name, inner, end)| {
            let inner = inner.concat();
            if end == 0 { format!("<{name}>{inner}") } else { format!("<{name}>{inner}</{name}>") }
        })
    })
}

proptest! {
    #[test]
    fn any_markup_is_read_as_by_the_tree(pieces in proptest::collection::vec(piece(), 0..40)) {
        let _ = assert_both_ways(&pieces.concat());
    }

    #[test]
    fn nested_markup_is_read_as_by_the_tree(pieces in proptest::collection::vec(nested(), 0..8)) {
        let _ = assert_both_ways(&format!("<!doctype html><html><head><title>t</title></head><body>{}", pieces.concat()));
    }

    #[test]
    fn any_text_is_read_as_by_the_tree(text in "[<>/!?&;#='\" \t\r\na-dA-D0-9p-\u{e9}\u{feff}-]{0,60}") {
        let _ = assert_both_ways(&text);
    }

    /// Recorded pages with a few pieces taken out, moved, or put in between.
    #[test]
    fn changed_pages_are_read_as_by_the_tree(
        page in 0usize..2_000,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), 0usize..40, 0u8..4, piece()), 1..6),
    ) {
        let mut text = PAGES[page % PAGES.len()].clone();
        for (at, len, kind, piece) in changes {
            // Mostly at the edge of a tag.
            let edges: Vec<usize> = text.match_indices(['<', '>', '"', '&']).map(|(at, _)| at).collect();
            let start = if edges.is_empty() { 0 } else { edges[at.index(edges.len())] };
            let start = start + usize::from(text[start..].starts_with('>'));
            let end = (start + len..=text.len()).find(|end| text.is_char_boundary(*end)).unwrap_or(start);
            let part = match kind {
                0 => String::new(),
                1 => text[start..end].repeat(2),
                _ => format!("{piece}{}", &text[start..end]),
            };
            text.replace_range(start..end, &part);
        }
        let _ = assert_both_ways(&text);
    }
}
