//! Are pages distributed in another way than before, by more than chance explains?

use crate::interval::quantile;
use serde::Serialize;

/// The index from which distributions differ by much (Lewis 1994).
pub const MUCH: f64 = 0.25;
/// Comparisons without a shift of which one, at most, reaches the limit by chance: one in 1,000.
const BY_CHANCE: f64 = 0.001;

/// A population stability index with the limit from which it means something.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Stability {
    /// The index, from 0.
    pub index: f64,
    /// [`MUCH`], or more where few pages reach that by chance.
    pub limit: f64,
}

impl Stability {
    /// Of two histograms; none if one of them has no page.
    ///
    /// The index is about Σ(a − b)²/a over the shares of the bins. Let N and M pages be drawn from one distribution over B
    /// bins. Then a − b has the variance a(1 − a)(1/N + 1/M), so the index divided by 1/N + 1/M is about chi-square with
    /// B − 1 degrees of freedom (Yurdakul and Naranjo 2020). Its quantile is that of Wilson and Hilferty (1931), and the
    /// limit is this quantile times 1/N + 1/M, but at least [`MUCH`]. The part beyond the quantile is half of `BY_CHANCE`:
    /// with few pages a bin, the tail of the index is up to a quarter heavier than that of chi-square. With ten bins, 240
    /// pages in both histograms are the fewest with a limit of [`MUCH`].
    ///
    /// Bins that are empty in both count for nothing. The pages of a crawl are largely the same in both histograms, so
    /// chance reaches the limit more rarely still.
    pub fn compare(before: &[u64], now: &[u64]) -> Option<Stability> {
        let taken = before.iter().zip(now).filter(|(before, now)| **before + **now > 0);
        let (before, now): (Vec<u64>, Vec<u64>) = taken.unzip();
        let pages = [&before, &now].map(|bins| bins.iter().sum::<u64>() as f64);
        if pages.contains(&0.0) {
            return None;
        }
        let by_chance =
            chi_square_beyond(BY_CHANCE / 2.0, before.len() - 1) * (1.0 / pages[0] + 1.0 / pages[1]);
        Some(Stability { index: psi(&before, &now), limit: by_chance.max(MUCH) })
    }

    /// Is it a move by much that chance does not explain?
    pub fn has_moved(&self) -> bool {
        self.index >= self.limit
    }
}

/// The number that chi-square with these degrees of freedom exceeds with this probability; 0 without freedom.
fn chi_square_beyond(part: f64, freedom: usize) -> f64 {
    if freedom == 0 {
        return 0.0;
    }
    let (freedom, z) = (freedom as f64, quantile(1.0 - part));
    let step = 2.0 / (9.0 * freedom);
    freedom * (1.0 - step + z * step.sqrt()).powi(3)
}

/// The population stability index of two histograms: Σ(a − b)·ln(a/b) over the shares of the bins (Lewis 1994). Half a
/// page is added to each bin, so that none is empty.
fn psi(before: &[u64], now: &[u64]) -> f64 {
    let shares = |bins: &[u64]| {
        let all = bins.iter().sum::<u64>() as f64 + 0.5 * bins.len() as f64;
        bins.iter().map(|bin| (*bin as f64 + 0.5) / all).collect::<Vec<f64>>()
    };
    let (before, now) = (shares(before), shares(now));
    before.iter().zip(&now).map(|(a, b)| (a - b) * (a / b).ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// A histogram of pages drawn from these shares.
    fn drawn(pages: u32, shares: &[f64], rng: &mut ChaCha8Rng) -> Vec<u64> {
        let mut bins = vec![0; shares.len()];
        for _ in 0..pages {
            let mut part = rng.random::<f64>() * shares.iter().sum::<f64>();
            let bin = shares.iter().position(|share| {
                part -= share;
                part < 0.0
            });
            bins[bin.unwrap_or(0)] += 1;
        }
        bins
    }

    const EVEN: [f64; 10] = [0.1; 10];
    const HALVES: [f64; 10] = [512.0, 256.0, 128.0, 64.0, 32.0, 16.0, 8.0, 4.0, 2.0, 1.0];
    const ONE: [f64; 10] = [291.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
    const TWO: [f64; 10] = [0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];

    #[test]
    fn chance_reaches_its_limit_no_more_often_than_is_said() {
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        let samples = 4_000;
        for (before, now) in [(20, 20), (60, 60), (200, 200), (20, 1000), (1000, 200), (500, 500)] {
            for shares in [EVEN, HALVES, ONE, TWO] {
                let by_chance = |_: &u32| {
                    let [before, now] = [before, now].map(|pages| drawn(pages, &shares, &mut rng));
                    let bins = before.iter().zip(&now).filter(|(a, b)| **a + **b > 0).count();
                    let pages = [&before, &now].map(|bins| bins.iter().sum::<u64>() as f64);
                    let limit = chi_square_beyond(BY_CHANCE / 2.0, bins - 1)
                        * pages.iter().map(|pages| 1.0 / pages).sum::<f64>();
                    let found = Stability::compare(&before, &now).unwrap();
                    assert_eq!(found.limit, limit.max(MUCH));
                    found.index > limit
                };
                let alarms = (0..samples).filter(by_chance).count();
                // At one in 1,000 four are expected, and ten or more once in 120 such runs.
                assert!(alarms < 10, "{alarms} of {samples}: {before} and {now} of {shares:?}");
            }
        }
    }

    /// A fifth of the pages goes from the first bin to the fifth, which was nearly empty.
    #[test]
    fn a_shift_of_a_fifth_of_the_pages_is_found_from_250_pages_on() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut shifted = HALVES;
        (shifted[0], shifted[4]) = (512.0 - 204.6, 32.0 + 204.6);
        let found = |pages: u32, shares: &[f64; 10], rng: &mut ChaCha8Rng| {
            let mut one =
                || Stability::compare(&drawn(pages, &HALVES, rng), &drawn(pages, shares, rng)).unwrap();
            (0..500).filter(|_| one().has_moved()).count()
        };
        for pages in [250, 1000, 4000] {
            let (moved, still) = (found(pages, &shifted, &mut rng), found(pages, &HALVES, &mut rng));
            assert!(moved > 475 && still == 0, "{pages} pages: {moved} of 500, {still} without a shift");
        }
        let few = found(25, &shifted, &mut rng);
        assert!(few < 50, "25 pages are too few: {few} of 500");
    }

    #[test]
    fn figures_agree_with_another_program() {
        assert_eq!(psi(&[10, 20, 30], &[10, 20, 30]), 0.0);
        let found = psi(&[10, 20, 30, 0], &[30, 20, 10, 0]);
        assert!((found - STABILITY).abs() < 1e-12, "{found}");
        for (freedom, exact) in [(1, BEYOND[0]), (3, BEYOND[1]), (9, BEYOND[2])] {
            let found = chi_square_beyond(0.0005, freedom);
            assert!((0.0..0.05).contains(&(found / exact - 1.0)), "{freedom}: {found}, not {exact}");
        }
    }

    #[test]
    fn without_pages_there_is_no_index_and_with_few_a_higher_limit() {
        assert_eq!(Stability::compare(&[0, 0], &[1, 1]), None);
        assert_eq!(Stability::compare(&[3, 4], &[0, 0]), None);
        assert_eq!(Stability::compare(&[9, 0], &[5, 0]), Some(Stability { index: 0.0, limit: MUCH }));
        let limit = |pages: u64| Stability::compare(&[pages / 10; 10], &[pages / 10; 10]).unwrap().limit;
        assert!(limit(20) > 2.0 && limit(230) > MUCH);
        assert_eq!(limit(240), MUCH);
    }

    // From scripts/check-estimation.py.
    const STABILITY: f64 = 0.687_968_662_225_734_5;
    const BEYOND: [f64; 3] = [12.115_665_146_397_17, 17.729_996_228_945_93, 29.665_808_103_596_14];
}
