//! Change rates of pages from the cycles in which changes were observed, and when a sample of them suffices (Tan and
//! Mitra 2010, section 4).

use recrawl_formula::math::{exp, student};

/// How the weights of cycles depend on their age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weighting {
    /// Non-adaptive, NAD: all alike.
    NonAdaptive,
    /// Shortsighted adaptive, SAD: only the last cycle counts.
    Shortsighted,
    /// Arithmetically adaptive, AAD: the i-th cycle has weight i.
    Arithmetic,
    /// Geometrically adaptive, GAD: the i-th cycle has weight 2^(i−1).
    Geometric,
}

/// The cycles of a page, each with a change observed or not: I₁ … I_n of equation 13, as sums.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ChangeHistory {
    cycles: u32,
    changes: u32,
    last: bool,
    /// Σ i·I_i.
    places: u64,
    /// Σ 2^(i−n)·I_i, and the same sum if all cycles had a change.
    halved: [f64; 2],
}

impl ChangeHistory {
    /// Adds a cycle.
    pub fn record(&mut self, changed: bool) {
        self.cycles += 1;
        self.last = changed;
        self.halved = self.halved.map(|sum| sum / 2.0);
        self.halved[1] += 1.0;
        if changed {
            self.changes += 1;
            self.places += u64::from(self.cycles);
            self.halved[0] += 1.0;
        }
    }

    /// Adds cycles in which the copy of the page stayed the same since nobody looked.
    pub fn skip(&mut self, cycles: u32) {
        // After a thousand halvings the sums do not change any more.
        let halved = cycles.min(1100);
        let others = cycles - halved;
        self.cycles += others;
        (0..halved).for_each(|_| self.record(false));
    }

    /// Number of cycles.
    pub fn cycles(&self) -> u32 {
        self.cycles
    }

    /// The change rate λ, from 0 to 1 changes a cycle: Σ w_i·I_i with Σ w_i = 1. `None` before the first cycle.
    ///
    /// As printed, equation 12 divides by n once more. That does not change the order of pages with equally many cycles; it
    /// would lower the rate of pages that are known for longer, so it is left out.
    pub fn rate(&self, weighting: Weighting) -> Option<f64> {
        let cycles = f64::from(self.cycles);
        let rate = match weighting {
            Weighting::NonAdaptive => f64::from(self.changes) / cycles,
            Weighting::Shortsighted => f64::from(u8::from(self.last)),
            Weighting::Arithmetic => self.places as f64 / (cycles * (cycles + 1.0) / 2.0),
            Weighting::Geometric => self.halved[0] / self.halved[1],
        };
        (self.cycles > 0).then_some(rate)
    }
}

impl FromIterator<bool> for ChangeHistory {
    fn from_iter<I: IntoIterator<Item = bool>>(changes: I) -> ChangeHistory {
        let mut history = ChangeHistory::default();
        changes.into_iter().for_each(|changed| history.record(changed));
        history
    }
}

/// φ = 1 − e^(−λ): the probability of a change within a cycle, if changes are a Poisson process (equation 11).
pub fn download_probability(rate: f64) -> f64 {
    1.0 - exp(-rate)
}

/// Values of a sample, as mean and variance (Welford 1962).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateSample {
    count: u64,
    mean: f64,
    squares: f64,
}

impl RateSample {
    /// Adds a value, a finite number.
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (value - self.mean);
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean; 0 without values.
    pub fn mean(&self) -> f64 {
        self.mean
    }
}

/// When a sample of a cluster suffices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleRule {
    confidence: f64,
    half_width: f64,
    least: u64,
}

/// A rule that no sample, or any sample, follows.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SampleRuleError {
    /// The confidence is no share.
    #[error("a confidence of {0}: it must be above 0 and below 1")]
    Confidence(f64),
    /// The half-width is no distance.
    #[error("a half-width of {0}: it must be above 0 and finite")]
    HalfWidth(f64),
    /// One value has no variance.
    #[error("samples of {0}: at least 2 values are needed")]
    Least(u64),
}

impl Default for SampleRule {
    /// The paper's confidence of 80 %. The half-width, 0.05, and the least sample, 5, are ours: the paper gives none.
    fn default() -> SampleRule {
        SampleRule { confidence: 0.8, half_width: 0.05, least: SampleRule::LEAST }
    }
}

impl SampleRule {
    /// The least sample of the default rule: two equal values have no variance.
    pub const LEAST: u64 = 5;

    /// A rule: at least `least` values, and the mean known to `half_width` with this confidence.
    pub fn new(confidence: f64, half_width: f64, least: u64) -> Result<SampleRule, SampleRuleError> {
        if !(confidence > 0.0 && confidence < 1.0) {
            return Err(SampleRuleError::Confidence(confidence));
        }
        if !(half_width > 0.0 && half_width.is_finite()) {
            return Err(SampleRuleError::HalfWidth(half_width));
        }
        if least < 2 {
            return Err(SampleRuleError::Least(least));
        }
        Ok(SampleRule { confidence, half_width, least })
    }

    /// Whether the t-interval of the mean is narrow enough: its half-width is at most that of the rule. The answer takes
    /// O(n) time for n values.
    pub fn is_sufficient(&self, sample: &RateSample) -> bool {
        if sample.count < self.least {
            return false;
        }
        let freedom = (sample.count - 1) as f64;
        let square = sample.squares / freedom / sample.count as f64;
        // The interval is the quantile of t times the error. So instead of the quantile, its p-value is compared.
        square == 0.0
            || student::p_value(self.half_width * self.half_width / square, freedom) <= 1.0 - self.confidence
    }
}

#[cfg(test)]
mod tests;
