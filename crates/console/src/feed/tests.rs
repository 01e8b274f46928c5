use super::*;
use quick_xml::Reader;
use quick_xml::events::Event;

fn change(url: &str) -> PageChange {
    PageChange {
        id: "msg_07".into(),
        kind: "not_found",
        url: url.into(),
        cycle: 3,
        round: 4,
        time: 86_400,
        status: Some(200),
        reason: None,
        title: None,
        difference: None,
        is_cut: false,
        no_text: None,
        hint: None,
    }
}

fn atom_feed(changes: Vec<PageChange>) -> String {
    atom(
        &PageChangeList { changes, next: None, since_cycle: Some(1), since_time: None },
        "*.example.com",
        "gone",
        "pages=*.example.com&changes=gone",
    )
}

/// The texts of the elements of this name.
fn texts(feed: &str, name: &str) -> Vec<String> {
    let (mut reader, mut found, mut is_in) = (Reader::from_str(feed), Vec::new(), false);
    loop {
        match reader.read_event().expect("it is well-formed") {
            Event::Start(start) if start.name().as_ref() == name => {
                found.push(String::new());
                is_in = true;
            }
            Event::End(_) => is_in = false,
            Event::Text(text) if is_in => *found.last_mut().unwrap() += &text.xml10_content(),
            Event::GeneralRef(reference) if is_in => {
                let code = reference.resolve_char_ref().expect("a character").map(String::from);
                let named =
                    || quick_xml::escape::resolve_xml_entity(&reference).expect("a known entity").to_owned();
                *found.last_mut().unwrap() += &code.unwrap_or_else(named);
            }
            Event::Eof => return found,
            _ => {}
        }
    }
}

#[test]
fn an_entry_tells_the_change() {
    let shown = PageChange {
        title: Some("Fish & chips".into()),
        difference: Some("-<b>1 €</b>\n+2 €".into()),
        ..change("https://a.example/?a=1&b=2")
    };
    let feed = atom_feed(vec![shown]);
    assert_eq!(texts(&feed, "title"), ["Changes of *.example.com", "Fish & chips: not found"]);
    assert_eq!(texts(&feed, "updated"), ["1970-01-02T00:00:00Z"; 2]);
    assert_eq!(texts(&feed, "id")[1], "urn:recrawl:msg_07");
    assert!(feed.contains("href=\"https://a.example/?a=1&amp;b=2\""), "{feed}");
    let content = "<p>not found: https://a.example/?a=1&amp;b=2</p><pre>-&lt;b&gt;1 €&lt;/b&gt;\n+2 €</pre>";
    assert_eq!(texts(&feed, "content"), [content]);
}

/// Text of sites ends neither the element nor the document.
#[test]
fn whatever_a_site_writes_the_feed_is_well_formed() {
    let odd: String = ('\0'..='\u{20}').chain(['\u{7f}', '\u{fffe}', '\u{ffff}', '\u{202e}', '😀']).collect();
    let odd = format!("]]></content></entry><!-- & &amp; {odd}");
    let shown = PageChange {
        title: Some(odd.clone()),
        difference: Some(odd.clone()),
        reason: Some(odd.clone()),
        ..change("https://a.example/]]>\"'")
    };
    let feed = atom_feed(vec![shown.clone(), shown]);
    assert_eq!(texts(&feed, "entry").len(), 2);
    let is_kept =
        |c: char| matches!(c, '\t' | '\n' | '\r') || (c >= ' ' && !matches!(c, '\u{fffe}' | '\u{ffff}'));
    assert!(feed.chars().all(is_kept));
    assert!(texts(&feed, "title")[1].starts_with("]]></content></entry><!-- & &amp; "));
}

#[test]
fn feeds_of_other_changes_have_other_ids_and_tags() {
    let (first, other) = (atom_feed(vec![change("https://a.example/")]), atom_feed(vec![]));
    assert_eq!(texts(&first, "id")[0], texts(&other, "id")[0]);
    assert_ne!(tag(&first), tag(&other));
    let list = PageChangeList { changes: vec![], next: None, since_cycle: None, since_time: None };
    let ids: Vec<String> = [("", ""), ("a", ""), ("", "a")]
        .map(|(pages, kinds)| texts(&atom(&list, pages, kinds, ""), "id").remove(0))
        .into();
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
}
