//! Changes that others made, made here as well: what cannot be made now is tried again, in its turn.

use super::{SentChange, make};
use crate::action::{formula, named_host};
use crate::serve::shared_state::SharedState;
use crate::serve::ticker::Ticker;
use crate::serve::{changes, formulas};
use recrawl_console::view::{Accepted, Actor, Change, Effect, Refusal};
use recrawl_crawl::admission::pattern::Pattern;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::fleet::{JOINED_INBOXES, NEXT_DECISION, NEXT_MESSAGE, PARENT_INBOX, ParentInbox};
use recrawl_crawl::stored::{keep, kept};
use recrawl_fleet::Partition;
use recrawl_types::UrlRules;
use recrawl_vault::VaultError;
use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

/// How often changes of others are looked for.
const EVERY: Duration = Duration::from_secs(5);

/// Why changes of others are not made here yet.
pub enum Unmade {
    /// The store does not answer, which its beats tell, or the tables cannot be read.
    Unread(Failure),
    /// One cannot be made now.
    Waits(String),
}

impl From<Failure> for Unmade {
    fn from(failure: Failure) -> Unmade {
        Unmade::Unread(failure)
    }
}

impl fmt::Display for Unmade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unmade::Unread(failure) => failure.fmt(f),
            Unmade::Waits(why) => f.write_str(why),
        }
    }
}

/// Makes the decisions before this number that are there and were not made here; gives the answer to the last. Those behind one that
/// cannot be made now wait as well. But of pauses and blocks the last word counts at once: if one cannot be stored, no host is asked.
pub fn make_decided(
    shared: &SharedState,
    partition: &Partition,
    end: u64,
) -> Result<Option<Accepted>, Unmade> {
    let next: u64 = kept(&shared.tables, NEXT_DECISION)?.unwrap_or_default();
    let (mut last, mut waits, mut unread) = (None, None, None);
    let mut last_words = BTreeMap::new();
    for number in next..end {
        let decided = match told(partition.decision(number)) {
            Ok(Some(decided)) => decided,
            Ok(None) => break,
            Err(error) => {
                unread = Some(Failure::from(error));
                break;
            }
        };
        if waits.is_none() {
            match decided.as_ref().map(|decided| follow_one(shared, partition, decided)).transpose() {
                Ok(made) => {
                    note_decided(shared, number + 1);
                    last = made.flatten();
                    continue;
                }
                Err(why) => waits = Some(why),
            }
        }
        if let Some(decided) = decided
            && let Some(about) = target(&decided.change, &shared.settings().rules)
        {
            last_words.insert(about, decided);
        }
    }
    let mut must_rest = false;
    for decided in last_words.values() {
        let forbids = matches!(decided.change, Change::Pause { .. } | Change::Block { .. });
        must_rest |= follow_one(shared, partition, decided).is_err() && forbids;
    }
    let rests = must_rest || shared.control.paused().is_some();
    // What was not read may forbid something: who rests, rests on.
    if rests || unread.is_none() {
        shared.steering.hold(rests);
    }
    match unread {
        Some(failure) => Err(failure.into()),
        None => waits.map_or(Ok(last), Err),
    }
}

/// The visits that a pause or block forbids, and its end allows.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Crawl,
    Host(String),
    Pages(Pattern),
}

/// The target of a change; none of other kinds, and of those that are refused.
fn target(change: &Change, rules: &UrlRules) -> Option<Target> {
    match change {
        Change::Pause { host: None } | Change::Resume { host: None } => Some(Target::Crawl),
        Change::Pause { host: Some(host) } | Change::Resume { host: Some(host) } => {
            named_host(host).ok().map(|host| Target::Host(host.name))
        }
        Change::Block { pattern } | Change::Unblock { pattern } => {
            Pattern::of_some(pattern, rules).ok().map(Target::Pages)
        }
        _ => None,
    }
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
    let of_parts: Vec<ParentInbox> = kept(&shared.tables, JOINED_INBOXES)?.unwrap_or_default();
    let next = kept(&shared.tables, NEXT_MESSAGE)?.unwrap_or_default();
    let own = ParentInbox { partition: partition.id(), next };
    // To others it was sent before this partition was there. Whoever sends later knows it.
    let mut inboxes: Vec<ParentInbox> = of_parent.into_iter().chain(of_parts).chain([own]).collect();
    begin_decisions(&shared, &partition)?;
    // A new owner knows what was decided before it asks a host.
    shared.steering.hold(true);
    let mut make_all = move || {
        // So that a round that is fetching ends early.
        shared.gives_up();
        let order = partition.deciding();
        let decided = make_decided(&shared, &partition, u64::MAX);
        drop(order);
        let sent = make_all_sent(&shared, &partition, &mut inboxes);
        let waits = match decided.and(sent) {
            Err(Unmade::Unread(_)) => return,
            Err(Unmade::Waits(why)) => Some(why),
            Ok(_) => None,
        };
        if let Some(fleet) = &shared.place.fleet
            && fleet.waits(waits.clone())
            && let Some(why) = waits
        {
            tracing::error!("a change of the fleet waits, and those behind it: {why}");
        }
    };
    make_all();
    Ticker::start("inbox", EVERY, make_all).map(Some).map_err(Failure::work)
}

/// Makes what was sent to these inboxes, of which the last is the own one; the others are read once.
fn make_all_sent(
    shared: &SharedState,
    partition: &Partition,
    inboxes: &mut Vec<ParentInbox>,
) -> Result<(), Unmade> {
    inboxes.iter_mut().try_for_each(|inbox| make_sent(shared, partition, inbox))?;
    if inboxes.len() > 1 {
        keep(&shared.tables, PARENT_INBOX, &None::<ParentInbox>)?;
        keep(&shared.tables, JOINED_INBOXES, &Vec::<ParentInbox>::new())?;
        inboxes.drain(..inboxes.len() - 1);
    }
    Ok(())
}

/// Makes what was sent to an inbox, from its next message on. After a crash one is made once more, which changes nothing.
fn make_sent(shared: &SharedState, partition: &Partition, inbox: &mut ParentInbox) -> Result<(), Unmade> {
    let is_own = inbox.partition == partition.id();
    while let Some(sent) = told(partition.message(inbox.partition, inbox.next)).map_err(Failure::from)? {
        if let Some(sent) = sent.filter(|sent| is_own || is_of(shared, partition, sent)) {
            follow_one(shared, partition, &sent)?;
        }
        inbox.next += 1;
        if is_own && let Err(failure) = keep(&shared.tables, NEXT_MESSAGE, &inbox.next) {
            tracing::error!("cannot note which changes of the fleet are made: {failure}");
        }
    }
    Ok(())
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

/// Makes a change that was sent. One page may be another partition's since: then it is sent on. What can never be made is told, and
/// left out: none.
///
/// # Errors
/// Why it cannot be made now.
fn follow_one(
    shared: &SharedState,
    partition: &Partition,
    sent: &SentChange,
) -> Result<Option<Accepted>, Unmade> {
    let SentChange { change, who, back_to } = sent;
    let who = Actor { name: who.clone(), from: Ipv4Addr::UNSPECIFIED.into() };
    let made = match (change, back_to) {
        (Change::Recrawl { .. }, _) => make(shared, partition, change, &who),
        (Change::RollBackFormula, Some(target)) => {
            formula::parse(target).and_then(|target| formulas::roll_back_to(shared, target))
        }
        _ => changes::make(shared, change, &who),
    };
    match made {
        Ok(made) => {
            if made.did != Effect::Already {
                tracing::info!("{} sent to {change}: {}", who.name, made.detail);
            }
            Ok(Some(made))
        }
        // A full disk or list.
        Err(refused @ (Refusal::Failed(_) | Refusal::Busy(_))) => {
            Err(Unmade::Waits(format!("{} sent to {change}: {refused}", who.name)))
        }
        Err(refused) => {
            tracing::warn!("{} sent to {change}: {refused}", who.name);
            Ok(None)
        }
    }
}

/// A change that was sent, or decided; none yet, or one that cannot be read, which is told and left out.
pub fn told(read: Result<Option<SentChange>, VaultError>) -> Result<Option<Option<SentChange>>, VaultError> {
    match read {
        Err(error @ VaultError::Damaged { .. }) => {
            tracing::error!("a change of the fleet is not made, make it again: {error}");
            Ok(Some(None))
        }
        read => Ok(read?.map(Some)),
    }
}
