use super::*;
use crate::{BodyFields, ExtractOptions, Extracted, PageContent, extract, extract_part};
use proptest::prelude::*;
use recrawl_types::UrlRules;

fn part(include: &[&str], ignore: &[&str], ignore_text: &[&str]) -> CountedPart {
    let owned = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    CountedPart::new(&owned(include), &owned(ignore), &owned(ignore_text)).unwrap()
}

fn read(html: &str, content_type: &str, part: Option<&CountedPart>) -> PageContent {
    let rules = UrlRules::default();
    let url = rules.canonicalize("http://a.example/p").unwrap();
    let fields = BodyFields { content_type: Some(content_type), ..BodyFields::default() };
    let options = ExtractOptions { anchors: true, ..ExtractOptions::default() };
    match extract_part(html.as_bytes(), &fields, &url, &rules, &options, part) {
        Extracted::Page(page) => page,
        other => panic!("{other:?}"),
    }
}

fn text(html: &str, part: &CountedPart) -> String {
    read(html, "text/html", Some(part)).text
}

const PAGE: &str = "<title>Title</title><header>Shop <b class=price>12</b></header><nav><a href=/menu>Menu</a></nav>\
    <main><p class='ads x'>Buy <a href=/ad>this</a></p><article id=a>Story of <time>12:00</time> words</article>\
    <p>Seen 17 times</p><p class=note>Note</p></main><footer>Imprint</footer>";

#[test]
fn included_elements_count_and_ignored_ones_do_not() {
    for (include, ignore, expected) in [
        (&[][..], &[][..], "Buy this\nStory of 12:00 words\nSeen 17 times\nNote"),
        (&[], &[".ads", "time"], "Story of words\nSeen 17 times\nNote"),
        (&["main article"], &[], "Story of 12:00 words"),
        (&["article, .note"], &["time"], "Story of words\nNote"),
        (&["article", "main"], &[".ads", "article"], "Seen 17 times\nNote"),
        // A selector names what counts, so the frame does not matter, and two elements are two lines.
        (&[".price", ".note"], &[], "12\nNote"),
        (&["nav"], &[], "Menu"),
        (&["#nothing"], &[], ""),
        (&[], &["body"], ""),
        (&["main > p:not(.ads):nth-of-type(2)"], &[], "Seen 17 times"),
        (&["article ~ p[class^=no]"], &[], "Note"),
    ] {
        assert_eq!(text(PAGE, &part(include, ignore, &[])), expected, "{include:?} {ignore:?}");
    }
    // What nobody sees stays out, also inside of an included element.
    let hidden = "<div id=d>a<script>x</script><p hidden>b</p><p style='display:none'>c</p></div>";
    assert_eq!(text(hidden, &part(&["#d", "p"], &[], &[])), "a");
}

#[test]
fn links_title_and_anchors_are_those_of_the_whole_page() {
    let whole = read(PAGE, "text/html", None);
    let part = read(PAGE, "text/html", Some(&part(&["article"], &[".ads"], &["Story"])));
    assert_eq!(part.text, "of 12:00 words");
    assert_eq!(
        PageContent { text: String::new(), work: 0, ..part },
        PageContent { text: String::new(), work: 0, ..whole }
    );
}

#[test]
fn patterns_drop_what_they_match_and_see_a_line_for_each_block() {
    let strip = |patterns: &[&str]| text(PAGE, &part(&["main"], &[], patterns));
    assert_eq!(strip(&[r"Seen \d+ times"]), "Buy this\nStory of 12:00 words\nNote");
    assert_eq!(strip(&[r"\d+", ":"]), "Buy this\nStory of words\nSeen times\nNote");
    assert_eq!(strip(&["^.*[Ss]een.*$", "^Note$"]), "Buy this\nStory of 12:00 words");
    assert_eq!(strip(&["(?s).*"]), "");
    let page = "<p>5\u{200b}0\u{ad} left for a cafe\u{301} here</p>";
    assert_eq!(text(page, &part(&[], &[], &["50 left for a café"])), "here", "a reader sees that");
    let plain = read("Line one\nLine two", "text/plain", Some(&part(&["main"], &["p"], &["(?i)LINE"])));
    assert_eq!(plain.text, "one\ntwo", "plain text has no elements, and keeps its lines");
}

#[test]
fn invalid_entries_are_refused_with_their_list_and_a_remedy() {
    let new = |include: &str, ignore: &str, text: &str| {
        let list = |entry: &str| if entry == "-" { vec![] } else { vec![entry.to_owned()] };
        CountedPart::new(&list(include), &list(ignore), &list(text)).unwrap_err()
    };
    for (error, key, says) in [
        (new("main[", "-", "-"), "include", "\"main[\" is not a CSS selector"),
        (new("", "-", "-"), "include", "\"\" is not a CSS selector"),
        (new("-", "p::before", "-"), "ignore", "is not a CSS selector"),
        (new("-", "a:hover)", "-"), "ignore", "is not a CSS selector"),
        (new("div:HAS(p)", "-", "-"), "include", "no bound"),
        (new("-", "-", "a("), "ignore_text", "is not a regular expression: unclosed group"),
        (new("-", "-", "(a{1000}){1000}"), "ignore_text", "smaller repetitions"),
        (new(&"a".repeat(2000), "-", "-"), "include", "2000 bytes"),
    ] {
        assert_eq!(error.key, key, "{error:?}");
        assert!(error.why.contains(says), "{error:?}");
        assert!(!error.why.contains('\n'), "{error:?}");
    }
    let many = vec!["p".to_owned(); MAX_PART_ENTRIES + 1];
    // It is not read before that is known.
    let long = [":not(".repeat(60_000) + "a" + &")".repeat(60_000)];
    assert!(CountedPart::new(&long, &[], &[]).unwrap_err().why.starts_with("an entry of 360001 bytes"));
    assert!(CountedPart::new(&[], &many, &[]).unwrap_err().why.starts_with("51 entries"));
}

/// A page of 2 MB with an element every few bytes costs few steps if it is flat, and is given up if it is deep or
/// if each element would be compared with all earlier ones.
#[test]
fn the_steps_of_selectors_are_bounded_by_the_bytes_of_a_page() {
    let flat = "<i class=x>a</i>".repeat(100_000);
    let deep = format!("{}{flat}", "<span>".repeat(500));
    let cost = |html: &str, selectors: &[&str]| {
        let (tree, _) = crate::html::parse(html, crate::html::Attributes::All);
        let selected = part(&[], selectors, &[]).select(&tree, html.len());
        (selected.steps, !selected.is_given_up)
    };
    let most = |html: &str| MIN_SELECTOR_STEPS + SELECTOR_STEPS_A_BYTE * html.len() as u64;
    let kinds: String = (0..30_000).map(|n| format!("<x{n} class=x></x{n}>")).collect();
    for (html, selectors, is_read) in [
        (&flat, &["b .x", "i + .y", "[class~=x]"][..], true),
        (&flat, &[".x ~ .y"], false),
        (&kinds, &[".x:Nth-Of-Type(2)"], false),
        (&deep, &["b .x"; 40], false),
    ] {
        let (steps, found) = cost(html, selectors);
        assert_eq!(found, is_read, "{selectors:?}");
        assert!(steps <= most(html) + 200_000, "{steps} steps for {selectors:?}");
    }
    let given_up = read(&deep, "text/html", Some(&part(&[], &["b .x"; 40], &[])));
    assert_eq!((given_up.text.as_str(), given_up.is_given_up), ("", true), "it has no text, and says so");
    // A page without text for any other reason is not given up, nor is one without selectors.
    for part in [part(&["#none"], &[], &[]), part(&[], &[], &["(?s).*"])] {
        let empty = read(&deep, "text/html", Some(&part));
        assert_eq!((empty.text.as_str(), empty.is_given_up), ("", false));
    }
}

/// What a selector asks of an element may be more than a step.
#[test]
fn long_attributes_levels_of_siblings_and_nested_selectors_count_for_what_they_cost() {
    let is_read = |selector: &str, html: &str| {
        let (tree, _) = crate::html::parse(html, crate::html::Attributes::All);
        !part(&[], &[selector], &[]).select(&tree, html.len()).is_given_up
    };
    let flat = "<i class=x>a</i>".repeat(5_000);
    let deep = format!("{}{flat}", "<span>".repeat(300));
    // Each level of these asks around every element that the level around it asks about.
    assert!(!is_read(":not(:not(b *) *) i", &deep) && !is_read("x :is(:is(b div) div)", &deep));
    assert!(is_read(":not(.b) i", &deep) && is_read("i:nth-child(2n + 1)", &flat));
    // The siblings of each ancestor are asked, and the longest value of an attribute.
    let levels = format!("{}<div>", "<i></i>".repeat(300)).repeat(100) + &flat;
    assert!(!is_read("i ~ div b", &levels) && is_read("i + div b", &levels));
    let table = format!("<table>{}</table>", "<tr><td>a<td>b<td>c<td>d".repeat(2_000));
    let few = ["tr ~ td", "p ~ td", "h2 ~ p", "table~p+p", "td:nth-of-type(2n + 1)"];
    assert!(few.into_iter().all(|selector| is_read(selector, &table)), "each asks siblings of its own level");
    let long = format!("<html class='{0}' data-x='{0}'>{flat}", "a ".repeat(200_000));
    for (selector, expected) in [
        ("[class~=x] b", false),
        ("[data-x *= 'x'] b", false),
        ("b[CLASS*=\"x\" i] b", false),
        (":not([class~='x']) b", false),
        ("[data-y~=x] b", true),
        ("[class=x] b", true),
        ("[class^='x'] .b", true),
        (".x b", true),
    ] {
        assert_eq!(is_read(selector, &long), expected, "{selector}");
    }
    // What selectors ask of a page that a frameset took away.
    let taken = format!("<body>{}{}<frameset>", "<div>".repeat(400), "<x></x>".repeat(5_000));
    assert!(!is_read(":not(:not(b *) *) i", &taken));
}

fn markup() -> impl Strategy<Value = String> {
    let tags = "<(div|p|main|nav|header|b|table|tr|td|li|ul|section|a href=/x|b class=k|p hidden|form|svg|select|template shadowrootmode=open|slot|slot name=s|p slot=s|pre|text)>|</(div|p|main|nav|b|table|td|a|section|template|slot)>";
    proptest::collection::vec(
        prop_oneof![3 => proptest::string::string_regex(tags).unwrap(), 2 => "[a-z ]{0,6}"],
        0..60,
    )
    .prop_map(|pieces| pieces.concat())
}

proptest! {
    /// A part that selects nothing away finds what the fast path finds, which has no tree.
    #[test]
    fn a_part_without_effect_changes_nothing(html in markup()) {
        let rules = UrlRules::default();
        let url = rules.canonicalize("http://a.example/p").unwrap();
        let (fields, options) = (BodyFields { content_type: Some("text/html"), ..BodyFields::default() }, ExtractOptions { anchors: true, ..ExtractOptions::default() });
        let Extracted::Page(whole) = extract(html.as_bytes(), &fields, &url, &rules, &options) else { panic!() };
        for idle in [part(&[], &["#none"], &[]), part(&[], &[], &["\u{1}"]), CountedPart::default()] {
            let same = read(&html, "text/html", Some(&idle));
            prop_assert_eq!(PageContent { work: 0, ..same }, PageContent { work: 0, ..whole.clone() });
        }
    }

    /// What is included and what is ignored divide the text of a page.
    #[test]
    fn included_and_ignored_text_divide_the_page(html in markup()) {
        let words = |part: &CountedPart| {
            let mut letters: Vec<char> = text(&html, part).chars().filter(|c| !c.is_whitespace()).collect();
            letters.sort_unstable();
            letters
        };
        let mut both = words(&part(&["html"], &["b, td"], &[]));
        both.extend(words(&part(&["b, td"], &[], &[])));
        both.sort_unstable();
        prop_assert_eq!(both, words(&part(&["html"], &[], &[])));
    }
}
