use super::split::{LEAST_GAIN, draw};
use super::*;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Dense rows around `groups` directions by chance; small `noise` keeps them close.
fn around(groups: usize, rows: usize, dims: usize, noise: f64, seed: u64) -> Vec<f64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let directions: Vec<f64> = (0..groups * dims).map(|_| random.random_range(-1.0..1.0)).collect();
    (0..rows * dims)
        .map(|i| directions[i / dims % groups * dims + i % dims] + noise * random.random_range(-1.0..1.0))
        .collect()
}

fn rows_around(groups: usize, rows: usize, dims: usize, noise: f64, seed: u64) -> Rows {
    Rows::from_dense(dims, &around(groups, rows, dims, noise, seed)).unwrap()
}

/// A slow twin: computes τ from all rows for each move.
struct Twin<'a> {
    rows: &'a Rows,
    options: BisectionOptions,
}

type Halves = [Vec<u32>; 2];

impl Twin<'_> {
    fn length<'r>(&self, members: impl Iterator<Item = &'r u32>) -> f64 {
        let mut sum = vec![0.0; self.rows.dims()];
        members.for_each(|row| self.rows.row(*row as usize).add_to(&mut sum, 1.0));
        sum.iter().map(|x| x * x).sum::<f64>().sqrt()
    }

    fn tau(&self, order: &[u32], is_second: &[bool]) -> f64 {
        let half = |second: bool| {
            order.iter().zip(is_second).filter(move |(_, s)| **s == second).map(|(row, _)| row)
        };
        self.length(half(false)) + self.length(half(true))
    }

    fn halves(&self, members: &[u32], node: usize) -> Option<Halves> {
        if members.len() < 2 {
            return None;
        }
        let (order, starts) = draw(members.len(), node, &self.options);
        let order: Vec<u32> = order.iter().map(|place| members[*place as usize]).collect();
        let mut best: Option<(f64, Vec<bool>)> = None;
        for pair in starts {
            let cosine = |a: u32, b: u32| {
                let mut vector = vec![0.0; self.rows.dims()];
                self.rows.row(b as usize).add_to(&mut vector, 1.0);
                self.rows.row(a as usize).dot(&vector)
            };
            let [one, other] = pair.map(|place| order[place]);
            let mut second: Vec<bool> =
                order.iter().map(|row| cosine(*row, other) > cosine(*row, one)).collect();
            for _ in 0..self.options.passes {
                let before = second.clone();
                for row in 0..order.len() {
                    let tau = self.tau(&order, &second);
                    second[row] = !second[row];
                    if self.tau(&order, &second) <= tau + LEAST_GAIN * tau {
                        second[row] = !second[row];
                    }
                }
                if second == before {
                    break;
                }
            }
            let tau = self.tau(&order, &second);
            if best.as_ref().is_none_or(|(best, _)| tau > best + 1e-12) {
                best = Some((tau, second));
            }
        }
        let (tau, second) = best?;
        if tau <= (1.0 + LEAST_GAIN) * self.length(members.iter()) {
            return None;
        }
        let mut halves = [Vec::new(), Vec::new()];
        order.iter().zip(second).for_each(|(row, second)| halves[usize::from(second)].push(*row));
        halves.iter_mut().for_each(|half| half.sort_unstable());
        halves.sort_by_key(|half| (std::cmp::Reverse(half.len()), half[0]));
        Some(halves)
    }

    fn members(&self) -> Vec<u32> {
        let mut nodes = 1;
        let mut cluster = |node: usize, members: Vec<u32>| {
            let halves = self.halves(&members, node).map(|halves| (nodes, halves));
            nodes += 2 * usize::from(halves.is_some());
            (halves, members)
        };
        let mut clusters = vec![cluster(0, (0..self.rows.len() as u32).collect())];
        while clusters.len() < self.options.clusters {
            let gain = |(halves, all): &(Option<(usize, Halves)>, Vec<u32>)| {
                let (_, [first, second]) = halves.as_ref()?;
                Some(self.length(first.iter()) + self.length(second.iter()) - self.length(all.iter()))
            };
            let gains: Vec<f64> = clusters.iter().map(|cluster| gain(cluster).unwrap_or(-1.0)).collect();
            let best =
                (0..gains.len()).fold(0, |best, i| if gains[i] > gains[best] + 1e-12 { i } else { best });
            let Some((node, [first, second])) = clusters[best].0.take() else { break };
            clusters[best] = cluster(node, first);
            clusters.push(cluster(node + 1, second));
        }
        let mut members = vec![0; self.rows.len()];
        for (number, (_, rows)) in (0..).zip(&clusters) {
            rows.iter().for_each(|row| members[*row as usize] = number);
        }
        members
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn clusters_are_those_of_the_slow_twin(
        (groups, count, dims, clusters) in (1usize..6, 1usize..40, 1usize..12, 1usize..9),
        noise in prop_oneof![Just(0.0), 0.01..2.0],
        seed in any::<u64>(),
    ) {
        let rows = rows_around(groups, count, dims, noise, seed);
        let options = BisectionOptions { starts: 3, passes: 4, seed, ..BisectionOptions::new(clusters) };
        let found = bisect(&rows, &options).unwrap();
        prop_assert_eq!(&found.members, &Twin { rows: &rows, options }.members());
        // Equation 8, by its first form.
        let tau: f64 = (0..count).map(|row| rows.row(row).dot(found.centroids.get(found.members[row] as usize))).sum();
        prop_assert!((tau - found.tau).abs() < 1e-9 * tau.max(1.0), "{tau} {}", found.tau);
    }
}

/// Sparse rows of counts of words: a few of 30 words each.
fn rows_of_words(count: usize, seed: u64) -> Rows {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut rows = Rows::new(30);
    for row in 0..count {
        let words = (0..30).filter(|_| random.random_range(0..5) == 0).collect::<Vec<u32>>();
        let counts: Vec<(u32, f64)> =
            words.iter().map(|w| (*w, f64::from(1 + (*w + row as u32) % 3))).collect();
        rows.push(&counts).unwrap();
    }
    rows
}

#[test]
fn one_run_has_all_smaller_numbers_of_clusters_on_any_number_of_threads() {
    for rows in [rows_around(7, 2500, 6, 0.7, 3), rows_of_words(2500, 4)] {
        let options = BisectionOptions { starts: 4, ..BisectionOptions::new(12) };
        let run = Bisections::run(&rows, &options).unwrap();
        let threaded = Bisections::run(&rows, &BisectionOptions { threads: 3, ..options }).unwrap();
        assert_eq!(run, threaded);
        let mut before = 0.0;
        for clusters in [1, 2, 5, 12] {
            let found = run.clustering(clusters);
            assert_eq!(bisect(&rows, &BisectionOptions { clusters, ..options }).unwrap(), found);
            assert_eq!(found.centroids.len(), clusters);
            assert!(found.tau > before, "{} after {before}", found.tau);
            before = found.tau;
        }
        assert_eq!(run.clustering(99), run.clustering(12));
    }
}

#[test]
fn directions_far_apart_are_found() {
    let rows = rows_around(9, 450, 24, 0.2, 5);
    let found = bisect(&rows, &BisectionOptions::new(9)).unwrap();
    let numbers = &found.members[..9];
    assert!((0..9).all(|number| numbers.contains(&number)), "{numbers:?}");
    assert!(found.members.chunks(9).all(|members| members == numbers), "{:?}", found.members);
}

#[test]
fn the_half_with_more_rows_keeps_the_number() {
    let values = [1.0, 0.0, 0.0, 1.0, 0.1, 1.0, 0.0, 1.0];
    let rows = Rows::from_dense(2, &values).unwrap();
    assert_eq!(bisect(&rows, &BisectionOptions::new(2)).unwrap().members, [1, 0, 0, 0]);
    let rows = Rows::from_dense(2, &values[..4]).unwrap();
    assert_eq!(bisect(&rows, &BisectionOptions::new(2)).unwrap().members, [0, 1], "in a tie the first row");
}

#[test]
fn rows_alike_stay_together() {
    let found = |values: &[f64]| {
        let rows = Rows::from_dense(3, values).unwrap();
        let found = bisect(&rows, &BisectionOptions::new(8)).unwrap();
        (found.centroids.len(), found.members, (found.tau * 1e3).round() / 1e3)
    };
    assert_eq!(found(&[1.0, 2.0, 3.0]), (1, vec![0], 1.0), "one row");
    assert_eq!(found(&[0.1, 0.7, 0.3].repeat(99)), (1, vec![0; 99], 99.0), "all alike");
    // Twice as long is the same direction.
    assert_eq!(found(&[1.0, 2.0, 3.0, 2.0, 4.0, 6.0, 0.0, 0.0, 1.0]), (2, vec![0, 0, 1], 3.0));
    assert_eq!(
        found(&[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]),
        (2, vec![0, 0, 1], 2.0),
        "zero is in 0"
    );
    assert_eq!(found(&[0.0; 6]), (1, vec![0, 0], 0.0), "all are zero");
    assert_eq!(found(&[]), (0, vec![], 0.0), "no row");
}

#[test]
fn options_out_of_range_are_refused() {
    let refused = |change: fn(&mut BisectionOptions)| {
        let mut options = BisectionOptions::new(3);
        change(&mut options);
        bisect(&Rows::new(2), &options).unwrap_err()
    };
    assert_eq!(refused(|options| options.clusters = 0), BisectionError::Clusters(0));
    assert_eq!(refused(|options| options.clusters = 4097), BisectionError::Clusters(4097));
    for change in [
        (|options| options.starts = 0) as fn(&mut BisectionOptions),
        |options| options.passes = 0,
        |options| options.threads = 0,
    ] {
        assert_eq!(refused(change), BisectionError::NoEffort);
    }
}
