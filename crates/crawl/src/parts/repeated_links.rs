//! Repeated links: a page whose links were merged at an earlier visit has none to merge again.
//!
//! A link to a known page changes nothing of it but its depth, when the page with the link comes nearer to a seed, and the
//! date that a sitemap gives it. So a page keeps digests of its links, and while they are the same, the links stay out of the log. They are of the
//! links that are left after URL rules, scope, consent, filters and traps, so they change with each of these.
//!
//! One thing they cannot see: a link may be dropped behind the log, when its host is full, or when visits of the same round
//! cut it off as a trap. So they contain how often links to each host were dropped: links to there are merged again, and
//! come in when there is room.

use crate::cycle_cache::CycleCache;
use crate::failure::Failure;
use crate::lesson::RoundLesson;
use crate::part::{InTables, Takedown};
use crate::stored::{keep, kept};
use recrawl_repository::{DropCounts, OriginTable, SledTables};
use recrawl_types::{CanonicalUrl, DatedRound, Link, Origin};
use std::collections::BTreeMap;
use std::io;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The setting that tells since when dropped links are counted, in milliseconds since 1970.
const COUNTED_SINCE: &str = "dropped_links_since";

/// Links of a page for a digest of their own: a list of thousands with one new entry sends few.
const PART: usize = 64;
/// Digests of a page at most.
const MAX_PARTS: usize = 64;
/// Hosts of a page's last links among which the next one's is looked for.
const LOOKED_AT: usize = 16;

/// The number of parts into which so many links are divided. With another number, all links of the page are merged again.
fn parts_of(links: usize) -> usize {
    match links {
        0 => 0,
        _ => (1 << (links / PART).max(1).ilog2()).min(MAX_PARTS),
    }
}

/// Removes the rows of the hosts that are meant. They are not counted: those that were asked are counted already.
///
/// # Errors
/// When the tables cannot be read or written.
pub fn forget(takedown: &Takedown<'_>, _removed: &mut InTables) -> Result<(), Failure> {
    // First: counts that are lower than before must not look like those of older digests.
    if !takedown.only_count {
        merge_all_again(takedown.tables)?;
    }
    takedown.rows(OriginTable::DroppedLinks).map(drop)
}

/// Lets each page merge all its links at its next visit: rows of dropped links are missing.
///
/// # Errors
/// When the tables cannot be written.
pub fn merge_all_again(tables: &SledTables) -> Result<(), Failure> {
    tables.remove_setting(COUNTED_SINCE).map(drop).map_err(Failure::from)
}

/// Tells links that were merged before, while a round runs.
pub struct RepeatedLinks<'t> {
    tables: &'t SledTables,
    /// Without it, tables that were lost and begun again would count as if no link had been dropped.
    counted_since: u64,
    dropped: CycleCache<[u8], DropCounts>,
}

impl<'t> RepeatedLinks<'t> {
    /// `now` is in milliseconds since 1970.
    ///
    /// # Errors
    /// When the tables cannot be read or written.
    pub fn open(tables: &'t SledTables, now: u64) -> Result<RepeatedLinks<'t>, Failure> {
        let counted_since = match kept(tables, COUNTED_SINCE)? {
            Some(since) => since,
            None => {
                keep(tables, COUNTED_SINCE, &now)?;
                now
            }
        };
        Ok(RepeatedLinks { tables, counted_since, dropped: CycleCache::default() })
    }

    /// Leaves out the links of a page that are in parts of it with the same digest as `before`, and gives the digests. The
    /// order of links does not matter.
    ///
    /// # Errors
    /// When the tables cannot be read.
    pub fn leave_out(&self, links: &mut Vec<Link>, before: &[u32]) -> io::Result<Box<[u32]>> {
        let (mut hashes, mut seeds) = (Vec::with_capacity(links.len()), Vec::new());
        for link in links.iter() {
            hashes.push(xxh3_64_with_seed(link.url.key(), self.seed_of(link, &mut seeds)?));
        }
        let parts = parts_of(links.len());
        let part = |hash: u64| hash as usize % parts;
        let mut sums = vec![0u64; parts];
        hashes.iter().for_each(|hash| sums[part(*hash)] = sums[part(*hash)].wrapping_add(*hash));
        let digests: Box<[u32]> = sums.iter().map(|sum| (sum >> 32) as u32).collect();
        if before.len() == parts {
            let mut hashes = hashes.into_iter();
            links.retain(|_| hashes.next().map(part).is_none_or(|part| before[part] != digests[part]));
        }
        Ok(digests)
    }

    /// All that the digest of a link depends on beside its URL. `seeds` are of the hosts that the page's links lead to.
    fn seed_of<'l>(&self, link: &'l Link, seeds: &mut Vec<Seeds<'l>>) -> io::Result<u64> {
        let Link { url, depth, hops, listed, lastmod, .. } = link;
        let known = seeds.iter().rev().take(LOOKED_AT).find(|seeds| seeds.host.same_origin(url)).copied();
        let Seeds { linked, all, .. } = match known {
            Some(known) => known,
            None => {
                let count = || self.tables.dropped_links(&Origin::from_url(url));
                let DropCounts { linked, listed } = self.dropped.get_or_load(url.origin_key(), count)?;
                let seed = |counts: &[u64]| {
                    xxh3_64(&counts.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>())
                };
                let since = self.counted_since;
                seeds.push(Seeds {
                    host: url,
                    linked: seed(&[since, linked]),
                    all: seed(&[since, linked, listed]),
                });
                seeds[seeds.len() - 1]
            }
        };
        // What a page links to has a place where what is only listed has none.
        let of_host = if *listed { all } else { linked };
        // All that a link brings to a known page. Only first visits count as in-links, and these merge all links.
        let brings =
            u64::from(*lastmod) << 32 | u64::from(*depth) << 16 | u64::from(*hops) << 8 | u64::from(*listed);
        Ok(of_host.wrapping_add(brings))
    }
}

/// Two numbers of a host, which change when a link to it is dropped.
#[derive(Clone, Copy)]
struct Seeds<'l> {
    /// A URL of the host.
    host: &'l CanonicalUrl,
    /// Changes for links of pages.
    linked: u64,
    /// Changes for any link.
    all: u64,
}

/// Counts hosts to which links were dropped in a round. Memory: an entry for each of them.
#[derive(Default)]
pub struct DroppedLinks(BTreeMap<Box<[u8]>, DropCounts>);

impl RoundLesson for DroppedLinks {
    fn dropped(&mut self, key: &[u8], is_linked: bool) {
        let origin = CanonicalUrl::origin_of(key);
        if !self.0.contains_key(origin) {
            self.0.insert(origin.into(), DropCounts::default());
        }
        let counts = self.0.get_mut(origin).expect("it was put there");
        *(if is_linked { &mut counts.linked } else { &mut counts.listed }) = 1;
    }

    /// A round that is merged again counts twice, which only lets some links be merged once more.
    fn store(&mut self, tables: &SledTables, _round: DatedRound) -> Result<(), Failure> {
        for (origin, counts) in &self.0 {
            let home = CanonicalUrl::from_key(&[origin, &b"/"[..]].concat());
            let home = home.map_err(|_| Failure::work(io::Error::other("a dropped link is no URL")))?;
            tables.add_dropped_links(&Origin::from_url(&home), *counts)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::{Cycle, Round, UrlRules};

    fn links(of: impl IntoIterator<Item = u32>) -> Vec<Link> {
        let url = |page: u32| UrlRules::default().canonicalize(&format!("http://h{}.test/{page}", page % 3));
        of.into_iter().map(|page| Link::to(url(page).unwrap(), 4)).collect()
    }

    /// The links that are left after a visit that found others.
    fn left(tables: &SledTables, before: impl IntoIterator<Item = u32>, now: Vec<Link>) -> usize {
        let repeated = RepeatedLinks::open(tables, 7).unwrap();
        let before = repeated.leave_out(&mut links(before), &[]).unwrap();
        let mut now = now;
        repeated.leave_out(&mut now, &before).unwrap();
        now.len()
    }

    #[test]
    fn links_are_left_out_until_one_of_them_changes() {
        let tables = SledTables::temporary().unwrap();
        assert_eq!(left(&tables, [], links(0..9)), 9);
        assert_eq!(left(&tables, 0..9, links((0..9).rev())), 0, "their order changes nothing");
        assert_eq!(left(&tables, 0..9, links(0..8)), 8);
        for other in [
            |link| Link { depth: 3, ..link },
            |link| Link { hops: 1, ..link },
            |link| Link { listed: true, ..link },
            |link| Link { lastmod: 1, ..link },
        ] {
            assert_eq!(left(&tables, 0..9, links(0..9).into_iter().map(other).collect()), 9);
        }
        let most = left(&tables, 0..3000, links(0..3001));
        assert!((1..300).contains(&most), "one more link in a list of 3,000 sends {most}");
    }

    #[test]
    fn links_to_hosts_that_dropped_some_are_merged_again_and_those_of_lost_tables_too() {
        let tables = SledTables::temporary().unwrap();
        let before = RepeatedLinks::open(&tables, 7).unwrap().leave_out(&mut links(0..9), &[]).unwrap();
        let left = |tables: &SledTables| {
            let mut now = links(0..9);
            RepeatedLinks::open(tables, 8).unwrap().leave_out(&mut now, &before).unwrap();
            now.len()
        };
        assert_eq!(left(&tables), 0);
        let mut lesson = DroppedLinks::default();
        links([3, 6]).iter().for_each(|link| lesson.dropped(link.url.key(), true));
        assert_eq!(left(&tables), 0, "not before the round is merged");
        lesson.store(&tables, DatedRound { round: Round(1), cycle: Cycle(1) }).unwrap();
        assert_eq!(left(&tables), 9);
        assert_eq!(left(&SledTables::temporary().unwrap()), 9);
    }
}
