use super::*;
use crate::testing::{self, NOW};
use crate::{Formula, parse};
use proptest::prelude::*;
use recrawl_types::{History, Known, NEXT_CHANGE_WEIGHTS};

fn compile(text: &str) -> Program {
    Program::compile(&parse(text).unwrap(), Protection::default(), Basis::default())
}

#[test]
fn the_cost_is_the_number_of_distinct_parts() {
    for (text, cost, registers) in [
        ("t * (X + 0.1) / (n + 1)", 7, 3),
        ("t", 1, 1),
        ("log(2) + 3", 0, 0),
        ("t * t + t * t", 3, 2),
        ("(n + X) * t - log(n + X) / t", 8, 4),
        ("t + 0 + (t + -0)", 4, 3), // 0 and −0 are two constants
        ("exp(-(2 - t))", 4, 2),
    ] {
        let program = compile(text);
        assert_eq!((program.cost(), program.registers), (cost, registers), "{text}");
    }
}

#[test]
fn an_empty_block_has_no_scores() {
    let mut out = vec![1.0];
    Formula::from_expression("t").unwrap().compile().evaluate(&StateColumns::default(), NOW, &mut out);
    assert!(out.is_empty());
}

#[test]
fn pages_never_visited_have_no_score_even_under_a_constant() {
    let mut columns = StateColumns::default();
    for i in 0..3 * Tile::MAX_ROWS {
        // A tile without a visited page, between two mixed ones.
        let visited = i % 2 == 0 && i / Tile::MAX_ROWS != 1;
        columns.push(Known::default(), visited.then(|| History::first_fetch(Cycle(1))).as_ref());
    }
    let mut out = Vec::new();
    Formula::from_expression("7").unwrap().compile().evaluate(&columns, NOW, &mut out);
    for (score, &visited) in out.iter().zip(&columns.visited) {
        assert!(if visited { *score == 7.0 } else { score.is_nan() });
    }
}

#[test]
#[should_panic(expected = "the formula reads site_rate, which the caller fills in: 0 rows of 1")]
fn a_formula_of_site_rates_is_not_evaluated_without_them() {
    let mut columns = StateColumns::default();
    columns.push(Known::default(), Some(&History::first_fetch(Cycle(1))));
    Formula::from_expression("p_eb_site").unwrap().compile().evaluate(&columns, NOW, &mut Vec::new());
}

#[test]
#[should_panic(expected = "have [0, 1, 0] rows, the block 2")]
fn a_column_of_signals_has_all_rows_or_none() {
    let mut columns = StateColumns { site_rate: vec![0.1; 2], ..StateColumns::default() };
    (0..2).for_each(|_| columns.push(Known::default(), Some(&History::first_fetch(Cycle(1)))));
    columns.signal_precision.push(0.5);
    Formula::from_expression("u_fresh_signal").unwrap().compile().evaluate(&columns, NOW, &mut Vec::new());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// A program gives, bit for bit, the same as evaluating the tree page by page.
    #[test]
    fn programs_equal_the_naive_evaluator(
        expr in testing::expressions(),
        protection in testing::protections(),
        basis in testing::bases(),
        columns in testing::blocks(8),
    ) {
        let mut out = Vec::new();
        Program::compile(&expr, protection, basis).evaluate(&columns, NOW, &mut out);
        prop_assert_eq!(out.len(), columns.len());
        for (i, &score) in out.iter().enumerate() {
            match columns.history(i) {
                None => prop_assert!(score.is_nan()),
                Some(h) => {
                    let beside = testing::beside(&columns, i);
                    let naive = testing::naive(&expr, protection, basis, &h, beside, NOW);
                    prop_assert!(testing::same(score, naive), "{}: {} for {}", expr, score, naive);
                }
            }
        }
    }

    /// A program reads only the fields of a history that it declares.
    #[test]
    fn what_a_program_does_not_read_makes_no_difference(
        expr in testing::expressions(),
        protection in testing::protections(),
        basis in testing::bases(),
        columns in testing::blocks(8),
    ) {
        let program = Program::compile(&expr, protection, basis);
        let mut projected = columns.clone();
        for i in 0..columns.len() {
            if let Some(history) = columns.history(i) {
                projected.set_history(i, &program.reads().project(&history));
            }
        }
        if !program.reads().contains(Reads::SITE_RATE) {
            projected.site_rate.fill(f64::NAN);
        }
        if !program.reads().contains(Reads::GLOBAL_RATE) {
            projected.global_rate = f64::NAN;
        }
        if !program.reads().needs_siblings() {
            projected.sibling_rate.fill(f64::NAN);
            projected.burst.fill(f64::NAN);
        }
        if !program.reads().needs_sections() {
            projected.section_rate.fill(f64::NAN);
        }
        if !program.reads().contains(Reads::NEXT_CHANGE) {
            projected.next_change = [f64::NAN; NEXT_CHANGE_WEIGHTS];
        }
        if !program.reads().needs_signals() {
            projected.signals.fill(77);
            projected.signal_precision.fill(f64::NAN);
            projected.signal_recall.fill(f64::NAN);
        }
        let (mut whole, mut part) = (Vec::new(), Vec::new());
        program.evaluate(&columns, NOW, &mut whole);
        program.evaluate(&projected, NOW, &mut part);
        for (a, b) in whole.iter().zip(&part) {
            prop_assert!(testing::same(*a, *b), "{}: {} for {}", expr, b, a);
        }
    }

    /// Tile boundaries do not matter: scores depend only on the row.
    #[test]
    fn tiles_do_not_show(history in testing::histories(), length in 1usize..1200, at in 0usize..1200) {
        let (history, at) = (history, at % length);
        let mut columns = StateColumns::default();
        for i in 0..length {
            let other = History::first_fetch(Cycle((i % 7) as u32));
            columns.push(Known::default(), Some(if i == at { &history } else { &other }));
        }
        let program = Formula::from_expression("gad * t + log(n + X)").unwrap().compile();
        let (mut alone, mut together) = (Vec::new(), Vec::new());
        program.evaluate(&columns, NOW, &mut together);
        let mut one = StateColumns::default();
        one.push(Known::default(), Some(&history));
        program.evaluate(&one, NOW, &mut alone);
        prop_assert!(testing::same(alone[0], together[at]));
    }
}
