//! One bisection: the best of several greedy attempts.

use crate::bisection::BisectionOptions;
use crate::rows::{FeatureRow, Rows, dot};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::thread;

/// A gain counts if it is above this share of τ: smaller ones may be rounding. So rows alike are not separated.
pub(super) const LEAST_GAIN: f64 = 1e-10;
/// Fewer rows are bisected on one thread: starting more takes longer.
const ROWS_FOR_THREADS: usize = 2000;

/// The rows of a cluster, in the order of a pass.
struct SplitCluster<'a> {
    rows: Rows,
    sum: &'a [f64],
    /// The product of each row with the sum.
    products: Vec<f64>,
    /// The squared length of each row.
    squares: Vec<f64>,
}

/// An attempt: which rows are in the second half.
struct SplitAttempt {
    start: usize,
    tau: f64,
    is_second: Vec<bool>,
}

/// Bisects a cluster of rows other than zero, given by rising numbers: whether each is in the second half. `None` if all
/// are alike. The node is the number of the cluster in the run.
pub(super) fn split(
    rows: &Rows,
    members: &[u32],
    sum: &[f64],
    node: usize,
    options: &BisectionOptions,
) -> Option<Vec<bool>> {
    if members.len() < 2 {
        return None;
    }
    let (order, starts) = draw(members.len(), node, options);
    let in_order: Vec<u32> = order.iter().map(|place| members[*place as usize]).collect();
    let cluster = SplitCluster::new(rows.select(&in_order), sum);
    let threads = if members.len() < ROWS_FOR_THREADS { 1 } else { options.threads.min(starts.len()) };
    let attempts = |thread: usize| {
        let own = (thread..starts.len()).step_by(threads);
        own.map(|start| cluster.attempt(start, starts[start], options.passes)).reduce(SplitAttempt::better)
    };
    let attempts = &attempts;
    let best = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|thread| scope.spawn(move || attempts(thread))).collect();
        let own = attempts(0);
        let others = others.into_iter().map(|other| other.join().expect("an attempt does not panic"));
        [own].into_iter().chain(others).flatten().reduce(SplitAttempt::better)
    })?;
    let tau = dot(sum, sum).sqrt();
    if best.tau <= tau + LEAST_GAIN * best.tau {
        return None;
    }
    let mut is_second = vec![false; members.len()];
    order.iter().zip(best.is_second).for_each(|(place, second)| is_second[*place as usize] = second);
    let seconds = is_second.iter().filter(|second| **second).count();
    let firsts = is_second.len() - seconds;
    if seconds > firsts || (seconds == firsts && is_second[0]) {
        is_second.iter_mut().for_each(|second| *second = !*second);
    }
    Some(is_second)
}

/// The order of the rows in a pass, and the two rows of each start, as places in that order.
pub(super) fn draw(rows: usize, node: usize, options: &BisectionOptions) -> (Vec<u32>, Vec<[usize; 2]>) {
    let mut random = ChaCha8Rng::seed_from_u64(options.seed);
    random.set_stream(node as u64);
    let mut order: Vec<u32> = (0..rows as u32).collect();
    for last in (1..rows).rev() {
        order.swap(last, random.random_range(0..=last));
    }
    let mut pair = || {
        let (first, second) = (random.random_range(0..rows), random.random_range(0..rows - 1));
        [first, if second < first { second } else { second + 1 }]
    };
    (order, (0..options.starts).map(|_| pair()).collect())
}

impl SplitCluster<'_> {
    fn new(rows: Rows, sum: &[f64]) -> SplitCluster<'_> {
        let products = (0..rows.len()).map(|row| rows.row(row).dot(sum)).collect();
        let squares = (0..rows.len()).map(|row| rows.row(row).squared_length()).collect();
        SplitCluster { rows, sum, products, squares }
    }

    /// Each row begins in the half of the start that it is closer to. Then single rows move as long as τ rises.
    fn attempt(&self, start: usize, pair: [usize; 2], passes: u32) -> SplitAttempt {
        let [one, other] = pair.map(|row| {
            let mut vector = vec![0.0; self.rows.dims()];
            self.rows.row(row).add_to(&mut vector, 1.0);
            vector
        });
        let closer_to_other = |row: FeatureRow<'_>| row.dot(&other) > row.dot(&one);
        let is_second = (0..self.rows.len()).map(|row| closer_to_other(self.rows.row(row))).collect();
        let mut attempt = SplitAttempt { start, tau: 0.0, is_second };
        let mut first = vec![0.0; self.rows.dims()];
        let firsts = attempt.is_second.iter().enumerate().filter(|(_, second)| !**second);
        firsts.for_each(|(row, _)| self.rows.row(row).add_to(&mut first, 1.0));
        for _ in 0..passes {
            if !self.pass(&mut attempt, &mut first) {
                break;
            }
        }
        attempt.tau = self.squared_lengths(&first).map(f64::sqrt).iter().sum();
        attempt
    }

    /// Moves single rows to the other half, in order, where that raises τ. Whether any moved. `first` is the sum of the
    /// first half; that of the second half is the rest of the sum.
    fn pass(&self, attempt: &mut SplitAttempt, first: &mut [f64]) -> bool {
        let mut squared = self.squared_lengths(first);
        let mut tau = squared.map(f64::sqrt).iter().sum::<f64>();
        let seconds = attempt.is_second.iter().filter(|second| **second).count();
        let mut counts = [self.rows.len() - seconds, seconds];
        let mut has_moved = false;
        for (number, second) in attempt.is_second.iter_mut().enumerate() {
            let (row, from) = (self.rows.row(number), usize::from(*second));
            let to = 1 - from;
            // Without its last row a half is not one: τ cannot rise.
            if counts[from] == 1 {
                continue;
            }
            let product = row.dot(first);
            let products = [product, self.products[number] - product];
            let mut moved = squared;
            moved[from] = (squared[from] - 2.0 * products[from] + self.squares[number]).max(0.0);
            moved[to] = squared[to] + 2.0 * products[to] + self.squares[number];
            let moved_tau = moved[0].sqrt() + moved[1].sqrt();
            if moved_tau > tau + LEAST_GAIN * tau {
                row.add_to(first, if *second { 1.0 } else { -1.0 });
                (squared, tau, *second, has_moved) = (moved, moved_tau, !*second, true);
                counts[from] -= 1;
                counts[to] += 1;
            }
        }
        has_moved
    }

    /// The squared lengths of the sums of both halves.
    fn squared_lengths(&self, first: &[f64]) -> [f64; 2] {
        let second: Vec<f64> = self.sum.iter().zip(first).map(|(all, first)| all - first).collect();
        [dot(first, first), dot(&second, &second)]
    }
}

impl SplitAttempt {
    /// The attempt with the greater τ, in a tie the one that is first.
    fn better(self, other: SplitAttempt) -> SplitAttempt {
        let other_is_better =
            if self.tau == other.tau { other.start < self.start } else { other.tau > self.tau };
        if other_is_better { other } else { self }
    }
}
