//! What a reader sees of a page, and in which lines.

use super::*;

/// The text of a page, which is the same with and without a tree, and with a rule that selects nothing away.
pub(super) fn text(html: &str) -> String {
    let _ = assert_both_ways(html);
    let (whole, ruled) = (page(html).text, part_of(html, &[], &["#none"]));
    assert_eq!(whole, ruled, "{html}");
    whole
}

pub(super) fn part_of(html: &str, include: &[&str], ignore: &[&str]) -> String {
    let owned = |list: &[&str]| list.iter().map(|entry| (*entry).to_owned()).collect::<Vec<_>>();
    ruled(html, &CountedPart::new(&owned(include), &owned(ignore), &[]).unwrap())
}

fn ruled(html: &str, part: &CountedPart) -> String {
    let (url, fields) =
        (at("https://example.com/"), BodyFields { content_type: Some("text/html"), ..BodyFields::default() });
    let rules = UrlRules::default();
    match extract_part(html.as_bytes(), &fields, &url, &rules, &ExtractOptions::default(), Some(part)) {
        Extracted::Page(page) => page.text,
        other => panic!("HTML is a page, and not {other:?}"),
    }
}

/// Otherwise $19.99 would be 1999, and a million 106.
#[test]
fn digits_above_and_below_the_line_stay_apart_from_those_before() {
    for (html, expected) in [
        ("<p>10<sup>6</sup> people", "10⁶ people"),
        ("<p>$1,299<sup>99</sup>", "$1,299⁹⁹"),
        ("<p>19<span hidden>.</span><b><sup><small>99</small></sup></b> €", "19⁹⁹ €"),
        ("<p>5<sup>1&#50;,3</sup>", "5¹²,3"),
        ("<p>101<sub>2</sub>, H<sub>2</sub>O", "101₂, H2O"),
        ("<p>1 <sup>2</sup>, 1<sup>st</sup>, 3<p><sup>4</sup>", "1 2, 1st, 3\n4"),
        ("<pre>2<sup>8</sup></pre>", "2⁸"),
    ] {
        assert_eq!(text(html), expected, "{html}");
    }
}

#[test]
fn preformatted_text_keeps_its_lines() {
    let lines = "Generated at 10:00\n  v1.1  added\n\nv1.0 first";
    for open in [
        "<pre>#</pre>",
        "<pre>\n#</pre>",
        "<pre><code><span>#</span></code></pre>",
        "<pre><b>#</b></pre>",
        "<textarea>#</textarea>",
        "<textarea>\n#\n</textarea>",
        "<listing>#</listing>",
        "<xmp>#</xmp>",
        "<plaintext>#",
        "<div style='white-space: pre'>#</div>",
        "<div style='white-space: pre'><p>#</p></div>",
        "<span style='WHITE-SPACE:pre-wrap !important; color: red'>#</span>",
        "<b style='white-space: pre-line'>#</b>",
        "<div style='white-space:break-spaces'>#</div>",
        "<div style='white-space-collapse:preserve'>#</div>",
        "<p style='white-space:normal;white-space:pre'>#</p>",
        "<table style='white-space:pre'><tr><td>#</table>",
    ] {
        for line_end in ["\n", "\r\n", "\r"] {
            let html = open.replace('#', &lines.replace('\n', line_end));
            assert_eq!(text(&html), "Generated at 10:00\nv1.1 added\nv1.0 first", "{html:?}");
            let pattern = CountedPart::new(&[], &[], &["^Generated at .*$".into()]).unwrap();
            assert_eq!(ruled(&html, &pattern), "v1.1 added\nv1.0 first", "{html:?}");
        }
    }
    for html in [
        "<p>#</p>",
        "<code>#</code>",
        "<pre style='white-space:normal'>#</pre>",
        "<pre><p style='white-space:nowrap'>#</p></pre>",
        "<div style='white-space:pre;white-space:normal'>#</div>",
        "<div style='white-space:pre'><div style='white-space:initial'>#</div></div>",
    ] {
        assert_eq!(text(&html.replace('#', "a\n b\r\nc")), "a b c", "{html}");
    }
    assert_eq!(text("<pre>a\nb</pre>c\nd<pre>e\nf</pre>"), "a\nb\nc d\ne\nf", "behind it, lines end");
    assert_eq!(text("<pre>a&#10;b&#13;c</pre>"), "a\nb\nc", "a reference is a line break too");
}

#[test]
fn parentheses_of_ruby_are_for_browsers_without_it() {
    assert_eq!(text("<ruby>A<rp>(</rp><rt>b</rt><rp>)</rp></ruby>c"), "Abc");
}

#[test]
fn cells_items_and_breaks_are_lines() {
    for (html, expected) in [
        ("<table><tr><th>a<th>b<tr><td>c<td>d</table>", "a\nb\nc\nd"),
        ("<table><caption>t</caption><tr><td>a</td><td>b</td></tr></table>", "t\na\nb"),
        ("a<br>b<br/>c<hr>d", "a\nb\nc\nd"),
        ("<dl><dt>a<dd>b<dt>c<dd>d</dl>", "a\nb\nc\nd"),
        ("<ul><li>a<li>b</ul><ol><li>c</ol>", "a\nb\nc"),
        ("<select><option>a<option>b</select>", "a\nb"),
        ("<select><optgroup label=x><option>a</option></optgroup></select>c", "a\nc"),
        (
            "<address>a</address><blockquote>b</blockquote><figure>c<figcaption>d</figcaption></figure>",
            "a\nb\nc\nd",
        ),
        ("<h1>a</h1><h2>b</h2><fieldset><legend>c</legend>d</fieldset>", "a\nb\nc\nd"),
        ("<details><summary>a</summary>b</details>", "a\nb"),
        ("<span style='display:block'>a</span><span style='display : Flex'>b</span>c", "a\nb\nc"),
        ("<b style='display:table-cell'>a</b><i style=display:list-item>b</i>", "a\nb"),
        ("<span style='display:inline-block'>a</span><span>b</span>", "ab"),
        ("<div style='display:inline'>a</div><div style='display:inline'>b</div>", "a\nb"),
        ("<button>a</button><button>b</button>", "a\nb"),
        // Each item of a flex or grid box is a box.
        ("<div style='display:flex'><span>Model 3</span><span>399 €</span></div>", "Model 3\n399 €"),
        ("<p style='display:grid'>a<b>b</b><i>c<u>d</u></i>e</p>", "a\nb\ncd\ne"),
        ("a<span style='display:inline-flex'>b</span>c", "abc"),
        ("a<span style='display:inline-flex'><b>b</b><i>c</i></span>d", "a\nb\nc\nd"),
        ("<b style='float:left'>a</b><b style='float:right'>b</b>c", "a\nb\nc"),
        ("<b style='position:absolute'>a</b><b style='position:fixed'>b</b>c", "a\nb\nc"),
        ("<b style='position:relative;float:none'>a</b>b", "ab"),
    ] {
        assert_eq!(text(html), expected, "{html}");
    }
}

#[test]
fn what_is_hidden_only_from_some_is_seen() {
    for (html, expected) in [
        ("<p>a</p><p aria-hidden=true>b</p>", "a\nb"),
        ("<p>a <span aria-hidden='true'>b</span></p>", "a b"),
        (
            "<div aria-hidden=true inert><p>a</p></div><div role=dialog><p>We use cookies</p></div>",
            "a\nWe use cookies",
        ),
        ("<main inert>a</main>", "a"),
        ("<p>a<b aria-hidden=true>b</b></p>", "ab"),
        ("<details><summary>a</summary>b</details>", "a\nb"),
        ("<details open><summary>a</summary>b</details>", "a\nb"),
        ("<p hidden=until-found>a</p>", "a"),
        ("<p aria-hidden=true hidden>a</p>b", "b"),
        ("<p hidden>a</p>b", "b"),
        ("<p hidden=false>a</p>b", "b"),
        ("<p style='display:none'>a</p>b", "b"),
        ("<p style='display:none'>a<span style='display:block'>c</span></p>b", "b"),
        ("<p hidden style='display:flex'>a</p>b", "a\nb"),
        ("<p style='visibility:hidden'>a <b style='visibility: visible'>c</b></p>b", "c\nb"),
        ("<p style='visibility:collapse'>a</p>b", "b"),
        ("<p style='content-visibility:hidden'>a</p>b", "b"),
        ("<p style='/*display:none*/'>a</p>b", "a\nb"),
        ("<p style='display:none;display:block'>a</p>b", "a\nb"),
        ("<p style='opacity:0'>a</p>b", "a\nb"),
        ("<body style='display:none'>a", "a"),
        ("<html hidden><body style='visibility:hidden'>a<p hidden>c", "a"),
        ("<dialog>a</dialog><dialog open>b</dialog><dialog style='display:block'>c</dialog>", "b\nc"),
        (
            "<div popover>a</div><div popover=manual style='display:grid'>b</div><dialog open popover>c</dialog>d",
            "b\nd",
        ),
        ("<p>d<noscript>a</noscript><template>c</template>b", "db"),
        ("<b hidden>a</b><b style='display:none'>c</b><b popover>d</b>b", "b"),
        ("<i style='visibility:hidden'>a<b style='visibility:visible'>c</b></i>b", "cb"),
    ] {
        assert_eq!(text(html), expected, "{html}");
    }
}

#[test]
fn an_element_that_a_rule_names_counts_if_it_is_seen() {
    let page = "<nav><b class=p>1</b></nav><header><b class=p>2</b></header><footer role=contentinfo><b class=p>3</b></footer>\
        <div aria-hidden=true><b class=p>4</b></div><b class=p aria-hidden=true>5</b><div inert><b class=p>6</b></div>\
        <details><b class=p>7</b></details><div hidden><b class=p>8</b></div><input class=p type=submit value=9>\
        <svg><text class=p>10</text></svg><b class=p hidden>11</b><aside><pre class=p>12\n13</pre></aside>";
    assert_eq!(part_of(page, &[".p"], &[]), "1\n2\n3\n4\n5\n6\n7\n9\n10\n12\n13");
    assert_eq!(part_of(page, &[".p"], &["[aria-hidden], input, nav *"]), "2\n3\n6\n7\n10\n12\n13");
}

#[test]
fn labels_of_buttons_are_seen_and_other_attributes_are_not() {
    for (html, expected) in [
        ("<input type=submit value='Buy now'>", "Buy now"),
        ("a<input type=Button value=b><input type='RESET' value=c>d", "a\nb\nc\nd"),
        ("<input type=submit value='a&amp;b'>", "a&b"),
        ("<input type=submit>", ""),
        ("<input type=submit value=a hidden>b", "b"),
        ("<div style=display:none><input type=submit value=a></div>b", "b"),
        (
            "<input type=text value=a><input value=b><input type=hidden value=c><input type=image alt=d value=e>x",
            "x",
        ),
        ("<img alt=a title=b><input placeholder=c>x", "x"),
        ("<button value=a>b</button>", "b"),
    ] {
        assert_eq!(text(html), expected, "{html}");
    }
}

#[test]
fn text_in_drawings_and_formulas_is_seen_as_browsers_show_it() {
    for (html, expected) in [
        ("<svg><text>a</text><g><text>b <tspan>c</tspan>d</text></g></svg>", "a\nb cd"),
        ("<svg><text><tspan x=0>a</tspan><tspan x=0 dy=1em>b</tspan></text></svg>", "a\nb"),
        ("<svg><a href=/x><text>a</text></a></svg>", "a"),
        ("<svg><text><textPath>a</textPath></text></svg>", "a"),
        ("<svg><title>a</title><desc>b</desc><metadata>c</metadata><text>d</text></svg>", "d"),
        ("<svg><defs><text>a</text></defs><symbol><text>b</text></symbol><text>c</text></svg>", "c"),
        ("<svg><clipPath><text>a</text></clipPath><mask><text>b</text></mask><text>c</text></svg>", "c"),
        ("<svg><style>a</style><script>b</script><g>c</g><text>d</text></svg>", "d"),
        (
            "<svg><text display=none>a</text><g visibility='hidden'><text>b</text></g><text>c</text></svg>",
            "c",
        ),
        (
            "<svg><g display=none><text>a</text></g><text display=none style='display:inline'>b</text></svg>",
            "b",
        ),
        ("<svg><foreignObject><p>a</p></foreignObject></svg>", "a"),
        ("<svg><g>a<text>b</text></g></svg>c", "b\nc"),
        ("<svg aria-hidden=true><text>a</text></svg>", "a"),
        ("<svg hidden><text>a</text></svg>b", "b"),
        ("<text>a</text><defs>b</defs>", "a\nb"),
        ("<math><mi>x</mi><mo>=</mo><mn>5</mn></math>", "x=5"),
        ("<math><mfrac><mn>1</mn><mrow><mn>2</mn><mi>x</mi></mrow></mfrac><mn>3</mn></math>", "1/2x3"),
        ("<math><mn>3</mn><mo>×</mo><msup><mn>10</mn><mn>8</mn></msup></math>", "3×10⁸"),
        ("<math><msub><mn>10</mn><mrow><mn>2</mn></mrow></msub><mi>x</mi></math>", "10₂x"),
        ("<math><msubsup><mn>10</mn><mn>2</mn><mn>3</mn></msubsup><mn>4</mn></math>", "10₂³4"),
        ("<math><munderover><mn>1</mn><mn>2</mn><mn>3</mn></munderover></math>", "1₂³"),
        ("<math><mroot><mn>8</mn><mn>3</mn></mroot><msqrt><mn>2</mn></msqrt></math>", "8 32"),
        (
            "<math><mtable><mtr><mtd><mn>11</mn></mtd><mtd><mn>22</mn></mtd></mtr><mtr><mtd><mn>33</mn></mtd></mtr></mtable></math>",
            "11 22\n33",
        ),
        ("a<progress max=9>1 of 9</progress><meter>half</meter>b", "ab"),
        (
            "<math><semantics><mi>x</mi><annotation encoding='application/x-tex'>\\x</annotation></semantics></math>",
            "x",
        ),
        ("<math><semantics><mi>x</mi><annotation-xml><mi>y</mi></annotation-xml></semantics></math>", "x"),
    ] {
        assert_eq!(text(html), expected, "{html}");
    }
}

#[test]
fn lines_and_hidden_parts_do_not_change_what_a_fingerprint_reads() {
    // A fingerprint reads words, so that only a pattern sees that these pages have lines now.
    let words = |html: &str| text(html).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words("<pre>a\nb  c</pre>"), words("<p>a b c</p>"));
}
