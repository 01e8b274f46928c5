//! The command `simulate` of both programs: policies and formulas replayed over one history, and compared.
//!
//! [`simulate()`] is the command. [`Contestants`] say which policies there are: `recrawl` has those of a crawl, `recrawl-lab`
//! their rivals too. This crate knows no rival, and nothing of data that are not recorded.

mod args;
mod contestants;
mod curves;
mod entry;
mod importance;
mod replays;
mod report;
mod rules;

pub use crate::args::{Estimators, PageSet, SimulateArgs};
pub use crate::contestants::Contestants;
pub use crate::entry::ContestEntry;
pub use crate::rules::ReplayArgs;

use recrawl_crawl::failure::Failure;
use recrawl_formula::Basis;
use recrawl_simulation::compare::{CHANGES_NEEDED, Comparison};
use recrawl_simulation::{Dataset, DatasetError, ReplayMetric, Rules, RulesError, metric, table};
use recrawl_terminal::{colour, print, print_json};

/// Replays the policies and formulas of the arguments, and prints how they compare.
///
/// # Errors
/// When an argument is wrong, or the data set cannot be read or replayed.
pub fn simulate(args: &SimulateArgs, contestants: &dyn Contestants) -> Result<(), Failure> {
    let basis = Basis::from(args.estimators);
    let entries = entry::all(&contestants.policies(), &args.policies, &args.formulas, basis)?;
    let rules = Rules {
        seed: args.random_seed,
        per_site: args.per_site,
        rounds: args.rounds.clone(),
        ..args.replay.rules()
    };
    // Before a replay that may take hours, not behind it.
    let folder = args.plot.as_ref().and_then(|plot| plot.parent());
    if let Some(folder) = folder.filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) {
        return Err(Failure::Usage(format!("--plot: {}: no such folder", folder.display())));
    }
    let data = read(args, contestants, &entries)?;
    rules.check(data.pages.len(), data.truth.cycles()).map_err(|error| match error {
        RulesError::NoPages => Failure::Work(format!("{}: {error}", args.data.display())),
        _ => Failure::Usage(error.to_string()),
    })?;
    contestants.check_budget(rules.budget.visits(data.pages.len() as u64))?;

    let judge = contestants.judge(&data, rules.seed)?;
    let traces = replays::run(&data, &rules, &entries, basis, contestants, judge.as_deref())?;
    let of_entries: Vec<_> =
        traces.iter().zip(&entries).map(|(trace, entry)| (trace, entry.role())).collect();
    let changes = data.changes_after_warmup(&rules);
    // With too few changes, differences between policies are chance: only the figures are given.
    let by_importance = metric::BY_IMPORTANCE.iter().filter(|_| args.replay.importance.is_some());
    let further: Vec<&'static ReplayMetric> =
        by_importance.chain(contestants.metrics().iter().copied()).collect();
    let comparison = match Comparison::with(&of_entries, &further, rules.seed) {
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

/// The error of a data set as one of a command.
pub fn failure_of_data(error: DatasetError) -> Failure {
    if error.is_usage() { Failure::usage(error) } else { Failure::work(error) }
}

fn read(
    args: &SimulateArgs,
    contestants: &dyn Contestants,
    entries: &[ContestEntry],
) -> Result<Dataset, Failure> {
    let mut data = recrawl_simulation::open(&args.data, args.format.as_deref()).map_err(failure_of_data)?;
    contestants.read(entries, &mut data, args)?;
    chosen_pages(data, args)
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
