//! The steps by which a learned formula comes into force, and is taken back: a state that is kept before it acts.
//!
//! A candidate is scored beside the formula in force (shadow), then visits the pages of some sites (trial), then all
//! but those of some sites (guard). The state moves on only when a cycle begins, and only once for a cycle.

use crate::failure::Failure;
use crate::parts::improve::arms::{Division, SiteArm, TrialPlaces};
use crate::parts::improve::attempt::{ArmDifference, Attempt, NextArms};
use crate::parts::improve::candidate::{FormulaCandidate, digest_of};
use crate::parts::improve::rules::{DECISIVE_CYCLES, LoopRules, alpha_of};
use crate::stored::{keep, kept};
use recrawl_estimation::drift::CycleFound;
use recrawl_estimation::{Drift, DriftRules, Interval, starves};
use recrawl_formula::Formula;
use recrawl_repository::SledTables;
use recrawl_types::{Asked, Cycle, LoopEventKind};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

mod operator;

pub use operator::{DecisionAuthor, NotNow};

/// The name under which the state is kept.
const STATE: &str = "improve";
/// By how much the part of the sites in an arm may differ from the one that their number asks for.
const PART_TOLERANCE: f64 = 0.2;
/// Events that are remembered.
const MAX_EVENTS: usize = 200;

/// Where the loop stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoopState {
    /// The last cycle that it has moved on to.
    as_of: Cycle,
    /// The present step.
    pub step: ImproveStep,
    /// Digest of the formula that shall be in force; none before the first cycle.
    in_force: Option<String>,
    /// A formula file that is to be written before the next plan.
    to_write: Option<ToWrite>,
    /// Candidates tried since the last promotion, counting those that a back-test refused.
    pub tries: u32,
    /// Digests of candidates that failed, each with the cycle until which it is not tried again.
    pub quarantine: Vec<(String, Cycle)>,
    /// Does an operator hold the loop?
    pub is_held: bool,
    /// The decision of an operator for the next cycle.
    #[serde(default)]
    pub asked: Option<Asked>,
    /// Until this cycle the loop leaves an operator's choice alone.
    pub rests_until: Cycle,
    /// The cycle after which the last finished learning began.
    pub learned: Cycle,
    /// The candidate whose file is to be removed, by its digest; empty if the file could not be read.
    #[serde(default)]
    pub done_with: Option<String>,
    /// The arms of the next trial or guard; none before the first cycle.
    #[serde(default)]
    pub next_arms: Option<NextArms>,
    drift: Drift,
    /// The last cycle's visits beside what was expected of them.
    found: Option<CycleFound>,
    /// The cycle of the last alarm.
    pub alarm: Option<Cycle>,
    /// Events, oldest first.
    pub events: VecDeque<CandidateEvent>,
    /// Earlier events, which are not remembered any more.
    #[serde(default)]
    pub forgotten: u64,
}

/// A formula file to write in place of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToWrite {
    /// The file.
    pub toml: String,
    /// Digest of the formula that it replaces.
    replaces: String,
}

/// The present step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImproveStep {
    /// Nothing is tried.
    #[default]
    Idle,
    /// The candidate is scored beside the formula in force.
    Shadow(Box<Attempt>),
    /// The candidate waits for an operator.
    Proposed(Box<Attempt>),
    /// The candidate visits the pages of some sites.
    Trial(Box<Attempt>),
    /// The candidate is in force on all but some sites.
    Guard(Box<Attempt>),
}

/// Something that happened to a candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CandidateEvent {
    /// The cycle that it began with.
    pub cycle: Cycle,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// Kind of the event.
    pub what: LoopEventKind,
    /// The expression of the candidate; empty if there is none.
    pub candidate: String,
    /// Its digest ([`FormulaCandidate::id`]); empty if there is none.
    #[serde(default)]
    pub id: String,
    /// Why, in words.
    pub why: String,
}

/// The crawl as the loop sees it when a cycle begins.
pub struct CycleStart<'n> {
    /// The cycle.
    pub cycle: Cycle,
    /// The time, in milliseconds since 1970.
    pub at: u64,
    /// The formula in force.
    pub in_force: &'n Formula,
    /// The candidate that waits, or why it is refused.
    pub candidate: Option<Result<FormulaCandidate, String>>,
    /// Sites or folders with pages.
    pub places: TrialPlaces,
    /// The seed of the crawl.
    pub seed: u64,
}

/// The formulas that a plan compares.
#[derive(Clone, Debug)]
pub enum PlanComparison {
    /// Both formulas score, the one in force is carried out.
    Shadow {
        /// The candidate.
        candidate: Box<Formula>,
        /// About as many pages only the candidate chooses.
        differing: u64,
        /// The arms of the next trial or guard, which are counted.
        division: Option<Division>,
    },
    /// Nothing; the arms of the next trial or guard are counted.
    NextArms(Division),
    /// Sites are divided into arms; one of them may have another formula than the one in force.
    Arms {
        /// The arms.
        division: Division,
        /// The arm of another formula.
        other: Option<(SiteArm, Box<Formula>)>,
    },
}

impl PlanComparison {
    /// The formula beside the one in force.
    pub fn other(&self) -> Option<&Formula> {
        match self {
            PlanComparison::Shadow { candidate, .. } => Some(candidate),
            PlanComparison::NextArms(_) => None,
            PlanComparison::Arms { other, .. } => other.as_ref().map(|(_, formula)| &**formula),
        }
    }

    /// The index of the arm that it visits.
    pub fn arm_of_other(&self) -> Option<usize> {
        match self {
            PlanComparison::Shadow { .. } | PlanComparison::NextArms(_) => None,
            PlanComparison::Arms { other, .. } => other.as_ref().map(|(arm, _)| arm.index()),
        }
    }

    /// The arms, if the plan only counts them.
    pub fn counted(&self) -> Option<Division> {
        match self {
            PlanComparison::Shadow { division, .. } => *division,
            PlanComparison::NextArms(division) => Some(*division),
            PlanComparison::Arms { .. } => None,
        }
    }
}

impl LoopState {
    /// Reads it.
    ///
    /// # Errors
    /// When the tables cannot be read.
    pub fn read(tables: &SledTables) -> Result<LoopState, Failure> {
        let fresh = || LoopState { drift: Drift::new(DriftRules::default()), ..LoopState::default() };
        Ok(kept(tables, STATE)?.unwrap_or_else(fresh))
    }

    /// Keeps it.
    ///
    /// # Errors
    /// When the tables cannot be written.
    pub fn keep(&self, tables: &SledTables) -> Result<(), Failure> {
        keep(tables, STATE, self)
    }

    /// Is a formula file to be written before the next plan?
    pub fn has_to_write(&self) -> bool {
        self.to_write.is_some()
    }

    /// The formula file to write before the next plan; afterwards [`LoopState::has_written`]. None if an operator has
    /// chosen another formula meanwhile than the one to replace.
    pub fn to_write(&self, in_force: &Formula) -> Option<&str> {
        let to_write = self.to_write.as_ref()?;
        (to_write.replaces == digest_of(in_force)).then_some(&to_write.toml)
    }

    /// The formula file is written, or not to be written any more.
    pub fn has_written(&mut self) {
        self.to_write = None;
    }

    /// Notes the visits of a cycle, again if it goes on.
    pub fn note(&mut self, found: CycleFound) {
        self.found = Some(found);
    }

    /// Notes the freshness of these arms in a cycle, again if it goes on. Arms that were planned before the step ended
    /// are not noted.
    pub fn note_arms(&mut self, cycle: Cycle, division: Division, freshness: [Option<Interval>; 2]) {
        match (&mut self.step, &mut self.next_arms) {
            (ImproveStep::Trial(attempt) | ImproveStep::Guard(attempt), _)
                if attempt.division == Some(division) =>
            {
                attempt.note_arms(cycle, freshness);
            }
            (ImproveStep::Idle | ImproveStep::Proposed(_) | ImproveStep::Shadow(_), Some(arms))
                if arms.division == division =>
            {
                arms.note(cycle, freshness);
            }
            _ => {}
        }
    }

    /// The comparison of the plan of a cycle of k pages.
    ///
    /// # Errors
    /// If a formula cannot be read.
    pub fn comparison(
        &self,
        cycle: Cycle,
        k: u64,
        rules: &LoopRules,
    ) -> Result<Option<PlanComparison>, Failure> {
        let read = |toml: &str| Formula::from_toml(toml).map(Box::new).map_err(Failure::work);
        let arms = |attempt: &Attempt, other| {
            attempt.division.map(|division| PlanComparison::Arms { division, other })
        };
        Ok(match &self.step {
            ImproveStep::Idle | ImproveStep::Proposed(_) => {
                self.next_arms.as_ref().map(|arms| PlanComparison::NextArms(arms.division))
            }
            ImproveStep::Shadow(attempt) => {
                // In the first cycle nothing is known of it.
                let differing = attempt.shadow.last().map_or(k / 2, |day| day.overlap.only_candidate);
                let candidate = Box::new(attempt.candidate.formula()?);
                let division = self.next_arms.as_ref().map(|arms| arms.division);
                Some(PlanComparison::Shadow { candidate, differing, division })
            }
            ImproveStep::Trial(attempt) => {
                let has_begun = cycle > *rules.of_trial(attempt.since).before.end();
                let candidate = has_begun.then(|| attempt.candidate.formula()).transpose()?;
                let other = candidate.map(|formula| (SiteArm::Candidate, Box::new(formula)));
                arms(attempt, other)
            }
            ImproveStep::Guard(attempt) => {
                let other = Some((SiteArm::Control, read(&attempt.in_force)?));
                arms(attempt, other)
            }
        })
    }

    /// Moves on when a cycle begins; once for a cycle.
    pub fn advance(&mut self, now: CycleStart<'_>, rules: &LoopRules) {
        // A round that is planned again after a stop must not move on twice.
        if self.as_of == now.cycle {
            return;
        }
        self.as_of = now.cycle;
        self.quarantine.retain(|(_, until)| *until > now.cycle);
        if self.found.take().and_then(|found| self.drift.add(found)).is_some() {
            self.alarm = Some(now.cycle);
            self.tell(
                &now,
                LoopEventKind::Alarm,
                None,
                "visits find other numbers of changes than expected".into(),
            );
        }
        let digest = digest_of(now.in_force);
        // The attempt compared its candidate with a formula that is no longer in force.
        if self.in_force.as_ref().is_some_and(|expected| *expected != digest) {
            let ended = std::mem::take(&mut self.step);
            self.asked = None;
            self.tell(
                &now,
                LoopEventKind::OperatorChose,
                ended.attempt().map(|attempt| &attempt.candidate),
                format!("{} is in force", now.in_force.name),
            );
            self.rests_until = Cycle(now.cycle.0 + rules.rest);
            self.next_arms = None;
        }
        self.in_force = Some(digest);
        let division = Division::new(now.seed ^ u64::from(now.cycle.0), now.places);
        let fits = |arms: &NextArms| {
            arms.division.by_folder == division.by_folder
                && (arms.division.part / division.part - 1.0).abs() <= PART_TOLERANCE
        };
        // A crawl that has grown needs smaller arms.
        self.next_arms = Some(self.next_arms.take().filter(fits).unwrap_or_else(|| NextArms::new(division)));
        self.carry_out(&now, rules);
        if self.is_held {
            return;
        }
        match std::mem::take(&mut self.step) {
            ImproveStep::Idle => self.take_up(now, rules, ImproveStep::Idle),
            ImproveStep::Proposed(attempt) => self.take_up(now, rules, ImproveStep::Proposed(attempt)),
            ImproveStep::Shadow(attempt) => self.after_shadow(&now, rules, attempt),
            ImproveStep::Trial(attempt) => self.after_trial(&now, rules, attempt),
            ImproveStep::Guard(attempt) => self.after_guard(&now, rules, attempt),
        }
    }

    /// Shall a formula be learned now? Each `every` cycles, or after an alarm, if nothing is tried.
    pub fn wants_learning(&self, cycle: Cycle, rules: &LoopRules) -> bool {
        let is_due = cycle.since(self.learned) >= rules.every;
        let is_alarmed = self.alarm.is_some_and(|alarm| alarm > self.learned);
        self.is_free() && (is_due || is_alarmed)
    }

    /// May another formula be learned: is nothing tried, and the loop not held?
    pub fn is_free(&self) -> bool {
        matches!(self.step, ImproveStep::Idle | ImproveStep::Proposed(_)) && !self.is_held
    }

    /// The error probability of the next back-test.
    pub fn alpha(&self) -> f64 {
        alpha_of(self.tries)
    }

    /// Takes up the candidate that waits, if it may be tried.
    fn take_up(&mut self, mut now: CycleStart<'_>, rules: &LoopRules, otherwise: ImproveStep) {
        self.step = otherwise;
        let candidate = match now.candidate.take() {
            None => return,
            Some(Err(why)) => {
                self.tell(&now, LoopEventKind::Refused, None, why);
                self.done_with = Some(String::new());
                return;
            }
            Some(Ok(candidate)) => candidate,
        };
        // Each try takes its part of the error probability (`alpha_of`), also one that is refused below.
        self.tries += 1;
        let digest = candidate.id();
        // Only noted: its file is removed once this state is kept, so that a kill neither loses nor repeats
        // the try.
        self.done_with = Some(digest.clone());
        let [low, high] = candidate.back_test.gain;
        let [before, after] = candidate.back_test.coverage;
        let why = if self.in_force.as_ref() == Some(&digest) {
            Some("it is the formula in force".to_owned())
        } else if let Some((_, until)) = self.quarantine.iter().find(|(failed, _)| *failed == digest) {
            Some(format!("it failed before, and is not tried until cycle {until}"))
        } else if low <= rules.min_gain {
            Some(format!("its gain is {low:.4} to {high:.4}; above {} is needed", rules.min_gain))
        // A formula could gain by visiting few pages again and again, and never the rest.
        } else if starves(after, before) {
            Some(format!(
                "it would visit {:.1} % of the pages, {:.1} % are visited now",
                after * 100.0,
                before * 100.0
            ))
        // The trial would only find it out weeks later.
        } else if let Some(test) = candidate.back_test.freshness.filter(|test| test.gain[1] < -rules.max_loss)
        {
            let [low, high] = test.gain;
            Some(format!("freshness would change by {low:+.4} to {high:+.4}"))
        } else if now.cycle < self.rests_until {
            Some(format!("an operator chose a formula; the loop rests until cycle {}", self.rests_until))
        } else {
            None
        };
        if let Some(why) = why {
            self.tell(&now, LoopEventKind::Refused, Some(&candidate), why);
            return;
        }
        let attempt = Attempt {
            candidate,
            // The guard's control sites, and a roll-back, need the text of the formula before.
            in_force: now.in_force.to_toml().unwrap_or_default(),
            since: now.cycle,
            trial_since: None,
            division: None,
            shadow: Vec::new(),
            arms: Vec::new(),
        };
        let why = format!("gain {low:.4} to {high:.4} in the back-test");
        self.tell(&now, LoopEventKind::Shadowed, Some(&attempt.candidate), why);
        self.step = ImproveStep::Shadow(Box::new(attempt));
    }

    fn after_shadow(&mut self, now: &CycleStart<'_>, rules: &LoopRules, mut attempt: Box<Attempt>) {
        if now.cycle.since(attempt.since) < rules.shadow {
            self.step = ImproveStep::Shadow(attempt);
            return;
        }
        let Some(step) = attempt.one_step() else {
            self.reject(now, rules, &attempt, "it chooses the same pages".into());
            return;
        };
        // It is told, and decides nothing: a formula that looks at pages which the one in force starves finds less at first.
        attempt.since = now.cycle;
        let overlap = attempt.overlap().unwrap_or(1.0);
        let told =
            format!("{:.0} % of the choices are the same; one step {:+.4}", overlap * 100.0, step.value);
        let lacking = match rules.promotes {
            false => Some("improve.mode is \"propose\"".to_owned()),
            true if now.places.count < rules.min_places => Some(format!(
                "{} {}, a trial takes {}",
                now.places.count,
                if now.places.are_folders { "folders" } else { "sites" },
                rules.min_places
            )),
            true => None,
        };
        if let Some(why) = lacking {
            self.propose(now, attempt, format!("{told}; {why}"));
            return;
        }
        let loss = self.next_arms.as_ref().and_then(|arms| arms.excludable_loss(rules));
        match self.without_trial(now, rules, &attempt, loss) {
            Some(Ok(why)) => self.put_in_force(now.cycle, now.at, attempt, format!("{told}; {why}")),
            Some(Err(why)) => self.propose(now, attempt, format!("{told}; {why}")),
            None => {
                self.tell(now, LoopEventKind::TrialBegan, Some(&attempt.candidate), told);
                attempt.trial_since = Some(now.cycle);
                attempt.division = self.next_arms.take().map(|arms| arms.division);
                self.step = ImproveStep::Trial(attempt);
            }
        }
    }

    /// Decides by the back-test alone, if a trial could exclude a loss of `loss` at best: why the candidate is promoted, or
    /// why it is proposed. None if a trial decides.
    fn without_trial(
        &self,
        now: &CycleStart<'_>,
        rules: &LoopRules,
        attempt: &Attempt,
        loss: Option<f64>,
    ) -> Option<Result<String, String>> {
        // Few audited pages leave a trial undecided whatever the candidate does.
        let powerless = loss.is_none_or(|loss| loss > rules.max_loss).then(|| match loss {
            Some(loss) => format!("a trial could exclude a loss of {loss:.2} at best"),
            None => "no page of the arms was audited".into(),
        });
        let back_test = &attempt.candidate.back_test;
        let (starved, cycles) = (back_test.starved(), back_test.sample[2]);
        // Of a web that has changed since, or in a young crawl, the back-test says little.
        let doubt = if !back_test.excludes_loss(rules.max_loss) {
            format!("the back-test excludes no loss of {}", rules.max_loss)
        } else if !self.is_calm(now, rules) {
            "the web has changed since the back-test".into()
        } else if starved.is_none() && cycles < DECISIVE_CYCLES {
            format!("the back-test is of {cycles} cycles, and decides from {DECISIVE_CYCLES} on")
        } else {
            let why = starved.or(powerless)?;
            return Some(Ok(format!("without a trial, since {why}")));
        };
        powerless.map(|why| Err(format!("{why}, and {doubt}")))
    }

    fn propose(&mut self, now: &CycleStart<'_>, attempt: Box<Attempt>, why: String) {
        self.tell(now, LoopEventKind::Proposed, Some(&attempt.candidate), why);
        self.step = ImproveStep::Proposed(attempt);
    }

    /// Has the web been steady for long enough?
    fn is_calm(&self, now: &CycleStart<'_>, rules: &LoopRules) -> bool {
        self.alarm.is_none_or(|alarm| now.cycle.since(alarm) >= rules.calm)
    }

    fn after_trial(&mut self, now: &CycleStart<'_>, rules: &LoopRules, mut attempt: Box<Attempt>) {
        let cycles = now.cycle.since(attempt.since);
        let effect = attempt.effect(&rules.of_trial(attempt.since));
        // The interval holds at every look, so a loss ends the trial as soon as it shows.
        if let Some(effect) = effect.filter(|effect| effect.ends[1] < 0.0) {
            self.reject(now, rules, &attempt, format!("less fresh in the trial: {}", told(&effect)));
            return;
        }
        // Its own time before tells its power better than the cycles of a young crawl.
        if cycles == rules.before {
            let loss = attempt.excludable_loss(rules);
            match self.without_trial(now, rules, &attempt, loss) {
                Some(Ok(why)) => self.put_in_force(now.cycle, now.at, attempt, why),
                Some(Err(why)) => self.propose(now, attempt, why),
                None => self.step = ImproveStep::Trial(attempt),
            }
            return;
        }
        if cycles < rules.before + rules.settling + rules.trial {
            self.step = ImproveStep::Trial(attempt);
            return;
        }
        let calm = self.is_calm(now, rules);
        match effect {
            Some(effect) if effect.ends[0] > -rules.max_loss && calm => {
                self.put_in_force(now.cycle, now.at, attempt, format!("in the trial: {}", told(&effect)));
            }
            effect if cycles >= rules.longest => {
                let why = match effect {
                    Some(effect) => {
                        format!("the trial cannot exclude a loss of {}: {}", rules.max_loss, told(&effect))
                    }
                    None => "no page of the arms was audited".into(),
                };
                attempt.since = now.cycle;
                self.propose(now, attempt, why);
            }
            _ => self.step = ImproveStep::Trial(attempt),
        }
    }

    fn after_guard(&mut self, now: &CycleStart<'_>, rules: &LoopRules, attempt: Box<Attempt>) {
        let effect = attempt.effect(&rules.of_guard(&attempt));
        let is_worse = effect.is_some_and(|effect| effect.ends[1] < -rules.max_loss / 2.0);
        if let Some(effect) = effect.filter(|_| is_worse) {
            let why = format!("the sites with the formula before are fresher: {}", told(&effect));
            self.take_back(now.cycle, now.at, rules, attempt, why);
        } else if now.cycle.since(attempt.since) >= rules.guarded_for(effect.as_ref()) {
            let why = effect.map_or("nothing was measured".into(), |effect| told(&effect));
            self.tell(now, LoopEventKind::Kept, Some(&attempt.candidate), why);
            self.tries = 0;
        } else {
            self.step = ImproveStep::Guard(attempt);
        }
    }

    /// Ends the attempt at once, since a plan has failed: a promoted formula is taken back.
    pub fn fail(&mut self, cycle: Cycle, at: u64, rules: &LoopRules, why: &str) {
        match std::mem::take(&mut self.step) {
            ImproveStep::Guard(attempt) => self.take_back(cycle, at, rules, attempt, why.into()),
            ImproveStep::Shadow(attempt) | ImproveStep::Trial(attempt) => {
                self.quarantine(cycle, rules, &attempt);
                self.happened((cycle, at), LoopEventKind::Rejected, Some(&attempt.candidate), why.into());
            }
            other => self.step = other,
        }
    }

    fn reject(&mut self, now: &CycleStart<'_>, rules: &LoopRules, attempt: &Attempt, why: String) {
        self.quarantine(now.cycle, rules, attempt);
        self.tell(now, LoopEventKind::Rejected, Some(&attempt.candidate), why);
        self.step = ImproveStep::Idle;
    }

    fn quarantine(&mut self, cycle: Cycle, rules: &LoopRules, attempt: &Attempt) {
        self.quarantine.push((attempt.candidate.id(), Cycle(cycle.0 + rules.quarantine)));
    }

    fn put_in_force(&mut self, cycle: Cycle, at: u64, mut attempt: Box<Attempt>, why: String) {
        self.happened((cycle, at), LoopEventKind::Promoted, Some(&attempt.candidate), why);
        self.replace(attempt.candidate.formula_toml.clone(), attempt.candidate.id());
        if let Some(arms) = self.next_arms.take().filter(|_| attempt.trial_since.is_none()) {
            (attempt.division, attempt.arms) = (Some(arms.division), arms.days);
        }
        attempt.since = cycle;
        self.step = ImproveStep::Guard(attempt);
    }

    fn take_back(&mut self, cycle: Cycle, at: u64, rules: &LoopRules, attempt: Box<Attempt>, why: String) {
        self.quarantine(cycle, rules, &attempt);
        self.happened((cycle, at), LoopEventKind::RolledBack, Some(&attempt.candidate), why);
        if let Ok(before) = Formula::from_toml(&attempt.in_force) {
            self.replace(attempt.in_force.clone(), digest_of(&before));
        }
        self.step = ImproveStep::Idle;
    }

    /// Decides on another formula.
    fn replace(&mut self, toml: String, digest: String) {
        let replaces = self.in_force.replace(digest).unwrap_or_default();
        self.to_write = Some(ToWrite { toml, replaces });
    }

    fn tell(
        &mut self,
        now: &CycleStart<'_>,
        what: LoopEventKind,
        candidate: Option<&FormulaCandidate>,
        why: String,
    ) {
        self.happened((now.cycle, now.at), what, candidate, why);
    }

    fn happened(
        &mut self,
        (cycle, at): (Cycle, u64),
        what: LoopEventKind,
        candidate: Option<&FormulaCandidate>,
        why: String,
    ) {
        let id = candidate.map(FormulaCandidate::id).unwrap_or_default();
        let candidate = candidate.map(|candidate| candidate.expression.clone()).unwrap_or_default();
        self.push(CandidateEvent { cycle, at, what, candidate, id, why });
    }

    fn push(&mut self, event: CandidateEvent) {
        tracing::info!(
            cycle = event.cycle.0,
            candidate = event.candidate,
            "improve: {:?}: {}",
            event.what,
            event.why
        );
        self.events.push_back(event);
        if self.events.len() > MAX_EVENTS {
            self.events.pop_front();
            self.forgotten += 1;
        }
    }
}

impl ImproveStep {
    /// The candidate that is tried.
    pub fn attempt(&self) -> Option<&Attempt> {
        match self {
            ImproveStep::Idle => None,
            ImproveStep::Shadow(attempt)
            | ImproveStep::Proposed(attempt)
            | ImproveStep::Trial(attempt)
            | ImproveStep::Guard(attempt) => Some(attempt),
        }
    }
}

fn told(effect: &ArmDifference) -> String {
    let ArmDifference { value, ends: [low, high], pages } = effect;
    format!("{value:+.4} ({low:+.4} to {high:+.4}) in freshness, from {pages} audited pages")
}

#[cfg(test)]
mod tests;
