//! The vault of a crawl (`storage.vault`): what of the data directory is shipped, and at which moments.
//!
//! The data directory is the source. It is captured at moments from which a start can go on: by the recorder when log
//! and archive are synced, after each commit, and at start and end. The order of writes on disk is that of the
//! [transaction](crate::cycle), so each capture is a state that a crash could have left. The tables are shipped as
//! rows, since their files are sled's own. What is captured is shipped on a thread of its own.

mod folder;
pub mod lineage;
mod notes;
pub mod restore;
mod rows;
mod stopped;

pub use stopped::{out_of_reach, ship_stopped, ship_stopped_in, will_purge};

use crate::failure::Failure;
use crate::partition::{OnTaken, PartitionToTake, boot_clock};
use crate::process::Shutdown;
use crate::progress::figures::RoundProgress;
use crate::settings::Settings;
use folder::{CrawlFolder, captured};
use lineage::Lineage;
use notes::Notes;
use recrawl_fetcher::WallClock;
use recrawl_fleet::seal_before;
use recrawl_repository::SledTables;
use recrawl_repository::decisions::DECISIONS;
use recrawl_repository::storage::Storage;
use recrawl_vault::{
    CaptureExtent, FolderCapture, Founded, Inherited, MillisClock, Shipper, ShipperFigures, Store, Vault,
};
use recrawl_vault::{VaultError, contents, found, store};
use rows::FollowedRows;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of recorded pages after which they are shipped before `vault.ship` is over.
const MANY_BYTES: u64 = 8 << 20;
/// Time that a process which ends goes on shipping.
const ENDING: Duration = Duration::from_secs(30);
/// Wait after a failure, which doubles after each further one.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// The error of a vault: with the key, and exit code 2 where nothing was done.
pub fn failure(error: &VaultError) -> Failure {
    match error {
        VaultError::Refused(_) | VaultError::Unfit { .. } | VaultError::Absent(_) => {
            Failure::Usage(format!("storage.vault: {error}"))
        }
        _ => Failure::Work(format!("storage.vault: {error}")),
    }
}

/// A vault that may be begun: its store was tried, and belongs to this data directory.
pub struct Prepared {
    store: Arc<dyn Store>,
    nonce: String,
    of_fleet: Option<OfFleet>,
}

/// The vault of a partition.
struct OfFleet {
    fleet: Arc<dyn Store>,
    id: u32,
    after: u64,
    on_taken: OnTaken,
}

/// Checks the address, and that credentials are there; asks the store nothing.
///
/// # Errors
/// [`Failure::Usage`], saying what is wrong.
pub fn check(settings: &Settings) -> Result<(), Failure> {
    match &*settings.config.storage.vault {
        "" => Ok(()),
        address => store::open(address).map(drop).map_err(|e| failure(&e)),
    }
}

/// Tries the store, and whether its vault is that of this data directory. Nothing is changed, here or there.
///
/// # Errors
/// [`Failure::Usage`] if the store cannot hold a vault, or holds that of another crawl; [`Failure::Work`] if it does not
/// answer.
pub fn prepare(settings: &Settings, tag: &str, now: u64) -> Result<Option<Prepared>, Failure> {
    let address = &settings.config.storage.vault;
    if address.is_empty() {
        return Ok(None);
    }
    prepare_in(store::open(address).map_err(|e| failure(&e))?, settings, tag, now).map(Some)
}

/// The same, in this store.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_in(
    store: Arc<dyn Store>,
    settings: &Settings,
    tag: &str,
    now: u64,
) -> Result<Prepared, Failure> {
    // No other process has these: the time, and random letters.
    let nonce = format!("{now}-{}-{tag}", std::process::id());
    Vault::try_store(&*store, &nonce).map_err(|e| failure(&e))?;
    join(&*store, settings, &nonce)?;
    Ok(Prepared { store, nonce, of_fleet: None })
}

/// Whether vault and data directory belong together, and how they go on.
fn join(store: &dyn Store, settings: &Settings, nonce: &str) -> Result<(Lineage, Founded), Failure> {
    let there = found(store).map_err(|e| failure(&e))?;
    let here = Lineage::read(&settings.data_dir)?;
    let own_epoch = here.as_ref().and_then(|here| here.own_epoch(there.as_ref()?));
    let (mut lineage, found) = lineage::join(settings, here, there, nonce.to_owned())?;
    if let Some(restored) = lineage.restored {
        let newest = contents(store).map_err(|e| failure(&e))?.map(|contents| contents.newest());
        // A process of this directory was killed before it noted that its first manifest is there.
        if newest.is_some_and(|newest| newest.epoch > restored.epoch && Some(newest.epoch) == own_epoch) {
            lineage.restored = None;
        }
        lineage.check_restored(newest, &settings.data_dir)?;
    }
    Ok((lineage, found))
}

/// The crawl whose data directory a vault follows.
pub struct FollowedCrawl<'s> {
    /// The settings.
    pub settings: &'s Settings,
    /// The files of the data directory.
    pub storage: Arc<dyn Storage>,
    /// The WARC files.
    pub warc: Arc<dyn Storage>,
    /// The tables.
    pub tables: Arc<SledTables>,
    /// The time, in milliseconds since 1970.
    pub clock: WallClock,
}

impl Prepared {
    /// As the vault of a partition, after an epoch that is over.
    pub fn of_partition(self, to_take: &PartitionToTake) -> Prepared {
        let PartitionToTake { store, id, after, on_taken, .. } = to_take;
        let of_fleet = OfFleet { fleet: store.clone(), id: *id, after: *after, on_taken: on_taken.clone() };
        Prepared { of_fleet: Some(of_fleet), ..self }
    }

    /// Takes the vault for this process, and ships the data directory. Its lock is held.
    ///
    /// # Errors
    /// When another process takes it at the same moment, or files cannot be read or written.
    pub fn begin(self, crawl: FollowedCrawl<'_>) -> Result<CrawlVault, Failure> {
        let Prepared { store, nonce, of_fleet } = self;
        let FollowedCrawl { settings, storage, warc, tables, clock } = crawl;
        // Once more: until it had the lock, another process may have shipped from here, or noted what must go.
        let (lineage, found) = join(&*store, settings, &nonce)?;
        // Before the epoch is taken: a start that finds this nonce there knows it for its own.
        lineage.write(&settings.data_dir)?;
        let before = Inherited { identities: lineage.files.clone(), uploads: lineage.uploads.clone() };
        if let Some(OfFleet { id, .. }) = of_fleet.as_ref().filter(|of_fleet| of_fleet.after != found.epoch) {
            let text = format!("fleet: another process has taken partition {id} meanwhile");
            return Err(Failure::Work(text));
        }
        // Others may use what this process does from here on: so it must be certain what its predecessors did.
        let began = boot_clock();
        let seal = |epoch| match &of_fleet {
            Some(OfFleet { fleet, id, on_taken, .. }) => {
                on_taken(epoch, began);
                seal_before(&**fleet, *id, epoch)
            }
            None => Ok(()),
        };
        let vault = Vault::begin_sealed(store, &found, &lineage.nonce, clock(), &before, &seal);
        let vault = vault.map_err(|e| failure(&e))?;
        let epoch = vault.epoch();
        // From here on no other copy ships. One may have, between the look before and this process's epoch.
        let newest = vault.began_behind().map(|(key, _)| key);
        lineage.check_restored(newest, &settings.data_dir)?;
        let (data_dir, rows) =
            (settings.data_dir.clone(), FollowedRows::follow(tables, &lineage.nonce, &settings.data_dir));
        let folder = CrawlFolder { storage, warc };
        let now: MillisClock = Arc::new(move || clock());
        let notes = Notes::new(lineage, data_dir, now.clone());
        let shipper = Shipper::start(vault, FIRST_WAIT, now, Box::new(notes))?;
        let config = &settings.config.vault;
        let turn = Turn { rows, captured: Instant::now(), bytes: 0, is_waiting: false };
        let vault = CrawlVault {
            shipper: Arc::new(shipper),
            epoch,
            folder,
            every: config.ship.0,
            unshipped: config.unshipped.0,
            address: settings.config.storage.vault.clone(),
            turn: Mutex::new(turn),
        };
        vault.capture(&mut vault.turn(), CaptureExtent::Commit)?;
        Ok(vault)
    }
}

/// The vault of an open crawl.
pub struct CrawlVault {
    shipper: Arc<Shipper>,
    epoch: u64,
    folder: CrawlFolder,
    every: Duration,
    unshipped: u64,
    address: String,
    turn: Mutex<Turn>,
}

/// Captures are made one after the other, and offered in the order in which they were made.
struct Turn {
    rows: FollowedRows,
    captured: Instant,
    /// Bytes recorded since.
    bytes: u64,
    /// Is it logged that the crawl waits?
    is_waiting: bool,
}

impl CrawlVault {
    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far it is.
    pub fn figures(&self) -> ShipperFigures {
        self.shipper.figures()
    }

    /// The epoch of this process.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The thread that ships: for those who outlive the crawl, whose tables it does not hold.
    pub fn shipper(&self) -> &Arc<Shipper> {
        &self.shipper
    }

    /// Its address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Does the crawl wait for it?
    pub fn is_waited_for(&self) -> bool {
        self.figures().unshipped > self.unshipped
    }

    /// Fails once another process has taken the vault: this one must not go on.
    ///
    /// # Errors
    /// Why.
    pub fn check(&self) -> Result<(), Failure> {
        match self.figures().lost {
            Some(why) => Err(Failure::Work(format!("storage.vault: {why}"))),
            None => Ok(()),
        }
    }

    /// Log and archive are durable as they are, with so many more bytes. They are shipped if that is due. While too much is
    /// unshipped, the caller waits.
    ///
    /// # Errors
    /// When files cannot be read, or the vault is lost.
    pub fn recorded(&self, bytes: u64, shutdown: &Shutdown, live: &RoundProgress) -> Result<(), Failure> {
        self.check()?;
        let mut turn = self.turn();
        turn.bytes += bytes;
        if turn.captured.elapsed() < self.every && turn.bytes < MANY_BYTES {
            return Ok(());
        }
        self.capture(&mut turn, CaptureExtent::Changes)?;
        let is_waiting = self.is_waited_for();
        if is_waiting && !std::mem::replace(&mut turn.is_waiting, true) {
            let why = self.figures().error.unwrap_or_else(|| "it is slow".into());
            tracing::warn!("the crawl waits: more than vault.unshipped is not in the vault yet: {why}");
        } else if !is_waiting && std::mem::replace(&mut turn.is_waiting, false) {
            tracing::info!("the crawl goes on: the vault has caught up");
        }
        drop(turn);
        self.shipper.wait_below(self.unshipped, &mut || {
            live.moved();
            !shutdown.requested()
        });
        self.check()
    }

    /// Ships the data directory as it is, and waits for that: others will use what follows from it.
    ///
    /// # Errors
    /// When the store does not take it, or the vault is lost.
    pub fn ship_all(&self) -> Result<(), Failure> {
        self.capture(&mut self.turn(), CaptureExtent::Changes)?;
        if self.wait_while_it_answers() {
            return self.check();
        }
        let figures = self.figures();
        let why = figures.lost.or(figures.error).unwrap_or_else(|| "it is slow".into());
        Err(Failure::Work(format!("storage.vault: not all is shipped: {why}")))
    }

    /// The data directory is as a commit left it.
    ///
    /// # Errors
    /// When files cannot be read.
    pub fn committed(&self) -> Result<(), Failure> {
        self.capture(&mut self.turn(), CaptureExtent::Commit)
    }

    /// Operators decided something. It is in force by now; here it is shipped, ahead of what else changed.
    pub fn decided(&self) {
        let turn = self.turn();
        match captured(&*self.folder.storage, DECISIONS, DECISIONS.to_owned(), &self.shipper.known()) {
            Ok(file) => self.shipper.offer_file(file),
            Err(error) => tracing::warn!("decisions are not in the vault yet: {error}"),
        }
        drop(turn);
    }

    fn capture(&self, turn: &mut Turn, extent: CaptureExtent) -> Result<(), Failure> {
        let known = self.shipper.known();
        // The files first: rows may be newer than a log, and never older than a manifest.
        let mut files = self.folder.capture(&known)?;
        files.extend(turn.rows.capture(extent == CaptureExtent::Commit, &known)?);
        self.shipper.offer(FolderCapture { files, extent });
        (turn.captured, turn.bytes) = (Instant::now(), 0);
        Ok(())
    }

    /// Waits until the vault has all, as long as its store answers: for commands whose work this is. Has it all?
    pub fn wait_while_it_answers(&self) -> bool {
        self.shipper.wait_while_it_answers(ENDING)
    }

    /// Ships what is left, in the time that an end has, and nothing afterwards; gives the last figures, whose `error` or
    /// `lost` says what is missing. Nothing may write to the data directory meanwhile.
    pub fn close(&self) -> ShipperFigures {
        let until = Instant::now() + ENDING;
        let captured = self.capture(&mut self.turn(), CaptureExtent::Commit);
        let mut figures = self.shipper.finish(until);
        if let Err(failure) = captured {
            figures.error = Some(format!("cannot read the data directory: {failure}"));
        }
        if let Some(error) = &figures.error {
            tracing::warn!(
                bytes = figures.unshipped,
                "not all is in the vault; the next start ships it: {error}"
            );
        }
        figures
    }
}

/// The vault in an open crawl: closed before the lock of the data directory is given back.
#[derive(Default)]
pub struct OpenVault(Option<Arc<CrawlVault>>);

impl OpenVault {
    /// An open vault.
    pub fn new(vault: CrawlVault) -> OpenVault {
        OpenVault(Some(Arc::new(vault)))
    }

    /// The vault; none without `storage.vault`.
    pub fn get(&self) -> Option<&Arc<CrawlVault>> {
        self.0.as_ref()
    }

    /// Calls `work` if there is a vault.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn each(&self, work: impl FnOnce(&CrawlVault) -> Result<(), Failure>) -> Result<(), Failure> {
        self.0.as_deref().map_or(Ok(()), work)
    }
}

impl Drop for OpenVault {
    fn drop(&mut self) {
        // Others may still read its figures; what they hold ships nothing more.
        if let Some(vault) = self.0.take() {
            vault.close();
        }
    }
}

#[cfg(test)]
mod tests;
