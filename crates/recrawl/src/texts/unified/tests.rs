use super::*;
use recrawl_types::ArchivePosition;

fn unify(old: &str, new: &str, max: usize) -> Unified {
    let text = |text: &str| ArchivedText {
        time: 0,
        at: ArchivePosition { file: 1, offset: 0 },
        text: text.to_owned(),
    };
    unified(&text(old), &text(new), max)
}

/// The changed lines.
fn changed(found: &Unified) -> Vec<&str> {
    found.text.lines().skip(2).filter(|line| line.starts_with(['-', '+'])).collect()
}

fn entries(count: usize) -> String {
    (0..count).map(|n| format!("entry {n} of the register\n")).collect()
}

#[test]
fn a_change_is_found_at_any_place_of_a_long_text() {
    let long = entries(14_000);
    let found = unify(&format!("{long}status: open"), &format!("{long}status: closed"), 8 << 10);
    assert_eq!((changed(&found), found.is_cut), (vec!["-status: open", "+status: closed"], false));
    assert!(found.text.contains("\n entry 13999 of the register\n"), "{}", found.text);
    // At the beginning, in the middle and at the end.
    let new = format!("first\n{}status: closed", long.replace("entry 7000 of", "entry 7000x of"));
    let found = unify(&format!("{long}status: open"), &new, 8 << 10);
    let expected = [
        "+first",
        "-entry 7000 of the register",
        "+entry 7000x of the register",
        "-status: open",
        "+status: closed",
    ];
    assert_eq!((changed(&found), found.is_cut), (expected.to_vec(), false));
    let found = unify(&long, &format!("{long}one more"), 8 << 10);
    assert_eq!((changed(&found), found.is_cut), (vec!["+one more"], false));
    assert_eq!(unify(&long, &long, 8 << 10), Unified { text: String::new(), is_cut: false });
}

#[test]
fn of_a_long_line_both_halves_are_told() {
    for word in ["word ", "\u{4e2d}", "\u{1F600}", "x", "a,"] {
        let side = word.repeat(20_000 / word.len());
        let [old, new] = ["10", "12"].map(|price| format!("{side}price {price} euros{side}"));
        for max in [8 << 10, 2 << 10] {
            let found = unify(&old, &new, max);
            let lines = changed(&found);
            assert_eq!((lines.len(), found.is_cut), (2, false), "{word}: {lines:?}");
            assert!(lines[0].contains("10") && lines[1].contains("12"), "{word}: {lines:?}");
            assert!(found.text.len() < 1500, "{word}: {}", found.text.len());
        }
    }
    // At several places of one line.
    let line =
        |n: usize| (0..3000).map(move |at| if at % 1000 == 500 { format!("{at}{n} ") } else { "w ".into() });
    let found = unify(&line(1).collect::<String>(), &line(2).collect::<String>(), 8 << 10);
    let lines = changed(&found);
    for place in ["500", "1500", "2500"] {
        assert!(
            lines[0].contains(&format!("{place}1")) && lines[1].contains(&format!("{place}2")),
            "{lines:?}"
        );
    }
}

#[test]
fn of_what_is_replaced_both_halves_have_room() {
    let line = |letter: char| format!("{letter}{letter} ").repeat(10_000);
    let lines = |letter: char| format!("{letter} {letter}{letter}\n").repeat(3_000);
    for (old, new) in [(line('a'), line('b')), (lines('a'), lines('b')), ("\u{e9}".repeat(9_000), line('c'))]
    {
        for max in [8 << 10, 2 << 10] {
            let found = unify(&old, &new, max);
            let [removed, added] = ['-', '+'].map(|sign| {
                changed(&found)
                    .iter()
                    .filter(|line| line.starts_with(sign))
                    .map(|line| line.len())
                    .sum::<usize>()
            });
            assert!(found.is_cut && found.text.len() <= max, "{}", found.text.len());
            assert!(removed > max / 8 && added > max / 8, "{removed} and {added} of {max}");
        }
    }
    // A short half leaves its room to the other.
    let found = unify("short\n", &"c cc\n".repeat(500), 8 << 10);
    assert!(!found.is_cut && found.text.ends_with("+c cc\n"), "{}", found.text.len());
}
