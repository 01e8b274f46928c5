//! Small data that changes at any time, in sled: hosts, noise floors of sites, counts of dates and
//! pings, waiting pings, settings.
//!
//! Each value is stored with our own checksum, so that damage is noticed here and not where the
//! value is used. Writes reach the disk within about two seconds, and at every
//! [`SledTables::flush`].
//!
//! sled's own flush is not durable. It asks the kernel to write ([`sync_file_range`], which syncs
//! neither the disk's cache nor the length of the file) and syncs on a thread of its own, up to a
//! second later. So [`SledTables::flush`] syncs all files of the folder itself.
//!
//! [`sync_file_range`]: https://man7.org/linux/man-pages/man2/sync_file_range.2.html

use crate::file::bytes::{Malformed, Put, Take};
use crate::file::format::{FileKind, open_frame, put_frame};
use durable::Durable;
use recrawl_types::host::{CyclePace, RobotsBody, RobotsState};
use recrawl_types::outcome::Detail;
use recrawl_types::{
    Belief, Cycle, Failure, HostState, HostTable, LastmodCounts, Origin, Round, ValidatorTrust, Validators,
};
use sled::transaction::{ConflictableTransactionError, TransactionError, Transactional};
use std::any::Any;
use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::sync::Mutex;

mod damage;
mod durable;
mod pings;
mod requisites;
mod rows;
mod takedown;

pub use damage::TablesFound;
pub use durable::{SyncFolder, sync_files};
pub use requisites::{RequisiteChange, RequisiteRow};
pub(crate) use requisites::{put_change, take_change};
pub use rows::RowKey;
pub use takedown::OriginTable;

/// Memory for cached pages. The tables are read once per host and cycle, so more would not help.
const CACHE_BYTES: u64 = 8 << 20;
/// Maximum delay of a write to the disk, in milliseconds.
const FLUSH_EVERY_MS: u64 = 1000;
/// The setting that counts flushes.
const FLUSHES: &str = "flushes";
/// The names of the trees.
/// A vault knows them by their place, so new ones come last.
const TREES: [&str; 10] = [
    "hosts",
    "robots",
    "sites",
    "lastmods",
    "pings",
    "ping_counts",
    "traps",
    "dropped_links",
    "settings",
    "requisites",
];
/// The key of the last cycle that was applied to a tree which learns from cycles.
const APPLIED: &[u8] = b"\0cycle";

/// Rounds that dropped links to an origin when they were merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropCounts {
    /// Links of pages.
    pub linked: u64,
    /// Entries of sitemaps and feeds, and redirects, to which no page linked.
    pub listed: u64,
}

/// The tables. Only one process may have them open.
pub struct SledTables {
    path: String,
    /// None for temporary tables.
    durable: Option<Durable>,
    /// Flushes so far. Locked during a flush.
    flushes: Mutex<u64>,
    database: sled::Db,
    hosts: sled::Tree,
    /// Bodies of robots.txt, so that they are not written again with each change of a host's counts.
    robots: sled::Tree,
    sites: sled::Tree,
    lastmods: sled::Tree,
    /// Pings by URL, until a visit answers them.
    pings: sled::Tree,
    ping_counts: sled::Tree,
    traps: sled::Tree,
    dropped_links: sled::Tree,
    settings: sled::Tree,
    /// Requisites of archived pages by URL.
    requisites: sled::Tree,
    /// For a copy elsewhere.
    written: rows::Written,
    /// The folder of a copy, which is removed behind the tables.
    _scratch: Option<Box<dyn Any + Send + Sync>>,
}

impl SledTables {
    /// Opens the tables in folder `dir`, or creates them.
    ///
    /// # Errors
    /// When another process has them open, or on an error of the disk.
    pub fn open(dir: &Path) -> io::Result<SledTables> {
        SledTables::open_with(dir, durable::sync_files())
    }

    /// The same; `sync` makes the folder's files durable at each [`SledTables::flush`].
    ///
    /// # Errors
    /// As [`SledTables::open`], and when they cannot be synced.
    pub fn open_with(dir: &Path, sync: SyncFolder) -> io::Result<SledTables> {
        takedown::take_place(dir)?;
        let durable = Durable { dir: dir.to_owned(), sync };
        let is_new = !dir.exists();
        if !is_new && let Some(_lock) = damage::lock(dir)? {
            durable::remove_unfinished(dir)?;
        }
        let config =
            sled::Config::new().path(dir).cache_capacity(CACHE_BYTES).flush_every_ms(Some(FLUSH_EVERY_MS));
        let tables = SledTables::with(config, dir.display().to_string(), Some(durable))?;
        if is_new {
            tables.flush()?;
        }
        Ok(tables)
    }

    /// Temporary tables, deleted with the value.
    ///
    /// # Errors
    /// When no temporary folder can be created.
    pub fn temporary() -> io::Result<SledTables> {
        let config = sled::Config::new().temporary(true).cache_capacity(CACHE_BYTES);
        SledTables::with(config, "temporary".into(), None)
    }

    fn with(config: sled::Config, path: String, durable: Option<Durable>) -> io::Result<SledTables> {
        // sled panics on some damage.
        let opened = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let database = config.open().map_err(|e| failed(&path, e))?;
            let mut trees = Vec::with_capacity(TREES.len());
            for name in TREES {
                trees.push(database.open_tree(name).map_err(|e| failed(&path, e))?);
            }
            let trees: [sled::Tree; TREES.len()] = trees.try_into().expect("one for each name");
            Ok((database, trees))
        }));
        let opened = opened.unwrap_or_else(|_| Err(ruined(&path, "its bytes differ from what was written")));
        let (database, trees) = opened?;
        let [hosts, robots, sites, lastmods, pings, ping_counts, traps, dropped_links, settings, requisites] =
            trees;
        let known = durable.as_ref().map_or(Ok(0), |durable| durable::flushes(&durable.dir));
        let known = known.map_err(|_| ruined(&path, "the number of flushes"))?;
        let row = settings.get(FLUSHES).map_err(|e| failed(&path, e))?;
        let flushes = row.and_then(|row| durable::number_in(&row)).unwrap_or(0);
        if flushes < known {
            return Err(ruined(&path, LOST));
        }
        let flushes = Mutex::new(flushes);
        Ok(SledTables {
            path,
            durable,
            flushes,
            database,
            hosts,
            robots,
            sites,
            lastmods,
            pings,
            ping_counts,
            traps,
            dropped_links,
            settings,
            requisites,
            written: rows::Written::default(),
            _scratch: None,
        })
    }

    /// The tables of a folder that cannot be written, from a copy in the folder `to`, which must not exist. `scratch`
    /// is dropped with them. None if another process has them open.
    ///
    /// # Errors
    /// When they cannot be copied or opened.
    pub fn open_copy(
        dir: &Path,
        to: &Path,
        scratch: Box<dyn Any + Send + Sync>,
    ) -> io::Result<Option<SledTables>> {
        if !SledTables::back_up(dir, to)? {
            return Ok(None);
        }
        let config = sled::Config::new().path(to).cache_capacity(CACHE_BYTES).flush_every_ms(None);
        let durable = Durable { dir: to.to_owned(), sync: durable::sync_files() };
        let tables = SledTables::with(config, dir.display().to_string(), Some(durable))?;
        Ok(Some(SledTables { _scratch: Some(scratch), ..tables }))
    }

    /// The stored value of a site.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn site(&self, site: &str) -> io::Result<Option<Vec<u8>>> {
        self.load(&self.sites, site.as_bytes())
    }

    /// Stores what a round learned about sites, completely or not at all, and once: applying a
    /// round again, as after a restart before the commit, changes nothing.
    ///
    /// # Errors
    /// When the table cannot be written.
    pub fn apply_round(
        &self,
        round: Round,
        sites: impl IntoIterator<Item = (String, Vec<u8>)>,
    ) -> io::Result<()> {
        self.apply(&self.sites, round, sites.into_iter().map(|(site, value)| Ok((site.into_bytes(), value))))
    }

    /// Counts of the dates in an origin's sitemaps and feeds.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn lastmods(&self, origin: &Origin) -> io::Result<LastmodCounts> {
        self.counts(&self.lastmods, origin)
    }

    fn counts(&self, tree: &sled::Tree, origin: &Origin) -> io::Result<LastmodCounts> {
        match self.load(tree, &put_origin(origin))? {
            Some(bytes) => take_lastmods(&bytes).map_err(|m| self.damaged(m)),
            None => Ok(LastmodCounts::default()),
        }
    }

    /// Adds the counts of a round, once like [`SledTables::apply_round`].
    ///
    /// # Errors
    /// When the table cannot be read or written.
    pub fn apply_lastmods(
        &self,
        round: Round,
        counted: impl IntoIterator<Item = (Origin, LastmodCounts)>,
    ) -> io::Result<()> {
        self.apply_counts(&self.lastmods, round, counted)
    }

    fn apply_counts(
        &self,
        tree: &sled::Tree,
        round: Round,
        counted: impl IntoIterator<Item = (Origin, LastmodCounts)>,
    ) -> io::Result<()> {
        let sum = |(origin, counts): (Origin, LastmodCounts)| {
            Ok((put_origin(&origin), put_lastmods(&self.counts(tree, &origin)?.and(counts))))
        };
        self.apply(tree, round, counted.into_iter().map(sum))
    }

    /// The stored URL patterns of an origin.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn traps(&self, origin: &Origin) -> io::Result<Option<Vec<u8>>> {
        self.load(&self.traps, &put_origin(origin))
    }

    /// Stores the URL patterns of an origin. The value itself contains the last round, so that no
    /// round is counted twice.
    ///
    /// # Errors
    /// When the table cannot be written.
    pub fn keep_traps(&self, origin: &Origin, value: &[u8]) -> io::Result<()> {
        self.store(&self.traps, &put_origin(origin), value)
    }

    /// Rounds that dropped links to an origin.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn dropped_links(&self, origin: &Origin) -> io::Result<DropCounts> {
        match self.load(&self.dropped_links, &put_origin(origin))? {
            Some(bytes) => take_drop_counts(&bytes).map_err(|m| self.damaged(m)),
            None => Ok(DropCounts::default()),
        }
    }

    /// Adds to them.
    ///
    /// # Errors
    /// When the table cannot be read or written.
    pub fn add_dropped_links(&self, origin: &Origin, more: DropCounts) -> io::Result<()> {
        let DropCounts { linked, listed } = self.dropped_links(origin)?;
        let mut bytes = Vec::new();
        bytes.put_varint(linked.saturating_add(more.linked));
        bytes.put_varint(listed.saturating_add(more.listed));
        self.store(&self.dropped_links, &put_origin(origin), &bytes)
    }

    fn apply(
        &self,
        tree: &sled::Tree,
        round: Round,
        entries: impl Iterator<Item = io::Result<(Vec<u8>, Vec<u8>)>>,
    ) -> io::Result<()> {
        let applied = tree.get(APPLIED).map_err(|e| failed(&self.path, e))?;
        if applied.is_some_and(|bytes| bytes.as_ref() >= &round.0.to_be_bytes()[..]) {
            return Ok(());
        }
        let (mut batch, mut keys) = (sled::Batch::default(), vec![APPLIED.to_vec()]);
        let is_noted = self.written.is_noted();
        for entry in entries {
            let (key, value) = entry?;
            if is_noted {
                keys.push(key.clone());
            }
            batch.insert(key, sealed(&value));
        }
        batch.insert(APPLIED, &round.0.to_be_bytes()[..]);
        tree.apply_batch(batch).map_err(|e| failed(&self.path, e))?;
        self.written.note(tree, keys.iter().map(Vec::as_slice));
        Ok(())
    }

    /// A setting.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn setting(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        self.load(&self.settings, name.as_bytes())
    }

    /// Stores a setting.
    ///
    /// # Errors
    /// When the table cannot be written.
    pub fn set_setting(&self, name: &str, value: &[u8]) -> io::Result<()> {
        self.store(&self.settings, name.as_bytes(), value)
    }

    /// Removes a setting; returns whether there was one.
    ///
    /// # Errors
    /// When the table cannot be written.
    pub fn remove_setting(&self, name: &str) -> io::Result<bool> {
        self.remove_row(&self.settings, name.as_bytes())
    }

    /// Iterates over all hosts that were ever contacted, in no useful order.
    pub fn hosts(&self) -> impl Iterator<Item = io::Result<(Origin, HostState)>> + '_ {
        self.hosts.iter().map(|entry| {
            let (key, value) = entry.map_err(|e| failed(&self.path, e))?;
            self.host(&key, &value)
        })
    }

    /// The origins of one host that were ever contacted, in order.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn hosts_named(&self, host: &str) -> io::Result<Vec<(Origin, HostState)>> {
        let mut found = Vec::new();
        for entry in self.hosts.scan_prefix([host.as_bytes(), &[0]].concat()) {
            let (key, value) = entry.map_err(|e| failed(&self.path, e))?;
            found.push(self.host(&key, &value)?);
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(found)
    }

    fn host(&self, key: &[u8], value: &[u8]) -> io::Result<(Origin, HostState)> {
        let value = opened(value).map_err(|m| self.damaged(m))?;
        let origin = take_origin(key).map_err(|m| self.damaged(m))?;
        Ok((origin, self.whole(key, &value)?))
    }

    /// The state in a row of `hosts`, with the robots.txt that is stored apart from it. If that is missing,
    /// robots.txt is fetched again.
    fn whole(&self, key: &[u8], value: &[u8]) -> io::Result<HostState> {
        let (mut state, is_apart) = take_row(value).map_err(|m| self.damaged(m))?;
        if is_apart {
            match (self.load(&self.robots, key)?, &mut state.robots) {
                (Some(body), Some(robots)) => robots.body = RobotsBody::Rules(body),
                (_, robots) => *robots = None,
            }
        }
        Ok(state)
    }

    /// Makes everything durable: it survives a power cut.
    ///
    /// # Errors
    /// On an error of the disk.
    pub fn flush(&self) -> io::Result<()> {
        let mut flushes = self.flushes.lock().expect("no panic under the lock");
        let number = *flushes + 1;
        self.store(&self.settings, FLUSHES.as_bytes(), &number.to_le_bytes())?;
        self.database.flush().map_err(|e| failed(&self.path, e))?;
        *flushes = number;
        self.durable.as_ref().map_or(Ok(()), |durable| durable.sync(number))
    }

    fn load(&self, tree: &sled::Tree, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        match tree.get(key).map_err(|e| failed(&self.path, e))? {
            Some(value) => opened(&value).map(Some).map_err(|m| self.damaged(m)),
            None => Ok(None),
        }
    }

    fn store(&self, tree: &sled::Tree, key: &[u8], value: &[u8]) -> io::Result<()> {
        tree.insert(key, sealed(value)).map_err(|e| failed(&self.path, e))?;
        self.written.note(tree, [key]);
        Ok(())
    }

    /// Removes a row; returns whether there was one.
    fn remove_row(&self, tree: &sled::Tree, key: &[u8]) -> io::Result<bool> {
        let removed = tree.remove(key).map_err(|e| failed(&self.path, e))?;
        self.written.note(tree, [key]);
        Ok(removed.is_some())
    }

    fn damaged(&self, Malformed(what): Malformed) -> io::Error {
        ruined(&self.path, &format!("an entry: {what}"))
    }
}

/// Rows are older than the last flush.
const LOST: &str = "rows written after a damaged place are lost";

/// sled's error with the folder's name and the operating system's error kind.
fn failed(path: &str, error: sled::Error) -> io::Error {
    let kind = match &error {
        sled::Error::Io(e) => e.kind(),
        _ => io::ErrorKind::Other,
    };
    match error {
        sled::Error::Corruption { .. } => ruined(path, "its bytes differ from what was written"),
        other => io::Error::new(kind, format!("{path}: {other}")),
    }
}

/// An error that says what can be done, and what that costs.
fn ruined(path: &str, what: &str) -> io::Error {
    let text = format!(
        "{path}: damaged: {what}; move the folder away and restart with the seeds. Hosts and sites are then \
         learned again; takedowns, blocks and pauses are stored elsewhere \
         (`recrawl repository verify --salvage OUT` saves the readable rows)"
    );
    io::Error::new(io::ErrorKind::InvalidData, text)
}

fn sealed(value: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    put_frame(&mut frame, FileKind::Table, value);
    frame
}

fn opened(frame: &[u8]) -> Result<Vec<u8>, Malformed> {
    open_frame(frame, FileKind::Table, &mut Vec::new()).map(<[u8]>::to_vec)
}

fn take_drop_counts(bytes: &[u8]) -> Result<DropCounts, Malformed> {
    let mut take = Take(bytes);
    let counts = DropCounts { linked: take.varint()?, listed: take.varint()? };
    take.end().map(|()| counts)
}

fn put_origin(origin: &Origin) -> Vec<u8> {
    let mut key = origin.host.as_bytes().to_vec();
    key.push(0);
    key.extend_from_slice(&origin.port.to_be_bytes());
    key.push(origin.scheme as u8);
    key
}

fn take_origin(key: &[u8]) -> Result<Origin, Malformed> {
    let wrong = Malformed("its key is not an origin");
    let (host, rest) = key.split_last_chunk::<4>().ok_or(wrong)?;
    let scheme = match (rest[0], rest[3]) {
        (0, 0) => recrawl_types::Scheme::Http,
        (0, 1) => recrawl_types::Scheme::Https,
        _ => return Err(wrong),
    };
    let host = std::str::from_utf8(host).map_err(|_| wrong)?;
    Ok(Origin { scheme, host: host.into(), port: u16::from_be_bytes([rest[1], rest[2]]) })
}

/// The bytes of an origin's state, whole.
pub fn put_host(state: &HostState) -> Vec<u8> {
    put_row(state, false)
}

/// The row of an origin. The rules of its robots.txt may be stored apart from it.
fn put_row(state: &HostState, rules_apart: bool) -> Vec<u8> {
    let mut out = Vec::new();
    for number in [
        u64::from(state.failures),
        state.back_off_until,
        state.requests,
        state.robots_denied,
        state.last_request,
    ] {
        out.put_varint(number);
    }
    out.put_u8(u8::from(state.robots.is_some()));
    if let Some(robots) = &state.robots {
        out.put_varint(robots.fetched);
        // 0 stands for none, so a time has one added.
        out.put_varint(robots.unreachable_since.map_or(0, |at| at + 1));
        match &robots.body {
            RobotsBody::AllowAll => out.put_u8(0),
            RobotsBody::DisallowAll(None) => out.put_u8(1),
            RobotsBody::DisallowAll(Some(why)) => {
                out.put_u8(3);
                out.put_varint(why.code() + 1);
            }
            RobotsBody::Rules(_) if rules_apart => out.put_u8(4),
            RobotsBody::Rules(body) => {
                out.put_u8(2);
                out.put_bytes(body);
            }
        }
    }
    out.put_varint(state.hold_until);
    out.put_varint(u64::from(state.slow_down));
    out.put_varint(u64::from(state.latency));
    for validator in state.robots.iter().flat_map(|r| [&r.validators.etag, &r.validators.last_modified]) {
        out.put_bytes(validator.as_deref().unwrap_or_default().as_bytes());
    }
    // Most hosts have none of these. A row without them is as short as in older versions.
    if state.pace != CyclePace::default() {
        out.put_u8(PACE);
        out.put_bytes(&put_pace(&state.pace));
    }
    if state.trust != ValidatorTrust::default() {
        out.put_u8(TRUST);
        out.put_bytes(&put_trust(&state.trust));
    }
    if state.rules_changed > 0 {
        out.put_u8(RULES_CHANGED);
        out.put_bytes(&state.rules_changed.to_le_bytes());
    }
    if let Some(path) = &state.detour_path {
        out.put_u8(DETOUR_PATH);
        out.put_bytes(path.as_bytes());
    }
    if state.vain_detours > 0 {
        out.put_u8(VAIN_DETOURS);
        out.put_bytes(&state.vain_detours.to_le_bytes());
    }
    out
}

/// Tags of optional fields, which follow the common ones; each has its length.
const TRUST: u8 = 1;
/// The requests of the last cycle.
const PACE: u8 = 2;
/// When robots.txt changed.
const RULES_CHANGED: u8 = 3;
/// The path by which a detour for a cookie led back.
const DETOUR_PATH: u8 = 4;
/// Detours by it that did not.
const VAIN_DETOURS: u8 = 5;

fn put_pace(pace: &CyclePace) -> Vec<u8> {
    let mut out = Vec::new();
    let CyclePace { cycle, requests, first, last, promised } = *pace;
    for number in [u64::from(cycle.0), u64::from(requests), first, last, promised] {
        out.put_varint(number);
    }
    out
}

fn take_pace(bytes: &[u8]) -> Result<CyclePace, Malformed> {
    let mut take = Take(bytes);
    let mut pace = CyclePace {
        cycle: Cycle(take.narrow()?),
        requests: take.narrow()?,
        first: take.varint()?,
        last: take.varint()?,
        promised: 0,
    };
    // Entries from before delays were counted end here.
    if !take.0.is_empty() {
        pace.promised = take.varint()?;
    }
    take.end()?;
    Ok(pace)
}

fn put_trust(trust: &ValidatorTrust) -> Vec<u8> {
    let mut out = vec![trust.belief as u8];
    let counts = [trust.shown, trust.hidden, trust.vain].map(u64::from);
    for number in [u64::from(trust.since.0), u64::from(trust.as_of.0)].into_iter().chain(counts) {
        out.put_varint(number);
    }
    out
}

fn take_trust(bytes: &[u8]) -> Result<ValidatorTrust, Malformed> {
    let mut take = Take(bytes);
    let belief = match take.u8()? {
        0 => Belief::Believed,
        1 => Belief::Lying,
        2 => Belief::Vain,
        _ => return Err(Malformed("unknown trust in validators")),
    };
    let trust = ValidatorTrust {
        belief,
        since: Cycle(take.narrow()?),
        as_of: Round(take.narrow()?),
        shown: take.narrow()?,
        hidden: take.narrow()?,
        vain: take.narrow()?,
    };
    take.end()?;
    Ok(trust)
}

/// Parses the state of an origin from all of `bytes`.
///
/// # Errors
/// When they were not written by [`put_host`], in this version or an older one.
pub fn take_host(bytes: &[u8]) -> Result<HostState, Malformed> {
    take_row(bytes).map(|(state, _)| state)
}

/// The same, and whether the rules of robots.txt, here empty, are stored apart.
fn take_row(bytes: &[u8]) -> Result<(HostState, bool), Malformed> {
    let mut is_apart = false;
    let mut take = Take(bytes);
    let mut state = HostState {
        failures: take.narrow()?,
        back_off_until: take.varint()?,
        requests: take.varint()?,
        robots_denied: take.varint()?,
        last_request: take.varint()?,
        ..HostState::default()
    };
    if take.u8()? == 1 {
        let fetched = take.varint()?;
        let unreachable_since = take.varint()?.checked_sub(1);
        let body = match take.u8()? {
            0 => RobotsBody::AllowAll,
            1 => RobotsBody::DisallowAll(None),
            2 => RobotsBody::Rules(take.bytes()?.to_vec()),
            4 => {
                is_apart = true;
                RobotsBody::Rules(Vec::new())
            }
            3 => {
                let why = take.varint()?.checked_sub(1).and_then(Failure::of_code);
                RobotsBody::DisallowAll(Some(why.ok_or(Malformed("unknown failure"))?))
            }
            _ => return Err(Malformed("unknown kind of robots.txt")),
        };
        let validators = Validators::default();
        state.robots = Some(RobotsState { fetched, unreachable_since, body, validators });
    }
    // An entry of format version 1 ends here.
    if take.0.is_empty() {
        return Ok((state, is_apart));
    }
    state.hold_until = take.varint()?;
    state.slow_down = take.narrow()?;
    state.latency = take.narrow()?;
    if let Some(robots) = &mut state.robots {
        let mut text =
            || std::str::from_utf8(take.bytes()?).map_err(|_| Malformed("a validator is not text"));
        robots.validators = Validators::new(Some(text()?), Some(text()?));
    }
    // An entry of version 2 has nothing more.
    while !take.0.is_empty() {
        match (take.u8()?, take.bytes()?) {
            (TRUST, bytes) => state.trust = take_trust(bytes)?,
            (PACE, bytes) => state.pace = take_pace(bytes)?,
            (RULES_CHANGED, bytes) => {
                let bytes = bytes.try_into().map_err(|_| Malformed("an invalid time"))?;
                state.rules_changed = u64::from_le_bytes(bytes);
            }
            (DETOUR_PATH, bytes) => {
                let path = std::str::from_utf8(bytes).map_err(|_| Malformed("a path is not text"))?;
                state.detour_path = Some(path.into());
            }
            (VAIN_DETOURS, bytes) => {
                let bytes = bytes.try_into().map_err(|_| Malformed("an invalid number of detours"))?;
                state.vain_detours = u32::from_le_bytes(bytes);
            }
            // Written back without a field of a later version, the row would lose it.
            _ => return Err(Malformed("unknown host data")),
        }
    }
    Ok((state, is_apart))
}

fn put_lastmods(counts: &LastmodCounts) -> Vec<u8> {
    let mut out = Vec::new();
    let LastmodCounts { newer_changed, newer_unchanged, same_changed, same_unchanged } = *counts;
    for count in [newer_changed, newer_unchanged, same_changed, same_unchanged] {
        out.put_varint(count.into());
    }
    out
}

fn take_lastmods(bytes: &[u8]) -> Result<LastmodCounts, Malformed> {
    let mut take = Take(bytes);
    let counts = LastmodCounts {
        newer_changed: take.narrow()?,
        newer_unchanged: take.narrow()?,
        same_changed: take.narrow()?,
        same_unchanged: take.narrow()?,
    };
    take.end()?;
    Ok(counts)
}

impl HostTable for SledTables {
    fn load(&self, origin: &Origin) -> io::Result<Option<HostState>> {
        let key = put_origin(origin);
        self.load(&self.hosts, &key)?.map(|row| self.whole(&key, &row)).transpose()
    }

    fn store(&self, origin: &Origin, state: &HostState) -> io::Result<()> {
        let (key, row) = (put_origin(origin), put_row(state, true));
        let rules = state.robots.as_ref().and_then(|robots| match &robots.body {
            RobotsBody::Rules(body) => Some(sealed(body)),
            RobotsBody::AllowAll | RobotsBody::DisallowAll(_) => None,
        });
        let known = self.robots.get(&key).map_err(|e| failed(&self.path, e))?;
        if known.as_deref() == rules.as_deref() {
            return self.store(&self.hosts, &key, &row);
        }
        // Both or neither: else a row could have the rules of another file.
        let both = (&self.hosts, &self.robots).transaction(|(hosts, robots)| {
            hosts.insert(&*key, sealed(&row))?;
            match &rules {
                Some(rules) => robots.insert(&*key, &**rules)?,
                None => robots.remove(&*key)?,
            };
            Ok::<(), ConflictableTransactionError<Infallible>>(())
        });
        both.map_err(|error| match error {
            TransactionError::Storage(error) => failed(&self.path, error),
            TransactionError::Abort(never) => match never {},
        })?;
        self.written.note(&self.hosts, [&key[..]]);
        self.written.note(&self.robots, [&key[..]]);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
