//! The evidence of an origin's URL patterns from first visits, and the rule that makes a pattern a
//! trap.

use super::pattern::{Level, TrapPattern};
use recrawl_types::{CanonicalUrl, Cycle, DatedRound, Round};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;

/// Number of pages of a pattern with which its next one is compared: those last seen.
const MAX_SAMPLE: usize = 16;
/// Maximum stored patterns per origin: those with the most first visits.
const MAX_KEPT: usize = 64;
/// Maximum patterns of an origin while a cycle's visits are counted; beyond this, half are dropped.
const MAX_COUNTED: usize = 256;
/// Counts above this many times `min_pages` are halved, so that old visits are forgotten.
const MEMORY: u32 = 10;
/// A pattern can be proven honest, or be suspected, from this part of `min_pages` on.
const HONEST_PART: u32 = 10;
/// First visits below which no pattern is suspected, however low `min_pages` is.
const MIN_SUSPECTED: u32 = 5;
/// Version of the stored form.
const VERSION: u32 = 1;

/// The rule that makes a pattern a trap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrapRule {
    /// First visits needed for a verdict.
    pub min_pages: u32,
    /// Share of near-duplicates among them.
    pub near_duplicates: f64,
    /// Maximum bits in which the SimHashes of near-duplicates differ. Manku et al. 2007, section 4:
    /// 3 of 64.
    pub max_distance: u32,
}

fn is_none(cycle: &Cycle) -> bool {
    *cycle == Cycle::default()
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The evidence of one pattern.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrapEvidence {
    /// First visits of its pages with text; halved from time to time.
    pub first_visits: u32,
    /// Of these, visits whose text was a near-duplicate of another page of the pattern.
    pub near_duplicates: u32,
    /// The cycle since which it is cut off; none if it is not.
    pub cut_since: Option<Cycle>,
    /// First visits after it was cut off, in the cycle `probed_in`.
    #[serde(default, skip_serializing_if = "is_zero")]
    probes: u32,
    /// See `probes`.
    #[serde(default, skip_serializing_if = "is_none")]
    probed_in: Cycle,
    /// SimHashes of its pages, the last one seen first.
    sample: Vec<u64>,
}

impl TrapEvidence {
    fn new() -> TrapEvidence {
        TrapEvidence {
            first_visits: 0,
            near_duplicates: 0,
            cut_since: None,
            probes: 0,
            probed_in: Cycle::default(),
            sample: Vec::new(),
        }
    }

    /// First visits in this cycle after it was cut off.
    pub fn probes(&self, cycle: Cycle) -> u32 {
        if self.probed_in == cycle { self.probes } else { 0 }
    }

    fn observe(&mut self, simhash: u64, cycle: Cycle, rule: &TrapRule) {
        let near = |other: &u64| (other ^ simhash).count_ones() <= rule.max_distance;
        let found = self.sample.iter().position(near);
        self.first_visits += 1;
        if self.cut_since.is_some() {
            (self.probes, self.probed_in) = (self.probes(cycle) + 1, cycle);
        }
        self.near_duplicates += u32::from(found.is_some());
        // Keep what is seen again and drop the rest, so that a trap among honest pages is noticed.
        match found {
            Some(at) => self.sample[..=at].rotate_right(1),
            None => {
                self.sample.truncate(MAX_SAMPLE - 1);
                self.sample.insert(0, simhash);
            }
        }
    }

    fn share(&self) -> f64 {
        f64::from(self.near_duplicates) / f64::from(self.first_visits.max(1))
    }

    /// Is it known to have pages that differ? Then no verdict on a wider pattern applies to it.
    fn is_honest(&self, rule: &TrapRule) -> bool {
        self.first_visits >= (rule.min_pages / HONEST_PART).max(1)
            && self.share() < rule.near_duplicates / 2.0
    }

    /// Does it look like a trap, with too few visits for a verdict? Its first page resembles none before it.
    fn is_suspected(&self, level: Level, rule: &TrapRule) -> bool {
        let enough = (rule.min_pages / HONEST_PART).max(MIN_SUSPECTED).saturating_mul(level.caution());
        let share = f64::from(self.near_duplicates + 1) / f64::from(self.first_visits.max(1));
        self.cut_since.is_none() && self.first_visits >= enough && share >= rule.near_duplicates
    }

    /// Judges it again; returns whether it was just cut off.
    fn judge(&mut self, level: Level, cycle: Cycle, rule: &TrapRule) -> bool {
        match self.cut_since {
            None => {
                let is_trap = self.first_visits >= rule.min_pages.saturating_mul(level.caution())
                    && self.share() >= rule.near_duplicates;
                self.cut_since = is_trap.then_some(cycle);
                is_trap
            }
            Some(_) => {
                if self.share() < rule.near_duplicates / 2.0 {
                    self.cut_since = None;
                }
                false
            }
        }
    }

    /// Reduces the counts, so that new visits can change the verdict. A pattern that is cut off
    /// gets few.
    fn forget(&mut self, rule: &TrapRule) {
        let most =
            if self.cut_since.is_some() { rule.min_pages } else { rule.min_pages.saturating_mul(MEMORY) };
        while self.first_visits > most {
            self.first_visits /= 2;
            self.near_duplicates /= 2;
        }
    }
}

impl Level {
    /// A verdict needs this many times `min_pages`: the wider a pattern, the more honest pages it
    /// may have that were not visited yet.
    fn caution(self) -> u32 {
        match self {
            Level::Address | Level::Query => 1,
            Level::Folder => 2,
            Level::Top => 4,
        }
    }
}

/// The evidence of an origin's patterns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OriginTraps {
    /// The last round whose visits are counted, so that a round counts once.
    pub as_of: Round,
    patterns: BTreeMap<TrapPattern, TrapEvidence>,
}

/// The stored form.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredEvidence {
    version: u32,
    as_of: Round,
    patterns: Vec<(TrapPattern, TrapEvidence)>,
}

impl OriginTraps {
    /// Adds the first visit of a page with text. Visits come in URL order.
    pub fn observe(&mut self, url: &CanonicalUrl, simhash: u64, cycle: Cycle, rule: &TrapRule) {
        for pattern in TrapPattern::all_of(url) {
            let evidence = self.patterns.entry(pattern).or_insert_with(TrapEvidence::new);
            evidence.observe(simhash, cycle, rule);
            // A wider pattern only counts what its narrower ones do not explain.
            if evidence.cut_since.is_some() {
                break;
            }
        }
        if self.patterns.len() > MAX_COUNTED {
            self.keep_most(MAX_COUNTED / 2);
        }
    }

    /// Adds a first visit and judges the patterns of its URL. Returns those that it cut off.
    pub fn observe_and_judge(
        &mut self,
        url: &CanonicalUrl,
        simhash: u64,
        cycle: Cycle,
        rule: &TrapRule,
    ) -> Vec<TrapPattern> {
        self.observe(url, simhash, cycle, rule);
        self.judge(TrapPattern::all_of(url).collect(), cycle, rule)
    }

    /// Ends a round: judges every pattern and returns those that were just cut off.
    pub fn settle(&mut self, DatedRound { round, cycle }: DatedRound, rule: &TrapRule) -> Vec<TrapPattern> {
        self.as_of = round;
        // Narrow patterns sort first.
        let news = self.judge(self.patterns.keys().cloned().collect(), cycle, rule);
        self.patterns.values_mut().for_each(|evidence| evidence.forget(rule));
        self.keep_most(MAX_KEPT);
        news
    }

    /// Judges these patterns, which come narrow ones first, and returns those that were just cut
    /// off.
    fn judge(&mut self, mut patterns: Vec<TrapPattern>, cycle: Cycle, rule: &TrapRule) -> Vec<TrapPattern> {
        patterns.retain(|pattern| {
            let Some(evidence) = self.patterns.get_mut(pattern) else { return false };
            let is_news = evidence.judge(pattern.level, cycle, rule);
            if is_news {
                let (visits, near) = (evidence.first_visits, evidence.near_duplicates);
                for wider in std::iter::successors(pattern.wider(), TrapPattern::wider) {
                    if let Some(wider) = self.patterns.get_mut(&wider) {
                        wider.first_visits = wider.first_visits.saturating_sub(visits);
                        wider.near_duplicates =
                            wider.near_duplicates.saturating_sub(near).min(wider.first_visits);
                    }
                }
            }
            is_news
        });
        patterns
    }

    /// The pattern by which the URL is cut off, if any. The narrowest pattern known to be a trap or
    /// honest decides.
    pub fn cut(&self, url: &CanonicalUrl, rule: &TrapRule) -> Option<TrapPattern> {
        self.narrowest(url, rule, |_, evidence| evidence.cut_since.is_some())
    }

    /// Is a pattern of the URL suspected? The narrowest one that is suspected or honest decides.
    pub fn suspects(&self, url: &CanonicalUrl, rule: &TrapRule) -> bool {
        self.narrowest(url, rule, |level, evidence| evidence.is_suspected(level, rule)).is_some()
    }

    /// The narrowest pattern of the URL that is `found`, unless a narrower one is honest.
    fn narrowest(
        &self,
        url: &CanonicalUrl,
        rule: &TrapRule,
        found: impl Fn(Level, &TrapEvidence) -> bool,
    ) -> Option<TrapPattern> {
        for pattern in TrapPattern::all_of(url) {
            let Some(evidence) = self.patterns.get(&pattern) else { continue };
            if found(pattern.level, evidence) {
                return Some(pattern);
            }
            if evidence.is_honest(rule) {
                return None;
            }
        }
        None
    }

    /// Is a pattern cut off? To ask this once for many URLs saves the patterns of each.
    pub fn has_cut(&self) -> bool {
        self.cut_patterns().next().is_some()
    }

    /// Is a pattern cut off, or suspected? As for few origins.
    pub fn has_signs(&self, rule: &TrapRule) -> bool {
        let is_sign = |(pattern, evidence): (&TrapPattern, &TrapEvidence)| {
            evidence.cut_since.is_some() || evidence.is_suspected(pattern.level, rule)
        };
        self.patterns.iter().any(is_sign)
    }

    /// The evidence of a pattern.
    pub fn evidence(&self, pattern: &TrapPattern) -> Option<&TrapEvidence> {
        self.patterns.get(pattern)
    }

    /// The number of counted patterns.
    pub fn patterns(&self) -> usize {
        self.patterns.len()
    }

    /// All patterns that are cut off.
    pub fn cut_patterns(&self) -> impl Iterator<Item = (&TrapPattern, &TrapEvidence)> {
        self.patterns.iter().filter(|(_, evidence)| evidence.cut_since.is_some())
    }

    /// Keeps this many: those cut off, then those with the most first visits.
    fn keep_most(&mut self, count: usize) {
        if self.patterns.len() <= count {
            return;
        }
        let rank = |e: &TrapEvidence| std::cmp::Reverse((e.cut_since.is_some(), e.first_visits));
        let mut all: Vec<(TrapPattern, TrapEvidence)> =
            std::mem::take(&mut self.patterns).into_iter().collect();
        // Stable: ties keep their order.
        all.sort_by_key(|(_, evidence)| rank(evidence));
        all.truncate(count);
        self.patterns = all.into_iter().collect();
    }

    /// The stored form.
    pub fn to_bytes(&self) -> Vec<u8> {
        let patterns = self.patterns.iter().map(|(p, e)| (p.clone(), e.clone())).collect();
        let kept = StoredEvidence { version: VERSION, as_of: self.as_of, patterns };
        serde_json::to_vec(&kept).expect("patterns and counts are plain data")
    }

    /// Parses the output of [`OriginTraps::to_bytes`].
    ///
    /// # Errors
    /// When it is something else, or of another version.
    pub fn from_bytes(bytes: &[u8]) -> io::Result<OriginTraps> {
        let wrong = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
        let kept: StoredEvidence = serde_json::from_slice(bytes).map_err(|e| wrong(e.to_string()))?;
        if kept.version != VERSION {
            return Err(wrong(format!(
                "unsupported version {} (this program reads {VERSION})",
                kept.version
            )));
        }
        Ok(OriginTraps { as_of: kept.as_of, patterns: kept.patterns.into_iter().collect() })
    }
}

#[cfg(test)]
mod tests;
