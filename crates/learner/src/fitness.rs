//! What learning maximises: a figure of each cycle, or a weighted sum of several.

use recrawl_simulation::CycleFigures;
use std::fmt;
use std::str::FromStr;

/// The fitness of a formula is the mean of this over the cycles after the warm-up (thesis section 3.4). The
/// higher the better: of what is better when low, the negative counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitness {
    /// Weight and measure, at least one.
    terms: Vec<(f64, Measure)>,
}

/// A figure of one cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Changed pages among those visited (thesis eq. 2.3).
    ChangeRate,
    /// NDCG with gain 1/log2(rank + 1).
    NdcgLog2,
    /// NDCG with the gains of the authors' program.
    NdcgGp4c,
    /// The share of pages whose copy is what is live.
    Freshness,
    /// Minus the mean of H(missed changes) over all pages.
    Harmonic,
    /// Minus the mean age of copies over all pages, in cycles.
    Age,
}

impl Measure {
    /// Every measure with its name.
    pub const ALL: [(&str, Measure); 6] = [
        ("change_rate", Measure::ChangeRate),
        ("ndcg_log2", Measure::NdcgLog2),
        ("ndcg_gp4c", Measure::NdcgGp4c),
        ("freshness", Measure::Freshness),
        ("harmonic", Measure::Harmonic),
        ("age", Measure::Age),
    ];

    /// The name on the command line and in formula files.
    pub fn name(self) -> &'static str {
        let (name, _) = Measure::ALL.iter().find(|(_, m)| *m == self).expect("every measure is listed");
        name
    }

    /// In one cycle, the higher the better.
    pub fn of(self, cycle: &CycleFigures) -> f64 {
        let share = |part: f64, all: u64| if all == 0 { 0.0 } else { part / all as f64 };
        match self {
            Measure::ChangeRate => share(cycle.changed as f64, cycle.visited),
            Measure::NdcgLog2 => cycle.ndcg_log2,
            Measure::NdcgGp4c => cycle.ndcg_gp4c,
            Measure::Freshness => 1.0 - share(cycle.stale as f64, cycle.pages),
            Measure::Harmonic => -share(cycle.harmonic, cycle.pages),
            Measure::Age => -share(cycle.age as f64, cycle.pages),
        }
    }
}

impl Fitness {
    /// The most terms of a weighted sum.
    pub const MAX_TERMS: usize = 16;

    /// Of one cycle.
    pub fn of_cycle(&self, cycle: &CycleFigures) -> f64 {
        self.terms.iter().map(|(weight, measure)| weight * measure.of(cycle)).sum()
    }

    /// Of every cycle.
    pub fn of_cycles(&self, cycles: &[CycleFigures]) -> Vec<f64> {
        cycles.iter().map(|c| self.of_cycle(c)).collect()
    }

    /// The measure, where it is just one and counts once.
    pub fn single(&self) -> Option<Measure> {
        match self.terms.as_slice() {
            [(1.0, measure)] => Some(*measure),
            _ => None,
        }
    }

    /// Does it take this measure into account?
    pub fn uses(&self, measure: Measure) -> bool {
        self.terms.iter().any(|(_, m)| *m == measure)
    }
}

/// The mean, 0 of nothing.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// A fitness cannot be read.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FitnessError {
    /// No measure of that name.
    Unknown(String),
    /// A weight that is no finite number, or 0.
    Weight(String),
    /// Too many terms.
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
            let (_, measure) = Measure::ALL
                .iter()
                .find(|(known, _)| *known == name)
                .ok_or_else(|| FitnessError::Unknown(name.to_owned()))?;
            terms.push((weight, *measure));
        }
        if terms.len() > Self::MAX_TERMS {
            return Err(FitnessError::TooMany);
        }
        Ok(Fitness { terms })
    }
}

impl fmt::Display for Fitness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (weight, measure)) in self.terms.iter().enumerate() {
            f.write_str(if i > 0 { " + " } else { "" })?;
            if *weight != 1.0 {
                write!(f, "{weight}*")?;
            }
            f.write_str(measure.name())?;
        }
        Ok(())
    }
}

impl fmt::Display for FitnessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FitnessError::Unknown(name) => {
                let names: Vec<&str> = Measure::ALL.iter().map(|m| m.0).collect();
                write!(
                    f,
                    "no fitness '{name}': there are {}, and sums as 0.5*change_rate+0.5*freshness",
                    names.join(", ")
                )
            }
            FitnessError::Weight(weight) => write!(f, "weight '{weight}': a weight is a number and not 0"),
            FitnessError::TooMany => write!(f, "a fitness has at most {} terms", Fitness::MAX_TERMS),
        }
    }
}

impl std::error::Error for FitnessError {}

#[cfg(test)]
mod tests {
    use super::*;

    const CYCLE: CycleFigures = CycleFigures {
        cycle: 3,
        pages: 10,
        first_visits: 0,
        warmup_visits: 0,
        visited: 4,
        changed: 1,
        pending: 5,
        stale: 4,
        age: 20,
        harmonic: 6.0,
        ndcg_log2: 0.25,
        ndcg_gp4c: 0.125,
    };

    #[test]
    fn every_measure_is_better_when_higher() {
        let of = |text: &str| text.parse::<Fitness>().unwrap().of_cycle(&CYCLE);
        assert_eq!((of("change_rate"), of("freshness"), of("age"), of("harmonic")), (0.25, 0.6, -2.0, -0.6));
        assert_eq!((of("ndcg"), of("ndcg_log2"), of("ndcg_gp4c")), (0.25, 0.25, 0.125));
        assert_eq!(of("2*change_rate + -0.5*age"), 1.5);
        let nothing = CycleFigures::default();
        for (_, measure) in Measure::ALL {
            assert!(measure.of(&nothing).is_finite());
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
            ("", "no fitness ''"),
            ("speed", "no fitness 'speed': there are change_rate"),
            ("x*age", "weight 'x'"),
            ("0*age", "weight '0'"),
            ("nan*age", "weight 'nan'"),
            ("age+", "no fitness ''"),
            (&["age"; 17].join("+"), "at most 16"),
        ] {
            let error = text.parse::<Fitness>().expect_err(text).to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
