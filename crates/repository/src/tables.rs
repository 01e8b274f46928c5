//! What is small and changes at any time, in sled: hosts, noise floors of sites, counts of dates, settings.
//!
//! One entry is one value with a checksum of ours before it, so that damage is noticed here and not
//! where the value is used. Writes reach the disk within about two seconds, and at every [`SledTables::flush`].
//!
//! sled's own flush is not durable: it asks the kernel to write ([`sync_file_range`], which syncs neither the disk's cache nor
//! the length of the file) and syncs on a thread of its own, up to a second later. So [`SledTables::flush`] syncs all
//! files of the folder itself.
//!
//! [`sync_file_range`]: https://man7.org/linux/man-pages/man2/sync_file_range.2.html

use crate::bytes::{Malformed, Put, Take};
use crate::codec::{failure_code, failure_of};
use crate::format::{FileKind, open_frame, put_frame};
use durable::Durable;
use recrawl_types::host::{Pace, RobotsBody, RobotsState};
use recrawl_types::{Belief, Cycle, HostState, HostTable, LastmodCounts, Origin, ValidatorTrust, Validators};
use std::io;
use std::path::Path;
use std::sync::Mutex;

mod damage;
mod durable;
mod takedown;

pub use damage::TablesFound;
pub(crate) use durable::sync_parent;
pub use durable::{SyncFolder, sync_files};
pub use takedown::Forgotten;

/// Memory for cached pages. The tables are read once a host and cycle: more would buy nothing.
const CACHE_BYTES: u64 = 8 << 20;
/// How long a write may wait for the disk, in milliseconds.
const FLUSH_EVERY_MS: u64 = 1000;
/// The setting with the number of flushes.
const FLUSHES: &str = "flushes";
/// The key under which a tree that learns from cycles remembers the last one that was applied.
const APPLIED: &[u8] = b"\0cycle";

/// The tables. One process at a time.
pub struct SledTables {
    path: String,
    /// None for tables that nothing is to outlive.
    durable: Option<Durable>,
    /// Flushes so far. Held while one is made.
    flushes: Mutex<u64>,
    database: sled::Db,
    hosts: sled::Tree,
    sites: sled::Tree,
    lastmods: sled::Tree,
    traps: sled::Tree,
    settings: sled::Tree,
}

impl SledTables {
    /// Opens the tables in folder `dir`, or makes them.
    ///
    /// # Errors
    /// When another process has them, or the disk refuses.
    pub fn open(dir: &Path) -> io::Result<SledTables> {
        SledTables::open_with(dir, durable::sync_files())
    }

    /// The same; `sync` makes the folder's files durable at each [`SledTables::flush`].
    ///
    /// # Errors
    /// As of [`SledTables::open`], and when they cannot be synced.
    pub fn open_with(dir: &Path, sync: SyncFolder) -> io::Result<SledTables> {
        takedown::take_place(dir)?;
        let durable = Durable { dir: dir.to_owned(), sync };
        let is_new = !dir.exists();
        let config =
            sled::Config::new().path(dir).cache_capacity(CACHE_BYTES).flush_every_ms(Some(FLUSH_EVERY_MS));
        let tables = SledTables::with(config, dir.display().to_string(), Some(durable))?;
        if is_new {
            tables.flush()?;
        }
        Ok(tables)
    }

    /// Tables that live as long as the value.
    ///
    /// # Errors
    /// When no temporary folder can be made.
    pub fn temporary() -> io::Result<SledTables> {
        let config = sled::Config::new().temporary(true).cache_capacity(CACHE_BYTES);
        SledTables::with(config, "temporary".into(), None)
    }

    fn with(config: sled::Config, path: String, durable: Option<Durable>) -> io::Result<SledTables> {
        let tree = |database: &sled::Db, name| database.open_tree(name).map_err(|e| failed(&path, e));
        // sled panics on some damage.
        let opened = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let database = config.open().map_err(|e| failed(&path, e))?;
            let trees = ["hosts", "sites", "lastmods", "traps", "settings"].map(|name| tree(&database, name));
            Ok((database, trees))
        }));
        let opened = opened.unwrap_or_else(|_| Err(ruined(&path, "its bytes are not what was written")));
        let (database, [hosts, sites, lastmods, traps, settings]) = opened?;
        let (hosts, sites, lastmods, traps, settings) = (hosts?, sites?, lastmods?, traps?, settings?);
        let known = durable.as_ref().map_or(Ok(0), |durable| durable::flushes(&durable.dir));
        let known = known.map_err(|_| ruined(&path, "the number of its flushes"))?;
        let row = settings.get(FLUSHES).map_err(|e| failed(&path, e))?;
        let flushes = row.and_then(|row| durable::number_in(&row)).unwrap_or(0);
        if flushes < known {
            return Err(ruined(&path, LOST));
        }
        let flushes = Mutex::new(flushes);
        Ok(SledTables { path, durable, flushes, database, hosts, sites, lastmods, traps, settings })
    }

    /// What is kept of a site.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn site(&self, site: &str) -> io::Result<Option<Vec<u8>>> {
        self.load(&self.sites, site.as_bytes())
    }

    /// Keeps what a cycle taught about sites, all of it or nothing, once: applying a cycle again, as a
    /// restart between this and the commit does, changes nothing.
    ///
    /// # Errors
    /// When the table cannot be written.
    pub fn apply_cycle(
        &self,
        cycle: Cycle,
        sites: impl IntoIterator<Item = (String, Vec<u8>)>,
    ) -> io::Result<()> {
        self.apply(&self.sites, cycle, sites.into_iter().map(|(site, value)| Ok((site.into_bytes(), value))))
    }

    /// What is counted of the dates that an origin's sitemaps and feeds give.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn lastmods(&self, origin: &Origin) -> io::Result<LastmodCounts> {
        match self.load(&self.lastmods, &put_origin(origin))? {
            Some(bytes) => take_lastmods(&bytes).map_err(|m| self.damaged(m)),
            None => Ok(LastmodCounts::default()),
        }
    }

    /// Adds what a cycle counted, in the way of [`SledTables::apply_cycle`].
    ///
    /// # Errors
    /// When the table cannot be read or written.
    pub fn apply_lastmods(
        &self,
        cycle: Cycle,
        counted: impl IntoIterator<Item = (Origin, LastmodCounts)>,
    ) -> io::Result<()> {
        let sum = |(origin, counts): (Origin, LastmodCounts)| {
            Ok((put_origin(&origin), put_lastmods(&self.lastmods(&origin)?.and(counts))))
        };
        self.apply(&self.lastmods, cycle, counted.into_iter().map(sum))
    }

    /// What is kept of the patterns of an origin's addresses.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn traps(&self, origin: &Origin) -> io::Result<Option<Vec<u8>>> {
        self.load(&self.traps, &put_origin(origin))
    }

    /// Keeps what a cycle taught about the patterns of an origin's addresses. The value says by itself which
    /// cycle was the last, so that one is not counted twice.
    ///
    /// # Errors
    /// When the table cannot be written.
    pub fn keep_traps(&self, origin: &Origin, value: &[u8]) -> io::Result<()> {
        self.store(&self.traps, &put_origin(origin), value)
    }

    fn apply(
        &self,
        tree: &sled::Tree,
        cycle: Cycle,
        entries: impl Iterator<Item = io::Result<(Vec<u8>, Vec<u8>)>>,
    ) -> io::Result<()> {
        let applied = tree.get(APPLIED).map_err(|e| failed(&self.path, e))?;
        if applied.is_some_and(|bytes| bytes.as_ref() >= &cycle.0.to_be_bytes()[..]) {
            return Ok(());
        }
        let mut batch = sled::Batch::default();
        for entry in entries {
            let (key, value) = entry?;
            batch.insert(key, sealed(&value));
        }
        batch.insert(APPLIED, &cycle.0.to_be_bytes()[..]);
        tree.apply_batch(batch).map_err(|e| failed(&self.path, e))
    }

    /// A setting.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn setting(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        self.load(&self.settings, name.as_bytes())
    }

    /// Keeps a setting.
    ///
    /// # Errors
    /// When the table cannot be written.
    pub fn set_setting(&self, name: &str, value: &[u8]) -> io::Result<()> {
        self.store(&self.settings, name.as_bytes(), value)
    }

    /// Removes a setting; was there one?
    ///
    /// # Errors
    /// When the table cannot be written.
    pub fn remove_setting(&self, name: &str) -> io::Result<bool> {
        self.settings.remove(name).map(|old| old.is_some()).map_err(|e| failed(&self.path, e))
    }

    /// Walks all hosts that were ever asked anything, in no useful order.
    pub fn hosts(&self) -> impl Iterator<Item = io::Result<(Origin, HostState)>> + '_ {
        self.hosts.iter().map(|entry| {
            let (key, value) = entry.map_err(|e| failed(&self.path, e))?;
            self.host(&key, &value)
        })
    }

    /// The origins of one host that were ever asked anything, in order.
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
        Ok((origin, take_host(&value).map_err(|m| self.damaged(m))?))
    }

    /// Makes everything durable: after a power cut it is there.
    ///
    /// # Errors
    /// When the disk refuses.
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
        tree.insert(key, sealed(value)).map(drop).map_err(|e| failed(&self.path, e))
    }

    fn damaged(&self, Malformed(what): Malformed) -> io::Error {
        ruined(&self.path, &format!("an entry: {what}"))
    }
}

/// Rows are older than what was flushed.
const LOST: &str = "rows that were written behind a damaged place are lost";

/// sled's error with the folder's name and the operating system's own kind.
fn failed(path: &str, error: sled::Error) -> io::Error {
    let kind = match &error {
        sled::Error::Io(e) => e.kind(),
        _ => io::ErrorKind::Other,
    };
    match error {
        sled::Error::Corruption { .. } => ruined(path, "its bytes are not what was written"),
        other => io::Error::new(kind, format!("{path}: {other}")),
    }
}

/// Says what can be done, and what that costs.
fn ruined(path: &str, what: &str) -> io::Error {
    let text = format!(
        "{path}: damaged: {what}; move the folder away and start again, with the seeds: what was learned of hosts and sites is \
         learned anew, and what was taken down, blocked or paused stands elsewhere (`recrawl repository verify --salvage OUT` \
         saves the rows that can be read)"
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

fn put_origin(origin: &Origin) -> Vec<u8> {
    let mut key = origin.host.as_bytes().to_vec();
    key.push(0);
    key.extend_from_slice(&origin.port.to_be_bytes());
    key.push(origin.scheme as u8);
    key
}

fn take_origin(key: &[u8]) -> Result<Origin, Malformed> {
    let wrong = Malformed("its key is no origin");
    let (host, rest) = key.split_last_chunk::<4>().ok_or(wrong)?;
    let scheme = match (rest[0], rest[3]) {
        (0, 0) => recrawl_types::Scheme::Http,
        (0, 1) => recrawl_types::Scheme::Https,
        _ => return Err(wrong),
    };
    let host = std::str::from_utf8(host).map_err(|_| wrong)?;
    Ok(Origin { scheme, host: host.into(), port: u16::from_be_bytes([rest[1], rest[2]]) })
}

/// What is remembered of an origin, as bytes.
pub fn put_host(state: &HostState) -> Vec<u8> {
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
        out.put_varint(robots.unreachable_since.map_or(0, |at| at + 1));
        match &robots.body {
            RobotsBody::AllowAll => out.put_u8(0),
            RobotsBody::DisallowAll(None) => out.put_u8(1),
            RobotsBody::DisallowAll(Some(why)) => {
                out.put_u8(3);
                out.put_varint(failure_code(*why));
            }
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
    if state.pace != Pace::default() {
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
    out
}

/// Behind what every host has: a tag, and as `bytes` what few hosts have.
const TRUST: u8 = 1;
/// The requests of the last cycle.
const PACE: u8 = 2;
/// When robots.txt changed.
const RULES_CHANGED: u8 = 3;

fn put_pace(pace: &Pace) -> Vec<u8> {
    let mut out = Vec::new();
    let Pace { cycle, requests, first, last, promised } = *pace;
    for number in [u64::from(cycle.0), u64::from(requests), first, last, promised] {
        out.put_varint(number);
    }
    out
}

fn take_pace(bytes: &[u8]) -> Result<Pace, Malformed> {
    let mut take = Take(bytes);
    let mut pace = Pace {
        cycle: Cycle(take.narrow()?),
        requests: take.narrow()?,
        first: take.varint()?,
        last: take.varint()?,
        promised: 0,
    };
    // One from before delays were counted ends here.
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
        _ => return Err(Malformed("validators are taken for something unknown")),
    };
    let trust = ValidatorTrust {
        belief,
        since: Cycle(take.narrow()?),
        as_of: Cycle(take.narrow()?),
        shown: take.narrow()?,
        hidden: take.narrow()?,
        vain: take.narrow()?,
    };
    take.end()?;
    Ok(trust)
}

/// Reads the state of an origin that is all of `bytes`.
///
/// # Errors
/// When the bytes are not what [`put_host`] wrote, in this version or an older one.
pub fn take_host(bytes: &[u8]) -> Result<HostState, Malformed> {
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
            3 => RobotsBody::DisallowAll(Some(failure_of(take.varint()?)?)),
            _ => return Err(Malformed("robots.txt of an unknown kind")),
        };
        let validators = Validators::default();
        state.robots = Some(RobotsState { fetched, unreachable_since, body, validators });
    }
    // An entry of format version 1 ends here.
    if take.0.is_empty() {
        return Ok(state);
    }
    state.hold_until = take.varint()?;
    state.slow_down = take.narrow()?;
    state.latency = take.narrow()?;
    if let Some(robots) = &mut state.robots {
        let mut text =
            || std::str::from_utf8(take.bytes()?).map_err(|_| Malformed("a validator that is no text"));
        robots.validators = Validators::new(Some(text()?), Some(text()?));
    }
    // An entry of version 2 has nothing more.
    while !take.0.is_empty() {
        match (take.u8()?, take.bytes()?) {
            (TRUST, bytes) => state.trust = take_trust(bytes)?,
            (PACE, bytes) => state.pace = take_pace(bytes)?,
            (RULES_CHANGED, bytes) => {
                let bytes = bytes.try_into().map_err(|_| Malformed("a time that is none"))?;
                state.rules_changed = u64::from_le_bytes(bytes);
            }
            _ => return Err(Malformed("something unknown is kept of a host")),
        }
    }
    Ok(state)
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
        match self.load(&self.hosts, &put_origin(origin))? {
            Some(bytes) => take_host(&bytes).map(Some).map_err(|m| self.damaged(m)),
            None => Ok(None),
        }
    }

    fn store(&self, origin: &Origin, state: &HostState) -> io::Result<()> {
        self.store(&self.hosts, &put_origin(origin), &put_host(state))
    }
}

#[cfg(test)]
mod tests;
