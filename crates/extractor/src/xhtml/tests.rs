use super::*;
use proptest::prelude::*;

const XHTML: &str = "http://www.w3.org/1999/xhtml";

/// The document without the doctype that begins each.
fn html(xml: &str) -> String {
    to_html(xml).strip_prefix("<!doctype html>").unwrap().to_owned()
}

#[test]
fn xml_is_written_as_html_that_means_the_same() {
    for (xml, expected) in [
        ("<p>a<br/>b<img src='x' /></p>", "<p>a<br>b<img src=\"x\"></p>"),
        ("<br></br><hr>x</hr>", "<br><hr>x"),
        // Elements that swallow what follows in HTML.
        ("<script/><p>x</p>", "<script></script><p>x</p>"),
        (
            "<title/><style type='a'/><textarea/><iframe src='/f'/>x",
            "<title></title><style type=\"a\"></style><textarea></textarea><iframe src=\"/f\"></iframe>x",
        ),
        ("<a id='x'/>y<div/><nav/>z", "<a id=\"x\"></a>y<div></div><nav></nav>z"),
        ("<xmp>&lt;b></xmp><plaintext/>x", "<pre>&lt;b></pre><x:plaintext></x:plaintext>x"),
        // Texts.
        ("a&nbsp;b &eacute;&#233;&amp;&lt;b", "a&nbsp;b &eacute;&#233;&amp;&lt;b"),
        ("<p><![CDATA[1<2 && <b>]]></p>", "<p>1&lt;2 &amp;&amp; &lt;b></p>"),
        ("<title>a<![CDATA[<b>]]> &amp; c<i>d</i></title>e", "<title>a&lt;b> &amp; cd</title>e"),
        ("<script>//<![CDATA[\nx('</script><a href=y>')//]]></script>z", "<script></script>z"),
        ("<script>x('<script/><b/>')</script>z", "<script></script>z"),
        ("<script><script>x</script></script>z", "<script></script>z"),
        ("<iframe><a href='x'>y</a></iframe>z", "<iframe></iframe>z"),
        // What is no content.
        ("<?xml version='1.0'?><!DOCTYPE html [<!ENTITY a '<b>'>]><!-- <p> -> --><?php a > b ?>x", "x"),
        // Attributes.
        ("<a href='a\"b'/>", "<a href='a\"b'></a>"),
        ("<a title=\"a>b&quot;c\"/>", "<a title=\"a>b&quot;c\"></a>"),
        ("<html xml:lang='de' xmlns='http://www.w3.org/1999/xhtml'/>", "<html lang=\"de\"></html>"),
    ] {
        assert_eq!(html(xml), expected, "{xml}");
    }
}

#[test]
fn entities_of_the_document_are_its_texts() {
    let doctype =
        "<!DOCTYPE html [<!ENTITY home '/a?b=1&#38;c=\"d'><!ENTITY nbsp '&#160;'><!ENTITY t \"it's\">]>";
    for (xml, expected) in [
        ("<a href='&home;&amp;e'>&t;</a>", "<a href=\"/a?b=1&amp;c=&quot;d&amp;e\">it&#39;s</a>"),
        ("a&nbsp;b &eacute;&other; & &home", "a\u{a0}b &eacute;&other; & &home"),
    ] {
        assert_eq!(html(&format!("{doctype}{xml}")), expected, "{xml}");
    }
    // They add no more bytes than the document has.
    let bomb = format!("<!DOCTYPE html [<!ENTITY a '{}'>]>{}", "x".repeat(1_000), "&a;".repeat(10_000));
    let written = html(&bomb);
    assert!(written.len() <= 2 * bomb.len(), "{} of {}", written.len(), bomb.len());
    assert!(written.starts_with("xxx") && written.contains("x&a;&a;"));
}

#[test]
fn namespaces_decide_what_a_name_means() {
    let svg = "http://www.w3.org/2000/svg";
    let (math, xlink) = ("http://www.w3.org/1998/Math/MathML", "http://www.w3.org/1999/xlink");
    for (xml, expected) in [
        (format!("<h:p xmlns:h='{XHTML}'><h:a href='x'>y</h:a></h:p><h:a>z</h:a>"), "<p><a href=\"x\">y</a></p><h:a>z</h:a>"),
        (format!("<h:a xmlns:h='{XHTML}'><h:a>x</h:a></h:a><h:a/>"), "<a><a>x</a></a><h:a></h:a>"),
        (format!("<h:a xmlns:h='{XHTML}'><h:a/></h:a><h:a/>"), "<a><a></a></a><h:a></h:a>"),
        ("<head><r:b>a</head><body>b".into(), "<head></head><body>b"),
        ("<head><r:b>a<body>b".into(), "<head><body>b"),
        (format!("<h:script xmlns:h='{XHTML}'/>x"), "<script></script>x"),
        ("<x xmlns='urn:x'><title/><base href='y'/><a href='z'/></x>t<a/>".into(), "<x:x><x:title></x:title><x:base href=\"y\"></x:base><x:a href=\"z\"></x:a></x:x>t<a></a>"),
        ("<x xmlns=''><title>y</title></x>".into(), "<x:x><x:title>y</x:title></x:x>"),
        ("<y:title xmlns:y='urn:y'>z</y:title>".into(), "<x:title>z</x:title>"),
        (format!("<s:svg xmlns:s='{svg}' xmlns:l='{xlink}'><s:title>t</s:title><s:a l:href='x'/></s:svg>"), "<svg><title>t</title><a xlink:href=\"x\"></a></svg>"),
        (format!("<svg xmlns='{svg}'><title/></svg><title/>"), "<svg><title></title></svg><title></title>"),
        (format!("<s:title xmlns:s='{svg}'/>"), "<x:title></x:title>"),
        (format!("<m:math xmlns:m='{math}'><m:mi>x</m:mi></m:math>"), "<math><mi>x</mi></math>"),
        // Metadata of others, which is not shown, and would end the head.
        ("<head><r:RDF xmlns:r='urn:r'>a<r:b/><title>no</title></r:RDF><r:c xmlns:r='urn:r'/><title>t</title></head><r:RDF/>".into(), "<head><title>t</title></head><r:RDF></r:RDF>"),
        ("<head><x xmlns='urn:x'>a<body>b</x><title>t</title><body><x:y>c</x:y>".into(), "<head><title>t</title><body><x:y>c</x:y>"),
        ("<fb:like href='x'/>".into(), "<fb:like href=\"x\"></fb:like>"),
    ] {
        assert_eq!(html(&xml), expected, "{xml}");
    }
}

#[test]
fn what_is_no_xml_stays_to_be_read_as_html() {
    for (xml, expected) in [
        ("<p>a<br>b<p>c</div>d", "<p>a<br>b<p>c</div>d"),
        ("a & b &copy c<a href='?a=1&b=2'/>", "a & b &copy c<a href=\"?a=1&b=2\"></a>"),
        ("<td width=1 nowrap>x</td><script src=y />z", "<td width=1 nowrap>x</td><script src=y /></script>z"),
        ("1 < 2 <3 <br/>", "1 &lt; 2 &lt;3 <br>"),
        ("<script>if (a<b && c) x('<p>')</script>y<title/>", "<script></script>y<title></title>"),
        (
            "<script>for(i=0;i<n;i++) // don't\n</script>y<title/>it's",
            "<script></script>y<title></title>it's",
        ),
        ("<title>a < b</title>c", "<title>a < b</title>c"),
        ("<style>a<b</style >c", "<style></style>c"),
        ("x<!-- never closed <a href='y'>", "x&lt;!-- never closed <a href=\"y\">"),
        ("<p>x<a href='y", "<p>x&lt;a href='y"),
        ("x<![CDATA[y<br/>", "x&lt;![CDATA[y<br>"),
        ("<script>x", "<script>"),
        ("\u{feff}<\u{feff}<\u{feff}p>é", "&lt;&lt;p>é"),
    ] {
        assert_eq!(html(xml), expected, "{xml}");
    }
}

#[test]
fn the_root_tells_xhtml_from_other_xml() {
    for (head, is) in [
        ("<html xmlns='http://www.w3.org/1999/xhtml'>", true),
        (
            "\u{feff}<?xml version='1.0'?>\n<!-- x --><?y?><!DOCTYPE html><html xmlns=\"http://www.w3.org/1999/xhtml\" lang='x'",
            false,
        ),
        (
            "<?xml version='1.0'?>\n<!-- x --><?y?><!DOCTYPE html><html xmlns=\"http://www.w3.org/1999/xhtml\"><p",
            true,
        ),
        ("<h:html xmlns:h='http://www.w3.org/1999/xhtml'/>", true),
        ("<html>", false),
        ("<html xmlns='urn:x'>", false),
        ("<h:html xmlns='http://www.w3.org/1999/xhtml' xmlns:h='urn:x'>", false),
        ("<rss xmlns='http://www.w3.org/1999/xhtml'>", false),
        ("text <html xmlns='http://www.w3.org/1999/xhtml'>", false),
        ("", false),
    ] {
        assert_eq!(has_root(head.as_bytes(), NamespaceKind::Html), is, "{head}");
    }
    for (head, is) in [
        ("<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg' width='1'>", true),
        ("<s:svg xmlns:s='http://www.w3.org/2000/svg'/>", true),
        ("<svg>", false),
        ("<svg xmlns='http://www.w3.org/1999/xhtml'>", false),
        ("<html xmlns='http://www.w3.org/2000/svg'>", false),
    ] {
        assert_eq!(has_root(head.as_bytes(), NamespaceKind::Svg), is, "{head}");
    }
}

#[test]
fn no_document_costs_more_than_its_bytes() {
    let n = 100_000;
    for piece in [
        "<3 ",
        "<a '",
        "<!--",
        "<![CDATA[",
        "<a xmlns='x'>",
        "<a>",
        "</a>",
        "<?",
        "<script><",
        "<title><",
        "&a",
        "<a b=c>",
        "<b xmlns:c='d'><c:e/>",
        "<script>a<b'</script>",
        "<!DOCTYPE [",
        "<!",
    ] {
        let xml = piece.repeat(n);
        assert!(to_html(&xml).len() <= 4 * xml.len() + 100, "{piece}");
        assert!(to_html(&format!("{xml}>")).len() <= 4 * xml.len() + 100, "{piece}");
    }
}

#[test]
fn an_element_with_many_namespaces_costs_no_more_than_its_bytes() {
    let declared: String = (0..60_000).map(|i| format!(" xmlns:a{i}='u'")).collect();
    let elements: String = (0..60_000).map(|i| format!("<a{i}:b/>")).collect();
    let svg = "xmlns:a7='http://www.w3.org/2000/svg'";
    let written = html(&format!("<html{declared} {svg}><a7:svg/>{elements}</html>"));
    assert!(written.contains("<x:svg></x:svg><x:b></x:b>"), "the first declaration counts");
}

proptest! {
    /// Whatever is cut or mixed up, it is written, and not much longer.
    #[test]
    fn any_text_is_written(pieces in proptest::collection::vec(prop_oneof![
        Just("<a href='x'>"), Just("</a>"), Just("<br/>"), Just("<title>"), Just("</title>"), Just("<script/>"), Just("<svg xmlns='http://www.w3.org/2000/svg'>"),
        Just("</svg>"), Just("<"), Just("&"), Just("é"), Just("<![CDATA["), Just("]]>"), Just("<!--"), Just("-->"), Just("'"), Just("\""), Just(">"),
        Just("\u{feff}"), Just("<p x=y>"), Just("<p x"), Just("x"), Just("<?"), Just("?>"), Just("<!DOCTYPE "), Just("["), Just("]"), Just("\0"),
    ], 0..30)) {
        let xml = pieces.concat();
        prop_assert!(html(&xml).len() <= 4 * xml.len());
    }
}
