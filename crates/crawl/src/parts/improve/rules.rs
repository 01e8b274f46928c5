//! How long each step of the loop takes, and what a candidate must show.

use crate::config::Improve;
use crate::parts::improve::attempt::{ArmDifference, Attempt, IDLE_CYCLES, Times};
use recrawl_types::Cycle;

/// The first cycles of a guard without a trial, which count as time before.
const UNTRIED_BEFORE: u32 = 3;

/// The longest guard, in lengths of an ordinary one.
const LONGEST_GUARD: u32 = 4;

/// Cycles whose visits learning and forecasts need.
pub const MIN_KEPT_CYCLES: u32 = 14;

/// Cycles of a back-test that decides where no trial can. Of fewer, histories hardly tell lively pages apart.
pub const DECISIVE_CYCLES: u64 = 28;

/// The error probability of the back-test after this number of tries since the last promotion: 0.05/(j(j + 1)) for the
/// j-th, so that all together stay below 0.05.
pub fn alpha_of(tries: u32) -> f64 {
    let try_number = f64::from(tries) + 1.0;
    0.05 / (try_number * (try_number + 1.0))
}

/// The rules, in cycles unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoopRules {
    /// May candidates come into force by themselves? Otherwise they are proposed.
    pub promotes: bool,
    /// Between two times of learning.
    pub every: u32,
    /// In which both formulas score.
    pub shadow: u32,
    /// Of a trial before the candidate visits its sites.
    pub before: u32,
    /// Of a trial until the candidate's sites count.
    pub settling: u32,
    /// Of a trial that are measured at least.
    pub trial: u32,
    /// Of a trial at most, all parts together.
    pub longest: u32,
    /// In which a promoted formula is guarded.
    pub guard: u32,
    /// In which a failed candidate is not tried again.
    pub quarantine: u32,
    /// In which an operator's choice is left alone.
    pub rest: u32,
    /// Without an alarm before a promotion.
    pub calm: u32,
    /// The gain in the back-test that a candidate must exceed, in its fitness.
    pub min_gain: f64,
    /// The loss of freshness that a trial must exclude.
    pub max_loss: f64,
    /// Sites that a trial takes, or folders of fewer sites.
    pub min_places: u64,
}

impl Default for LoopRules {
    fn default() -> LoopRules {
        LoopRules {
            promotes: false,
            every: 7,
            shadow: 7,
            before: 14,
            settling: 14,
            trial: 28,
            longest: 112,
            guard: 28,
            quarantine: 90,
            rest: 14,
            calm: 7,
            min_gain: 0.002,
            max_loss: 0.02,
            min_places: 60,
        }
    }
}

impl LoopRules {
    /// Whether a crawl is measured, and the rules of its loop, if it has one.
    ///
    /// # Errors
    /// If a value is out of range: what, and what to write.
    pub fn from_config(config: &Improve) -> Result<(bool, Option<LoopRules>), String> {
        let promotes = match config.mode.as_str() {
            "off" => return Ok((false, None)),
            "watch" => return Ok((true, None)),
            "propose" => false,
            "promote" => true,
            other => {
                let modes = "\"off\", \"watch\", \"propose\" or \"promote\"";
                return Err(format!("improve.mode is {other:?}; write {modes}"));
            }
        };
        let cycles = [
            ("every", config.every),
            ("shadow_cycles", config.shadow_cycles),
            ("before_cycles", config.before_cycles),
            ("trial_cycles", config.trial_cycles),
            ("guard_cycles", config.guard_cycles),
        ];
        if let Some((key, _)) = cycles.into_iter().find(|(_, cycles)| !(1..=1000).contains(cycles)) {
            return Err(format!("improve.{key} must be from 1 to 1000 cycles"));
        }
        if config.settling_cycles > 1000 {
            return Err("improve.settling_cycles must be at most 1000".into());
        }
        for (key, value) in [("min_gain", config.min_gain), ("max_loss", config.max_loss)] {
            if !(value > 0.0 && value < 1.0) {
                return Err(format!("improve.{key} is {value}; write a share above 0 and below 1"));
            }
        }
        if config.trial_sites < 2 {
            return Err("improve.trial_sites must be at least 2, one for each arm".into());
        }
        if config.learn_cpu.0.is_zero() {
            return Err("improve.learn_cpu must be above 0".into());
        }
        let measured = config.before_cycles + config.settling_cycles + config.trial_cycles;
        let rules = LoopRules {
            promotes,
            every: config.every,
            shadow: config.shadow_cycles,
            before: config.before_cycles,
            settling: config.settling_cycles,
            trial: config.trial_cycles,
            // An undecided trial goes on, but for two more lengths at most.
            longest: measured + 2 * config.trial_cycles,
            guard: config.guard_cycles,
            min_gain: config.min_gain,
            max_loss: config.max_loss,
            min_places: config.trial_sites,
            ..LoopRules::default()
        };
        Ok((true, Some(rules)))
    }

    /// Times that a trial that began with this cycle compares.
    pub fn of_trial(&self, since: Cycle) -> Times {
        Times {
            before: since..=Cycle(since.0 + self.before.saturating_sub(1)),
            from: Cycle(since.0 + self.before + self.settling),
        }
    }

    /// Cycles of the longest trial: those before the candidate shows, and those that are measured.
    pub fn cycles_of_trial(&self) -> [u32; 2] {
        [self.before, self.longest - self.before - self.settling]
    }

    /// Cycles of the guard: longer while a loss cannot be excluded, as of a formula that was promoted without a trial.
    pub fn guarded_for(&self, effect: Option<&ArmDifference>) -> u32 {
        let excludes_loss = effect.is_none_or(|effect| effect.ends[0] > -self.max_loss);
        if excludes_loss { self.guard } else { LONGEST_GUARD * self.guard }
    }

    /// Times that the guard of a formula compares. Of one that was promoted without a trial, the cycles
    /// before and its own first ones are the time before, since freshness follows a formula slowly.
    pub fn of_guard(&self, attempt: &Attempt) -> Times {
        match attempt.trial_since {
            Some(since) => self.of_trial(since),
            None => Times {
                before: Cycle(attempt.since.0.saturating_sub(IDLE_CYCLES))
                    ..=Cycle(attempt.since.0 + UNTRIED_BEFORE - 1),
                from: Cycle(attempt.since.0 + UNTRIED_BEFORE + self.guard / 4),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_and_ranges_are_checked() {
        let of = |change: fn(&mut Improve)| {
            let mut config = Improve::default();
            change(&mut config);
            LoopRules::from_config(&config)
        };
        assert_eq!(of(|_| {}), Ok((false, None)));
        assert_eq!(of(|c| c.mode = "watch".into()), Ok((true, None)));
        assert_eq!(of(|c| c.mode = "propose".into()), Ok((true, Some(LoopRules::default()))));
        let promoting = of(|c| (c.mode, c.max_loss) = ("promote".into(), 0.03));
        assert_eq!(
            promoting,
            Ok((true, Some(LoopRules { promotes: true, max_loss: 0.03, ..LoopRules::default() })))
        );
        let wrong = |change: fn(&mut Improve)| {
            let mut config = Improve { mode: "propose".into(), ..Improve::default() };
            change(&mut config);
            LoopRules::from_config(&config).unwrap_err()
        };
        for (why, key) in [
            (wrong(|c| c.mode = "on".into()), "improve.mode is \"on\""),
            (wrong(|c| c.shadow_cycles = 0), "improve.shadow_cycles"),
            (wrong(|c| c.trial_cycles = 1001), "improve.trial_cycles"),
            (wrong(|c| c.min_gain = f64::NAN), "improve.min_gain"),
            (wrong(|c| c.max_loss = 1.0), "improve.max_loss"),
            (wrong(|c| c.trial_sites = 1), "improve.trial_sites"),
            (wrong(|c| c.learn_cpu = crate::config::units::Span::millis(0)), "improve.learn_cpu"),
        ] {
            assert!(why.starts_with(key), "{why}");
        }
    }
}
