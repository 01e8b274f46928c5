//! `recrawl deliver`: sends documents to the targets of `[[deliver]]`, and shows what they hold.

use super::{counted, print, print_json, thousands};
use crate::cli::{DeliverCommand, OnCrawl, Where};
use crate::daemon::Daemon;
use crate::deliverer::{Committed, Holding, ParkedDocument, local_index, probe, rewrite_lines, told, verify};
use crate::fleet;
use recrawl_crawl::admission::blocks::Blocks;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_crawl::operator::stopped::StoppedCrawl;
use recrawl_crawl::parts::deliver::DeliverTarget;
use recrawl_crawl::settings::Settings;
use recrawl_delivery::protocol::{TargetProtocol, kept};
use recrawl_delivery::verify::Differences;
use recrawl_delivery::{SkippedChanges, WaitingChanges, doubt, name_of};
use serde_json::json;
use std::cell::Cell;
use tokio::runtime::Builder;

/// Refused documents that are listed of a target, for people and as JSON.
const LISTED: (usize, usize) = (20, 10_000);

pub fn run(command: &DeliverCommand) -> Result<(), Failure> {
    match command {
        DeliverCommand::Send { target, on } => send(on, target.as_deref()),
        DeliverCommand::Status(on) => status(on),
        DeliverCommand::Skip { target, url, on } => skip(on, target, url.as_deref()),
        DeliverCommand::Rebuild { target, at } => rebuild(at, target),
        DeliverCommand::Test { target, on } => test(on, target),
        DeliverCommand::Verify { target, repair, on } => verify_target(on, target, *repair),
    }
}

/// The settings, with at least one target.
fn settings(at: &Where) -> Result<Settings, Failure> {
    let settings = at.settings()?;
    match settings.deliver.is_empty() {
        true => {
            let folder = local_index::folder(&settings.data_dir);
            let left = match folder.is_dir() {
                true => format!("; {} is left of an earlier one: remove it", folder.display()),
                false => String::new(),
            };
            Err(Failure::Usage(format!(
                "no target is configured: add [[deliver]] to the configuration{left}"
            )))
        }
        false => Ok(settings),
    }
}

fn named<'s>(settings: &'s Settings, name: &str) -> Result<&'s DeliverTarget, Failure> {
    settings.deliver.iter().find(|target| target.name == name).ok_or_else(|| {
        let names: Vec<&str> = settings.deliver.iter().map(|target| target.name.as_str()).collect();
        Failure::Usage(format!("no target is named {name:?}; there are: {}", names.join(", ")))
    })
}

/// Acts on the pages of a crawl that no daemon runs, with the decisions of its operators.
fn stopped_crawl<T>(
    settings: &mut Settings,
    StoppedCrawl { storage, repository, tables, decided }: StoppedCrawl,
    act: impl FnOnce(&Committed<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    settings.admit_seed_sites(&tables, &[])?;
    drop(tables);
    settings.scope.refuse_taken_down(decided.taken_down);
    act(&Committed {
        settings,
        blocks: Blocks::from_patterns(decided.blocks.keys()),
        generation: &repository.current(),
        storage: &*storage,
        now: recrawl_fetcher::system_clock()(),
        outside: Cell::default(),
    })
}

fn send(on: &OnCrawl, name: Option<&str>) -> Result<(), Failure> {
    let mut settings = settings(&on.at)?;
    name.map(|name| named(&settings, name)).transpose()?;
    Daemon::refuse_beside(&settings.data_dir, "it delivers by itself")?;
    // It holds the lock, so no daemon sends the same.
    let stopped = StoppedCrawl::open(&settings)?;
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Failure::work)?;
    let (mut failed, mut said) = (Vec::new(), Vec::new());
    stopped_crawl(&mut settings, stopped, |committed| {
        let targets = &committed.settings.deliver;
        local_index::remove_leftover(committed.settings);
        for target in targets.iter().filter(|target| name.is_none_or(|name| name == target.name)) {
            match committed.deliver(target, &runtime, &|| false) {
                Ok(sent) if on.json => said.push(json!({
                    "target": target.name, "sent": sent.puts, "removed": sent.deletes, "refused": sent.refused,
                    "unread": sent.unread, "out_of_scope": committed.outside.get(),
                })),
                Ok(sent) => print(told(&target.name, sent, committed.outside.get()))?,
                Err(failure) => failed.push(failure.to_string()),
            }
        }
        Ok(())
    })?;
    if on.json {
        print_json(&said)?;
    }
    match failed.is_empty() {
        true => Ok(()),
        false => {
            Err(Failure::Work(format!("{}; the next `recrawl deliver send` goes on", failed.join("; "))))
        }
    }
}

fn test(on: &OnCrawl, name: &str) -> Result<(), Failure> {
    let settings = settings(&on.at)?;
    let found = probe(&settings, named(&settings, name)?, recrawl_fetcher::system_clock()());
    if on.json {
        let said = found.as_ref().map_or_else(ToString::to_string, Clone::clone);
        print_json(&json!({"target": name, "takes_documents": found.is_ok(), "said": said}))?;
        return found.map(drop);
    }
    print(format!("{name}: {}", found?))
}

fn status(on: &OnCrawl) -> Result<(), Failure> {
    let mut settings = settings(&on.at)?;
    let repository = open_read::repository(&settings)?;
    // A running crawl has them open, and delivers by itself.
    let tables = open_read::tables(&settings.data_dir);
    if let Ok(tables) = &tables {
        settings.admit_seed_sites(tables, &[])?;
    }
    let is_stopped = tables.is_ok();
    let decided = open_read::decisions(&settings.data_dir, || tables)?;
    settings.scope.refuse_taken_down(decided.taken_down);
    let committed = Committed {
        settings: &settings,
        blocks: Blocks::from_patterns(decided.blocks.keys()),
        generation: &repository.current(),
        storage: &**repository.storage(),
        now: recrawl_fetcher::system_clock()(),
        outside: Cell::default(),
    };
    let (mut all, mut unread) = (Vec::new(), Vec::new());
    for target in &settings.deliver {
        let listed = if on.json { LISTED.1 } else { LISTED.0 };
        let read = Holding::read(committed.storage, target, listed).and_then(|holding| {
            let waiting = is_stopped.then(|| committed.waiting(target)).transpose()?;
            Ok(Holding { waiting, ..holding })
        });
        match read {
            Ok(holding) => all.push(holding),
            Err(e) => unread.push(format!("{}: {e}", target.name)),
        }
    }
    match on.json {
        true => print_json(&all)?,
        false => print_holdings(&all)?,
    }
    if unread.is_empty() { Ok(()) } else { Err(Failure::Work(unread.join("; "))) }
}

fn print_holdings(all: &[Holding]) -> Result<(), Failure> {
    all.iter().try_for_each(|holding| {
        let Holding { target, taken, unsure, refused, skipped, version, waiting, parked } = holding;
        let waiting = match waiting.unwrap_or_default() {
            WaitingChanges { puts: 0, deletes: 0 } => String::new(),
            WaitingChanges { puts, deletes } => format!(
                "; the next delivery sends {} and deletes {}",
                counted(puts, "document"),
                thousands(deletes)
            ),
        };
        match version {
            None => print(format!("{target}: new; it gets all pages")),
            Some(_) => print(format!(
                "{target}: {} delivered, {} not confirmed, {} refused{}{waiting}",
                counted(*taken, "document"),
                thousands(*unsure),
                thousands(*refused),
                if *skipped == 0 { String::new() } else { format!(", {} skipped", thousands(*skipped)) },
            )),
        }?;
        for ParkedDocument { url, since, why } in parked {
            print(format!("  {url} refused since {since}: {why}"))?;
        }
        match refused - parked.len() as u64 {
            0 => Ok(()),
            more => print(format!("  … and {}", counted(more, "more refused document"))),
        }
    })
}

fn skip(on: &OnCrawl, name: &str, url: Option<&str>) -> Result<(), Failure> {
    let mut settings = settings(&on.at)?;
    named(&settings, name)?;
    let only = url.map(|url| open_read::named_page(&settings, url)).transpose()?;
    Daemon::refuse_beside(&settings.data_dir, "stop it first: it would deliver meanwhile")?;
    let stopped = StoppedCrawl::open(&settings)?;
    let skipped = stopped_crawl(&mut settings, stopped, |committed| {
        committed.skip(named(committed.settings, name)?, only.as_ref())
    })?;
    if let (Some(url), 0) = (url, skipped.refused + skipped.waiting) {
        return Err(Failure::Usage(format!("no document of {url} was refused or waits for {name}")));
    }
    if on.json {
        return print_json(&skipped);
    }
    let SkippedChanges { refused, waiting, deletes } = skipped;
    print(format!(
        "{name}: {} given up until their pages change ({} refused, {} waiting)",
        counted(refused + waiting, "document"),
        thousands(refused),
        thousands(waiting)
    ))?;
    match deletes {
        0 => Ok(()),
        _ => print(format!("the next delivery deletes {}", counted(deletes, "document"))),
    }
}

fn verify_target(on: &OnCrawl, name: &str, repair: bool) -> Result<(), Failure> {
    let settings = settings(&on.at)?;
    let target = named(&settings, name)?;
    Daemon::refuse_beside(&settings.data_dir, "stop it first: it would deliver meanwhile")?;
    let StoppedCrawl { storage, .. } = StoppedCrawl::open(&settings)?;
    let owns = fleet::owned_pages(&settings.data_dir)?;
    let found = verify(&settings, &*storage, target, &owns, repair)?;
    match on.json {
        true => print_json(&found)?,
        false => print_differences(name, found, repair)?,
    }
    if !found.differs() || repair {
        return Ok(());
    }
    Err(Failure::Work(format!("{name} differs; `recrawl deliver verify {name} --repair` mends it")))
}

fn print_differences(name: &str, found: Differences, is_repaired: bool) -> Result<(), Failure> {
    let Differences { same, missing, other_version, unknown, foreign, unsure } = found;
    print(format!("{name}: {} as delivered", counted(same, "document")))?;
    let differs = [
        (missing, "missing"),
        (other_version, "of another version"),
        (unknown, "that should not be there"),
        (unsure, "not compared, as they are not confirmed"),
        (foreign, "not of recrawl, left alone"),
    ];
    for (count, what) in differs.into_iter().filter(|(count, _)| *count > 0) {
        print(format!("{} {what}", thousands(count)))?;
    }
    match found.differs() && is_repaired {
        true => print("the next delivery sends or deletes them"),
        false => Ok(()),
    }
}

fn rebuild(at: &Where, name: &str) -> Result<(), Failure> {
    let settings = settings(at)?;
    let target = named(&settings, name)?;
    Daemon::refuse_beside(&settings.data_dir, "stop it first")?;
    let StoppedCrawl { storage, .. } = StoppedCrawl::open(&settings)?;
    let address = &target.place.address;
    if let TargetProtocol::Objects(_) = &target.place.protocol {
        // Before the copy is mended: what fails here can be done again. Other partitions have lines there as well.
        let owns = fleet::owned_pages(&settings.data_dir)?;
        rewrite_lines(target, &|line| kept(line, &owns), &|| false).map_err(Failure::Work)?;
    }
    let damage = doubt(&*storage, &name_of(address), Some(address)).map_err(Failure::work)?;
    if let Some(damage) = damage {
        print(damage.to_string())?;
        match &target.place.protocol {
            TargetProtocol::Server(_) => print(format!(
                "documents of pages that it does not tell of any more stay at the target; after the next delivery, \
                 `recrawl deliver verify {name} --repair` finds them"
            ))?,
            TargetProtocol::Program(_) => print(
                "documents of pages that it does not tell of any more stay where its program put them: delete them there",
            )?,
            TargetProtocol::Lines(_) => {
                rewrite_lines(target, &|_| false, &|| false).map_err(Failure::Work)?
            }
            TargetProtocol::Objects(_) | TargetProtocol::Index => {}
        }
    }
    if matches!(target.place.protocol, TargetProtocol::Index) {
        local_index::discard(&settings.data_dir)?;
    }
    print(format!("{name} gets all documents again, from a daemon or by `recrawl deliver send`"))
}
