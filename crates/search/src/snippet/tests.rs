use super::*;
use proptest::prelude::*;

fn snippet(text: &str, language: Language, query: &TextQuery) -> Vec<SnippetPiece> {
    Snippets::new(query).cut(text, language)
}

fn shown(text: &str, query: &str) -> String {
    let parts = snippet(text, Language::of_tag("en"), &TextQuery::parse(query).unwrap());
    parts
        .iter()
        .map(|part| if part.is_match { format!("[{}]", part.text) } else { part.text.clone() })
        .collect()
}

#[test]
fn words_of_the_query_are_marked_in_all_their_forms() {
    assert_eq!(
        shown("They\n  crawl pages,\tcrawling <b>fairly</b>.", "\"Crawled page\" -fairly"),
        "They [crawl] [pages], [crawling] <b>fairly</b>."
    );
    assert_eq!(shown("Nothing of it.", "else"), "Nothing of it.");
    assert_eq!(shown("", "else"), "");
}

#[test]
fn a_word_is_marked_as_it_was_typed() {
    assert_eq!(shown("Toda la información de Łódź.", "informacion lodz"), "Toda la [información] de [Łódź].");
    assert_eq!(shown("서울입니다, Ankara'da.", "서울 ankara"), "[서울]입니다, [Ankara'da].");
    assert_eq!(shown("この猫は", "猫"), "この[猫は]");
}

#[test]
fn the_place_with_most_different_words_is_shown() {
    let padding = "Some padding that nobody looks for. ".repeat(30);
    let text = format!("{padding}One alpha and one alpha. {padding}Then beta comes before alpha. {padding}");
    let shown = shown(&text, "alpha beta");
    assert!(shown.starts_with("… ") && shown.ends_with(" …"), "{shown}");
    assert!(shown.contains("Then [beta] comes before [alpha]."), "{shown}");
    assert!(shown.len() <= LENGTH + 20, "{shown}");
}

#[test]
fn a_script_without_spaces_is_cut_between_characters() {
    let text = "全文検索エンジンは文書を探す。".repeat(40);
    let parts = snippet(&text, Language::OTHER, &TextQuery::parse("検索エンジン").unwrap());
    let marked: String = parts.iter().filter(|part| part.is_match).map(|part| &*part.text).collect();
    assert!(marked.starts_with("検索エンジン"), "{parts:?}");
}

proptest! {
    #[test]
    fn a_snippet_is_short_and_of_the_text(text in "(\\PC|\\s|alpha |検索|e\u{301}){0,300}", query in "(alpha|検索|\\w{1,3})") {
        let Ok(query) = TextQuery::parse(&query) else { return Ok(()) };
        let parts = snippet(&text, Language::OTHER, &query);
        let shown: String = parts.iter().map(|part| &*part.text).collect();
        prop_assert!(shown.len() <= LENGTH + 16, "{}", shown.len());
        let words = |text: &str| text.split_whitespace().collect::<String>();
        let inner = shown.trim_start_matches('…').trim_end_matches('…').to_owned();
        prop_assert!(words(&text).contains(&words(&inner)), "{inner:?}");
    }
}
