//! The pages of a round: by one formula, or by two that are compared.

use crate::crawl::Crawl;
use crate::cycle::inputs::FormulaInputs;
use crate::cycle::plan::hosts::{Divided, PlanHosts};
use crate::cycle::plan::measure::{Measuring, PlanMeasures};
use crate::failure::Failure;
use crate::fleet::Planning;
use crate::parts::dates::TrustedDates;
use crate::parts::focus::survey::FocusSurvey;
use crate::parts::improve::arms::{AUDIT_PART, ArmsFacts, Division};
use crate::parts::improve::steps::PlanComparison;
use crate::parts::promises::PromisedPage;
use crate::report::Bursts;
use crate::report::facts::Facts;
use recrawl_estimation::Population;
use recrawl_focus::live::recall::AllPending;
use recrawl_formula::Formula;
use recrawl_repository::Generation;
use recrawl_repository::spill::SpillRuns;
use recrawl_scheduler::{
    ArmRuns, ArmsPlanner, Chosen, ChosenOfArms, ChosenPage, Contested, DueFirst, ExpectedChanges, Overlap,
    Plan, PlanArm, PlanCounts, PlanError, PlanMemory, PlanRequest, Planner, Policy, WhyFirst,
};
use recrawl_types::{Reads, Round, Spill, StateColumns};

/// Part of the audit share that goes to pages that only a candidate chooses.
const CONTESTED_PART: f64 = 0.25;
/// Part of the audit sample that each arm of a trial gets, and all other sites.
const AUDIT_PARTS: [f64; 3] = [AUDIT_PART, AUDIT_PART, 1.0 - 2.0 * AUDIT_PART];

/// Inputs of the choice.
pub(super) struct SelectionInput<'f> {
    pub round: Round,
    pub formula: &'f Formula,
    /// The comparison of the plan.
    pub comparison: Option<PlanComparison>,
    /// The facts of the last plan, if any, for a plan that is measured.
    pub last: Option<Option<&'f Facts>>,
    /// Pages that promises visit in this cycle.
    pub promised: &'f [PromisedPage],
    /// Yields of the visits of a focused crawl, and whether enough was found.
    pub focus: Option<(&'f FocusSurvey, bool)>,
}

/// The chosen pages, with counts and measurements.
pub(super) struct PlanChoice {
    pub pages: ChosenPages,
    pub counts: PlanCounts,
    /// The lowest score chosen by score, outside of the arms of a trial.
    pub cutoff: Option<f64>,
    pub measured: Option<PlanMeasures>,
    pub arms: Option<ArmsFacts>,
    /// Never-fetched URLs by expected relevance, in a focused crawl.
    pub pending: Option<AllPending>,
    /// Did one of the compared formulas choose pages whose score is not a number?
    pub is_broken: bool,
}

impl PlanChoice {
    /// Of a round that only looks at what was asked for.
    pub fn nothing() -> PlanChoice {
        let (pages, counts) = (ChosenPages::None, PlanCounts::default());
        PlanChoice {
            pages,
            counts,
            cutoff: None,
            measured: None,
            arms: None,
            pending: None,
            is_broken: false,
        }
    }
}

/// The chosen pages, in the order of ordinals.
pub(super) enum ChosenPages {
    None,
    One(Chosen),
    Shadow(Box<Contested>),
    Arms(ChosenOfArms),
}

impl ChosenPages {
    /// How the choices of two formulas differ, once all pages are taken.
    pub fn overlap(&self) -> Option<Overlap> {
        match self {
            ChosenPages::Shadow(contested) => Some(contested.overlap()),
            ChosenPages::None | ChosenPages::One(_) | ChosenPages::Arms(_) => None,
        }
    }
}

impl Iterator for ChosenPages {
    type Item = Result<ChosenPage, PlanError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            ChosenPages::None => None,
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
    input: SelectionInput<'_>,
    request: PlanRequest,
    planning: &mut Planning<'_>,
    bursts: &mut Bursts,
) -> Result<PlanChoice, Failure> {
    let SelectionInput { round, formula, comparison, last, promised, focus } = input;
    let mut filler = focus.map(|(survey, is_satisfied)| survey.filler(is_satisfied));
    // A policy that needs no formula leaves nothing to compare.
    let comparison = comparison.filter(|_| request.policy.is_formula());
    let other = comparison.as_ref().and_then(PlanComparison::other);
    let passed = |pages: usize| crawl.live.passed(pages as u64);
    let inputs = inputs_of(crawl, generation, &request, [Some(formula), other], &passed)?;
    let pinged = generation.ordinals(&crawl.pings.trusted()).map_err(Failure::work)?;
    let mut dates =
        TrustedDates::new(&crawl.tables, generation, crawl.settings.config.hints.min_trust.0, &pinged);
    let unavailable = super::unavailable(&crawl.tables)?;
    // Without a limit, hosts are not counted; this limit binds no available host.
    let max_per_host = request.max_per_host.or((!unavailable.is_empty()).then_some(generation.pages()));
    let samples_siblings = request.samples_siblings && inputs.samples_siblings();
    let request = PlanRequest { max_per_host, samples_siblings, ..request };
    let (mut measuring, mut first, request) = begin_measuring(crawl, generation, &inputs, request, last)?;
    first.extend(promised.iter().map(|page| DueFirst { ordinal: page.ordinal, why: WhyFirst::Promised }));
    // Arms take them in order.
    first.sort_unstable();
    // Arms of the next trial are counted only where the crawl is measured.
    let counted = comparison.as_ref().and_then(PlanComparison::counted).filter(|_| measuring.is_some());
    let counted_runs = counted.map(|division| Ok::<_, Failure>(Divided::read(division, generation)?.runs()));
    // One pass feeds all: what each page is to the formulas must be filled in before a planner sees it.
    let mut scan = |each: &mut EachBlock<'_>| {
        generation.scan(inputs.need_keys(), |first, columns| {
            bursts.add(&inputs.fill(first, columns), &columns.keys);
            filler.iter_mut().for_each(|filler| filler.fill(first, columns));
            dates.keep_trusted(first, columns)?;
            measuring.iter_mut().for_each(|measuring| measuring.add(columns));
            passed(columns.len());
            each(columns).map_err(Failure::work)
        })
    };
    let by_importance = crawl.settings.pages.weighing().is_some();
    let now = (crawl.clock)();
    let (seed, cycle) = (request.seed, request.cycle);
    let contested = CONTESTED_PART * request.audit_share * request.pages as f64;
    let (mut policy, mut other_policy) = (request.policy(formula), other.map(|other| request.policy(other)));
    let mut policies: Vec<&mut dyn Policy> = vec![&mut *policy];
    policies.extend(other_policy.as_mut().map(|policy| &mut **policy as &mut dyn Policy));
    let to_plan = ToPlan {
        request,
        first,
        counted: counted_runs.transpose()?,
        hosts: &|| PlanHosts::new(generation, &unavailable, now),
        memory: crawl.settings.config.storage.plan_memory.0,
        spill: &|plan| Box::new(SpillRuns::of_plan(crawl.storage.clone(), round, plan as u32)),
    };
    let made = match &comparison {
        None | Some(PlanComparison::NextArms(_)) => to_plan.one(policies.remove(0), planning, &mut scan)?,
        Some(comparison) => to_plan.compared(comparison, generation, policies, &mut scan)?,
    };
    let is_broken = other.is_some() && made.plans.iter().any(|plan| plan.cutoff.is_some_and(f64::is_nan));
    let (counts, expected) = (made.counts(), made.expected());
    let cutoffs: Vec<Option<f64>> = made.carried_out().iter().map(|plan| plan.cutoff).collect();
    Ok(PlanChoice {
        // That of all other sites, which are not tried on.
        cutoff: cutoffs.last().copied().flatten(),
        measured: measuring.map(|measuring| measuring.finish(counts, expected, cutoffs, &made.parts)),
        counts,
        arms: made.arms(counted).map(|arms| ArmsFacts { by_importance, ..arms }),
        pages: made.pages(comparison.as_ref(), |in_force, candidate, differing| {
            let probability = (contested / differing.max(1) as f64).min(1.0);
            Contested::new(in_force, candidate, seed, cycle, probability)
        }),
        pending: filler.map(|filler| filler.pending()),
        is_broken,
    })
}

/// Reads what these formulas read, if formulas rank, and tells the progress how many passes there will be.
fn inputs_of(
    crawl: &Crawl,
    generation: &Generation,
    request: &PlanRequest,
    formulas: [Option<&Formula>; 2],
    passed: &dyn Fn(usize),
) -> Result<FormulaInputs, Failure> {
    let read_by = |reads, formula: &Formula| reads | formula.compile().reads();
    let formulas = formulas.into_iter().flatten().filter(|_| request.policy.is_formula());
    let reads = formulas.fold(Reads::default(), read_by);
    crawl.live.begin_passing((1 + u64::from(reads.needs_first_pass())) * generation.pages());
    let (tables, rules) = (Some(&*crawl.tables), &crawl.settings.pages);
    FormulaInputs::read_for(reads, request.cycle, generation, tables, rules, passed)
}

/// Begins to measure the plan, if it is measured. Returns the pages of the panel too, and the request that leaves room
/// for them.
fn begin_measuring(
    crawl: &Crawl,
    generation: &Generation,
    inputs: &FormulaInputs,
    request: PlanRequest,
    last: Option<Option<&Facts>>,
) -> Result<(Option<Measuring>, Vec<DueFirst>, PlanRequest), Failure> {
    let Some(last) = last else { return Ok((None, Vec::new(), request)) };
    let measuring = Measuring::begin(crawl, generation, inputs, &request, last)?;
    let first = measuring.first(generation)?;
    let request = measuring.request(request);
    Ok((Some(measuring), first, request))
}

/// Takes a block of pages with all that formulas read.
type EachBlock<'e> = dyn FnMut(&StateColumns) -> Result<(), PlanError> + 'e;
/// Passes all blocks of the generation.
type GenerationScan<'s> = dyn FnMut(&mut EachBlock<'_>) -> Result<(), Failure> + 's;

/// The input of planners, beside the pages.
struct ToPlan<'h> {
    request: PlanRequest,
    first: Vec<DueFirst>,
    /// Arms that are only counted, for a later trial.
    counted: Option<ArmRuns>,
    hosts: &'h dyn Fn() -> PlanHosts<'h>,
    memory: u64,
    spill: &'h dyn Fn(usize) -> Box<dyn Spill>,
}

impl ToPlan<'_> {
    /// One plan of all pages.
    fn one(
        self,
        policy: &mut dyn Policy,
        planning: &mut Planning<'_>,
        scan: &mut GenerationScan<'_>,
    ) -> Result<MadePlans, Failure> {
        let memory = PlanMemory::new(self.memory, (self.spill)(0));
        let planner = Planner::new(self.request, policy, (self.hosts)(), memory).map_err(Failure::work)?;
        let mut planner = planner.due_first(self.first);
        if let Some(counted) = self.counted {
            planner = planner.count_arms(counted);
        }
        if let Planning::Shared(shared) = planning {
            planner = planner.behind(shared.before);
        }
        scan(&mut |columns| planner.scan(columns))?;
        let plan = match planning {
            Planning::Shared(shared) => {
                let made = planner.finish_with(&mut |told| shared.gather(told));
                made.map_err(|error| shared.failed(error))
            }
            Planning::Own | Planning::Alone(_) => planner.finish(),
        };
        let plans = vec![plan.map_err(Failure::work)?];
        Ok(MadePlans { plans, divided: None, parts: vec![1.0] })
    }

    /// Two plans of all pages in a shadow run, or one plan for each arm of a trial.
    fn compared(
        self,
        comparison: &PlanComparison,
        generation: &Generation,
        policies: Vec<&mut dyn Policy>,
        scan: &mut GenerationScan<'_>,
    ) -> Result<MadePlans, Failure> {
        let divided = match comparison {
            PlanComparison::Arms { division, .. } => Some(Divided::read(*division, generation)?),
            PlanComparison::Shadow { .. } | PlanComparison::NextArms(_) => None,
        };
        let arms = match &divided {
            None => shadowed(self.request, self.hosts, self.first),
            Some(divided) => {
                let first = divided.first(&self.first).map_err(Failure::work)?;
                let (parts, hosts) = (divided.parts(), divided.hosts(self.hosts));
                let by_folder = divided.division.by_folder;
                arms(&self.request, (parts, by_folder), hosts, first, comparison.arm_of_other())
            }
        };
        let of_arms = divided.as_ref().map(|divided| divided.runs());
        let planner = ArmsPlanner::new(arms, policies, of_arms, self.memory, self.spill);
        let mut planner = planner.map_err(Failure::work)?;
        if let Some(counted) = self.counted {
            planner = planner.count_arms(counted);
        }
        scan(&mut |columns| planner.scan(columns))?;
        let parts = divided.as_ref().map_or(vec![1.0], |divided| divided.parts().to_vec());
        Ok(MadePlans { plans: planner.finish().map_err(Failure::work)?, divided, parts })
    }
}

/// The plans of one pass.
struct MadePlans {
    plans: Vec<Plan>,
    /// The arms of a trial.
    divided: Option<Divided>,
    /// The part of all pages that each plan has.
    parts: Vec<f64>,
}

impl MadePlans {
    /// In a shadow run only the first plan is carried out.
    fn carried_out(&self) -> &[Plan] {
        if self.divided.is_some() { &self.plans } else { &self.plans[..1] }
    }

    fn counts(&self) -> PlanCounts {
        self.carried_out().iter().fold(PlanCounts::default(), |sum, plan| sum + plan.counts)
    }

    fn expected(&self) -> ExpectedChanges {
        let mut expected = ExpectedChanges::default();
        self.carried_out().iter().for_each(|plan| expected += plan.expected);
        expected
    }

    /// The arms of a trial, or those that were counted for a later one.
    fn arms(&self, counted: Option<Division>) -> Option<ArmsFacts> {
        let planned =
            |plan: &Plan| Population { pages: plan.counts.audit_eligible, expected: plan.expected.changes };
        let only_counted = |arm: usize| {
            let (pages, expected) = self.plans[0].arms.get(arm).copied().unwrap_or_default();
            Population { pages, expected }
        };
        match (&self.divided, counted) {
            (Some(divided), _) => {
                let populations = [planned(&self.plans[0]), planned(&self.plans[1])];
                Some(ArmsFacts { division: divided.division, populations, by_importance: false })
            }
            (None, counted) => counted.map(|division| {
                let populations = [0, 1].map(only_counted);
                ArmsFacts { division, populations, by_importance: false }
            }),
        }
    }

    /// The chosen pages. `contested` makes those of a shadow run from both plans and the number of pages in which
    /// they were expected to differ.
    fn pages(
        self,
        comparison: Option<&PlanComparison>,
        contested: impl FnOnce(Chosen, Chosen, u64) -> Contested,
    ) -> ChosenPages {
        let mut chosen = self.plans.into_iter().map(|plan| plan.chosen);
        let mut next = || chosen.next().expect("each plan was made");
        match (comparison, self.divided) {
            (Some(PlanComparison::Shadow { differing, .. }), _) => {
                let (in_force, candidate) = (next(), next());
                ChosenPages::Shadow(Box::new(contested(in_force, candidate, *differing)))
            }
            (_, Some(_)) => ChosenPages::Arms(ChosenOfArms::new(chosen)),
            (_, None) => ChosenPages::One(next()),
        }
    }
}

/// Two plans of all pages. A part of the audit sample is left to pages that only the candidate chooses.
fn shadowed<'c>(
    request: PlanRequest,
    hosts: impl Fn() -> PlanHosts<'c>,
    first: Vec<DueFirst>,
) -> Vec<PlanArm<PlanHosts<'c>>> {
    let request = PlanRequest { audit_share: request.audit_share * (1.0 - CONTESTED_PART), ..request };
    let arm = |policy, first| PlanArm { request: request.clone(), policy, hosts: hosts(), first };
    vec![arm(0, first.clone()), arm(1, first)]
}

/// The plans of the arms of a trial: k by their pages, and of the audit sample their own part. Arms that are folders share
/// the hosts, and so what is allowed of a host.
fn arms<'c>(
    request: &PlanRequest,
    (parts, by_folder): ([f64; 3], bool),
    hosts: [PlanHosts<'c>; 3],
    first: [Vec<DueFirst>; 3],
    of_other: Option<usize>,
) -> Vec<PlanArm<PlanHosts<'c>>> {
    let audited = request.audit_share * request.pages as f64;
    let has_rest = parts[2] > 0.0;
    let (mut before, mut up_to) = (0.0, 0.0);
    let share = |of: f64, from: f64, to: f64| (of * to).round() as u64 - (of * from).round() as u64;
    let arm = |(arm, (hosts, first)): (usize, (PlanHosts<'c>, Vec<DueFirst>))| {
        before = up_to;
        up_to = if arm == 2 { 1.0 } else { before + parts[arm] };
        let pages = share(request.pages as f64, before, up_to);
        let limit = |limit: u64| if by_folder { share(limit as f64, before, up_to) } else { limit };
        let audit_part = if has_rest { AUDIT_PARTS[arm] } else { parts[arm] };
        let request = PlanRequest {
            pages,
            discovery_min: share(request.discovery_min as f64, before, up_to),
            max_per_host: request.max_per_host.map(limit),
            max_per_host_in_round: request.max_per_host_in_round.map(limit),
            // The shares of k together are at most 1.
            audit_share: (audited * audit_part / (pages as f64).max(1.0))
                .min(1.0 - request.discovery_share - request.announced_share)
                .max(0.0),
            ..request.clone()
        };
        // Where one arm has all pages, nothing is compared, and they follow the formula in force.
        let is_other = of_other == Some(arm) && parts[arm] < 1.0;
        PlanArm { request, policy: usize::from(is_other), hosts, first }
    };
    hosts.into_iter().zip(first).enumerate().map(arm).collect()
}
