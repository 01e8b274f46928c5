//! Operators' changes in a fleet: each is made by the partitions that it is about.

use super::changes;
use super::shared_state::SharedState;
use super::ticker::Ticker;
use recrawl_console::view::{Accepted, Actor, Change, Effect, Refusal};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::fleet::{NEXT_MESSAGE, PARENT_INBOX, ParentInbox};
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

/// Makes a change here, and sends it to the other partitions that it is about: first here, where a wrong one is refused.
pub fn make(
    shared: &SharedState,
    partition: &Partition,
    change: &Change,
    who: &Actor,
) -> Result<Accepted, Refusal> {
    let (here, there) = divided(shared, partition, change);
    let made = here.map(|change| changes::make(shared, &change, who)).transpose()?;
    let names: Vec<String> = there.iter().map(|(id, _)| format!("partition {id}")).collect();
    let not_yet = |error| Refusal::failed(format!("not made by all partitions yet, try again: {error}"));
    let send = |id, change| partition.send_message(id, &SentChange { change, who: who.name.clone() });
    for (id, change) in there {
        send(id, change).map_err(not_yet)?;
    }
    if made.is_some() && !names.is_empty() {
        // Behind the messages: a partition that is divided later reads those to the one that it was a part of.
        for id in partition.unknown_partitions().map_err(not_yet)? {
            send(id, change.clone()).map_err(not_yet)?;
        }
    }
    let sent = format!("sent to {}, in force there within seconds", names.join(", "));
    Ok(match made {
        Some(made) if names.is_empty() => made,
        Some(made) => Accepted { detail: format!("{}; {sent}", made.detail), ..made },
        None => Accepted { did: Effect::NextRound, detail: sent },
    })
}

/// The part of a change that is made here, and the parts of others.
fn divided(
    shared: &SharedState,
    partition: &Partition,
    change: &Change,
) -> (Option<Change>, Vec<(u32, Change)>) {
    let rules = &shared.settings().rules;
    // What is no URL is refused here.
    let owner = |url: &str| {
        rules.canonicalize(url.trim()).map_or(partition.id(), |url| partition.owner_of(url.key()))
    };
    match change {
        Change::Recrawl { url } => match owner(url) {
            own if own == partition.id() => (Some(change.clone()), Vec::new()),
            other => (None, vec![(other, change.clone())]),
        },
        // A host or pattern may have pages in several. A seed is its owner's page, and widens the scope of all. All rank by one
        // formula.
        Change::AddSeeds { .. }
        | Change::Pause { .. }
        | Change::Resume { .. }
        | Change::Block { .. }
        | Change::Unblock { .. }
        | Change::UseFormula { .. }
        | Change::RollBackFormula => {
            (Some(change.clone()), partition.others().map(|id| (id, change.clone())).collect())
        }
        Change::HoldLoop
        | Change::ReleaseLoop
        | Change::PromoteCandidate
        | Change::RollBackCandidate
        | Change::LearnNow
        | Change::Reload
        | Change::StepAside => (Some(change.clone()), Vec::new()),
    }
}

/// Makes the changes that others sent, and then those that they send; none of a crawl that is alone.
///
/// # Errors
/// When the tables cannot be read, or the system gives no thread.
pub fn follow(shared: Arc<SharedState>) -> Result<Option<Ticker>, Failure> {
    let Some(partition) = shared.partition.clone() else { return Ok(None) };
    let of_parent: Option<ParentInbox> = kept(&shared.tables, PARENT_INBOX)?.flatten();
    let mut next: u64 = kept(&shared.tables, NEXT_MESSAGE)?.unwrap_or_default();
    if let Some(ParentInbox { partition: parent, next }) = of_parent {
        // Sent before this partition was there. Whoever sends later knows it.
        for number in next.. {
            let Some(sent) = sent_change(&partition, parent, number)? else { break };
            if let Some(sent) = sent.filter(|sent| is_of(&shared, &partition, sent)) {
                follow_one(&shared, &partition, &sent);
            }
        }
        keep(&shared.tables, PARENT_INBOX, &None::<ParentInbox>)?;
    }
    let mut make_all = move || {
        // So that a round that is fetching ends early.
        shared.gives_up();
        // An error of the store is told by the beats. The changes wait.
        while let Ok(Some(sent)) = sent_change(&partition, partition.id(), next) {
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

/// The change of a number in an inbox; none yet, or one that cannot be read, which is told and left out.
fn sent_change(
    partition: &Partition,
    of: u32,
    number: u64,
) -> Result<Option<Option<SentChange>>, VaultError> {
    match partition.message(of, number) {
        Err(error @ VaultError::Damaged { .. }) => {
            tracing::error!("a change of the fleet is not made, make it again: {error}");
            Ok(Some(None))
        }
        read => Ok(read?.map(Some)),
    }
}
