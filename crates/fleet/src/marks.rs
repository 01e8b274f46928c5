//! How far a receiver is in the runs of a sender.

use crate::epoch::{is_there, sealed};
use crate::key;
use crate::run::ReceivedRun;
use recrawl_vault::{Store, VaultError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The next run of a sender that a receiver asks for. A commit has it, so a run is applied with the commit or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// No run yet: nobody waits for it.
    NotYet(RunMark),
}

/// The run at a mark.
///
/// The order matters: the run is read first, and then whether its writer has a successor. If it has none, whoever seals later
/// will see the run, so the seal covers all that anybody applied. If it has one, only what the seal names counts.
///
/// # Errors
/// When an object is damaged or missing, or the store does not answer.
pub fn next_run(store: &dyn Store, sender: u32, mut mark: RunMark) -> Result<MarkFinding, VaultError> {
    loop {
        let RunMark { epoch, number } = mark;
        let run = ReceivedRun::open(store, sender, epoch, number)?;
        let behind = RunMark { number: number + 1, ..mark };
        if !is_there(store, &key::epoch(sender, epoch + 1))? {
            return Ok(run.map_or(MarkFinding::NotYet(mark), |run| MarkFinding::Run(run, behind)));
        }
        match sealed(store, sender, epoch)? {
            None => return Ok(MarkFinding::NotYet(mark)),
            Some(seal) if number < seal.runs => {
                let missing = || VaultError::Damaged {
                    object: store.locate(&key::run(sender, epoch, number)),
                    offset: 0,
                    what: "it was sealed, and is missing".into(),
                };
                // One that was not there may have been created since, and before the seal.
                let run =
                    run.map_or_else(|| ReceivedRun::open(store, sender, epoch, number), |run| Ok(Some(run)))?;
                return Ok(MarkFinding::Run(run.ok_or_else(missing)?, behind));
            }
            Some(_) => mark = RunMark { epoch: epoch + 1, number: 0 },
        }
    }
}
