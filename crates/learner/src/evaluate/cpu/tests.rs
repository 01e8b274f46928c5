use super::*;
use crate::testing::{self, data, folders};
use proptest::prelude::*;
use recrawl_formula::parse;
use recrawl_formula::terminal::TerminalSet;
use recrawl_simulation::rules::{Budget, Parts};
use recrawl_types::Importance;

fn meaning(metric: usize) -> Meaning {
    Meaning {
        protection: Protection::Program,
        basis: Basis::Visits,
        fitness: format!("{} + 0.25*freshness", Fitness::metrics().nth(metric).unwrap().name)
            .parse()
            .unwrap(),
    }
}

fn pool(threads: usize) -> ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

/// What `recrawl simulate --formula` replays.
fn simulated(data: &Dataset, rules: &Rules, meaning: &Meaning, expr: &Expr) -> Vec<f64> {
    let Meaning { protection, basis, fitness } = meaning;
    let formula = Formula { protection: *protection, basis: *basis, ..Formula::new(expr.clone()) };
    fitness.of_cycles(&replay::run(data, rules, &mut ReplayFormula::new(&formula)).unwrap().cycles)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// One test suite for all evaluators: identical digits for any trees.
    #[test]
    fn all_evaluators_agree_to_the_last_digit(
        trees in prop::collection::vec(testing::trees(5), 1..12), metric in 0..Fitness::metrics().count(), threads in 1usize..4,
    ) {
        let (mut data, rules) = (data(50, 25, 5), Rules { budget: Budget::Share(0.1), ..Rules::default() });
        data.weigh(|name| Importance::new(if name.ends_with('3') { 7.5 } else { 1.0 }).unwrap());
        let (meaning, pool) = (meaning(metric), pool(threads));
        let plain = PlainReplays::new(&data, &rules, &meaning, &pool).unwrap().evaluate(&trees);
        prop_assert!(plain.iter().all(|cycles| cycles.len() == 22));
        prop_assert!(plain.iter().flatten().all(|value| value.is_finite()));
        let fast = Fast::new(&data, &rules, &meaning, &pool).unwrap().evaluate(&trees);
        let replays = Replays::new(&data, &rules, &meaning, &pool, 3).unwrap();
        prop_assert_eq!(&plain, &replays.evaluate(&trees));
        if meaning.fitness.uses(&OF_PAGES) {
            prop_assert_eq!(replays.work().replays_by_page, trees.len() as u64);
        } else {
            prop_assert_eq!(&plain, &fast);
            prop_assert_eq!(replays.work().replays_by_page, 0);
        }
        let weighed = [parse("importance * p_eb").unwrap()];
        let plain = PlainReplays::new(&data, &rules, &meaning, &pool).unwrap().evaluate(&weighed);
        prop_assert_eq!(plain, replays.evaluate(&weighed));
    }

    /// Formulas of related pages have the figures of a simulation, with one round a cycle and with several.
    #[test]
    fn formulas_of_related_pages_have_the_figures_of_a_simulation(
        trees in prop::collection::vec(testing::trees_of(TerminalSet::Related, 5), 1..6), metric in 0..Fitness::metrics().count(),
        threads in 1usize..4, rounds in 1u32..4, seed in 0u64..1000,
    ) {
        let data = folders(6, 8, 25, seed);
        let rules = Rules { budget: Budget::Share(0.15), rounds: Parts::Equal(rounds), ..Rules::default() };
        let (meaning, pool) = (meaning(metric), pool(threads));
        let names = ["p_burst", "u_fresh_sib", "p_next * t", "u_harm_next", "p_eb"];
        let exprs: Vec<Expr> = names.iter().map(|text| parse(text).unwrap()).chain(trees).collect();
        let replays = Replays::new(&data, &rules, &meaning, &pool, 1).unwrap();
        let expected: Vec<Vec<f64>> = exprs.iter().map(|e| simulated(&data, &rules, &meaning, e)).collect();
        prop_assert_eq!(replays.evaluate(&exprs), expected);
        let by_page = replays.work().replays_by_page;
        prop_assert!(by_page >= 4 && (rounds > 1) == (by_page == exprs.len() as u64) || by_page == exprs.len() as u64);
    }
}

/// Without this, the test above could compare formulas that never see a sibling.
#[test]
fn siblings_and_the_model_matter_in_these_histories() {
    let (data, rules) = (folders(6, 8, 25, 1), Rules { budget: Budget::Share(0.15), ..Rules::default() });
    let (meaning, pool) = (meaning(0), pool(1));
    let exprs = ["p_eb", "p_burst", "p_next"].map(|text| parse(text).unwrap());
    let values = Replays::new(&data, &rules, &meaning, &pool, 1).unwrap().evaluate(&exprs);
    assert!(values[0] != values[1] && values[1] != values[2] && values[0] != values[2]);
}
