//! The number of clusters, by cross-validation (Tan and Mitra 2010, section 3.4 and figure 1).
//!
//! Rows are cut into folds. Each fold is held out once: the others are clustered, and τ of the held-out rows at their
//! nearest centroids is noted for each candidate k. The paper reads the knee off the plot; here it is the candidate whose
//! τ is farthest above the chord from the first to the last one, over ln k.

use crate::bisection::{BisectionError, BisectionOptions, Bisections};
use crate::rows::Rows;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use recrawl_formula::math::{exp, ln};

/// How to choose the number of clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChoiceOptions {
    /// The least candidate, at least 1.
    pub from: usize,
    /// The greatest candidate, at most [`MAX_CLUSTERS`](crate::bisection::MAX_CLUSTERS).
    pub to: usize,
    /// Candidates, at equal distances of ln k.
    pub candidates: usize,
    /// Folds, at least 2. With fewer rows there is a fold for each.
    pub folds: usize,
    /// How to cluster. The number of clusters in it does not count; the seed also draws the folds.
    pub bisection: BisectionOptions,
}

impl Default for ChoiceOptions {
    /// 11 candidates from 5 to 200, and 10 folds.
    fn default() -> ChoiceOptions {
        ChoiceOptions { from: 5, to: 200, candidates: 11, folds: 10, bisection: BisectionOptions::new(200) }
    }
}

/// A number of clusters, and the curve from which it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct ChosenK {
    /// The number of clusters.
    pub k: usize,
    /// Candidates, rising, with τ a held-out row.
    pub curve: Vec<(usize, f64)>,
}

/// Options by which no number of clusters can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChoiceError {
    /// Candidates are out of order or missing.
    #[error("candidates from {from} to {to}: the first must be at least 1, and the last not below it")]
    Candidates {
        /// The least candidate.
        from: usize,
        /// The greatest candidate.
        to: usize,
    },
    /// Nothing would be held out, or nothing else left.
    #[error("{0} folds: at least 2 are needed")]
    Folds(usize),
    /// The rows cannot be clustered.
    #[error(transparent)]
    Bisection(#[from] BisectionError),
}

/// Chooses the number of clusters.
///
/// Candidates above the number of clusters that every fold reached are dropped, since rows alike are never separated. If
/// none is left, the number reached is the choice. Below two rows the choice is 1, without a curve.
pub fn choose_k(rows: &Rows, options: &ChoiceOptions) -> Result<ChosenK, ChoiceError> {
    let grid = grid(options)?;
    if options.folds < 2 {
        return Err(ChoiceError::Folds(options.folds));
    }
    if rows.len() < 2 {
        return Ok(ChosenK { k: 1, curve: Vec::new() });
    }
    let fold_of = folds(rows.len(), options);
    let mut sums = vec![0.0; grid.len()];
    let mut reached = usize::MAX;
    for fold in 0..options.folds.min(rows.len()) {
        let all = 0..rows.len() as u32;
        let (held_out, training): (Vec<u32>, Vec<u32>) = all.partition(|row| fold_of[*row as usize] == fold);
        let most = options.to.min(training.len());
        let run = Bisections::run(
            &rows.select(&training),
            &BisectionOptions { clusters: most, ..options.bisection },
        )?;
        reached = reached.min(run.clusters());
        add_taus(&run, &rows.select(&held_out), &grid, &mut sums);
    }
    let taus = sums.iter().map(|sum| sum / rows.len() as f64);
    let curve: Vec<_> = grid.into_iter().zip(taus).filter(|(k, _)| *k <= reached).collect();
    Ok(ChosenK { k: knee(&curve).unwrap_or(reached), curve })
}

/// The candidates.
fn grid(options: &ChoiceOptions) -> Result<Vec<usize>, ChoiceError> {
    let ChoiceOptions { from, to, candidates, .. } = *options;
    if from == 0 || to < from || candidates == 0 {
        return Err(ChoiceError::Candidates { from, to });
    }
    let step = ln(to as f64 / from as f64) / candidates.saturating_sub(1).max(1) as f64;
    let mut grid: Vec<usize> =
        (0..candidates).map(|i| (from as f64 * exp(step * i as f64)).round() as usize).collect();
    grid.dedup();
    Ok(grid)
}

/// The fold of each row: their sizes differ by one at most.
fn folds(rows: usize, options: &ChoiceOptions) -> Vec<usize> {
    let mut folds: Vec<usize> = (0..rows).map(|row| row % options.folds).collect();
    let mut random = ChaCha8Rng::seed_from_u64(options.bisection.seed);
    // The streams from 0 up are those of the bisections.
    random.set_stream(u64::MAX);
    for last in (1..rows).rev() {
        folds.swap(last, random.random_range(0..=last));
    }
    folds
}

/// Adds τ of rows at their nearest centroids, for each candidate. The cosines to all clusters that ever were are computed
/// once a row.
fn add_taus(run: &Bisections, rows: &Rows, grid: &[usize], sums: &mut [f64]) {
    let centroids = run.all_centroids();
    let clusters: Vec<Vec<usize>> = grid.iter().map(|k| run.nodes_of(*k)).collect();
    for row in 0..rows.len() {
        let cosines: Vec<f64> = centroids.iter().map(|centroid| rows.row(row).dot(centroid)).collect();
        for (sum, nodes) in sums.iter_mut().zip(&clusters) {
            *sum += nodes.iter().map(|node| cosines[*node]).fold(f64::NEG_INFINITY, f64::max);
        }
    }
}

/// The candidate farthest above the chord, the least of equals. The ends are on the chord; without others it is the first.
fn knee(curve: &[(usize, f64)]) -> Option<usize> {
    let (first, last) = (curve.first()?, curve.last()?);
    let width = (ln(last.0 as f64) - ln(first.0 as f64)).max(f64::MIN_POSITIVE);
    let above = |(k, tau): &(usize, f64)| {
        tau - first.1 - (last.1 - first.1) * (ln(*k as f64) - ln(first.0 as f64)) / width
    };
    let inner = &curve[..curve.len().max(2) - 1];
    let farthest = inner.iter().reduce(|best, next| if above(next) > above(best) { next } else { best });
    farthest.map(|(k, _)| *k)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bisection::bisect;

    /// Rows around `groups` directions by chance.
    fn rows_around(groups: usize, count: usize, dims: usize) -> Rows {
        let mut random = ChaCha8Rng::seed_from_u64(9);
        let directions: Vec<f64> = (0..groups * dims).map(|_| random.random_range(-1.0..1.0)).collect();
        let center = |i: usize| directions[i / dims % groups * dims + i % dims];
        let values = (0..count * dims).map(|i| center(i) + 0.3 * random.random_range(-1.0..1.0));
        Rows::from_dense(dims, &values.collect::<Vec<f64>>()).unwrap()
    }

    fn quick() -> ChoiceOptions {
        let bisection = BisectionOptions { starts: 4, passes: 5, ..BisectionOptions::new(1) };
        ChoiceOptions { from: 2, to: 40, folds: 5, bisection, ..ChoiceOptions::default() }
    }

    #[test]
    fn the_knee_is_at_the_number_of_groups() {
        let rows = rows_around(12, 300, 16);
        let choice = choose_k(&rows, &quick()).unwrap();
        // The candidates around 12 are 9 and 12.
        assert_eq!(choice.k, 12, "{:?}", choice.curve);
        assert!(choice.curve.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1 + 0.02), "{:?}", choice.curve);
        let bisection = BisectionOptions { threads: 2, ..quick().bisection };
        assert_eq!(choose_k(&rows, &ChoiceOptions { bisection, ..quick() }).unwrap(), choice);
    }

    /// The same curve, with a run for each fold and candidate.
    #[test]
    fn one_run_a_fold_gives_all_candidates() {
        let rows = rows_around(5, 60, 6);
        let options = ChoiceOptions { to: 12, candidates: 4, folds: 3, ..quick() };
        let choice = choose_k(&rows, &options).unwrap();
        let fold_of = folds(60, &options);
        assert_eq!((0..3).map(|fold| fold_of.iter().filter(|f| **f == fold).count()).max(), Some(20));
        for &(k, tau) in &choice.curve {
            let mut sum = 0.0;
            for fold in 0..3 {
                let (out, training): (Vec<u32>, Vec<u32>) =
                    (0..60).partition(|row| fold_of[*row as usize] == fold);
                let clusters = BisectionOptions { clusters: k, ..options.bisection };
                let centroids = bisect(&rows.select(&training), &clusters).unwrap().centroids;
                sum += out.iter().map(|row| centroids.nearest_to_row(&rows, *row as usize).1).sum::<f64>();
            }
            assert!((tau - sum / 60.0).abs() < 1e-12, "{k}: {tau} {}", sum / 60.0);
        }
        assert_eq!(choice.curve.iter().map(|(k, _)| *k).collect::<Vec<_>>(), [2, 4, 7, 12]);
    }

    #[test]
    fn candidates_end_where_rows_are_alike() {
        let default = ChoiceOptions::default();
        assert_eq!(grid(&default).unwrap(), [5, 7, 10, 15, 22, 32, 46, 66, 96, 138, 200]);
        let found =
            |rows: &Rows| choose_k(rows, &default).map(|choice| (choice.k, choice.curve.len())).unwrap();
        assert_eq!(found(&Rows::new(3)), (1, 0), "no row");
        assert_eq!(found(&Rows::from_dense(2, &[1.0, 2.0]).unwrap()), (1, 0), "one row");
        assert_eq!(found(&Rows::from_dense(2, &[1.0, 2.0].repeat(30)).unwrap()), (1, 0), "all alike");
        assert_eq!(
            found(&Rows::from_dense(2, &[1.0, 0.0, 0.0, 1.0].repeat(30)).unwrap()),
            (2, 0),
            "two kinds"
        );
        // Six kinds: only 5 is a candidate.
        let kinds: Vec<f64> = (0..60).flat_map(|i| [1.0, f64::from(i % 6)]).collect();
        assert_eq!(found(&Rows::from_dense(2, &kinds).unwrap()), (5, 1));
    }

    #[test]
    fn the_knee_is_above_the_chord() {
        assert_eq!(knee(&[(1, 0.0), (2, 0.8), (4, 0.9), (8, 1.0)]), Some(2));
        assert_eq!(knee(&[(1, 0.0), (2, 0.1), (4, 0.2), (8, 1.0)]), Some(1), "all are below");
        assert_eq!((knee(&[(3, 0.5), (9, 0.7)]), knee(&[(3, 0.5)]), knee(&[])), (Some(3), Some(3), None));
    }

    #[test]
    fn options_that_say_nothing_are_refused() {
        let rows = rows_around(2, 9, 3);
        let refused = |options: ChoiceOptions| choose_k(&rows, &options).unwrap_err();
        assert_eq!(refused(ChoiceOptions { folds: 1, ..quick() }), ChoiceError::Folds(1));
        assert_eq!(refused(ChoiceOptions { to: 1, ..quick() }), ChoiceError::Candidates { from: 2, to: 1 });
        assert_eq!(
            refused(ChoiceOptions { from: 0, ..quick() }),
            ChoiceError::Candidates { from: 0, to: 40 }
        );
        let bisection = BisectionOptions { starts: 0, ..quick().bisection };
        let refused = refused(ChoiceOptions { bisection, ..quick() });
        assert_eq!(refused, ChoiceError::Bisection(BisectionError::NoEffort));
    }
}
