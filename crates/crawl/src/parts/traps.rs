//! Crawler traps: scripts that produce endless URLs, detected by their pages and cut off by URL
//! pattern.
//!
//! A calendar, a session in each link, all combinations of facets, a host that answers every URL:
//! no URL looks wrong by itself, but the pages say nearly the same. So for each page's first visit
//! it is counted, by the patterns of its URL, whether its SimHash is near that of an earlier page
//! (Manku et al. 2007). If a pattern is cut off, links to its URLs are skipped, and its pages are
//! not visited for the first time. Pages that were visited before stay.

mod evidence;
mod lesson;
mod pattern;
mod running;

pub use evidence::{OriginTraps, TrapEvidence};
pub use lesson::TrapLesson;
pub use pattern::TrapPattern;

use crate::admission::filters::Filters;
use crate::config;
use crate::cycle_cache::CycleCache;
use crate::failure::Failure;
use crate::part::{InTables, Takedown};
use evidence::TrapRule;
use recrawl_repository::{OriginTable, SledTables};
use recrawl_types::{
    CanonicalUrl, Change, Content, ContentKind, DatedRound, HostPattern, LeftOut, Link, Origin, Outcome,
    Visit,
};
use recrawl_verifier::{TrapSign, TrapSigns};
use running::RunningEvidence;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, RwLock};

/// Of the URLs of a cut pattern, one in this many is still visited, as a probe whether it is still
/// a trap.
pub const PROBED: u64 = 64;
/// Maximum probes of one pattern that are recorded, and visited, per cycle. Otherwise a trap with
/// more than [`PROBED`] links per page would grow by its probes alone.
pub const MAX_PROBES: u32 = 32;

/// The checked `[traps]` table.
#[derive(Clone, Debug)]
pub struct TrapRules {
    is_enabled: bool,
    rule: TrapRule,
    allow_hosts: Vec<HostPattern>,
}

impl TrapRules {
    /// Checks the configuration.
    ///
    /// # Errors
    /// The key, and what is wrong with it.
    pub fn new(config: &config::Traps) -> Result<TrapRules, String> {
        if config.min_pages < 2 {
            return Err("traps.min_pages must be at least 2".into());
        }
        if config.near_duplicates.0 <= 0.5 {
            return Err("traps.near_duplicates must be more than 0.5 (half of it readmits a pattern)".into());
        }
        if config.max_distance > 16 {
            return Err("traps.max_distance must be at most 16 (unrelated texts differ in 32 bits)".into());
        }
        let (min_pages, near_duplicates) = (config.min_pages, config.near_duplicates.0);
        Ok(TrapRules {
            is_enabled: config.enabled,
            rule: TrapRule { min_pages, near_duplicates, max_distance: config.max_distance.into() },
            allow_hosts: HostPattern::all("traps.allow_hosts", &config.allow_hosts)?,
        })
    }

    /// May patterns of this host be cut off?
    pub fn hold_for(&self, host: &str) -> bool {
        self.is_enabled && !self.allow_hosts.iter().any(|pattern| pattern.matches(host))
    }

    /// The pattern by which the URL is cut off, given the evidence of its origin.
    pub fn cut(&self, known: &OriginTraps, url: &CanonicalUrl) -> Option<TrapPattern> {
        known.cut(url, &self.rule).filter(|_| self.hold_for(&url.host()))
    }

    /// Is this URL cut off, and not a probe?
    fn cuts_off(&self, known: &OriginTraps, url: &CanonicalUrl) -> bool {
        self.cut(known, url).is_some() && !is_probe(url)
    }

    /// Does the URL look like a trap's, with too few visits for a verdict?
    fn suspects(&self, known: &OriginTraps, url: &CanonicalUrl) -> bool {
        known.suspects(url, &self.rule) && self.hold_for(&url.host())
    }
}

/// Is the URL a probe, visited whatever its pattern? Always the same URLs are.
pub fn is_probe(url: &CanonicalUrl) -> bool {
    const SEED: u64 = 0x7472_6170; // "trap": other lots must not draw the same pages
    xxhash_rust::xxh3::xxh3_64_with_seed(url.key(), SEED).is_multiple_of(PROBED)
}

/// The stored evidence of an origin.
///
/// # Errors
/// When it cannot be read or parsed.
pub fn known(tables: &SledTables, origin: &Origin) -> io::Result<OriginTraps> {
    let Some(bytes) = tables.traps(origin)? else { return Ok(OriginTraps::default()) };
    let wrong = |e: io::Error| io::Error::new(e.kind(), format!("cannot read trap data of {origin}: {e}"));
    OriginTraps::from_bytes(&bytes).map_err(wrong)
}

/// Removes what a takedown means from the tables, or only counts it.
///
/// # Errors
/// When the tables cannot be read or written.
pub fn forget(takedown: &Takedown<'_>, removed: &mut InTables) -> Result<(), Failure> {
    removed.trap_patterns += takedown.rows(OriginTable::Traps)?;
    Ok(())
}

/// The patterns that are cut off while a cycle runs: by the evidence at its start, and by its own
/// visits as they are logged. [`TrapLesson`] makes the verdict over the whole cycle when it is
/// merged.
pub struct Traps {
    rules: TrapRules,
    tables: Arc<SledTables>,
    round: DatedRound,
    /// The evidence at the start of the cycle, by the key of an origin.
    begun: CycleCache<[u8], Signs>,
    running: RwLock<RunningEvidence>,
}

/// The evidence of an origin; none if nothing of it is cut off or suspected, as for nearly all.
type Signs = Option<Arc<OriginTraps>>;

/// Is a near-duplicate of this content a sign of a trap? The part that a rule of `[[pages]]` selects, such as a
/// price, may be the same on many honest pages.
fn tells_of_traps(content: &Content) -> bool {
    content.kind == ContentKind::Text && content.rule == 0
}

impl Traps {
    /// Reads what is known of URL patterns, as of this round.
    pub fn new(rules: &TrapRules, tables: &Arc<SledTables>, round: DatedRound) -> Traps {
        let (begun, running) = (CycleCache::default(), RwLock::default());
        Traps { rules: rules.clone(), tables: tables.clone(), round, begun, running }
    }

    /// Adds a logged visit, in log order.
    ///
    /// # Errors
    /// When the evidence of its origin cannot be read.
    pub fn observe(&self, visit: &Visit) -> io::Result<()> {
        let Visit { url, outcome: Outcome::Fetched(Change::First), content: Some(content), .. } = visit
        else {
            return Ok(());
        };
        if !tells_of_traps(content) || !self.rules.hold_for(&url.host()) {
            return Ok(());
        }
        let load = || known(&self.tables, &Origin::from_url(url));
        let mut running = self.running.write().expect("no panic under the lock");
        let news = running.observe(url, content.fingerprint.simhash, self.round, &self.rules.rule, load)?;
        for pattern in news {
            let origin = Origin::from_url(url);
            tracing::info!(
                %origin,
                %pattern,
                "trap: pattern cut off for the rest of the cycle, its pages are near-duplicates"
            );
        }
        Ok(())
    }

    /// The evidence of the URL's origin, if something of it is cut off or suspected.
    fn signs(&self, url: &CanonicalUrl) -> io::Result<Signs> {
        let running = self.running.read().expect("no panic under the lock");
        if let Some(signs) = running.signs(url.origin_key()) {
            return Ok(signs.cloned());
        }
        drop(running);
        self.begun.get_or_load(url.origin_key(), || {
            if !self.rules.hold_for(&url.host()) {
                return Ok(None);
            }
            let known = Arc::new(known(&self.tables, &Origin::from_url(url))?);
            Ok(Some(known).filter(|known| known.has_signs(&self.rules.rule)))
        })
    }

    /// Is this URL cut off, with all probes of its pattern visited in this cycle?
    fn is_enough(&self, known: &OriginTraps, url: &CanonicalUrl) -> bool {
        let pattern = self.rules.cut(known, url);
        pattern
            .and_then(|pattern| known.evidence(&pattern))
            .is_some_and(|cut| cut.probes(self.round.cycle) >= MAX_PROBES)
    }

    /// Is this URL, never fetched before, skipped? If the evidence cannot be read, the page is visited: at
    /// worst that is one visit too many.
    pub fn refuse(&self, url: &CanonicalUrl) -> bool {
        self.signs_or_none(url)
            .is_some_and(|known| self.rules.cuts_off(&known, url) || self.is_enough(&known, url))
    }

    /// Removes the links that must not be recorded, for their shape or because their pattern is cut
    /// off. Also tells whether a link is left that leads to a probe of such a pattern.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn sift(&self, filters: &Filters, links: &mut Vec<Link>) -> io::Result<(LeftOut, bool)> {
        let (mut left_out, mut failed, mut has_probe) = (LeftOut::default(), None, false);
        // Links of a page mostly stay on its host: one cache lookup serves all in a row.
        let mut last: Option<(CanonicalUrl, Signs)> = None;
        links.retain(|Link { url, .. }| {
            if filters.refuse(url).is_some() {
                left_out.filtered += 1;
                return false;
            }
            if !last.as_ref().is_some_and(|(other, _)| other.same_origin(url)) {
                let known = self.signs(url).unwrap_or_else(|error| {
                    failed.get_or_insert(error);
                    None
                });
                last = Some((url.clone(), known.filter(|known| known.has_cut())));
            }
            let known = last.as_ref().and_then(|(_, known)| known.as_deref());
            if known.is_none_or(|known| self.rules.cut(known, url).is_none()) {
                return true;
            }
            let is_left = is_probe(url);
            has_probe |= is_left;
            left_out.trapped += u32::from(!is_left);
            is_left
        });
        failed.map_or(Ok((left_out, has_probe)), Err)
    }

    /// The same as [`Traps::signs`] for a decision that can do without: an error is logged.
    fn signs_or_none(&self, url: &CanonicalUrl) -> Signs {
        self.signs(url).unwrap_or_else(|error| {
            tracing::warn!(%error, %url, "cannot read trap data; going on without it");
            None
        })
    }

    /// Does the URL look like a trap's, with too few visits for a verdict?
    pub fn suspects(&self, url: &CanonicalUrl) -> bool {
        self.signs_or_none(url).is_some_and(|known| self.rules.suspects(&known, url))
    }

    /// The signs of traps among an origin's URLs, for their places; none if nothing of it looks like a trap.
    /// Probes keep their places.
    pub fn signs_of(&self, origin_key: &[u8]) -> Option<TrapSigns> {
        let home = CanonicalUrl::from_key(&[origin_key, b"/"].concat()).ok()?;
        let known = self.signs_or_none(&home).filter(|_| self.rules.hold_for(&home.host()))?;
        let (rules, has_cut) = (self.rules.clone(), known.has_cut());
        Some(Box::new(move |key| match CanonicalUrl::from_key(key) {
            Ok(url) if has_cut && rules.cuts_off(&known, &url) => TrapSign::CutOff,
            Ok(url) if rules.suspects(&known, &url) => TrapSign::Suspected,
            Ok(_) | Err(_) => TrapSign::None,
        }))
    }

    /// Patterns that this cycle's visits have cut off, once all are logged: for links that were logged
    /// before.
    pub fn late(&self) -> LateTraps<'_> {
        let running = self.running.read().expect("no panic under the lock");
        let cut = running.all_signs().filter(|(_, known)| known.has_cut());
        let cut = cut.map(|(key, known)| (key.into(), known.clone())).collect();
        LateTraps { traps: self, cut, taken: BTreeMap::new() }
    }
}

/// Patterns cut off after a cycle's last visit, for the origins with first visits.
pub struct LateTraps<'t> {
    traps: &'t Traps,
    /// By the key of an origin.
    cut: HashMap<Box<[u8]>, Arc<OriginTraps>>,
    /// Number of links to probes, by pattern.
    taken: BTreeMap<(Box<[u8]>, TrapPattern), u32>,
}

impl LateTraps<'_> {
    /// Must the link with this key be skipped?
    pub fn leave_out(&mut self, key: &[u8]) -> bool {
        let Some((origin, known)) = self.cut.get_key_value(CanonicalUrl::origin_of(key)) else {
            return false;
        };
        let Ok(url) = CanonicalUrl::from_key(key) else { return false };
        let Some(pattern) = self.traps.rules.cut(known, &url) else { return false };
        if !is_probe(&url) {
            return true;
        }
        let traps = self.traps;
        let visited = || {
            // By earlier rounds of the cycle.
            let before = self::known(&traps.tables, &Origin::from_url(&url)).ok()?;
            Some(before.evidence(&pattern)?.probes(traps.round.cycle))
        };
        let entry = self.taken.entry((origin.clone(), pattern.clone()));
        let taken = entry.or_insert_with(|| visited().unwrap_or_default());
        *taken += 1;
        *taken > MAX_PROBES
    }
}

#[cfg(test)]
mod tests;
