//! A candidate that is being tried, with what was measured of it, cycle by cycle.

use crate::parts::improve::arms::Division;
use crate::parts::improve::candidate::FormulaCandidate;
use crate::parts::improve::found::{ComparedVisits, FoundByShare};
use crate::parts::improve::rules::LoopRules;
use recrawl_estimation::Interval;
use recrawl_estimation::interval::Z;
use recrawl_estimation::sequence::{half_width, values_for};
use recrawl_scheduler::Overlap;
use recrawl_types::Cycle;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// Error probability of the intervals that decide a trial.
const ALPHA: f64 = 0.05;

/// The last cycles without a trial or a guard, whose arms are remembered.
pub(super) const IDLE_CYCLES: u32 = 28;

/// A candidate and its trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// The candidate.
    pub candidate: FormulaCandidate,
    /// The formula in force when the attempt began, as a file.
    pub in_force: String,
    /// The first cycle of the present step.
    pub since: Cycle,
    /// The first cycle of the trial; none before, or without one.
    pub trial_since: Option<Cycle>,
    /// How sites are divided into arms; none before its trial or guard.
    pub division: Option<Division>,
    /// The cycles in which both formulas were scored.
    pub shadow: Vec<ShadowDay>,
    /// Freshness by arm: cycles without the candidate, then those with it.
    pub arms: Vec<ArmsDay>,
}

/// A cycle in which both formulas scored, and one was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShadowDay {
    /// The cycle.
    pub cycle: Cycle,
    /// How the choices differ.
    pub overlap: Overlap,
    /// Visits of pages that only the formula in force chose.
    pub only_in_force: ComparedVisits,
    /// Visits of a sample of those that only the candidate chose.
    pub only_candidate: ComparedVisits,
}

/// A cycle's freshness before the visits by arm, [`SiteArm`](crate::parts::improve::arms::SiteArm) after arm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArmsDay {
    /// The cycle.
    pub cycle: Cycle,
    /// Of the candidate's sites, and of the control's.
    pub freshness: [Option<Interval>; 2],
}

/// The sites of the next trial or guard, while all have the same formula.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NextArms {
    /// The arms.
    pub division: Division,
    /// Their freshness in the last cycles.
    pub days: Vec<ArmsDay>,
}

impl NextArms {
    /// Arms of which nothing is known yet.
    pub fn new(division: Division) -> NextArms {
        NextArms { division, days: Vec::new() }
    }

    /// Notes a cycle, again if it goes on.
    pub fn note(&mut self, cycle: Cycle, freshness: [Option<Interval>; 2]) {
        ArmsDay::note(&mut self.days, cycle, freshness);
        self.days.retain(|day| cycle.since(day.cycle) < IDLE_CYCLES);
    }

    /// See `excludable_loss`.
    pub fn excludable_loss(&self, rules: &LoopRules) -> Option<f64> {
        excludable_loss(&self.days, self.division.audited_more(), rules)
    }
}

/// The loss of freshness that the longest trial could exclude, if the candidate is as fresh as the control: by the audited
/// pages of these cycles, times `more` a cycle. None if none was audited.
fn excludable_loss(days: &[ArmsDay], more: f64, rules: &LoopRules) -> Option<f64> {
    let differences: Vec<Interval> = days.iter().filter_map(|day| difference(day.freshness)).collect();
    let mean = Interval::mean(&differences)?;
    let of_a_page = mean.variance * mean.sample as f64;
    let a_cycle = mean.sample as f64 / days.len() as f64 * more;
    let [before, measured] = rules.cycles_of_trial().map(|cycles| a_cycle * f64::from(cycles));
    Some(half_width(measured, of_a_page.sqrt(), ALPHA).hypot(Z * (of_a_page / before).sqrt()))
}

impl ArmsDay {
    fn note(days: &mut Vec<ArmsDay>, cycle: Cycle, freshness: [Option<Interval>; 2]) {
        days.retain(|day| day.cycle != cycle);
        days.push(ArmsDay { cycle, freshness });
    }
}

/// The cycles that a trial or a guard compares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Times {
    /// Before the candidate shows.
    pub before: RangeInclusive<Cycle>,
    /// The first in which its sites count.
    pub from: Cycle,
}

/// A difference with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArmDifference {
    /// Candidate less control, or less the formula in force.
    pub value: f64,
    /// The ends of its interval.
    pub ends: [f64; 2],
    /// Pages that it rests on.
    pub pages: u64,
}

impl Attempt {
    /// Notes a cycle of the shadow run, again if it goes on.
    pub fn note_shadow(&mut self, cycle: Cycle, found: &FoundByShare) {
        let Some(overlap) = found.overlap else { return };
        self.shadow.retain(|day| day.cycle != cycle);
        let FoundByShare { only_in_force, only_candidate, .. } = *found;
        self.shadow.push(ShadowDay { cycle, overlap, only_in_force, only_candidate });
    }

    /// Notes the arms of a cycle, again if it goes on.
    pub fn note_arms(&mut self, cycle: Cycle, freshness: [Option<Interval>; 2]) {
        ArmsDay::note(&mut self.arms, cycle, freshness);
    }

    /// One step of the candidate against the formula in force, without a fetch more: Δ = Σ(D·ȳ_G − Y_F)/Σk, where of the
    /// D pages that only the candidate chooses a share ȳ_G of the sample has changed, and Y_F of those that only the
    /// formula in force chose. Only the first term is sampled. None without a sample, or if both always choose the same.
    pub fn one_step(&self) -> Option<ArmDifference> {
        let mut sampled = ComparedVisits::default();
        self.shadow.iter().for_each(|day| sampled += day.only_candidate);
        // Two changed and two unchanged pages more: a small sample of pages that all changed has an error, too (Agresti
        // and Coull 1998).
        let share = (sampled.changed as f64 + 2.0) / (sampled.visits as f64 + 4.0);
        let (mut gain, mut variance, mut chosen, mut pages) = (0.0, 0.0, 0.0, 0);
        for day in &self.shadow {
            let Overlap { both, only_in_force, only_candidate, .. } = day.overlap;
            // Without an answer, a page is taken for the others.
            let rate = |found: &ComparedVisits| {
                (found.visits > 0).then(|| found.changed as f64 / found.visits as f64)
            };
            let theirs = if only_candidate == 0 { Some(0.0) } else { rate(&day.only_candidate) };
            let ours = if only_in_force == 0 { Some(0.0) } else { rate(&day.only_in_force) };
            let (Some(theirs), Some(ours)) = (theirs, ours) else { continue };
            let (all, drawn) = (only_candidate as f64, day.only_candidate.visits as f64);
            gain += all * theirs - only_in_force as f64 * ours;
            if drawn > 0.0 {
                variance += all * all * (1.0 - drawn / all).max(0.0) * share * (1.0 - share) / drawn;
            }
            chosen += (both + only_in_force) as f64;
            pages += day.only_candidate.visits;
        }
        let differs =
            self.shadow.iter().any(|day| day.overlap.only_candidate + day.overlap.only_in_force > 0);
        (chosen > 0.0 && differs).then(|| {
            let (value, half) = (gain / chosen, Z * variance.sqrt() / chosen);
            ArmDifference { value, ends: [value - half, value + half], pages }
        })
    }

    /// The part of the choices that both formulas share.
    pub fn overlap(&self) -> Option<f64> {
        let sum =
            |of: fn(&Overlap) -> u64| self.shadow.iter().map(|day| of(&day.overlap)).sum::<u64>() as f64;
        let (both, chosen) =
            (sum(|overlap| overlap.both), sum(|overlap| overlap.both + overlap.only_in_force));
        (chosen > 0.0).then(|| both / chosen)
    }

    /// See `excludable_loss`: as its arms have shown so far.
    pub fn excludable_loss(&self, rules: &LoopRules) -> Option<f64> {
        excludable_loss(&self.arms, 1.0, rules)
    }

    /// How much fresher the candidate's sites are than the control's, less how much they were before the candidate. The
    /// interval holds at every look: a confidence sequence, widened by the error of the time before. None without both.
    pub fn effect(&self, times: &Times) -> Option<ArmDifference> {
        let [earlier, now] = self.compared(times)?;
        let value = now.value - earlier.value;
        let pages = now.sample as f64;
        let half = half_width(pages, (now.variance * pages).sqrt(), ALPHA);
        let half = half.hypot(Z * earlier.variance.sqrt());
        Some(ArmDifference { value, ends: [value - half, value + half], pages: now.sample })
    }

    /// Audited pages after which the lower end of [`Attempt::effect`] is above −`max_loss`, if its value and the deviation
    /// of a page stay as they are. None if no number of pages is enough.
    pub fn pages_to_exclude(&self, max_loss: f64, times: &Times) -> Option<u64> {
        let [earlier, now] = self.compared(times)?;
        let half = now.value - earlier.value + max_loss;
        // The error of the time before stays.
        let left = half.powi(2) - (Z * Z * earlier.variance);
        let deviation = (now.variance * now.sample as f64).sqrt();
        (half > 0.0 && left > 0.0).then(|| values_for(left.sqrt(), deviation, ALPHA))?
    }

    /// The mean difference of freshness between the arms in the time before, and in the measured time.
    fn compared(&self, times: &Times) -> Option<[Interval; 2]> {
        let mean = |days: &mut dyn Iterator<Item = &ArmsDay>| {
            let differences: Vec<Interval> = days.filter_map(|day| difference(day.freshness)).collect();
            Interval::mean(&differences)
        };
        let earlier = mean(&mut self.arms.iter().filter(|day| times.before.contains(&day.cycle)))?;
        Some([earlier, mean(&mut self.arms.iter().filter(|day| day.cycle >= times.from))?])
    }
}

fn difference(freshness: [Option<Interval>; 2]) -> Option<Interval> {
    let [Some(candidate), Some(control)] = freshness else { return None };
    Some(Interval {
        value: candidate.value - control.value,
        variance: candidate.variance + control.variance,
        sample: candidate.sample + control.sample,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::parts::improve::arms::TrialPlaces;
    use crate::parts::improve::candidate::tests::back_test;
    use recrawl_formula::Formula;

    pub fn attempt() -> Attempt {
        let formula = |text: &str| Formula::from_expression(text).unwrap();
        Attempt {
            candidate: FormulaCandidate::new(&formula("t * p_eb"), 9, back_test([0.01, 0.03])).unwrap(),
            in_force: formula("t * X").to_toml().unwrap(),
            since: Cycle(10),
            trial_since: Some(Cycle(10)),
            division: Some(Division::new(1, TrialPlaces { count: 100, are_folders: false })),
            shadow: Vec::new(),
            arms: Vec::new(),
        }
    }

    #[test]
    fn one_step_is_what_the_other_choice_would_have_found() {
        let found = |visits, changed| ComparedVisits { visits, changed, ..ComparedVisits::default() };
        let overlap = Overlap { both: 60, only_in_force: 40, only_candidate: 40, drawn: 10 };
        let of = |theirs: u64, ours: u64| FoundByShare {
            only_in_force: found(40, ours),
            only_candidate: found(10, theirs),
            overlap: Some(overlap),
            ..FoundByShare::default()
        };
        let mut attempt = attempt();
        assert_eq!(attempt.one_step(), None);
        attempt.note_shadow(Cycle(10), &of(9, 9));
        attempt.note_shadow(Cycle(10), &of(5, 10));
        let step = attempt.one_step().unwrap();
        // 40·0.5 − 10 of 100, and √(40²·0.75·0.25/10)·1.96/100.
        assert!((step.value - 0.10).abs() < 1e-12 && step.pages == 10, "{step:?}");
        assert!((step.ends[1] - step.value - 0.107_353).abs() < 1e-4, "{step:?}");
        attempt.note_shadow(Cycle(11), &of(5, 30));
        assert!(attempt.one_step().unwrap().value.abs() < 1e-12);
        assert_eq!(attempt.overlap(), Some(0.6));
    }

    #[test]
    fn an_effect_is_beside_the_time_before() {
        let day = |value: f64| Some(Interval { value, variance: 0.0004, sample: 200 });
        let times = Times { before: Cycle(10)..=Cycle(23), from: Cycle(38) };
        let mut attempt = attempt();
        // Too early: not of the time before.
        attempt.note_arms(Cycle(9), [day(0.10), day(0.85)]);
        for cycle in 10..24 {
            attempt.note_arms(Cycle(cycle), [day(0.80), day(0.85)]);
        }
        assert_eq!(attempt.effect(&times), None);
        for cycle in 24..66 {
            attempt.note_arms(Cycle(cycle), [day(0.83), day(0.85)]);
        }
        attempt.note_arms(Cycle(66), [None, day(0.85)]);
        let effect = attempt.effect(&times).unwrap();
        assert!((effect.value - 0.03).abs() < 1e-12 && effect.pages == 28 * 400, "{effect:?}");
        let half = effect.ends[1] - effect.value;
        let plain = Z * (0.0008f64 / 28.0 + 0.0008 / 14.0).sqrt();
        assert!(half > plain && half < 2.0 * plain, "{half} beside {plain}");
        let needed = |max_loss| attempt.pages_to_exclude(max_loss, &times);
        // Here that loss is just excluded.
        let enough = needed(half - effect.value).unwrap();
        assert!(enough.abs_diff(effect.pages) <= 1, "{enough} of {}", effect.pages);
        assert!(needed(0.04).unwrap() < enough && needed(-0.02).is_none() && needed(-0.05).is_none());
    }
}
