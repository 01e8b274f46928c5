use super::super::tests::{active, look};
use super::*;

/// The documents in the frames of a body.
fn framed(body: &str) -> Vec<String> {
    let (html, _) = html::parse(body, html::Attributes::All);
    let frames = html.tree.root().descendants().filter_map(|node| match node.value() {
        Node::Element(element) if element.name() == "iframe" => element.attr("srcdoc").map(str::to_owned),
        _ => None,
    });
    frames.collect()
}

#[test]
fn a_frame_has_its_document_with_its_look_and_nothing_acts_in_it() {
    let looked =
        look("<iframe id=i class=c src=/frame width=300 onload=x() name=n allow=camera>old</iframe>");
    let [document] = &framed(&looked.body)[..] else { panic!("{}", looked.body) };
    assert!(looked.body.starts_with("<iframe sandbox=\"\" srcdoc=\"&lt;!doctype html&gt;&lt;html class="));
    assert!(looked.body.ends_with("\" class=\"c\" id=\"i\" width=\"300\"></iframe>"), "{}", looked.body);
    assert!(
        document.contains("u { color: red }") && document.contains("<body bgcolor=\"red\">"),
        "{document}"
    );
    assert!(document.contains("<b id=\"q\">In it</b><img src=\"data:image/png"), "{document}");
    assert!(
        !document.contains("evil") && !document.contains("onload") && !document.contains("b()"),
        "{document}"
    );
    // The image of another host; and no document is in itself.
    assert_eq!((looked.missing, framed(document)), (1, vec![String::new()]));
    assert_eq!(active(&looked), Vec::<String>::new());
}

#[test]
fn a_document_in_the_page_is_a_frame_whose_references_are_those_of_the_page() {
    let looked = look(
        "<iframe src=/gone srcdoc='<base href=/sub/><p style=\"background: url(//evil.test/x)\"><img src=../one.png>'>",
    );
    let [document] = &framed(&looked.body)[..] else { panic!("{}", looked.body) };
    assert!(document.contains("<img src=\"data:image/png") && !document.contains("evil"), "{document}");
    assert_eq!(looked.missing, 1, "the background");
}

#[test]
fn texts_and_images_are_in_frames_and_what_is_not_archived_leaves_its_place() {
    let looked = look(
        "<iframe src=/notes></iframe><iframe src=one.png></iframe><iframe src=/gone height=9></iframe>\
                       <iframe src=about:blank></iframe><iframe></iframe>",
    );
    let documents = framed(&looked.body);
    assert!(
        documents[0].contains("<pre>\n1 &lt; 2</pre>") && documents[1].contains("<img src=\"data:image/png")
    );
    assert_eq!(documents[2..], ["", "", ""]);
    assert!(looked.body.contains("srcdoc=\"\" height=\"9\"") && looked.missing == 1, "{}", looked.body);
}

#[test]
fn frames_in_each_other_end() {
    // Neither of two pages is in itself, nor the page in its frame.
    let [a] = &framed(&look("<iframe src=/a></iframe>").body)[..] else { panic!("one") };
    let [b] = &framed(a)[..] else { panic!("one in {a}") };
    assert_eq!(framed(b), ["", ""]);
    let mut documents = framed(&look("<iframe src=/deep></iframe>").body);
    let mut depth = 0;
    while let Some(document) = documents.pop().filter(|document| !document.is_empty()) {
        depth += 1;
        documents = framed(&document);
    }
    assert_eq!(depth, MAX_NESTED);
    let many = look(&"<iframe src=/notes></iframe>".repeat(MAX_EMBEDDED + 50));
    let shown = framed(&many.body).into_iter().filter(|document| !document.is_empty()).count();
    assert_eq!((shown, many.missing), (MAX_EMBEDDED, 50));
}

#[test]
fn long_frames_are_cut_and_it_is_told() {
    let looked = look(&"<iframe src=/long></iframe>".repeat(3));
    let documents = framed(&looked.body);
    let words = documents.iter().map(|document| document.matches("long").count()).sum::<usize>();
    assert!(words * 7 <= MAX_FRAMED && words * 7 > MAX_FRAMED - 20, "{words}");
    assert_eq!(looked.missing, 3, "each of them");
    // Quotes are written longer at each depth.
    let mut page = "&quot;'".repeat(60_000);
    for _ in 0..MAX_NESTED {
        page = format!("<iframe srcdoc='{}'></iframe>", page.replace('&', "&amp;").replace('\'', "&#39;"));
    }
    assert!(look(&page).body.len() < 20 << 20);
}

#[test]
fn a_set_of_frames_is_a_grid() {
    let looked = look(
        "<frameset cols='20%,2*,*' border=0><frame src=/notes><frameset rows='90,*,x'><frame src=/a></frameset>\
                       <noframes>No</noframes></frameset>",
    );
    assert!(!looked.body.contains("No<") && framed(&looked.body).len() == 2, "{}", looked.body);
    for style in [
        "display:grid;grid-template:minmax(0,1fr)/20% minmax(0,2fr) minmax(0,1fr);gap:0px;width:100%;height:100vh",
        "display:grid;grid-template:90px minmax(0,1fr) minmax(0,1fr)/minmax(0,1fr);gap:6px;width:100%;height:100%",
    ] {
        assert!(looked.body.contains(style), "{style} in {}", looked.body);
    }
    assert_eq!(tracks("1e999,-5,NaN,10%"), "minmax(0,1fr) minmax(0,1fr) minmax(0,1fr) 10%");
    assert_eq!(looked.body_attributes, " style=\"margin:0\"");
}
