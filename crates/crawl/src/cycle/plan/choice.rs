//! The pages of a round: by one formula, or by two that are compared.

use crate::crawl::Crawl;
use crate::cycle::inputs::FormulaInputs;
use crate::cycle::plan::hosts::{Divided, Hosts};
use crate::cycle::plan::measure::{Measured, Measuring};
use crate::failure::Failure;
use crate::parts::dates::TrustedDates;
use crate::parts::focus::survey::Survey;
use crate::parts::improve::arms::ArmsFacts;
use crate::parts::improve::steps::Comparison;
use crate::parts::promises::Due;
use crate::report::Bursts;
use crate::report::facts::Facts;
use recrawl_estimation::Population;
use recrawl_focus::live::recall::AllPending;
use recrawl_formula::Formula;
use recrawl_repository::Generation;
use recrawl_repository::spill::SpillRuns;
use recrawl_scheduler::{
    Arm, ArmsPlanner, Chosen, ChosenOfArms, ChosenPage, Contested, Counts, DueFirst, ExpectedChanges,
    Overlap, Plan, PlanError, PlanMemory, PlanRequest, Planner, Policy, WhyFirst,
};
use recrawl_types::{Reads, Round, Spill, StateColumns};

/// Part of the audit share that goes to pages that only a candidate chooses.
const CONTESTED_PART: f64 = 0.25;
/// Part of the audit sample that each arm of a trial gets, and all other sites.
const AUDIT_PARTS: [f64; 3] = [0.25, 0.25, 0.5];

/// What to choose by.
pub(super) struct ToChoose<'f> {
    pub round: Round,
    pub formula: &'f Formula,
    /// What the plan compares.
    pub comparison: Option<Comparison>,
    /// The facts of the last plan, if any, for a plan that is measured.
    pub last: Option<Option<&'f Facts>>,
    /// Pages that promises visit in this cycle.
    pub promised: &'f [Due],
    /// What visits of a focused crawl yielded, and whether enough was found.
    pub focus: Option<(&'f Survey, bool)>,
}

/// What was chosen.
pub(super) struct Choice {
    pub pages: ChosenPages,
    pub counts: Counts,
    /// The lowest score chosen by score, outside of the arms of a trial.
    pub cutoff: Option<f64>,
    pub measured: Option<Measured>,
    pub arms: Option<ArmsFacts>,
    /// Never-fetched URLs by expected relevance, in a focused crawl.
    pub pending: Option<AllPending>,
    /// Did one of the compared formulas choose pages whose score is not a number?
    pub is_broken: bool,
}

/// The chosen pages, in the order of ordinals.
pub(super) enum ChosenPages {
    One(Chosen),
    Shadow(Box<Contested>),
    Arms(ChosenOfArms),
}

impl ChosenPages {
    /// How the choices of two formulas differ, once all pages are taken.
    pub fn overlap(&self) -> Option<Overlap> {
        match self {
            ChosenPages::Shadow(contested) => Some(contested.overlap()),
            ChosenPages::One(_) | ChosenPages::Arms(_) => None,
        }
    }
}

impl Iterator for ChosenPages {
    type Item = Result<ChosenPage, PlanError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            ChosenPages::One(pages) => pages.next(),
            ChosenPages::Shadow(pages) => pages.next(),
            ChosenPages::Arms(pages) => pages.next(),
        }
    }
}

/// The pass over the state columns, preceded by another if a formula reads the rates of sites. Adds to `bursts`.
pub(super) fn choose(
    crawl: &Crawl,
    generation: &Generation,
    to_choose: ToChoose<'_>,
    request: PlanRequest,
    bursts: &mut Bursts,
) -> Result<Choice, Failure> {
    let ToChoose { round, formula, comparison, last, promised, focus } = to_choose;
    let mut filler = focus.map(|(survey, is_satisfied)| survey.filler(is_satisfied));
    let is_by_formula = request.policy.is_formula();
    let comparison = comparison.filter(|_| is_by_formula);
    let other = comparison.as_ref().and_then(Comparison::other);
    let mut reads = Reads::default();
    if is_by_formula {
        reads =
            [Some(formula), other].into_iter().flatten().fold(reads, |reads, f| reads | f.compile().reads());
    }
    crawl.live.begin_passing((1 + u64::from(reads.needs_priors())) * generation.pages());
    let passed = |pages: usize| crawl.live.passed(pages as u64);
    let inputs = FormulaInputs::read_for(reads, request.cycle, generation, Some(&crawl.tables), &passed)?;
    let pinged = generation.ordinals(&crawl.pings.trusted()).map_err(Failure::work)?;
    let mut dates =
        TrustedDates::new(&crawl.tables, generation, crawl.settings.config.hints.min_trust.0, &pinged);
    let unavailable = super::unavailable(&crawl.tables)?;
    // Without a limit, hosts are not counted; this limit binds no available host.
    let max_per_host = request.max_per_host.or((!unavailable.is_empty()).then_some(generation.pages()));
    let samples_siblings = request.samples_siblings && inputs.need_keys();
    let mut request = PlanRequest { max_per_host, samples_siblings, ..request };
    let mut first = Vec::new();
    let mut measuring = match last {
        None => None,
        Some(last) => {
            let measuring = Measuring::begin(crawl, generation, &inputs, &request, last)?;
            first = measuring.first(generation)?;
            request = measuring.request(request);
            Some(measuring)
        }
    };
    let counted = comparison.as_ref().and_then(Comparison::counted).filter(|_| measuring.is_some());
    let runs = counted.map(|division| Ok::<_, Failure>(Divided::of(division, generation)?.runs(generation)));
    let runs = runs.transpose()?;
    first.extend(promised.iter().map(|page| DueFirst { ordinal: page.ordinal, why: WhyFirst::Promised }));
    // Arms take them in order.
    first.sort_unstable();
    let mut scan = |each: &mut dyn FnMut(&StateColumns) -> Result<(), PlanError>| {
        generation.scan(inputs.need_keys(), |first, columns| {
            bursts.add(&inputs.fill(first, columns), &columns.keys);
            filler.iter_mut().for_each(|filler| filler.fill(first, columns));
            dates.keep_trusted(first, columns)?;
            measuring.iter_mut().for_each(|measuring| measuring.add(columns));
            passed(columns.len());
            each(columns).map_err(Failure::work)
        })
    };
    let now = (crawl.clock)();
    let hosts = || Hosts::new(generation, &unavailable, now);
    let mut policy = request.policy(formula);
    let spill = |plan: usize| -> Box<dyn Spill> {
        Box::new(SpillRuns::of_plan(crawl.storage.clone(), round, plan as u32))
    };
    let memory = crawl.settings.config.storage.plan_memory.0;
    let (seed, cycle) = (request.seed, request.cycle);
    let contested = CONTESTED_PART * request.audit_share * request.pages as f64;
    let mut other_policy = other.map(|formula| request.policy(formula));
    let mut parts = vec![1.0];
    let (plans, divided) = match &comparison {
        None | Some(Comparison::NextArms(_)) => {
            let planner = Planner::new(request, &mut *policy, hosts(), PlanMemory::new(memory, spill(0)));
            let mut planner = planner.map_err(Failure::work)?.due_first(first);
            if let Some(runs) = runs {
                planner = planner.count_arms(runs);
            }
            scan(&mut |columns| planner.scan(columns))?;
            (vec![planner.finish().map_err(Failure::work)?], None)
        }
        Some(comparison) => {
            let divided = match comparison {
                Comparison::Arms { division, .. } => Some(Divided::of(*division, generation)?),
                Comparison::Shadow { .. } | Comparison::NextArms(_) => None,
            };
            let arms = match &divided {
                None => shadowed(request, hosts, first),
                Some(divided) => {
                    let first = divided.first(generation, &first).map_err(Failure::work)?;
                    arms(&request, divided.parts(), divided.hosts(hosts), first, comparison.arm_of_other())
                }
            };
            let mut policies: Vec<&mut dyn Policy> = vec![&mut *policy];
            policies.extend(other_policy.as_mut().map(|policy| &mut **policy as &mut dyn Policy));
            let of_arms = divided.as_ref().map(|divided| divided.runs(generation));
            let mut planner =
                ArmsPlanner::new(arms, policies, of_arms, memory, spill).map_err(Failure::work)?;
            if let Some(runs) = runs {
                planner = planner.count_arms(runs);
            }
            scan(&mut |columns| planner.scan(columns))?;
            parts = divided.as_ref().map_or(parts, |divided| divided.parts().to_vec());
            (planner.finish().map_err(Failure::work)?, divided)
        }
    };
    // In a shadow run only the first plan is carried out.
    let carried_out = if divided.is_some() { &plans[..] } else { &plans[..1] };
    let counts = carried_out.iter().fold(Counts::default(), |sum, plan| sum + plan.counts);
    let mut expected = ExpectedChanges::default();
    carried_out.iter().for_each(|plan| expected += plan.expected);
    let is_broken = other.is_some() && plans.iter().any(|plan| plan.cutoff.is_some_and(f64::is_nan));
    let cutoffs: Vec<Option<f64>> = carried_out.iter().map(|plan| plan.cutoff).collect();
    let measured = measuring.map(|measuring| measuring.finish(counts, expected, cutoffs.clone(), &parts));
    let populations = |plans: &[Plan]| {
        let of =
            |plan: &Plan| Population { pages: plan.counts.audit_eligible, expected: plan.expected.changes };
        [of(&plans[0]), of(&plans[1])]
    };
    let counted_arm = |arm: usize| {
        let (pages, expected) = plans[0].arms.get(arm).copied().unwrap_or_default();
        Population { pages, expected }
    };
    let arms = match &divided {
        Some(divided) => Some(ArmsFacts { division: divided.division, populations: populations(&plans) }),
        None => counted.map(|division| ArmsFacts { division, populations: [0, 1].map(counted_arm) }),
    };
    let mut chosen = plans.into_iter().map(|plan| plan.chosen);
    let pages = match (&comparison, divided) {
        (Some(Comparison::Shadow { differing, .. }), _) => {
            let (in_force, candidate) =
                (chosen.next().expect("two plans"), chosen.next().expect("two plans"));
            let probability = (contested / (*differing).max(1) as f64).min(1.0);
            ChosenPages::Shadow(Box::new(Contested::new(in_force, candidate, seed, cycle, probability)))
        }
        (_, Some(_)) => ChosenPages::Arms(ChosenOfArms::new(chosen)),
        (_, None) => ChosenPages::One(chosen.next().expect("one plan")),
    };
    // That of all other sites, which are not tried on.
    let cutoff = cutoffs.last().copied().flatten();
    let pending = filler.map(|filler| filler.pending());
    Ok(Choice { pages, counts, cutoff, measured, arms, pending, is_broken })
}

/// Two plans of all pages. A part of the audit sample is left to pages that only the candidate chooses.
fn shadowed<'c>(
    request: PlanRequest,
    hosts: impl Fn() -> Hosts<'c>,
    first: Vec<DueFirst>,
) -> Vec<Arm<Hosts<'c>>> {
    let request = PlanRequest { audit_share: request.audit_share * (1.0 - CONTESTED_PART), ..request };
    let arm = |policy, first| Arm { request: request.clone(), policy, hosts: hosts(), first };
    vec![arm(0, first.clone()), arm(1, first)]
}

/// The plans of the arms of a trial: k by their pages, and of the audit sample their own part.
fn arms<'c>(
    request: &PlanRequest,
    parts: [f64; 3],
    hosts: [Hosts<'c>; 3],
    first: [Vec<DueFirst>; 3],
    of_other: Option<usize>,
) -> Vec<Arm<Hosts<'c>>> {
    let audited = request.audit_share * request.pages as f64;
    let has_rest = parts[2] > 0.0;
    let (mut before, mut up_to) = (0.0, 0.0);
    let share = |of: f64, from: f64, to: f64| (of * to).round() as u64 - (of * from).round() as u64;
    let arm = |(arm, (hosts, first)): (usize, (Hosts<'c>, Vec<DueFirst>))| {
        before = up_to;
        up_to = if arm == 2 { 1.0 } else { before + parts[arm] };
        let pages = share(request.pages as f64, before, up_to);
        let audit_part = if has_rest { AUDIT_PARTS[arm] } else { parts[arm] };
        let request = PlanRequest {
            pages,
            discovery_min: share(request.discovery_min as f64, before, up_to),
            // The shares of k together are at most 1.
            audit_share: (audited * audit_part / (pages as f64).max(1.0))
                .min(1.0 - request.discovery_share - request.announced_share)
                .max(0.0),
            ..request.clone()
        };
        // Where one arm has all pages, nothing is compared, and they follow the formula in force.
        let is_other = of_other == Some(arm) && parts[arm] < 1.0;
        Arm { request, policy: usize::from(is_other), hosts, first }
    };
    hosts.into_iter().zip(first).enumerate().map(arm).collect()
}
