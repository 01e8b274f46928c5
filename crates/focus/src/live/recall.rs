//! How many relevant pages there are, and how many of them were found.
//!
//! What a focused crawl fetched does not show what it avoided. So pending URLs are stratified by expected relevance, and the
//! visits that were drawn uniformly give the rate of each stratum: relevant in all = found + Σ pending · rate (Horvitz and
//! Thompson 1952, poststratified). The interval comes from a bootstrap over sites, since pages of a site are alike.

use crate::logistic::logistic;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Strata of expected relevance.
pub const STRATA: usize = 10;
/// Log odds at which the strata meet.
const EDGES: [f64; STRATA - 1] = [-6.0, -5.0, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0];
/// Explored visits that are kept: the newest.
pub const MAX_EXPLORED: usize = 4096;
/// Finds below which nothing is estimated, and finds among explored visits: with fewer, the interval covers too rarely.
pub const MIN_FOUND: usize = 5;
/// Resamples of the bootstrap.
const RESAMPLES: usize = 200;
/// Sites below which single visits are resampled instead.
const MIN_SITES: usize = 5;

/// The stratum of log odds.
pub fn stratum(logit: f64) -> usize {
    EDGES.iter().filter(|edge| logit >= **edge).count()
}

/// The log odds from which on a stratum begins; none for the lowest.
pub fn lower_end(stratum: usize) -> Option<f64> {
    stratum.checked_sub(1).map(|below| EDGES[below])
}

/// An explored visit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explored {
    /// Hash of its site.
    pub site: u32,
    /// Its stratum when it was drawn.
    pub stratum: u8,
    /// Was it relevant?
    pub is_relevant: bool,
    /// The probability with which it was drawn.
    pub propensity: f32,
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

/// Estimates recall; none with too few finds, of all visits or of explored ones.
pub fn recall(found: u64, pending: &[u64; STRATA], explored: &[Explored], seed: u64) -> Option<Recall> {
    let explored_finds = explored.iter().filter(|visit| visit.is_relevant).count();
    if found < MIN_FOUND as u64 || explored_finds < MIN_FOUND {
        return None;
    }
    let of = |missed: f64| found as f64 / (found as f64 + missed);
    let mut clusters: BTreeMap<u64, Vec<&Explored>> = BTreeMap::new();
    explored.iter().for_each(|visit| clusters.entry(visit.site.into()).or_default().push(visit));
    if clusters.len() < MIN_SITES {
        clusters = (0..).zip(explored).map(|(number, visit)| (number, vec![visit])).collect();
    }
    let clusters: Vec<Vec<&Explored>> = clusters.into_values().collect();
    let mut random = seed;
    let mut missed: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let drawn = (0..clusters.len())
                .flat_map(|_| &clusters[(next(&mut random) % clusters.len() as u64) as usize]);
            missed(pending, drawn.copied())
        })
        .collect();
    missed.sort_unstable_by(f64::total_cmp);
    let [few, many] = [RESAMPLES / 20, RESAMPLES - 1 - RESAMPLES / 20].map(|at| missed[at]);
    Some(Recall { estimate: of(self::missed(pending, explored.iter())), low: of(many), high: of(few) })
}

/// Estimated relevant pages among pending ones. The odds of a stratum count as one visit, so that one that was never explored
/// has a rate too.
fn missed<'e>(pending: &[u64; STRATA], explored: impl Iterator<Item = &'e Explored>) -> f64 {
    let (mut relevant, mut all, mut visits) = ([0.0; STRATA], [0.0; STRATA], [0.0; STRATA]);
    for visit in explored {
        let (at, weight) = (usize::from(visit.stratum).min(STRATA - 1), 1.0 / f64::from(visit.propensity));
        all[at] += weight;
        visits[at] += 1.0;
        relevant[at] += if visit.is_relevant { weight } else { 0.0 };
    }
    let middle = |at: usize| match at {
        0 => EDGES[0] - 0.5,
        at if at == STRATA - 1 => EDGES[at - 1] + 0.5,
        at => (EDGES[at - 1] + EDGES[at]) / 2.0,
    };
    let rate = |at: usize| {
        let share = if all[at] > 0.0 { relevant[at] / all[at] } else { 0.0 };
        (share * visits[at] + logistic(middle(at))) / (visits[at] + 1.0)
    };
    (0..STRATA).map(|at| pending[at] as f64 * rate(at)).sum()
}

/// SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut x = *state;
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
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
        let visit = |n| Explored { site: 1, stratum: 0, is_relevant: n % 10 == 0, propensity: 0.1 };
        let visits = |count| (0..count).map(visit).collect::<Vec<_>>();
        assert_eq!(recall(4, &[0; STRATA], &visits(50), 1), None);
        assert_eq!(recall(9, &[0; STRATA], &visits(40), 1), None, "four explored finds");
        let all = recall(9, &[0; STRATA], &visits(50), 1).unwrap();
        assert_eq!(all, Recall { estimate: 1.0, low: 1.0, high: 1.0 }, "nothing is pending");
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

    /// Sites with rates of their own, explored at random: the interval covers the truth about as often as it says.
    #[test]
    fn the_interval_covers_the_truth() {
        let (mut random, mut covered, mut wide) = (7, 0, 0.0);
        let mut uniform = || (next(&mut random) >> 11) as f64 / (1u64 << 53) as f64;
        let runs = 200;
        for run in 0..runs {
            let (mut pending, mut explored, mut relevant, mut found) = ([0; STRATA], vec![], 0, 0);
            for site in 0..40 {
                let rate = 0.02 + 0.3 * uniform() * uniform();
                for _ in 0..100 {
                    let is_relevant = uniform() < rate;
                    // Odds that know something of the page.
                    let logit = if is_relevant { -3.0 + 2.0 * uniform() } else { -5.0 + 3.0 * uniform() };
                    let stratum = stratum(logit);
                    if uniform() < 0.1 {
                        explored.push(Explored {
                            site,
                            stratum: stratum as u8,
                            is_relevant,
                            propensity: 0.1,
                        });
                        found += u64::from(is_relevant);
                    } else {
                        pending[stratum] += 1;
                        relevant += u64::from(is_relevant);
                    }
                }
            }
            let truth = found as f64 / (found + relevant) as f64;
            let recall = recall(found, &pending, &explored, run).unwrap();
            covered += u32::from((recall.low..=recall.high).contains(&truth));
            wide += (recall.high - recall.low) / runs as f64;
        }
        assert!((160..=200).contains(&covered), "{covered} of 200, {wide:.3} wide in the mean");
        assert!(wide < 0.1, "{wide}");
    }
}
