//! `recrawl takedown`: removes the data of pages and stops fetching them.

use super::{counted, print_json, print_labelled};
use crate::audit;
use crate::cli::TakedownArgs;
use crate::deliverer::local_index;
use crate::exclusive_access::ExclusiveAccess;
use crate::process;
use recrawl_console::view::{Accepted, Effect};
use recrawl_crawl::admission::pattern::Pattern;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_crawl::operator::takedown::{self, Covered, TakedownOrder, TakedownResult, TakedownSummary};
use recrawl_crawl::part::InTables;
use recrawl_crawl::settings::Settings;
use recrawl_crawl::vault;
use recrawl_repository::storage::FileStorage;
use recrawl_repository::{CopyHead, CopyReader, ReadError, copies};
use recrawl_types::UrlRules;
use serde_json::json;

/// Rules printed that keep pages from being requested.
const RULES: usize = 10;

pub fn run(args: &TakedownArgs) -> Result<(), Failure> {
    let settings = args.on.at.settings()?;
    let order =
        TakedownOrder { pattern: meant(args, &settings)?, keep_crawling: args.keep_crawling, end: args.end };
    let now = (recrawl_fetcher::system_clock())();
    let mut in_vault = Ok(());
    let done = match args.dry_run {
        true => takedown::dry_run(&settings, &order, now)?,
        false => {
            // A running daemon steps aside: it holds the directory, and would store visits that are to go.
            let _turn = ExclusiveAccess::alone(&settings.data_dir)?;
            let done = logged(&settings, &order, now)?;
            in_vault = shipped(&settings);
            done?
        }
    };
    let TakedownResult { removed, covered, in_progress, tables_unread } = &done;
    let mut stays = if args.end { Vec::new() } else { stays(&order.pattern, removed) };
    if !args.end && !args.dry_run {
        stays.extend(held_by_targets(&settings, &order.pattern)?);
        stays.extend(vault::out_of_reach(&settings)?);
    }
    if args.on.json {
        print_json(&json!({
            "meant": order.pattern, "dry_run": args.dry_run, "blocked": !args.dry_run && !args.keep_crawling && !args.end,
            "removed": removed, "stays": stays, "pages": covered.listed,
            "still_forbidden": covered.forbidden, "still_forbidden_of": covered.checked, "cycle_in_progress": in_progress,
            "tables_unread": tables_unread,
        }))?;
        // Last, since it fails if a damaged file could not be searched: all that was removed has been told.
        return whole(removed).and(in_vault);
    }
    let pattern = &order.pattern;
    match args.end {
        true => {
            let verb = if args.dry_run { "would end" } else { "ended" };
            print_labelled(format!(
                "{verb} the takedown of {pattern}: {}",
                counted(removed.pages, "known page")
            ))?;
        }
        false => print_removed(pattern, removed, args.dry_run)?,
    }
    if let Some(why) = tables_unread {
        print_labelled(format!("not counted: data of hosts and queued URLs: {why}"))?;
    }
    if args.dry_run {
        print_pages(covered)?;
    }
    let is_blocked = !args.keep_crawling && !args.end && !args.dry_run;
    match removed.pages {
        0 if is_blocked => {
            let end = takedown::ending(pattern);
            print_labelled(format!(
                "no page of it is known; if it is mistyped, end this takedown with {end}"
            ))?;
        }
        0 => print_labelled("no page of it is known; check how it is written")?,
        _ => {}
    }
    if args.keep_crawling || args.end {
        print_forbidden(covered)?;
    }
    if is_blocked {
        print_labelled("recrawl will not fetch any page of it again")?;
    }
    stays.iter().try_for_each(|what| print_labelled(format!("kept: {what}")))?;
    if let Some(cycle) = in_progress {
        print_labelled(format!(
            "in progress: {cycle}; finish it with `recrawl crawl --rounds 1` before the takedown"
        ))?;
    }
    whole(removed).and(in_vault)
}

/// Targets of `[[deliver]]` that have not confirmed yet that the pages are gone there. The index in the data directory
/// loses them here.
fn held_by_targets(settings: &Settings, pattern: &Pattern) -> Result<Vec<String>, Failure> {
    let storage = FileStorage::existing(&settings.data_dir)?;
    let mut held_by = Vec::new();
    // Also one that no target keeps any more.
    if let Err(e) = local_index::remove(&settings.data_dir, &|url| pattern.matches(url)) {
        held_by.push(format!("pages in the full-text index, perhaps ({e}); the next delivery deletes them"));
    }
    for name in copies(&storage)? {
        match held_by_target(&storage, &name, settings, pattern) {
            Ok(held) => held_by.extend(held),
            Err(e) => held_by.push(format!("documents at a target, perhaps: {e}")),
        }
    }
    Ok(held_by)
}

/// The documents that a target may hold of these pages, if any.
fn held_by_target(
    storage: &FileStorage,
    name: &str,
    settings: &Settings,
    pattern: &Pattern,
) -> Result<Option<String>, ReadError> {
    let Some(mut copy) = CopyReader::open(storage, name)? else { return Ok(None) };
    // The pages are gone from it.
    if copy.head().target == local_index::ADDRESS {
        return Ok(None);
    }
    let mut held = 0;
    while let Some((url, _)) = copy.next_page()? {
        held += u64::from(pattern.matches(&url));
    }
    let CopyHead { target: address, purge, .. } = copy.head();
    // Pages that left a file before may have lines.
    let has_lines = purge.contains(&pattern.to_string());
    let target = settings.deliver.iter().find(|target| target.place.address == *address);
    let documents = counted(held, "document");
    Ok(match target {
        None if held > 0 => {
            Some(format!("{documents} at {address}, which is not configured any more: delete them there"))
        }
        None if has_lines => Some(format!(
            "earlier lines in {address}, perhaps, which is not configured any more: remove them there"
        )),
        Some(target) if held > 0 => {
            Some(format!("{documents} at the target {:?}; the next delivery deletes them", target.name))
        }
        Some(target) if has_lines => Some(format!(
            "earlier lines of the target {:?}, perhaps; the next delivery removes them",
            target.name
        )),
        _ => None,
    })
}

/// Ships what was decided and removed; the vault then holds nothing else.
fn shipped(settings: &Settings) -> Result<(), Failure> {
    match vault::ship_stopped(settings, &process::random_tag()?, true) {
        Ok(_) => Ok(()),
        Err(failure) => Err(Failure::Work(format!(
            "the takedown is in force here, and not yet in the vault, which may still hold these pages: {failure}; run \
             `recrawl takedown` again, or start the crawl"
        ))),
    }
}

/// Takes pages down as these orders say, and logs it.
///
/// # Errors
/// When something cannot be read or written, or a damaged file not searched; the first one. The other orders are done.
pub fn repeat(settings: &Settings, orders: &[TakedownOrder]) -> Result<(), Failure> {
    let now = (recrawl_fetcher::system_clock())();
    let done = |order: &TakedownOrder| logged(settings, order, now)?.and_then(|done| whole(&done.removed));
    orders.iter().map(done).fold(Ok(()), Result::and)
}

/// Takes the pages down, and logs it as a change of an operator.
fn logged(
    settings: &Settings,
    order: &TakedownOrder,
    now: u64,
) -> Result<Result<TakedownResult, Failure>, Failure> {
    let stopped = takedown::open(settings)?;
    // Under the lock: nobody else writes the note meanwhile.
    if !order.end {
        vault::will_purge(settings)?;
    }
    audit::logged(&settings.data_dir, order, || {
        let done = stopped.take_down(order, now)?;
        let detail = match &done {
            Ok(done) => done.removed.to_string(),
            Err(unfinished) => format!("decided, but nothing is removed yet: {unfinished}"),
        };
        Ok((done, Accepted { did: Effect::Done, detail }))
    })
}

/// The pages that the arguments name.
fn meant(args: &TakedownArgs, settings: &Settings) -> Result<Pattern, Failure> {
    let meant = match (&args.host, &args.prefix, &args.page) {
        (Some(host), _, _) => Pattern::host(host).map_err(|e| format!("--host: {e}")),
        (_, Some(prefix), _) => Pattern::named_prefix(prefix).map_err(|e| format!("--prefix: {e}")),
        (_, _, Some(page)) => return named_page(page, settings),
        (None, None, None) => Err("pass --host HOST, --prefix URL or --page URL".into()),
    };
    meant.map_err(Failure::Usage)
}

/// One page, as the data directory knows it.
fn named_page(text: &str, settings: &Settings) -> Result<Pattern, Failure> {
    if let Ok(Pattern::Page(written)) = Pattern::named_page(text, &UrlRules::keep_all())
        && open_read::named_page(settings, &written.as_text())? == written
    {
        return Ok(Pattern::Page(written));
    }
    Pattern::named_page(text, &settings.rules).map_err(|e| Failure::Usage(format!("--page: {e}")))
}

/// What this takedown does not remove.
fn stays(meant: &Pattern, removed: &TakedownSummary) -> Vec<String> {
    let has_data = removed.emptied + removed.visits + removed.warc_records > 0;
    [
        (removed.pages > 0, "the URLs (to know what not to fetch); blocks, opt-outs and seed sites that name them"),
        (
            !matches!(meant, Pattern::Host(_)) && removed.pages > 0,
            "statistics of their host and site",
        ),
        (true, "control.jsonl (log of operator changes) and counts in reports"),
        (
            has_data,
            "existing copies: exports, events, delivered notifications, snapshots, backups, and deleted data that the disk still holds",
        ),
    ]
    .into_iter()
    .filter(|(does_stay, _)| *does_stay)
    .map(|(_, what)| what.to_owned())
    .collect()
}

fn print_removed(meant: &Pattern, removed: &TakedownSummary, is_dry_run: bool) -> Result<(), Failure> {
    let verb = if is_dry_run { "would be " } else { "" };
    print_labelled(format!(
        "{meant}: {}, data of {} {verb}removed; {} {verb}removed",
        counted(removed.pages, "known page"),
        super::thousands(removed.emptied),
        counted(removed.visits, "kept visit")
    ))?;
    if removed.warc_records > 0 {
        print_labelled(format!(
            "{} ({}) in {} {verb}overwritten",
            counted(removed.warc_records, "record"),
            counted(removed.warc_bytes, "byte"),
            counted(removed.warc_files, "WARC file")
        ))?;
    }
    match removed.in_tables.as_ref().map(in_tables) {
        Some(parts) if !parts.is_empty() => print_labelled(format!("{verb}removed: {}", parts.join("; "))),
        _ => Ok(()),
    }
}

/// The kinds of data in the tables that a takedown removes.
fn in_tables(removed: &InTables) -> Vec<String> {
    let InTables { hosts, dates, trap_patterns, noise_floors, requisites, asked } = *removed;
    [
        ("robots.txt, delays and counts of ", hosts, "host"),
        ("counts of dates and pings of ", dates, "host"),
        ("trap patterns of ", trap_patterns, "host"),
        ("noise floors of ", noise_floors, "site"),
        ("", requisites, "requisite"),
        ("", asked, "queued URL"),
    ]
    .into_iter()
    .filter(|(_, number, _)| *number > 0)
    .map(|(what, number, noun)| format!("{what}{}", counted(number, noun)))
    .collect()
}

/// The first pages, and how many more there are.
fn print_pages(covered: &Covered) -> Result<(), Failure> {
    covered.listed.iter().try_for_each(|url| print_labelled(format!("page: {url}")))?;
    match covered.pages - covered.listed.len() as u64 {
        0 => Ok(()),
        more => print_labelled(format!("… and {}", counted(more, "more page"))),
    }
}

/// The rules that forbid the pages also after the end of their takedown.
fn print_forbidden(covered: &Covered) -> Result<(), Failure> {
    if covered.forbidden.is_empty() && covered.checked == covered.pages {
        return print_labelled("recrawl may fetch them again, from the cycle after the next one on");
    }
    let mut rules: Vec<(&String, u64)> =
        covered.forbidden.iter().map(|(rule, pages)| (rule, *pages)).collect();
    rules.sort_by_key(|(_, pages)| std::cmp::Reverse(*pages));
    for (rule, pages) in rules.iter().take(RULES) {
        print_labelled(format!("still not fetched: {}: {rule}", counted(*pages, "page")))?;
    }
    if let more @ 1.. = rules.len().saturating_sub(RULES) as u64 {
        print_labelled(format!("… and {}", counted(more, "more rule")))?;
    }
    match covered.pages - covered.checked {
        0 => Ok(()),
        rest => print_labelled(format!("not checked for other rules: {}", counted(rest, "further page"))),
    }
}

/// Fails if damaged WARC files could not be searched completely. Everything else is done by then.
fn whole(summary: &TakedownSummary) -> Result<(), Failure> {
    match &summary.warc_unreadable[..] {
        [] => Ok(()),
        files => Err(Failure::Work(format!(
            "damaged files could not be searched completely and may still contain such data: {}; salvage or \
             move these files, then run takedown again",
            files.join("; ")
        ))),
    }
}
