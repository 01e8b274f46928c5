use super::*;
use proptest::prelude::*;
use std::time::Duration;

fn compare(older: &str, newer: &str) -> TextDifference {
    TextDifference::between(older, newer, Instant::now() + Duration::from_secs(600))
}

fn told(difference: &TextDifference) -> String {
    let one = |part: &DifferencePart| match part {
        DifferencePart::Same { text } => text.clone(),
        DifferencePart::Added { text } => format!("[+{text}+]"),
        DifferencePart::Removed { text } => format!("[-{text}-]"),
        DifferencePart::Skipped { words } => format!("[{words}]"),
    };
    difference.parts.iter().map(one).collect()
}

#[test]
fn words_are_told_within_related_lines_and_whole_lines_else() {
    let found =
        compare("News\nThe price is 10 euros today\nend\n", "News\nThe price is 12 euros today\nend\n");
    assert_eq!(told(&found), "News\nThe price is [-10 -][+12 +]euros today\nend\n");
    assert_eq!((found.added, found.removed, found.is_cut), (1, 1, false));
    let found = compare("one\nthe cat sat\nend", "one\na dog barks here\nend");
    assert!(told(&found).contains("[-the cat sat\n-][+a dog barks here\n+]"), "{found:?}");
    let found = compare("one\ntwo", "one\nmore\ntwo");
    assert!(told(&found).contains("[+more\n+]") && found.removed == 0, "{found:?}");
}

#[test]
fn what_is_the_same_is_shown_only_beside_what_is_not() {
    let long: String = (0..300).map(|word| format!("word{word} ")).collect();
    let found = compare(&format!("{long}\nold\n{long}"), &format!("{long}\nnew\n{long}"));
    assert!(
        matches!(&found.parts[..], [
            DifferencePart::Skipped { words: before }, DifferencePart::Same { .. }, DifferencePart::Removed { .. }, DifferencePart::Added { .. },
            DifferencePart::Same { .. }, DifferencePart::Skipped { words: after },
        ] if *before > 250 && *after > 250),
        "{found:?}"
    );
    assert_eq!(compare(&long, &long).parts, [DifferencePart::Skipped { words: 300 }]);
    assert_eq!(compare("", "").parts, []);
}

#[test]
fn long_texts_make_bounded_differences_in_bounded_time() {
    let text = |seed: u64| -> String {
        (0..200_000u64).map(|at| format!("{:x}\n", at.wrapping_mul(seed) % 1009)).collect()
    };
    let found = TextDifference::between(&text(7919), &text(104_729), Instant::now());
    let bytes = told(&found).len();
    assert!(found.is_cut && found.parts.len() <= MAX_DIFF_PARTS, "{}", found.parts.len());
    assert!(bytes < MAX_DIFF_BYTES + 24 * MAX_DIFF_PARTS, "{bytes}");
    let found = compare("", &"longword".repeat(256 << 10));
    assert!(found.is_cut && found.added == 1);
}

#[test]
fn changes_anywhere_in_a_long_text_are_told() {
    let long: String = (0..14_000).map(|n| format!("entry {n} of the register\n")).collect();
    let old = format!("{long}status: open\n{long}status: open");
    let found = compare(&old, &old.replace("open", "closed"));
    assert_eq!((found.added, found.removed, found.is_cut), (2, 2, false));
    assert_eq!(told(&found).matches("[-open").count(), 2);
    // One line without spaces.
    let side = "\u{4e2d}\u{6587}".repeat(5_000);
    let found = compare(&format!("{side}10{side}"), &format!("{side}12{side}"));
    assert!(told(&found).contains("\u{6587}[-10\u{4e2d}-][+12\u{4e2d}+]\u{6587}"), "{}", told(&found));
}

#[test]
fn both_halves_of_a_long_change_are_told() {
    let found = compare(&"old word ".repeat(10_000), &"other thing ".repeat(10_000));
    assert!(
        found.is_cut
            && matches!(&found.parts[..], [DifferencePart::Removed { .. }, DifferencePart::Added { .. }]),
        "{found:?}"
    );
}

proptest! {
    #[test]
    fn both_texts_can_be_told_from_all_runs(old in "([a-c\u{e9}\u{a0}] ?\n?){0,40}", new in "([a-c\u{e9}\u{a0}] ?\n?){0,40}") {
        let runs = runs(&old, &new, Instant::now() + Duration::from_secs(600));
        let without = |tag| -> String {
            runs.iter().filter(|run| run.0 != tag).map(|run| run.1.as_str()).collect()
        };
        prop_assert_eq!(without(ChangeTag::Insert), old.clone());
        prop_assert_eq!(without(ChangeTag::Delete), new.clone());
        // Short texts are shown whole, and nothing is cut within a character.
        prop_assert!(!compare(&old, &new).is_cut);
    }

    #[test]
    fn ends_are_cut_between_characters(text in "[a\u{e9}\u{2003}\u{1F600}]{0,30}", bytes in 0usize..40) {
        let (head, tail) = (beginning(&text, bytes), end(&text, bytes));
        prop_assert!(text.starts_with(head) && text.ends_with(tail));
        prop_assert!(head.len() <= bytes && tail.len() <= bytes || text.len() <= bytes);
    }
}
