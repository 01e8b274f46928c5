//! Random numbers that are equal on every machine.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use recrawl_formula::math::{exp, ln};

/// A stream of random numbers. Uses only arithmetic that is exact or has one result everywhere.
pub struct Draws {
    source: ChaCha8Rng,
    /// Normal numbers are generated in pairs.
    spare: Option<f64>,
}

impl Draws {
    /// A stream of a seed; streams are numbered.
    pub fn new(seed: u64, stream: u64) -> Draws {
        let mut source = ChaCha8Rng::seed_from_u64(seed);
        source.set_stream(stream);
        Draws { source, spare: None }
    }

    /// True with this probability.
    #[inline]
    pub fn is(&mut self, chance: Chance) -> bool {
        u64::from(self.source.next_u32()) < chance.0
    }

    /// Uniform in [0, 1), 53 bits.
    pub fn uniform(&mut self) -> f64 {
        (self.source.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Standard normal, by Marsaglia's polar method.
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                let scale = (-2.0 * ln(square) / square).sqrt();
                self.spare = Some(y * scale);
                return x * scale;
            }
        }
    }
}

/// A probability, as the number of 32-bit values that mean yes.
#[derive(Clone, Copy, Debug)]
pub struct Chance(u64);

impl Chance {
    /// The nearest representable probability.
    pub fn new(probability: f64) -> Chance {
        Chance((probability.clamp(0.0, 1.0) * (1u64 << 32) as f64).round() as u64)
    }

    /// The probability of at least one event at this mean rate: 1 − e^(−rate).
    pub fn at_rate(rate: f64) -> Chance {
        Chance::new(1.0 - exp(-rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_and_normal_numbers_have_their_moments() {
        let mut draws = Draws::new(1, 1);
        let count = 40_000;
        let moments = |numbers: Vec<f64>| {
            let mean = numbers.iter().sum::<f64>() / count as f64;
            (mean, numbers.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count as f64)
        };
        let (mean, variance) = moments((0..count).map(|_| draws.uniform()).collect());
        assert!((mean - 0.5).abs() < 0.01 && (variance - 1.0 / 12.0).abs() < 0.003, "{mean} {variance}");
        let (mean, variance) = moments((0..count).map(|_| draws.normal()).collect());
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
    }

    #[test]
    fn chances_are_met() {
        let mut draws = Draws::new(2, 1);
        let mut share = |chance| (0..10_000).filter(|_| draws.is(chance)).count() as f64 / 10_000.0;
        assert_eq!(
            (share(Chance::new(0.0)), share(Chance::new(1.0)), share(Chance::at_rate(0.0))),
            (0.0, 1.0, 0.0)
        );
        assert!((share(Chance::new(0.3)) - 0.3).abs() < 0.02);
        assert!((share(Chance::at_rate(1.0)) - 0.632).abs() < 0.02);
    }

    #[test]
    fn streams_differ_and_repeat() {
        let first = |seed, stream| Draws::new(seed, stream).uniform();
        assert_eq!(first(1, 1), first(1, 1));
        assert!(first(1, 1) != first(1, 2) && first(1, 1) != first(2, 1));
    }
}
