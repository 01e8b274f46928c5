//! Runs the replays in parallel. They do not influence each other.

use crate::{ContestEntry, Contestants};
use rayon::prelude::*;
use recrawl_crawl::failure::Failure;
use recrawl_formula::Basis;
use recrawl_simulation::judge::ContentJudge;
use recrawl_simulation::{Bootstrap, Dataset, Rules, Trace, replay};
use recrawl_terminal::progress_bar;

/// Parallel replays. More would need too much memory: about 100 MB for half a million pages each.
const MOST_AT_A_TIME: usize = 8;

/// Replays each entry, in the order of the entries.
///
/// # Errors
/// When threads cannot be started.
///
/// # Panics
/// When the history cannot be replayed under the rules, or lacks contents that an entry reads. The caller must check
/// this.
pub fn run(
    data: &Dataset,
    rules: &Rules,
    entries: &[ContestEntry],
    basis: Basis,
    contestants: &dyn Contestants,
    judge: Option<&dyn ContentJudge>,
) -> Result<Vec<Trace>, Failure> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_AT_A_TIME);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(Failure::work)?;
    let progress = progress_bar::line(
        Some(entries.len() as u64),
        "{bar:24} {pos}/{len} policies  {elapsed}  {eta} left",
    );
    let one = |entry: &ContestEntry| {
        let mut policy = contestants.policy(entry, data, basis);
        let mut trace = replay::run_judged(data, rules, &mut *policy, judge).expect("the rules were checked");
        trace.sites = Bootstrap::groups(trace.sites);
        progress.inc(1);
        trace
    };
    let traces = pool.install(|| entries.par_iter().with_max_len(1).map(one).collect());
    progress.finish_and_clear();
    Ok(traces)
}
