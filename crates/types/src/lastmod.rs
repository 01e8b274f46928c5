//! How far the dates of modification in a host's sitemaps and feeds can be trusted: measured, not believed.

/// Counts of an origin, over the comparisons of pages to which a sitemap or feed gave a date (lastmod). A
/// date is *newer* when it moved forward since the page's last visit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LastmodCounts {
    /// The date was newer, and the visit met a change.
    pub newer_changed: u32,
    /// The date was newer, and nothing had changed.
    pub newer_unchanged: u32,
    /// The date was not newer, and hid a change.
    pub same_changed: u32,
    /// The date was not newer, and nothing had changed.
    pub same_unchanged: u32,
}

impl LastmodCounts {
    /// Beyond this number of comparisons all counts are halved: a host that mends its ways is believed again, and
    /// one that begins to lie is found out, within about as many.
    pub const MEMORY: u32 = 1_000;

    /// Counts one comparison.
    pub fn observe(&mut self, newer: bool, changed: bool) {
        let count = match (newer, changed) {
            (true, true) => &mut self.newer_changed,
            (true, false) => &mut self.newer_unchanged,
            (false, true) => &mut self.same_changed,
            (false, false) => &mut self.same_unchanged,
        };
        *count = count.saturating_add(1);
    }

    /// These counts and then those of a cycle.
    pub fn and(self, cycle: LastmodCounts) -> LastmodCounts {
        let mut sum = LastmodCounts {
            newer_changed: self.newer_changed.saturating_add(cycle.newer_changed),
            newer_unchanged: self.newer_unchanged.saturating_add(cycle.newer_unchanged),
            same_changed: self.same_changed.saturating_add(cycle.same_changed),
            same_unchanged: self.same_unchanged.saturating_add(cycle.same_unchanged),
        };
        while sum.total() > u64::from(Self::MEMORY) {
            sum.newer_changed /= 2;
            sum.newer_unchanged /= 2;
            sum.same_changed /= 2;
            sum.same_unchanged /= 2;
        }
        sum
    }

    /// Comparisons in all.
    pub fn total(&self) -> u64 {
        [self.newer_changed, self.newer_unchanged, self.same_changed, self.same_unchanged]
            .map(u64::from)
            .iter()
            .sum()
    }

    /// Are signals with these counts used? Never before anything was counted.
    pub fn is_trusted(&self, min_trust: f64) -> bool {
        self.total() > 0 && self.trust() >= min_trust
    }

    /// What a newer date adds to the chance of a change, 0 to 1: P(changed | newer) − P(changed | not newer),
    /// the contingency ΔP (Jenkins & Ward 1965), each by Laplace's rule of succession. 0 where nothing was
    /// compared, where all dates move whatever happens, and where pages change whatever the dates say; 1 is
    /// approached when dates move with every change and with nothing else.
    pub fn trust(&self) -> f64 {
        let succession = |changed: u32, unchanged: u32| {
            (f64::from(changed) + 1.0) / (f64::from(changed) + f64::from(unchanged) + 2.0)
        };
        let newer = succession(self.newer_changed, self.newer_unchanged);
        (newer - succession(self.same_changed, self.same_unchanged)).max(0.0)
    }
}

/// How far the signals of a host can be believed: what scoring by signals needs
/// ([`StateColumns`](crate::StateColumns)).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SignalQuality {
    /// p: the share of the signals that tell of a change, 0 to below 1.
    pub precision: f64,
    /// λ: the share of the changes that are signalled, 0 to below 1.
    pub recall: f64,
}

impl SignalQuality {
    /// How many comparisons, as `of` counts them, halve the precision.
    const PRIOR: f64 = 5.0;

    /// From comparisons of pages; *newer* is one signal since the last visit, and *not newer* none. Leave
    /// out comparisons with several signals.
    ///
    /// If changes are Poisson, a copy is fresh t cycles and m signals after its visit with probability
    /// e^(−αt)·(1 − p)^m; α is the rate of changes without a signal. So for equal t, the unchanged share
    /// with one signal is 1 − p times that without, u₀, whatever no signal told. Signals come at rate γ, so
    /// the comparisons with one are γt times those without. u₀ gives αt, and λ = pγ/(pγ + α). Shares are by
    /// Laplace's rule with a half. p is then multiplied by h/(h + 5), where 1/h is the
    /// sum of the reciprocals of both numbers of comparisons. So an unknown host has p = λ = 0.
    ///
    /// Other than equal intervals and rates give a bias, which the tests measure. Where visits follow signals
    /// at once, p is too low.
    pub fn from_counts(counts: &LastmodCounts) -> SignalQuality {
        let LastmodCounts { newer_changed, newer_unchanged, same_changed, same_unchanged } = *counts;
        let [newer, same] = [newer_changed, same_changed].map(f64::from);
        let [newer_unchanged, same_unchanged] = [newer_unchanged, same_unchanged].map(f64::from);
        let (newer, same) = (newer + newer_unchanged, same + same_unchanged);
        let share = |unchanged: f64, all: f64| (unchanged + 0.5) / (all + 1.0);
        let (told, untold) = (share(newer_unchanged, newer), share(same_unchanged, same));
        let compared = newer * same / (newer + same).max(1.0);
        let precision = (1.0 - told / untold) * compared / (compared + Self::PRIOR);
        let told_changes = precision * newer / (same + 0.5);
        let quality = SignalQuality { precision, recall: told_changes / (told_changes - untold.ln()) };
        if told_changes > 0.0 { quality } else { SignalQuality::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn counts(
        newer_changed: u32,
        newer_unchanged: u32,
        same_changed: u32,
        same_unchanged: u32,
    ) -> LastmodCounts {
        LastmodCounts { newer_changed, newer_unchanged, same_changed, same_unchanged }
    }

    #[test]
    fn trust_is_what_the_date_adds() {
        assert_eq!(LastmodCounts::default().trust(), 0.0, "nothing is known");
        assert!(counts(30, 0, 0, 60).trust() > 0.9, "honest");
        assert!(counts(3, 0, 0, 3).trust() > 0.5, "a few comparisons are enough");
        assert!(counts(5, 95, 0, 0).trust() == 0.0, "a date that moves at every look");
        assert!(counts(0, 0, 20, 80).trust() <= 0.5, "a date that never moves says nothing");
        assert!(counts(90, 10, 90, 10).trust() < 0.05, "pages that change whatever the date says");
        assert_eq!(counts(0, 50, 50, 0).trust(), 0.0, "worse than nothing");
    }

    #[test]
    fn a_host_that_begins_to_lie_is_found_out_within_the_memory() {
        let mut kept = counts(300, 0, 0, 600);
        for _ in 0..5 {
            kept = kept.and(counts(0, 100, 100, 0));
        }
        assert!(kept.trust() < 0.2, "{kept:?}: {}", kept.trust());
    }

    #[test]
    fn an_unknown_host_and_one_whose_signals_say_nothing_have_no_quality() {
        for nothing in [counts(0, 0, 0, 0), counts(9, 0, 0, 0), counts(0, 0, 9, 9), counts(50, 50, 50, 50)] {
            assert_eq!(SignalQuality::from_counts(&nothing), SignalQuality::default(), "{nothing:?}");
        }
        assert_eq!(
            SignalQuality::from_counts(&counts(5, 50, 50, 5)),
            SignalQuality::default(),
            "worse than nothing"
        );
        let noiseless = SignalQuality::from_counts(&counts(500, 0, 0, 500));
        assert!(noiseless.precision > 0.95 && noiseless.recall > 0.95, "{noiseless:?}");
        let one = SignalQuality::from_counts(&counts(1, 0, 0, 1));
        assert!(one.precision < 0.2, "one comparison of each kind shows little: {one:?}");
    }

    /// The pages of a host and their visits.
    #[derive(Clone, Copy, Debug)]
    enum SimulatedHost {
        /// Every page changes every ten cycles and is visited every five.
        Even,
        /// The same, visited every twenty cycles.
        Slow,
        /// The same, and at once after a signal.
        Prompt,
        /// Pages that never change, rarely, and often; each visited every five cycles.
        Mixed,
    }

    /// Mean and standard deviation of precision and recall after `comparisons`, over hosts with
    /// other random numbers.
    fn learned(host: SimulatedHost, precision: f64, recall: f64, comparisons: u64) -> [(f64, f64); 2] {
        let hosts = 100;
        let mut sums = [(0.0, 0.0); 2];
        for seed in 0..hosts {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut counts = LastmodCounts::default();
            while counts.total() < comparisons {
                let rate = match host {
                    SimulatedHost::Mixed => [0.0, 0.0, 0.01, 0.05, 0.5][random.random_range(0..5)],
                    _ => 0.1,
                };
                let cycles =
                    if matches!(host, SimulatedHost::Slow | SimulatedHost::Prompt) { 20.0 } else { 5.0 };
                let mut events = |rate: f64| {
                    let (mut at, mut events) = (0.0, Vec::new());
                    loop {
                        at -= (1.0 - random.random::<f64>()).ln() / rate;
                        if at > cycles {
                            return events;
                        }
                        events.push(at);
                    }
                };
                let told = events(recall * rate);
                let false_signals = events(recall * rate * (1.0 - precision) / precision);
                let untold = events((1.0 - recall) * rate);
                let mut signals = [told.as_slice(), &false_signals].concat();
                signals.sort_by(f64::total_cmp);
                let at_once = signals.first().copied().filter(|_| matches!(host, SimulatedHost::Prompt));
                let visit = at_once.unwrap_or(cycles);
                signals.retain(|&at| at <= visit);
                if signals.len() < 2 {
                    let changed = told.iter().chain(&untold).any(|&at| at <= visit);
                    counts.observe(!signals.is_empty(), changed);
                }
            }
            let SignalQuality { precision, recall } = SignalQuality::from_counts(&counts);
            for (sum, value) in sums.iter_mut().zip([precision, recall]) {
                *sum = (sum.0 + value, sum.1 + value * value);
            }
        }
        let n = hosts as f64;
        sums.map(|(sum, squares)| (sum / n, (squares / n - (sum / n) * (sum / n)).max(0.0).sqrt()))
    }

    /// What is learned of hosts with a known precision and recall. With equal rates and intervals the bias
    /// is towards 0 and vanishes. The other rows show what it is otherwise.
    #[test]
    fn quality_is_learned_with_this_bias_and_spread() {
        // Host, precision, recall, comparisons; mean and spread of precision, of recall.
        let rows = [
            (SimulatedHost::Even, 0.3, 0.9, 30, [0.17, 0.08, 0.73, 0.2]),
            (SimulatedHost::Even, 0.3, 0.9, 100, [0.25, 0.06, 0.85, 0.09]),
            (SimulatedHost::Even, 0.3, 0.9, 1000, [0.29, 0.02, 0.9, 0.02]),
            (SimulatedHost::Even, 0.6, 0.6, 30, [0.32, 0.1, 0.42, 0.18]),
            (SimulatedHost::Even, 0.6, 0.6, 100, [0.48, 0.08, 0.54, 0.11]),
            (SimulatedHost::Even, 0.6, 0.6, 1000, [0.59, 0.04, 0.6, 0.04]),
            (SimulatedHost::Even, 0.9, 0.3, 30, [0.31, 0.09, 0.15, 0.11]),
            (SimulatedHost::Even, 0.9, 0.3, 100, [0.6, 0.07, 0.23, 0.07]),
            (SimulatedHost::Even, 0.9, 0.3, 1000, [0.85, 0.03, 0.29, 0.02]),
            (SimulatedHost::Even, 1.0, 1.0, 30, [0.54, 0.04, 0.91, 0.03]),
            (SimulatedHost::Even, 1.0, 1.0, 1000, [0.98, 0.0, 1.0, 0.0]),
            // Several changes in most intervals.
            (SimulatedHost::Slow, 0.6, 0.6, 100, [0.45, 0.12, 0.52, 0.13]),
            (SimulatedHost::Slow, 0.6, 0.6, 1000, [0.58, 0.04, 0.59, 0.03]),
            // Visits that follow signals.
            (SimulatedHost::Prompt, 0.3, 0.9, 1000, [0.04, 0.04, 0.62, 0.47]),
            (SimulatedHost::Prompt, 0.6, 0.6, 1000, [0.28, 0.07, 0.68, 0.09]),
            (SimulatedHost::Prompt, 0.9, 0.3, 1000, [0.74, 0.04, 0.33, 0.03]),
            // Rates that differ.
            (SimulatedHost::Mixed, 0.3, 0.9, 1000, [0.3, 0.04, 0.89, 0.04]),
            (SimulatedHost::Mixed, 0.6, 0.6, 1000, [0.69, 0.04, 0.67, 0.05]),
            (SimulatedHost::Mixed, 0.9, 0.3, 1000, [0.91, 0.02, 0.42, 0.04]),
        ];
        let mut wrong = String::new();
        for (host, precision, recall, comparisons, expected) in rows {
            let [p, r] = learned(host, precision, recall, comparisons);
            let figures = [p.0, p.1, r.0, r.1].map(|figure| (figure * 100.0).round() / 100.0);
            if figures.iter().zip(expected).any(|(figure, expected)| (figure - expected).abs() > 0.015) {
                wrong += &format!("{host:?} {precision} {recall} {comparisons}: {figures:?}\n");
            }
        }
        assert!(wrong.is_empty(), "{wrong}");
    }

    proptest! {
        #[test]
        fn quality_is_a_share(a in any::<(u32, u32, u32, u32)>()) {
            let SignalQuality { precision, recall } = SignalQuality::from_counts(&counts(a.0, a.1, a.2, a.3));
            prop_assert!((0.0..1.0).contains(&precision) && (0.0..=1.0).contains(&recall));
            prop_assert_eq!(precision > 0.0, recall > 0.0);
        }

        #[test]
        fn trust_is_a_share_and_memory_is_bounded(
            a in any::<(u32, u32, u32, u32)>(), b in any::<(u32, u32, u32, u32)>()
        ) {
            let sum = counts(a.0, a.1, a.2, a.3).and(counts(b.0, b.1, b.2, b.3));
            prop_assert!((0.0..=1.0).contains(&sum.trust()));
            prop_assert!(sum.total() <= u64::from(LastmodCounts::MEMORY));
        }
    }
}
