//! Estimates from a sample whose pages were drawn with unequal probabilities.

use crate::sum::ExactSum;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::{Add, AddAssign};

/// Part of the pages that another formula visits, below which a formula starves the others.
const STARVED: f64 = 0.75;

/// Does a formula that visits this share of the pages starve some that one of the other share visits?
pub fn starves(coverage: f64, other: f64) -> bool {
    coverage < STARVED * other
}

/// Quantile of the normal distribution: 95 % lie within this many standard deviations. Two digits, as in released reports.
const Z: f64 = 1.96;

/// Pages of a sample, each weighted by 1/p, where p is its sampling probability. With
/// `max_per_host`, pages of a large host have a lower p than others, so a plain mean would give
/// them too little weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Weighted {
    /// Pages of the sample.
    pub pages: u64,
    /// Σ 1/p: an unbiased estimate of the number of pages that they represent (Horvitz & Thompson
    /// 1952).
    pub weight: ExactSum,
    /// Σ 1/p².
    pub squares: ExactSum,
}

/// A share of a population, estimated from a sample, with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// From 0 to 1.
    pub share: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Effective sample size: the size of a sample with equal probabilities and the same precision.
    pub effective: f64,
}

/// The pages of a sample with and without a response, by host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostResponses {
    /// In order, so that sums have the same digits in every run.
    hosts: BTreeMap<Box<str>, HostWeights>,
    unanswered: ExactSum,
}

/// Weights of the pages of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct HostWeights {
    part: ExactSum,
    rest: ExactSum,
}

impl HostResponses {
    /// Counts a page of this host, drawn with this probability. `is_part` says whether it belongs to the
    /// estimated part; none without a response.
    pub fn count(&mut self, host: &str, is_part: Option<bool>, probability: f64) {
        let weight = 1.0 / probability;
        let Some(is_part) = is_part else {
            self.unanswered += weight;
            return;
        };
        let host = match self.hosts.get_mut(host) {
            Some(host) => host,
            None => self.hosts.entry(host.into()).or_default(),
        };
        *(if is_part { &mut host.part } else { &mut host.rest }) += weight;
    }

    /// If pages are missing, the residuals of one host, or of hosts that are all alike, show no
    /// variance. The effective size is then at most the number of hosts.
    fn max_effective(&self, share: f64) -> f64 {
        let hosts = self.hosts.len() as f64;
        let is_blind = hosts < 2.0 || share <= 0.0 || share >= 1.0;
        if self.unanswered.value() > 0.0 && is_blind { hosts } else { f64::INFINITY }
    }

    /// The variance that missing responses add to this share of this weight.
    fn variance(&self, share: f64, weight: f64) -> f64 {
        let (hosts, unanswered) = (self.hosts.len() as f64, self.unanswered.value());
        if unanswered == 0.0 || hosts < 2.0 {
            return 0.0;
        }
        let lacking = unanswered / (unanswered + weight);
        let residual = |host: &HostWeights| host.part.value() * (1.0 - share) - host.rest.value() * share;
        let squares: f64 = self.hosts.values().map(|host| residual(host).powi(2)).sum();
        lacking * hosts / (hosts - 1.0) * squares / (weight * weight)
    }
}

impl Weighted {
    /// Pages drawn with probability 1.
    pub fn certain(pages: u64) -> Weighted {
        let sum = ExactSum::from(pages as f64);
        Weighted { pages, weight: sum, squares: sum }
    }

    /// Counts a page drawn with this probability, above 0.
    pub fn count(&mut self, probability: f64) {
        let weight = 1.0 / probability;
        *self += Weighted { pages: 1, weight: weight.into(), squares: (weight * weight).into() };
    }
}

impl AddAssign<&HostResponses> for HostResponses {
    fn add_assign(&mut self, other: &HostResponses) {
        for (host, answers) in &other.hosts {
            let sum = self.hosts.entry(host.clone()).or_default();
            *sum = HostWeights { part: sum.part + answers.part, rest: sum.rest + answers.rest };
        }
        self.unanswered += other.unanswered;
    }
}

impl AddAssign for Weighted {
    fn add_assign(&mut self, other: Weighted) {
        *self = *self + other;
    }
}

impl Add for Weighted {
    type Output = Weighted;

    fn add(self, other: Weighted) -> Weighted {
        Weighted {
            pages: self.pages + other.pages,
            weight: self.weight + other.weight,
            squares: self.squares + other.squares,
        }
    }
}

impl Estimate {
    /// Estimates the share of pages like `part` in the population of `part` and `rest`. None
    /// without a sample. `population` is the number of its pages, if known.
    ///
    /// The share is the ratio of the weights (Hájek 1971). The effective size is the lower of two
    /// values. One is (Σw)²/Σw² (Kish 1965). The other is p(1 − p)/v, where v is the linearised
    /// variance of the ratio (Särndal, Swensson & Wretman 1992, section 5.7). It is lower if heavy
    /// pages differ more. With equal weights both are the number of pages. The interval is Wilson's
    /// (1927). Its n is the effective size (Korn & Graubard 1998) divided by 1 − n/N, since a
    /// census has no sampling error.
    pub fn from_sample(part: Weighted, rest: Weighted, population: Option<u64>) -> Option<Estimate> {
        Estimate::of_answered(part, rest, population, &HostResponses::default())
    }

    /// The same for a sample of which some pages had no response. Responses are missing host by host, and
    /// pages of a host are alike. So the H hosts that answered are a second sample, with the answered share
    /// r as its fraction. (1 − r)·H/(H − 1)·Σ_h (Σ_{i∈h} w_i(y_i − p))²/(Σw)² is added to the variance: the
    /// variance of a ratio over clusters (Särndal, Swensson & Wretman 1992, sections 5.7 and 9.3).
    pub fn of_answered(
        part: Weighted,
        rest: Weighted,
        population: Option<u64>,
        response: &HostResponses,
    ) -> Option<Estimate> {
        let all = part + rest;
        if all.pages == 0 {
            return None;
        }
        let weight = all.weight.value();
        let share = part.weight.value() / weight;
        let linearised = part.squares.value() * (1.0 - share).powi(2) + rest.squares.value() * share.powi(2);
        let squared = weight * weight;
        let by_residuals =
            if linearised > 0.0 { share * (1.0 - share) * squared / linearised } else { f64::INFINITY };
        let drawn = by_residuals.min(squared / all.squares.value());
        let varies = share * (1.0 - share);
        let by_hosts = response.variance(share, weight);
        let most = response.max_effective(share);
        let with_hosts = |n: f64| if by_hosts > 0.0 { varies / (varies / n + by_hosts) } else { n.min(most) };
        let effective = with_hosts(drawn);
        let sampled = population.map_or(0.0, |pages| (all.pages as f64 / pages as f64).min(1.0));
        // Infinite for a census; then the interval equals the share.
        let n = with_hosts(drawn / (1.0 - sampled));
        let square = Z * Z / n;
        let middle = (share + square / 2.0) / (1.0 + square);
        let half = (Z * Z * share * (1.0 - share) / n + square * square / 4.0).sqrt() / (1.0 + square);
        let (low, high) = ((middle - half).clamp(0.0, share), (middle + half).clamp(share, 1.0));
        Some(Estimate { share, low, high, effective })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(pages: u64, probability: f64) -> Weighted {
        let mut weighted = Weighted::default();
        (0..pages).for_each(|_| weighted.count(probability));
        weighted
    }

    #[test]
    fn equal_probabilities_give_the_plain_share_and_wilsons_interval() {
        let found = Estimate::from_sample(drawn(90, 0.25), drawn(10, 0.25), None).unwrap();
        // Computed separately from the formula.
        let expected = Estimate { share: 0.9, low: 0.8256, high: 0.9448, effective: 100.0 };
        for (value, expected) in [
            (found.share, expected.share),
            (found.low, expected.low),
            (found.high, expected.high),
            (found.effective, expected.effective),
        ] {
            assert!((value - expected).abs() < 1e-4, "{found:?}");
        }
        let all = Estimate::from_sample(drawn(3, 0.1), Weighted::default(), None).unwrap();
        assert!(all.share == 1.0 && all.high == 1.0 && all.low > 0.4 && all.low < 0.5, "{all:?}");
        assert_eq!(Estimate::from_sample(Weighted::default(), Weighted::default(), Some(7)), None);
    }

    #[test]
    fn a_census_leaves_nothing_to_chance_and_a_large_part_less() {
        let of = |population| Estimate::from_sample(drawn(30, 0.5), drawn(10, 0.5), population).unwrap();
        let (census, half, unknown) = (of(Some(40)), of(Some(80)), of(None));
        assert_eq!([census.low, census.high], [0.75, 0.75]);
        assert!(half.low > unknown.low && half.high < unknown.high && half.low < 0.75, "{half:?}");
    }

    #[test]
    fn where_hosts_did_not_answer_the_others_tell_less() {
        let (mut alike, mut mixed) = (HostResponses::default(), HostResponses::default());
        for page in 0..40 {
            // Four hosts: stale and fresh pages each on their own, or on all of them.
            alike.count(&format!("h{}", page % 4), Some(page % 2 == 0), 0.5);
            mixed.count(&format!("h{}", page / 2 % 4), Some(page % 2 == 0), 0.5);
        }
        let of = |response: &HostResponses| {
            let estimate = Estimate::of_answered(drawn(20, 0.5), drawn(20, 0.5), None, response).unwrap();
            (estimate.share, estimate.effective)
        };
        assert_eq!(of(&alike), (0.5, 40.0), "all answered");
        for response in [&mut alike, &mut mixed] {
            (0..40).for_each(|_| response.count("h9", None, 0.5));
        }
        assert_eq!(of(&mixed), (0.5, 40.0), "each host is as all are");
        // Half of 4/3 · 4 · 10²/80² · 1/4, beside 1/160 of the draw.
        let expected = 0.25 / (1.0 / 160.0 + 0.5 * 4.0 / 3.0 * 4.0 * 100.0 / 6_400.0);
        let (share, effective) = of(&alike);
        assert!(share == 0.5 && (effective - expected).abs() < 1e-9, "{effective} beside {expected}");
        // Four hosts that all have only fresh pages tell as much as four pages.
        let mut fresh = HostResponses::default();
        (0..40).for_each(|page| fresh.count(&format!("h{}", page % 4), Some(true), 0.5));
        fresh.count("h9", None, 0.5);
        let found = Estimate::of_answered(drawn(40, 0.5), Weighted::default(), None, &fresh).unwrap();
        assert_eq!((found.share, found.effective), (1.0, 4.0));
    }

    /// Of a thousand pages half are stale: all but one of the large host, which has four slots, and
    /// none of the others. Without weights, the sample shows a fifth as stale.
    #[test]
    fn unequal_probabilities_are_weighed_and_cost_effective_size() {
        let (stale, fresh) = (drawn(4, 0.008), drawn(16, 0.032));
        let found = Estimate::from_sample(stale, fresh, Some(1000)).unwrap();
        assert!((found.share - 0.5).abs() < 1e-12, "{found:?}");
        assert!(found.effective < 13.0 && found.low < 0.3 && found.high > 0.7, "{found:?}");
    }
}
