//! The daemon as a process of a fleet: it owns a partition as long as its lease holds, and stands by for one else.

use super::{CrawlStart, OpenedCrawl, open, serve};
use crate::cli::ServeArgs;
use crate::exclusive_access::{self, ExclusiveAccess};
use crate::fleet::{Beats, FleetNode, NodeStatus, TakenPartition};
use crate::process;
use recrawl_console::StandbyConsole;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::process::Shutdown;
use recrawl_crawl::settings::Settings;
use std::path::Path;
use std::time::Duration;

/// Wait after another process was faster.
const AGAIN: Duration = Duration::from_millis(500);
/// Wait after a failure, before the next look.
const RETRY: Duration = Duration::from_secs(5);

/// Runs until a signal.
///
/// # Errors
/// When the configuration, the fleet or a folder is wrong. What may pass is tried again.
pub fn run(args: &ServeArgs, address: &str, name: &str) -> Result<(), Failure> {
    let base = CrawlStart::settings(args)?;
    // What a fleet cannot do is told before anything is taken.
    base.of_partition(address.to_owned(), 1)?;
    process::start_log(&base.config.log, "info")?;
    let signals = process::stopped_by_signals()?;
    let mut node = FleetNode::new(address, name, &base.data_dir)?;
    while let Some(taken) = stand_by(&mut node, &base, &signals)? {
        let (id, after) = (taken.to_take.id, taken.to_take.after);
        if let Err(failure) = own(args, &node, taken, &signals) {
            if matches!(node.has_lost_race(id, after), Ok(true)) {
                tracing::info!("another process was faster to take partition {id}");
                if signals.wait(AGAIN) {
                    break;
                }
                continue;
            }
            if failure.is_usage() {
                return Err(failure);
            }
            tracing::error!("looking for a partition again in {} s: {failure}", RETRY.as_secs());
            if signals.wait(RETRY) {
                break;
            }
        }
    }
    tracing::info!("stopped");
    Ok(())
}

/// Waits for a partition that this process may take; none if a signal came.
fn stand_by(
    node: &mut FleetNode,
    base: &Settings,
    signals: &Shutdown,
) -> Result<Option<TakenPartition>, Failure> {
    let listen = base.config.serve.listen;
    let (mut answers, mut has_failed) = (None, false);
    while !signals.requested() {
        let wait = match node.look(base, signals.token()) {
            Ok(Ok(taken)) => return Ok(Some(taken)),
            Ok(Err(wait)) => {
                if answers.is_none() {
                    tracing::info!("stands by: each partition has an owner");
                    let why = "this process of a fleet stands by: each partition has an owner";
                    answers = Some(StandbyConsole::answer(listen, "standby", why));
                    if let Some(Err(error)) = &answers {
                        tracing::warn!("/health does not answer while this process stands by: {error}");
                    }
                }
                let told = status(node.name(), base).write(&**node.store());
                has_failed = told.is_err();
                wait
            }
            Err(failure) if failure.is_usage() => return Err(failure),
            Err(failure) => {
                if !std::mem::replace(&mut has_failed, true) {
                    tracing::warn!("cannot look for a partition, trying again: {failure}");
                }
                RETRY
            }
        };
        if signals.wait(wait) {
            break;
        }
    }
    Ok(None)
}

/// The account of a node that owns nothing.
fn status(name: &str, settings: &Settings) -> NodeStatus {
    NodeStatus {
        name: name.to_owned(),
        version: env!("CARGO_PKG_VERSION").into(),
        at: recrawl_fetcher::system_clock()(),
        console: settings.config.serve.listen.to_string(),
        ..NodeStatus::default()
    }
}

/// Runs a partition until a signal, or until it is lost.
fn own(args: &ServeArgs, node: &FleetNode, taken: TakenPartition, signals: &Shutdown) -> Result<(), Failure> {
    let TakenPartition { to_take, folder, vault, partitions } = taken;
    let mut args = args.clone();
    args.at.data_dir = Some(folder.clone());
    args.at.partition = Some((vault, partitions));
    let settings = CrawlStart::settings(&args)?;
    let told = settings.clone();
    let start = CrawlStart::with(&args, settings)?;
    let opened: OpenedCrawl = open(&args, &start, signals, Some(to_take))?;
    let crawl = &opened.0;
    let (Some(vault), Some(partition)) = (crawl.vault.get().cloned(), crawl.partition.clone()) else {
        return Err(Failure::work("the crawl that was opened is no partition"));
    };
    let (id, epoch) = (partition.id(), partition.epoch());
    let (name, figures) = (node.name().to_owned(), vault.clone());
    let status = Box::new(move || NodeStatus {
        partition: Some(id),
        epoch,
        unshipped: figures.figures().unshipped,
        ..status(&name, &told)
    });
    let stop = crawl.shutdown.token().clone();
    let beats = Beats::begin(node.store().clone(), partition, vault.began(), stop, status)?;
    tracing::info!("owns partition {id} (epoch {epoch})");
    let ended = serve(&args, start, opened, signals);
    if matches!(ended, Ok(Some(_))) {
        // The lease holds meanwhile: a takeover would undo the work of the command.
        wait_for_command(&folder, signals)?;
        beats.end(false);
        return Ok(());
    }
    let shipped = vault.figures();
    beats.end(shipped.unshipped == 0 && shipped.error.is_none() && shipped.lost.is_none());
    ended.map(drop)
}

/// Waits until a command that has the data directory alone has ended, or a signal comes.
fn wait_for_command(folder: &Path, signals: &Shutdown) -> Result<(), Failure> {
    while ExclusiveAccess::back(folder)?.is_none() {
        if signals.wait(exclusive_access::LOOK_EVERY) {
            break;
        }
    }
    Ok(())
}
