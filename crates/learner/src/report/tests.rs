use super::*;
use crate::learn::tests::{learned, options};
use crate::testing::data;

#[test]
fn a_report_has_every_section_and_every_policy() {
    let mut options = options("recrawl");
    options.fitness = "freshness".parse().unwrap();
    let learned = learned(&data(60, 30, 6), &options, 2);
    let report = Report::new(&learned, &options);
    let text = report.markdown();
    for heading in [
        "# learned",
        "## Folds",
        "## Selection methods",
        "## Comparison with known policies",
        "## All figures",
        "## Fitness against size",
        "## Runs",
    ] {
        assert!(text.contains(&format!("{heading}\n")), "{heading}");
    }
    for policy in recrawl_simulation::policy::ALL {
        assert!(text.contains(&format!("| {}", policy.name)), "{}", policy.name);
    }
    assert!(text.contains(&format!("    {}", learned.formula.expr)));
    assert!(text.contains("digest `xxh3:0`") && text.contains("warm-up 2, share 0.2, ties by hash"));
    assert!(!text.contains("NaN"), "{text}");
    // Every row of a table has as many cells as its heading.
    let mut columns = None;
    for line in text.lines() {
        let cells = line.starts_with('|').then(|| line.matches('|').count());
        assert!(columns.is_none() || cells.is_none() || columns == cells, "{line}");
        columns = cells;
    }
    let svg = report.svg();
    assert!(svg.contains("freshness") && svg.contains("change_rate") && svg.contains("oracle"));
}

#[test]
fn what_is_the_same_is_called_so_and_what_is_clearly_better_too() {
    let options = options("program");
    let learned = learned(&data(90, 60, 9), &options, 2);
    let report = Report::new(&learned, &options);
    let of = |name: &str| report.policy_results.iter().find(|s| s.name == name).unwrap();
    let chosen = report.chosen();
    assert_eq!((chosen.difference, chosen.verdict().name()), (0.0, "same"));
    let rand = of("rand");
    assert_eq!(rand.verdict().name(), "better", "{} {:?}", rand.difference, rand.over_cycles);
    assert!(of("oracle").difference < 0.0, "{}", of("oracle").fitness);
    let mean_of_folds = mean(&chosen.folds);
    assert!((mean_of_folds - chosen.fitness).abs() < 1e-12);
    assert!((chosen.fitness - rand.fitness - rand.difference).abs() < 1e-12);
    assert_eq!(report.best_known().unwrap().role, ReplayRole::Baseline);
}

#[test]
fn the_sites_of_all_folds_together_have_what_their_cycles_have() {
    let mut options = options("program");
    options.fitness = "harmonic".parse().unwrap();
    let learned = learned(&data(60, 30, 6), &options, 2);
    let report = Report::new(&learned, &options);
    for result in &report.policy_results {
        let trace = &result.trace;
        let mut sites = recrawl_simulation::SiteFigures::default();
        trace.sites.iter().for_each(|site| sites.add(site));
        let cycles =
            |of: fn(&recrawl_simulation::CycleFigures) -> u64| trace.cycles.iter().map(of).sum::<u64>();
        assert_eq!(
            [sites.pages, sites.visited, sites.changed, sites.stale, sites.age],
            [
                cycles(|c| c.pages),
                cycles(|c| c.visited),
                cycles(|c| c.changed),
                cycles(|c| c.stale),
                cycles(|c| c.age)
            ],
            "{}",
            result.name
        );
        let harmonic = trace.cycles.iter().map(|c| c.harmonic).sum::<f64>();
        assert!((sites.harmonic - harmonic).abs() < 1e-6 && harmonic > 0.0, "{}", result.name);
    }
    assert!(report.policy_results.iter().any(|s| s.over_sites.is_some_and(|sites| sites.p < 1.0)));
}
