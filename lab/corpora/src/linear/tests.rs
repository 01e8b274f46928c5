use super::*;
use recrawl_focus::words::MAX_TEXT;
use recrawl_focus::{PageText, Words};

/// Pages of twelve sites: a third are labs, and say so in one of two words.
fn pages() -> Vec<(PageWords, String, bool)> {
    let mut words = Words::new();
    (0..240_usize)
        .map(|number| {
            let is_relevant = number % 3 == 0;
            let sign = ["exercise", "worksheet"][number / 3 % 2];
            let text = format!(
                "course w{} w{} {} w{} notes",
                number % 7,
                number % 11,
                if is_relevant { sign } else { "lecture" },
                number % 13
            );
            let page = PageText { language: Some("en"), text: &text, ..PageText::default() };
            (PageWords::read(&page, MAX_TEXT, &mut words), format!("site {}", number % 12), is_relevant)
        })
        .collect()
}

fn labelled(pages: &[(PageWords, String, bool)]) -> Vec<LabelledPage<'_>> {
    pages
        .iter()
        .map(|(page, site, is_relevant)| LabelledPage { page, site, is_relevant: *is_relevant })
        .collect()
}

#[test]
fn it_learns_which_words_tell_and_gives_probabilities() {
    let pages = pages();
    let (seen, unseen) = pages.split_at(180);
    let model = train(&labelled(seen));
    for (page, _, is_relevant) in unseen {
        let probability = model.probability(page);
        assert!((0.0..=1.0).contains(&probability));
        assert_eq!(probability > 0.5, *is_relevant, "{probability}");
    }
}

#[test]
fn the_same_examples_give_the_same_bits() {
    let pages = pages();
    let file = train(&labelled(&pages)).to_bytes();
    assert_eq!(file, train(&labelled(&pages)).to_bytes());
    let digest = xxhash_rust::xxh3::xxh3_64(&file);
    assert_eq!(digest, DIGEST, "other bits than on the machine where this digest was noted");
}

/// Digest of the file of a model of [`pages`].
const DIGEST: u64 = 8_039_647_784_201_483_695;

#[test]
fn training_without_relevant_pages_finds_none() {
    let mut pages = pages();
    pages.iter_mut().for_each(|page| page.2 = false);
    let model = train(&labelled(&pages));
    assert!(pages.iter().all(|(page, ..)| model.probability(page) < 0.1));
    assert!(train(&[]).probability(&pages[0].0).is_finite());
}
