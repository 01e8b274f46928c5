//! The fitness that learning maximises: a figure of each cycle, or a weighted sum of several.

use recrawl_simulation::CycleFigures;
use recrawl_simulation::metric::{self, Better, Figure, ReplayMetric};
use std::fmt;
use std::str::FromStr;

/// The fitness of a formula is the mean of this over the cycles after the warm-up (thesis section
/// 3.4). Higher is better; metrics where lower is better are negated.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitness {
    /// Weights and metrics of cycles, at least one.
    terms: Vec<(f64, &'static ReplayMetric)>,
}

impl Fitness {
    /// Maximum terms of a weighted sum.
    pub const MAX_TERMS: usize = 16;

    /// The fitness in one cycle.
    pub fn of_cycle(&self, cycle: &CycleFigures) -> f64 {
        self.terms.iter().map(|(weight, metric)| weight * higher_is_better(metric, cycle)).sum()
    }

    /// The fitness in every cycle.
    pub fn of_cycles(&self, cycles: &[CycleFigures]) -> Vec<f64> {
        cycles.iter().map(|c| self.of_cycle(c)).collect()
    }

    /// The metrics that can be maximised: those with a value per cycle.
    pub fn metrics() -> impl Iterator<Item = &'static ReplayMetric> {
        metric::ALL.iter().chain(metric::BY_IMPORTANCE).filter(|metric| metric.of_cycle().is_some())
    }

    /// The metric, if there is only one and its weight is 1.
    pub fn single(&self) -> Option<&'static ReplayMetric> {
        match self.terms.as_slice() {
            [(1.0, metric)] => Some(metric),
            _ => None,
        }
    }

    /// Whether it tells pages of different importance apart.
    pub fn is_by_importance(&self) -> bool {
        self.terms.iter().any(|(_, metric)| metric.is_by_importance())
    }

    /// Whether it uses a metric with one of these names.
    pub fn uses(&self, names: &[&str]) -> bool {
        self.terms.iter().any(|(_, metric)| names.contains(&metric.name))
    }
}

/// A metric in one cycle, negated if lower is better.
fn higher_is_better(metric: &ReplayMetric, cycle: &CycleFigures) -> f64 {
    let Figure::Cycle(of_cycle) = metric.of else { unreachable!("a fitness is made of metrics of cycles") };
    match metric.better {
        Better::Higher => of_cycle(cycle),
        Better::Lower => -of_cycle(cycle),
    }
}

/// The mean; 0 without values.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The place of the highest value, of equal ones the first; none without values.
pub fn first_highest(values: &[f64]) -> Option<usize> {
    (0..values.len()).rev().max_by(|&a, &b| values[a].total_cmp(&values[b]))
}

/// Why a fitness cannot be parsed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FitnessError {
    /// There is no metric of cycles with this name.
    #[error(
        "unknown fitness '{0}'; use {names}, or a sum such as 0.5*change_rate+0.5*freshness",
        names = Fitness::metrics().map(|metric| metric.name).collect::<Vec<_>>().join(", ")
    )]
    Unknown(String),
    /// A weight that is not finite, or 0.
    #[error("weight '{0}': use a number other than 0")]
    Weight(String),
    /// Too many terms.
    #[error("a fitness has at most {} terms", Fitness::MAX_TERMS)]
    TooMany,
}

impl FromStr for Fitness {
    type Err = FitnessError;

    /// `freshness`, or a weighted sum: `0.5*change_rate + 0.5*freshness`. `ndcg` is `ndcg_log2`.
    fn from_str(text: &str) -> Result<Fitness, FitnessError> {
        let mut terms = Vec::new();
        for term in text.split('+') {
            let (weight, name) = match term.split_once('*') {
                Some((weight, name)) => {
                    let value: f64 =
                        weight.trim().parse().map_err(|_| FitnessError::Weight(weight.trim().to_owned()))?;
                    if !value.is_finite() || value == 0.0 {
                        return Err(FitnessError::Weight(weight.trim().to_owned()));
                    }
                    (value, name.trim())
                }
                None => (1.0, term.trim()),
            };
            let name = if name == "ndcg" { "ndcg_log2" } else { name };
            let metric = Fitness::metrics().find(|metric| metric.name == name);
            terms.push((weight, metric.ok_or_else(|| FitnessError::Unknown(name.to_owned()))?));
        }
        if terms.len() > Self::MAX_TERMS {
            return Err(FitnessError::TooMany);
        }
        Ok(Fitness { terms })
    }
}

impl fmt::Display for Fitness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (weight, metric)) in self.terms.iter().enumerate() {
            f.write_str(if i > 0 { " + " } else { "" })?;
            if *weight != 1.0 {
                write!(f, "{weight}*")?;
            }
            f.write_str(metric.name)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_simulation::{ContentFigures, ImportanceFigures};

    const CYCLE: CycleFigures = CycleFigures {
        cycle: 3,
        pages: 10,
        first_visits: 0,
        warmup_visits: 0,
        visited: 4,
        changed: 1,
        pending: 5,
        covered: 9,
        stale: 4,
        age: 20,
        harmonic: 6.0,
        ndcg_log2: 0.25,
        ndcg_gp4c: 0.125,
        importance: ImportanceFigures { pages: 40_000, changed: 10_000, stale: 10_000, covered: 30_000 },
        contents: ContentFigures { weight_found: 0.0, freshness_at_10: 0.0, mp_at_10: 0.0, ap_at_10: 0.0 },
    };

    #[test]
    fn every_metric_is_better_when_higher() {
        let of = |text: &str| text.parse::<Fitness>().unwrap().of_cycle(&CYCLE);
        assert_eq!((of("change_rate"), of("freshness"), of("age"), of("harmonic")), (0.25, 0.6, -2.0, -0.6));
        assert_eq!((of("ndcg"), of("ndcg_log2"), of("ndcg_gp4c")), (0.25, 0.25, 0.125));
        assert_eq!((of("coverage"), of("coverage_by_importance")), (0.9, 0.75));
        assert_eq!((of("change_rate_by_importance"), of("freshness_by_importance")), (2.5, 0.75));
        assert_eq!(of("2*change_rate + -0.5*age"), 1.5);
        let nothing = CycleFigures::default();
        for metric in Fitness::metrics() {
            assert!(higher_is_better(metric, &nothing).is_finite(), "{}", metric.name);
        }
    }

    #[test]
    fn it_is_written_as_it_is_read() {
        for (text, written) in
            [("ndcg", "ndcg_log2"), (" 0.5 * change_rate+0.5*freshness", "0.5*change_rate + 0.5*freshness")]
        {
            let fitness: Fitness = text.parse().unwrap();
            assert_eq!(fitness.to_string(), written);
            assert_eq!(written.parse::<Fitness>().unwrap(), fitness);
        }
    }

    #[test]
    fn what_is_none_is_refused() {
        for (text, says) in [
            ("", "unknown fitness ''"),
            ("speed", "unknown fitness 'speed'; use change_rate"),
            ("x*age", "weight 'x'"),
            ("0*age", "weight '0'"),
            ("nan*age", "weight 'nan'"),
            ("age+", "unknown fitness ''"),
            (&["age"; 17].join("+"), "at most 16"),
        ] {
            let error = text.parse::<Fitness>().expect_err(text).to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
