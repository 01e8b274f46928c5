//! Pings that wait for a visit, and how often the pings of each origin proved right.

use super::{APPLIED, SledTables, failed, opened, take_lastmods, take_origin};
use crate::file::bytes::{Malformed, Put, Take};
use recrawl_types::{CanonicalUrl, LastmodCounts, Origin, Ping, Round, UrlRules};
use std::io;

impl SledTables {
    /// Counts of the pings of an origin.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn ping_counts(&self, origin: &Origin) -> io::Result<LastmodCounts> {
        self.counts(&self.ping_counts, origin)
    }

    /// Adds the counts of a round, once like [`SledTables::apply_round`].
    ///
    /// # Errors
    /// When the table cannot be read or written.
    pub fn apply_ping_counts(
        &self,
        round: Round,
        counted: impl IntoIterator<Item = (Origin, LastmodCounts)>,
    ) -> io::Result<()> {
        self.apply_counts(&self.ping_counts, round, counted)
    }

    /// The counts of all origins that pinged.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn all_ping_counts(&self) -> io::Result<Vec<(Origin, LastmodCounts)>> {
        let rows = self.ping_counts.iter().filter(|row| row.as_ref().map_or(true, |(key, _)| key != APPLIED));
        rows.map(|row| {
            let (key, value) = row.map_err(|e| failed(&self.path, e))?;
            let counts = opened(&value).and_then(|value| take_lastmods(&value));
            take_origin(&key).and_then(|origin| Ok((origin, counts?))).map_err(|m| self.damaged(m))
        })
        .collect()
    }

    /// The pings that wait for a visit.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn pings(&self) -> io::Result<Vec<(CanonicalUrl, Ping)>> {
        let rows = self.pings.iter().map(|row| {
            let (key, value) = row.map_err(|e| failed(&self.path, e))?;
            let ping = opened(&value).and_then(|value| take_ping(&value));
            url_of_key(&key).and_then(|url| Ok((url, ping?))).map_err(|m| self.damaged(m))
        });
        rows.collect()
    }

    /// The pings of a page that wait for a visit, if any.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn ping(&self, url: &CanonicalUrl) -> io::Result<Option<Ping>> {
        let value = self.load(&self.pings, url.to_string().as_bytes())?;
        value.map(|value| take_ping(&value).map_err(|m| self.damaged(m))).transpose()
    }

    /// Stores the ping of a page; none removes it.
    ///
    /// # Errors
    /// When the table cannot be written.
    pub fn keep_ping(&self, url: &CanonicalUrl, ping: Option<Ping>) -> io::Result<()> {
        let key = url.to_string();
        match ping {
            Some(ping) => self.store(&self.pings, key.as_bytes(), &put_ping(ping)),
            None => self.remove_row(&self.pings, key.as_bytes()).map(drop),
        }
    }
}

fn put_ping(ping: Ping) -> Vec<u8> {
    let mut out = Vec::new();
    out.put_varint(ping.first);
    out.put_varint(ping.last);
    out.put_u8(ping.count);
    out
}

pub(super) fn take_ping(bytes: &[u8]) -> Result<Ping, Malformed> {
    let mut take = Take(bytes);
    let ping = Ping { first: take.varint()?, last: take.varint()?, count: take.u8()? };
    take.end()?;
    Ok(ping)
}

pub(super) fn url_of_key(key: &[u8]) -> Result<CanonicalUrl, Malformed> {
    let url = std::str::from_utf8(key).ok().and_then(|text| UrlRules::keep_all().canonicalize(text).ok());
    url.ok_or(Malformed("a key is not a URL"))
}
