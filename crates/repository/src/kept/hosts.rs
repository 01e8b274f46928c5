//! What the hosts of committed rounds were asked: a small file a round, in the order of URLs, as
//! that of its visits ([`kept_visits`](crate::kept::visits)). A site owner's report is made of them.

use crate::file::bytes::{Malformed, Put, Take};
use crate::file::error::ReadError;
use crate::generation::codec::take_url;
use crate::kept::entries::{StoredEntries, StoredEntry};
use crate::kept::file::StoredKind;
use recrawl_types::{CanonicalUrl, HostRequests, Minute, Origin, RobotsInForce, Scheme, ShortestGap};
use std::borrow::Cow;

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

impl StoredEntry for StoredHost {
    const KIND: StoredKind = StoredKind::Hosts;
    const REPEATS: bool = false;
    const MISCOUNT: &'static str = "the number of hosts does not match";

    fn url(&self) -> Cow<'_, CanonicalUrl> {
        Cow::Owned(self.home())
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_requests(out, &self.requests);
        put_robots(out, &self.robots);
    }

    fn take(take: &mut Take<'_>, key: &mut Vec<u8>) -> Result<StoredHost, Malformed> {
        let host = take_url(take, key)?.host().into();
        Ok(StoredHost { host, requests: take_requests(take)?, robots: take_robots(take)? })
    }
}

/// The hosts of one round, in the order of URLs. Memory: a frame, whatever their number.
pub type StoredHosts = StoredEntries<StoredHost>;

impl StoredHosts {
    /// The requests to a host; none if there were none. All hosts up to it are taken.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn find(&mut self, host: &str) -> Result<Option<StoredHost>, ReadError> {
        while let Some(kept) = self.next_entry()? {
            if *kept.host == *host {
                return Ok(Some(kept));
            }
        }
        Ok(None)
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

#[cfg(test)]
mod tests;
