//! Traps: scripts that make addresses without end, found by their pages and cut off by their patterns.
//!
//! A calendar, a session in each link, facets in all combinations, a host that answers to everything: no address
//! looks wrong by itself, but page after page says nearly the same. So of each page's first visit it is counted,
//! by the patterns of its address, whether its SimHash is near that of an earlier page (Manku et al. 2007). What
//! is cut off then are links to, and first visits of, addresses of the pattern; pages that were visited stay.

mod evidence;
mod lesson;
mod pattern;

pub use evidence::{Evidence, OriginTraps};
pub use lesson::TrapLesson;
pub use pattern::Pattern;

use crate::config;
use crate::cycle_cache::CycleCache;
use crate::filters::Filters;
use crate::scope::HostPattern;
use evidence::Rule;
use recrawl_repository::SledTables;
use recrawl_types::{CanonicalUrl, LeftOut, Link, Origin, ScheduleEntry};
use std::io;
use std::sync::Arc;

/// Of a pattern that is cut off, one address in so many is visited all the same, to see whether it still is what
/// it was.
pub const PROBED: u64 = 64;

/// The `[traps]` table, checked.
#[derive(Clone, Debug)]
pub struct TrapRules {
    is_enabled: bool,
    rule: Rule,
    allow_hosts: Vec<HostPattern>,
}

impl TrapRules {
    /// Checks the configuration.
    ///
    /// # Errors
    /// The key, and what is wrong with it.
    pub fn new(config: &config::Traps) -> Result<TrapRules, String> {
        let host = |text: &String| HostPattern::parse(text).map_err(|e| format!("traps.allow_hosts: {e}"));
        if config.min_pages < 2 {
            return Err("traps.min_pages must be at least 2: one page is nobody's duplicate".into());
        }
        if config.near_duplicates.0 <= 0.5 {
            return Err(
                "traps.near_duplicates must be more than 0.5: half of it lets a pattern in again".into()
            );
        }
        if config.max_distance > 16 {
            return Err(
                "traps.max_distance must be at most 16: texts without a word in common differ in 32".into()
            );
        }
        let (min_pages, near_duplicates) = (config.min_pages, config.near_duplicates.0);
        Ok(TrapRules {
            is_enabled: config.enabled,
            rule: Rule { min_pages, near_duplicates, max_distance: config.max_distance.into() },
            allow_hosts: config.allow_hosts.iter().map(host).collect::<Result<_, _>>()?,
        })
    }

    /// Are patterns of this host cut off at all?
    pub fn hold_for(&self, host: &str) -> bool {
        self.is_enabled && !self.allow_hosts.iter().any(|pattern| pattern.matches(host))
    }

    /// The pattern by which the address is cut off, by what is known of its origin.
    pub fn cut(&self, known: &OriginTraps, url: &CanonicalUrl) -> Option<Pattern> {
        known.cut(url, &self.rule).filter(|_| self.hold_for(&url.host()))
    }
}

/// Is the address one of those that are visited whatever its pattern? Always the same ones.
pub fn is_probe(url: &CanonicalUrl) -> bool {
    const SEED: u64 = 0x7472_6170; // "trap": other lots must not draw the same pages
    xxhash_rust::xxh3::xxh3_64_with_seed(url.key(), SEED).is_multiple_of(PROBED)
}

/// What is kept of an origin.
///
/// # Errors
/// When it cannot be read, or is not what was kept.
pub fn known(tables: &SledTables, origin: &Origin) -> io::Result<OriginTraps> {
    let Some(bytes) = tables.traps(origin)? else { return Ok(OriginTraps::default()) };
    OriginTraps::from_bytes(&bytes).map_err(|e| io::Error::new(e.kind(), format!("traps of {origin}: {e}")))
}

/// What is cut off in a cycle: by what was known when it began, since that changes between cycles alone.
pub struct Traps {
    rules: TrapRules,
    tables: Arc<SledTables>,
    /// By the key of an origin.
    cache: CycleCache<[u8], CutOff>,
}

/// What is known of an origin; none where nothing of it is cut off, as of nearly all.
type CutOff = Option<Arc<OriginTraps>>;

impl Traps {
    /// By these rules, and what these tables know.
    pub fn new(rules: &TrapRules, tables: &Arc<SledTables>) -> Traps {
        Traps { rules: rules.clone(), tables: tables.clone(), cache: CycleCache::default() }
    }

    /// The origin of this address, if something of it is cut off.
    fn of(&self, url: &CanonicalUrl) -> io::Result<CutOff> {
        self.cache.get_or_load(url.origin_key(), || {
            if !self.rules.hold_for(&url.host()) {
                return Ok(None);
            }
            let known = known(&self.tables, &Origin::of(url))?;
            Ok(Some(known).filter(|known| known.cut_patterns().next().is_some()).map(Arc::new))
        })
    }

    /// Is this address cut off, by what is known of its origin, and none of those that are visited all the same?
    fn cuts_off(&self, known: &OriginTraps, url: &CanonicalUrl) -> bool {
        self.rules.cut(known, url).is_some() && !is_probe(url)
    }

    /// Is this entry left alone? Never a page that was fetched before. Where that cannot be looked up, it is
    /// visited: the worst is a visit too many.
    pub fn refuse(&self, entry: &ScheduleEntry) -> bool {
        if entry.record.visited.is_some() {
            return false;
        }
        let url = &entry.url;
        let known = self.of(url).unwrap_or_else(|error| {
            tracing::warn!(%error, %url, "visited without a look at its traps");
            None
        });
        known.is_some_and(|known| self.cuts_off(&known, url))
    }

    /// Takes those links out that are not to be recorded: for their shape, or since their pattern is cut off.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn sift(&self, filters: &Filters, links: &mut Vec<Link>) -> io::Result<LeftOut> {
        let (mut left_out, mut failed) = (LeftOut::default(), None);
        // Links of a page mostly stay on its host: one look at the cache for all in a row.
        let mut last: Option<(CanonicalUrl, CutOff)> = None;
        links.retain(|Link { url, .. }| {
            if filters.refuse(url).is_some() {
                left_out.filtered += 1;
                return false;
            }
            if !last.as_ref().is_some_and(|(other, _)| other.same_origin(url)) {
                let known = self.of(url).unwrap_or_else(|error| {
                    failed.get_or_insert(error);
                    None
                });
                last = Some((url.clone(), known));
            }
            let known = last.as_ref().and_then(|(_, known)| known.as_deref());
            let is_cut = known.is_some_and(|known| self.cuts_off(known, url));
            left_out.trapped += u32::from(is_cut);
            !is_cut
        });
        failed.map_or(Ok(left_out), Err)
    }
}

#[cfg(test)]
mod tests;
