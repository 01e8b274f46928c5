//! The replays, several at a time. Each is the same whatever the others do.

use super::Entry;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use recrawl_formula::Basis;
use recrawl_simulation::{Bootstrap, Dataset, Rules, Trace, replay};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// More at a time would only take memory: a replay of half a million pages has some 100 MB.
const MOST_AT_A_TIME: usize = 8;

/// Replays each entry, in the order of the entries.
///
/// # Panics
/// When the history cannot be replayed under the rules, which the caller has checked.
pub fn run(data: &Dataset, rules: &Rules, entries: &[Entry], basis: Basis) -> Vec<Trace> {
    let progress = progress(entries.len());
    let next = AtomicUsize::new(0);
    let done: Vec<Mutex<Option<Trace>>> = entries.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(entry) = entries.get(place) else { break };
            let mut policy = entry.policy(data, basis);
            let mut trace = replay::run(data, rules, &mut *policy).expect("the rules were checked");
            trace.sites = Bootstrap::lots(trace.sites);
            *done[place].lock().unwrap_or_else(PoisonError::into_inner) = Some(trace);
            progress.inc(1);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_AT_A_TIME);
    std::thread::scope(|scope| {
        (1..threads.min(entries.len())).for_each(|_| {
            scope.spawn(work);
        });
        work();
    });
    progress.finish_and_clear();
    let trace = |slot: Mutex<Option<Trace>>| slot.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.into_iter().map(|slot| trace(slot).expect("every entry was replayed")).collect()
}

/// A line on standard error, where that is a terminal.
fn progress(entries: usize) -> ProgressBar {
    let target = if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr_with_hz(4)
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(Some(entries as u64), target);
    let style = ProgressStyle::with_template("{bar:24} {pos}/{len} policies  {elapsed}  {eta} left");
    bar.set_style(style.expect("the template is sound"));
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}
