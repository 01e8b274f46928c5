//! Operators' changes in a fleet: each is made by the partitions that it is about.

mod follow;

pub use follow::follow;

use super::shared_state::SharedState;
use super::{changes, formulas};
use crate::action::formula;
use follow::{make_decided, told};
use recrawl_console::view::{Accepted, Actor, Change, Effect, Refusal};
use recrawl_crawl::fleet::NEXT_DECISION;
use recrawl_crawl::stored::kept;
use recrawl_fleet::Partition;
use serde::{Deserialize, Serialize};

/// A change on its way to another partition.
#[derive(Serialize, Deserialize)]
struct SentChange {
    change: Change,
    /// Its maker.
    who: String,
    /// Of a roll-back, the formula that it goes back to: so it may be made twice. None of older programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    back_to: Option<String>,
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
            let sent = SentChange { change: change.clone(), who: who.name.clone(), back_to: None };
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
/// A change that may be made at any time is made at once, also if the store is away, and once more in its turn. Of formulas the turn
/// alone counts.
fn decide(
    shared: &SharedState,
    partition: &Partition,
    change: &Change,
    who: &Actor,
) -> Result<Accepted, Refusal> {
    let _order = partition.deciding();
    let at_once = match change {
        Change::UseFormula { text } => formula::parse(text).map(|_| None)?,
        Change::RollBackFormula => None,
        change => Some(changes::make(shared, change, who)?),
    };
    let back_to = match change {
        Change::RollBackFormula => {
            make_decided(shared, partition, u64::MAX).map_err(not_yet)?;
            match formulas::earlier(shared)? {
                Some(earlier) => Some(earlier.to_toml().map_err(Refusal::failed)?),
                None => return changes::make(shared, change, who),
            }
        }
        _ => None,
    };
    let mut next = kept(&shared.tables, NEXT_DECISION).map_err(not_yet)?.unwrap_or_default();
    // Behind those that wait here: of two that are equal, the second is not the first one.
    while told(partition.decision(next)).map_err(not_yet)?.is_some() {
        next += 1;
    }
    let decided = SentChange { change: change.clone(), who: who.name.clone(), back_to };
    let number = partition.decide(next, &decided).map_err(not_yet)?;
    let made = match (at_once, make_decided(shared, partition, number + 1)) {
        // Whatever waits here.
        (Some(made), _) => made,
        (None, Ok(made)) => made.ok_or_else(|| Refusal::failed("refused; the log says why"))?,
        (None, Err(why)) => {
            return Err(Refusal::failed(format!("decided for all partitions; this one waits: {why}")));
        }
    };
    let names: Vec<String> = partition.others().map(|id| format!("partition {id}")).collect();
    if names.is_empty() {
        return Ok(made);
    }
    let detail = format!("{}; sent to {}, in force there within seconds", made.detail, names.join(", "));
    Ok(Accepted { detail, ..made })
}
