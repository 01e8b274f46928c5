//! Words of texts, and term files. Input: a line with a language tag, then a text or a term file.

use crate::{FuzzTarget, first_line};
use recrawl_focus::classifier::terms::Terms;
use recrawl_focus::terms::MAX_FILE_BYTES;
use recrawl_focus::words::{MAX_TEXT, MAX_WORD};
use recrawl_focus::{Classifier, Language, PageText, PageWords, TermSet, Topic, Words};

/// Tokenizer and term files as a target.
pub const TARGET: FuzzTarget = FuzzTarget { name: "focus", check };

/// Asserts that words keep their limits and do not depend on what was read before; that a term file that is accepted
/// comes back from its printed form with the same digest; and that scores lie within 0 and 1.
pub fn check(data: &[u8]) {
    let (tag, rest) = first_line(data);
    let tag = String::from_utf8_lossy(tag);
    let text = String::from_utf8_lossy(rest);
    let language = Language::of_page(Some(&tag), &text);
    let mut words = Words::new();
    words_are_sound(&text, language, &mut words);
    match Topic::from_toml(&text) {
        Ok(topic) => topic_is_sound(topic, &tag, &text, &mut words),
        Err(error) => {
            let told = error.to_string();
            assert!(!told.is_empty() && !told.contains('\n'), "{told:?}");
        }
    }
}

fn words_are_sound(text: &str, language: Language, words: &mut Words) {
    let pairs = words.pairs(text, language, MAX_TEXT);
    assert!(pairs.iter().all(|(word, stem)| !stem.is_empty() && word.len() <= MAX_WORD));
    let read = |words: &mut Words, most| {
        let mut hashes = vec![];
        words.hashes(text, language, MAX_TEXT, most, &mut hashes);
        hashes
    };
    let warm = read(words, usize::MAX);
    assert_eq!(warm.len(), pairs.len(), "as many hashes as words");
    assert_eq!(read(&mut Words::new(), usize::MAX), warm, "the same without stems kept");
    assert_eq!(read(words, 3), warm[..warm.len().min(3)], "a limit gives the first words");
    let mut url = vec![];
    words.of_url(text, language, &mut url);
}

fn topic_is_sound(topic: Topic, tag: &str, text: &str, words: &mut Words) {
    let written = topic.to_toml();
    // Quotes and the keys with default values may make a file longer than it was.
    if written.len() <= MAX_FILE_BYTES {
        let again = Topic::from_toml(&written).expect("what was written can be read");
        assert_eq!(again, topic);
        assert_eq!(again.digest(), topic.digest());
    }
    let terms = Terms::new(topic, words);
    let page = PageText { url: Some(text), language: Some(tag), title: tag, text };
    let reading = PageWords::read(&page, MAX_TEXT, words);
    let verdict = terms.assess(&reading);
    for value in [verdict.relevance, verdict.genre, verdict.content, verdict.url.unwrap_or(0.0)] {
        assert!((0.0..=1.0 + 1e-12).contains(&value), "{verdict:?}");
    }
    let matcher = terms.matcher(reading.language);
    let counts = matcher.count(&reading.words);
    for set in TermSet::ALL {
        assert!(matcher.size(set) <= terms.topic().terms(set).len());
        assert_eq!(counts.in_set(set).len(), matcher.size(set));
    }
}
