use super::*;
use crate::testing::{self, NOW};
use crate::{Basis, Expr, Protection, SiteRates};
use proptest::prelude::*;
use recrawl_types::{History, StateColumns};
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

#[test]
fn sets_are_those_of_the_papers_and_then_everything() {
    let names = |set: TerminalSet| set.terminals().iter().map(|t| t.name).collect::<Vec<_>>().join(" ");
    assert_eq!(names(TerminalSet::Basic), "n X t");
    assert_eq!(names(TerminalSet::All), "n X t cg nad sad aad gad");
    let (in_sets, in_none) = ALL.split_at(ALL.len() - IN_NO_SET);
    assert_eq!(TerminalSet::Related.terminals(), in_sets);
    let (extended, related) = in_sets.split_at(TerminalSet::Extended.terminals().len());
    assert_eq!(TerminalSet::Extended.terminals(), extended);
    let neighbours = |t: &&Terminal| (t.reads)(Basis::Visits).needs_neighbours();
    let beside = |t: &&Terminal| {
        let reads = (t.reads)(Basis::Visits);
        let beside = [Reads::SIGNALS, Reads::RELEVANCE, Reads::IMPORTANCE, Reads::IN_LINKS];
        beside.into_iter().any(|one| reads.contains(one))
    };
    assert!(in_none.iter().all(beside) && !in_sets.iter().any(beside));
    assert!(related.iter().all(neighbours) && !extended.iter().any(neighbours));
    for set in TerminalSet::ALL {
        assert_eq!(TerminalSet::named(set.name()), Some(set));
        assert_eq!(toml::Value::try_from(set).unwrap().as_str(), Some(set.name()));
    }
    assert_eq!(TerminalSet::named("ALL"), None);
}

/// Changed at every third visit, visits in cycles 3 (the first fetch), 5, 7, … 15; evaluated for
/// cycle 16.
#[test]
fn extended_terminals_of_one_page() {
    let mut history = History::first_fetch(Cycle(3));
    for i in 1..=6u32 {
        history.record(Cycle(3 + 2 * i), i % 3 == 0);
    }
    let rates = SiteRates { global: 0.1, site: 0.25 };
    let columns = testing::block_of(&history, rates);
    let rate = 2.5 / (5.0 + 10.0);
    for (name, expected) in [
        ("span", 12.0),
        ("span_changed", 4.0),
        ("span_same", 8.0),
        ("quiet", 1.0),
        ("recent_8", 0.5f64.powf(1.0 / 8.0) + 0.5f64.powf(7.0 / 8.0)),
        ("streak", 1.0),
        ("weekday", 2.0 / 9.0), // cycles 9 and 15; 16 is 2 by sevens, as 9 is
        ("mm", 3.0 / 4.5 * (1.0f64 + 4.5 / 8.5).ln()),
        ("eb", rate),
        ("p_eb", 1.0 - (15.0f64 / 16.0).powf(2.5)),
        ("eb_site", 2.5 / 12.0),
        ("p_eb_site", 1.0 - (12.0f64 / 13.0).powf(2.5)),
        ("u_harm", 1.0 - (1.0 - (-rate).exp()) / rate),
        ("p_eb_sib", 1.0 - (12.0f64 / 13.0).powf(2.5)),
        ("p_burst", 1.0 - (12.0f64 / 13.0).powf(2.5)),
        ("p_next", 1.0 - (12.0f64 / 13.0).powf(2.5)),
        ("p_next_section", 1.0 - (12.0f64 / 13.0).powf(2.5)),
        ("section_rate", 0.25),
    ] {
        let mut out = [f64::NAN];
        let terminal = Terminal::named(name).unwrap();
        let tile = Tile {
            columns: &columns,
            rows: 0..1,
            cycle: Cycle(16),
            basis: Basis::Visits,
            model: Default::default(),
        };
        (terminal.load)(&tile, &mut out);
        assert!((out[0] - expected).abs() < 1e-7, "{name}: {} for {expected}", out[0]);
    }
    history.record(Cycle(17), false);
    history.record(Cycle(19), false);
    let columns = testing::block_of(&history, rates);
    let streak = load(Terminal::named("streak").unwrap(), &columns, Basis::Visits);
    assert_eq!(streak, [-2.0]);
}

/// Empty columns, and hosts of which nothing is known, give exactly the gain without signals.
#[test]
fn unknown_signals_change_no_digit() {
    let mut history = History::first_fetch(Cycle(191));
    history.record(Cycle(197), true);
    let mut columns = testing::block_of(&history, SiteRates { global: 0.1, site: 0.25 });
    let terminal = |name| Terminal::named(name).unwrap();
    let without = load(terminal("u_fresh_site"), &columns, Basis::Visits);
    assert_eq!(load(terminal("signals"), &columns, Basis::Visits), [0.0]);
    assert_eq!(load(terminal("u_fresh_signal"), &columns, Basis::Visits), without);
    columns.signals.push(3);
    assert_eq!(load(terminal("u_fresh_signal"), &columns, Basis::Visits), without);
    (columns.signal_precision, columns.signal_recall) = (vec![0.0], vec![0.0]);
    assert_eq!(load(terminal("u_fresh_signal"), &columns, Basis::Visits), without);
    (columns.signal_precision, columns.signal_recall) = (vec![0.6], vec![0.8]);
    assert_eq!(load(terminal("signals"), &columns, Basis::Visits), [3.0]);
    let rate = 1.5 / (0.5 / 0.25 + 3.0);
    let stale = 1.0 - (-0.2 * rate * 3.0f64).exp() * 0.4f64.powi(3);
    assert!((load(terminal("p_signal"), &columns, Basis::Visits)[0] - stale).abs() < 1e-12);
    assert!(load(terminal("u_fresh_signal"), &columns, Basis::Visits)[0] > without[0]);
}

/// With a section weight of 0, the models with and without sections have the same digits.
#[test]
fn sections_of_no_weight_change_no_digit() {
    let mut history = History::first_fetch(Cycle(191));
    history.record(Cycle(197), true);
    let mut columns = testing::block_of(&history, SiteRates { global: 0.1, site: 0.25 });
    columns.section_rate = vec![0.01];
    columns.next_change = [0.3, -0.2, 0.1, 0.4, -0.5, 0.2, 0.1, 0.7, 0.0];
    for name in ["p_next", "u_fresh_next", "u_harm_next"] {
        let of = |name: &str, columns| load(Terminal::named(name).unwrap(), columns, Basis::Visits);
        let (plain, with) = (of(name, &columns), of(&format!("{name}_section"), &columns));
        assert_eq!(plain[0].to_bits(), with[0].to_bits(), "{name}");
        let mut weighed = columns.clone();
        weighed.next_change[8] = 0.5;
        assert_eq!(of(name, &weighed), plain, "{name} reads no section");
        assert_ne!(of(&format!("{name}_section"), &weighed), plain, "{name}");
    }
}

fn load(terminal: &Terminal, columns: &StateColumns, basis: Basis) -> Vec<f64> {
    let mut out = vec![f64::NAN; columns.len()];
    (terminal.load)(
        &Tile { columns, rows: 0..columns.len(), cycle: NOW, basis, model: Default::default() },
        &mut out,
    );
    out
}

proptest! {
    /// Every terminal equals its definition, is finite, and is never −0, which the simplifier
    /// relies on.
    #[test]
    fn terminals_are_their_definitions(columns in testing::blocks(20), basis in testing::bases()) {
        for terminal in ALL {
            let values = load(terminal, &columns, basis);
            for (i, value) in values.into_iter().enumerate() {
                let negative_zero = value == 0.0 && value.is_sign_negative();
                prop_assert!(value.is_finite() && !negative_zero, "{}: {}", terminal.name, value);
                if let Some(h) = columns.history(i) {
                    let expr = Expr::Terminal(terminal);
                    let beside = testing::beside(&columns, i);
                    let naive = testing::naive(&expr, Protection::default(), basis, &h, beside, NOW);
                    prop_assert!(testing::same(value, naive), "{}: {} for {}", terminal.name, value, naive);
                }
            }
        }
    }
}
