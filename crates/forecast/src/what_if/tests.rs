use super::*;
use crate::rehearsal;
use recrawl_generator::{Recipe, generate};

#[test]
fn forecasts_are_near_what_other_budgets_really_bring() {
    let recipe = Recipe {
        pages: 2000,
        sites: 40,
        cycles: 80,
        returns: 0.0,
        burst: 0.0,
        quiet: 0.0,
        ..Recipe::default()
    };
    let data = generate(&recipe).unwrap().fixed_part();
    let formula = Formula::from_expression("u_fresh_site").unwrap();
    let rules = |share| Rules { budget: Budget::Share(share), ..Rules::default() };
    let of =
        |share| rehearsal::crawl(&data, &rules(share), &mut ReplayFormula::new(&formula), 30, 1).unwrap();
    let (histories, trace) = of(0.08);
    let completions = Completions::new(&histories);
    let replays = BudgetReplays::run(&completions, &formula, histories.visits_a_page(), &BUDGETS);
    let measured = Interval { value: freshness(&trace), variance: 0.005f64.powi(2), sample: 1000 };
    for forecast in replays.forecasts(measured) {
        let truth = freshness(&of(0.08 * forecast.budget).1);
        println!("{forecast:?}, really {truth:.4}");
        assert!((forecast.share - truth).abs() < 0.02, "{forecast:?}, really {truth}");
        assert!(forecast.interval[0] < forecast.share && forecast.share < forecast.interval[1]);
    }
    let plain = Formula::from_expression("t").unwrap();
    let saved =
        savings(&replays, &BudgetReplays::run(&completions, &plain, histories.visits_a_page(), &BUDGETS));
    let fresh_of_plain = |budget: f64| {
        let rules = rules(0.08 * budget);
        freshness(&rehearsal::crawl(&data, &rules, &mut ReplayFormula::new(&plain), 30, 1).unwrap().1)
    };
    let budget = saved.budget.unwrap();
    println!("{saved:?}: {:.4} fresh, ours {:.4}", fresh_of_plain(budget), freshness(&trace));
    assert!((fresh_of_plain(budget) - freshness(&trace)).abs() < 0.01, "{saved:?}");
    assert!(budget > 1.0 && saved.interval[0].unwrap() <= budget);
}
