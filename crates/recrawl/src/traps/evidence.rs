//! What an origin's first visits tell of its patterns, and the rule that makes a trap of one.

use super::pattern::{Level, Pattern};
use recrawl_types::{CanonicalUrl, Cycle};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;

/// Pages of a pattern that its next one is compared with: those that were met, or met again, last.
const MAX_SAMPLE: usize = 16;
/// Patterns kept of an origin: those with the most first visits.
const MAX_KEPT: usize = 64;
/// Patterns of an origin while a cycle's visits are counted; of more, half go.
const MAX_COUNTED: usize = 256;
/// Counts are halved above so many times `min_pages`: what a pattern was like long ago is forgotten.
const MEMORY: u32 = 10;
/// A pattern is known to be honest from a share of `min_pages` on.
const HONEST_PART: u32 = 10;
/// Of the form in which this is kept.
const VERSION: u32 = 1;

/// When a pattern is a trap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// First visits that a verdict needs.
    pub min_pages: u32,
    /// The share of them that saw a page much like another one.
    pub near_duplicates: f64,
    /// Bits in which the SimHashes of two such pages differ at most. Manku et al. 2007, section 4: 3 of 64.
    pub max_distance: u32,
}

/// What is known of one pattern.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// First visits of its pages that saw text; halved now and then.
    pub first_visits: u32,
    /// Those of them whose text was nearly that of another page of it.
    pub near_duplicates: u32,
    /// The cycle since which it is cut off; none where it is not.
    pub cut_since: Option<Cycle>,
    /// First visits of a cycle that came when it was cut off already; not kept.
    #[serde(skip)]
    pub probes: u32,
    /// SimHashes of its pages, the one met last first.
    sample: Vec<u64>,
}

impl Evidence {
    fn new() -> Evidence {
        Evidence { first_visits: 0, near_duplicates: 0, cut_since: None, probes: 0, sample: Vec::new() }
    }

    fn observe(&mut self, simhash: u64, rule: &Rule) {
        let near = |other: &u64| (other ^ simhash).count_ones() <= rule.max_distance;
        let found = self.sample.iter().position(near);
        self.first_visits += 1;
        self.probes += u32::from(self.cut_since.is_some());
        self.near_duplicates += u32::from(found.is_some());
        // What is met again stays; what is not makes room, so that a trap that opens among honest pages is seen.
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

    /// Is it known to have pages that differ? Then no wider pattern's verdict holds for it.
    fn is_honest(&self, rule: &Rule) -> bool {
        self.first_visits >= (rule.min_pages / HONEST_PART).max(1)
            && self.share() < rule.near_duplicates / 2.0
    }

    /// Judges it anew; says whether it was cut off just now.
    fn judge(&mut self, level: Level, cycle: Cycle, rule: &Rule) -> bool {
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

    /// Makes the counts small enough to be changed by what comes. Of a pattern that is cut off little comes.
    fn forget(&mut self, rule: &Rule) {
        self.probes = 0;
        let most =
            if self.cut_since.is_some() { rule.min_pages } else { rule.min_pages.saturating_mul(MEMORY) };
        while self.first_visits > most {
            self.first_visits /= 2;
            self.near_duplicates /= 2;
        }
    }
}

impl Level {
    /// How many times `min_pages` a verdict needs: the wider a pattern, the more honest pages it may hold that
    /// were not visited yet.
    fn caution(self) -> u32 {
        match self {
            Level::Address | Level::Query => 1,
            Level::Folder => 2,
            Level::Top => 4,
        }
    }
}

/// What is known of an origin's patterns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OriginTraps {
    /// The last cycle whose visits are in the counts: a cycle counts once.
    pub as_of: Cycle,
    patterns: BTreeMap<Pattern, Evidence>,
}

/// The form in which it is kept.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    version: u32,
    as_of: Cycle,
    patterns: Vec<(Pattern, Evidence)>,
}

impl OriginTraps {
    /// Takes in the first visit of a page that saw text. Visits come in the order of URLs.
    pub fn observe(&mut self, url: &CanonicalUrl, simhash: u64, rule: &Rule) {
        for pattern in Pattern::all_of(url) {
            let evidence = self.patterns.entry(pattern).or_insert_with(Evidence::new);
            evidence.observe(simhash, rule);
            // A wider pattern answers for what its narrower ones do not explain.
            if evidence.cut_since.is_some() {
                break;
            }
        }
        if self.patterns.len() > MAX_COUNTED {
            self.keep_most(MAX_COUNTED / 2);
        }
    }

    /// Takes in a first visit, judges the patterns of its address at once, and gives those that it cut off.
    pub fn observe_and_judge(
        &mut self,
        url: &CanonicalUrl,
        simhash: u64,
        cycle: Cycle,
        rule: &Rule,
    ) -> Vec<Pattern> {
        self.observe(url, simhash, rule);
        self.judge(Pattern::all_of(url).collect(), cycle, rule)
    }

    /// Ends a cycle: judges every pattern and gives those that were cut off just now.
    pub fn settle(&mut self, cycle: Cycle, rule: &Rule) -> Vec<Pattern> {
        self.as_of = cycle;
        // In the order of a map of patterns the narrow ones come first.
        let news = self.judge(self.patterns.keys().cloned().collect(), cycle, rule);
        self.patterns.values_mut().for_each(|evidence| evidence.forget(rule));
        self.keep_most(MAX_KEPT);
        news
    }

    /// Judges these patterns, the narrow ones first, and gives those that were cut off just now.
    fn judge(&mut self, mut patterns: Vec<Pattern>, cycle: Cycle, rule: &Rule) -> Vec<Pattern> {
        patterns.retain(|pattern| {
            let Some(evidence) = self.patterns.get_mut(pattern) else { return false };
            let is_news = evidence.judge(pattern.level, cycle, rule);
            if is_news {
                let (visits, near) = (evidence.first_visits, evidence.near_duplicates);
                for wider in std::iter::successors(pattern.wider(), Pattern::wider) {
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

    /// The pattern by which the address is cut off, if one is: the narrowest one decides that is known to be a
    /// trap or to be honest.
    pub fn cut(&self, url: &CanonicalUrl, rule: &Rule) -> Option<Pattern> {
        for pattern in Pattern::all_of(url) {
            let Some(evidence) = self.patterns.get(&pattern) else { continue };
            if evidence.cut_since.is_some() {
                return Some(pattern);
            }
            if evidence.is_honest(rule) {
                return None;
            }
        }
        None
    }

    /// What is known of a pattern.
    pub fn evidence(&self, pattern: &Pattern) -> Option<&Evidence> {
        self.patterns.get(pattern)
    }

    /// How many patterns are counted.
    pub fn patterns(&self) -> usize {
        self.patterns.len()
    }

    /// All patterns that are cut off.
    pub fn cut_patterns(&self) -> impl Iterator<Item = (&Pattern, &Evidence)> {
        self.patterns.iter().filter(|(_, evidence)| evidence.cut_since.is_some())
    }

    /// Keeps so many: those that are cut off, then those with the most first visits.
    fn keep_most(&mut self, count: usize) {
        if self.patterns.len() <= count {
            return;
        }
        let rank = |e: &Evidence| std::cmp::Reverse((e.cut_since.is_some(), e.first_visits));
        let mut all: Vec<(Pattern, Evidence)> = std::mem::take(&mut self.patterns).into_iter().collect();
        // Stable: among equals the first in order stay.
        all.sort_by_key(|(_, evidence)| rank(evidence));
        all.truncate(count);
        self.patterns = all.into_iter().collect();
    }

    /// As it is kept.
    pub fn to_bytes(&self) -> Vec<u8> {
        let patterns = self.patterns.iter().map(|(p, e)| (p.clone(), e.clone())).collect();
        let kept = Kept { version: VERSION, as_of: self.as_of, patterns };
        serde_json::to_vec(&kept).expect("patterns and counts are plain data")
    }

    /// What [`OriginTraps::to_bytes`] gave.
    ///
    /// # Errors
    /// When it is something else, or of another version.
    pub fn from_bytes(bytes: &[u8]) -> io::Result<OriginTraps> {
        let wrong = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
        let kept: Kept = serde_json::from_slice(bytes).map_err(|e| wrong(e.to_string()))?;
        if kept.version != VERSION {
            return Err(wrong(format!("version {}, this program reads {VERSION}", kept.version)));
        }
        Ok(OriginTraps { as_of: kept.as_of, patterns: kept.patterns.into_iter().collect() })
    }
}

#[cfg(test)]
mod tests;
