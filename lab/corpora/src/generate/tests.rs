use super::*;
use recrawl_focus::words::{Language, MAX_TEXT, Words};

/// Fifty pages of words drawn from a few, so that many counts are equal.
fn pages() -> Vec<Example> {
    let vocabulary = ["course", "exams", "exam", "grading", "database", "queries", "query", "relational"];
    let mut state = 7_u64;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut words = Words::new();
    let texts: Vec<String> = (0..50)
        .map(|_| {
            let count = 5 + draw(20);
            (0..count).map(|_| vocabulary[draw(vocabulary.len())]).collect::<Vec<_>>().join(" ")
        })
        .collect();
    texts.iter().map(|text| words.pairs(text, Language::of_tag("en"), MAX_TEXT)).collect()
}

/// All sequences of up to three stems with their counts, the most frequent first, then by alphabet.
fn naive(pages: &[Example], without: &[String]) -> Vec<(String, usize)> {
    let mut counts: Vec<(String, usize)> = vec![];
    for page in pages {
        for begin in 0..page.len() {
            for end in begin + 1..=(begin + 3).min(page.len()) {
                let term =
                    page[begin..end].iter().map(|(_, stem)| stem.clone()).collect::<Vec<_>>().join(" ");
                match counts.iter_mut().find(|(known, _)| *known == term) {
                    _ if without.contains(&term) => {}
                    Some((_, count)) => *count += 1,
                    None => counts.push((term, 1)),
                }
            }
        }
    }
    counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    counts
}

fn counted(terms: &[Proposed]) -> Vec<(String, usize)> {
    terms.iter().map(|term| (term.stems.clone(), term.score as usize)).collect()
}

#[test]
fn frequencies_equal_a_naive_count_and_ties_go_by_term() {
    let pages = pages();
    let (genre, relevant) = (&pages[..30], &pages[20..]);
    let generated = by_frequency(genre, relevant, (40, 40));
    let expected = naive(genre, &[]);
    assert_eq!(counted(&generated.genre), expected[..40]);
    assert!(expected[..41].windows(2).any(|two| two[0].1 == two[1].1), "no ties in the test");
    let without: Vec<String> = expected[..40].iter().map(|(term, _)| term.clone()).collect();
    assert_eq!(counted(&generated.content), naive(relevant, &without)[..40]);
    assert!(
        generated
            .genre
            .iter()
            .any(|term| term.stems == "exam" && ["exam", "exams"].contains(&term.term.as_str()))
    );
}

#[test]
fn contrast_prefers_what_others_lack() {
    let mut words = Words::new();
    let mut read = |texts: &[&str]| -> Vec<Example> {
        texts.iter().map(|text| words.pairs(text, Language::of_tag("en"), MAX_TEXT)).collect()
    };
    let genre = read(&[
        "syllabus grading home databases sql",
        "syllabus grading home biology",
        "syllabus grading home law",
    ]);
    let relevant = read(&["syllabus grading home databases sql", "grading databases sql home"]);
    let background = read(&["home news", "home contact", "home sports", "home sql"]);
    let generated = by_contrast(&genre, &relevant, &background, (3, 2));
    let terms = |set: &[Proposed]| set.iter().map(|term| term.term.clone()).collect::<Vec<_>>();
    let genre_terms = terms(&generated.genre);
    assert!(
        genre_terms.contains(&"syllabus".into()) && genre_terms.contains(&"grading".into()),
        "{genre_terms:?}"
    );
    assert!(!genre_terms.contains(&"home".into()), "every page has it");
    let content = terms(&generated.content);
    assert!(
        content.contains(&"databases sql".into()) || content.contains(&"databases".into()),
        "{content:?}"
    );
    assert!(!content.contains(&"biology".into()) && !content.contains(&"home".into()), "{content:?}");
}

#[test]
fn few_examples_give_few_terms() {
    let nothing = by_frequency(&[], &[vec![]], (5, 5));
    assert_eq!((nothing.genre.len(), nothing.content.len()), (0, 0));
    assert!(by_contrast(&[], &[], &[], (5, 5)).genre.is_empty());
}
