//! How many relevant pages there are, and how many of them were found.
//!
//! What a focused crawl fetched does not show what it avoided. So pending URLs are stratified by their log odds, and the visits
//! that were drawn uniformly tell of each stratum how many pages are relevant for each that its odds let expect. Relevant in all
//! = found + Σ expected · that ratio (a ratio estimator, poststratified: Cochran 1977, §6.10). The interval is that of Fay and
//! Feuer (1997) for a weighted sum of rare events: the upper end of what was missed has one event more, of the greatest weight.
//! So it holds without any find among the drawn visits too. Finds of one site count as one event, since its pages are alike.

use super::gamma;
use crate::logistic::logistic;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Strata of expected relevance.
pub const STRATA: usize = 10;
/// Log odds at which the strata meet.
const EDGES: [f64; STRATA - 1] = [-6.0, -5.0, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0];
/// Explored visits that are kept: the newest.
pub const MAX_EXPLORED: usize = 4096;
/// Finds below which nothing is estimated.
pub const MIN_FOUND: u64 = 5;

/// Pending URLs of a stratum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pending {
    /// Their number.
    pub urls: u64,
    /// Σ expected relevance.
    pub expected: f64,
}

/// Pending URLs by stratum.
pub type AllPending = [Pending; STRATA];

impl Pending {
    /// Adds a URL with these log odds to its stratum.
    pub fn add(of: &mut AllPending, odds: f64) {
        let stratum = &mut of[stratum(odds)];
        stratum.urls += 1;
        stratum.expected += logistic(odds);
    }

    /// Takes out a URL that was added with these log odds.
    pub fn remove(of: &mut AllPending, odds: f64) {
        let stratum = &mut of[stratum(odds)];
        stratum.urls = stratum.urls.saturating_sub(1);
        stratum.expected = if stratum.urls == 0 { 0.0 } else { (stratum.expected - logistic(odds)).max(0.0) };
    }
}

/// The stratum of log odds.
pub fn stratum(logit: f64) -> usize {
    EDGES.iter().filter(|edge| logit >= **edge).count()
}

/// An explored visit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explored {
    /// Hash of its site.
    pub site: u32,
    /// Its log odds when it was drawn.
    pub odds: f32,
    /// Was it relevant?
    pub is_relevant: bool,
}

/// An estimate of recall, with the bounds of a 90 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recall {
    /// found / (found + estimated).
    pub estimate: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

/// Estimates recall; none with too few finds, or without explored visits.
pub fn recall(found: u64, pending: &AllPending, explored: &[Explored]) -> Option<Recall> {
    if found < MIN_FOUND || explored.is_empty() {
        return None;
    }
    let (mut expected, mut finds, mut visits) = ([0.0; STRATA], [0.0; STRATA], [0u64; STRATA]);
    for visit in explored {
        let at = stratum(visit.odds.into());
        expected[at] += logistic(visit.odds.into());
        finds[at] += f64::from(u8::from(visit.is_relevant));
        visits[at] += 1;
    }
    // How many pending pages a find stands for. One visit more in each stratum, as likely to be relevant as its odds say, gives
    // one that was never explored a ratio too.
    let prior: [f64; STRATA] = std::array::from_fn(|at| logistic(middle(at)));
    let stands_for: [f64; STRATA] =
        std::array::from_fn(|at| pending[at].expected / (expected[at] + prior[at]));
    let missed_in =
        |at: usize, finds: f64| (stands_for[at] * (finds + prior[at])).min(pending[at].urls as f64);
    let missed: f64 = (0..STRATA).map(|at| missed_in(at, finds[at])).sum();
    let mut by_site: BTreeMap<u32, f64> = BTreeMap::new();
    for visit in explored.iter().filter(|visit| visit.is_relevant) {
        *by_site.entry(visit.site).or_default() += stands_for[stratum(visit.odds.into())];
    }
    let of_finds: f64 = by_site.values().sum();
    let variance: f64 = by_site.values().map(|finds| finds * finds).sum();
    // One find more than there were, in the stratum that was explored least.
    let one = (0..STRATA).map(|at| pending[at].urls as f64 / (visits[at] + 1) as f64).fold(0.0, f64::max);
    let urls = pending.iter().map(|stratum| stratum.urls).sum::<u64>() as f64;
    let few = gamma::quantile(0.05, of_finds, variance).min(missed);
    let many = gamma::quantile(0.95, missed + one, variance + one * one).min(urls).max(missed);
    let of = |missed: f64| found as f64 / (found as f64 + missed);
    Some(Recall { estimate: of(missed), low: of(many), high: of(few) })
}

/// Log odds in the middle of a stratum.
fn middle(at: usize) -> f64 {
    match at {
        0 => EDGES[0] - 0.5,
        at if at == STRATA - 1 => EDGES[at - 1] + 0.5,
        at => (EDGES[at - 1] + EDGES[at]) / 2.0,
    }
}

/// The 90 % interval of Wilson for a share; none without trials.
pub fn wilson(part: u64, whole: u64) -> Option<[f64; 2]> {
    const Z: f64 = 1.644_853_626_951_472_2;
    if whole == 0 {
        return None;
    }
    let (n, share) = (whole as f64, part as f64 / whole as f64);
    let middle = share + Z * Z / (2.0 * n);
    let half = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    Some([((middle - half) / scale).max(0.0), ((middle + half) / scale).min(1.0)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strata_part_the_odds() {
        assert_eq!([-99.0, -6.0, -0.5, 0.0, 99.0].map(stratum), [0, 1, 6, 7, STRATA - 1]);
    }

    #[test]
    fn too_little_is_unknown() {
        let visits = [Explored { site: 1, odds: -7.0, is_relevant: false }; 50];
        assert_eq!(recall(4, &Default::default(), &visits), None);
        assert_eq!(recall(9, &Default::default(), &[]), None);
        let all = recall(9, &Default::default(), &visits).unwrap();
        assert_eq!(all, Recall { estimate: 1.0, low: 1.0, high: 1.0 }, "nothing is pending");
        // 50 visits without a find, 500 URLs wait: by the rule of three, up to 30 are relevant.
        let waiting = |urls: usize, odds: f64| {
            let mut pending = AllPending::default();
            (0..urls).for_each(|_| Pending::add(&mut pending, odds));
            pending
        };
        let some = recall(30, &waiting(500, -7.0), &visits).unwrap();
        assert!((0.48..0.52).contains(&some.low) && some.estimate > 0.95 && some.high > 0.99, "{some:?}");
        // Ten thousand URLs of which none was explored.
        let odds_of = |odds: f32| [Explored { site: 1, odds, is_relevant: false }; 3000];
        let unknown = recall(500, &waiting(10_000, -6.5), &odds_of(-2.5)).unwrap();
        assert!(unknown.low < 0.05 && unknown.estimate > 0.95, "{unknown:?}");
        // The more of them were explored in vain, the fewer are left.
        let lows = [1, 10, 100, 1000].map(|count| {
            let visits = [&odds_of(-2.5)[..], &odds_of(-6.5)[..count]].concat();
            recall(500, &waiting(10_000, -6.5), &visits).unwrap().low
        });
        assert!(lows.is_sorted() && lows[2] < 0.7 && lows[3] > 0.9, "{lows:?}");
        // No more can be missed than wait.
        let all = [Explored { site: 1, odds: -1.99, is_relevant: true }; 10];
        let most = recall(500, &waiting(100, -1.01), &all).unwrap();
        assert!(most.low >= 500.0 / 600.0 - 1e-9 && most.estimate >= most.low, "{most:?}");
    }

    #[test]
    fn pending_urls_are_counted_by_stratum() {
        let mut pending = AllPending::default();
        [-7.0, -0.5, -0.1].into_iter().for_each(|odds| Pending::add(&mut pending, odds));
        assert_eq!((pending[0].urls, pending[6].urls), (1, 2));
        assert!((pending[6].expected - logistic(-0.5) - logistic(-0.1)).abs() < 1e-12);
        [-0.1, -0.5, -7.0, -7.0].into_iter().for_each(|odds| Pending::remove(&mut pending, odds));
        assert_eq!(pending, AllPending::default());
    }

    #[test]
    fn wilson_is_that_of_a_table() {
        assert_eq!(wilson(0, 0), None);
        // 10 of 100 at z = 1.6449: by hand, (0.11353 ± 0.05115) / 1.02706.
        let [low, high] = wilson(10, 100).unwrap();
        assert!((low - 0.0607).abs() < 2e-3 && (high - 0.1603).abs() < 2e-3, "{low} {high}");
        assert_eq!(wilson(0, 5).unwrap()[0], 0.0);
        assert!((wilson(5, 5).unwrap()[1] - 1.0).abs() < 1e-12);
    }

    /// Sites with rates of their own, explored at random: the interval covers the truth about as often as it says, also where
    /// hardly any explored page is relevant.
    #[test]
    fn the_interval_covers_the_truth() {
        let mut random = 7u64;
        let mut uniform = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 11) as f64 / (1u64 << 53) as f64
        };
        // With equal parts of all strata explored, and with hardly any of what is least expected.
        for (most, of_low) in [(0.3, 0.1), (0.02, 0.1), (0.3, 0.02), (0.02, 0.02)] {
            let (mut covered, mut known) = (0, 0);
            for _ in 0..200 {
                let (mut pending, mut explored, mut relevant, mut found) =
                    (AllPending::default(), vec![], 0, 5);
                for site in 0..40 {
                    let rate = most * uniform() * uniform();
                    for _ in 0..100 {
                        let is_relevant = uniform() < rate;
                        // Odds that know something of the page.
                        let odds = if is_relevant { -3.0 + 2.0 * uniform() } else { -5.0 + 3.0 * uniform() };
                        if uniform() < if odds < -3.5 { of_low } else { 0.1 } {
                            explored.push(Explored { site, odds: odds as f32, is_relevant });
                            found += u64::from(is_relevant);
                        } else {
                            Pending::add(&mut pending, odds);
                            relevant += u64::from(is_relevant);
                        }
                    }
                }
                let truth = found as f64 / (found + relevant) as f64;
                let recall = recall(found, &pending, &explored).unwrap();
                known += 1;
                covered += u32::from((recall.low..=recall.high).contains(&truth));
            }
            assert!(covered >= 172, "{covered} of {known} at rates up to {most}, explored {of_low}");
        }
    }
}
