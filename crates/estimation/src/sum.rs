//! Sums with the same digits in every order of their terms.

use serde::{Deserialize, Serialize};
use std::ops::{Add, AddAssign};

/// Terms are rounded to multiples of one step.
const STEPS: f64 = (1u64 << 40) as f64;

/// A sum of multiples of 2⁻⁴⁰, exact up to 10²⁶: room for the squared weights of 10⁸ pages of probability 10⁻⁹.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "f64", into = "f64")]
pub struct ExactSum(i128);

impl ExactSum {
    /// The sum, rounded once.
    pub fn value(self) -> f64 {
        self.0 as f64 / STEPS
    }
}

impl From<f64> for ExactSum {
    fn from(term: f64) -> ExactSum {
        ExactSum((term * STEPS).round() as i128)
    }
}

impl From<ExactSum> for f64 {
    fn from(sum: ExactSum) -> f64 {
        sum.value()
    }
}

impl Add for ExactSum {
    type Output = ExactSum;

    fn add(self, other: ExactSum) -> ExactSum {
        ExactSum(self.0.saturating_add(other.0))
    }
}

impl AddAssign for ExactSum {
    fn add_assign(&mut self, other: ExactSum) {
        *self = *self + other;
    }
}

impl AddAssign<f64> for ExactSum {
    fn add_assign(&mut self, term: f64) {
        *self += ExactSum::from(term);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Audited, Estimate, HostResponses, Population, Sample, Weighted};
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    struct SummedPage {
        host: String,
        audited: Audited,
    }

    prop_compose! {
        fn page()(
            host in 0u8..5,
            changed in prop::option::of(any::<bool>()),
            expected in 0.0..1.0f64,
            exponent in 0.0..9.0f64,
        ) -> SummedPage {
            SummedPage { host: format!("h{host}"), audited: Audited { changed, expected, probability: 10f64.powf(-exponent) } }
        }
    }

    /// All estimates of a sample, as text with every digit, in one part or two.
    fn estimates(pages: &[SummedPage], cut: usize) -> String {
        let (mut sample, mut response) = (Sample::default(), HostResponses::default());
        let (mut changed, mut unchanged) = (Weighted::default(), Weighted::default());
        for part in [&pages[..cut], &pages[cut..]] {
            let (mut of_part, mut responses) = (Sample::default(), HostResponses::default());
            for SummedPage { host, audited } in part {
                of_part.count(host, *audited);
                responses.count(host, audited.changed, audited.probability);
                match audited.changed {
                    Some(true) => changed.count(audited.probability),
                    Some(false) => unchanged.count(audited.probability),
                    None => {}
                }
            }
            sample.add(&of_part);
            response += &responses;
        }
        let population = Population { pages: 1000, expected: 400.0 };
        let share = Estimate::of_answered(changed, unchanged, Some(1000), &response);
        format!("{:?} {:?} {share:?}", sample.changed(population), sample.bounds(population))
    }

    proptest! {
        #[test]
        fn no_estimate_depends_on_the_order_of_pages(
            (pages, shuffled) in prop::collection::vec(page(), 2..60)
                .prop_flat_map(|pages| (Just(pages.clone()), Just(pages).prop_shuffle())),
            cut in 0usize..60,
        ) {
            prop_assert_eq!(estimates(&pages, 0), estimates(&shuffled, cut.min(pages.len())));
        }

        #[test]
        fn a_stored_sum_is_read_as_it_was(terms in prop::collection::vec(-1e9..1e9f64, 0..20)) {
            let mut sum = ExactSum::default();
            terms.iter().for_each(|term| sum += *term);
            prop_assert_eq!(ExactSum::from(sum.value()).value(), sum.value());
            let plain: f64 = terms.iter().sum();
            prop_assert!((sum.value() - plain).abs() < 1e-4, "{} beside {plain}", sum.value());
        }
    }
}
