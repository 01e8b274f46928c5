//! The weights of the model of the next change, learned visit by visit.

use super::NextChange;
use super::cholesky::solve;
use crate::math::exp;
use recrawl_types::NEXT_CHANGE_WEIGHTS as N;
use serde::{Deserialize, Serialize};

/// The weights, and how certain they are: the normal approximation of their posterior.
///
/// A visit that finds no change has probability e^−h, one that finds a change 1 − e^−h, with the hazard h of
/// [`NextChange::hazard`]. Each [`Lesson`] takes one Newton step on the logarithm of the posterior: the prior is what was
/// learned before, widened with time so that the model follows a web that changes. The sums run in the order of the
/// visits, so equal visits in equal order give equal digits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WrittenModel")]
pub struct NextChangeModel {
    /// The weights of the [features](NextChange::features).
    pub weights: [f64; N],
    /// The inverse of their covariance.
    precision: [[f64; N]; N],
}

/// A model as it was written, maybe by a version with fewer features.
#[derive(Deserialize)]
struct WrittenModel {
    weights: Vec<f64>,
    precision: Vec<Vec<f64>>,
}

impl TryFrom<WrittenModel> for NextChangeModel {
    type Error = String;

    /// Features that it did not have begin as in a new model.
    fn try_from(WrittenModel { weights, precision }: WrittenModel) -> Result<NextChangeModel, String> {
        let features = weights.len();
        if features > N || precision.len() != features || precision.iter().any(|row| row.len() != features) {
            return Err(format!(
                "a model of the next change has at most {N} weights, and as many rows of precision"
            ));
        }
        let mut model = NextChangeModel::default();
        model.weights[..features].copy_from_slice(&weights);
        for (row, written) in model.precision.iter_mut().zip(&precision) {
            row[..features].copy_from_slice(written);
        }
        Ok(model)
    }
}

/// The precision of each weight before the first visit, around 0.
const PRIOR: f64 = 30.0;
/// What remains of the precision after a cycle.
const MEMORY: f64 = 0.995;
/// The most that a weight moves in one step: the normal approximation is worth nothing far away.
const LONGEST_STEP: f64 = 0.5;

impl Default for NextChangeModel {
    fn default() -> NextChangeModel {
        let mut precision = [[0.0; N]; N];
        (0..N).for_each(|i| precision[i][i] = PRIOR);
        NextChangeModel { weights: [0.0; N], precision }
    }
}

impl NextChangeModel {
    /// Begins a lesson, `cycles` after the last one.
    pub fn lesson(mut self, cycles: u32) -> Lesson {
        let kept = (0..cycles.min(10_000)).fold(1.0, |kept, _| kept * MEMORY);
        let forgotten = (1.0 - kept) * PRIOR;
        for (i, row) in self.precision.iter_mut().enumerate() {
            row.iter_mut().for_each(|value| *value *= kept);
            row[i] += forgotten;
        }
        let gradient = self.weights.map(|weight| -forgotten * weight);
        Lesson { model: self, gradient }
    }
}

/// The visits of a round, from which a model learns.
#[derive(Clone, Debug)]
pub struct Lesson {
    /// Its weights are those before the lesson.
    model: NextChangeModel,
    gradient: [f64; N],
}

impl Lesson {
    /// Adds a visit: the page as it was before, and whether a change was found.
    pub fn visit(&mut self, page: &NextChange, is_changed: bool) {
        let hazard = page.hazard(&self.model.weights);
        let per_chance = per_chance(hazard);
        let slope = if is_changed { per_chance } else { -hazard };
        let information = hazard * per_chance;
        for (i, x) in page.features.iter().enumerate() {
            self.gradient[i] += slope * x;
            for (j, y) in page.features[..=i].iter().enumerate() {
                self.model.precision[i][j] += information * x * y;
            }
        }
    }

    /// The model after the lesson; the weights stay where there is no finite step.
    pub fn learned(self) -> NextChangeModel {
        let Lesson { mut model, gradient } = self;
        let step = solve(&model.precision, gradient);
        if !step.iter().all(|step| step.is_finite()) {
            return model;
        }
        for (weight, step) in model.weights.iter_mut().zip(step) {
            *weight += step.clamp(-LONGEST_STEP, LONGEST_STEP);
        }
        model
    }
}

/// h/(e^h − 1). Its series replaces a difference of two nearly equal numbers.
fn per_chance(hazard: f64) -> f64 {
    if hazard < 1e-3 { 1.0 - hazard / 2.0 + hazard * hazard / 12.0 } else { hazard / (exp(hazard) - 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    /// Visits of pages with random features, which change by the model with these weights.
    fn visits(random: &mut StdRng, weights: &[f64; N], count: usize) -> Vec<(NextChange, bool)> {
        let mut visit = || {
            let mut features = std::array::from_fn(|_| random.random_range(-1.0..1.0));
            features[0] = 1.0;
            let page = NextChange { base: random.random_range(-3.0..0.0), features };
            let is_changed = random.random::<f64>() < 1.0 - exp(-page.hazard(weights));
            (page, is_changed)
        };
        (0..count).map(|_| visit()).collect()
    }

    fn learn(model: &NextChangeModel, visits: &[(NextChange, bool)], cycles: u32) -> NextChangeModel {
        let mut lesson = model.clone().lesson(cycles);
        visits.iter().for_each(|(page, is_changed)| lesson.visit(page, *is_changed));
        lesson.learned()
    }

    #[test]
    fn it_finds_the_weights_that_the_visits_follow_and_follows_new_ones() {
        let mut random = StdRng::seed_from_u64(1);
        let mut model = NextChangeModel::default();
        for weights in
            [[-0.5, 1.0, 0.0, -1.0, 0.5, 0.0, 2.0, 1.0, 0.5], [0.5, -1.0, 0.0, 1.0, 0.5, 0.0, -1.0, 0.0, 1.0]]
        {
            for _ in 0..600 {
                model = learn(&model, &visits(&mut random, &weights, 100), 1);
            }
            for (learned, weight) in model.weights.iter().zip(weights) {
                assert!((learned - weight).abs() < 0.15, "{:?} for {weights:?}", model.weights);
            }
        }
    }

    #[test]
    fn without_visits_it_says_nothing_and_forgets() {
        let mut model = NextChangeModel::default();
        model = learn(&model, &[], 1);
        assert_eq!(model.weights, [0.0; N]);
        let mut random = StdRng::seed_from_u64(2);
        model = learn(&model, &visits(&mut random, &[1.0; N], 1_000), 1);
        let learned = model.clone();
        assert!(model.weights[0] > 0.2, "{:?}", model.weights);
        model = learn(&model, &[], 0);
        assert_eq!(model.precision, learned.precision, "rounds of one cycle forget nothing");
        model = learn(&model, &[], u32::MAX);
        assert!(model.weights[0].abs() < learned.weights[0].abs(), "{:?}", model.weights);
        assert!(model.precision.iter().flatten().all(|value| value.is_finite()));
    }

    #[test]
    fn odd_visits_leave_finite_weights() {
        let far = |base| NextChange { base, features: [1e6; N] };
        let mut model = NextChangeModel::default();
        for _ in 0..100 {
            model = learn(&model, &[(far(-700.0), true), (far(700.0), false), (far(0.0), true)], 1);
            assert!(model.weights.iter().all(|weight| weight.is_finite()), "{:?}", model.weights);
        }
    }

    /// A model of a version that had no feature of sections goes on with the digits that it had.
    #[test]
    fn a_model_with_fewer_features_is_read_and_learns_as_before() {
        let mut random = StdRng::seed_from_u64(3);
        let mut visits = visits(&mut random, &[0.5; N], 500);
        visits.iter_mut().for_each(|(page, _)| page.features[N - 1] = 0.0);
        let whole = learn(&NextChangeModel::default(), &visits, 1);
        let mut written = toml::Table::try_from(&whole).unwrap();
        written["weights"].as_array_mut().unwrap().pop();
        let rows = written["precision"].as_array_mut().unwrap();
        rows.pop();
        rows.iter_mut().for_each(|row| drop(row.as_array_mut().unwrap().pop()));
        let read: NextChangeModel = written.clone().try_into().unwrap();
        assert_eq!(read.weights, whole.weights);
        assert_eq!(learn(&read, &visits, 3), learn(&whole, &visits, 3));
        assert_eq!(learn(&whole, &visits, 3).weights[N - 1], 0.0);
        written["weights"].as_array_mut().unwrap().extend([1.0.into(), 2.0.into()]);
        let refused = written.try_into::<NextChangeModel>().unwrap_err();
        assert!(refused.to_string().contains("at most 9"), "{refused}");
    }

    #[test]
    fn series_and_quotient_meet() {
        let (below, above) = (per_chance(1e-3 - 1e-12), per_chance(1e-3));
        assert!((below - above).abs() < 1e-9, "{below} {above}");
        assert_eq!(per_chance(0.0), 1.0);
    }
}
