//! `recrawl simulate`: replays policies and formulas over a recorded history and compares them.

mod contents;
mod contest;
mod curves;
mod entry;
mod report;

use super::{dataset, print, print_json};
use crate::cli::{Estimators, PageSet, SimulateArgs};
use entry::Entry;
use recrawl_crawl::failure::Failure;
use recrawl_formula::Basis;
use recrawl_simulation::compare::{CHANGES_NEEDED, Comparison};
use recrawl_simulation::{Dataset, Rules, RulesError, table};
use recrawl_terminal::colour;

pub fn run(args: &SimulateArgs) -> Result<(), Failure> {
    let basis = Basis::from(args.estimators);
    let entries = entry::all(&args.policies, &args.formulas, basis)?;
    let metrics = contents::metrics(&args.metrics)?;
    let clusters = args.clusters.options();
    if let Some(option) = args.clusters.given().filter(|_| !entries.iter().any(Entry::has_clusters)) {
        return Err(Failure::Usage(format!("{option}: no policy here has clusters; add --policy cls_sad")));
    }
    let rules = Rules {
        seed: args.random_seed,
        per_site: args.per_site,
        rounds: args.rounds.clone(),
        ..args.replay.rules()
    };
    let folder = args.plot.as_ref().and_then(|plot| plot.parent());
    if let Some(folder) = folder.filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) {
        return Err(Failure::Usage(format!("--plot: {}: no such folder", folder.display())));
    }
    let mut data = recrawl_simulation::open(&args.data, args.format.as_deref()).map_err(dataset::failure)?;
    contents::read_if_needed(&mut data, &args.data, &entries, &metrics)?;
    let data = chosen_pages(data, args)?;
    rules.check(data.pages.len(), data.truth.cycles()).map_err(|error| match error {
        RulesError::NoPages => Failure::Work(format!("{}: {error}", args.data.display())),
        _ => Failure::Usage(error.to_string()),
    })?;
    let k = rules.budget.of(data.pages.len() as u64);
    if let Some(wanted) = clusters.clusters.filter(|wanted| *wanted as u64 > k) {
        return Err(Failure::Usage(format!(
            "--clusters {wanted}: a cycle has {k} visits, and each cluster needs one; use fewer clusters or a \
             greater --share"
        )));
    }

    let judge = contents::judge(&data, &metrics, rules.seed)?;
    let traces = contest::run(&data, &rules, &entries, basis, &clusters, judge.as_ref())?;
    let replays: Vec<_> = traces.iter().zip(&entries).map(|(trace, entry)| (trace, entry.role())).collect();
    let changes = data.changes_after_warmup(&rules);
    let comparison = match Comparison::with(&replays, &metrics, rules.seed) {
        compared if changes >= CHANGES_NEEDED => compared,
        compared => compared.without_changes(),
    };
    if let Some(path) = &args.plot {
        let svg = curves::svg(&data, &rules, &entries, &traces);
        std::fs::write(path, svg)
            .map_err(|e| Failure::Work(format!("cannot write {}: {e}", path.display())))?;
    }
    if args.json {
        return print_json(&report::json(&data, &rules, args, &entries, &traces, &comparison, changes));
    }
    let names: Vec<_> = entries.iter().map(|entry| (entry.name(), entry.role())).collect();
    print(format!(
        "{}\n{}\n\n{}\n\n{}",
        report::heading(&data, &rules, args),
        report::changes_text(changes),
        table::render(&names, &comparison, colour::width()),
        table::LEGEND
    ))
}

impl From<Estimators> for Basis {
    fn from(estimators: Estimators) -> Basis {
        match estimators {
            Estimators::Visits => Basis::Visits,
            Estimators::Cycles => Basis::Cycles,
        }
    }
}

/// The part of the history that is replayed.
fn chosen_pages(data: Dataset, args: &SimulateArgs) -> Result<Dataset, Failure> {
    let data = args.replay.cut(data)?;
    let fixed = match args.set {
        PageSet::All => return Ok(data),
        PageSet::Fixed => {
            args.replay.warn_of_few(&data);
            data.fixed_part()
        }
    };
    if fixed.pages.is_empty() && !data.pages.is_empty() {
        let text = format!(
            "{}: none of its {} pages is present in every cycle; use --set all, a later --first or an \
             earlier --last",
            args.data.display(),
            data.pages.len()
        );
        return Err(Failure::Work(text));
    }
    Ok(fixed)
}
