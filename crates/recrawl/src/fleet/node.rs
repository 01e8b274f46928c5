//! Which partition a process takes, and what it tells of itself.

use super::partition_folder::{self, FolderState};
use super::taking::OtherTakers;
use super::{NodeOrder, WhyFree, map_of, vault_of};
use crate::process::random_tag;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::labels::some_of;
use recrawl_crawl::partition::{OnTaken, PartitionToTake, boot_clock};
use recrawl_fleet::{
    AddressSlots, ExchangePatience, FORMAT, FleetMap, FleetWaits, HANDED_OVER, LeaseWatch, RELEASED,
    agree_on_format, counter, highest, newest_map, partition_store, sweep_former, sweep_void,
};
use recrawl_types::Span;
use recrawl_vault::store::{self, StoreWithin};
use recrawl_vault::{Store, StoreError, VaultError, found};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use xxhash_rust::xxh3::xxh3_64;

/// The folder of what nodes tell of themselves.
pub const NODES: &str = "node/";
/// Nodes that told nothing for so long are not shown, in milliseconds.
const FORGOTTEN: u64 = 24 * 3_600_000;
/// Looks at other owners within a lease.
const LOOKS: u64 = 12;
/// How often something is asked for that others have to tell.
const ASK_EVERY: Duration = Duration::from_millis(500);

/// The account that a node gives of itself: of no use but to be shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeStatus {
    /// The name that its operator gave it.
    pub name: String,
    /// The version of its program.
    pub version: String,
    /// The newest format of fleets that its program knows; 0 if it is from before they were told.
    pub format: u32,
    /// When it told this, in milliseconds since 1970.
    pub at: u64,
    /// The partition that it owns; none if it stands by.
    pub partition: Option<u32>,
    /// The one that it makes ready meanwhile, to take it.
    pub takes: Option<NodeOrder>,
    /// Its epoch.
    pub epoch: u64,
    /// The address of its console.
    pub console: String,
    /// Bytes that are not in the vault yet.
    pub unshipped: u64,
    /// The cycle that it planned last.
    pub cycle: u32,
    /// Its runs of links that others have not taken.
    pub untaken: u64,
    /// Made up at its start.
    pub run: String,
    /// When it started, in milliseconds since 1970.
    pub started: u64,
}

impl NodeStatus {
    /// Replaces what it told before.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn write(&self, store: &dyn Store) -> Result<(), VaultError> {
        let status = serde_json::to_vec(self).expect("texts and numbers are JSON");
        Ok(store.replace(&format!("{NODES}{}", self.name), &status)?)
    }

    /// The account of a node; none if there is none that can be read. It is only shown.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn read(store: &dyn Store, key: &str) -> Result<Option<NodeStatus>, VaultError> {
        match store.read(key, 64 << 10) {
            Err(StoreError::Absent(_)) => Ok(None),
            told => Ok(serde_json::from_slice(&told?).ok()),
        }
    }

    /// The accounts that nodes gave of themselves within a day, by name.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn all(store: &dyn Store, now: u64) -> Result<Vec<NodeStatus>, VaultError> {
        let mut nodes = Vec::new();
        for listed in store.list(NODES)? {
            let node = NodeStatus::read(store, &listed.key)?;
            nodes.extend(node.filter(|node| now.saturating_sub(node.at) < FORGOTTEN));
        }
        nodes.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(nodes)
    }

    /// Has it told nothing for two leases? By the clocks of both.
    pub fn is_silent(&self, now: u64, lease: u64) -> bool {
        now.saturating_sub(self.at) >= 2 * lease
    }

    /// Does it say that it owns the partition by this epoch?
    pub fn owns(&self, partition: u32, epoch: u64) -> bool {
        (self.partition, self.epoch) == (Some(partition), epoch)
    }

    /// Is it alive, and owns nothing?
    pub fn stands_by(&self, now: u64, lease: u64) -> bool {
        self.partition.is_none() && !self.is_silent(now, lease)
    }

    /// Is it another process than `name`, and makes this partition ready? One behind `name` in the alphabet counts only until
    /// `name` has announced the same: of two that look at once, one at least goes on. If both do, both copy it, and the epoch
    /// decides.
    fn has_begun(&self, take: NodeOrder, name: &str, has_announced: bool, (now, lease): (u64, u64)) -> bool {
        let is_other = if has_announced { *self.name < *name } else { self.name != name };
        // Nobody waits for one whose clock is far ahead: it would be heard long after its end.
        is_other && self.takes == Some(take) && self.stands_by(now, lease) && self.at < now + 2 * lease
    }

    /// How long ago it told this, for people.
    pub fn silent_for(&self, now: u64) -> String {
        Span::millis(now.saturating_sub(self.at) / 1_000 * 1_000).rounded()
    }
}

/// The identity of a process among those of its name.
#[derive(Debug)]
pub struct NodeIdentity {
    run: String,
    started: u64,
    lease: u64,
    /// When it last told of itself, by [`boot_clock`]; 0 before the first time.
    told: AtomicU64,
}

impl NodeIdentity {
    /// Of a process that starts now, in a fleet with such leases; `run` is a text that no other one has.
    pub fn new(run: String, started: u64, lease: u64) -> NodeIdentity {
        NodeIdentity { run, started, lease, told: AtomicU64::new(0) }
    }

    /// Tells of this node at `now`, unless another process has its name: false. Of two, the one that started first keeps
    /// it, unless that one was silent for a lease: then it was replaced.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn tell(&self, store: &dyn Store, status: NodeStatus, now: u64) -> Result<bool, VaultError> {
        let told = self.told.load(Ordering::Relaxed);
        // The first time it may be an account of this machine's last process.
        if told > 0
            && let Some(other) = NodeStatus::read(store, &format!("{NODES}{}", status.name))?
            && other.run != self.run
        {
            let is_first = (other.started, &other.run) < (self.started, &self.run);
            if is_first || now.saturating_sub(told) >= self.lease {
                return Ok(false);
            }
        }
        NodeStatus { run: self.run.clone(), started: self.started, ..status }.write(store)?;
        self.told.store(now.max(1), Ordering::Relaxed);
        Ok(true)
    }

    /// Tells nothing any more of the node of this name, unless another process has the name.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn leave(&self, store: &dyn Store, name: &str) -> Result<(), VaultError> {
        let key = format!("{NODES}{name}");
        match NodeStatus::read(store, &key)? {
            Some(own) if own.run == self.run => {
                NodeOrder::forget(store, name)?;
                Ok(store.remove(&key)?)
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// A process of a fleet that owns nothing yet.
pub struct FleetNode {
    address: String,
    store: Arc<dyn Store>,
    name: String,
    identity: Arc<NodeIdentity>,
    folder: PathBuf,
    /// Keeps other processes from the folder.
    _lock: File,
    watches: BTreeMap<u32, LeaseWatch>,
    /// By partition, an epoch that is there.
    epochs: BTreeMap<u32, u64>,
    takers: OtherTakers,
    /// By partition, the process that makes it ready, as of the last look.
    taken_by: BTreeMap<u32, String>,
    /// Its turns at addresses, of the partition that it owned last.
    turns: Option<Arc<AddressSlots>>,
}

/// The newest epochs of partitions, and the processes that make some ready.
pub type OwnersTold = (BTreeMap<u32, u64>, BTreeMap<u32, String>);

/// A partition that this process may take.
pub struct FreePartition {
    map: FleetMap,
    id: u32,
    after: u64,
    why: WhyFree,
    /// For the log.
    words: Option<String>,
}

impl FreePartition {
    /// The order by which a process is named for it, or announces that it takes it.
    pub fn order(&self) -> NodeOrder {
        NodeOrder::Take { partition: self.id, epoch: self.after }
    }
}

/// A partition that is free, and whose folder is ready.
pub struct TakenPartition {
    /// To open the crawl with.
    pub to_take: PartitionToTake,
    /// Its data directory.
    pub folder: PathBuf,
    /// Its vault.
    pub vault: String,
    /// Partitions of the map.
    pub partitions: u64,
}

impl FleetNode {
    /// A process with a name that no other one has. Its partitions lie in `folder`.
    ///
    /// # Errors
    /// [`Failure::Usage`] if there is no fleet, or the name is none.
    pub fn new(address: &str, name: &str, folder: &Path) -> Result<FleetNode, Failure> {
        let is_plain = |sign: char| sign.is_ascii_alphanumeric() || sign == '-';
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
            return Err(Failure::Usage(format!("--name {name:?}: 1 to 64 letters, digits or -")));
        }
        let store = store::open(address)?;
        let lease = map_of(&*store, address)?.lease();
        let lock = partition_folder::mark(folder, address)?;
        NodeOrder::forget(&*store, name)?;
        Ok(FleetNode {
            address: address.to_owned(),
            store,
            name: name.to_owned(),
            identity: Arc::new(NodeIdentity::new(random_tag()?, recrawl_fetcher::system_clock()(), lease)),
            folder: folder.to_owned(),
            _lock: lock,
            watches: BTreeMap::new(),
            epochs: BTreeMap::new(),
            takers: OtherTakers::default(),
            taken_by: BTreeMap::new(),
            turns: None,
        })
    }

    /// Tells of this process, and puts a newer format in force if all know it by now. One that ended without saying so is
    /// waited for as long as it is shown.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn join(&self, status: NodeStatus) -> Result<(), VaultError> {
        let (knows, at) = ((FORMAT, env!("CARGO_PKG_VERSION")), status.at);
        // Told first: of two that start at once, one at least hears the other.
        self.identity.tell(&*self.store, status, boot_clock())?;
        let others = NodeStatus::all(&*self.store, at)?;
        agree_on_format(&*self.store, knows, others.iter().map(|node| node.format)).map(drop)
    }

    /// Refuses requests of this process that may last too long.
    ///
    /// # Errors
    /// [`Failure::Usage`], saying what to set.
    pub fn check_timeout(&self, timeout: Duration) -> Result<(), Failure> {
        super::check_timeout(timeout, self.identity.lease)
    }

    /// The store of the fleet.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it tells of itself.
    pub fn identity(&self) -> &Arc<NodeIdentity> {
        &self.identity
    }

    /// How often it tells of itself while it owns nothing.
    pub fn tells_every(&self) -> Duration {
        Duration::from_millis(self.identity.lease / LOOKS)
    }

    /// The address of the fleet.
    pub fn address(&self) -> &str {
        &self.address
    }

    fn vault(&self, id: u32) -> StoreWithin<&dyn Store> {
        partition_store(&*self.store, id)
    }

    /// Goes on in these turns at addresses, should it own the same partition again.
    pub fn keep_turns(&mut self, turns: Option<Arc<AddressSlots>>) {
        self.turns = turns;
    }

    /// Tells nothing of this node any more.
    pub fn leave(&self) {
        // Others see soon that it is silent, and the next start forgets its orders.
        let _ = self.identity.leave(&*self.store, &self.name);
    }

    /// Is this process to end?
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn is_drained(&self) -> Result<bool, VaultError> {
        Ok(NodeOrder::read(&*self.store, &self.name)? == Some(NodeOrder::Drain))
    }

    /// Has the fleet ended?
    pub fn has_ended(&self) -> bool {
        newest_map(&*self.store).is_ok_and(|map| map.is_some_and(|map| map.is_end()))
    }

    /// Removes what changes of the map left: those that were stopped, and partitions that ended.
    pub fn sweep(&self, map: &FleetMap) {
        let swept =
            sweep_void(&*self.store, map).and_then(|objects| Ok(objects + sweep_former(&*self.store, map)?));
        match swept {
            Ok(0) => {}
            Ok(objects) => tracing::info!(objects, "removed what changes of the map left"),
            Err(error) => tracing::warn!("what changes of the map left stays in the store: {error}"),
        }
    }

    /// Looks once for a partition that this process may take; if there is none, how long to wait before the next look.
    ///
    /// # Errors
    /// When a folder or the map is wrong, or the store does not answer.
    pub fn look(&mut self) -> Result<Result<FreePartition, Duration>, Failure> {
        let map = map_of(&*self.store, &self.address)?;
        self.remove_outdated(&map)?;
        self.epochs.retain(|id, _| map.ranges().iter().any(|range| range.id == *id));
        self.taken_by.clear();
        let order = NodeOrder::read(&*self.store, &self.name)?;
        for id in self.in_turn(&map, order) {
            if let Some((after, why)) = self.is_free(&map, id, order)? {
                let now = recrawl_fetcher::system_clock()();
                let nodes = NodeStatus::all(&*self.store, now)?;
                refuse_beside_old(&nodes, now, map.lease())?;
                let owner = nodes.iter().find(|node| node.owns(id, after));
                let words = why.words(id, owner.map(|owner| (&*owner.name, owner.silent_for(now))));
                let free = FreePartition { map: map.clone(), id, after, why, words };
                if !why.is_contested() || !self.is_left_to_another(&free, &nodes, false, now) {
                    return Ok(Ok(free));
                }
            }
        }
        Ok(Err(Duration::from_millis(map.lease() / LOOKS)))
    }

    /// Announces that this process takes a partition, by an account that says so. False if another process does: then it
    /// copies nothing.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn announce(&mut self, free: &FreePartition, status: NodeStatus) -> Result<bool, VaultError> {
        if !free.why.is_contested() {
            return Ok(true);
        }
        let at = status.at;
        self.identity.tell(&*self.store, status, boot_clock())?;
        let nodes = NodeStatus::all(&*self.store, at)?;
        Ok(!self.is_left_to_another(free, &nodes, true, at))
    }

    /// Does another process make a partition ready, which is waited for?
    fn is_left_to_another(
        &mut self,
        free: &FreePartition,
        nodes: &[NodeStatus],
        has_announced: bool,
        at: u64,
    ) -> bool {
        let (take, lease, now) = (free.order(), free.map.lease(), boot_clock());
        let (own, takers) = (&self.name, &mut self.takers);
        let begun = nodes.iter().filter(|node| node.has_begun(take, own, has_announced, (at, lease)));
        // Of all is heard how long they take.
        let waited = begun.filter(|node| takers.are_waited_for((&node.name, node.at), take, (now, lease)));
        let taker = waited.reduce(|first, _| first);
        taker.map(|taker| self.taken_by.insert(free.id, taker.name.clone())).is_some()
    }

    /// Why this process stands by, for people. `told` is of which owners it was told last: nothing if all is as then.
    pub fn stands_by(&self, told: &mut OwnersTold) -> Option<String> {
        let seen = (self.epochs.clone(), self.taken_by.clone());
        if *told == seen {
            return None;
        }
        let nodes = NodeStatus::all(&*self.store, recrawl_fetcher::system_clock()()).unwrap_or_default();
        // This process may not have told yet that it owns nothing any more.
        let owner = |id, epoch| {
            let mut others = nodes.iter().filter(|node| node.name != self.name);
            others.find(|node| node.owns(id, epoch))
        };
        let words = |(id, epoch): (&u32, &u64)| match (self.taken_by.get(id), owner(*id, *epoch)) {
            (Some(taker), _) => (format!("{taker} makes partition {id} ready"), true),
            (None, Some(NodeStatus { name, console, .. })) => {
                (format!("{name} owns partition {id} (console {console})"), true)
            }
            (None, None) => (format!("partition {id} changes hands"), false),
        };
        let (words, known): (Vec<String>, Vec<bool>) = self.epochs.iter().map(words).unzip();
        let all_owned = known.iter().all(|known| *known) && self.taken_by.is_empty();
        // One that has just taken a partition tells so soon.
        if known.iter().all(|known| *known) {
            *told = seen;
        }
        let each = if all_owned { "each partition has an owner: " } else { "" };
        Some(format!("stands by: {each}{}", some_of(&words)))
    }

    /// Removes folders of partitions that others own.
    fn remove_outdated(&self, map: &FleetMap) -> Result<(), Failure> {
        for id in map.ranges().iter().map(|range| range.id) {
            let folder = partition_folder::path(&self.folder, id);
            let vault = vault_of(&self.address, id);
            if partition_folder::remove_outdated(&folder, &vault, &self.vault(id))? {
                tracing::info!("removed {}: another process owns partition {id}", folder.display());
            }
        }
        for former in map.former() {
            let folder = partition_folder::path(&self.folder, former.id);
            if partition_folder::remove_former(&folder, &vault_of(&self.address, former.id))? {
                let into = map.heir_of(former.id);
                tracing::info!("removed {}: partition {into} has its pages", folder.display());
            }
        }
        Ok(())
    }

    /// Has another process taken the partition after this epoch, or does it begin the first one?
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn has_lost_race(&self, id: u32, after: u64) -> Result<bool, VaultError> {
        let epoch = highest(&*self.store, id, after)?;
        if epoch == 0 {
            return Ok(found(&self.vault(id))?.is_some());
        }
        Ok(epoch > after && !partition_folder::is_own(&self.folder, id, epoch, &self.vault(id))?)
    }

    /// The partitions, each node's in an order of its own, so that nodes that start together begin with different ones. First
    /// the one that it is named for, since others wait for that; then those whose folders are here.
    fn in_turn(&self, map: &FleetMap, order: Option<NodeOrder>) -> Vec<u32> {
        let mut ids: Vec<u32> = map.ranges().iter().map(|range| range.id).collect();
        let weight = |id: u32| xxh3_64(format!("{} {id}", self.name).as_bytes());
        let is_named = |id: u32| matches!(order, Some(NodeOrder::Take { partition, .. }) if partition == id);
        let is_here = |id: u32| partition_folder::path(&self.folder, id).exists();
        ids.sort_by_key(|id| (!is_named(*id), !is_here(*id), weight(*id)));
        ids
    }

    /// The epoch after which the partition may be taken, and why; none if it has an owner.
    fn is_free(
        &mut self,
        map: &FleetMap,
        id: u32,
        order: Option<NodeOrder>,
    ) -> Result<Option<(u64, WhyFree)>, VaultError> {
        let epoch = match self.epochs.get(&id) {
            Some(known) => highest(&*self.store, id, *known)?,
            None => recrawl_fleet::newest(&*self.store, id)?,
        };
        self.epochs.insert(id, epoch);
        if epoch == 0 {
            return Ok(Some((0, WhyFree::New)));
        }
        let asked = boot_clock();
        let counter = counter(&*self.store, id, epoch)?;
        // The lock of the folder tells whether the process that owns it, and ran here, has ended.
        if counter != HANDED_OVER && partition_folder::is_own(&self.folder, id, epoch, &self.vault(id))? {
            return Ok(Some((epoch, WhyFree::Own)));
        }
        let watch = self.watches.entry(id).or_insert_with(|| LeaseWatch::new(map.lease()));
        let is_over = watch.is_over(epoch, counter, (asked, boot_clock()));
        let take = NodeOrder::Take { partition: id, epoch };
        let is_for_this = counter == HANDED_OVER && order == Some(take);
        let why = match counter {
            RELEASED => WhyFree::Freed,
            _ if is_for_this => WhyFree::HandedOver,
            // Who it was handed over to may restore it for longer than a lease.
            _ if !is_over || counter == HANDED_OVER && self.is_taken_by(take, map.lease())? => {
                return Ok(None);
            }
            _ => WhyFree::Silent,
        };
        Ok(Some((epoch, why)))
    }

    /// Is a process alive that has this order, and owns nothing yet?
    fn is_taken_by(&self, take: NodeOrder, lease: u64) -> Result<bool, VaultError> {
        let now = recrawl_fetcher::system_clock()();
        for node in NodeStatus::all(&*self.store, now)? {
            if node.stands_by(now, lease) && NodeOrder::read(&*self.store, &node.name)? == Some(take) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes no partition any more that it was named for, but by the order that is kept: others wait for that.
    pub fn decline(&self, kept: Option<NodeOrder>) {
        // A store that does not answer hears nothing else of this process either, and others wait no longer.
        let _ = NodeOrder::decline(&*self.store, &self.name, kept);
    }

    /// Makes the folder of a partition ready. If it must be restored, that takes long.
    ///
    /// # Errors
    /// When the folder is wrong, or the vault is damaged, or does not answer.
    pub fn prepare(&self, free: FreePartition, stop: &CancellationToken) -> Result<TakenPartition, Failure> {
        self.decline(Some(free.order()));
        self.prepared(free, stop).inspect_err(|_| self.decline(None))
    }

    fn prepared(&self, free: FreePartition, stop: &CancellationToken) -> Result<TakenPartition, Failure> {
        let FreePartition { map, id, after, words, .. } = free;
        words.into_iter().for_each(|words| tracing::info!("{words}"));
        let vault = vault_of(&self.address, id);
        let folder = partition_folder::path(&self.folder, id);
        match partition_folder::prepare(&folder, &vault, &self.vault(id))? {
            FolderState::New => tracing::info!("partition {id} begins in {}", folder.display()),
            FolderState::Kept => tracing::info!("partition {id} goes on in {}", folder.display()),
            FolderState::Restored(restored) => tracing::info!(
                files = restored.files,
                bytes = restored.bytes,
                "restored partition {id} in {}",
                folder.display()
            ),
        }
        let (partitions, lease) = (map.ranges().len() as u64, map.lease());
        let plans = Box::new(AskAgain { stop: stop.clone(), times: lease / ASK_EVERY.as_millis() as u64 });
        let waits = FleetWaits { plans, runs: Box::new(NoWait) };
        let on_taken: OnTaken = Arc::new(|_, _| ());
        let (store, turns) = (self.store.clone(), self.turns.clone());
        let to_take = PartitionToTake { store, map, id, after, waits, on_taken, turns };
        Ok(TakenPartition { to_take, folder, vault, partitions })
    }
}

/// Refuses to own a partition beside processes whose program tells no format: they know no turns at addresses, and no list of
/// decisions.
fn refuse_beside_old(nodes: &[NodeStatus], now: u64, lease: u64) -> Result<(), Failure> {
    let is_old = |node: &&NodeStatus| node.format == 0 && !node.is_silent(now, lease);
    let old: Vec<&str> = nodes.iter().filter(is_old).map(|node| &*node.name).collect();
    match &old[..] {
        [] => Ok(()),
        old => Err(Failure::Work(format!(
            "{}: end these processes first, whose program is too old",
            old.join(", ")
        ))),
    }
}

/// Asks again, for the time of a lease: then others have stopped as well.
struct AskAgain {
    stop: CancellationToken,
    times: u64,
}

impl ExchangePatience for AskAgain {
    fn wait(&self, times: u64) -> bool {
        if times >= self.times || self.stop.is_cancelled() {
            return false;
        }
        thread::sleep(ASK_EVERY);
        true
    }
}

/// Nobody waits for links.
struct NoWait;

impl ExchangePatience for NoWait {
    fn wait(&self, _times: u64) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
