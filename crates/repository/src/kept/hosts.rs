//! What the hosts of committed rounds were asked: a small file a round, in the order of URLs, as
//! that of its visits ([`kept_visits`](crate::kept::visits)). A site owner's report is made of them.

use crate::file::bytes::{Malformed, Put, Take};
use crate::file::error::{CommitError, ReadError, WriteError};
use crate::file::format::{FileKind, UNFINISHED};
use crate::file::frames::{FrameReader, FrameWriter};
use crate::generation::codec::{put_key, take_url};
use crate::kept::file::StoredKind;
use crate::storage::Storage;
use recrawl_types::{
    CanonicalUrl, DatedRound, HostRequests, Minute, Origin, RobotsInForce, Round, Scheme, ShortestGap,
};

/// A frame is closed when it holds this much.
const FRAME: usize = 64 << 10;

/// What a host was asked in a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredHost {
    /// The host, whatever its schemes and ports.
    pub host: Box<str>,
    /// Its requests.
    pub requests: HostRequests,
    /// The robots.txt of each of its origins that was asked, in the order of scheme and port.
    pub robots: Vec<(Scheme, u16, RobotsInForce)>,
}

impl StoredHost {
    /// Its place among others, and how it is written.
    fn home(&self) -> CanonicalUrl {
        CanonicalUrl::home_of(&Origin { scheme: Scheme::Http, host: self.host.clone(), port: 80 })
    }
}

/// Writes the hosts of a round.
pub(crate) struct StoredHostWriter {
    frames: FrameWriter,
    payload: Vec<u8>,
    last: Option<CanonicalUrl>,
    /// Hosts in `payload`.
    held: u64,
    total: u64,
}

impl StoredHostWriter {
    pub fn create(storage: &dyn Storage, kept: DatedRound) -> Result<StoredHostWriter, WriteError> {
        StoredHostWriter::create_as(storage, &StoredKind::Hosts.file(kept), kept.round)
    }

    pub fn create_as(
        storage: &dyn Storage,
        name: &str,
        round: Round,
    ) -> Result<StoredHostWriter, WriteError> {
        let frames = FrameWriter::create(storage, name, FileKind::StoredHosts, round)?;
        Ok(StoredHostWriter { frames, payload: Vec::new(), last: None, held: 0, total: 0 })
    }

    /// Appends a host, which must come behind the last one.
    pub fn push(&mut self, host: &StoredHost) -> Result<(), WriteError> {
        let home = host.home();
        assert!(self.last.as_ref().is_none_or(|last| *last < home), "{home} is out of order");
        let near = self.last.as_ref().filter(|_| self.held > 0).map_or(&[][..], CanonicalUrl::key);
        put_key(&mut self.payload, near, home.key());
        put_requests(&mut self.payload, &host.requests);
        put_robots(&mut self.payload, &host.robots);
        self.last = Some(home);
        self.held += 1;
        if self.payload.len() >= FRAME { self.close_frame() } else { Ok(()) }
    }

    fn close_frame(&mut self) -> Result<(), WriteError> {
        self.frames.push(&self.payload)?;
        self.payload.clear();
        self.total += std::mem::take(&mut self.held);
        Ok(())
    }

    /// Durable but for its name.
    pub fn finish(&mut self) -> Result<(), WriteError> {
        if self.held > 0 {
            self.close_frame()?;
        }
        // An empty key is no URL's: it says that this is the end, and how many hosts came before it.
        put_key(&mut self.payload, &[], &[]);
        self.payload.put_varint(self.total);
        self.frames.push(&self.payload)?;
        self.frames.sync().map(|_| ())
    }
}

fn put_requests(out: &mut Vec<u8>, requests: &HostRequests) {
    let HostRequests { answers, bytes, first, last, shortest, early, delay, busiest, at_ends } = requests;
    answers.iter().for_each(|answers| out.put_varint(*answers));
    for number in [*bytes, *first, last.saturating_sub(*first), *early, *delay] {
        out.put_varint(number);
    }
    for number in [busiest.at, busiest.requests, at_ends[0], at_ends[1]] {
        out.put_varint(number);
    }
    out.put_u8(u8::from(shortest.is_some()));
    if let Some(ShortestGap { millis, delay }) = shortest {
        out.put_varint(*millis);
        out.put_varint(*delay);
    }
}

fn put_robots(out: &mut Vec<u8>, robots: &[(Scheme, u16, RobotsInForce)]) {
    out.put_varint(robots.len() as u64);
    for (scheme, port, robots) in robots {
        out.put_u8(*scheme as u8);
        out.put_varint((*port).into());
        match robots {
            RobotsInForce::Unknown => out.put_u8(0),
            RobotsInForce::Absent => out.put_u8(1),
            RobotsInForce::Unreachable => out.put_u8(2),
            RobotsInForce::File(digest) => {
                out.put_u8(3);
                out.extend_from_slice(digest);
            }
        }
    }
}

fn take_requests(take: &mut Take<'_>) -> Result<HostRequests, Malformed> {
    let mut requests = HostRequests::default();
    for answers in &mut requests.answers {
        *answers = take.varint()?;
    }
    requests.bytes = take.varint()?;
    requests.first = take.varint()?;
    let last = requests.first.checked_add(take.varint()?);
    requests.last = last.ok_or(Malformed("a time is out of range"))?;
    requests.early = take.varint()?;
    requests.delay = take.varint()?;
    requests.busiest = Minute { at: take.varint()?, requests: take.varint()? };
    requests.at_ends = [take.varint()?, take.varint()?];
    requests.shortest = match take.u8()? {
        0 => None,
        1 => Some(ShortestGap { millis: take.varint()?, delay: take.varint()? }),
        _ => return Err(Malformed("a gap is there or not")),
    };
    Ok(requests)
}

fn take_robots(take: &mut Take<'_>) -> Result<Vec<(Scheme, u16, RobotsInForce)>, Malformed> {
    let mut robots = Vec::new();
    for _ in 0..take.varint()? {
        let scheme = match take.u8()? {
            0 => Scheme::Http,
            1 => Scheme::Https,
            _ => return Err(Malformed("an unknown scheme")),
        };
        let port = take.narrow()?;
        let in_force = match take.u8()? {
            0 => RobotsInForce::Unknown,
            1 => RobotsInForce::Absent,
            2 => RobotsInForce::Unreachable,
            3 => RobotsInForce::File(take.array()?),
            _ => return Err(Malformed("an unknown kind of robots.txt")),
        };
        robots.push((scheme, port, in_force));
    }
    Ok(robots)
}

fn take_host(take: &mut Take<'_>, key: &mut Vec<u8>) -> Result<StoredHost, Malformed> {
    let host = take_url(take, key)?.host().into();
    Ok(StoredHost { host, requests: take_requests(take)?, robots: take_robots(take)? })
}

/// The hosts of a frame, as far as they can be read.
pub(crate) fn hosts_in(payload: &[u8]) -> Vec<StoredHost> {
    let (mut take, mut key, mut hosts) = (Take(payload), Vec::new(), Vec::new());
    while let Ok(host) = take_host(&mut take, &mut key) {
        hosts.push(host);
    }
    hosts
}

/// The hosts of one round, in the order of URLs. Memory: a frame, whatever their number.
pub struct StoredHosts {
    frames: FrameReader,
    /// What is left of the frame being read.
    payload: Vec<u8>,
    taken: usize,
    offset: u64,
    key: Vec<u8>,
    total: u64,
    ended: bool,
}

impl StoredHosts {
    /// None when the round's hosts are not kept.
    pub(crate) fn open(storage: &dyn Storage, kept: DatedRound) -> Result<Option<StoredHosts>, ReadError> {
        let name = StoredKind::Hosts.file(kept);
        let frames = match FrameReader::open(storage, &name, FileKind::StoredHosts, kept.round) {
            Err(e) if e.is_absent() => return Ok(None),
            other => other?,
        };
        let (payload, key) = Default::default();
        Ok(Some(StoredHosts { frames, payload, taken: 0, offset: 0, key, total: 0, ended: false }))
    }

    /// The next host; none at the end.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn next_host(&mut self) -> Result<Option<StoredHost>, ReadError> {
        while !self.ended {
            if self.taken < self.payload.len() {
                let host = self.take();
                return host.map_err(|Malformed(what)| self.frames.damaged(self.offset, what));
            }
            self.offset = self.frames.offset();
            let Some(payload) = self.frames.next_frame()? else {
                return Err(self.frames.damaged(self.offset, "it has no end"));
            };
            self.payload.clear();
            self.payload.extend_from_slice(payload);
            (self.taken, self.key) = (0, Vec::new());
        }
        Ok(None)
    }

    /// What a host was asked; none if nothing. All hosts up to it are taken.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn find(&mut self, host: &str) -> Result<Option<StoredHost>, ReadError> {
        while let Some(kept) = self.next_host()? {
            if *kept.host == *host {
                return Ok(Some(kept));
            }
        }
        Ok(None)
    }

    /// The next host of the frame, or none where the file ends.
    fn take(&mut self) -> Result<Option<StoredHost>, Malformed> {
        let mut take = Take(&self.payload[self.taken..]);
        if self.taken == 0 && self.payload.starts_with(&[0, 0]) {
            take.slice(2)?;
            let total = take.varint()?;
            take.end()?;
            if self.total != total || !self.frames.is_at_end() {
                return Err(Malformed("the number of hosts does not match"));
            }
            self.ended = true;
            return Ok(None);
        }
        let host = take_host(&mut take, &mut self.key)?;
        self.taken = self.payload.len() - take.0.len();
        self.total += 1;
        Ok(Some(host))
    }
}

/// Removes the hosts that are meant from a round's file, by a file written anew and renamed over the old one; gives
/// their number. With `only_count`, nothing is written.
pub(crate) fn remove(
    storage: &dyn Storage,
    kept: DatedRound,
    is_meant: &dyn Fn(&str) -> bool,
    only_count: bool,
) -> Result<u64, CommitError> {
    let read = || StoredHosts::open(storage, kept);
    let mut meant = 0;
    let Some(mut hosts) = read()? else { return Ok(0) };
    while let Some(host) = hosts.next_host()? {
        meant += u64::from(is_meant(&host.host));
    }
    if meant == 0 || only_count {
        return Ok(meant);
    }
    let name = StoredKind::Hosts.file(kept);
    let part = format!("{name}{UNFINISHED}");
    let mut writer = StoredHostWriter::create_as(storage, &part, kept.round)?;
    let Some(mut hosts) = read()? else { return Ok(0) };
    while let Some(host) = hosts.next_host()? {
        if !is_meant(&host.host) {
            writer.push(&host)?;
        }
    }
    writer.finish()?;
    drop(writer);
    storage.rename(&part, &name).map_err(WriteError::during(storage.locate(&part), "rename"))?;
    storage.sync_dir().map_err(WriteError::during(storage.locate(""), "sync"))?;
    Ok(meant)
}

#[cfg(test)]
mod tests;
