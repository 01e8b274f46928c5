use super::*;
use crate::terms::Topic;

/// Every classifier of the list on one page; one without a line here fails.
#[test]
fn every_classifier_of_the_list_scores_within_0_and_1() {
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/classifier")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<String> = names
        .filter_map(|name| name.strip_suffix(".rs").map(str::to_owned))
        .filter(|name| name != "tests")
        .collect();
    files.sort();
    let mut listed: Vec<&str> = ALL.iter().map(|kind| kind.name).collect();
    listed.sort_unstable();
    assert_eq!(files, listed, "a classifier is a file and a line in ALL");
}

#[test]
fn a_page_is_read_by_its_title_text_and_url() {
    let mut words = Words::new();
    let page = PageText {
        url: Some("https://x.example/labs"),
        language: Some("en"),
        title: "Lab",
        text: "the labs",
    };
    let reading = PageWords::read(&page, MAX_TEXT, &mut words);
    assert_eq!(reading.words, [reading.words[0]; 2]);
    assert_eq!(reading.url.last(), reading.words.first());
    let cut = PageWords::read(&PageText { text: "labs labs labs", ..page }, 9, &mut words);
    assert_eq!(cut.words.len(), 3, "the title and two words of the text");
}

#[test]
fn url_terms_are_looked_for_where_the_topic_says() {
    let mut words = Words::new();
    let file = "genre = [\"lab\"]\ncontent = [\"sql\"]\nurl = [\"lab\", \"db\"]\n";
    let text = Topic::from_toml(&format!("{file}url_terms = \"text\"")).unwrap();
    let url = Topic::from_toml(file).unwrap();
    let page =
        PageText { url: Some("https://x.example/db/lab"), language: Some("en"), title: "", text: "lab" };
    let reading = PageWords::read(&page, MAX_TEXT, &mut words);
    let unread = PageWords::read(&PageText { url: None, ..page }, MAX_TEXT, &mut words);
    let mut assess = |topic: &Topic, reading| terms::Terms::new(topic.clone(), &mut words).assess(reading);
    let half = 1.0 / 2.0_f64.sqrt();
    assert_eq!(assess(&url, &reading).url, Some(1.0));
    assert!((assess(&text, &reading).url.unwrap() - half).abs() < 1e-15);
    assert_eq!(assess(&url, &unread).url, None);
    assert_eq!(assess(&url, &unread).relevance, 0.5, "genre 1 and content 0, no URL");
    assert!((assess(&url, &reading).relevance - (0.7 * 0.5 + 0.3)).abs() < 1e-15);
}
