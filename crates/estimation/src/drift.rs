//! Has the Web changed its habits? More, or fewer, changes than expected, cycle after cycle.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// What one cycle found beside what was expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CycleFound {
    /// Number of the cycle.
    pub cycle: u32,
    /// Changed visits.
    pub changed: f64,
    /// ΣP.
    pub expected: f64,
    /// ΣP(1 − P).
    pub variance: f64,
}

/// The rules of the alarm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DriftRules {
    /// The first cycles, which are left out: a young crawl still learns how often its pages change.
    #[serde(default)]
    pub settling: usize,
    /// Cycles whose mean and deviation are the norm.
    pub window: usize,
    /// Cycles after which cycles are alike: a week.
    pub period: u32,
    /// k of the CUSUM, in deviations.
    pub slack: f64,
    /// h of the CUSUM, in deviations.
    pub limit: f64,
}

impl Default for DriftRules {
    fn default() -> DriftRules {
        DriftRules { settling: 28, window: 28, period: 7, slack: 0.5, limit: 5.0 }
    }
}

/// Which way the alarm points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Alarm {
    /// Visits find more changes than the pages' histories let expect.
    More,
    /// They find fewer.
    Fewer,
}

/// A two-sided CUSUM (Page 1954) of z = (changes − ΣP)/√ΣP(1 − P).
///
/// The best pages of a ranking are always expected too much of, and the days of a week differ. So each z is compared
/// with those of the same day among the last [`DriftRules::window`] cycles, in units of their deviation. Until there
/// are as many, nothing is said. With k = ½ and h = 5, noise raises an alarm once in 465 cycles, and a shift by one
/// deviation is found in ten (Montgomery 2013, table 9.3; sampling error of the norm makes both worse).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    rules: DriftRules,
    /// Cycles that were left out.
    #[serde(default)]
    left_out: usize,
    norm: VecDeque<(u32, f64)>,
    above: f64,
    below: f64,
}

impl Drift {
    /// With these rules.
    pub fn new(rules: DriftRules) -> Drift {
        Drift { rules, ..Drift::default() }
    }

    /// Adds a cycle, in which something was expected. An alarm begins a new norm.
    pub fn add(&mut self, found: CycleFound) -> Option<Alarm> {
        if found.variance <= 0.0 {
            return None;
        }
        if self.left_out < self.rules.settling {
            self.left_out += 1;
            return None;
        }
        let z = (found.changed - found.expected) / found.variance.sqrt();
        let step = self.standardised(found.cycle, z);
        self.norm.push_back((found.cycle, z));
        if self.norm.len() > self.rules.window {
            self.norm.pop_front();
        }
        let step = step?;
        self.above = (self.above + step - self.rules.slack).max(0.0);
        self.below = (self.below - step - self.rules.slack).max(0.0);
        let alarm = match self.rules.limit {
            limit if self.above > limit => Alarm::More,
            limit if self.below > limit => Alarm::Fewer,
            _ => return None,
        };
        *self = Drift { left_out: self.left_out, ..Drift::new(self.rules) };
        Some(alarm)
    }

    /// Cycles until there is a norm.
    pub fn cycles_wanted(&self) -> usize {
        self.rules.settling.saturating_sub(self.left_out) + self.rules.window - self.norm.len()
    }

    /// The sums of the CUSUM above and below the norm, in deviations; an alarm is raised beyond the limit.
    pub fn sums(&self) -> [f64; 2] {
        [self.above, self.below]
    }

    /// z less the mean of its day, in deviations from these means.
    fn standardised(&self, cycle: u32, z: f64) -> Option<f64> {
        if self.norm.len() < self.rules.window {
            return None;
        }
        let mean_of = |day: u32| {
            let of_day = self.norm.iter().filter(|(cycle, _)| cycle % self.rules.period == day);
            let (count, sum) = of_day.fold((0.0, 0.0), |(count, sum), (_, z)| (count + 1.0, sum + z));
            (count > 0.0).then(|| sum / count)
        };
        let overall = self.norm.iter().map(|(_, z)| z).sum::<f64>() / self.norm.len() as f64;
        let norm = |cycle: u32| mean_of(cycle % self.rules.period).unwrap_or(overall);
        let squares: f64 = self.norm.iter().map(|(cycle, z)| (z - norm(*cycle)).powi(2)).sum();
        let days = (0..self.rules.period).filter(|day| mean_of(*day).is_some()).count();
        let freedom = self.norm.len().saturating_sub(days).max(1) as f64;
        // A mean of few cycles errs too.
        let of_day =
            self.norm.iter().filter(|(other, _)| other % self.rules.period == cycle % self.rules.period);
        let error = 1.0 + 1.0 / of_day.count().max(1) as f64;
        let deviation = (squares / freedom * error).sqrt();
        (deviation > 0.0).then(|| (z - norm(cycle)) / deviation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// Nearly normal: the sum of twelve uniform numbers.
    fn noise(rng: &mut ChaCha8Rng) -> f64 {
        (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0
    }

    fn found(cycle: u32, z: f64) -> CycleFound {
        CycleFound { cycle, changed: 400.0 + 16.0 * z, expected: 400.0, variance: 256.0 }
    }

    const SETTLED: DriftRules = DriftRules { settling: 0, window: 28, period: 7, slack: 0.5, limit: 5.0 };

    #[test]
    fn a_young_crawl_is_no_norm() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let mut drift = Drift::new(DriftRules::default());
        for cycle in 0..56 {
            assert_eq!(drift.cycles_wanted(), 56 - cycle as usize);
            let young = if cycle < 28 { -9.0 } else { 0.0 };
            assert_eq!(drift.add(found(cycle, young + noise(&mut rng))), None);
        }
        assert_eq!(drift.cycles_wanted(), 0);
        let first = (56..70).find_map(|cycle| drift.add(found(cycle, 3.0 + noise(&mut rng))));
        assert_eq!((first, drift.cycles_wanted()), (Some(Alarm::More), 28));
    }

    #[test]
    fn noise_rarely_raises_an_alarm_and_weekdays_do_not() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let (mut alarms, mut drift) = (0, Drift::new(SETTLED));
        let cycles = 40_000;
        for cycle in 0..cycles {
            // The best of a ranking are over-promised, and Sundays are quiet.
            let habit = -2.0 - if cycle % 7 == 6 { 3.0 } else { 0.0 };
            alarms += u32::from(drift.add(found(cycle, habit + noise(&mut rng))).is_some());
        }
        let between = f64::from(cycles) / f64::from(alarms.max(1));
        assert!((120.0..1_000.0).contains(&between), "an alarm in {between} cycles");
    }

    #[test]
    fn a_shift_is_found_soon_and_told_apart() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        for (shift, alarm) in [(2.0, Alarm::More), (-2.0, Alarm::Fewer)] {
            let mut waited = 0;
            for _ in 0..100 {
                let mut drift = Drift::new(SETTLED);
                for cycle in 0..28 {
                    assert_eq!(drift.add(found(cycle, noise(&mut rng))), None, "no norm yet");
                }
                assert_eq!(drift.cycles_wanted(), 0);
                let first = (28..).find_map(|cycle| {
                    drift.add(found(cycle, shift + noise(&mut rng))).map(|alarm| (cycle, alarm))
                });
                let (cycle, first) = first.unwrap();
                waited += cycle - 27;
                assert_eq!(first, alarm);
                assert_eq!((drift.sums(), drift.cycles_wanted()), ([0.0, 0.0], 28), "a new norm begins");
            }
            assert!(waited < 800, "{waited} cycles for 100 shifts");
        }
    }

    #[test]
    fn cycles_without_visits_or_variance_say_nothing() {
        let mut drift = Drift::new(SETTLED);
        for cycle in 0..100 {
            assert_eq!(drift.add(CycleFound { cycle, ..CycleFound::default() }), None);
        }
        assert_eq!(drift.cycles_wanted(), 28);
        for cycle in 0..100 {
            assert_eq!(drift.add(found(cycle, 1.0)), None, "without spread there is no unit");
        }
    }
}
