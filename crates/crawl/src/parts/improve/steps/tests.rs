use super::*;
use crate::parts::improve::candidate::tests::back_test;
use crate::parts::improve::candidate::{BackTestFigures, FreshnessTest};
use crate::parts::improve::found::{ComparedVisits, FoundByShare};
use recrawl_estimation::Interval;
use recrawl_scheduler::Overlap;

fn rules() -> LoopRules {
    LoopRules { promotes: true, ..LoopRules::default() }
}

fn formula(text: &str) -> Formula {
    Formula::from_expression(text).unwrap()
}

fn candidate(text: &str, gain: [f64; 2]) -> FormulaCandidate {
    FormulaCandidate::new(&formula(text), 1, back_test(gain)).unwrap()
}

fn sites(count: u64) -> TrialPlaces {
    TrialPlaces { count, are_folders: false }
}

/// A crawl in which only the loop is real.
struct LoopWorld {
    state: LoopState,
    in_force: Formula,
    cycle: u32,
    waiting: Option<Result<FormulaCandidate, String>>,
    places: TrialPlaces,
    rules: LoopRules,
    /// By how much pages are fresher where the candidate visits.
    effect: f64,
    /// The error of a cycle's freshness in an arm.
    variance: f64,
    /// Does the candidate choose other pages?
    differs: bool,
}

impl LoopWorld {
    fn new() -> LoopWorld {
        let state = LoopState { drift: Drift::new(DriftRules::default()), ..LoopState::default() };
        LoopWorld {
            state,
            in_force: formula("t * X"),
            cycle: 1,
            waiting: None,
            places: sites(200),
            rules: rules(),
            effect: 0.01,
            variance: 0.0002,
            differs: true,
        }
    }

    fn offer(&mut self, text: &str) {
        self.waiting = Some(Ok(candidate(text, [0.01, 0.03])));
    }

    fn write(&mut self) {
        if let Some(toml) = self.state.to_write(&self.in_force) {
            self.in_force = Formula::from_toml(toml).unwrap();
        }
        self.state.has_written();
    }

    /// One cycle: the loop moves on, the plan compares, and the visits are noted.
    fn next(&mut self) {
        self.write();
        let now = CycleStart {
            cycle: Cycle(self.cycle),
            at: 0,
            in_force: &self.in_force,
            candidate: self.waiting.clone(),
            places: self.places,
            seed: 1,
        };
        self.state.advance(now, &self.rules);
        if self.state.done_with.take().is_some() {
            self.waiting = None;
        }
        // As after a restart between the two.
        self.state = serde_json::from_slice(&serde_json::to_vec(&self.state).unwrap()).unwrap();
        self.write();
        let comparison = self.state.comparison(Cycle(self.cycle), 100, &self.rules).unwrap();
        let cycle = Cycle(self.cycle);
        let (effect, differs, variance) = (self.effect, self.differs, self.variance);
        let freshness = |more: f64| {
            let of = |value| Some(Interval { value, variance, sample: 300 });
            [of(0.80 + more), of(0.82)]
        };
        let of_plan = comparison.as_ref().and_then(|comparison| match comparison {
            PlanComparison::Arms { division, .. } => Some(*division),
            other => other.counted(),
        });
        match (&mut self.state.step, comparison) {
            (ImproveStep::Shadow(attempt), Some(PlanComparison::Shadow { .. })) => {
                let other = if differs { 40 } else { 0 };
                let overlap =
                    Overlap { both: 100 - other, only_in_force: other, only_candidate: other, drawn: other };
                let found = |changed| ComparedVisits { visits: other, changed, ..ComparedVisits::default() };
                let (only_in_force, only_candidate, overlap) =
                    (found(other / 2), found(other / 4), Some(overlap));
                attempt.note_shadow(
                    cycle,
                    &FoundByShare { only_in_force, only_candidate, overlap, ..FoundByShare::default() },
                );
                self.state.note_arms(cycle, of_plan.unwrap(), freshness(0.0));
            }
            (ImproveStep::Trial(_) | ImproveStep::Guard(_), Some(PlanComparison::Arms { other, .. })) => {
                self.state.note_arms(
                    cycle,
                    of_plan.unwrap(),
                    freshness(if other.is_some() { effect } else { 0.0 }),
                );
            }
            (ImproveStep::Idle | ImproveStep::Proposed(_), Some(PlanComparison::NextArms(_))) => {
                self.state.note_arms(cycle, of_plan.unwrap(), freshness(0.0));
            }
            (_, None) => {}
            other => panic!("{other:?}"),
        }
        self.cycle += 1;
    }

    fn run(&mut self, cycles: u32) {
        (0..cycles).for_each(|_| self.next());
    }

    fn anna(&self) -> DecisionAuthor {
        DecisionAuthor { who: "anna".into(), at: 0, cycle: Cycle(self.cycle) }
    }

    fn promote(&mut self) -> Result<(String, bool), String> {
        self.state.promote(&self.in_force, &self.anna()).map_err(|why| why.to_string())
    }

    fn roll_back(&mut self) -> Result<(String, bool), String> {
        self.state.roll_back(&self.anna()).map_err(|why| why.to_string())
    }

    fn hold(&mut self, is_held: bool) -> bool {
        self.state.hold(is_held, &self.anna())
    }

    fn events(&self) -> Vec<(u32, LoopEventKind)> {
        self.state.events.iter().map(|event| (event.cycle.0, event.what)).collect()
    }

    fn why(&self) -> &str {
        &self.state.events.back().unwrap().why
    }
}

#[test]
fn a_better_candidate_comes_into_force_step_by_step_and_stays() {
    let mut world = LoopWorld::new();
    world.run(2);
    world.offer("t * p_eb");
    world.run(150);
    assert_eq!(
        world.events(),
        [
            (3, LoopEventKind::Shadowed),
            (10, LoopEventKind::TrialBegan),
            (66, LoopEventKind::Promoted),
            (94, LoopEventKind::Kept)
        ],
        "{:?}",
        world.state.events
    );
    assert_eq!(world.in_force.expr, formula("t * p_eb").expr);
    assert_eq!((world.state.tries, &world.state.step), (0, &ImproveStep::Idle));
}

#[test]
fn a_candidate_that_loses_is_rejected_and_not_tried_again_for_a_while() {
    let mut world = LoopWorld::new();
    world.effect = -0.05;
    world.offer("t * p_eb");
    world.run(70);
    let (rejected, what) = world.events()[2];
    // It visits its sites from cycle 22 on, and they count from cycle 36 on.
    assert!(what == LoopEventKind::Rejected && (37..64).contains(&rejected), "{:?}", world.state.events);
    world.offer("t * p_eb");
    world.run(2);
    assert_eq!(world.events().last(), Some(&(71, LoopEventKind::Refused)));
    let until = format!("not tried until cycle {}", rejected + 90);
    assert!(world.why().contains(&until), "{}", world.why());
    assert_eq!(world.in_force.expr, formula("t * X").expr);
    world.run(90);
    world.offer("t * p_eb");
    world.run(1);
    assert_eq!(world.events().last().unwrap().1, LoopEventKind::Shadowed);
}

#[test]
fn a_small_difference_that_cannot_be_told_is_proposed() {
    let mut world = LoopWorld::new();
    (world.effect, world.variance) = (-0.006, 0.00045);
    world.offer("t * p_eb");
    world.run(130);
    assert_eq!(world.events().last(), Some(&(120, LoopEventKind::Proposed)), "{:?}", world.state.events);
    assert!(world.why().contains("cannot exclude a loss of 0.02"), "{}", world.why());
}

#[test]
fn a_promoted_formula_that_turns_out_worse_is_taken_back() {
    let mut world = LoopWorld::new();
    world.offer("t * p_eb");
    world.run(70);
    assert_eq!(world.in_force.expr, formula("t * p_eb").expr);
    world.effect = -0.2;
    world.run(28);
    let (cycle, what) = *world.events().last().unwrap();
    assert!(what == LoopEventKind::RolledBack && cycle < 94, "{:?}", world.state.events);
    assert_eq!(world.in_force.expr, formula("t * X").expr);
    assert_eq!(world.state.step, ImproveStep::Idle);
}

#[test]
fn a_formula_that_was_promoted_without_a_trial_is_compared_with_the_time_before() {
    // In the first cycle of the shadow run, and long after the proposal.
    for (effect, waited, end) in [-0.2, 0.0].into_iter().flat_map(|effect| {
        let end = if effect < 0.0 { LoopEventKind::RolledBack } else { LoopEventKind::Kept };
        [(effect, 1, end), (effect, 60, end)]
    }) {
        let mut world = LoopWorld::new();
        world.rules.promotes = false;
        world.run(40);
        world.offer("t * p_eb");
        world.run(waited);
        world.promote().unwrap();
        world.effect = effect;
        world.run(28 * 4 + 1);
        let (cycle, what) = *world.events().last().unwrap();
        assert_eq!(what, end, "{:?}", world.state.events);
        assert!(what == LoopEventKind::Kept || cycle < 40 + waited + 29, "{:?}", world.state.events);
    }
}

#[test]
fn arms_are_a_tenth_of_the_sites_once_the_crawl_has_grown() {
    let mut world = LoopWorld::new();
    world.places = sites(0);
    world.run(2);
    let part = |world: &LoopWorld| world.state.next_arms.as_ref().unwrap().division.part;
    assert_eq!(part(&world), 0.5);
    world.places = sites(5000);
    world.offer("t * p_eb");
    world.run(20);
    let ImproveStep::Trial(attempt) = &world.state.step else { panic!("{:?}", world.state.step) };
    assert_eq!(attempt.division.unwrap().part, 0.1);
}

#[test]
fn arms_that_were_planned_before_an_operator_held_the_loop_are_no_time_before() {
    let mut world = LoopWorld::new();
    world.offer("t * p_eb");
    world.run(30);
    let ImproveStep::Trial(attempt) = &world.state.step else { panic!("{:?}", world.state.step) };
    let division = attempt.division.unwrap();
    world.hold(true);
    world.state.note_arms(Cycle(30), division, [None, None]);
    assert_eq!(world.state.next_arms.as_ref().unwrap().days, []);
}

#[test]
fn a_plan_that_fails_takes_it_back_at_once() {
    let mut world = LoopWorld::new();
    world.offer("t * p_eb");
    world.run(70);
    world.state.fail(Cycle(71), 0, &rules(), "a plan chose pages whose score is not a number");
    world.run(1);
    assert_eq!(world.events().last(), Some(&(71, LoopEventKind::RolledBack)));
    assert_eq!(world.in_force.expr, formula("t * X").expr);
}

#[test]
fn a_formula_that_an_operator_chose_is_not_overwritten_by_one_taken_back_before() {
    let mut world = LoopWorld::new();
    world.offer("t * p_eb");
    world.run(70);
    world.state.fail(Cycle(71), 0, &rules(), "a plan chose pages whose score is not a number");
    world.in_force = formula("p_eb_site");
    assert!(world.state.has_to_write() && world.state.to_write(&world.in_force).is_none());
    world.run(1);
    assert_eq!(world.events().last(), Some(&(71, LoopEventKind::OperatorChose)));
    assert_eq!(world.in_force.expr, formula("p_eb_site").expr);
}

/// A candidate with this interval of its gain in freshness, and with this coverage.
fn fresher(gain: [f64; 2], coverage: [f64; 2]) -> FormulaCandidate {
    let freshness = Some(FreshnessTest { in_force: 0.8, candidate: 0.8 + (gain[0] + gain[1]) / 2.0, gain });
    let back_test = BackTestFigures { freshness, coverage, ..back_test([0.01, 0.03]) };
    FormulaCandidate::new(&formula("t * p_eb"), 1, back_test).unwrap()
}

#[test]
fn a_formula_that_starves_pages_is_replaced_without_a_trial_and_guarded() {
    for (effect, end) in [(0.01, LoopEventKind::Kept), (-0.2, LoopEventKind::RolledBack)] {
        let mut world = LoopWorld::new();
        world.run(20);
        (world.waiting, world.effect) = (Some(Ok(fresher([-0.01, 0.15], [0.38, 1.0]))), effect);
        world.run(140);
        let events = world.events();
        assert_eq!(events[..2], [(21, LoopEventKind::Shadowed), (28, LoopEventKind::Promoted)], "{events:?}");
        assert_eq!(events.last().unwrap().1, end, "{:?}", world.state.events);
        let why = &world.state.events[1].why;
        assert!(why.contains("38 % of the pages are visited now, and 100 % would be"), "{why}");
    }
    // A loss cannot be excluded, or hardly more pages, or only few sites for a guard.
    for (gain, coverage, count, second) in [
        ([-0.03, 0.15], [0.38, 1.0], 200, LoopEventKind::TrialBegan),
        ([0.05, 0.15], [0.80, 1.0], 200, LoopEventKind::TrialBegan),
        ([0.05, 0.15], [0.38, 1.0], 10, LoopEventKind::Proposed),
    ] {
        let mut world = LoopWorld::new();
        (world.waiting, world.places) = (Some(Ok(fresher(gain, coverage))), sites(count));
        world.run(10);
        assert_eq!(world.events().last().unwrap().1, second, "{:?}", world.state.events);
    }
}

#[test]
fn where_no_trial_could_tell_the_back_test_decides_and_a_guard_follows() {
    // Some 600 audited pages a cycle, and six.
    for (variance, gain, second, why) in [
        (0.0002, [-0.01, 0.15], LoopEventKind::TrialBegan, "the same"),
        (
            0.02,
            [-0.01, 0.15],
            LoopEventKind::Promoted,
            "without a trial, since a trial could exclude a loss of 0.10",
        ),
        (0.02, [-0.03, 0.15], LoopEventKind::Proposed, "and the back-test excludes no loss of 0.02"),
    ] {
        let mut world = LoopWorld::new();
        world.variance = variance;
        world.run(20);
        world.waiting = Some(Ok(fresher(gain, [0.95, 1.0])));
        world.run(10);
        assert_eq!(world.events()[1].1, second, "{:?}", world.state.events);
        assert!(world.why().contains(why), "{}", world.why());
        let is_guarded = matches!(world.state.step, ImproveStep::Guard(_));
        assert_eq!(is_guarded, second == LoopEventKind::Promoted);
    }
    // The time before shows it only in the trial, which ends before the candidate visits anything.
    for (gain, last) in [([-0.01, 0.15], LoopEventKind::Promoted), ([-0.03, 0.15], LoopEventKind::Proposed)] {
        let mut world = LoopWorld::new();
        world.waiting = Some(Ok(fresher(gain, [0.95, 1.0])));
        world.run(8);
        world.variance = 0.02;
        world.run(14);
        assert_eq!(
            world.events()[1..],
            [(8, LoopEventKind::TrialBegan), (22, last)],
            "{:?}",
            world.state.events
        );
        let is_guarded = matches!(world.state.step, ImproveStep::Guard(_));
        assert_eq!(is_guarded, last == LoopEventKind::Promoted);
    }
    let mut world = LoopWorld::new();
    (world.variance, world.state.alarm) = (0.02, Some(Cycle(25)));
    world.run(20);
    world.waiting = Some(Ok(fresher([-0.01, 0.15], [0.95, 1.0])));
    world.run(10);
    assert!(world.why().contains("and the web has changed since the back-test"), "{}", world.why());
    let mut world = LoopWorld::new();
    let young = fresher([-0.01, 0.15], [0.95, 1.0]);
    let back_test = BackTestFigures { sample: [1000, 80, 27], ..young.back_test };
    world.waiting = Some(Ok(FormulaCandidate::new(&formula("t * p_eb"), 1, back_test).unwrap()));
    world.variance = 0.02;
    world.run(10);
    assert!(world.why().contains("the back-test is of 27 cycles, and decides from 28 on"), "{}", world.why());
}

#[test]
fn what_may_not_be_tried_is_refused_with_the_reason() {
    for (offered, reason) in [
        (Ok(candidate("t * X", [0.01, 0.03])), "it is the formula in force"),
        (Ok(candidate("t * p_eb", [0.001, 0.03])), "above 0.002 is needed"),
        (Ok(fresher([-0.09, -0.03], [0.9, 0.95])), "freshness would change by -0.0900 to -0.0300"),
        (
            Ok(fresher([0.01, 0.03], [1.0, 0.7])),
            "it would visit 70.0 % of the pages, 100.0 % are visited now",
        ),
        (Err("changed by hand".to_owned()), "changed by hand"),
    ] {
        let mut world = LoopWorld::new();
        world.waiting = Some(offered);
        world.run(1);
        assert_eq!(world.events(), [(1, LoopEventKind::Refused)]);
        assert!(world.why().contains(reason), "{}", world.why());
        assert!(world.waiting.is_none() && world.state.step == ImproveStep::Idle);
    }
}

#[test]
fn a_candidate_that_chooses_the_same_pages_is_rejected() {
    let mut world = LoopWorld::new();
    world.differs = false;
    world.offer("t * p_eb");
    world.run(9);
    assert_eq!(world.events(), [(1, LoopEventKind::Shadowed), (8, LoopEventKind::Rejected)]);
    assert_eq!(world.why(), "it chooses the same pages");
}

#[test]
fn few_sites_or_the_mode_only_propose_and_an_operator_promotes() {
    for (count, promotes) in [(59, true), (200, false)] {
        let mut world = LoopWorld::new();
        (world.places, world.rules.promotes) = (sites(count), promotes);
        assert!(world.promote().unwrap_err().contains("no candidate waits"));
        world.offer("t * p_eb");
        world.run(30);
        assert_eq!(world.events(), [(1, LoopEventKind::Shadowed), (8, LoopEventKind::Proposed)]);
        assert_eq!(world.in_force.expr, formula("t * X").expr);
        assert_eq!(world.promote(), Ok(("t * p_eb".into(), true)));
        assert_eq!(world.promote(), Ok(("t * p_eb".into(), false)), "asked for already");
        assert!(world.roll_back().unwrap_err().contains("hold the loop to drop it"));
        assert_eq!(world.in_force.expr, formula("t * X").expr, "not before the next cycle");
        world.run(1);
        assert_eq!(world.in_force.expr, formula("t * p_eb").expr);
        assert_eq!(
            (world.events().last(), world.why()),
            (Some(&(31, LoopEventKind::Promoted)), "promoted by anna")
        );
        assert!(world.promote().unwrap_err().contains("in force already"));
        assert_eq!(world.roll_back(), Ok(("t * p_eb".into(), true)));
        world.run(1);
        assert_eq!(world.in_force.expr, formula("t * X").expr);
        assert_eq!(
            (world.events().last(), world.why()),
            (Some(&(32, LoopEventKind::RolledBack)), "taken back by anna")
        );
        assert!(world.roll_back().is_err());
    }
}

#[test]
fn an_operators_choice_wins_and_is_left_alone() {
    let mut world = LoopWorld::new();
    world.offer("t * p_eb");
    world.run(30);
    world.in_force = formula("p_eb_site");
    world.run(1);
    assert_eq!(world.events().last(), Some(&(31, LoopEventKind::OperatorChose)));
    assert_eq!(world.state.step, ImproveStep::Idle);
    world.offer("t * eb_site");
    world.run(1);
    assert!(world.why().contains("rests until cycle 45"), "{}", world.why());
    world.run(14);
    world.offer("t * eb_site");
    world.run(80);
    assert_eq!(world.in_force.expr, formula("t * eb_site").expr);
    assert!(world.promote().unwrap_err().contains("in force already"));
    assert!(world.hold(true) && !world.hold(true));
    world.in_force = formula("t");
    world.offer("t * p_eb");
    world.run(40);
    assert!(world.state.step == ImproveStep::Idle && world.waiting.is_some(), "held");
}

#[test]
fn a_decision_is_dropped_when_the_loop_is_held_or_another_formula_is_chosen() {
    let mut world = LoopWorld::new();
    world.rules.promotes = false;
    world.offer("t * p_eb");
    world.run(10);
    world.promote().unwrap();
    assert!(world.hold(true));
    world.run(2);
    assert_eq!(world.in_force.expr, formula("t * X").expr);
    assert!(world.hold(false));
    assert_eq!(world.events()[2..], [(11, LoopEventKind::Held), (13, LoopEventKind::Released)]);
    assert!(world.state.events.iter().all(|event| event.id.is_empty() == event.candidate.is_empty()));
    world.promote().unwrap();
    world.in_force = formula("p_eb_site");
    assert!(world.promote().unwrap_err().contains("an operator chose p_eb_site"));
    world.run(1);
    assert_eq!(world.events().last(), Some(&(13, LoopEventKind::OperatorChose)));
    assert_eq!(world.in_force.expr, formula("p_eb_site").expr);
}

#[test]
fn a_trial_can_only_be_ended_by_holding_the_loop() {
    let mut world = LoopWorld::new();
    world.offer("t * p_eb");
    world.run(20);
    let why = world.promote().unwrap_err();
    assert!(why.contains("its trial runs") && why.contains("hold the loop"), "{why}");
    assert!(world.roll_back().unwrap_err().contains("recrawl formula rollback"));
    assert!(world.hold(true));
    assert_eq!(
        (world.state.step.clone(), world.events().last()),
        (ImproveStep::Idle, Some(&(21, LoopEventKind::Held)))
    );
    assert_eq!(world.state.events.back().unwrap().candidate, "t * p_eb");
}

#[test]
fn events_are_counted_even_when_they_are_forgotten() {
    let mut world = LoopWorld::new();
    for _ in 0..120 {
        world.hold(true);
        world.hold(false);
    }
    let LoopState { events, forgotten, .. } = &world.state;
    assert_eq!((events.len(), *forgotten), (MAX_EVENTS, 40));
}

#[test]
fn learning_is_due_every_week_and_after_an_alarm_but_not_beside_a_trial() {
    let mut world = LoopWorld::new();
    world.state.learned = Cycle(10);
    let wants = |world: &LoopWorld, cycle: u32| world.state.wants_learning(Cycle(cycle), &rules());
    assert_eq!([wants(&world, 16), wants(&world, 17)], [false, true]);
    world.state.alarm = Some(Cycle(12));
    assert!(wants(&world, 13));
    world.offer("t * p_eb");
    world.run(3);
    assert!(!wants(&world, 30));
}

#[test]
fn each_try_is_judged_more_strictly() {
    let mut state = LoopState::default();
    let mut sum = 0.0;
    for _ in 0..1000 {
        sum += state.alpha();
        state.tries += 1;
    }
    assert!((0.049..0.05).contains(&sum), "{sum}");
}
