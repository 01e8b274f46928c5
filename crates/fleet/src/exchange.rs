//! Partitions tell of their parts of a plan: each creates its objects, and all read the same ones.
//!
//! A member that is not seen in the first exchange is left out by `close`, which is created by whoever gives up first: so all
//! that go on hear the same members. A partition that is left out spends at most what it spent in its last plan, and the others
//! leave that much of the budget to it: so all together never spend more than there is.

use crate::epoch::newest;
use crate::key;
use crate::lease::counter;
use crate::map::FleetMap;
use recrawl_vault::{Listed, Store, StoreError, VaultError, create_or_find, framed, read_framed};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of what a partition tells at most.
const MAX_TOLD: u64 = 1 << 20;
/// Plans whose objects stay: of the last one that a member may still make, and of those that tell what it spent.
const PLANS_KEPT: u32 = 8;

/// Times that patience ends before a member is given up that still beats.
const MAX_LEASES: u32 = 20;

/// How long somebody waits.
pub trait ExchangePatience: Send + Sync {
    /// Something is not there yet: waits a moment, or returns false to give up. `times`: how often it was called before for
    /// the same thing.
    fn wait(&self, times: u64) -> bool;
}

/// Why nothing was heard.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    /// Others did not tell in time, have gone on without this partition, or tell what does not fit.
    #[error("{0}")]
    Alone(String),
    /// The store does not answer, or an object is damaged.
    #[error("{0}")]
    Store(#[from] VaultError),
}

/// The figures that a partition tells of itself at the beginning of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemberFigures {
    /// Pages that it knows.
    pub pages: u64,
    /// New seeds that it has.
    pub news: u64,
    /// Pages of the budget that its last plan had.
    pub spent: u64,
    /// Of all that the members' plans must have in common.
    pub rules: u64,
}

/// The members of a plan, as whoever gave up first says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Close {
    members: BTreeSet<u32>,
    /// Those of the map that were not heard, as they told of themselves last.
    absent: BTreeMap<u32, MemberFigures>,
}

/// The exchanges of one plan.
pub struct PlanExchange<'s> {
    store: &'s dyn Store,
    map: &'s FleetMap,
    cycle: u32,
    own: u32,
    /// In the order of URLs; all of the map, until the first exchange is over.
    members: Vec<u32>,
    step: u64,
    patience: &'s dyn ExchangePatience,
}

/// The members of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanMembers {
    /// In the order of URLs, with what they told.
    pub present: Vec<(u32, MemberFigures)>,
    /// The sums of those who are not heard: their part of the budget is theirs.
    pub absent: MemberFigures,
}

/// The cycle that a partition plans next, whose own next one is `next`: cycles of a fleet have one number, so that all make
/// one plan. A plan that is begun is joined. One that went on without this partition left it what it spent before; if that is
/// nothing, since it never planned, the next plan is begun.
///
/// # Errors
/// When the store does not answer.
pub fn fleet_cycle(store: &dyn Store, own: u32, next: u32) -> Result<u32, VaultError> {
    let listed = store.list(key::PLANS)?;
    let Some(newest) = cycles(&listed).max() else { return Ok(next) };
    let folder = key::bars(newest);
    let is_there = |key: String| listed.iter().any(|object| object.key == key);
    let is_over = || is_there(format!("{folder}close")) && !is_there(told(&folder, 0, own));
    Ok(next.max(newest + u32::from(next == 1 && is_over())))
}

/// The cycle whose plan was begun last: others are called to make it as well. 0 before the first.
///
/// # Errors
/// When the store does not answer.
pub fn called_cycle(store: &dyn Store) -> Result<u32, VaultError> {
    match store.read(key::CALL, 10) {
        Err(StoreError::Absent(_)) => Ok(0),
        Err(error) => Err(error.into()),
        // Whatever else stands there calls nobody.
        Ok(bytes) => Ok(std::str::from_utf8(&bytes).ok().and_then(|text| text.parse().ok()).unwrap_or(0)),
    }
}

fn cycles(listed: &[Listed]) -> impl Iterator<Item = u32> {
    listed.iter().filter_map(cycle_of)
}

/// The cycle of whose plan an object tells.
fn cycle_of(object: &Listed) -> Option<u32> {
    object.key.strip_prefix(key::PLANS)?.split_once('/')?.0.parse().ok()
}

fn told(folder: &str, step: u64, partition: u32) -> String {
    format!("{folder}{step:010}/{partition:010}")
}

impl<'s> PlanExchange<'s> {
    /// The exchanges of a cycle's plan.
    pub fn new(
        store: &'s dyn Store,
        map: &'s FleetMap,
        own: u32,
        cycle: u32,
        patience: &'s dyn ExchangePatience,
    ) -> PlanExchange<'s> {
        let members = map.ranges().iter().map(|range| range.id).collect();
        PlanExchange { store, map, cycle, own, members, step: 0, patience }
    }

    fn folder(&self) -> String {
        key::bars(self.cycle)
    }

    fn key(&self, partition: u32) -> String {
        told(&self.folder(), self.step, partition)
    }

    /// Tells of this partition, and gives who makes the plan: those who told in time.
    ///
    /// # Errors
    /// [`ExchangeError::Alone`] if this partition has no part in it, or the members' rules differ.
    pub fn meet(&mut self, own: MemberFigures) -> Result<PlanMembers, ExchangeError> {
        self.tell(&framed(&self.key(self.own), &own, b""))?;
        self.store.replace(key::CALL, self.cycle.to_string().as_bytes()).map_err(VaultError::from)?;
        let heard = self.hear(own)?;
        let close = self.close(&heard)?;
        if !close.members.contains(&self.own) {
            return Err(ExchangeError::Alone("the others have made the plan without this partition".into()));
        }
        self.members.retain(|member| close.members.contains(member));
        let mut present = Vec::new();
        for member in &self.members {
            // Whoever closed has seen those that were not there yet.
            let figures = match heard.get(member) {
                Some(figures) => *figures,
                None => self.figures(self.cycle, *member)?.ok_or_else(|| self.missing(*member))?,
            };
            present.push((*member, figures));
        }
        if let Some((other, _)) = present.iter().find(|(_, figures)| figures.rules != own.rules) {
            let what = "plans by another configuration, formula, random seed or version than this one";
            return Err(ExchangeError::Alone(format!("partition {other} {what}")));
        }
        let absent = close.absent.values().fold(MemberFigures::default(), |sum, one| MemberFigures {
            pages: sum.pages.saturating_add(one.pages),
            spent: sum.spent.saturating_add(one.spent),
            ..sum
        });
        self.step = 1;
        Ok(PlanMembers { present, absent })
    }

    /// Tells this, and gives what each member told, in the order of URLs.
    ///
    /// # Errors
    /// [`ExchangeError::Alone`] if others are not heard in time.
    pub fn gather(&mut self, own: &[u8]) -> Result<Vec<Vec<u8>>, ExchangeError> {
        self.tell(own)?;
        let told = |member: &u32| (*member == self.own).then(|| own.to_vec());
        let mut all: Vec<Option<Vec<u8>>> = self.members.iter().map(told).collect();
        let (mut times, mut leases, mut last_beat) = (0, 0, None);
        loop {
            for (member, told) in self.members.iter().zip(&mut all).filter(|(_, told)| told.is_none()) {
                *told = match self.store.read(&self.key(*member), MAX_TOLD) {
                    Ok(told) => Some(told),
                    Err(StoreError::Absent(_)) => None,
                    Err(error) => return Err(VaultError::from(error).into()),
                };
            }
            let Some(at) = all.iter().position(Option::is_none) else { break };
            if self.patience.wait(times) {
                times += 1;
                continue;
            }
            // It has a part in the plan, and scans for as long as its pages take: so it is waited for while it beats.
            let beat = Some(self.beat_of(self.members[at])?);
            if beat == last_beat || leases == MAX_LEASES {
                return Err(self.missing(self.members[at]));
            }
            (times, leases, last_beat) = (0, leases + 1, beat);
        }
        self.step += 1;
        Ok(all.into_iter().flatten().collect())
    }

    /// Others may have used what an earlier process told: then this one has no other part in the plan.
    fn tell(&self, told: &[u8]) -> Result<(), ExchangeError> {
        match create_or_find(self.store, &self.key(self.own), told) {
            Err(StoreError::Exists(object)) => Err(ExchangeError::Alone(format!(
                "{object}: an earlier process of this partition told something else"
            ))),
            done => Ok(done.map_err(VaultError::from)?),
        }
    }

    /// The sign of life of a member's owner: another one each time that it beats.
    fn beat_of(&self, member: u32) -> Result<(u32, u64, u64), VaultError> {
        let epoch = newest(self.store, member)?;
        Ok((member, epoch, counter(self.store, member, epoch)?))
    }

    fn missing(&self, member: u32) -> ExchangeError {
        ExchangeError::Alone(format!("{}: did not come in time", self.store.locate(&self.key(member))))
    }

    /// Reads what the members tell of themselves, until all did, one has closed, or patience ends.
    fn hear(&self, own: MemberFigures) -> Result<BTreeMap<u32, MemberFigures>, ExchangeError> {
        let mut heard = BTreeMap::from([(self.own, own)]);
        for times in 0.. {
            for member in &self.members {
                if !heard.contains_key(member)
                    && let Some(figures) = self.figures(self.cycle, *member)?
                {
                    heard.insert(*member, figures);
                }
            }
            if heard.len() == self.members.len()
                || self.closed(self.cycle)?.is_some()
                || !self.patience.wait(times)
            {
                break;
            }
        }
        Ok(heard)
    }

    fn figures(&self, cycle: u32, member: u32) -> Result<Option<MemberFigures>, VaultError> {
        read_framed(self.store, &told(&key::bars(cycle), 0, member))
    }

    fn closed(&self, cycle: u32) -> Result<Option<Close>, VaultError> {
        read_framed(self.store, &format!("{}close", key::bars(cycle)))
    }

    /// Says whose plan this is, unless another has said it.
    fn close(&self, heard: &BTreeMap<u32, MemberFigures>) -> Result<Close, ExchangeError> {
        if let Some(close) = self.closed(self.cycle)? {
            return Ok(close);
        }
        let mut close = Close { members: heard.keys().copied().collect(), absent: BTreeMap::new() };
        for member in self.members.iter().filter(|member| !heard.contains_key(member)) {
            close.absent.insert(*member, self.last_told(*member)?);
        }
        let key = format!("{}close", self.folder());
        match create_or_find(self.store, &key, &framed(&key, &close, b"")) {
            Err(StoreError::Exists(_)) => Ok(self
                .closed(self.cycle)?
                .ok_or_else(|| VaultError::Away(format!("{key}: was there, and is not")))?),
            done => {
                done.map_err(VaultError::from)?;
                self.sweep()?;
                Ok(close)
            }
        }
    }

    /// The last figures of a member, or those that others knew. Of one that was never heard: those of the partition that it was
    /// divided off from, which is too much rather than too little, or of those that it was put together of. Zeros of any other: it
    /// spends nothing.
    fn last_told(&self, member: u32) -> Result<MemberFigures, VaultError> {
        for cycle in (self.cycle.saturating_sub(PLANS_KEPT)..self.cycle).rev() {
            if let Some(figures) = self.figures(cycle, member)? {
                return Ok(figures);
            }
            if let Some(figures) = self.closed(cycle)?.and_then(|close| close.absent.get(&member).copied()) {
                return Ok(figures);
            }
        }
        let parts = self.map.former().iter().filter(|former| former.into == member).map(|former| former.id);
        let before = self.map.parent_of(member).into_iter().chain(parts);
        before.map(|before| self.last_told(before)).try_fold(MemberFigures::default(), |sum, told| {
            let told = told?;
            let add = |of: fn(&MemberFigures) -> u64| of(&sum).saturating_add(of(&told));
            Ok(MemberFigures {
                pages: add(|figures| figures.pages),
                news: add(|figures| figures.news),
                spent: add(|figures| figures.spent),
                rules: told.rules,
            })
        })
    }

    /// Removes what was told of plans that nobody makes any more.
    fn sweep(&self) -> Result<(), VaultError> {
        let is_old = |object: &&Listed| cycle_of(object).is_some_and(|cycle| cycle + PLANS_KEPT < self.cycle);
        self.store
            .list(key::PLANS)?
            .iter()
            .filter(is_old)
            .try_for_each(|object| Ok(self.store.remove(&object.key)?))
    }

    /// The part of the budget that the others leave to this partition, if it plans alone. One that was divided since has told
    /// of less than they leave.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn left_to_own(&self) -> Result<u64, VaultError> {
        let left = self.closed(self.cycle)?.and_then(|close| close.absent.get(&self.own).copied());
        let told = self.figures(self.cycle, self.own)?;
        Ok(left.into_iter().chain(told).map(|figures| figures.spent).min().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::{FormerPartition, PartitionRange};
    use crate::testing::CountingStore;
    use recrawl_vault::store::MemoryStore;
    use std::sync::atomic::Ordering::Relaxed;

    /// The events while somebody waits; it says whether that goes on.
    struct Meanwhile<'t>(Box<dyn Fn(u64) -> bool + Send + Sync + 't>);

    impl ExchangePatience for Meanwhile<'_> {
        fn wait(&self, times: u64) -> bool {
            (self.0)(times)
        }
    }

    fn nobody() -> Meanwhile<'static> {
        Meanwhile(Box::new(|_| false))
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

    fn figures(pages: u64, spent: u64) -> MemberFigures {
        MemberFigures { pages, spent, ..MemberFigures::default() }
    }

    fn tells(store: &dyn Store, cycle: u32, id: u32, own: MemberFigures) {
        let key = told(&key::bars(cycle), 0, id);
        let _ = store.create(&key, &framed(&key, &own, b""));
    }

    /// It beats while it scans its pages, and tells when it is done; one that beats no more is given up.
    #[test]
    fn who_takes_longer_than_a_lease_is_waited_for_while_it_beats() {
        let (store, map) = (MemoryStore::new(), map());
        crate::begin(&store, 1, 0, "one", 1).unwrap();
        tells(&store, 7, 1, figures(10, 1));
        tells(&store, 7, 2, figures(20, 2));
        let waits = std::sync::atomic::AtomicU64::new(0);
        let scanning = Meanwhile(Box::new(|times| {
            let waits = waits.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            crate::beat(&store, 1, 1, waits).unwrap();
            if waits == 12 {
                let _ = store.create(&told(&key::bars(7), 1, 1), b"more of one");
                let _ = store.create(&told(&key::bars(7), 1, 2), b"more of two");
            }
            times < 2
        }));
        let mut plan = PlanExchange::new(&store, &map, 3, 7, &scanning);
        plan.meet(figures(30, 3)).unwrap();
        assert_eq!(plan.gather(b"more of three").unwrap().len(), 3);
        let dead = Meanwhile(Box::new(|times| times < 2));
        let mut plan = PlanExchange { patience: &dead, ..plan };
        assert!(matches!(plan.gather(b"last of three"), Err(ExchangeError::Alone(_))));
    }

    /// A partition knows what it told: each exchange of each plan would pay for reading it.
    #[test]
    fn nobody_reads_what_it_told_itself() {
        let (store, map, nobody) = (CountingStore::default(), map(), nobody());
        tells(&store, 7, 1, figures(10, 1));
        tells(&store, 7, 2, figures(20, 2));
        for id in [1, 2] {
            store.create(&told(&key::bars(7), 1, id), b"more").unwrap();
        }
        let mut plan = PlanExchange::new(&store, &map, 3, 7, &nobody);
        plan.meet(figures(30, 3)).unwrap();
        let before = store.asked.load(Relaxed);
        assert_eq!(plan.gather(b"own").unwrap(), [&b"own"[..], b"more", b"more"]);
        assert_eq!(store.asked.load(Relaxed) - before, 3, "a create, and what two others told");
    }

    /// Of three, one is silent. The first to give up closes; who comes later has no part in the plan, and who was heard has.
    #[test]
    fn those_who_were_heard_go_on_with_the_same_members_and_who_comes_later_is_alone() {
        let (store, map) = (MemoryStore::new(), map());
        tells(&store, 6, 2, figures(50, 5));
        let slow = Meanwhile(Box::new(|times| {
            tells(&store, 7, 1, figures(10, 1));
            let _ = store.create(&told(&key::bars(7), 1, 1), b"more of one");
            times < 3
        }));
        let mut first = PlanExchange::new(&store, &map, 3, 7, &slow);
        let members = first.meet(figures(30, 3)).unwrap();
        assert_eq!(members.present, [(3, figures(30, 3)), (1, figures(10, 1))], "in the order of URLs");
        assert_eq!(members.absent, figures(50, 5), "what the silent one told in the plan before");
        assert_eq!(first.gather(b"more of three").unwrap(), [&b"more of three"[..], b"more of one"]);

        let nobody = nobody();
        let mut late = PlanExchange::new(&store, &map, 2, 7, &nobody);
        assert!(matches!(late.meet(figures(99, 9)), Err(ExchangeError::Alone(_))));
        assert_eq!(late.left_to_own().unwrap(), 5, "the others have left it what they knew of");
        // Another life, which knows the same.
        let mut heard = PlanExchange::new(&store, &map, 1, 7, &nobody);
        assert_eq!(heard.meet(figures(10, 1)).unwrap(), members);
        assert_eq!(heard.gather(b"more of one").unwrap(), [&b"more of three"[..], b"more of one"]);
        // A member that falls silent.
        assert!(matches!(heard.gather(b"last"), Err(ExchangeError::Alone(_))));
        // One that knows something else: others have used what it told.
        let mut other = PlanExchange::new(&store, &map, 1, 7, &nobody);
        assert!(matches!(other.meet(figures(11, 1)), Err(ExchangeError::Alone(_))));
        // The silent one is silent once more, and then two told by other rules.
        let mut next = PlanExchange::new(&store, &map, 3, 8, &nobody);
        assert_eq!(next.meet(figures(30, 3)).unwrap().absent, figures(109, 10), "as each told last");
        tells(&store, 9, 1, MemberFigures { rules: 1, ..figures(10, 1) });
        let mut differing = PlanExchange::new(&store, &map, 3, 9, &nobody);
        let told = differing.meet(figures(30, 3)).unwrap_err().to_string();
        assert!(told.contains("partition 1 plans by another configuration"), "{told}");
    }

    /// One that was put together, and has told nothing yet, is left what its parts had.
    #[test]
    fn a_merged_partition_that_is_silent_keeps_the_share_of_its_parts() {
        let store = MemoryStore::new();
        let map = map().with_former([7, 8].map(|id| FormerPartition { id, epoch: 1, into: 1 }).to_vec());
        tells(&store, 6, 7, figures(50, 5));
        tells(&store, 5, 8, figures(40, 4));
        tells(&store, 7, 2, figures(20, 2));
        let nobody = nobody();
        let mut plan = PlanExchange::new(&store, &map, 3, 7, &nobody);
        assert_eq!(plan.meet(figures(30, 3)).unwrap().absent, figures(90, 9));
        assert_eq!(PlanExchange::new(&store, &map, 1, 7, &nobody).left_to_own().unwrap(), 9);
    }

    #[test]
    fn cycles_have_one_number_and_old_plans_are_swept() {
        let (store, map) = (MemoryStore::new(), map());
        let cycle = |own, next| fleet_cycle(&store, own, next).unwrap();
        assert_eq!(cycle(1, 4), 4, "nobody has planned anything");
        tells(&store, 7, 1, figures(10, 1));
        assert_eq!((cycle(1, 5), cycle(2, 5)), (7, 7), "a plan that is begun is made again, and joined");
        assert_eq!((cycle(1, 8), cycle(2, 9)), (8, 9));
        let nobody = nobody();
        PlanExchange::new(&store, &map, 3, 7, &nobody).meet(figures(30, 3)).unwrap();
        assert_eq!(
            (cycle(1, 5), cycle(2, 5), cycle(2, 9)),
            (7, 7, 9),
            "it is over, and leaves the second its part"
        );
        assert_eq!((cycle(1, 1), cycle(2, 1)), (7, 8), "which is nothing, if it never planned");
        assert_eq!(called_cycle(&store).unwrap(), 7);
        PlanExchange::new(&store, &map, 3, 16, &nobody).meet(figures(30, 3)).unwrap();
        assert_eq!(cycles(&store.list("").unwrap()).min(), Some(16), "the plan of cycle 7 is gone");
    }
}
