//! How far a receiver is in the runs of a sender.

use crate::epoch::{is_there, sealed};
use crate::key;
use crate::run::ReceivedRun;
use recrawl_vault::{Store, VaultError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The next run of a sender that a receiver asks for. A commit has it, so a run is applied with the commit or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunMark {
    /// The epoch of its writer.
    pub epoch: u64,
    /// Its number.
    pub number: u64,
}

impl Default for RunMark {
    /// The first run of all.
    fn default() -> RunMark {
        RunMark { epoch: 1, number: 0 }
    }
}

/// The marks of a receiver, by sender.
pub type RunMarks = BTreeMap<u32, RunMark>;

/// The finding of a receiver at a mark.
#[derive(Debug)]
pub enum MarkFinding {
    /// A run, and the mark behind it.
    Run(ReceivedRun, RunMark),
    /// A run whose head is damaged, or that was sealed and is gone, and the mark behind it: nobody can read its links.
    Refused(RunMark),
    /// No run yet: nobody waits for it.
    NotYet(RunMark),
}

/// The run at a mark.
///
/// The order matters: the run is read first, and then whether its writer has a successor. If it has none, whoever seals later
/// will see the run, so the seal covers all that anybody applied. If it has one, only what the seal names counts.
///
/// # Errors
/// When a seal is damaged, or the store does not answer.
pub fn next_run(store: &dyn Store, sender: u32, mut mark: RunMark) -> Result<MarkFinding, VaultError> {
    loop {
        let found = found_at(store, sender, mark)?;
        if !is_there(store, &key::epoch(sender, mark.epoch + 1))? {
            return Ok(found.unwrap_or(MarkFinding::NotYet(mark)));
        }
        let behind = RunMark { number: mark.number + 1, ..mark };
        match sealed(store, sender, mark.epoch)? {
            None => return Ok(MarkFinding::NotYet(mark)),
            Some(seal) if mark.number < seal.runs => {
                // One that was not there may have been created since, and before the seal.
                let found = if found.is_none() { found_at(store, sender, mark)? } else { found };
                return Ok(found.unwrap_or(MarkFinding::Refused(behind)));
            }
            Some(_) => mark = RunMark { epoch: mark.epoch + 1, number: 0 },
        }
    }
}

/// The run at a mark; [`MarkFinding::Refused`] if its head is damaged, also when it is read again, and none if there is none.
fn found_at(store: &dyn Store, sender: u32, mark: RunMark) -> Result<Option<MarkFinding>, VaultError> {
    let open = || ReceivedRun::open(store, sender, mark.epoch, mark.number);
    let opened = match open() {
        Err(VaultError::Damaged { .. }) => open(),
        opened => opened,
    };
    let behind = RunMark { number: mark.number + 1, ..mark };
    match opened {
        Err(VaultError::Damaged { .. }) => Ok(Some(MarkFinding::Refused(behind))),
        opened => Ok(opened?.map(|run| MarkFinding::Run(run, behind))),
    }
}
