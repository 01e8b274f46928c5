use super::*;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// α, γ, ν and β of a page, by their definitions.
fn constants(page: Signalled) -> (f64, f64, f64, f64) {
    let silent = (1.0 - page.recall) * page.rate;
    let signals = page.recall * page.rate / page.precision;
    (silent, signals, signals - page.recall * page.rate, -(1.0 - page.precision).ln() / silent)
}

fn page(rate: f64, precision: f64, recall: f64) -> Signalled {
    Signalled { rate, precision, recall, age: 0.0, signals: 0.0 }
}

/// ψ(ι) and w(ι) as integrals over the time since the visit, by Simpson's rule between the times at
/// which one signal less suffices. Before ι − iβ the page waits with up to i signals.
fn literal(page: Signalled, threshold: f64) -> (f64, f64) {
    let (silent, signals, _, jump) = constants(page);
    let fresh_after = 1.0 - page.precision;
    let at = |t: f64, most: i32| {
        let (mut chance, mut fresh, mut waits, mut weight) = ((-signals * t).exp(), 0.0, 0.0, 1.0);
        for i in 0..=most {
            waits += chance;
            fresh += chance * weight * (-silent * t).exp();
            (chance, weight) = (chance * signals * t / f64::from(i + 1), weight * fresh_after);
        }
        (waits, fresh)
    };
    let (mut interval, mut fresh_time) = (0.0, 0.0);
    let most = (threshold / jump).floor() as i32;
    for i in 0..=most {
        // Here at most i signals have come, or the page would have been visited.
        let from = (threshold - f64::from(i + 1) * jump).max(0.0);
        let to = threshold - f64::from(i) * jump;
        let steps = 2 * (30.0 * (signals + silent) * (to - from)).max(100.0) as i32;
        let width = (to - from) / f64::from(steps);
        for step in 0..=steps {
            let weight = if step == 0 || step == steps { 1.0 } else { f64::from(2 + 2 * (step % 2)) };
            let (waits, fresh) = at(from + f64::from(step) * width, i);
            interval += weight * waits * width / 3.0;
            fresh_time += weight * fresh * width / 3.0;
        }
    }
    (interval, fresh_time)
}

/// The literal value and the index at an effective age, reached without a signal.
fn values(page: Signalled, threshold: f64) -> (f64, f64) {
    let (interval, fresh) = literal(page, threshold);
    let (silent, ..) = constants(page);
    (fresh - (-silent * threshold).exp() * interval, Signalled { age: threshold, ..page }.gain())
}

#[test]
fn the_gain_is_its_definition() {
    for rate in [0.02, 0.4, 3.0] {
        for precision in [0.001, 0.1, 0.3, 0.6, 0.9, 0.999] {
            for recall in [0.001, 0.1, 0.3, 0.6, 0.9, 0.999] {
                let page = page(rate, precision, recall);
                let (.., jump) = constants(page);
                for threshold in [0.3, 0.99, 1.0, 1.7, 3.2, 12.5].map(|jumps| jumps * jump) {
                    let (literal, gain) = values(page, threshold);
                    // Simpson's sums differ by 1e-13 of the time, of which the gain is a small part.
                    let error = (gain - literal).abs();
                    assert!(
                        error <= 1e-8 * literal + 1e-11 / rate,
                        "{page:?} {threshold}: {gain} for {literal}"
                    );
                }
            }
        }
    }
}

/// A signal is worth exactly the age that it adds.
#[test]
fn signals_are_age() {
    for (precision, recall) in [(0.3, 0.9), (0.6, 0.3), (0.9, 0.6)] {
        let page = page(0.2, precision, recall);
        let (.., jump) = constants(page);
        for signals in [1.0, 2.0, 7.0] {
            let told = Signalled { signals, age: 2.0, ..page };
            let aged = Signalled { age: 2.0 + signals * jump, ..page };
            assert!((told.gain() / aged.gain() - 1.0).abs() < 1e-12, "{told:?}");
            assert!((told.stale() - aged.stale()).abs() < 1e-12, "{told:?}");
        }
    }
}

/// Visits of a page under the threshold policy: mean interval, mean fresh time, and their standard
/// errors.
fn simulated(page: Signalled, threshold: f64, visits: u32) -> [(f64, f64); 2] {
    let (silent, signals, _, jump) = constants(page);
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mut wait = |rate: f64| -(1.0 - random.random::<f64>()).ln() / rate;
    let mut tell = ChaCha8Rng::seed_from_u64(8);
    let mut sums = [(0.0, 0.0); 2];
    for _ in 0..visits {
        let mut first_change = wait(silent);
        let (mut now, mut left) = (0.0, threshold);
        let interval = loop {
            let next = wait(signals);
            if next >= left {
                break now + left;
            }
            (now, left) = (now + next, left - next - jump);
            if tell.random::<f64>() < page.precision {
                first_change = f64::min(first_change, now);
            }
            if left <= 0.0 {
                break now;
            }
        };
        for (sum, value) in sums.iter_mut().zip([interval, f64::min(interval, first_change)]) {
            *sum = (sum.0 + value, sum.1 + value * value);
        }
    }
    let n = f64::from(visits);
    sums.map(|(sum, squares)| (sum / n, ((squares / n - (sum / n) * (sum / n)) / n).sqrt()))
}

#[test]
fn the_definitions_are_those_of_the_process() {
    for (precision, recall) in [(0.3, 0.3), (0.3, 0.9), (0.6, 0.6), (0.9, 0.3), (0.9, 0.9)] {
        let page = page(0.25, precision, recall);
        let (.., jump) = constants(page);
        for threshold in [0.5, 1.5, 4.2].map(|jumps| jumps * jump) {
            let (interval, fresh) = literal(page, threshold);
            let simulated = simulated(page, threshold, 100_000);
            for ((mean, error), literal) in simulated.into_iter().zip([interval, fresh]) {
                assert!(
                    (mean - literal).abs() < 4.0 * error,
                    "{page:?} {threshold}: {mean} ± {error} for {literal}"
                );
            }
        }
    }
}

/// A page with threshold ι is fresh for w/ψ of the time and costs 1/ψ visits a cycle. The gain is
/// what one more visit a cycle adds.
#[test]
fn the_gain_is_the_slope_of_freshness_against_visits() {
    for (precision, recall) in [(0.3, 0.9), (0.6, 0.6), (0.9, 0.3)] {
        let page = page(0.25, precision, recall);
        let (.., jump) = constants(page);
        for threshold in [0.5, 1.5, 2.2].map(|jumps| jumps * jump) {
            let step = 1e-3 * threshold;
            let [(less, fresh), (more, fresher)] = [threshold + step, threshold - step].map(|at| {
                let (interval, fresh) = literal(page, at);
                (1.0 / interval, fresh / interval)
            });
            let slope = (fresher - fresh) / (more - less);
            let gain = Signalled { age: threshold, ..page }.gain();
            assert!((slope / gain - 1.0).abs() < 1e-4, "{page:?} {threshold}: {gain} for {slope}");
        }
    }
}

#[test]
fn signals_that_say_nothing_leave_the_gain_of_visits() {
    for (precision, recall) in [(0.0, 0.0), (0.0, 0.7), (0.7, 0.0), (1e-7, 1e-7)] {
        for age in [0.0, 1.0, 30.0, 2e9] {
            let page = Signalled { age, signals: 9.0, ..page(0.3, precision, recall) };
            assert_eq!(page.gain().to_bits(), refresh::freshness(0.3, age).to_bits());
            assert_eq!(page.stale(), 1.0 - exp(-0.3 * age));
        }
    }
    // And it is the limit: of a recall of 0 without signals, and of a precision of 0, where signals
    // come all the time.
    for age in [0.5, 4.0, 40.0] {
        let none = refresh::freshness(0.3, age);
        let rare = Signalled { age, ..page(0.3, 0.8, 1.1e-6) };
        assert!((rare.gain() / none - 1.0).abs() < 1e-5, "{} for {none}", rare.gain());
        let vain = Signalled { age, signals: 3.0, ..page(0.3, 1.1e-6, 1.1e-6) };
        assert!((vain.gain() / none - 1.0).abs() < 1e-4, "{} for {none}", vain.gain());
    }
}

#[test]
fn a_signal_without_noise_is_certain() {
    for recall in [0.001, 0.5, 1.0] {
        for age in [0.0, 1.0, 1e6] {
            let told = Signalled { age, signals: 1.0, ..page(0.3, 1.0, recall) };
            assert!((told.gain() * 0.3 - 1.0).abs() < 1e-12, "{told:?}: {}", told.gain());
            assert_eq!(told.stale(), 1.0);
            let nearly = Signalled { precision: 1.0 - 1e-12, ..told };
            assert!((nearly.gain() * 0.3 - 1.0).abs() < 1e-10, "{nearly:?}");
            // Without a signal: V = w − e^(−αt)·ψ with one term.
            let untold = Signalled { signals: 0.0, ..told };
            let (silent, signals) = ((1.0 - recall) * 0.3, recall * 0.3);
            let one =
                -(-0.3 * age).exp_m1() / 0.3 + (-silent * age).exp() * (-signals * age).exp_m1() / signals;
            assert!((untold.gain() - one).abs() < 1e-12, "{untold:?}: {} for {one}", untold.gain());
        }
    }
}

/// α = 0: only signals age a page. V = Σ ((1 − p)^i − (1 − p)^m)/γ over i < m.
#[test]
fn with_full_recall_only_signals_count() {
    for precision in [0.001f64, 0.3, 0.9, 1.0] {
        let q = 1.0 - precision;
        for signals in [0i32, 1, 2, 7, 60, 255] {
            let literal: f64 = (0..signals).map(|i| (q.powi(i) - q.powi(signals)) * precision / 0.3).sum();
            for age in [0.0, 3.0, 1e9] {
                let all = Signalled { age, signals: f64::from(signals), ..page(0.3, precision, 1.0) };
                let near = (all.gain() - literal).abs() <= 2e-3 * literal;
                assert!(near, "{all:?}: {} for {literal}", all.gain());
                let most = Signalled { recall: 1.0 - 1e-13, age: age.min(3.0), ..all };
                assert!((most.gain() - all.gain()).abs() <= 1e-9 * (1.0 + literal), "{most:?}");
            }
        }
    }
}

/// Where a sum would have too many terms, the limit takes its place without a jump.
#[test]
fn the_limit_meets_the_sum() {
    for precision in [0.01, 0.03, 0.1, 0.3] {
        for recall in [0.1, 0.5, 0.9, 0.99] {
            let page = page(0.3, precision, recall);
            let (.., jump) = constants(page);
            let [below, above] =
                [1.0 - 1e-9, 1.0].map(|part| Signalled { age: part * MAX_TERMS * jump, ..page });
            let error = above.gain() / below.gain() - 1.0;
            assert!(error.abs() < 1e-3, "{page:?}: {error}");
        }
    }
}

#[test]
fn poisson_tails() {
    for x in [1e-9, 0.3, 5.0, 80.0] {
        for i in [0, 1, 6, 63] {
            let terms = (i + 1..400).map(|j| (1..=j).fold(f64::exp(-x), |term, k| term * x / f64::from(k)));
            let literal: f64 = terms.sum();
            let value = beyond(f64::from(i), x);
            assert!((value - literal).abs() <= 1e-12 * literal, "R_{i}({x}) = {value} for {literal}");
        }
    }
    assert_eq!((beyond(3.0, 0.0), beyond(63.0, f64::INFINITY)), (0.0, 1.0));
}

proptest! {
    /// More age and more signals never lower the gain, and it stays within 0 and 1/Δ.
    #[test]
    fn the_gain_rises_up_to_a_certain_change(
        rate in 1e-9..50.0f64, precision in 0.0..=1.0f64, recall in 0.0..=1.0f64,
        age in 0u32..3000, more in 0u32..3000, signals in 0u8..=255, further in 0u8..=255,
    ) {
        let older = f64::from(age) + f64::from(more);
        let now = Signalled { rate, precision, recall, age: age.into(), signals: signals.into() };
        let later = Signalled { age: older, signals: signals.saturating_add(further).into(), ..now };
        let slack = 2e-3 * now.gain() + 1e-15 / rate;
        prop_assert!(later.gain() >= now.gain() - slack, "{:?} {} {:?} {}", now, now.gain(), later, later.gain());
        prop_assert!(later.stale() >= now.stale() - 1e-15);
        for page in [now, later] {
            prop_assert!((0.0..=1.0 + 1e-9).contains(&(page.gain() * rate)), "{:?} {}", page, page.gain());
            prop_assert!((0.0..=1.0).contains(&page.stale()));
        }
    }
}
