//! All that a batch says of one URL: its links combined, its visits in the order of the log.

use recrawl_repository::Malformed;
use recrawl_repository::codec::{put_link, put_visit, take_link, take_visit};
use recrawl_types::{CanonicalUrl, Link, Visit};

/// All that a batch says of one URL.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Touch {
    pub links: Option<Links>,
    pub visits: Vec<Visit>,
}

/// The links to one URL, combined. Combining is associative and does not depend on order, so a batch
/// may be cut into runs anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Links {
    /// How many there are.
    pub seen: u64,
    /// How many of them count as in-links.
    pub counted: u32,
    /// The fewest links from a seed.
    pub depth: u16,
    /// The fewest redirects in a row.
    pub hops: u8,
    /// Is a seed among them?
    pub seed: bool,
    /// The newest date of modification that one of them carries.
    pub lastmod: u32,
}

impl Links {
    pub fn of(link: &Link, seed: bool) -> Links {
        let Link { depth, hops, lastmod, .. } = *link;
        Links { seen: 1, counted: u32::from(link.counted), depth, hops, seed, lastmod }
    }

    fn and(self, other: Links) -> Links {
        Links {
            seen: self.seen + other.seen,
            counted: self.counted.saturating_add(other.counted),
            depth: self.depth.min(other.depth),
            hops: self.hops.min(other.hops),
            seed: self.seed || other.seed,
            lastmod: self.lastmod.max(other.lastmod),
        }
    }
}

impl Touch {
    pub fn add_links(&mut self, links: Links) {
        self.links = Some(self.links.map_or(links, |known| known.and(links)));
    }

    pub fn add_visit(&mut self, visit: Visit) {
        // A page is visited once in a batch, hardly ever twice: no room for more.
        self.visits.reserve_exact(1);
        self.visits.push(visit);
    }

    /// Adds what a later part of the log says of the same URL.
    pub fn absorb(&mut self, later: Touch) {
        if let Some(links) = later.links {
            self.add_links(links);
        }
        self.visits.extend(later.visits);
    }
}

const LINKS: u8 = 0;
const VISIT: u8 = 1;
/// Tag, `seen`, `counted`, `seed`; the link follows.
const LINKS_HEAD: usize = 1 + 8 + 4 + 1;

/// The form of links in a sorted run.
pub(crate) fn put_links(out: &mut Vec<u8>, url: CanonicalUrl, links: &Links) {
    out.push(LINKS);
    out.extend_from_slice(&links.seen.to_le_bytes());
    out.extend_from_slice(&links.counted.to_le_bytes());
    out.push(u8::from(links.seed));
    let Links { depth, hops, lastmod, .. } = *links;
    put_link(out, &Link { url, depth, hops, counted: false, lastmod });
}

/// The form of a visit in a sorted run.
pub(crate) fn put_one_visit(out: &mut Vec<u8>, visit: &Visit) {
    out.push(VISIT);
    put_visit(out, visit);
}

/// Takes back one record of a sorted run.
pub(crate) fn take(record: &[u8]) -> Result<(CanonicalUrl, Touch), Malformed> {
    match record.first() {
        Some(&LINKS) => {
            let (head, link) = record.split_at_checked(LINKS_HEAD).ok_or(Malformed("it ends too early"))?;
            let link = take_link(link)?;
            let links = Links {
                seen: u64::from_le_bytes(head[1..9].try_into().expect("eight bytes")),
                counted: u32::from_le_bytes(head[9..13].try_into().expect("four bytes")),
                depth: link.depth,
                hops: link.hops,
                seed: head[13] != 0,
                lastmod: link.lastmod,
            };
            Ok((link.url, Touch { links: Some(links), visits: Vec::new() }))
        }
        Some(&VISIT) => {
            let visit = take_visit(&record[1..])?;
            Ok((visit.url.clone(), Touch { links: None, visits: vec![visit] }))
        }
        _ => Err(Malformed("neither links nor a visit")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use recrawl_types::UrlRules;

    proptest! {
        #[test]
        fn links_come_back_and_a_cut_record_is_refused(
            seen in 1u64.., counted: u32, depth: u16, hops: u8, seed: bool, lastmod: u32, cut in 0usize..1000
        ) {
            let url = UrlRules::keep_all().canonicalize("http://a.example/p?q=1").unwrap();
            let links = Links { seen, counted, depth, hops, seed, lastmod };
            let mut bytes = Vec::new();
            put_links(&mut bytes, url.clone(), &links);
            prop_assert_eq!(take(&bytes), Ok((url, Touch { links: Some(links), visits: Vec::new() })));
            prop_assert!(take(&bytes[..cut % bytes.len()]).is_err());
        }

        #[test]
        fn bytes_of_any_kind_are_a_record_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            if let Ok((url, touch)) = take(&bytes) {
                prop_assert!(CanonicalUrl::from_key(url.key()).is_ok());
                prop_assert_eq!(touch.links.is_some(), touch.visits.is_empty());
            }
        }
    }
}
