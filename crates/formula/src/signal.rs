//! The gain of a visit when signals tell of changes: some changes only, and not only of changes.
//!
//! The model is that of Busa-Fekete et al., "A scalable crawling algorithm utilizing noisy
//! change-indicating signals" (WWW 2025). Changes of a page are Poisson with rate Δ a cycle. A
//! change is signalled with probability λ, the recall; false signals come at rate ν. So signals
//! come at rate γ = λΔ + ν, each tells of a change with probability p = λΔ/γ, the precision, and
//! changes without a signal come at rate α = (1 − λ)Δ.
//!
//! After t cycles and m signals, the copy is fresh with probability e^(−αt)·(1 − p)^m = e^(−ατ).
//! The effective age is τ = t + mβ with β = −ln(1 − p)/α: a signal ages the copy by β. A page that
//! is visited when τ reaches ι has intervals of mean ψ(ι), of which it is fresh for w(ι). Both are
//! sums over the signals i that can come before the visit, with Rᵢ(x) = P(Poisson(x) > i):
//!
//! - ψ(ι) = Σ Rᵢ(γ(ι − iβ)) / γ
//! - w(ι) = Σ (ν/(α + γ))^i · Rᵢ((α + γ)(ι − iβ)) / (α + γ)
//!
//! Freshness w/ψ against visits 1/ψ has the slope V(ι) = w(ι) − e^(−αι)·ψ(ι), since dw = e^(−αι)dψ.
//! So V(τ) is the index of the page: its gain of a visit now. Without signals it is
//! [`freshness`](refresh::freshness).

use crate::math::{exp, ln};
use crate::refresh;

/// A page between two visits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Signalled {
    /// Δ: changes per cycle, above 0.
    pub rate: f64,
    /// p: the share of the signals that tell of a change, 0 to 1.
    pub precision: f64,
    /// λ: the share of the changes that are signalled, 0 to 1.
    pub recall: f64,
    /// t: cycles since the last visit.
    pub age: f64,
    /// m: signals since the last visit.
    pub signals: f64,
}

/// Signals with less precision or recall than this say nothing. Changes a value by about as much.
const LEAST: f64 = 1e-6;
/// e^−750 is 0: a signal of this weight is certain.
const CERTAIN: f64 = 750.0;
/// Maximum terms of a sum, each of which takes at most as many steps. With more terms the limit
/// of ψ and w for large ι replaces them; see [`Signalled::limit`].
const MAX_TERMS: f64 = 64.0;

impl Signalled {
    fn are_informative(self) -> bool {
        self.precision >= LEAST && self.recall >= LEAST
    }

    /// The weight of a signal, αβ = −ln(1 − p).
    fn weight(self) -> f64 {
        let unlikely = 1.0 - self.precision;
        if unlikely > 0.0 { -ln(unlikely) } else { CERTAIN }
    }

    /// α: changes per cycle that no signal tells of.
    fn silent_rate(self) -> f64 {
        (1.0 - self.recall) * self.rate
    }

    /// The probability that the copy is stale, 1 − e^(−ατ).
    pub fn stale(self) -> f64 {
        if !self.are_informative() {
            return 1.0 - exp(-(self.rate * self.age));
        }
        1.0 - exp(-(self.silent_rate() * self.age + self.signals * self.weight()))
    }

    /// V(τ): the gain of a visit in freshness, in cycles. At most 1/Δ, which it reaches when the
    /// copy is certainly stale. The relative error is below 10⁻⁹ with a precision of 0.001 or more
    /// and at most [`MAX_TERMS`] terms.
    pub fn gain(self) -> f64 {
        if !self.are_informative() {
            return refresh::freshness(self.rate, self.age);
        }
        let Signalled { rate, precision, recall, age, signals } = self;
        let (weight, silent) = (self.weight(), self.silent_rate());
        let signal_rate = recall * rate / precision;
        // α·τ in cycles' and signals' parts, so that α = 0 and p = 1 need no limits.
        let silent_changes = silent * age;
        if signals + silent_changes / weight >= MAX_TERMS {
            return self.limit();
        }
        // γβ: the mean number of signals while the copy ages as by one; infinite if α = 0.
        let spacing = signal_rate * weight / silent;
        // Term i has x = α(ι − iβ) and y = γ(ι − iβ).
        let xy = |i: f64| {
            let left = signals - i;
            if left == 0.0 {
                return (silent_changes, signal_rate * age);
            }
            (silent_changes + left * weight, signal_rate * age + left * spacing)
        };
        // All in units of 1/(α + γ). Term 0 as a sum of two positive ones, by the series of
        // `refresh`: (1 − e^−(x+y)) − e^−x(1 − e^−y)(x + y)/y.
        let (x, y) = xy(0.0);
        let x = x.min(CERTAIN);
        let mut gain = refresh::freshness(1.0, x) + x * exp(-x) * refresh::harmonic(y, 1.0);
        let share = signal_rate / (silent + signal_rate);
        let (mut i, mut fresh, mut shares) = (1.0, 1.0 - precision, share);
        while fresh > 0.0 {
            let (x, y) = xy(i);
            if x <= 0.0 {
                break;
            }
            let y = y.max(0.0);
            gain += fresh * (shares * beyond(i, x + y) - exp(-x) * beyond(i, y) / share);
            (i, fresh, shares) = (i + 1.0, fresh * (1.0 - precision), shares * share);
        }
        let gain = gain / (silent + signal_rate);
        if gain > 0.0 { gain } else { 0.0 }
    }

    /// V for ι of many β, by renewal theory. By Dynkin's formula w = (1 − E e^(−α(ι + o)))/Δ, and
    /// by Wald's identity ψ = (ι + E o)/(1 + γβ), where o is how far the last signal takes τ beyond
    /// ι. For large ι, o is 0 with probability 1/(1 + γβ), and otherwise uniform up to β. Both
    /// errors are multiplied by e^(−αι), which is at most (1 − p)^[`MAX_TERMS`] here.
    fn limit(self) -> f64 {
        let (weight, silent) = (self.weight(), self.silent_rate());
        let signalled = self.recall * self.rate / self.precision * weight;
        let x = silent * self.age + self.signals * weight;
        let beyond = signalled / (silent + signalled) * weight / 2.0;
        // The product of e^−x and a finite x of any size is a number.
        1.0 / self.rate - exp(-x) * (1.0 + x + beyond) / (silent + signalled)
    }
}

/// Rᵢ(x): the probability that a Poisson number with mean x is above i. The relative error is some
/// units in the last place on both sides of the mean.
fn beyond(i: f64, x: f64) -> f64 {
    let x = x.min(CERTAIN);
    let (mut term, mut j) = (exp(-x), 0.0);
    let mut sum = term;
    while j < i {
        j += 1.0;
        term *= x / j;
        sum += term;
    }
    if x > i + 1.0 {
        return 1.0 - sum;
    }
    // Terms fall from here on, since x / j < 1.
    let mut sum = 0.0;
    loop {
        j += 1.0;
        term *= x / j;
        let before = sum;
        sum += term;
        if sum == before {
            return sum;
        }
    }
}

#[cfg(test)]
mod tests;
