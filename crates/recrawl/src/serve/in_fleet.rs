//! The daemon as a process of a fleet: it owns a partition as long as its lease holds, and stands by for one else.

use super::ticker::Ticker;
use super::{CrawlStart, OpenedCrawl, notify, open, serve, sighup};
use crate::cli::ServeArgs;
use crate::exclusive_access::{self, ExclusiveAccess};
use crate::fleet::{
    self, Beats, BeatsEnd, FleetNode, FleetWatch, NodeOrder, NodeStatus, OwnEpoch, OwnNode, OwnersTold,
    TakenPartition,
};
use crate::process;
use recrawl_console::{ServeError, StandbyConsole};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::fleet::{CutPages, keep_range};
use recrawl_crawl::partition::{PartitionToTake, boot_clock};
use recrawl_crawl::process::Shutdown;
use recrawl_crawl::settings::Settings;
use recrawl_fleet::{FORMAT, GivingUp, Partition, has_first_range};
use recrawl_types::Span;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Wait after another process was faster.
const AGAIN: Duration = Duration::from_millis(500);
/// Wait after a failure, before the next look.
const RETRY: Duration = Duration::from_secs(5);

/// Wait after a store that did not answer what tells the turns.
const RETRY_TURNS: Duration = Duration::from_secs(1);

/// Runs until a signal.
///
/// # Errors
/// When the configuration or the fleet is wrong at the start. Later all is tried again: a store whose credentials have run out,
/// or a disk that is not mounted, must not end all processes of a fleet.
pub fn run(args: &ServeArgs, address: &str, name: &str) -> Result<(), Failure> {
    let base = CrawlStart::settings(args)?;
    // What a fleet cannot do is told before anything is taken.
    base.of_partition(fleet::vault_of(address, 1), 1)?;
    let mut node = FleetNode::new(address, name, &base.data_dir)?;
    node.check_timeout(base.fetch.timeout)?;
    node.join(status(name, &base))?;
    let ended = run_node(args, &mut node, &base);
    node.leave();
    ended
}

/// Owns partitions, one after the other, and stands by between them.
fn run_node(args: &ServeArgs, node: &mut FleetNode, base: &Settings) -> Result<(), Failure> {
    process::start_log(&base.config.log, "info")?;
    let signals = process::stopped_by_signals()?;
    // Also while this process stands by, or restores.
    let _hangups = sighup::Caught::new().map_err(Failure::work)?;
    loop {
        let watchdog = notify::standing_by().map_err(Failure::work)?;
        let Some((taken, telling)) = stand_by(node, base, &signals)? else { break };
        let (id, after, lease) = (taken.to_take.id, taken.to_take.after, taken.to_take.map.lease());
        let wait = match own(args, node, taken, (watchdog, telling), base, &signals) {
            Ok(Some(GivingUp::Drained)) => break,
            Ok(Some(GivingUp::NameTaken)) => return Err(name_taken(node.name())),
            Ok(Some(GivingUp::NewerFormat)) => {
                let refused = fleet::refused_format(&**node.store(), node.address())?;
                return refused.map_or(Ok(()), Err);
            }
            // Others have the time to take it.
            Ok(Some(GivingUp::Failing)) => Duration::from_millis(lease),
            Ok(_) => Duration::ZERO,
            Err(failure) => match node.has_lost_race(id, after) {
                Ok(true) => {
                    tracing::info!("another process was faster to take partition {id}");
                    AGAIN
                }
                _ => {
                    node.decline(None);
                    let wait = leave_to_others(node, base);
                    tracing::error!("looking for a partition again in {}: {failure}", Span(wait));
                    wait
                }
            },
        };
        if signals.wait(wait) {
            break;
        }
    }
    tracing::info!("stopped");
    Ok(())
}

fn name_taken(name: &str) -> Failure {
    Failure::Usage(format!(
        "--name {name}: another process of this fleet has that name, and started before; give each its own"
    ))
}

/// Waits for a partition that this process may take; none if a signal came, or an order to end. Tells of this process from then
/// on, until what is given is dropped.
///
/// # Errors
/// When another process has its name, or the fleet has ended.
fn stand_by(
    node: &mut FleetNode,
    base: &Settings,
    signals: &Shutdown,
) -> Result<Option<(TakenPartition, Ticker)>, Failure> {
    let (mut answers, mut has_failed) = (None::<Result<StandbyConsole, ServeError>>, false);
    let (mut told, mut why) = (OwnersTold::default(), String::new());
    while !signals.requested() {
        // Before each look: one whose looks or restores fail ends as well.
        if node.is_drained().unwrap_or(false) {
            return Ok(None);
        }
        let looked = node.look().and_then(|looked| match looked {
            Ok(free) => {
                let takes = Some(free.order());
                if !node.announce(&free, NodeStatus { takes, ..status(node.name(), base) })? {
                    return Ok(Err(node.tells_every()));
                }
                let ready = || of_standby("makes a partition ready");
                answers.iter().flatten().for_each(|answers| answers.waits(ready()));
                let telling = tell_on(node, base, free.order())?;
                Ok(Ok((node.prepare(free, signals.token())?, telling)))
            }
            Err(wait) => Ok(Err(wait)),
        });
        let wait = match looked {
            Ok(Ok(taken)) => return Ok(Some(taken)),
            Ok(Err(wait)) => {
                why = node.stands_by(&mut told).unwrap_or(why);
                match &answers {
                    None => {
                        tracing::info!("{why}");
                        answers = Some(answer(base, &why));
                    }
                    Some(answers) => answers.iter().for_each(|answers| answers.waits(of_standby(&why))),
                }
                let told = node.identity().tell(&**node.store(), status(node.name(), base), boot_clock());
                if let Ok(false) = told {
                    return Err(name_taken(node.name()));
                }
                has_failed = told.is_err();
                wait
            }
            Err(failure) if node.has_ended() => return Err(failure),
            Err(failure) => {
                // Older programs must not wait for something that never comes.
                if let Ok(Some(refused)) = fleet::refused_format(&**node.store(), node.address()) {
                    return Err(refused);
                }
                if !std::mem::replace(&mut has_failed, true) {
                    tracing::warn!("cannot look for a partition, trying again: {failure}");
                }
                if let Some(Ok(answers)) = &answers {
                    answers.fails(format!("cannot look for a partition: {failure}"));
                }
                leave_to_others(node, base)
            }
        };
        if signals.wait(wait) {
            break;
        }
    }
    Ok(None)
}

/// Tells that this process makes nothing ready any more, and gives the wait before it looks again: others look in turn, and one
/// of them may be able to take what this process cannot.
fn leave_to_others(node: &FleetNode, base: &Settings) -> Duration {
    let _ = node.identity().tell(&**node.store(), status(node.name(), base), boot_clock());
    RETRY.max(2 * node.tells_every())
}

/// Why the console of a process that stands by shows nothing.
fn of_standby(why: &str) -> String {
    format!("this process of a fleet {why}")
}

/// Answers for the console meanwhile.
fn answer(base: &Settings, why: &str) -> Result<StandbyConsole, ServeError> {
    StandbyConsole::answer(base.config.serve.listen, "standby", &of_standby(why)).inspect_err(|error| {
        tracing::warn!("/health does not answer while this process stands by: {error}");
    })
}

/// Tells of this process while it makes a partition ready, which may take longer than a lease: one that is named for it is waited
/// for as long as it is heard of. Being named for another, in the meantime, it declines.
fn tell_on(node: &FleetNode, base: &Settings, begun: NodeOrder) -> Result<Ticker, Failure> {
    let (store, identity) = (node.store().clone(), node.identity().clone());
    let (name, base, every) = (node.name().to_owned(), base.clone(), node.tells_every());
    // One whose name another has notices when it owns the partition, or stands by again.
    let tell = move || {
        let _ =
            identity.tell(&*store, NodeStatus { takes: Some(begun), ..status(&name, &base) }, boot_clock());
        let _ = NodeOrder::decline(&*store, &name, Some(begun));
    };
    Ok(Ticker::start("node", every, tell)?)
}

/// The account of a node that owns nothing.
fn status(name: &str, settings: &Settings) -> NodeStatus {
    NodeStatus {
        name: name.to_owned(),
        version: env!("CARGO_PKG_VERSION").into(),
        format: FORMAT,
        at: recrawl_fetcher::system_clock()(),
        console: settings.config.serve.listen.to_string(),
        ..NodeStatus::default()
    }
}

/// Runs a partition until a signal, or until it is lost or given up; says why it was given up.
fn own(
    args: &ServeArgs,
    node: &mut FleetNode,
    taken: TakenPartition,
    (standing_by, telling): (Option<Ticker>, Ticker),
    base: &Settings,
    signals: &Shutdown,
) -> Result<Option<GivingUp>, Failure> {
    let TakenPartition { to_take, folder, vault, partitions } = taken;
    let mut args = args.clone();
    args.at.data_dir = Some(folder.clone());
    args.at.partition = Some((vault, partitions));
    let watch = FleetWatch::new(node.address(), to_take.map.clone(), to_take.id, boot_clock());
    let own_node = OwnNode {
        status: status(node.name(), base),
        identity: node.identity().clone(),
        watch: Arc::new(watch),
    };
    let watch = own_node.watch.clone();
    args.at.fleet = Some(watch.clone());
    let start = CrawlStart::with(&args, CrawlStart::settings(&args)?)?;
    cut(node, &start, &to_take)?;
    // Ends with the lease.
    let owning = signals.child()?;
    let (to_take, beats) = with_beats(node, to_take, (own_node, telling), &owning);
    let opened: Result<OpenedCrawl, Failure> = open(&args, &start, &owning, Some(to_take));
    let beats = beats.lock().unwrap_or_else(PoisonError::into_inner).take();
    let opened = opened?;
    let shipper = opened.0.vault.get().map(|vault| vault.shipper().clone());
    let (Some(beats), Some(shipper), Some(partition)) =
        (beats.transpose()?, shipper, opened.0.partition.clone())
    else {
        return Err(Failure::work("the crawl that was opened is no partition"));
    };
    tracing::info!("owns partition {} (epoch {})", partition.id(), partition.epoch());
    beats.keep(partition.clone(), shipper.clone());
    watch.follow_slots(partition.slots().cloned());
    node.keep_turns(partition.slots().cloned());
    let slots = keep_turns(&partition)?;
    // From here on the watchdog looks at the crawl.
    drop(standing_by);
    let ended = serve(&args, start, opened, &owning);
    drop(slots);
    let given_up = partition.given_up().filter(|_| matches!(ended, Ok(Some(_))));
    if given_up.is_none() && matches!(ended, Ok(Some(_))) {
        // The lease holds meanwhile: a takeover would undo the work of the command.
        let _watchdog = notify::while_aside().map_err(Failure::work)?;
        wait_for_command(&folder, signals)?;
        beats.end(BeatsEnd::Silent);
        return Ok(None);
    }
    let shipped = shipper.figures();
    let is_all_shipped = shipped.unshipped == 0 && shipped.error.is_none() && shipped.lost.is_none();
    beats.end(match given_up {
        // This process takes it again at once.
        Some(GivingUp::Outdated) => BeatsEnd::Silent,
        _ if !is_all_shipped => BeatsEnd::Silent,
        Some(GivingUp::HandedOver) => BeatsEnd::HandedOver,
        Some(_) | None => BeatsEnd::Free,
    });
    if let Some(why) = given_up {
        tracing::info!("gave up partition {}: {why}", partition.id());
    }
    ended.map(|_| given_up)
}

/// Keeps the turns of a partition at addresses that it shares, if it does, until this is dropped: then there are no more turns.
fn keep_turns(partition: &Partition) -> Result<Option<Ticker>, Failure> {
    let (Some(mut keeper), Some(slots)) = (partition.slot_keeper(), partition.slots().cloned()) else {
        return Ok(None);
    };
    let (mut has_told, mut has_told_begin) = (false, false);
    let step = move || match keeper.step(&boot_clock) {
        Ok(wait) => {
            has_told = false;
            let begins_in = slots.figures(boot_clock()).begins_in;
            if let Some(begins_in) = begins_in.filter(|_| !has_told_begin) {
                let begins_in = Span::millis(begins_in).rounded();
                tracing::info!(
                    "asks no host for {begins_in}: its turns at addresses that others may ask begin then"
                );
            }
            has_told_begin = begins_in.is_some();
            Duration::from_millis(wait)
        }
        Err(error) => {
            if !std::mem::replace(&mut has_told, true) {
                tracing::warn!("cannot keep the turns at addresses that the fleet shares: {error}");
            }
            RETRY_TURNS
        }
    };
    Ok(Some(Ticker::start_paced("slots", Duration::ZERO, step)?))
}

/// Prepares the data directory of a partition: what it has no more is dropped before any host is asked.
fn cut(node: &FleetNode, start: &CrawlStart, to_take: &PartitionToTake) -> Result<(), Failure> {
    node.sweep(&to_take.map);
    if has_first_range(&**node.store(), &to_take.map, to_take.id)? {
        return Ok(());
    }
    let now = recrawl_fetcher::system_clock()();
    if let Some(CutPages { kept, dropped }) = keep_range(&start.settings, &to_take.map, to_take.id, now)? {
        tracing::info!(kept, dropped, "partition {} was divided: dropped what is another's", to_take.id);
    }
    Ok(())
}

/// Beats that begin when the epoch is taken.
type BeatsToBegin = Arc<Mutex<Option<Result<Beats, Failure>>>>;

fn with_beats(
    node: &FleetNode,
    to_take: PartitionToTake,
    (own_node, telling): (OwnNode, Ticker),
    owning: &Shutdown,
) -> (PartitionToTake, BeatsToBegin) {
    let beats = BeatsToBegin::default();
    let (store, stop, begun) = (node.store().clone(), owning.token().clone(), beats.clone());
    let (partition, lease) = (to_take.id, to_take.map.lease());
    let telling = Mutex::new(Some(telling));
    let on_taken = Arc::new(move |epoch, began| {
        let own = OwnEpoch { partition, epoch, began, lease };
        let beats = Beats::begin(store.clone(), own, stop.clone(), own_node.clone());
        *begun.lock().unwrap_or_else(PoisonError::into_inner) = Some(beats);
        // It may wait for the store, while the lease runs. The beats tell more, and soon again.
        drop(telling.lock().unwrap_or_else(PoisonError::into_inner).take());
    });
    (PartitionToTake { on_taken, ..to_take }, beats)
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

#[cfg(test)]
mod tests;
