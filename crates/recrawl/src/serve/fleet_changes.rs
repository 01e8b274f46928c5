//! Operators' changes in a fleet: each is made by the partitions that it is about.

use super::changes;
use super::shared_state::SharedState;
use super::ticker::Ticker;
use crate::action::formula;
use recrawl_console::view::{Accepted, Actor, Change, Effect, Refusal};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::fleet::{JOINED_INBOXES, NEXT_DECISION, NEXT_MESSAGE, PARENT_INBOX, ParentInbox};
use recrawl_crawl::stored::{keep, kept};
use recrawl_fleet::Partition;
use recrawl_vault::VaultError;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

/// How often changes of others are looked for.
const EVERY: Duration = Duration::from_secs(5);

/// A change on its way to another partition.
#[derive(Serialize, Deserialize)]
struct SentChange {
    change: Change,
    /// Its maker.
    who: String,
}

/// The partitions that a change is about.
enum ChangeExtent {
    /// The own one alone, or the process.
    Here,
    /// Another one alone.
    Of(u32),
    /// All.
    All,
}

/// Makes a change here, and sees that the other partitions that it is about make it.
pub fn make(
    shared: &SharedState,
    partition: &Partition,
    change: &Change,
    who: &Actor,
) -> Result<Accepted, Refusal> {
    match extent(shared, partition, change) {
        ChangeExtent::Here => changes::make(shared, change, who),
        ChangeExtent::Of(id) => {
            let sent = SentChange { change: change.clone(), who: who.name.clone() };
            partition.send_message(id, &sent).map_err(not_yet)?;
            // Nobody reads the messages of a partition that ended meanwhile.
            let heir = partition.heir_of(id).map_err(not_yet)?;
            if heir != id {
                partition.send_message(heir, &sent).map_err(not_yet)?;
            }
            let detail = format!("sent to partition {heir}, in force there within seconds");
            Ok(Accepted { did: Effect::NextRound, detail })
        }
        ChangeExtent::All => decide(shared, partition, change, who),
    }
}

fn not_yet(error: impl std::fmt::Display) -> Refusal {
    Refusal::failed(format!("not made by all partitions yet, try again: {error}"))
}

fn extent(shared: &SharedState, partition: &Partition, change: &Change) -> ChangeExtent {
    match change {
        // What is no URL is refused here.
        Change::Recrawl { url } => match shared.settings().rules.canonicalize(url.trim()) {
            Ok(url) if !partition.owns(url.key()) => ChangeExtent::Of(partition.owner_of(url.key())),
            _ => ChangeExtent::Here,
        },
        // A host or pattern may have pages in several. A seed is its owner's page, and widens the scope of all. All rank by one
        // formula.
        Change::AddSeeds { .. }
        | Change::Pause { .. }
        | Change::Resume { .. }
        | Change::Block { .. }
        | Change::Unblock { .. }
        | Change::UseFormula { .. }
        | Change::RollBackFormula => ChangeExtent::All,
        Change::HoldLoop
        | Change::ReleaseLoop
        | Change::PromoteCandidate
        | Change::RollBackCandidate
        | Change::LearnNow
        | Change::Reload
        | Change::StepAside => ChangeExtent::Here,
    }
}

/// Makes a change of all partitions. All make them in the order of one list, so they end alike.
///
/// A change that may be made twice is made at once, also if the store is away, and once more if others have decided
/// meanwhile. One that goes back by a step is made at its place in the list alone.
fn decide(
    shared: &SharedState,
    partition: &Partition,
    change: &Change,
    who: &Actor,
) -> Result<Accepted, Refusal> {
    let _order = partition.deciding();
    let may_repeat = match change {
        Change::UseFormula { text } => {
            formula::parse(text)?;
            false
        }
        change => !matches!(change, Change::RollBackFormula),
    };
    let made = if may_repeat { Some(changes::make(shared, change, who)?) } else { None };
    let mut since = make_decided(shared, partition, u64::MAX).map_err(not_yet)?;
    let next = kept(&shared.tables, NEXT_DECISION).map_err(not_yet)?.unwrap_or_default();
    let decided = SentChange { change: change.clone(), who: who.name.clone() };
    let number = partition.decide(next, &decided).map_err(not_yet)?;
    since += make_decided(shared, partition, number).map_err(not_yet)?;
    let made = match made {
        // Nobody else has decided meanwhile.
        Some(made) if since == 0 => Ok(made),
        _ => changes::make(shared, change, who),
    };
    note_decided(shared, number + 1);
    let made = made?;
    let names: Vec<String> = partition.others().map(|id| format!("partition {id}")).collect();
    if names.is_empty() {
        return Ok(made);
    }
    let detail = format!("{}; sent to {}, in force there within seconds", made.detail, names.join(", "));
    Ok(Accepted { detail, ..made })
}

/// Makes the decisions before this number that are there and were not made here; gives how many.
fn make_decided(shared: &SharedState, partition: &Partition, end: u64) -> Result<u64, Failure> {
    let next: u64 = kept(&shared.tables, NEXT_DECISION)?.unwrap_or_default();
    for number in next..end {
        let Some(decided) = told(partition.decision(number))? else { return Ok(number - next) };
        decided.iter().for_each(|decided| follow_one(shared, partition, decided));
        note_decided(shared, number + 1);
    }
    Ok(end - next)
}

/// Notes the next decision. After a crash before that, one is made once more, and those behind it as well.
fn note_decided(shared: &SharedState, next: u64) {
    if let Err(failure) = keep(&shared.tables, NEXT_DECISION, &next) {
        tracing::error!("cannot note which decisions of the fleet are made: {failure}");
    }
}

/// Begins with the first decision if the number of the next one is of another fleet, whose partition this was.
fn begin_decisions(shared: &SharedState, partition: &Partition) -> Result<(), Failure> {
    let next: u64 = kept(&shared.tables, NEXT_DECISION)?.unwrap_or_default();
    if let Some(last) = next.checked_sub(1)
        && told(partition.decision(last))?.is_none()
    {
        keep(&shared.tables, NEXT_DECISION, &0u64)?;
    }
    Ok(())
}

/// Makes the changes that others sent, and then those that they send; none of a crawl that is alone.
///
/// # Errors
/// When the tables cannot be read, or the system gives no thread.
pub fn follow(shared: Arc<SharedState>) -> Result<Option<Ticker>, Failure> {
    let Some(partition) = shared.partition.clone() else { return Ok(None) };
    let of_parent: Option<ParentInbox> = kept(&shared.tables, PARENT_INBOX)?.flatten();
    let mut next: u64 = kept(&shared.tables, NEXT_MESSAGE)?.unwrap_or_default();
    let of_parts: Vec<ParentInbox> = kept(&shared.tables, JOINED_INBOXES)?.unwrap_or_default();
    for ParentInbox { partition: parent, next } in of_parent.into_iter().chain(of_parts) {
        // Sent before this partition was there. Whoever sends later knows it.
        for number in next.. {
            let Some(sent) = told(partition.message(parent, number))? else { break };
            if let Some(sent) = sent.filter(|sent| is_of(&shared, &partition, sent)) {
                follow_one(&shared, &partition, &sent);
            }
        }
    }
    keep(&shared.tables, PARENT_INBOX, &None::<ParentInbox>)?;
    keep(&shared.tables, JOINED_INBOXES, &Vec::<ParentInbox>::new())?;
    begin_decisions(&shared, &partition)?;
    let mut make_all = move || {
        // So that a round that is fetching ends early.
        shared.gives_up();
        let order = partition.deciding();
        // An error of the store is told by the beats. The changes wait.
        let _ = make_decided(&shared, &partition, u64::MAX);
        drop(order);
        while let Ok(Some(sent)) = told(partition.message(partition.id(), next)) {
            sent.iter().for_each(|sent| follow_one(&shared, &partition, sent));
            next += 1;
            // After a crash between the two it is made once more, which changes nothing.
            if let Err(failure) = keep(&shared.tables, NEXT_MESSAGE, &next) {
                tracing::error!("cannot note which changes of the fleet are made: {failure}");
            }
        }
    };
    // A new owner knows what was decided before it asks a host.
    make_all();
    Ticker::start("inbox", EVERY, make_all).map(Some).map_err(Failure::work)
}

/// Is a change that was sent to another partition about this one?
fn is_of(shared: &SharedState, partition: &Partition, sent: &SentChange) -> bool {
    match &sent.change {
        Change::Recrawl { url } => {
            let url = shared.settings().rules.canonicalize(url.trim());
            url.is_ok_and(|url| partition.owns(url.key()))
        }
        _ => true,
    }
}

/// Makes a change that was sent. One page may be another partition's since: then it is sent on.
fn follow_one(shared: &SharedState, partition: &Partition, SentChange { change, who }: &SentChange) {
    let who = Actor { name: who.clone(), from: Ipv4Addr::UNSPECIFIED.into() };
    let made = match change {
        Change::Recrawl { .. } => make(shared, partition, change, &who),
        _ => changes::make(shared, change, &who),
    };
    match made {
        Ok(made) => tracing::info!("{} sent to {change}: {}", who.name, made.detail),
        Err(refused) => tracing::warn!("{} sent to {change}: {refused}", who.name),
    }
}

/// A change that was sent, or decided; none yet, or one that cannot be read, which is told and left out.
fn told(read: Result<Option<SentChange>, VaultError>) -> Result<Option<Option<SentChange>>, VaultError> {
    match read {
        Err(error @ VaultError::Damaged { .. }) => {
            tracing::error!("a change of the fleet is not made, make it again: {error}");
            Ok(Some(None))
        }
        read => Ok(read?.map(Some)),
    }
}
