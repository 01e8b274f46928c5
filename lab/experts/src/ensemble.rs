//! Combines machines trained on a window of days (Radinsky and Bennett 2013, section 5).

use crate::draws::{Purpose, stream};
use crate::svm::{Gram, Machine};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use recrawl_formula::math::{exp, ln};

/// The class of the greater sum of weights; `tied` if they are equal.
pub fn vote(votes: impl Iterator<Item = (bool, f64)>, tied: bool) -> bool {
    let (mut change, mut none) = (0.0, 0.0);
    votes.for_each(|(class, weight)| *(if class { &mut change } else { &mut none }) += weight);
    if change == none { tied } else { change > none }
}

/// A sample of the examples of a window, and what it is drawn for.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// The experiment's seed.
    pub seed: u64,
    /// The target.
    pub page: u32,
    /// The window's last day.
    pub today: u32,
    /// Number of machines; odd, so that equal votes do not tie.
    pub members: usize,
}

impl Sampling {
    fn stream(self) -> ChaCha8Rng {
        stream(self.seed, Purpose::Samples, u64::from(self.page), self.today)
    }
}

/// Equal votes of machines, each trained on as many examples as there are, drawn with replacement.
pub fn bagging(kernel: &Gram, classes: &[bool], cost: f64, sampling: Sampling) -> bool {
    let mut source = sampling.stream();
    let member = |_| {
        let mut bounds = vec![0.0; classes.len()];
        for _ in 0..classes.len() {
            bounds[source.random_range(0..classes.len())] += cost;
        }
        (Machine::train(kernel, classes, &bounds).decide(kernel.row(classes.len())) > 0.0, 1.0)
    };
    vote((0..sampling.members).map(member), false)
}

/// AdaBoost by resampling: each machine is trained on examples drawn by their weights, which grow where the machines
/// before were wrong. It ends early when a machine is always right, or right in no more than half.
pub fn boosting(kernel: &Gram, classes: &[bool], cost: f64, sampling: Sampling) -> bool {
    let mut source = sampling.stream();
    let examples = classes.len();
    let mut weights = vec![1.0 / examples as f64; examples];
    let mut votes: Vec<(bool, f64)> = Vec::new();
    for _ in 0..sampling.members {
        let machine = Machine::train(kernel, classes, &resampled(&weights, cost, &mut source));
        let wrong: Vec<bool> =
            (0..examples).map(|i| (machine.decide(kernel.row(i)) > 0.0) != classes[i]).collect();
        let error: f64 =
            wrong.iter().zip(&weights).filter(|(wrong, _)| **wrong).map(|(_, weight)| weight).sum();
        let decision = machine.decide(kernel.row(examples)) > 0.0;
        if error >= 0.5 {
            // The first one stands if there is no other.
            if votes.is_empty() {
                votes.push((decision, 1.0));
            }
            break;
        }
        let bounded = error.max(1e-10);
        let alpha = 0.5 * ln((1.0 - bounded) / bounded);
        votes.push((decision, alpha));
        if error < 1e-10 {
            break;
        }
        for (weight, &wrong) in weights.iter_mut().zip(&wrong) {
            *weight *= exp(if wrong { alpha } else { -alpha });
        }
        let sum: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= sum);
    }
    vote(votes.into_iter(), false)
}

/// Bounds of a sample drawn by weights that sum to 1.
fn resampled(weights: &[f64], cost: f64, source: &mut ChaCha8Rng) -> Vec<f64> {
    let mut sums = Vec::with_capacity(weights.len());
    weights.iter().fold(0.0, |sum, weight| {
        sums.push(sum + weight);
        sum + weight
    });
    let mut bounds = vec![0.0; weights.len()];
    for _ in 0..weights.len() {
        let drawn = source.random::<f64>();
        let place = sums.partition_point(|&sum| sum <= drawn).min(weights.len() - 1);
        bounds[place] += cost;
    }
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One feature, of which large values are changes; the test example is the last.
    fn line(values: &[f64]) -> Gram {
        let examples = values.len() - 1;
        let products = values.iter().flat_map(|a| values[..examples].iter().map(move |b| a * b)).collect();
        Gram { examples, products, features: 1 }.polynomial()
    }

    #[test]
    fn greater_weight_wins_and_ties_are_told() {
        let votes = [(true, 0.2), (false, 0.3), (false, 0.1), (true, 0.25)];
        assert!(vote(votes.into_iter(), false));
        assert!(!vote(votes[..2].iter().copied(), true));
        assert_eq!(
            [true, false].map(|tied| vote([(true, 1.0), (false, 1.0)].into_iter(), tied)),
            [true, false]
        );
    }

    #[test]
    fn samples_learn_a_threshold_despite_errors() {
        for today in 0..10 {
            let sampling = Sampling { seed: 5, page: 1, today, members: 21 };
            let mut values: Vec<f64> = (0..40).map(|i| f64::from(i * 7 % 40) / 40.0).collect();
            let mut classes: Vec<bool> = values.iter().map(|&value| value > 0.5).collect();
            // Two of forty are wrong, far from the threshold.
            for wrong in [0.1, 0.9] {
                let place = values.iter().position(|&value| (value - wrong).abs() < 1e-9).unwrap();
                classes[place] ^= true;
            }
            for (value, expected) in [(0.65, true), (0.35, false)] {
                values.push(value);
                let kernel = line(&values);
                assert_eq!(bagging(&kernel, &classes, 1.0, sampling), expected, "bagging at {value}");
                assert_eq!(boosting(&kernel, &classes, 1.0, sampling), expected, "boosting at {value}");
                assert_eq!(bagging(&kernel, &classes, 1.0, sampling), expected, "a seed repeats a sample");
                values.pop();
            }
        }
    }

    #[test]
    fn weights_are_drawn_as_often_as_they_weigh() {
        let mut source = stream(1, Purpose::Samples, 0, 0);
        let weights: Vec<f64> = [0.5, 0.0, 0.3, 0.2].into_iter().collect();
        let mut sums = [0.0; 4];
        for _ in 0..2_000 {
            resampled(&weights, 1.0, &mut source)
                .iter()
                .zip(&mut sums)
                .for_each(|(bound, sum)| *sum += bound);
        }
        for (sum, weight) in sums.iter().zip(&weights) {
            assert!((sum / 8_000.0 - weight).abs() < 0.02, "{sums:?}");
        }
        assert_eq!(sums[1], 0.0);
    }
}
