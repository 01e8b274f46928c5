//! Several plans of one cycle in one pass, to compare two policies.
//!
//! In a **trial** each plan has hosts of its own: the arms of the experiment. In a **shadow** run two plans have the
//! same hosts, and only one is carried out ([`Contested`](crate::Contested)).

use crate::planner::Scores;
use crate::selection::{PlanSelection, ScoredBlock};
use crate::{
    ArmRuns, Chosen, ChosenPage, DueFirst, Plan, PlanError, PlanMemory, PlanRequest, Policy, ScanHosts,
};
use recrawl_types::{Spill, StateColumns};
use std::iter::Peekable;

/// One of the compared plans.
pub struct PlanArm<H> {
    /// What it asks for. All arms have the same cycle and seed.
    pub request: PlanRequest,
    /// Index of its policy.
    pub policy: usize,
    /// Its hosts in scan order.
    pub hosts: H,
    /// Pages of these hosts to visit whatever their score.
    pub first: Vec<DueFirst>,
}

/// Makes the plans of some arms in one pass over all pages. Every block is scored once by each policy.
pub struct ArmsPlanner<'p, H> {
    policies: Vec<&'p mut dyn Policy>,
    scores: Vec<Scores>,
    arms: Vec<(usize, PlanSelection<H>)>,
    /// Runs of pages of one arm; none if all arms have all pages.
    runs: Option<ArmRuns>,
    /// The arm of the current run, and the number of its pages still to come.
    arm: usize,
    left: u64,
    scanned: u64,
}

impl<'p, H: ScanHosts> ArmsPlanner<'p, H> {
    /// Prepares the policies for the cycle. `runs` divides all pages into runs of one arm; none if all
    /// arms have all pages. `memory` is divided equally among the arms, and `spill` makes the
    /// storage of each.
    ///
    /// # Errors
    /// Invalid shares.
    pub fn new(
        arms: Vec<PlanArm<H>>,
        mut policies: Vec<&'p mut dyn Policy>,
        runs: Option<ArmRuns>,
        memory: u64,
        mut spill: impl FnMut(usize) -> Box<dyn Spill>,
    ) -> Result<ArmsPlanner<'p, H>, PlanError> {
        let request = arms.first().map(|arm| arm.request.clone());
        let mut scores = Vec::new();
        if let Some(request) = &request {
            policies.iter_mut().for_each(|policy| policy.prepare(request.cycle, request.seed));
            // What is expected does not depend on the formula, so it is computed once.
            let others = PlanRequest { sums_expected: false, ..request.clone() };
            scores.push(Scores::new(request));
            scores.extend(policies.iter().skip(1).map(|_| Scores::new(&others)));
        }
        let of_arm = memory / arms.len().max(1) as u64;
        let arms = arms.into_iter().enumerate().map(|(number, arm)| {
            let memory = PlanMemory::new(of_arm, spill(number));
            let selection = PlanSelection::new(arm.request, arm.hosts, memory)?;
            Ok((arm.policy, selection.due_first(arm.first)))
        });
        let arms = arms.collect::<Result<_, PlanError>>()?;
        Ok(ArmsPlanner { policies, scores, arms, runs, arm: 0, left: 0, scanned: 0 })
    }

    /// Counts arms for the first plan, as [`Planner::count_arms`](crate::Planner::count_arms).
    #[must_use]
    pub fn count_arms(mut self, runs: ArmRuns) -> ArmsPlanner<'p, H> {
        let mut arms = self.arms.into_iter();
        let first = arms.next().map(|(policy, plan)| (policy, plan.count_arms(runs)));
        self.arms = first.into_iter().chain(arms).collect();
        self
    }

    /// Scans the next block of pages.
    ///
    /// # Errors
    /// As [`Planner::scan`](crate::Planner::scan), and if the runs have fewer pages than were scanned.
    pub fn scan(&mut self, columns: &StateColumns) -> Result<(), PlanError> {
        for (policy, scores) in self.policies.iter().zip(&mut self.scores) {
            scores.score(&**policy, columns, self.scanned);
        }
        let first = self.scanned;
        self.scanned += columns.len() as u64;
        let ArmsPlanner { scores, arms, runs, arm, left, .. } = self;
        let block = |policy: usize| {
            let expected = &scores[0].expected;
            ScoredBlock { columns, scores: &scores[policy].scores, expected, first }
        };
        let Some(runs) = runs else {
            return arms
                .iter_mut()
                .try_for_each(|(policy, plan)| plan.scan(&block(*policy), 0..columns.len()));
        };
        let mut row = 0;
        while row < columns.len() {
            while *left == 0 {
                let pages = first + row as u64;
                (*left, *arm) = runs.next().unwrap_or(Err(PlanError::Hosts { pages, more: false }))?;
            }
            let end = row + usize::try_from(*left).unwrap_or(usize::MAX).min(columns.len() - row);
            *left -= (end - row) as u64;
            let (policy, plan) = &mut arms[*arm];
            plan.scan(&block(*policy), row..end)?;
            row = end;
        }
        Ok(())
    }

    /// The plans, in the order of the arms, after the last block.
    ///
    /// # Errors
    /// As [`Planner::finish`](crate::Planner::finish).
    pub fn finish(self) -> Result<Vec<Plan>, PlanError> {
        self.arms.into_iter().map(|(_, plan)| plan.finish(None)).collect()
    }
}

/// The chosen pages of all arms in the order of ordinals, each with the number of its arm.
pub struct ChosenOfArms(Vec<Peekable<Chosen>>);

impl ChosenOfArms {
    /// The plans have hosts of their own.
    pub fn new(arms: impl IntoIterator<Item = Chosen>) -> ChosenOfArms {
        ChosenOfArms(arms.into_iter().map(Iterator::peekable).collect())
    }
}

impl Iterator for ChosenOfArms {
    type Item = Result<ChosenPage, PlanError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut first: Option<(u64, usize)> = None;
        for (arm, chosen) in self.0.iter_mut().enumerate() {
            match chosen.peek() {
                None => {}
                Some(Err(_)) => return chosen.next(),
                Some(Ok(page)) if first.is_none_or(|first| page.ordinal < first.0) => {
                    first = Some((page.ordinal, arm));
                }
                Some(Ok(_)) => {}
            }
        }
        let (_, arm) = first?;
        let page = self.0[arm].next()?;
        Some(page.map(|page| ChosenPage { arm, ..page }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ListedScores, MadePlan, MemorySpill, TestPage, columns, pages, plan, requests};
    use crate::{HostPages, Ties};
    use proptest::prelude::*;

    fn no_spill(_arm: usize) -> Box<dyn Spill> {
        Box::new(MemorySpill::default())
    }

    fn finished<H: ScanHosts>(
        mut planner: ArmsPlanner<'_, H>,
        pages: &[TestPage],
        block: usize,
    ) -> Vec<MadePlan> {
        pages.chunks(block).for_each(|pages| planner.scan(&columns(pages)).unwrap());
        planner.finish().unwrap().into_iter().map(|plan| MadePlan::read(plan).unwrap()).collect()
    }

    fn read(runs: Vec<(u64, usize)>) -> ArmRuns {
        Box::new(runs.into_iter().map(Ok))
    }

    proptest! {
        /// In a trial, each arm has the plan that its hosts would have alone, whatever lies between them.
        #[test]
        fn an_arm_is_a_plan_of_its_hosts(
            request in requests(),
            hosts in prop::collection::vec((pages(30), 0usize..3), 0..8),
            block in 1usize..60,
        ) {
            // A shuffle goes by ordinals, which are other ones among the pages of an arm alone.
            let request = PlanRequest { audit_share: 0.0, ties: Ties::Index, ..request };
            let request = PlanRequest { max_per_host: request.max_per_host.or(Some(50)), ..request };
            let all: Vec<TestPage> = hosts.iter().flat_map(|(pages, _)| pages.clone()).collect();
            let score = |ordinal: usize, policy: usize| ((ordinal * 7919 + policy * 31) % 1009) as f64;
            let scores = |policy| (0..all.len()).map(|i| score(i, policy)).collect::<Vec<f64>>();
            let (mut first, mut second) = (ListedScores(scores(0)), ListedScores(scores(1)));
            let policy_of = [0, 1, 0];
            let of_arm = |arm: usize| hosts.iter().filter(move |host| host.1 == arm).map(|host| host.0.len() as u64);
            let arms = (0..3).map(|arm| PlanArm { request: request.clone(), policy: policy_of[arm], hosts: of_arm(arm), first: Vec::new() });
            let runs = read(hosts.iter().map(|(pages, arm)| (pages.len() as u64, *arm)).collect());
            let planner = ArmsPlanner::new(arms.collect(), vec![&mut first, &mut second], Some(runs), 1 << 30, no_spill).unwrap();
            let made = finished(planner, &all, block);
            for arm in 0..3 {
                let ordinals: Vec<usize> = hosts.iter().scan(0, |end, (pages, of)| {
                    *end += pages.len();
                    Some((*end - pages.len()..*end, *of))
                }).filter(|(_, of)| *of == arm).flat_map(|(range, _)| range).collect();
                let own: Vec<TestPage> = ordinals.iter().map(|&i| all[i]).collect();
                let listed = ordinals.iter().map(|&i| score(i, policy_of[arm])).collect();
                let lengths: Vec<u64> = of_arm(arm).collect();
                let mut alone = plan(&request, &mut ListedScores(listed), &own, &lengths, 30).unwrap();
                alone.chosen.iter_mut().for_each(|page| page.0 = ordinals[page.0 as usize] as u64);
                prop_assert_eq!(&alone, &made[arm]);
            }
        }

        /// A plan that counts arms finds the populations that they have in a trial.
        #[test]
        fn counted_arms_are_those_of_a_trial(
            request in requests(),
            hosts in prop::collection::vec((pages(30), 0usize..3), 1..8),
            block in 1usize..60,
        ) {
            let request = PlanRequest { sums_expected: true, ..request };
            let all: Vec<TestPage> = hosts.iter().flat_map(|(pages, _)| pages.clone()).collect();
            let lengths = || hosts.iter().map(|host| host.0.len() as u64);
            let of_arm = |arm: usize| hosts.iter().filter(move |host| host.1 == arm).map(|host| host.0.len() as u64);
            let arms = (0..3).map(|arm| PlanArm { request: request.clone(), policy: 0, hosts: of_arm(arm), first: Vec::new() });
            let runs = || read(lengths().zip(hosts.iter().map(|host| host.1)).collect());
            let mut policies = [(); 3].map(|()| ListedScores(vec![1.0; all.len()]));
            let [trial, plain, shadow] = &mut policies;
            let mut trial = ArmsPlanner::new(arms.collect(), vec![trial], Some(runs()), 1 << 30, no_spill).unwrap();
            let mut plain = crate::Planner::new(request.clone(), plain, lengths(), PlanMemory::unlimited())
                .unwrap().count_arms(runs());
            let arm = |_| PlanArm { request: request.clone(), policy: 0, hosts: lengths(), first: Vec::new() };
            let mut shadow = ArmsPlanner::new([0, 1].map(arm).into(), vec![shadow], None, 1 << 30, no_spill)
                .unwrap().count_arms(runs());
            for pages in all.chunks(block) {
                let columns = StateColumns { global_rate: 0.1, ..columns(pages) };
                trial.scan(&columns).unwrap();
                plain.scan(&columns).unwrap();
                shadow.scan(&columns).unwrap();
            }
            let trial = trial.finish().unwrap();
            let plans = [plain.finish().unwrap(), shadow.finish().unwrap().swap_remove(0)];
            for (arm, of_trial) in trial.iter().enumerate() {
                for plan in &plans {
                    let (pages, expected) = plan.arms.get(arm).copied().unwrap_or_default();
                    prop_assert_eq!(pages, of_trial.counts.audit_eligible);
                    prop_assert!((expected - of_trial.expected.changes).abs() < 1e-9);
                }
            }
        }

        /// In a shadow run, each plan is the one that its policy makes alone.
        #[test]
        fn a_shadow_changes_nothing(request in requests(), pages in pages(100), block in 1usize..60) {
            let scores = |policy: usize| (0..pages.len()).map(|i| ((i * 7919 + policy * 31) % 13) as f64).collect::<Vec<_>>();
            let lengths = [pages.len() as u64];
            let (mut first, mut second) = (ListedScores(scores(0)), ListedScores(scores(1)));
            let arm = |policy| PlanArm { request: request.clone(), policy, hosts: lengths.into_iter(), first: Vec::new() };
            let planner = ArmsPlanner::new(vec![arm(0), arm(1)], vec![&mut first, &mut second], None, 1 << 30, no_spill).unwrap();
            let made = finished(planner, &pages, block);
            for (policy, made) in made.iter().enumerate() {
                let alone = plan(&request, &mut ListedScores(scores(policy)), &pages, &lengths, 30).unwrap();
                prop_assert_eq!(made, &alone);
            }
        }
    }

    #[test]
    fn the_pages_of_all_arms_come_in_order() {
        let pages = vec![crate::testing::fetched(3, 50); 40];
        let mut policy = ListedScores((0..40).map(f64::from).collect());
        let runs = [(5u64, 1usize), (10, 0), (5, 1), (20, 2)];
        let request = PlanRequest { pages: 6, audit_share: 0.0, ..crate::testing::request() };
        let hosts =
            |arm: usize| runs.into_iter().filter(move |run| run.1 == arm).map(|run| HostPages::from(run.0));
        let arm = |arm| PlanArm { request: request.clone(), policy: 0, hosts: hosts(arm), first: Vec::new() };
        let arms = (0..3).map(arm).collect();
        let mut planner =
            ArmsPlanner::new(arms, vec![&mut policy], Some(read(runs.to_vec())), 1 << 20, no_spill).unwrap();
        planner.scan(&columns(&pages)).unwrap();
        let plans = planner.finish().unwrap();
        let counts = plans.iter().fold(crate::PlanCounts::default(), |sum, plan| sum + plan.counts);
        assert_eq!((counts.pages, counts.chosen()), (40, 18));
        let chosen = ChosenOfArms::new(plans.into_iter().map(|plan| plan.chosen)).map(Result::unwrap);
        let chosen: Vec<(u64, usize)> = chosen.map(|page| (page.ordinal, page.arm)).collect();
        let expected = [(4, 1), (9, 0), (10, 0), (11, 0), (12, 0), (13, 0), (14, 0)];
        assert_eq!(chosen[..7], expected, "{chosen:?}");
        assert!(chosen.is_sorted() && chosen.len() == 18 && chosen[17] == (39, 2), "{chosen:?}");
    }

    #[test]
    fn runs_that_end_before_the_pages_are_an_error() {
        let (mut policy, pages) = (ListedScores(vec![0.0; 4]), vec![crate::testing::fetched(3, 50); 4]);
        let arm = PlanArm {
            request: crate::testing::request(),
            policy: 0,
            hosts: std::iter::empty::<u64>(),
            first: Vec::new(),
        };
        let mut planner =
            ArmsPlanner::new(vec![arm], vec![&mut policy], Some(read(vec![(3, 0)])), 1 << 20, no_spill)
                .unwrap();
        let error = planner.scan(&columns(&pages)).unwrap_err();
        assert!(matches!(error, PlanError::Hosts { pages: 3, more: false }), "{error}");
    }
}
