//! `recrawl changes`: lists changes, newest first.

use super::{last_commit, print, print_json, refused};
use crate::cli::{ChangesArgs, PastTime};
use crate::report::page_changes;
use recrawl_archive::timestamp;
use recrawl_console::view::{PageChange, PageChangeList, PageChangeQuery};
use recrawl_crawl::failure::Failure;

/// Maximum bytes of a difference.
const MAX_DIFFERENCE: usize = 64 << 10;

pub fn run(args: &ChangesArgs) -> Result<(), Failure> {
    let list = listed(args, MAX_DIFFERENCE)?;
    if args.on.json {
        return print_json(&list);
    }
    list.changes.iter().flat_map(lines).try_for_each(print)?;
    match (&list.next, list.since_cycle) {
        (Some(next), _) => eprintln!("older changes: --cursor {next:?}"),
        (None, None) => eprintln!("no visit is kept yet"),
        (None, Some(first)) if list.changes.is_empty() => {
            let date = list.since_time.map(|at| timestamp(at * 1000));
            let date = date.as_ref().and_then(|at| Some(format!("{}, ", at.get(..10)?))).unwrap_or_default();
            eprintln!("no change found; visits are kept since {date}cycle {first}");
        }
        (None, Some(_)) => {}
    }
    Ok(())
}

/// The changes, as of the last commit, with differences of so many bytes at most.
///
/// # Errors
/// When the query is invalid, no visits are kept, or they cannot be read.
pub fn listed(args: &ChangesArgs, max_difference: usize) -> Result<PageChangeList, Failure> {
    let (settings, repository) = last_commit(&args.on.at)?;
    let query = PageChangeQuery {
        pages: [&args.patterns[..], &args.pages].concat(),
        kinds: args.changes.clone(),
        since: args.since.map_or(0, PastTime::begin),
        cursor: args.cursor.clone(),
        limit: args.limit as usize,
        max_difference: if args.diff { max_difference } else { 0 },
    };
    page_changes::list(&settings, &repository.current(), repository.storage(), &query).map_err(refused)
}

/// A line, and the difference below it.
pub fn lines(change: &PageChange) -> Vec<String> {
    let PageChange { kind, url, time, title, reason, difference, no_text, is_cut, hint, .. } = change;
    let said = reason.as_ref().or(title.as_ref()).map_or_else(String::new, |said| format!("  {said}"));
    let notes = [no_text, hint].into_iter().flatten().map(|note| format!("({note})"));
    let cut = is_cut.then(|| "(cut)".to_owned());
    let below = difference.iter().flat_map(|difference| difference.lines()).map(str::to_owned);
    let below = below.chain(cut).chain(notes).map(|line| format!("    {line}"));
    [format!("{}  {kind:<9}  {url}{said}", timestamp(time * 1000))].into_iter().chain(below).collect()
}
