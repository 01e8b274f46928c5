use super::*;
use crate::testing::{self, NOW};
use proptest::prelude::*;
use recrawl_types::{Cycle, History, Known, StateColumns};

fn rate_of(name: &str, basis: Basis, history: &History, cycle: Cycle) -> f64 {
    let mut columns = StateColumns::default();
    columns.push(Known::default(), Some(history));
    let estimator = ALL.iter().find(|e| e.name == name).unwrap();
    let mut out = [f64::NAN];
    (estimator.load)(
        &Tile { columns: &columns, rows: 0..1, cycle, basis, model: Default::default() },
        &mut out,
    );
    out[0]
}

#[test]
fn every_estimator_of_the_folder_is_in_the_list() {
    let listed: Vec<String> = ALL.iter().map(|e| e.name.to_owned()).collect();
    testing::assert_lists_folder(&listed, "src/estimator", "rs");
}

#[test]
fn powers_of_a_half_are_exact_down_to_the_smallest_number() {
    for k in (0..1100).chain([u32::MAX]) {
        assert_eq!(half_to_the(k), 0.5f64.powf(f64::from(k)), "2^-{k}");
    }
}

/// First fetch in cycle 3 (the program's 1), visits in cycles 4 (changed), 6 (unchanged) and 7
/// (changed), estimated for cycle 8: s = 5, program cycles of the changes 2 and 5.
fn example() -> (History, Cycle) {
    let mut history = History::first_fetch(Cycle(3));
    history.record(Cycle(4), true);
    history.record(Cycle(6), false);
    history.record(Cycle(7), true);
    (history, Cycle(8))
}

#[test]
fn rates_by_visits_are_those_of_the_papers() {
    let (h, now) = example();
    for (name, expected) in [
        ("nad", 2.0 / 3.0),
        ("sad", 1.0),
        ("aad", (1.0 + 3.0) / 6.0),
        ("gad", (1.0 + 4.0) / 7.0),
        ("cg", -(1.5f64 / 3.5).ln()),
    ] {
        assert_eq!(rate_of(name, Basis::Visits, &h, now), expected, "{name}");
    }
}

#[test]
fn rates_by_cycles_are_those_of_the_authors_program() {
    let (h, now) = example();
    for (name, expected) in [
        ("nad", 2.0 / 5.0),
        ("sad", 1.0),
        ("aad", (2.0 + 5.0) / 15.0),
        ("gad", (2.0 + 16.0) / 31.0),
        ("cg", -(1.5f64 / 3.5).ln()),
    ] {
        let rate = rate_of(name, Basis::Cycles, &h, now);
        assert!((rate - expected).abs() < 1e-15, "{name}: {rate} for {expected}");
    }
    assert_eq!(rate_of("sad", Basis::Cycles, &h, Cycle(9)), 0.0, "the change of cycle 7 is too old in 9");
    assert_eq!(rate_of("sad", Basis::Visits, &h, Cycle(9)), 1.0);
}

#[test]
fn nothing_compared_is_no_rate() {
    for estimator in ALL {
        for basis in Basis::ALL {
            for (first, now) in [(1, 1), (1, 2), (0, 1)] {
                let h = History::first_fetch(Cycle(first));
                let rate = rate_of(estimator.name, basis, &h, Cycle(now));
                assert_eq!(rate.to_bits(), 0, "{} by {basis}, first {first}, now {now}", estimator.name);
            }
        }
    }
}

proptest! {
    /// Weights that sum to 1 give a rate between 0 and 1, in either basis.
    #[test]
    fn weighted_rates_are_shares(h in testing::histories(), basis in testing::bases()) {
        for name in ["nad", "sad", "aad", "gad"] {
            let rate = rate_of(name, basis, &h, NOW);
            prop_assert!((0.0..=1.0).contains(&rate), "{} by {}: {}", name, basis, rate);
            prop_assert!(rate > 0.0 || h.changes == 0 || name == "sad");
        }
        prop_assert!(rate_of("cg", basis, &h, NOW) >= 0.0);
    }

    /// For long histories the literal sums exceed the range of f64; the rates do not.
    #[test]
    fn rates_stay_finite_in_long_histories(gap in 1u32..1_000_000, changed in any::<bool>()) {
        let mut h = History::first_fetch(Cycle(1));
        for _ in 0..2000 {
            h.record(Cycle(h.last.0 + gap), changed);
        }
        for estimator in ALL {
            for basis in Basis::ALL {
                let rate = rate_of(estimator.name, basis, &h, h.last.next());
                prop_assert!(rate.is_finite() && rate >= 0.0, "{} by {}: {}", estimator.name, basis, rate);
            }
        }
    }
}
