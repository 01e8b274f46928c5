//! Where the loop stands, for the console: its step, what was measured of the candidate, what the next step needs.

use recrawl_console::view::{
    self, Arms, AskedFor, Difference, Estimate, LearnerNow, Loop, LoopStep, LoopTerms, Quarantined, Scored,
    ShadowSoFar, Split, TrialPhase, TrialSoFar,
};
use recrawl_crawl::labels::counted;
use recrawl_crawl::parts::improve::attempt::{self, Attempt, Times};
use recrawl_crawl::parts::improve::candidate::{BackTestFigures, FormulaCandidate};
use recrawl_crawl::parts::improve::rules::LoopRules;
use recrawl_crawl::parts::improve::steps::{ImproveStep, LoopState};
use recrawl_estimation::Interval;
use recrawl_formula::Formula;
use recrawl_types::Cycle;

/// The loop after this cycle. `waiting` is the file of the next candidate, and `learning` the cycle after which a learner
/// began that runs.
pub fn from_state(
    state: &LoopState,
    rules: &LoopRules,
    cycle: Cycle,
    waiting: Option<Result<FormulaCandidate, String>>,
    learning: Option<Cycle>,
) -> Loop {
    let attempt = state.step.attempt();
    let step = step(&state.step);
    let (refused, waiting) = match waiting {
        Some(Err(why)) => (Some(why), None),
        Some(Ok(candidate)) => (None, Some(candidate)),
        None => (None, None),
    };
    let times = times(&state.step, rules);
    let trial = attempt.zip(times.as_ref()).map(|(attempt, times)| trial(attempt, times, step, rules, cycle));
    let learner = learner(state, rules, cycle, learning);
    Loop {
        step,
        since: attempt.map(|attempt| attempt.since.0.into()),
        ends: attempt.and_then(|attempt| ends(attempt, step, rules)).map(|cycle| cycle.0.into()),
        needs: needs(state, rules, cycle, waiting.is_some(), trial.as_ref(), &learner),
        is_held: state.is_held,
        asked: state.asked.clone(),
        candidate: attempt.map(|attempt| candidate(&attempt.candidate)),
        waiting: waiting.as_ref().map(candidate),
        refused,
        beside: attempt
            .and_then(|attempt| Formula::from_toml(&attempt.in_force).ok())
            .map(|formula| formula.expr.to_string()),
        shadow: attempt.filter(|attempt| !attempt.shadow.is_empty()).map(|attempt| ShadowSoFar {
            cycles: attempt.shadow.len() as u64,
            overlap: attempt.overlap(),
            gain: attempt.one_step().map(difference),
        }),
        trial,
        tries: state.tries.into(),
        alpha: state.alpha(),
        quarantine: state
            .quarantine
            .iter()
            .map(|(id, until)| Quarantined { id: id.clone(), until: until.0.into() })
            .collect(),
        rests_until: Some(state.rests_until).filter(|until| *until > cycle).map(|until| until.0.into()),
        alarm: state.alarm.map(|cycle| cycle.0.into()),
        learner,
        terms: terms(rules),
    }
}

/// A candidate for the console.
pub fn candidate(candidate: &FormulaCandidate) -> view::Candidate {
    let scored = |(name, value): &(String, f64)| Scored { name: name.clone(), value: *value };
    let BackTestFigures {
        fitness,
        in_force,
        candidate: reached,
        closed_forms,
        gain,
        alpha,
        coverage,
        sample,
        ..
    } = &candidate.back_test;
    view::Candidate {
        id: candidate.id(),
        name: candidate.name.clone(),
        expression: candidate.expression.clone(),
        cycle: candidate.cycle.into(),
        back_test: view::BackTest {
            fitness: fitness.clone(),
            in_force: scored(in_force),
            candidate: *reached,
            closed_forms: closed_forms.iter().map(scored).collect(),
            gain_low: gain[0],
            gain_high: gain[1],
            alpha: *alpha,
            coverage: Split { in_force: coverage[0], candidate: coverage[1] },
            pages: sample[0],
            groups: sample[1],
            cycles: sample[2],
        },
    }
}

/// An estimated share; within 0 and 1, as normal intervals may not be.
pub fn estimate(interval: &Interval) -> Estimate {
    let [low, high] = interval.ends().map(|end| end.clamp(0.0, 1.0));
    Estimate { share: interval.value.clamp(0.0, 1.0), low, high, pages: interval.sample }
}

fn difference(difference: attempt::ArmDifference) -> Difference {
    let attempt::ArmDifference { value, ends: [low, high], pages } = difference;
    Difference { value, low, high, pages }
}

fn step(step: &ImproveStep) -> LoopStep {
    match step {
        ImproveStep::Idle => LoopStep::Idle,
        ImproveStep::Shadow(_) => LoopStep::Shadow,
        ImproveStep::Proposed(_) => LoopStep::Proposed,
        ImproveStep::Trial(_) => LoopStep::Trial,
        ImproveStep::Guard(_) => LoopStep::Guard,
    }
}

/// The first cycle that can end the step.
fn ends(attempt: &Attempt, step: LoopStep, rules: &LoopRules) -> Option<Cycle> {
    let after = |cycles| Some(Cycle(attempt.since.0 + cycles));
    match step {
        LoopStep::Idle | LoopStep::Proposed => None,
        LoopStep::Shadow => after(rules.shadow),
        LoopStep::Trial => after(rules.before + rules.settling + rules.trial),
        LoopStep::Guard => after(rules.guard),
    }
}

/// What is compared, if the candidate has visited sites, or will.
fn times(step: &ImproveStep, rules: &LoopRules) -> Option<Times> {
    match step {
        ImproveStep::Idle | ImproveStep::Shadow(_) => None,
        ImproveStep::Guard(attempt) => Some(rules.of_guard(attempt)),
        ImproveStep::Trial(attempt) | ImproveStep::Proposed(attempt) => {
            attempt.trial_since.map(|since| rules.of_trial(since))
        }
    }
}

fn trial(attempt: &Attempt, times: &Times, step: LoopStep, rules: &LoopRules, cycle: Cycle) -> TrialSoFar {
    let before = *times.before.end();
    // The first cycles of a guard without a trial count as time before.
    let candidate_from =
        if step == LoopStep::Guard { before.next().min(attempt.since) } else { before.next() };
    let next = cycle.next();
    let phase = (step == LoopStep::Trial).then_some(match next {
        next if next <= before => TrialPhase::Before,
        next if next < times.from => TrialPhase::Settling,
        _ => TrialPhase::Measured,
    });
    let compared = attempt.arms.iter().filter(|day| day.cycle >= *times.before.start());
    let arms = compared.map(|day| Arms {
        cycle: day.cycle.0.into(),
        candidate: day.freshness[0].as_ref().map(estimate),
        control: day.freshness[1].as_ref().map(estimate),
    });
    TrialSoFar {
        phase,
        candidate_from: candidate_from.0.into(),
        measured_from: times.from.0.into(),
        part: attempt.division.map_or(0.0, |division| division.part),
        effect: attempt.effect(times).map(difference),
        pages_needed: attempt.pages_to_exclude(rules.max_loss, times),
        arms: arms.collect(),
    }
}

fn learner(state: &LoopState, rules: &LoopRules, cycle: Cycle, learning: Option<Cycle>) -> LearnerNow {
    let begun = learning.unwrap_or(state.learned);
    LearnerNow {
        last: Some(state.learned).filter(|learned| learned.0 > 0).map(|learned| learned.0.into()),
        cycles_since: cycle.since(begun).into(),
        next: u64::from(begun.0) + u64::from(rules.every),
        ..LearnerNow::default()
    }
}

/// What the next step needs, in sentences.
fn needs(
    state: &LoopState,
    rules: &LoopRules,
    cycle: Cycle,
    has_waiting: bool,
    trial: Option<&TrialSoFar>,
    learner: &LearnerNow,
) -> Vec<String> {
    // A decision goes before all that the steps wait for.
    if let Some(asked) = &state.asked {
        let what = match asked.what {
            AskedFor::Promote => "puts the candidate in force",
            AskedFor::RollBack => "takes the promoted formula back",
        };
        return vec![format!("The next cycle {what}, as {} decided.", asked.who)];
    }
    let left = |until: Cycle| counted(until.since(cycle.next()).into(), "more cycle");
    let mut needs = Vec::new();
    if state.is_held {
        needs.push("An operator holds the loop; release it to go on.".into());
    }
    match &state.step {
        ImproveStep::Idle | ImproveStep::Proposed(_) => {
            if matches!(state.step, ImproveStep::Proposed(_)) {
                needs.push("The candidate needs an operator's decision: promote it, or leave it.".into());
            }
            if has_waiting && !state.is_held {
                needs.push("The next cycle takes up a new candidate.".into());
            } else if !state.is_held {
                needs.push(format!(
                    "The next candidate is learned after cycle {}.",
                    learner.next.max(cycle.0.into())
                ));
            }
            if state.rests_until > cycle {
                needs.push(format!(
                    "An operator chose a formula, so candidates are refused until cycle {}.",
                    state.rests_until
                ));
            }
        }
        ImproveStep::Shadow(attempt) => {
            let end = Cycle(attempt.since.0 + rules.shadow);
            needs.push(format!("Both formulas score every page for {}.", left(end)));
            if !rules.promotes {
                needs.push("Then it is proposed to an operator (improve.mode).".into());
            }
        }
        ImproveStep::Trial(attempt) => needs.extend(trial_needs(state, attempt, rules, cycle, trial, left)),
        ImproveStep::Guard(attempt) => {
            let end = Cycle(attempt.since.0 + rules.guard);
            needs.push(format!("Some sites keep the formula before for {}.", left(end)));
            let limit = rules.max_loss / 2.0;
            needs.push(format!("If these are surely fresher, by {limit}, the new formula is taken back."));
        }
    }
    needs
}

fn trial_needs(
    state: &LoopState,
    attempt: &Attempt,
    rules: &LoopRules,
    cycle: Cycle,
    trial: Option<&TrialSoFar>,
    left: impl Fn(Cycle) -> String,
) -> Vec<String> {
    let after = |cycles| Cycle(attempt.since.0 + cycles);
    let from = rules.of_trial(attempt.since).from;
    let mut needs = Vec::new();
    match trial.and_then(|trial| trial.phase) {
        Some(TrialPhase::Before) => {
            needs.push(format!("The candidate visits its sites after {}.", left(after(rules.before))));
        }
        Some(TrialPhase::Settling) => needs.push(format!("Its sites count after {}.", left(from))),
        _ => {
            let end = after(rules.before + rules.settling + rules.trial);
            if end > cycle.next() {
                needs.push(format!("Both arms are measured for {}.", left(end)));
            }
        }
    }
    if let Some(Difference { low, pages, .. }) = trial.and_then(|trial| trial.effect) {
        let must = format!("The lower end must be above {}", -rules.max_loss);
        needs.push(match trial.and_then(|trial| trial.pages_needed) {
            _ if low > -rules.max_loss => format!("{must}, and is."),
            Some(needed) => format!("{must}: about {needed} audited pages, {pages} are there."),
            None => format!("{must}, which this effect does not reach."),
        });
    }
    if let Some(alarm) = state.alarm.filter(|alarm| cycle.next().since(*alarm) < rules.calm) {
        let until = Cycle(alarm.0 + rules.calm);
        needs.push(format!("Nothing is promoted until cycle {until}, after the alarm of cycle {alarm}."));
    }
    needs.push(format!("Without a decision, cycle {} proposes the candidate.", after(rules.longest)));
    needs
}

fn terms(rules: &LoopRules) -> LoopTerms {
    LoopTerms {
        every: rules.every.into(),
        shadow: rules.shadow.into(),
        before: rules.before.into(),
        settling: rules.settling.into(),
        trial: rules.trial.into(),
        longest: rules.longest.into(),
        guard: rules.guard.into(),
        calm: rules.calm.into(),
        min_gain: rules.min_gain,
        max_loss: rules.max_loss,
        min_sites: rules.min_places,
    }
}
