//! Random numbers by page and cycle.

use recrawl_formula::math::{exp, ln};
use recrawl_scheduler::Shuffle;
use recrawl_scheduler::shuffle::ShufflePurpose;
use recrawl_types::Cycle;

/// Random draws for the pages of a cycle. A page's draws depend only on seed, cycle and page, not
/// on other pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageChance {
    shuffle: Shuffle,
}

/// The draws of one page.
pub(super) struct PageDraws {
    shuffle: Shuffle,
    next: u64,
}

impl PageChance {
    pub fn new(seed: u64, cycle: Cycle) -> PageChance {
        PageChance { shuffle: Shuffle::new(seed, cycle, ShufflePurpose::Scores) }
    }

    pub fn for_page(&self, page: usize) -> PageDraws {
        PageDraws { shuffle: self.shuffle, next: page as u64 }
    }
}

impl PageDraws {
    /// Uniform in the open interval (0, 1).
    pub fn uniform(&mut self) -> f64 {
        let image = self.shuffle.apply(self.next);
        self.next += 1 << 32; // page numbers have 32 bits
        ((image >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Normal with mean 0 and variance 1 (Marsaglia's polar method, 1964).
    pub fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let square = x * x + y * y;
            if square < 1.0 && square > 0.0 {
                return x * (-2.0 * ln(square) / square).sqrt();
            }
        }
    }

    /// Gamma with this shape and scale 1 (Marsaglia & Tsang 2000); below shape 1 by their relation
    /// G(a) = G(a + 1)·U^(1/a).
    pub fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            let lowered = exp(ln(self.uniform()) / shape);
            return self.gamma(shape + 1.0) * lowered;
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let root = 1.0 + c * x;
            let v = root * root * root;
            if root > 0.0 && ln(self.uniform()) < x * x / 2.0 + d - d * v + d * ln(v) {
                return d * v;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(draw: impl Fn(&mut PageDraws) -> f64) -> (f64, f64) {
        let chance = PageChance::new(7, Cycle(3));
        let drawn: Vec<f64> = (0..20_000).map(|page| draw(&mut chance.for_page(page))).collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        let variance = drawn.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / drawn.len() as f64;
        (mean, variance)
    }

    #[test]
    fn draws_have_the_moments_of_their_distributions() {
        let (mean, variance) = moments(PageDraws::normal);
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
        for shape in [0.5, 1.0, 4.5] {
            let (mean, variance) = moments(|draws| draws.gamma(shape));
            assert!((mean / shape - 1.0).abs() < 0.05, "shape {shape}: mean {mean}");
            assert!((variance / shape - 1.0).abs() < 0.12, "shape {shape}: variance {variance}");
        }
    }

    #[test]
    fn a_page_draws_the_same_whoever_else_draws() {
        let chance = PageChance::new(7, Cycle(3));
        let alone = chance.for_page(5).gamma(2.5);
        (0..9).for_each(|page| {
            chance.for_page(page).normal();
        });
        assert_eq!(chance.for_page(5).gamma(2.5), alone);
        assert_ne!(chance.for_page(6).gamma(2.5), alone);
        assert_ne!(PageChance::new(7, Cycle(4)).for_page(5).gamma(2.5), alone);
    }
}
