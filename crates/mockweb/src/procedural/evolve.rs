//! Change laws of pages: four pure functions of (seed, page, cycle).
//!
//! Time is divided into blocks, and each block draws its events from its own random stream. This is
//! exact for a memoryless law: a Bernoulli process that restarts at every block boundary is the
//! same process. A block has about four events, so the last change before any cycle is found in one
//! or two blocks.
//!
//! A page's version is the cycle of its last change, 0 before the first.

use crate::seed::{Stream, mix, unit};

/// Separates the random stream of events from other uses of the seed.
pub(super) const EVENTS: u64 = 0x6576_656e;
const LAW: u64 = 0x6c61_7773;
/// Maximum block of a rare Poisson process, in cycles.
const MAX_BLOCK: u32 = 1 << 16;
/// Share of a burst's cycles in which the page changes.
const BURST_INTENSITY: f64 = 0.7;

/// How a page changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Process {
    /// Never.
    Static,
    /// A Poisson process observed once per cycle: an independent change with this probability in
    /// each cycle.
    Poisson {
        /// Probability of a change per cycle, above 0, at most 1.
        probability: f64,
    },
    /// Every `period` cycles.
    Periodic {
        /// Cycles between changes.
        period: u32,
        /// Number of cycles by which the first change is early.
        phase: u32,
    },
    /// Long silence and short bursts: each window has at most one burst.
    Bursty {
        /// Length of a window in cycles.
        window: u32,
        /// Length of a burst in cycles.
        length: u32,
        /// Probability of a burst in a window.
        probability: f64,
    },
}

impl Process {
    /// The long-run mean number of changes per cycle.
    pub fn rate(&self) -> f64 {
        match *self {
            Process::Static => 0.0,
            Process::Poisson { probability } => probability,
            Process::Periodic { period, .. } => 1.0 / f64::from(period),
            Process::Bursty { window, length, probability } => {
                probability * f64::from(length) * BURST_INTENSITY / f64::from(window)
            }
        }
    }

    fn block(&self) -> u32 {
        match *self {
            Process::Static | Process::Periodic { .. } => MAX_BLOCK,
            Process::Poisson { probability } => ((4.0 / probability).ceil() as u32).clamp(1, MAX_BLOCK),
            Process::Bursty { window, .. } => window,
        }
    }

    /// Calls `event` for each change in the cycles `block·b + 1 ..= block·(b + 1)`, in order.
    fn events(&self, key: u64, block: u32, mut event: impl FnMut(u32)) {
        let start = u64::from(block) * u64::from(self.block());
        let end = (start + u64::from(self.block())).min(u64::from(u32::MAX));
        match *self {
            Process::Static => {}
            Process::Periodic { period, phase } => {
                let period = u64::from(period);
                let mut at = (start + u64::from(phase)) / period * period + period - u64::from(phase);
                while at <= end {
                    event(at as u32);
                    at += period;
                }
            }
            Process::Poisson { probability } => {
                let mut stream = Stream::new(&[key, u64::from(block)]);
                let mut at = start;
                loop {
                    // Geometric gaps; 1 - unit() is never 0.
                    let gap = if probability >= 1.0 {
                        1.0
                    } else {
                        ((1.0 - stream.unit()).ln() / (1.0 - probability).ln()).floor() + 1.0
                    };
                    at = at.saturating_add(gap as u64);
                    if at > end {
                        break;
                    }
                    event(at as u32);
                }
            }
            Process::Bursty { window, length, probability } => {
                let mut stream = Stream::new(&[key, u64::from(block)]);
                if stream.unit() < probability {
                    let first = start + 1 + u64::from(stream.below(window - length + 1));
                    for at in first..first + u64::from(length) {
                        if stream.unit() < BURST_INTENSITY && at <= end {
                            event(at as u32);
                        }
                    }
                }
            }
        }
    }

    /// The last cycle up to `cycle` at which the page changed; 0 if it has not changed.
    pub fn last_change(&self, key: u64, cycle: u32) -> u32 {
        if let Process::Periodic { period, phase } = *self {
            let last = (u64::from(cycle) + u64::from(phase)) / u64::from(period) * u64::from(period);
            return last.saturating_sub(u64::from(phase)) as u32;
        }
        if *self == Process::Static || cycle == 0 {
            return 0;
        }
        for block in (0..=(cycle - 1) / self.block()).rev() {
            let mut last = 0;
            self.events(key, block, |at| {
                if at <= cycle {
                    last = at;
                }
            });
            if last > 0 {
                return last;
            }
        }
        0
    }

    /// The cycles after `from` and up to `to` at which the page changed, in order.
    pub fn changes(&self, key: u64, from: u32, to: u32) -> Vec<u32> {
        let mut changes = Vec::new();
        if *self == Process::Static || from >= to {
            return changes;
        }
        for block in from / self.block()..=(to - 1) / self.block() {
            self.events(key, block, |at| {
                if at > from && at <= to {
                    changes.push(at);
                }
            });
        }
        changes
    }
}

/// Relative weights of the laws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mix {
    /// Pages that never change.
    pub fixed: f64,
    /// Pages with a Poisson process.
    pub poisson: f64,
    /// Pages that change at fixed intervals.
    pub periodic: f64,
    /// Pages that change in bursts.
    pub bursty: f64,
}

impl Default for Mix {
    /// In most data sets, more than half of the recorded pages hardly ever change.
    fn default() -> Self {
        Mix { fixed: 45.0, poisson: 35.0, periodic: 8.0, bursty: 12.0 }
    }
}

impl std::str::FromStr for Mix {
    type Err = String;

    /// Parses `static=45,poisson=35,periodic=8,bursty=12`; a law that is not named gets no pages.
    fn from_str(text: &str) -> Result<Mix, String> {
        let mut mix = Mix { fixed: 0.0, poisson: 0.0, periodic: 0.0, bursty: 0.0 };
        for part in text.split(',') {
            let (law, weight) =
                part.split_once('=').ok_or_else(|| format!("{part:?} is not of the form law=weight"))?;
            let weight: f64 = weight.parse().map_err(|_| format!("{weight:?} is not a number"))?;
            if !weight.is_finite() || weight < 0.0 {
                return Err(format!("weight {weight}: use a finite number from 0 on"));
            }
            match law {
                "static" => mix.fixed = weight,
                "poisson" => mix.poisson = weight,
                "periodic" => mix.periodic = weight,
                "bursty" => mix.bursty = weight,
                _ => return Err(format!("unknown law {law:?}; use static, poisson, periodic, bursty")),
            }
        }
        if mix.fixed + mix.poisson + mix.periodic + mix.bursty <= 0.0 {
            return Err("all weights are 0".into());
        }
        Ok(mix)
    }
}

impl Mix {
    /// Chooses the law of a page by the weights.
    pub fn process(&self, seed: u64, page: u32) -> Process {
        let mut stream = Stream::new(&[seed, LAW, u64::from(page)]);
        let mut at = stream.unit() * (self.fixed + self.poisson + self.periodic + self.bursty);
        at -= self.fixed;
        if at < 0.0 {
            return Process::Static;
        }
        at -= self.poisson;
        if at < 0.0 {
            // Log-uniform rates, from one change in 200 cycles to one per cycle.
            let rate = (unit(mix(&[seed, LAW, u64::from(page), 1])) * 200_f64.ln() - 200_f64.ln()).exp();
            return Process::Poisson { probability: 1.0 - (-rate).exp() };
        }
        at -= self.periodic;
        if at < 0.0 {
            let period = [1, 2, 7, 7, 14, 30][stream.below(6) as usize];
            return Process::Periodic { period, phase: stream.below(period) };
        }
        let window = 20 + stream.below(61);
        let length = 3 + stream.below(8);
        Process::Bursty { window, length, probability: 0.2 + 0.6 * stream.unit() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_process() -> impl Strategy<Value = Process> {
        prop_oneof![
            Just(Process::Static),
            (0.001..=1.0_f64).prop_map(|probability| Process::Poisson { probability }),
            (1..40_u32, 0..40_u32)
                .prop_map(|(period, phase)| Process::Periodic { period, phase: phase % period }),
            (10..80_u32, 1..10_u32, 0.0..=1.0_f64).prop_map(|(window, length, probability)| {
                Process::Bursty { window, length, probability }
            }),
        ]
    }

    proptest! {
        #[test]
        fn the_last_change_is_the_last_of_the_changes(
            process in any_process(), key: u64, from in 0..500_u32, more in 0..500_u32,
        ) {
            let to = from + more;
            let all = process.changes(key, 0, to);
            prop_assert!(all.windows(2).all(|w| w[0] < w[1]));
            prop_assert_eq!(all.last().copied().unwrap_or(0), process.last_change(key, to));
            let part: Vec<u32> = all.iter().copied().filter(|&c| c > from).collect();
            prop_assert_eq!(part, process.changes(key, from, to));
        }
    }

    /// Mean number of changes per cycle over 1,000 pages of one law.
    fn observed_rate(process: Process, cycles: u32) -> f64 {
        let changes: usize = (0..1_000).map(|key| process.changes(mix(&[key]), 0, cycles).len()).sum();
        changes as f64 / 1_000.0 / f64::from(cycles)
    }

    #[test]
    fn each_law_keeps_its_rate() {
        for process in [
            Process::Static,
            Process::Poisson { probability: 0.004 },
            Process::Poisson { probability: 0.3 },
            Process::Poisson { probability: 1.0 },
            Process::Periodic { period: 7, phase: 3 },
            Process::Bursty { window: 40, length: 5, probability: 0.4 },
        ] {
            let (seen, law) = (observed_rate(process, 2_000), process.rate());
            assert!((seen - law).abs() <= 0.02 * law + 1e-3, "{process:?}: {seen} instead of {law}");
        }
    }

    #[test]
    fn gaps_of_a_poisson_process_are_geometric_across_block_boundaries() {
        let process = Process::Poisson { probability: 0.25 };
        let (mut gaps, mut long) = (0_u32, 0_u32);
        for key in 0..500 {
            for pair in process.changes(mix(&[key]), 0, 1_000).windows(2) {
                gaps += 1;
                long += u32::from(pair[1] - pair[0] > 4);
            }
        }
        let share = f64::from(long) / f64::from(gaps);
        assert!((share - 0.75_f64.powi(4)).abs() < 0.01, "{share}");
    }

    #[test]
    fn bursts_are_bursts() {
        let process = Process::Bursty { window: 50, length: 5, probability: 0.5 };
        let mut clustered = 0;
        let mut all = 0;
        for key in 0..200 {
            for pair in process.changes(mix(&[key]), 0, 2_000).windows(2) {
                all += 1;
                clustered += u32::from(pair[1] - pair[0] <= 3);
            }
        }
        // A Poisson process of the same rate would have about a tenth of its gaps here.
        assert!(f64::from(clustered) / f64::from(all) > 0.6, "{clustered} of {all}");
    }

    #[test]
    fn a_late_cycle_is_answered_as_fast_as_an_early_one() {
        // A walk over all earlier cycles would hang this test.
        let mix = Mix::default();
        let total: u64 =
            (0..2_000).map(|page| u64::from(mix.process(1, page).last_change(1, u32::MAX))).sum();
        assert!(total > 0);
    }

    #[test]
    fn a_mix_is_read_and_dealt() {
        let mix: Mix = "static=1,poisson=3".parse().unwrap();
        let fixed = (0..10_000).filter(|&page| mix.process(9, page) == Process::Static).count();
        assert!((2_300..2_700).contains(&fixed), "{fixed}");
        for wrong in ["", "static", "static=x", "weekly=1", "static=0", "static=-1"] {
            assert!(wrong.parse::<Mix>().is_err(), "{wrong:?}");
        }
    }
}
