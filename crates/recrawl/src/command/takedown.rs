//! `recrawl takedown`: what is known of pages is removed, and they are asked for no more.

use super::{print, print_json, thousands};
use crate::cli::TakedownArgs;
use crate::failure::Failure;
use crate::takedown::{self, Pattern, Summary};
use crate::units::Size;
use serde_json::json;

/// What is not removed.
const STAYS: [&str; 4] = [
    "the addresses, to know what not to ask for; blocks, opt-outs and sites of seeds, which say so by name",
    "what is learned of a whole host or site, where only a beginning of addresses is meant",
    "control.jsonl, the log of operators' changes, and counts in reports",
    "copies: exports, events, snapshots and backups made before, and what the disk keeps of removed files",
];

pub fn run(args: &TakedownArgs) -> Result<(), Failure> {
    let meant = match (&args.host, &args.prefix) {
        (Some(host), _) => Pattern::host(host).map_err(|e| format!("--host: {e}")),
        (None, Some(prefix)) => Pattern::prefix(prefix).map_err(|e| format!("--prefix: {e}")),
        (None, None) => Err("say what: --host HOST or --prefix URL".into()),
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
        "{}: {} pages known, {} of them visited and {verb}emptied; {} kept visits {verb}removed",
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
        "of whole hosts {verb}removed: robots.txt, delays and counts of {}, dates of {}, patterns of addresses of {}; noise floors of {} sites; {} seeds and pages asked for",
        thousands(summary.hosts),
        thousands(summary.dates),
        thousands(summary.trap_patterns),
        thousands(summary.noise_floors),
        thousands(summary.asked)
    ))?;
    if is_blocked {
        print("they are asked for no more")?;
    }
    STAYS.iter().try_for_each(|what| print(format!("stays: {what}")))?;
    whole(&summary)
}

/// Could all of the archive be looked at? All else is done.
fn whole(summary: &Summary) -> Result<(), Failure> {
    match &summary.warc_unreadable[..] {
        [] => Ok(()),
        files => Err(Failure::Work(format!(
            "behind the damage nothing could be looked at, and it may hold what is to go: {}; salvage these files or move them away, then do this again",
            files.join("; ")
        ))),
    }
}
