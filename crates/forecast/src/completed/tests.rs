use super::*;
use crate::rehearsal;
use recrawl_generator::{Recipe, generate};
use recrawl_simulation::policy::formula::ReplayFormula;
use recrawl_simulation::{Budget, Rules};

fn web() -> Dataset {
    let recipe = Recipe {
        pages: 1500,
        sites: 40,
        cycles: 60,
        returns: 0.0,
        burst: 0.0,
        quiet: 0.0,
        ..Recipe::default()
    };
    generate(&recipe).unwrap().fixed_part()
}

fn crawled(data: &Dataset) -> Histories {
    let formula = recrawl_formula::Formula::from_expression("p_eb_site").unwrap();
    let rules = Rules { budget: Budget::Share(0.1), ..Rules::default() };
    rehearsal::crawl(data, &rules, &mut ReplayFormula::new(&formula), 20, 1).unwrap().0
}

#[test]
fn a_completion_agrees_with_every_visit() {
    let data = web();
    let histories = crawled(&data);
    let completions = Completions::new(&histories);
    let drawn = completions.draw(7);
    assert_eq!(drawn, completions.draw(7));
    assert_ne!(drawn.truth, completions.draw(8).truth);
    let mut compared = 0;
    for (number, page) in histories.pages.iter().enumerate() {
        let mut last = page.before.last;
        for &(cycle, changed) in &page.visits {
            assert_eq!(drawn.truth.differs(number, last.0, cycle.0), changed, "{}: {cycle}", page.url);
            last = cycle;
            compared += 1;
        }
    }
    assert!(compared > 3000, "{compared}");
}

#[test]
fn completions_have_as_many_changes_as_there_were() {
    let data = web();
    let histories = crawled(&data);
    let completions = Completions::new(&histories);
    let since = |data: &Dataset| (20..=60).map(|cycle| data.truth.changed_in(cycle).len()).sum::<usize>();
    let (truth, drawn) = (since(&data), since(&completions.draw(1)));
    let ratio = drawn as f64 / truth as f64;
    assert!((ratio - 1.0).abs() < 0.15, "{drawn} drawn, {truth} really");
}
