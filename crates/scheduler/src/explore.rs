//! Draws the never-fetched URLs that a focused crawl visits whatever is expected of them.
//!
//! Each is drawn by itself with one probability (Poisson sampling), so nothing is kept, and a plan made again draws the same.

use crate::PlanRequest;
use crate::shuffle::{Shuffle, ShufflePurpose};

/// The draw of a round.
#[derive(Clone, Copy, Debug)]
pub struct Explore {
    shuffle: Shuffle,
    /// Differs between the rounds of a cycle.
    salt: u64,
    probability: f64,
    /// Added to each ordinal.
    before: u64,
}

impl Explore {
    /// The draw of the plan of this request; none if it explores nothing.
    pub fn from_request(request: &PlanRequest) -> Option<Explore> {
        let shuffle = Shuffle::new(request.seed, request.cycle, ShufflePurpose::Explore);
        let salt = u64::from(request.round).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (request.explore > 0.0).then(|| Explore {
            shuffle,
            salt,
            probability: request.explore.min(1.0),
            before: 0,
        })
    }

    /// The same draw of a part of the pages, which comes behind so many others.
    pub(crate) fn behind(self, before: u64) -> Explore {
        Explore { before, ..self }
    }

    /// The probability with which a URL is drawn.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// Is the URL with this ordinal drawn?
    pub fn draws(&self, ordinal: u64) -> bool {
        (self.shuffle.apply((self.before + ordinal) ^ self.salt) as f64) < self.probability * 2f64.powi(64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::request;

    #[test]
    fn each_url_is_drawn_as_often_as_its_probability_says() {
        let of = |round, explore| Explore::from_request(&PlanRequest { explore, round, ..request() });
        assert!(of(1, 0.0).is_none());
        let rounds: Vec<Explore> = (0..2000).filter_map(|round| of(round, 0.1)).collect();
        for url in 0..200 {
            let times = rounds.iter().filter(|draw| draw.draws(url)).count();
            // Five standard deviations of a binomial.
            assert!((times as f64 - 200.0).abs() < 5.0 * (2000.0f64 * 0.1 * 0.9).sqrt(), "{url}: {times}");
        }
        assert!((0..100).all(|url| of(3, 1.0).is_some_and(|draw| draw.draws(url))));
        let twice = || (0..1000).filter(|&url| rounds[7].draws(url)).collect::<Vec<_>>();
        assert_eq!(twice(), twice());
    }
}
