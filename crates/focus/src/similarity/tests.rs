use super::*;
use crate::classifier::{Classifier, PageText, PageWords, terms::Terms};
use crate::terms::{TermSet, Topic};
use crate::words::{Language, MAX_TEXT, Words};

/// Twelve pages and how often each has the terms "data structures", "structures", "algorithms" and "exam".
const PAGES: [(&str, [u32; 4]); 12] = [
    ("", [0, 0, 0, 0]),
    ("an exam", [0, 0, 0, 1]),
    ("Exam, exam; EXAMS!", [0, 0, 0, 3]),
    ("data structures", [1, 1, 0, 0]),
    ("the structures", [0, 1, 0, 0]),
    ("data", [0, 0, 0, 0]),
    ("Data structures and algorithms. Exam.", [1, 1, 1, 1]),
    ("algorithms exam exam", [0, 0, 1, 2]),
    ("data structures, structures: exam", [1, 2, 0, 1]),
    ("exam (thirty times), algorithm", [0, 0, 1, 30]),
    ("data structures data structures algorithms algorithms algorithm", [2, 2, 3, 0]),
    ("structured algorithmic exams", [0, 1, 1, 1]),
];

fn page(number: usize) -> String {
    match number {
        9 => format!("{} algorithm", "exam ".repeat(30)),
        _ => PAGES[number].0.to_owned(),
    }
}

/// Σ f / √(t · Σ f²), worked out by hand as a fraction of roots.
fn by_hand() -> [f64; 12] {
    let root = f64::sqrt;
    [
        0.0,
        1.0 / 2.0,
        1.0 / 2.0,
        1.0 / root(2.0),
        1.0 / 2.0,
        0.0,
        1.0,
        3.0 / (2.0 * root(5.0)),
        root(2.0 / 3.0),
        21.0 / (2.0 * root(401.0)),
        7.0 / (2.0 * root(17.0)),
        root(3.0) / 2.0,
    ]
}

/// The same with idf ln 3, ln 2, ln (12/5) and ln (12/7): 4, 6, 5 and 7 of the twelve pages have the terms. Worked out
/// with 40 decimal digits.
const COUNTED: [f64; 12] = [
    0.0,
    0.325_360_654_054_105_8,
    0.325_360_654_054_105_8,
    0.784_130_529_812_716_4,
    0.418_412_401_038_184_56,
    0.0,
    1.0,
    0.585_719_871_149_912_9,
    0.802_526_725_954_441_3,
    0.367_070_621_283_146_16,
    0.927_151_594_821_612_2,
    0.748_470_607_010_166_7,
];

fn terms(words: &mut Words) -> Terms {
    let file =
        "genre = [\"data structures\", \"structures\", \"algorithms\", \"exam\"]\ncontent = [\"sql\"]\n";
    Terms::new(Topic::from_toml(file).unwrap(), words)
}

fn readings(words: &mut Words) -> Vec<PageWords> {
    let read = |number| {
        let text = page(number);
        PageWords::read(
            &PageText { language: Some("en"), text: &text, ..PageText::default() },
            MAX_TEXT,
            words,
        )
    };
    (0..12).map(read).collect()
}

#[test]
fn terms_are_counted_in_phrases_and_in_the_words_of_phrases() {
    let mut words = Words::new();
    let terms = terms(&mut words);
    for (number, reading) in readings(&mut words).iter().enumerate() {
        let counts = terms.matcher(Language::of_tag("en")).count(&reading.words);
        assert_eq!(counts.in_set(TermSet::Genre), PAGES[number].1, "page {number}: {}", page(number));
    }
}

#[test]
fn similarity_is_that_of_a_table_worked_out_by_hand() {
    let mut words = Words::new();
    let readings = readings(&mut words);
    let plain = terms(&mut words);
    let counted = terms(&mut words).weighted(&readings);
    for (number, reading) in readings.iter().enumerate() {
        let found = plain.assess(reading).genre;
        assert!((found - by_hand()[number]).abs() < 1e-12, "page {number}: {found}");
        let found = counted.assess(reading).genre;
        assert!((found - COUNTED[number]).abs() < 1e-12, "page {number} with idf: {found}");
    }
}

#[test]
fn repeated_terms_count_up_to_the_cap() {
    let weights = [1.0; 2];
    assert_eq!(similarity(&[20, 1], &weights), similarity(&[1_000_000, 1], &weights));
    assert!(similarity(&[20, 1], &weights) < similarity(&[19, 1], &weights));
}

#[test]
fn weights_of_nothing_and_of_everything_give_no_similarity() {
    assert_eq!(similarity(&[1, 2], &[0.0, 0.0]), 0.0);
    assert_eq!((idf(10, 10), idf(10, 0)), (0.0, idf(10, 1)));
    assert_eq!(idf(0, 0), 0.0);
}
