//! Partitions tell of their parts of a plan: each creates its objects, and all read the same ones.
//!
//! A member that is not seen in the first exchange is left out by `close`, which is created by whoever gives up first: so all
//! that go on hear the same members.

use crate::key;
use crate::map::FleetMap;
use recrawl_vault::{Store, StoreError, VaultError, create_or_find, framed, read_framed};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Bytes of what a partition tells at most.
const MAX_TOLD: u64 = 1 << 20;

/// How long somebody waits.
pub trait ExchangePatience: Send + Sync {
    /// Something is not there yet: waits a moment, or returns false to give up. `times`: how often it was called before for
    /// the same thing.
    fn wait(&self, times: u64) -> bool;
}

/// Why nothing was heard.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    /// Others did not tell in time, or have gone on without this partition.
    #[error("{0}: did not come in time")]
    Alone(String),
    /// The store does not answer, or an object is damaged.
    #[error("{0}")]
    Store(#[from] VaultError),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Close {
    members: BTreeSet<u32>,
}

/// The exchanges of one plan.
pub struct PlanExchange<'s> {
    store: &'s dyn Store,
    folder: String,
    own: u32,
    /// In the order of URLs; all of the map, until the first exchange is over.
    members: Vec<u32>,
    step: u64,
    patience: &'s dyn ExchangePatience,
}

impl<'s> PlanExchange<'s> {
    /// The exchanges of a cycle's plan.
    pub fn new(
        store: &'s dyn Store,
        map: &FleetMap,
        own: u32,
        cycle: u32,
        patience: &'s dyn ExchangePatience,
    ) -> PlanExchange<'s> {
        let members = map.ranges().iter().map(|range| range.id).collect();
        PlanExchange { store, folder: key::bars(map.number(), cycle), own, members, step: 0, patience }
    }

    /// The members, in the order of URLs.
    pub fn members(&self) -> &[u32] {
        &self.members
    }

    fn key(&self, partition: u32) -> String {
        format!("{}{:010}/{partition:010}", self.folder, self.step)
    }

    /// Tells this, and gives what each member told, in the order of URLs. A process that plans again hears what it told the
    /// first time: others may have used it.
    ///
    /// # Errors
    /// [`ExchangeError::Alone`] if others are not heard in time.
    pub fn gather(&mut self, told: &[u8]) -> Result<Vec<Vec<u8>>, ExchangeError> {
        match create_or_find(self.store, &self.key(self.own), told) {
            Err(StoreError::Exists(_)) => {}
            done => done.map_err(VaultError::from)?,
        }
        let heard = self.hear()?;
        if self.step == 0 {
            self.close(&heard)?;
        }
        let members = self.members.iter();
        let heard: Option<Vec<Vec<u8>>> = members
            .map(|member| heard.iter().find(|(id, _)| id == member).map(|(_, told)| told.clone()))
            .collect();
        let missing = || self.store.locate(&format!("{}{:010}/", self.folder, self.step));
        let heard = match heard {
            Some(heard) => heard,
            // Whoever closed has seen one that was not there yet.
            None if self.step == 0 => self.hear_all()?,
            None => return Err(ExchangeError::Alone(missing())),
        };
        self.step += 1;
        Ok(heard)
    }

    /// Reads what the members told so far, when all did or patience ends.
    fn hear(&self) -> Result<Vec<(u32, Vec<u8>)>, ExchangeError> {
        let mut heard = Vec::new();
        for times in 0.. {
            for member in &self.members {
                if heard.iter().any(|(id, _)| id == member) {
                    continue;
                }
                match self.store.read(&self.key(*member), MAX_TOLD) {
                    Ok(told) => heard.push((*member, told)),
                    Err(StoreError::Absent(_)) => {}
                    Err(error) => return Err(VaultError::from(error).into()),
                }
            }
            let is_closed = self.step == 0 && self.closed()?.is_some();
            if heard.len() == self.members.len() || is_closed || !self.patience.wait(times) {
                break;
            }
        }
        Ok(heard)
    }

    /// Reads what all members told, who did so before the others closed.
    fn hear_all(&self) -> Result<Vec<Vec<u8>>, ExchangeError> {
        let read = |member: &u32| match self.store.read(&self.key(*member), MAX_TOLD) {
            Err(error) => Err(ExchangeError::Store(error.into())),
            Ok(told) => Ok(told),
        };
        self.members.iter().map(read).collect()
    }

    fn closed(&self) -> Result<Option<Close>, VaultError> {
        read_framed(self.store, &format!("{}close", self.folder))
    }

    /// Says whose plan this is, unless another has said it.
    fn close(&mut self, heard: &[(u32, Vec<u8>)]) -> Result<(), ExchangeError> {
        let key = format!("{}close", self.folder);
        let close = match self.closed()? {
            Some(close) => close,
            None => {
                let members = heard.iter().map(|(id, _)| *id).collect();
                let close = Close { members };
                match create_or_find(self.store, &key, &framed(&key, &close, b"")) {
                    Err(StoreError::Exists(_)) => self
                        .closed()?
                        .ok_or_else(|| VaultError::Away(format!("{key}: was there, and is not")))?,
                    done => {
                        done.map_err(VaultError::from)?;
                        close
                    }
                }
            }
        };
        if !close.members.contains(&self.own) {
            return Err(ExchangeError::Alone(self.store.locate(&key)));
        }
        self.members.retain(|member| close.members.contains(member));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::PartitionRange;
    use recrawl_vault::store::MemoryStore;

    /// The events while somebody waits; it says whether that goes on.
    struct Meanwhile<'t>(Box<dyn Fn(u64) -> bool + Send + Sync + 't>);

    impl ExchangePatience for Meanwhile<'_> {
        fn wait(&self, times: u64) -> bool {
            (self.0)(times)
        }
    }

    fn map() -> FleetMap {
        let sites = [None, Some("h.test"), Some("p.test")];
        let range = |(id, begin): (u32, Option<&str>)| PartitionRange {
            id,
            begin: begin.map(str::to_owned),
            parent: None,
        };
        FleetMap::new(1, [3, 1, 2].into_iter().zip(sites).map(range).collect()).unwrap()
    }

    /// Of three, one is silent. The first to give up closes; who comes later has no part in the plan, and who was heard has.
    #[test]
    fn those_who_were_heard_go_on_with_the_same_members_and_who_comes_later_is_alone() {
        let (store, map) = (MemoryStore::new(), map());
        let tells = |id: u32, step: u64, told: &[u8]| {
            let key = format!("{}{step:010}/{id:010}", key::bars(1, 7));
            let _ = store.create(&key, told);
        };
        let slow = Meanwhile(Box::new(|times| {
            tells(1, 0, b"one");
            tells(1, 1, b"more of one");
            times < 3
        }));
        let mut first = PlanExchange::new(&store, &map, 3, 7, &slow);
        assert_eq!(first.gather(b"three").unwrap(), [&b"three"[..], b"one"]);
        assert_eq!(first.members(), [3, 1], "in the order of URLs");
        assert_eq!(first.gather(b"more of three").unwrap(), [&b"more of three"[..], b"more of one"]);

        let nobody = Meanwhile(Box::new(|_| false));
        let mut late = PlanExchange::new(&store, &map, 2, 7, &nobody);
        assert!(matches!(late.gather(b"two"), Err(ExchangeError::Alone(_))));
        // Heard, and told again by another life: what others have used stays.
        let mut heard = PlanExchange::new(&store, &map, 1, 7, &nobody);
        assert_eq!(heard.gather(b"other").unwrap(), [&b"three"[..], b"one"]);
        assert_eq!(heard.members(), [3, 1]);
        assert_eq!(heard.gather(b"other").unwrap(), [&b"more of three"[..], b"more of one"]);
        // A member that falls silent.
        assert!(matches!(heard.gather(b"last"), Err(ExchangeError::Alone(_))));
    }
}
