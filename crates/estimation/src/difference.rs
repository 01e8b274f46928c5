//! The share of changed pages, from a sample and from what was expected of every page.
//!
//! The difference estimator (Särndal, Swensson & Wretman 1992, section 6.3): the mean expectation P over the
//! population, plus the mean of y − P over the sample, where y is 1 for a changed page. It is unbiased however wrong P
//! is, and the narrower the better P is.

use crate::interval::Interval;
use crate::sum::ExactSum;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One page of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Audited {
    /// Has it changed? None if there was no answer.
    pub changed: Option<bool>,
    /// P: the probability of a change that was expected, 0 to 1.
    pub expected: f64,
    /// π: the probability with which it was drawn, above 0.
    pub probability: f64,
}

/// The pages from which a sample is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Population {
    /// N: their number.
    pub pages: u64,
    /// ΣP: the changes expected in all of them.
    pub expected: f64,
}

/// What a sample shows beyond what was expected, host by host. Sums, so samples can be added.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// By host, in order, so that sums have the same digits in every run.
    hosts: BTreeMap<Box<str>, Sums>,
}

/// Sums over the pages of a host, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Sums {
    /// Pages without an answer: Σ1/π, and ΣP/π.
    unanswered: ExactSum,
    unanswered_expected: ExactSum,
    pages: u64,
    /// Σw, Σw·d, Σw², Σw²·d, Σw²·d², with w = 1/π and d = y − P.
    moments: [ExactSum; 5],
}

impl Sums {
    fn add(&mut self, other: &Sums) {
        self.unanswered += other.unanswered;
        self.unanswered_expected += other.unanswered_expected;
        self.pages += other.pages;
        self.moments.iter_mut().zip(other.moments).for_each(|(sum, term)| *sum += term);
    }
}

impl Sample {
    /// Counts a page of this host.
    pub fn count(&mut self, host: &str, page: Audited) {
        let sums = match self.hosts.get_mut(host) {
            Some(sums) => sums,
            None => self.hosts.entry(host.into()).or_default(),
        };
        let weight = 1.0 / page.probability;
        let Some(changed) = page.changed else {
            sums.unanswered += weight;
            sums.unanswered_expected += weight * page.expected;
            return;
        };
        let residual = f64::from(u8::from(changed)) - page.expected;
        sums.pages += 1;
        let square = weight * weight;
        let terms = [weight, weight * residual, square, square * residual, square * residual * residual];
        sums.moments.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
    }

    /// Adds another sample of the same population.
    pub fn add(&mut self, other: &Sample) {
        for (host, sums) in &other.hosts {
            self.hosts.entry(host.clone()).or_default().add(sums);
        }
    }

    fn all(&self) -> Sums {
        let mut all = Sums::default();
        self.hosts.values().for_each(|sums| all.add(sums));
        all
    }

    /// Was no page counted?
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// Pages with an answer.
    pub fn pages(&self) -> u64 {
        self.all().pages
    }

    /// The share of changed pages in the population. None for fewer than two answers.
    ///
    /// The mean residual d̄ is the ratio of weights (Hájek 1971), so pages without an answer are taken for the others.
    /// Its variance is (1 − n/N)·n/(n − 1)·Σw²(d − d̄)²/(Σw)². With equal π this is (1 − n/N)·s²/n. If answers are
    /// missing, hosts are taken for a second stage of the sample, of which the answered share r is drawn: (1 − r)·H/(H −
    /// 1)·Σ_h(Σ_{i∈h} w(d − d̄))²/(Σw)² is added (Särndal et al., sections 5.7 and 9.3).
    pub fn changed(&self, population: Population) -> Option<Interval> {
        let Sums { pages, moments, .. } = self.all();
        let [weight, sum, squares, crossed, residual_squares] = moments.map(ExactSum::value);
        if pages < 2 || population.pages == 0 {
            return None;
        }
        let (n, all) = (pages as f64, population.pages as f64);
        let mean = sum / weight;
        let spread = (residual_squares - 2.0 * mean * crossed + mean * mean * squares).max(0.0);
        let drawn = (1.0 - n / all).max(0.0) * n / (n - 1.0) * spread / (weight * weight);
        let value = population.expected / all + mean;
        Some(Interval { value, variance: drawn + self.missing_variance(mean), sample: pages })
    }

    /// The variance that missing answers add.
    fn missing_variance(&self, mean: f64) -> f64 {
        let all = self.all();
        let answered = || self.hosts.values().filter(|host| host.pages > 0);
        let hosts = answered().count() as f64;
        let [unanswered, weight] = [all.unanswered, all.moments[0]].map(ExactSum::value);
        if unanswered == 0.0 || hosts < 2.0 {
            return 0.0;
        }
        let lacking = unanswered / (unanswered + weight);
        let residual = |host: &Sums| host.moments[1].value() - mean * host.moments[0].value();
        let squares: f64 = answered().map(|host| residual(host).powi(2)).sum();
        lacking * hosts / (hosts - 1.0) * squares / (weight * weight)
    }

    /// The lowest and highest share that pages without an answer leave possible, sampling error aside (Manski 1989).
    pub fn bounds(&self, population: Population) -> Option<[f64; 2]> {
        let all = self.all();
        if all.pages == 0 || population.pages == 0 {
            return None;
        }
        let [weight, sum, ..] = all.moments.map(ExactSum::value);
        let [lacking, unanswered_expected] = [all.unanswered, all.unanswered_expected].map(ExactSum::value);
        let all = weight + lacking;
        let expected = population.expected / population.pages as f64;
        let of =
            |unanswered: f64| (expected + (sum + unanswered - unanswered_expected) / all).clamp(0.0, 1.0);
        Some([of(0.0), of(lacking)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn sample(pages: &[Audited]) -> Sample {
        let mut sample = Sample::default();
        pages.iter().enumerate().for_each(|(i, page)| sample.count(&format!("h{}", i % 3), *page));
        sample
    }

    fn page(changed: u8, expected: f64, probability: f64) -> Audited {
        Audited { changed: Some(changed == 1), expected, probability }
    }

    const POPULATION: Population = Population { pages: 100, expected: 31.5 };

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} beside {expected}");
    }

    #[test]
    fn figures_agree_with_another_program() {
        let equal = [
            page(1, 0.5, 0.05),
            page(0, 0.25, 0.05),
            page(0, 0.1, 0.05),
            page(1, 0.2, 0.05),
            page(0, 0.4, 0.05),
        ];
        let found = sample(&equal).changed(POPULATION).unwrap();
        close(found.value, EQUAL[0]);
        close(found.variance, EQUAL[1]);
        let unequal = [
            page(1, 0.5, 0.1),
            page(0, 0.25, 0.05),
            page(0, 0.1, 0.02),
            page(1, 0.2, 0.04),
            page(0, 0.4, 0.2),
        ];
        let found = sample(&unequal).changed(POPULATION).unwrap();
        close(found.value, UNEQUAL[0]);
        close(found.variance, UNEQUAL[1]);
        let unanswered = Audited { changed: None, expected: 0.3, probability: 0.05 };
        let lacking = [&unequal[..], &[unanswered, unanswered]].concat();
        let found = sample(&lacking).changed(POPULATION).unwrap();
        close(found.value, UNEQUAL[0]);
        close(found.variance, LACKING[0]);
        let [low, high] = sample(&lacking).bounds(POPULATION).unwrap();
        close(low, LACKING[1]);
        close(high, LACKING[2]);
    }

    // From scripts/check-estimation.py.
    const EQUAL: [f64; 2] = [0.425, 0.050_444_999_999_999_99];
    const UNEQUAL: [f64; 2] = [0.433_181_818_181_818_17, 0.047_605_034_662_932_86];
    const LACKING: [f64; 3] = [0.069_204_788_778_088_93, 0.321_666_666_666_666_66, 0.588_333_333_333_333_3];

    #[test]
    fn without_a_sample_there_is_no_estimate() {
        assert_eq!(sample(&[]).changed(POPULATION), None);
        assert_eq!(sample(&[page(1, 0.5, 0.1)]).changed(POPULATION), None, "one page has no variance");
        assert_eq!(sample(&[]).bounds(POPULATION), None);
        assert_eq!(sample(&[page(1, 0.5, 0.1); 2]).changed(Population::default()), None);
    }

    /// 400 samples of a population in which P is a bad guess, with and without equal probabilities.
    #[test]
    fn intervals_hold_the_truth_as_often_as_they_say_and_are_narrower_than_without_expectation() {
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        let pages: Vec<(bool, f64, bool)> = (0..20_000)
            .map(|_| {
                let rate: f64 = rng.random::<f64>().powi(3);
                let guess = (rate * 0.7 + 0.1 * rng.random::<f64>()).min(1.0);
                (rng.random::<f64>() < rate, guess, rng.random::<f64>() < 0.3)
            })
            .collect();
        let truth = pages.iter().filter(|page| page.0).count() as f64 / pages.len() as f64;
        let population =
            Population { pages: pages.len() as u64, expected: pages.iter().map(|page| page.1).sum() };
        for is_equal in [true, false] {
            let (mut held, mut width, mut plain) = (0, 0.0, 0.0);
            for _ in 0..400 {
                let mut sample = Sample::default();
                for (changed, expected, is_rare) in &pages {
                    let probability = if !is_equal && *is_rare { 0.01 } else { 0.02 };
                    if rng.random::<f64>() < probability {
                        let changed = Some(*changed);
                        sample.count("h", Audited { changed, expected: *expected, probability });
                    }
                }
                let found = sample.changed(population).unwrap();
                let [low, high] = found.ends();
                held += u32::from(low <= truth && truth <= high);
                width += found.variance;
                plain += truth * (1.0 - truth) / sample.pages() as f64;
            }
            assert!((372..=388).contains(&held), "{held} of 400");
            assert!(!is_equal || width < 0.75 * plain, "variance {width} beside {plain}");
        }
    }

    proptest! {
        #[test]
        fn samples_add_up(
            pages in prop::collection::vec((prop::option::of(any::<bool>()), 0.0..1.0f64, 0.01..1.0f64), 0..40),
            cut in 0usize..40,
        ) {
            let pages: Vec<Audited> = pages.into_iter()
                .map(|(changed, expected, probability)| Audited { changed, expected, probability })
                .collect();
            let whole = sample(&pages);
            let cut = cut.min(pages.len()) / 3 * 3;
            let mut sum = sample(&pages[..cut]);
            sum.add(&sample(&pages[cut..]));
            prop_assert_eq!(sum.pages(), whole.pages());
            let population = Population { pages: 1000, expected: 400.0 };
            match (sum.changed(population), whole.changed(population)) {
                (Some(sum), Some(whole)) => {
                    prop_assert!((sum.value - whole.value).abs() < 1e-9);
                    prop_assert!((sum.variance - whole.variance).abs() < 1e-9 * (1.0 + whole.variance));
                }
                (sum, whole) => prop_assert_eq!(sum, whole),
            }
            if let Some([low, high]) = whole.bounds(population) {
                prop_assert!(low <= high);
            }
        }
    }
}
