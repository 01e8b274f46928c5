use super::*;
use crate::testing::{self, NOW};
use crate::{Basis, Expr, Protection};
use proptest::prelude::*;
use recrawl_types::StateColumns;
use std::collections::HashSet;

#[test]
fn every_terminal_of_the_folder_is_in_the_list() {
    let listed: Vec<String> = ALL.iter().map(|t| t.name.to_owned()).collect();
    testing::assert_lists_folder(&listed, "src/terminal", "rs");
}

#[test]
fn names_are_words_and_no_function_has_them_too() {
    let mut seen = HashSet::new();
    for terminal in ALL {
        let name = terminal.name;
        assert!(seen.insert(name), "{name} twice");
        assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{name}");
        assert!(!name.as_bytes()[0].is_ascii_digit(), "{name}");
        assert!(crate::Function::named(name).is_none(), "{name}");
        assert!(!terminal.help.is_empty(), "{name}");
        assert_eq!(Terminal::named(name), Some(*terminal));
    }
    assert_eq!(Terminal::named("x"), None);
}

fn load(terminal: &Terminal, columns: &StateColumns, basis: Basis) -> Vec<f64> {
    let mut out = vec![f64::NAN; columns.len()];
    (terminal.load)(&Tile { columns, rows: 0..columns.len(), cycle: NOW, basis }, &mut out);
    out
}

proptest! {
    /// Every terminal is its definition, is finite, and is never −0, on which the simplifier counts.
    #[test]
    fn terminals_are_their_definitions(columns in testing::blocks(20), basis in testing::bases()) {
        for terminal in ALL {
            let values = load(terminal, &columns, basis);
            for (i, value) in values.into_iter().enumerate() {
                prop_assert!(value.is_finite() && value.is_sign_positive(), "{}: {}", terminal.name, value);
                if let Some(h) = columns.history(i) {
                    let expr = Expr::Terminal(terminal);
                    let naive = testing::naive(&expr, Protection::default(), basis, &h, NOW);
                    prop_assert!(testing::same(value, naive), "{}: {} for {}", terminal.name, value, naive);
                }
            }
        }
    }
}
