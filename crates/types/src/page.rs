//! The page record: what recrawl remembers of one URL.
//!
//! A record has three parts, which the repository stores apart from each other. [`Known`] belongs to
//! every URL ever discovered; [`History`] and [`Content`] only to pages that were fetched at least
//! once. Scoring reads the first two and nothing else.

use crate::{Change, Consent, Cycle, Expectation, Verdict, decay, history_fields, known_fields};
use serde::{Deserialize, Serialize};

/// All that is remembered of one URL.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct PageRecord {
    /// What every discovered URL has.
    pub known: Known,
    /// What only a page has that was fetched at least once.
    pub visited: Option<Visited>,
}

/// The part of a record that only a visited page has.
#[derive(Clone, Debug, PartialEq)]
pub struct Visited {
    /// Counters and running sums.
    pub history: History,
    /// What the last visit saw.
    pub content: Content,
}

/// Whether a URL is still worth scheduling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum PageStatus {
    /// May be scheduled.
    #[default]
    Live = 0,
    /// Confirmed gone ([`Known::not_found`] reached [`Known::GONE_AFTER`]). A tombstone: never scheduled,
    /// never removed, and live again as soon as a seed names it.
    Gone = 1,
    /// A rule kept it out when its turn came: robots.txt, the scope, a block, an opt-out, a trap. Not scheduled
    /// until the rule lets it in again, which a look at the rules finds out, and no visit.
    Refused = 2,
    /// Live, but the address guard refused its host at the last attempt. Due after its back-off, as the name may get
    /// another address, or once the operator's rules have changed.
    AddressRefused = 3,
}

impl PageStatus {
    /// May it be scheduled when its back-off is over?
    pub fn is_live(self) -> bool {
        matches!(self, PageStatus::Live | PageStatus::AddressRefused)
    }
}

macro_rules! known {
    ($($(#[$doc:meta])* $name:ident: $type:ty, since $since:literal;)*) => {
        /// State of every discovered URL.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Known {
            /// Live, gone or refused.
            pub status: PageStatus,
            $($(#[$doc])* pub $name: $type,)*
            /// The newest date of modification that a sitemap or feed of its own host gave the page, in
            /// seconds since 1970; 0 for none.
            pub lastmod: u32,
            /// Did that date move forward since the last visit?
            pub is_announced: bool,
            /// What links to it let expect; none without `[focus]`.
            pub expectation: Option<Expectation>,
            /// How relevant its text was; none without `[focus]`, and before the first visit.
            pub verdict: Option<Verdict>,
        }
    };
}

known_fields!(known);

impl Known {
    /// This many confirmations, each at least [`Known::GONE_SPACING_SECONDS`] *and*
    /// [`Known::GONE_SPACING_CYCLES`] after the one before, make a page gone.
    pub const GONE_AFTER: u8 = 3;
    /// Seven days.
    pub const GONE_SPACING_SECONDS: u32 = 7 * 24 * 3600;
    /// Three cycles.
    pub const GONE_SPACING_CYCLES: u32 = 3;
    /// Tries in a row without the page after which it counts as missing.
    pub const MISSING_AFTER: u8 = 3;
    /// The longest back-off, in cycles.
    pub const MAX_BACK_OFF: u32 = 32;

    /// May this URL be scheduled in `cycle`? A gone or refused page may not; one whose last f attempts failed
    /// may again 2^(f−1) cycles after the last of them, at most [`Known::MAX_BACK_OFF`].
    pub fn is_due(&self, cycle: Cycle) -> bool {
        self.status.is_live() && cycle.since(self.last_attempt) >= self.back_off()
    }

    /// Cycles to leave the URL alone after its last attempt; 0 when that one succeeded.
    pub fn back_off(&self) -> u32 {
        match self.failures {
            0 => 0,
            f => (1u32 << u32::from(f - 1).min(31)).min(Self::MAX_BACK_OFF),
        }
    }
}

macro_rules! history {
    ($($(#[$doc:meta])* $name:ident: $type:ty, since $since:literal [$($reads:tt)*];)*) => {
        /// Counters and running sums of a visited page. All estimators of the GP4C papers follow from
        /// them in constant time, in both bases (`visits`, `cycles`), without a walk through the history.
        ///
        /// n and X count *comparisons*: the first successful fetch leaves both at 0 and sets
        /// [`first`](Self::first), exactly as cycle 0 does in a simulation.
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct History {
            $($(#[$doc])* pub $name: $type,)*
        }
    };
}

history_fields!(history);

impl History {
    /// The history of a page right after its first successful fetch in `cycle`.
    pub fn first_fetch(cycle: Cycle) -> History {
        History { first: cycle, last: cycle, ..History::default() }
    }

    /// Folds one comparison into the history.
    pub fn record(&mut self, cycle: Cycle, changed: bool) {
        self.visits = self.visits.saturating_add(1);
        self.geometric_visits = self.geometric_visits / 2.0 + if changed { 1.0 } else { 0.0 };
        let goes_on = self.visits > 1 && self.last_visit_changed() == changed;
        self.streak = if goes_on { self.streak.saturating_add(1) } else { 1 };
        if changed {
            self.changed_cycles = self.changed_cycles.saturating_add(cycle.since(self.last));
            for (sum, half_life) in self.decayed.iter_mut().zip(decay::HALF_LIVES) {
                let weight = decay::weight(half_life, cycle.since(self.last_change));
                *sum = (f64::from(*sum) * weight + 1.0) as f32;
            }
            let weekday = &mut self.weekdays[cycle.0 as usize % 7];
            *weekday = weekday.saturating_add(1);
            self.changes = self.changes.saturating_add(1);
            self.ramp_visits = self.ramp_visits.saturating_add(u64::from(self.visits));
            self.ramp_cycles = self.ramp_cycles.saturating_add(u64::from(cycle.since(self.first)) + 1);
            let gap = cycle.since(self.last_change).min(1100); // 2^-1100 is 0: powi stays in range
            self.geometric_cycles = self.geometric_cycles * 0.5f64.powi(gap as i32) + 1.0;
            self.last_change = cycle;
        }
        self.last = cycle;
    }

    /// Did the last visit meet a change? (I_n: SAD by visits.)
    pub fn last_visit_changed(&self) -> bool {
        self.changes > 0 && self.last_change == self.last
    }
}

/// What the last visit saw, enough to compare the next one with it and to ask conditionally.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Content {
    /// What kind of answer the fingerprint is of.
    pub kind: ContentKind,
    /// The detectors' view of the content.
    pub fingerprint: Fingerprint,
    /// The rule that selected the text for the fingerprint ([`Content::rule_of`]); 0 for none. Fingerprints of
    /// different rules cannot be compared.
    pub rule: u32,
    /// Which of the page's last eight comparisons found a difference that was no change, within the noise floor of
    /// its site or to an answer without text: the last one in the lowest bit.
    pub within_noise: u8,
    /// XXH3-64 of the decoded body, byte for byte: tells the archive whether it has this very body
    /// already. 0 for a redirect.
    pub payload: u64,
    /// Sent back with the next request.
    pub validators: Validators,
    /// Where the last archived response of the page begins: that of this content, unless [`Content::archived`] says
    /// otherwise. It leads to all earlier ones.
    pub archive: Option<ArchivePosition>,
    /// Of which content that response is.
    pub archived: ArchivedBody,
    /// When that body was fetched, in milliseconds since 1970; 0 without a body, and for those that older versions
    /// archived.
    pub archived_at: u64,
    /// What the page said is to be done with it.
    pub consent: Consent,
    /// Digests of its links as they were last handed to a merge, each of a part of them; none of a page without links. Links
    /// of parts with the same digest need no merge. Of 32 bits, since one wrong match in four billion costs only some links.
    pub merged_links: Box<[u32]>,
}

/// Of which content a page's last archived response is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArchivedBody {
    /// Of the content of the last visit.
    #[default]
    Last,
    /// Of an earlier visit: the last one archived nothing.
    Earlier,
    /// The same, and no version is shown: the page asks not to be archived.
    Withheld,
}

impl Content {
    /// Where the body of this content lies, if it was archived.
    pub fn body(&self) -> Option<ArchivePosition> {
        self.archive.filter(|_| self.archived == ArchivedBody::Last)
    }

    /// Where the newest archived version of the page begins that may be shown.
    pub fn newest_version(&self) -> Option<ArchivePosition> {
        self.archive.filter(|_| self.archived != ArchivedBody::Withheld)
    }

    /// Keeps what leads to the archived versions of the content before.
    pub fn keep_versions(&mut self, before: Option<&Content>, archived: ArchivedBody) {
        if let Some(before) = before.filter(|before| before.archive.is_some()) {
            (self.archive, self.archived_at, self.archived) = (before.archive, before.archived_at, archived);
        }
    }

    /// [`Content::payload`] of a body.
    pub fn payload_of(body: &[u8]) -> u64 {
        xxhash_rust::xxh3::xxh3_64(body)
    }

    /// The number of a rule that selects text, from what it says. Never 0.
    pub fn rule_of(text: &str) -> u32 {
        (xxhash_rust::xxh3::xxh3_64(text.as_bytes()) as u32).max(1)
    }
}

/// What kind of answer a fingerprint was taken of. A change of kind is a change of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum ContentKind {
    /// Text was extracted; both detectors apply.
    #[default]
    Text = 0,
    /// No text could be extracted (an image, say): the digest is of the bytes, the SimHash 0.
    Opaque = 1,
    /// A redirect: the digest is of its target, the SimHash 0.
    Redirect = 2,
    /// A sitemap or feed: the digest is of its entries, the SimHash 0.
    Hints = 3,
}

/// The detectors' view of a page's content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint {
    /// SimHash of the visible text's features (Charikar 2002); near contents have near values.
    pub simhash: u64,
    /// XXH3-128 of the visible text (or of the bytes, the target, the entries: [`ContentKind`]).
    pub digest: u128,
}

impl Fingerprint {
    /// The fingerprint of something without text: bytes that could not be parsed.
    pub fn of_bytes(bytes: &[u8]) -> Fingerprint {
        Fingerprint { simhash: 0, digest: xxhash_rust::xxh3::xxh3_128(bytes) }
    }

    /// The fingerprint of a redirect to `target`.
    pub fn of_redirect(target: &crate::CanonicalUrl) -> Fingerprint {
        Fingerprint::of_bytes(target.key())
    }
}

/// HTTP validators of the last response, as the server spelled them (RFC 9110 §8.8). Longer values
/// than the limits are not kept: the next request is then unconditional.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validators {
    /// `ETag`, at most [`Validators::MAX_ETAG`] bytes.
    pub etag: Option<Box<str>>,
    /// `Last-Modified`, at most [`Validators::MAX_LAST_MODIFIED`] bytes.
    pub last_modified: Option<Box<str>>,
}

impl Validators {
    /// Real entity tags are 10 to 70 bytes; 200 leaves room and keeps a row bounded.
    pub const MAX_ETAG: usize = 200;
    /// An HTTP date is 29 bytes.
    pub const MAX_LAST_MODIFIED: usize = 64;

    /// Keeps what is within the limits. `*` is no entity tag: sent back, it means any version of the page (RFC 9110
    /// §13.1.2).
    pub fn new(etag: Option<&str>, last_modified: Option<&str>) -> Validators {
        Validators {
            etag: etag.filter(|v| !matches!(*v, "" | "*") && v.len() <= Self::MAX_ETAG).map(Box::from),
            last_modified: last_modified
                .filter(|v| !v.is_empty() && v.len() <= Self::MAX_LAST_MODIFIED)
                .map(Box::from),
        }
    }

    /// Is there nothing to ask with?
    pub fn is_empty(&self) -> bool {
        self.etag.is_none() && self.last_modified.is_none()
    }
}

/// Where a page's last archived response begins: the number of a WARC file and the byte offset of
/// the record's gzip member in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ArchivePosition {
    /// Number of the WARC file, counted from 1.
    pub file: u32,
    /// Offset in bytes.
    pub offset: u64,
}

impl PageRecord {
    /// The record of a URL found in `cycle`, never fetched.
    pub fn discovered(cycle: Cycle, depth: u16) -> PageRecord {
        PageRecord { known: Known { discovered: cycle, depth, ..Known::default() }, visited: None }
    }
}

impl Change {
    /// Folds this change into a page's history (creating it for a first fetch).
    pub fn fold(self, history: Option<History>, cycle: Cycle) -> History {
        match (history, self) {
            (None, _) | (_, Change::First) => History::first_fetch(cycle),
            (Some(mut h), change) => {
                h.record(cycle, change == Change::Changed);
                h
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rfc_9110_section_13_1_2_a_star_is_no_entity_tag() {
        assert!(Validators::new(Some("*"), None).is_empty());
        assert_eq!(Validators::new(Some("\"*\""), None).etag.as_deref(), Some("\"*\""));
    }

    #[test]
    fn back_off_doubles_up_to_its_limit_and_gone_is_never_due() {
        let mut known = Known { last_attempt: Cycle(100), ..Known::default() };
        assert!(known.is_due(Cycle(100)));
        for (failures, wait) in [(1, 1), (2, 2), (3, 4), (6, 32), (7, 32), (255, 32)] {
            known.failures = failures;
            assert!(!known.is_due(Cycle(100 + wait - 1)), "{failures} failures");
            assert!(known.is_due(Cycle(100 + wait)), "{failures} failures");
        }
        known.status = PageStatus::AddressRefused;
        assert!(!known.is_due(Cycle(131)) && known.is_due(Cycle(132)));
        known.status = PageStatus::Gone;
        assert!(!known.is_due(Cycle(1_000_000)));
    }

    proptest! {
        /// The running sums equal the sums that the papers write out (Santos 2013, the baselines NAD, AAD and GAD).
        #[test]
        fn running_sums_equal_the_walk_through_the_history(
            steps in proptest::collection::vec((1u32..9, any::<bool>()), 1..50)
        ) {
            let first = Cycle(7);
            let mut h = History::first_fetch(first);
            let (mut now, mut seen) = (first, Vec::new());
            for (gap, changed) in &steps {
                now = Cycle(now.0 + gap);
                h.record(now, *changed);
                seen.push((now, *changed));
            }
            let n = seen.len() as u32;
            prop_assert_eq!(h.visits, n);
            prop_assert_eq!(h.changes, seen.iter().filter(|s| s.1).count() as u32);
            let ramp: u64 = seen.iter().zip(1u64..).filter(|(s, _)| s.1).map(|(_, i)| i).sum();
            prop_assert_eq!(h.ramp_visits, ramp);
            let by_cycle: u64 = seen.iter().filter(|s| s.1).map(|s| u64::from(s.0.since(first)) + 1).sum();
            prop_assert_eq!(h.ramp_cycles, by_cycle);
            // Below 53 visits the literal sum is exact, so the scaled one must equal it.
            let literal: f64 = seen.iter().zip(0..).filter(|(s, _)| s.1).map(|(_, i)| 2f64.powi(i)).sum();
            prop_assert_eq!(h.geometric_visits * 2f64.powi(n as i32 - 1), literal);
            let cycles: f64 = seen.iter().filter(|s| s.1)
                .map(|s| 0.5f64.powi(h.last_change.since(s.0) as i32)).sum();
            prop_assert!((h.geometric_cycles - cycles).abs() < 1e-12);
            prop_assert_eq!(h.last_visit_changed(), seen.last().unwrap().1);
            let gaps = steps.iter().filter(|s| s.1).map(|s| s.0).sum::<u32>();
            prop_assert_eq!(h.changed_cycles, gaps);
            let last = seen.last().unwrap().1;
            prop_assert_eq!(h.streak as usize, seen.iter().rev().take_while(|s| s.1 == last).count());
            for (sum, half_life) in h.decayed.iter().zip(decay::HALF_LIVES) {
                let literal: f64 = seen.iter().filter(|s| s.1)
                    .map(|s| 0.5f64.powf(f64::from(h.last_change.since(s.0)) / f64::from(half_life))).sum();
                prop_assert!((f64::from(*sum) - literal).abs() < 1e-5, "{} for {}", sum, literal);
            }
            for (weekday, &count) in h.weekdays.iter().enumerate() {
                let literal = seen.iter().filter(|s| s.1 && s.0.0 as usize % 7 == weekday).count();
                prop_assert_eq!(usize::from(count), literal);
            }
        }
    }
}
