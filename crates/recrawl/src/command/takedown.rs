//! `recrawl takedown`: removes the data of pages and stops fetching them.

use super::{print, print_json, thousands};
use crate::cli::TakedownArgs;
use crate::failure::Failure;
use crate::takedown::{self, Pattern, Summary};
use crate::units::Size;
use serde_json::json;

/// What a takedown does not remove.
const STAYS: [&str; 4] = [
    "the URLs (to know what not to fetch); blocks, opt-outs and seed sites that name them",
    "statistics of a whole host or site, if only a URL prefix is taken down",
    "control.jsonl (log of operator changes) and counts in reports",
    "existing copies: exports, events, snapshots, backups, and deleted data that the disk still holds",
];

pub fn run(args: &TakedownArgs) -> Result<(), Failure> {
    let meant = match (&args.host, &args.prefix) {
        (Some(host), _) => Pattern::host(host).map_err(|e| format!("--host: {e}")),
        (None, Some(prefix)) => Pattern::prefix(prefix).map_err(|e| format!("--prefix: {e}")),
        (None, None) => Err("pass --host HOST or --prefix URL".into()),
    };
    let meant = meant.map_err(Failure::Usage)?;
    let settings = args.at.settings()?;
    let now = (recrawl_fetcher::system_clock())();
    let summary = takedown::run(&settings, &meant, args.dry_run, args.keep_crawling, now)?;
    let is_blocked = !args.dry_run && !args.keep_crawling;
    if args.json {
        print_json(&json!({
            "meant": meant, "dry_run": args.dry_run, "blocked": is_blocked, "removed": summary, "stays": STAYS,
        }))?;
        return whole(&summary);
    }
    let verb = if args.dry_run { "would be " } else { "" };
    print(format!(
        "{}: {} known pages, {} with data {verb}removed; {} kept visits {verb}removed",
        meant,
        thousands(summary.pages),
        thousands(summary.emptied),
        thousands(summary.visits)
    ))?;
    print(format!(
        "{} records ({}) in {} WARC files {verb}overwritten",
        thousands(summary.warc_records),
        Size(summary.warc_bytes),
        thousands(summary.warc_files)
    ))?;
    print(format!(
        "{verb}removed: robots.txt, delays and counts of {} hosts, sitemap dates of {}, trap patterns of {}; \
         noise floors of {} sites; {} waiting seeds and requested pages",
        thousands(summary.hosts),
        thousands(summary.dates),
        thousands(summary.trap_patterns),
        thousands(summary.noise_floors),
        thousands(summary.asked)
    ))?;
    if is_blocked {
        print("recrawl will not fetch them again")?;
    }
    STAYS.iter().try_for_each(|what| print(format!("kept: {what}")))?;
    whole(&summary)
}

/// Fails if damaged WARC files could not be searched completely. Everything else is done by then.
fn whole(summary: &Summary) -> Result<(), Failure> {
    match &summary.warc_unreadable[..] {
        [] => Ok(()),
        files => Err(Failure::Work(format!(
            "damaged files could not be searched completely and may still contain such data: {}; salvage or \
             move these files, then run takedown again",
            files.join("; ")
        ))),
    }
}
