use super::*;
use crate::{Extracted, extract_part};
use proptest::prelude::*;
use pulldown_cmark::{Event, Parser, Tag, TagEnd, html::push_html};

const PAGE: &str = "https://example.com/docs/page?x=1";

fn read(body: &[u8], content_type: &str, part: Option<&CountedPart>, extent: PageExtent) -> Option<Markdown> {
    let rules = UrlRules::default();
    let url = rules.canonicalize(PAGE).unwrap();
    let fields = BodyFields { content_type: Some(content_type), ..BodyFields::default() };
    markdown(body, &fields, &url, &rules, &ExtractOptions::default(), part, extent)
}

fn whole(html: &str) -> String {
    let page = read(html.as_bytes(), "text/html; charset=utf-8", None, PageExtent::Whole).unwrap();
    assert!(!page.is_cut, "{} bytes", page.text.len());
    page.text
}

fn parser(markdown: &str) -> Parser<'_> {
    use pulldown_cmark::Options;
    Parser::new_ext(
        markdown,
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS,
    )
}

/// What a reader of CommonMark makes of a page.
fn html(markdown: &str) -> String {
    let mut html = String::new();
    push_html(&mut html, parser(markdown));
    html
}

/// The words that a reader of CommonMark sees.
fn words(markdown: &str) -> Vec<String> {
    let (mut text, mut images) = (String::new(), 0);
    for event in parser(markdown) {
        match event {
            Event::Start(Tag::Image { .. }) => images += 1,
            Event::End(TagEnd::Image) => images -= 1,
            Event::Text(part) | Event::Code(part) if images == 0 => text.push_str(&part),
            Event::Start(Tag::Strong | Tag::Emphasis | Tag::Strikethrough | Tag::Link { .. }) => {}
            Event::End(TagEnd::Strong | TagEnd::Emphasis | TagEnd::Strikethrough | TagEnd::Link) => {}
            Event::InlineHtml(tag) if &*tag == "<br>" => text.push('\n'),
            Event::Start(_) | Event::End(_) | Event::SoftBreak | Event::HardBreak | Event::Rule => {
                text.push('\n')
            }
            Event::Text(_) | Event::Code(_) => {}
            other => panic!("{other:?} in {markdown}"),
        }
    }
    text.split_whitespace().map(str::to_owned).collect()
}

/// The words that the extractor sees, with those of the page's frame unless it is left out.
fn seen(html: &str, has_frame: bool) -> Vec<String> {
    let rules = UrlRules::default();
    let url = rules.canonicalize(PAGE).unwrap();
    let fields = BodyFields { content_type: Some("text/html; charset=utf-8"), ..BodyFields::default() };
    let all = has_frame.then(|| CountedPart::new(&["html".into()], &[], &[]).unwrap());
    match extract_part(html.as_bytes(), &fields, &url, &rules, &ExtractOptions::default(), all.as_ref()) {
        Extracted::Page(page) => page.text.split_whitespace().map(str::to_owned).collect(),
        other => panic!("{other:?}"),
    }
}

/// No word is lost or added, and what a reader makes of the Markdown means the same once more.
fn assert_kept(page: &str) {
    let once = whole(page);
    let (mut seen, mut read) = (seen(page, true), words(&once));
    // What stands in a table beside its cells comes before it.
    seen.sort();
    read.sort();
    assert_eq!(read, seen, "{page}\n--- gives ---\n{once}");
    let again = whole(&html(&once));
    assert_eq!(html(&again), html(&once), "{page}\n--- gives ---\n{once}\n--- read as ---\n{}", html(&once));
}

#[test]
fn structure_is_written_as_people_write_it() {
    for (page, expected) in [
        ("<h1>A <b>b</b></h1><h3>C</h3>x<hr>y", "# A **b**\n\n### C\n\nx\n\n***\n\ny\n"),
        ("<p>a <em>b</em>, <strong>c</strong> <del>d</del> <code>e`f</code>", "a *b*, **c** ~~d~~ ``e`f``\n"),
        ("<p>a<br>b<br><br>c", "a\\\nb\n\nc\n"),
        ("<blockquote><p>a<p>b</blockquote><blockquote>c</blockquote>", "> a\n>\n> b\n\n> c\n"),
        ("<ul><li>a<li>b<ul><li>c</ul><li>d</ul>", "- a\n- b\n  - c\n- d\n"),
        ("<ol start=9><li>a<li>b<p>c</p><ul><li>d</ul></ol>", "9. a\n10. b\n\n    c\n    - d\n"),
        ("<ul><li>a</li><ul><li>b</li></ul><li>c</ul>", "- a\n  - b\n- c\n"),
        ("<ol><li>a</li><ol><li>b</li><ul><li>c</ul></ol><li>d</ol>", "1. a\n   1. b\n      - c\n2. d\n"),
        ("<ul><li>a</li><ul><li>b</ul><ul><li>c</ul><li>d</ul>", "- a\n  - b\n\n  + c\n- d\n"),
        ("<ul><li>b<p>c</p></li>d<ul><li>e</ul></ul>", "- b\n\n  c\n\nd\n\n- e\n"),
        ("<ul><li>a</ul><ul><li>b</ul><ol><li>c</ol><ol><li>d</ol>", "- a\n\n+ b\n\n1. c\n\n1) d\n"),
        ("<ul><li><pre>a\n\nb</pre><li><blockquote>c</blockquote></ul>", "- ```\n  a\n\n  b\n  ```\n- > c\n"),
        (
            "<div class='highlight-rust x'><pre><code><span>fn</span> f() {\n    g();\n}\n</code></pre></div>",
            "```rust\nfn f() {\n    g();\n}\n```\n",
        ),
        ("<pre>a ``` b</pre>", "````\na ``` b\n````\n"),
        (
            "<table><tr><th>a<th>b<tr><td>1|2<td><code>x|y</code><tr><td>c<br>d<td><p>e<p>f</table>",
            "| a | b |\n| - | - |\n| 1\\|2 | `x\\|y` |\n| c<br>d | e<br>f |\n",
        ),
        ("<table><caption>t</caption><tr><td>a<td>b</table>", "t\n\n|  |  |\n| - | - |\n| a | b |\n"),
        (
            "<table><tr><th>a<th colspan=2>b<tr><td rowspan=2>c<td>d<td>e<tr><td>f<td>g</table>",
            "| a | b |  |\n| - | - | - |\n| c | d | e |\n|  | f | g |\n",
        ),
        ("<table><tr><td><h2>a</h2><td><p>b</table>", "## a\n\nb\n"),
        (
            "<table><tr><th>a<th>b<tr><td><h3>c</h3>d<td><pre>e\n  f | g</pre></table>",
            "| a | b |\n| - | - |\n| c<br>d | `e`<br>`f \\| g` |\n",
        ),
        (
            "<table><tr><th>a<th>b<tr><td>c<td><table><tr><td>d<td>e<tr><td>f</table>g</table>",
            "| a | b |\n| - | - |\n| c | d<br>e<br>f<br>g |\n",
        ),
        (
            "<a href='../x?q=1#y'>a</a> <a href='#z'>b</a>",
            "[a](https://example.com/x?q=1#y) [b](https://example.com/docs/page?x=1#z)\n",
        ),
        (
            "<base href='https://cdn.example/d/'><a href=e>a</a><img src=f.png alt='G [h]'>",
            "[a](https://cdn.example/d/e)![G \\[h\\]](https://cdn.example/d/f.png)\n",
        ),
        (
            "<a href=/x><img src=/i alt=a></a><img src=/j alt=''>",
            "[![a](https://example.com/i)](https://example.com/x)\n",
        ),
        (
            "<a href='javascript:f()'>a</a> <a href='mailto:a@b.example'>b</a> <a>c</a><a href=/d></a>",
            "a [b](mailto:a@b.example) c\n",
        ),
        ("<a href=/x><h2>a</h2><p>b</a>", "## [a](https://example.com/x)\n\n[b](https://example.com/x)\n"),
        ("<a href='/w_(x)'>a</a>", "[a](<https://example.com/w_(x)>)\n"),
        ("<code>a <a href=/b>b</a>()</code>", "`a` [`b`](https://example.com/b)`()`\n"),
        ("<a href=/b><code>[a]: b</code></a>", "[\\[a\\]: b](https://example.com/b)\n"),
        ("<b><i><a href=/b>c</a></i>****<i>.</i></b>", "***[c](https://example.com/b)*\\*\\*\\*\\*.**\n"),
        ("<dl><dt>a<dd>b</dl><details><summary>c</summary>d</details>", "**a**\n\nb\n\nc\n\nd\n"),
        (
            "<dl><dt><b>a</b> <code>x</code><dt>b<dd>c<dt><p>d<p>e<dd>f</dl>",
            "**a `x`**\n\n**b**\n\nc\n\n**d**\n\n**e**\n\nf\n",
        ),
        ("a <my-icon>b</my-icon> c<x-y>d</x-y>", "a b c d\n"),
        ("<p hidden>a</p><script>b</script><p style='display:none'>c</p>d<!-- e -->", "d\n"),
        (
            "<iframe srcdoc='<base href=/in/><p>a <a href=b>b</a>'></iframe>",
            "a [b](https://example.com/in/b)\n",
        ),
        ("<nav>a</nav><footer>b</footer>", "a\n\nb\n"),
        ("", ""),
    ] {
        assert_eq!(whole(page), expected, "{page}");
        assert_kept(page);
    }
}

#[test]
fn headings_have_no_links_to_themselves() {
    let page = "<h2><a href='#a'><i>A</i></a> b <a href=/c>c</a><a href='#a' title=Link>¶</a></h2><a href='#d'>#</a>";
    let expected = "## *A* b [c](https://example.com/c)\n\n[#](https://example.com/docs/page?x=1#d)\n";
    assert_eq!(whole(page), expected);
}

#[test]
fn text_that_looks_like_markup_stays_text() {
    for text in [
        "# a",
        "#a",
        "## ",
        "- a",
        "+ a",
        "* a",
        "-",
        "--- ",
        "***",
        "___",
        "1. a",
        "1) a",
        "12345678901. a",
        "> a",
        ">a",
        "=== ",
        "a | b",
        "| a |",
        ":-: b",
        ": a",
        "    a",
        "```",
        "~~~ a",
        "`a`",
        "*a*",
        "**a**",
        "_a_",
        "__a__",
        "a_b_c",
        "_a",
        "a_",
        "~~a~~",
        "~a~",
        "[a](b)",
        "[a]: b",
        "[^1]: a",
        "[ ] a",
        "![a](b)",
        "<b>a</b>",
        "<!-- a -->",
        "</p>",
        "<https://a.example>",
        "a < b > c",
        "&amp;",
        "&#42;",
        "&a",
        "AT&T",
        "\\*a\\*",
        "\\",
        "a\\",
        "https://a.example/b_c",
        "!",
        "a!",
        "é_é",
        "a\u{200b}*b*",
        "\u{202e}abc\u{202c}",
        "שלום **a**",
        "中文*a*中文",
    ] {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        for page in [
            format!("<p>{text}</p>"),
            format!("<p>x<br>{text}<br>{text}</p>"),
            format!("<h2>{text}</h2>"),
            format!("<ul><li>{text}<li><p>{text}<p>{text}</ul>"),
            format!("<ol><li><ol><li>{text}</ol><li>{text}</ol>"),
            format!("<blockquote>{text}</blockquote>"),
            format!("<table><tr><th>{text}<th>x<tr><td>{text}<td><code>{text}</code></table>"),
            format!("<code>{text}</code> <b>{text}</b><i>{text}</i><s>{text}</s>"),
            format!("x<b>{text}</b>x<i>x{text}</i>{text}<code>{text}</code>{text}<code>{text}</code>"),
            format!("{text}<a href=/x>{text}</a>{text}<img src=/x alt='{text}'><a href=/y><b>{text}</b></a>"),
            format!("<pre>{text}\n\n{text}</pre>"),
            format!("<p>1</p>{text}<b>.</b> x <p><i>-</i> x<p>{text}"),
        ] {
            assert_kept(&page);
        }
    }
}

#[test]
fn a_rule_leaves_out_what_it_leaves_out_of_the_text() {
    let list = |entries: &[&str]| entries.iter().map(|entry| (*entry).to_owned()).collect::<Vec<_>>();
    let page = "<nav>menu</nav><main><h1>Shoe</h1><p class=price>15 <b>EUR</b> incl. VAT<p class=ad>Buy!<p>Seen <i>7</i> times\
        <table><tr><td>Seen 8 times<td>x<tr><td>y<td>z</table><pre>Seen 9 times\ncode</pre></main>";
    for (include, ignore, ignore_text, expected) in [
        (&[".price"][..], &[][..], &["incl\\. VAT"][..], "15 **EUR**\n"),
        (&["nav", ".price"], &["b"], &[], "menu\n\n15 incl. VAT\n"),
        (&[".none"], &[], &[], ""),
        (
            &[],
            &[".ad", "nav", ".price"],
            &["(?m)^Seen \\d+ times$"],
            "# Shoe\n\n|  |  |\n| - | - |\n|  | x |\n| y | z |\n\n```\ncode\n```\n",
        ),
    ] {
        let part = CountedPart::new(&list(include), &list(ignore), &list(ignore_text)).unwrap();
        let read = |extent| read(page.as_bytes(), "text/html", Some(&part), extent).unwrap().text;
        assert_eq!(read(PageExtent::Whole), expected, "{include:?} {ignore:?}");
        if !include.is_empty() {
            assert_eq!(read(PageExtent::Main), expected, "what a rule includes is the content");
        }
    }
}

#[test]
fn other_types_are_code_or_markdown_or_nothing() {
    for (body, content_type, expected) in [
        ("a\r\n *b*", "text/plain", Some("```\na\n *b*\n```\n")),
        ("{\"a\": 1}\n", "application/json", Some("```json\n{\"a\": 1}\n```\n")),
        ("# A\r\n\r\n*b*\n\n", "text/markdown; charset=utf-8", Some("# A\n\n*b*\n")),
        (
            "<html xmlns='http://www.w3.org/1999/xhtml'><body><p>a<b/></p></body></html>",
            "application/xhtml+xml",
            Some("a\n"),
        ),
        (
            "<rss><channel><item><link>https://example.com/</link></item></channel></rss>",
            "application/rss+xml",
            None,
        ),
        ("%PDF-1.7", "application/pdf", None),
    ] {
        let found = read(body.as_bytes(), content_type, None, PageExtent::Whole).map(|page| page.text);
        assert_eq!(found.as_deref(), expected, "{content_type}");
    }
    let rules = UrlRules::default();
    let url = rules.canonicalize(PAGE).unwrap();
    let body =
        "<meta charset=windows-1251><a href='?q=\u{44f}'>a</a>".replace('\u{44f}', "\u{1}").into_bytes();
    let body: Vec<u8> = body.into_iter().map(|byte| if byte == 1 { 0xFF } else { byte }).collect();
    let fields = BodyFields { content_type: Some("text/html"), ..BodyFields::default() };
    let page =
        markdown(&body, &fields, &url, &rules, &ExtractOptions::default(), None, PageExtent::Whole).unwrap();
    assert_eq!(page.text, "[a](https://example.com/docs/page?q=%FF)\n", "queries are in the page's encoding");
}

/// What such a page makes, which has its words, and is no longer than its limit and a last line.
fn hostile(page: &str) -> String {
    let made = read(page.as_bytes(), "text/html", None, PageExtent::Whole).unwrap();
    let main = read(page.as_bytes(), "text/html", None, PageExtent::Main).unwrap();
    let begin = &page[..60];
    assert!(made.text.len() < MAX_MARKDOWN_BYTES + 2 * page.len(), "{begin}: {} bytes", made.text.len());
    assert!(main.text.len() <= made.text.len(), "{begin}: the content is a part");
    if !made.is_cut {
        let (mut seen, mut read) = (seen(page, false), words(&made.text));
        // The text of the extractor has a limit of its own.
        let is_cut = seen.iter().map(|word| word.len() + 1).sum::<usize>() >= 1 << 20;
        seen.sort();
        read.sort();
        assert!(is_cut || seen == read, "{begin}: {} words of {}", read.len(), seen.len());
    }
    made.text
}

/// Nesting, and many of a kind: each costs a walk without bounds quadratic time, or memory.
#[test]
fn hostile_pages_have_bounded_markdown() {
    for open in [
        "<blockquote>",
        "<ul><li>",
        "<ol start=999999999><li>",
        "<b>",
        "<div>",
        "<table><tr><td>",
        "<pre>",
        "<a href=/x>",
    ] {
        let deep = format!("{}x{}", open.repeat(100_000), "<p>y".repeat(1_000));
        assert!(hostile(&deep).contains('x'), "{open}");
    }
    let base = format!("<base href='https://example.com/{}/'>", "b".repeat(1_900));
    let links = hostile(&format!("{base}{}", "<a href=x>y</a> ".repeat(100_000)));
    assert!(
        links.matches("](").count() * 1_900 <= MAX_LINK_BYTES && links.contains("](https://"),
        "{}",
        links.len()
    );
    let blocks = hostile(&format!("{base}<a href=x>{}", "<p>y".repeat(50_000)));
    assert!(
        blocks.matches("](").count() * 1_900 <= MAX_LINK_BYTES && blocks.ends_with("y\n"),
        "{}",
        blocks.len()
    );
    for piece in [
        "<b>",
        "<b></b>",
        "<b>x</b>",
        "<b>x</b><i>y</i>",
        "<b><i>x</b>",
        "x<br>",
        "<code>`</code>x",
        "<p>*_[`<&|~",
        "<a href=/x><br></a>",
        "<li>x",
        "<td>x",
        "<table><tr><td>x<td>y",
        "<tr><td colspan=65534 rowspan=65534>x",
        "<h1>x</h1>",
        "<hr>",
        "x<img src=/x alt=y>",
        "<iframe srcdoc='x'></iframe>",
        "<ul></ul>",
        "&#x200b;&#x202e;",
        "<x-y>x",
        "<input type=submit value=x>",
    ] {
        hostile(&piece.repeat((1 << 19) / piece.len()));
    }
}

#[test]
fn a_page_longer_than_the_limit_says_so() {
    let page = format!("<blockquote><pre>{}</pre></blockquote><p>end", "x\n".repeat(1_500_000));
    let made = read(page.as_bytes(), "text/html", None, PageExtent::Whole).unwrap();
    assert!(made.is_cut && made.text.len() < MAX_MARKDOWN_BYTES + 10, "{}", made.text.len());
    assert!(made.text.ends_with("> x\n"), "cut at a line");
}

/// Text with all that means something to readers of Markdown.
fn text() -> impl Strategy<Value = String> {
    let sign = prop::sample::select(
        &[
            "*",
            "**",
            "_",
            "`",
            "``",
            "~~",
            "[",
            "]",
            "(",
            ")",
            "!",
            "&lt;",
            ">",
            "&amp;",
            "#",
            "|",
            "\\",
            "-",
            "+",
            "=",
            ":",
            "1.",
            "2)",
            ".",
            " ",
            " ",
            " ",
            "a",
            "b",
            "é",
            "中",
            "”",
            "€",
            "\u{200b}",
            "\u{301}",
            "&amp;amp;",
            "http://a.example/",
            "\n",
            "&#13;",
        ][..],
    );
    prop::collection::vec(sign, 0..8).prop_map(|signs| signs.concat())
}

fn inline() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        4 => text(),
        1 => Just("<br>".to_owned()),
        1 => Just("<img src='/i(1)?a*b&amp;c' alt='*a|b]'>".to_owned()),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let name =
            prop::sample::select(&["b", "i", "s", "code", "a href='/x_(y)?a*&amp;copy;'", "span", "x-y"][..]);
        (name, prop::collection::vec(inner, 0..4)).prop_map(|(name, inner)| {
            let end = name.split(' ').next().unwrap_or(name);
            format!("<{name}>{}</{end}>", inner.concat())
        })
    })
}

fn block() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        3 => inline().prop_map(|inline| format!("<p>{inline}</p>")),
        1 => inline(),
        1 => (1..7, inline()).prop_map(|(level, inline)| format!("<h{level}>{inline}</h{level}>")),
        1 => text().prop_map(|text| format!("<pre><code class=language-x>{text}\n{text}</code></pre>")),
        1 => Just("<hr>".to_owned()),
        1 => prop::collection::vec(prop::collection::vec(inline(), 2..4), 1..4).prop_map(|rows| {
            let row = |row: &Vec<String>| format!("<tr><td>{}</td></tr>", row.join("</td><td>"));
            format!("<table>{}</table>", rows.iter().map(row).collect::<String>())
        }),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let name = prop::sample::select(&["ul", "ol", "ol start=7", "blockquote", "div", "section"][..]);
        (name, prop::collection::vec(inner, 0..4)).prop_map(|(name, inner)| {
            let end = name.split(' ').next().unwrap_or(name);
            let inner = if end.ends_with('l') {
                inner.iter().map(|item| format!("<li>{item}</li>")).collect()
            } else {
                inner.concat()
            };
            format!("<{name}>{inner}</{end}>")
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_page_comes_back_from_its_markdown(blocks in prop::collection::vec(block(), 0..4)) {
        assert_kept(&blocks.concat());
    }

    /// Pieces of markup in any order, also where the standard moves them.
    #[test]
    fn no_word_is_lost_of_any_markup(
        pieces in prop::collection::vec(
            prop_oneof![
                prop::sample::select(&[
                    "<table>", "<tr>", "<td>", "<th>", "</table>", "<caption>", "<ul>", "<ol>", "<li>", "</ul>", "</li>", "<p>", "</p>",
                    "<b>", "</b>", "<i>", "</i>", "<a href=/x>", "</a>", "<code>", "</code>", "<pre>", "</pre>", "<h2>", "</h2>", "<br>",
                    "<blockquote>", "</blockquote>", "<div>", "</div>", "<div hidden>", "<select>", "<option>", "<button>", "<textarea>",
                    "</textarea>", "<svg>", "<text>", "</svg>", "<math>", "</math>", "<x-y>", "</x-y>", "<input type=submit value='a b'>",
                    "<iframe srcdoc='<p>in'>", "</iframe>", "<span style='display:block'>", "</span>", "<b style='white-space:pre'>", "<hr>",
                    "<template>", "</template>", "<noscript>", "<title>", "</title>", "<body>", "<frameset>", "<details>", "<summary>",
                    "<div style='visibility:hidden'>", "<i style='visibility:visible'>", "<pre style='white-space:normal'>",
                ][..]).prop_map(str::to_owned),
                text(),
                "[a-c]{1,3} ?",
            ],
            0..30,
        )
    ) {
        let page = pieces.concat();
        let (mut seen, mut read) = (seen(&page, true), words(&whole(&page)));
        seen.sort();
        read.sort();
        prop_assert_eq!(read, seen, "{} gives {}", page, whole(&page));
    }
}

#[test]
fn digits_above_and_below_the_line_stay_apart_from_those_before() {
    for (html, expected) in [
        ("<p>10<sup>6</sup> people", "10⁶ people"),
        ("<p>$1,299<sup>99</sup> <b>5</b><sup>2</sup>", "$1,299⁹⁹ **5**²"),
        ("<p>x<sub>1</sub>, 1<sub>2</sub>, 1 <sup>2</sup>, 1<sup>st</sup>", "x1, 1₂, 1 2, 1st"),
        ("<pre>2<sup>8</sup></pre>", "```\n2⁸\n```"),
    ] {
        assert_eq!(whole(html).trim_end(), expected, "{html}");
    }
}

#[test]
fn an_image_has_the_first_source_that_leads_somewhere() {
    for (img, expected) in [
        ("srcset='/a.png 1x, /b.png 2x'", "a.png"),
        ("src='data:image/gif;base64,R0' data-lazy-src=/c.png", "c.png"),
        ("data-lazy-srcset='/d.png 100w'", "d.png"),
        ("data-original=/e.png src=/f.png", "f.png"),
    ] {
        assert_eq!(
            whole(&format!("<p><img alt=x {img}>")),
            format!("![x](https://example.com/{expected})\n")
        );
    }
}
