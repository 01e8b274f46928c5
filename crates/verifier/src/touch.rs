//! A touched URL: its combined links, and its visits in log order.

use recrawl_repository::Malformed;
use recrawl_repository::codec::{
    LinkRef, put_expectation, put_number, put_visit, take_expectation_of, take_number, take_visit,
};
use recrawl_types::url::MAX_URL_BYTES;
use recrawl_types::{CanonicalUrl, Cycle, Expectation, Visit, shared_beginning};

/// The combined links and the visits of one URL.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Touch {
    pub links: Option<Links>,
    pub visits: Vec<Visit>,
}

/// The links to one URL, combined. Combining is associative and commutative, so a batch can be cut
/// into runs anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Links {
    /// Number of links and seeds.
    pub seen: u64,
    /// Number of links that count as in-links.
    pub counted: u32,
    /// Minimum number of links from a seed.
    pub depth: u16,
    /// Minimum number of consecutive redirects.
    pub hops: u8,
    /// Does no page link to it, but only a sitemap or feed list it?
    pub listed: bool,
    pub seed: bool,
    /// The newest modification date of the links.
    pub lastmod: u32,
    /// The earliest cycle that found one of them.
    pub since: Cycle,
    /// What they let expect of the target; none without `[focus]`.
    pub expectation: Option<Expectation>,
}

impl Links {
    pub fn from_link(link: &LinkRef<'_>, seed: bool, cycle: Cycle) -> Links {
        let LinkRef { depth, hops, listed, lastmod, expectation, .. } = *link;
        let counted = u32::from(link.counted);
        Links { seen: 1, counted, depth, hops, listed, seed, lastmod, since: cycle, expectation }
    }

    pub fn and(self, other: Links) -> Links {
        Links {
            seen: self.seen + other.seen,
            counted: self.counted.saturating_add(other.counted),
            depth: self.depth.min(other.depth),
            hops: self.hops.min(other.hops),
            listed: self.listed && other.listed,
            seed: self.seed || other.seed,
            lastmod: self.lastmod.max(other.lastmod),
            since: self.since.min(other.since),
            expectation: Expectation::combined(self.expectation, other.expectation),
        }
    }
}

impl Touch {
    pub fn add_links(&mut self, links: Links) {
        self.links = Some(self.links.map_or(links, |known| known.and(links)));
    }

    pub fn add_visit(&mut self, visit: Visit) {
        // A batch rarely visits a page twice, so reserve no spare capacity.
        self.visits.reserve_exact(1);
        self.visits.push(visit);
    }

    /// Memory in bytes, without its key, by an estimate that errs upwards.
    pub fn bytes(&self) -> usize {
        size_of::<Touch>() + self.visits.iter().map(visit_bytes).sum::<usize>()
    }

    /// Adds the links and visits of the same URL from a later part of the log.
    pub fn absorb(&mut self, later: Touch) {
        if let Some(links) = later.links {
            self.add_links(links);
        }
        match self.visits.is_empty() {
            // `extend` would reserve room for four visits.
            true => self.visits = later.visits,
            false => later.visits.into_iter().for_each(|visit| self.add_visit(visit)),
        }
    }
}

/// Memory of a visit in bytes, with its own allocation, by an estimate that errs upwards.
pub(crate) fn visit_bytes(visit: &Visit) -> usize {
    let beside = visit.content.as_ref().map_or(0, |content| {
        let length = |v: &Option<Box<str>>| v.as_ref().map_or(0, |v| v.len() + 16);
        let digests = size_of_val(&*content.merged_links) + 16;
        length(&content.validators.etag) + length(&content.validators.last_modified) + digests
    });
    size_of::<Visit>() + visit.url.key().len() + beside + 32
}

/// First byte of a record: links, links with a seed among them, or a visit.
const LINKS: u8 = 0;
const SEED: u8 = 1;
const VISIT: u8 = 2;
/// In the first byte of links: an expectation follows the numbers.
const HAS_EXPECTATION: u8 = 4;
/// In the same byte: only sitemaps and feeds list the URL.
const LISTED: u8 = 8;
/// In the same byte: the key follows as the number of bytes that it shares with the key of the record
/// before, and the rest.
const NEAR: u8 = 16;

/// Encodes links for a sorted run, where the record before has the key `near`; for the file of waiting
/// links, `near` is empty, so that each record has its whole key.
pub(crate) fn put_links(out: &mut Vec<u8>, near: &[u8], key: &[u8], links: &Links) {
    let shared = shared_beginning(near, key);
    let Links { seen, counted, depth, hops, listed, seed, lastmod, since, expectation } = *links;
    let has_expectation = expectation.map_or(0, |_| HAS_EXPECTATION);
    let is_listed = if listed { LISTED } else { 0 };
    let is_near = if shared > 0 { NEAR } else { 0 };
    out.push(if seed { SEED } else { LINKS } | has_expectation | is_listed | is_near);
    for number in [seen, counted.into(), depth.into(), hops.into(), lastmod.into(), since.0.into()] {
        put_number(out, number);
    }
    expectation.into_iter().for_each(|expectation| put_expectation(out, expectation));
    if shared > 0 {
        put_number(out, shared as u64);
    }
    put_number(out, (key.len() - shared) as u64);
    out.extend_from_slice(&key[shared..]);
}

/// Encodes a visit for a sorted run.
pub(crate) fn put_one_visit(out: &mut Vec<u8>, visit: &Visit) {
    out.push(VISIT);
    put_visit(out, visit);
}

/// Decodes one record and writes its key to `key`; `near` is the key of the record before, or empty. Records
/// come in key order and mostly share the previous one's origin, which is then not checked again.
pub(crate) fn take(record: &[u8], near: &[u8], key: &mut Vec<u8>) -> Result<Touch, Malformed> {
    let (&kind, mut rest) = record.split_first().ok_or(Malformed("it is empty"))?;
    match kind & !(HAS_EXPECTATION | LISTED | NEAR) {
        LINKS | SEED => {
            let rest = &mut rest;
            let links = take_links(kind, rest)?;
            let shared: usize = if kind & NEAR == 0 { 0 } else { take_number(rest)? };
            let length: usize = take_number(rest)?;
            let shared =
                near.get(..shared).ok_or(Malformed("a key shares more bytes than the last one has"))?;
            key.clear();
            key.extend_from_slice(shared);
            key.extend_from_slice(rest);
            if length != rest.len() || !is_key_after(near, key) {
                return Err(Malformed("a key is not a URL"));
            }
            Ok(Touch { links: Some(links), visits: Vec::new() })
        }
        VISIT if kind == VISIT => {
            let visit = take_visit(rest)?;
            key.clear();
            key.extend_from_slice(visit.url.key());
            Ok(Touch { links: None, visits: vec![visit] })
        }
        _ => Err(Malformed("neither links nor a visit")),
    }
}

/// Takes the links of a record whose first byte is `kind`, up to its key.
fn take_links(kind: u8, rest: &mut &[u8]) -> Result<Links, Malformed> {
    Ok(Links {
        seen: take_number(rest)?,
        counted: take_number(rest)?,
        depth: take_number(rest)?,
        hops: take_number(rest)?,
        lastmod: take_number(rest)?,
        since: take_number(rest).map(Cycle)?,
        listed: kind & LISTED > 0,
        seed: kind & SEED > 0,
        expectation: match kind & HAS_EXPECTATION {
            0 => None,
            _ => Some(take_expectation_of(rest)?),
        },
    })
}

/// Writes the URL of a waiting link to `key`.
///
/// # Errors
/// When the record is malformed.
pub fn key_of_waiting(record: &[u8], key: &mut Vec<u8>) -> Result<(), Malformed> {
    take(record, b"", key).map(drop)
}

/// Decodes a record of links whose key is empty: it stands elsewhere.
pub(crate) fn take_links_alone(record: &[u8]) -> Result<Links, Malformed> {
    let (&kind, mut rest) = record.split_first().ok_or(Malformed("it is empty"))?;
    if kind & !(HAS_EXPECTATION | LISTED) > SEED {
        return Err(Malformed("no links"));
    }
    let links = take_links(kind, &mut rest)?;
    if rest == [0] { Ok(links) } else { Err(Malformed("more than links")) }
}

/// Whether `key` is a URL's; `before` is one or empty.
fn is_key_after(before: &[u8], key: &[u8]) -> bool {
    if before.is_empty() {
        return CanonicalUrl::is_key(key);
    }
    let home = &before[..=CanonicalUrl::origin_of(before).len()];
    match key.strip_prefix(home) {
        Some(path) => key.len() <= MAX_URL_BYTES && CanonicalUrl::is_path(path),
        None => CanonicalUrl::is_key(key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn links_come_back_and_a_cut_record_is_refused(
            seen in 1u64.., counted: u32, depth: u16, hops: u8, listed: bool, seed: bool, lastmod: u32, since: u32,
            before in prop::sample::select(vec![
                &b""[..], b"example\x01a\0\0\x50\0/", b"example\x01a\0\0\x50\0/p?q=0", b"example\x01a\0\0\x51\0/p", b"com\0\0\x50\0/",
            ]),
            cut in 0usize..1000,
            expected in proptest::option::of((-9.0..9.0f64, any::<u8>(), any::<u32>()))
        ) {
            let url = b"example\x01a\0\0\x50\0/p?q=1".to_vec();
            let expectation = expected.map(|(logit, tunnel, group)| Expectation::new(logit, tunnel, group));
            let since = Cycle(since);
            let links = Links { seen, counted, depth, hops, listed, seed, lastmod, since, expectation };
            for near in [b"", before] {
                let (mut bytes, mut key) = (Vec::new(), b"old".to_vec());
                put_links(&mut bytes, near, &url, &links);
                prop_assert_eq!(take(&bytes, before, &mut key), Ok(Touch { links: Some(links), visits: Vec::new() }));
                prop_assert_eq!(&key, &url);
                prop_assert!(take(&bytes[..cut % bytes.len()], before, &mut key).is_err());
            }
        }

        #[test]
        fn what_the_key_before_says_of_an_origin_is_what_a_look_at_all_of_it_says(
            before in "(com\u{0}|a\u{1}b\u{0})P[\u{0}\u{1}]/[a-c]{0,2}",
            key in "(com\u{0}|a\u{1}b\u{0}|\u{0})P[\u{0}-\u{2}]/[a-c \u{0}]{0,3}",
        ) {
            let [before, key] = [before, key].map(|text| text.replacen('P', "\0\u{50}", 1).into_bytes());
            prop_assert!(CanonicalUrl::is_key(&before));
            prop_assert_eq!(is_key_after(&before, &key), CanonicalUrl::is_key(&key));
        }

        #[test]
        fn bytes_of_any_kind_are_a_record_or_refused(
            bytes in proptest::collection::vec(any::<u8>(), 0..80),
            near in prop::sample::select(vec![&b""[..], b"example\x01a\0\0\x50\0/p"]),
        ) {
            let mut key = Vec::new();
            if let Ok(touch) = take(&bytes, near, &mut key) {
                prop_assert!(CanonicalUrl::is_key(&key));
                prop_assert_eq!(touch.links.is_some(), touch.visits.is_empty());
            }
        }
    }
}
