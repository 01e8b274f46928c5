//! The results of a simulation as JSON, and its heading.

use crate::ContestEntry;
use crate::args::{Estimators, PageSet, SimulateArgs};
use recrawl_crawl::labels::{counted, thousands};
use recrawl_scheduler::Ties;
use recrawl_simulation::compare::{CHANGES_NEEDED, Comparison, ReplayRole};
use recrawl_simulation::{Dataset, Rules, Trace};
use serde_json::{Map, Value, json};

/// Page budget of the last cycle.
fn k(data: &Dataset, rules: &Rules) -> u64 {
    let last = data.truth.cycles();
    rules.budget.visits(data.pages.iter().filter(|page| page.last >= last).count() as u64)
}

/// One line with data and rules.
pub fn heading(data: &Dataset, rules: &Rules, args: &SimulateArgs) -> String {
    let pages = match args.set {
        PageSet::Fixed => "pages present in every cycle",
        PageSet::All => "pages, each while present",
    };
    let sites = rules.per_site.map(|limit| format!(", at most {limit} per site")).unwrap_or_default();
    let rounds = match rules.rounds.count() {
        1 => String::new(),
        rounds => format!(" in {rounds} rounds"),
    };
    format!(
        "{}: {} {pages}; cycles 0 to {}, warm-up {}; {} visits per cycle{rounds}{sites}",
        data.name,
        thousands(data.pages.len() as u64),
        data.truth.cycles(),
        rules.warmup,
        thousands(k(data, rules)),
    )
}

/// How many changes the policies could find; with too few, why figures are left out.
pub fn changes_text(changes: u64) -> String {
    let all = format!("{} after the warm-up", counted(changes, "change"));
    match changes >= CHANGES_NEEDED {
        true => all,
        false => format!(
            "{all}, too few to compare policies: with fewer than {CHANGES_NEEDED}, twice as many found changes can be chance. \
             Figures that rest on changes are left out (—)"
        ),
    }
}

/// The document of `--json`, with the figures of each cycle.
pub fn json(
    data: &Dataset,
    rules: &Rules,
    args: &SimulateArgs,
    entries: &[ContestEntry],
    traces: &[Trace],
    comparison: &Comparison,
    changes: u64,
) -> Value {
    let policies = entries.iter().zip(traces).enumerate();
    let policies: Vec<Value> = policies
        .map(|(place, (entry, trace))| policy(data, args, entry, trace, comparison, place, entries))
        .collect();
    json!({
        "data": data.name,
        "pages": data.pages.len(),
        "sites": data.sites.len(),
        "cycles": data.truth.cycles(),
        "k": k(data, rules),
        "changes": {"after_warmup": changes, "needed": CHANGES_NEEDED, "enough": changes >= CHANGES_NEEDED},
        "warmup": rules.warmup,
        "ties": match rules.ties { Ties::Index => "index", Ties::Hash => "hash" },
        "estimators": match args.estimators { Estimators::Visits => "visits", Estimators::Cycles => "cycles" },
        "set": match args.set { PageSet::Fixed => "fixed", PageSet::All => "all" },
        "per_site": rules.per_site,
        "rounds": (0..rules.rounds.count()).map(|round| rules.rounds.up_to(round)).collect::<Vec<_>>(),
        "random_seed": rules.seed,
        "policies": policies,
    })
}

fn policy(
    data: &Dataset,
    args: &SimulateArgs,
    entry: &ContestEntry,
    trace: &Trace,
    comparison: &Comparison,
    place: usize,
    entries: &[ContestEntry],
) -> Value {
    let kind = match entry.role() {
        ReplayRole::Baseline => "policy",
        ReplayRole::Candidate => "formula",
        ReplayRole::Bound => "bound",
    };
    let mut object = Map::new();
    object.insert("name".into(), entry.name().into());
    object.insert("kind".into(), kind.into());
    object.insert("expression".into(), entry.policy(data, args.estimators.into()).expression().into());
    let (mut intervals, mut against, mut per_cycle) = (Map::new(), Map::new(), Map::new());
    for (at, metric) in comparison.metrics.iter().enumerate() {
        let cell = &comparison.cells[place][at];
        // JSON has no infinity: such a value becomes null, and whole cycles stay whole numbers.
        let counts_cycles = metric.name == "longest_neglect" || metric.name.starts_with("delay");
        let value = if counts_cycles && cell.value.is_finite() {
            json!(cell.value as u64)
        } else {
            json!(cell.value)
        };
        object.insert(metric.name.into(), value);
        if let Some(interval) = cell.interval {
            intervals.insert(metric.name.into(), json!(interval));
        }
        against.insert(
            metric.name.into(),
            json!({
                "best": (!cell.value.is_nan()).then(|| entries[comparison.best[at]].name()),
                "difference": cell.over_cycles.map(|mean| mean.mean),
                "error": cell.over_cycles.map(|mean| mean.error),
                "effective_cycles": cell.over_cycles.map(|mean| mean.effective),
                "p_cycles": cell.over_cycles.map(|mean| mean.p),
                "p_sites": cell.over_sites.map(|sites| sites.p),
                "verdict": cell.verdict,
            }),
        );
        if let Some(of_cycle) = metric.of_cycle() {
            let values: Vec<f64> = trace.cycles.iter().map(of_cycle).collect();
            per_cycle.insert(metric.name.into(), json!(values));
        }
    }
    let counts = |count: fn(&recrawl_simulation::CycleFigures) -> u64| {
        trace.cycles.iter().map(count).collect::<Vec<_>>()
    };
    per_cycle.insert("visited".into(), json!(counts(|cycle| cycle.visited)));
    per_cycle.insert("first_visits".into(), json!(counts(|cycle| cycle.first_visits)));
    per_cycle.insert("warmup_visits".into(), json!(counts(|cycle| cycle.warmup_visits)));
    object.insert("intervals".into(), intervals.into());
    object.insert("against_best".into(), against.into());
    object.insert("per_cycle".into(), per_cycle.into());
    object.into()
}
