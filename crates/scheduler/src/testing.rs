//! Test helpers: random pages, a planner that sorts everything in memory, and spill storage in
//! memory.

use crate::candidate::{TieBreak, discovery_key, score_key};
use crate::policy::PolicyKind;
use crate::shuffle::{Shuffle, ShufflePurpose};
use crate::{
    DueFirst, Gate, Plan, PlanCounts, PlanError, PlanMemory, PlanRequest, Planner, Policy, Ties, WhyFirst,
};
use proptest::prelude::*;
use recrawl_types::{Cycle, History, Known, PageStatus, Share, Spill, StateColumns};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Cursor, Read, Write};
use std::rc::Rc;

/// A request for no pages; tests set the fields that they need.
pub(crate) fn request() -> PlanRequest {
    PlanRequest {
        cycle: NOW,
        pages: 0,
        discovery_share: 0.0,
        audit_share: 0.0,
        announced_share: 0.0,
        discovery_min: 0,
        warmup: 2,
        max_per_host: None,
        max_per_host_in_round: None,
        samples_siblings: false,
        sums_expected: false,
        explore: 0.0,
        round: 0,
        seed: 1,
        ties: Ties::Hash,
        policy: PolicyKind::default(),
    }
}

/// A cycle after all visits of [`pages`].
pub(crate) const NOW: Cycle = Cycle(100);

/// The state of a page.
pub(crate) type TestPage = (Known, Option<History>);

/// A URL that was never fetched.
pub(crate) fn unfetched(depth: u16) -> TestPage {
    (Known { depth, ..Known::default() }, None)
}

/// A page visited `visits` times after its first fetch, last in cycle `last`, changed at every visit.
pub(crate) fn fetched(visits: u32, last: u32) -> TestPage {
    let mut history = History::first_fetch(Cycle(last - visits));
    for i in 0..visits {
        history.record(Cycle(last - visits + 1 + i), true);
    }
    (Known { last_attempt: Cycle(last), ..Known::default() }, Some(history))
}

/// Pages of few kinds, so that many tie.
pub(crate) fn pages(most: usize) -> impl Strategy<Value = Vec<TestPage>> {
    let known = ((0u8..20, any::<bool>(), prop::bool::weighted(0.1)), 0u16..3, 0u8..2, 0u32..3, 0u8..12);
    let page = (known, prop::option::weighted(0.7, (0u32..5, 5u32..9)));
    let page =
        page.prop_map(|(((status, is_announced, is_tried), depth, hops, in_links, failures), visits)| {
            let (known, history) = match visits {
                Some((visits, last)) => fetched(visits, last),
                None => unfetched(0),
            };
            let status =
                [PageStatus::Gone, PageStatus::Refused].get(usize::from(status)).copied().unwrap_or_default();
            let failures = failures.saturating_sub(9);
            let last_attempt = match failures {
                0 if is_tried => NOW,
                0 => known.last_attempt,
                _ => Cycle(NOW.0 - 2),
            };
            (Known { status, depth, hops, in_links, failures, last_attempt, is_announced, ..known }, history)
        });
    prop::collection::vec(page, 0..most)
}

/// Random requests for few pages.
pub(crate) fn requests() -> impl Strategy<Value = PlanRequest> {
    let shares = (0.0..=1.0f64, 0.0..=1.0f64, prop_oneof![Just(0.0), 0.0..=1.0f64]);
    let limit = prop::option::of(0u64..6);
    let ties = prop_oneof![Just(Ties::Index), Just(Ties::Hash)];
    let limits = (limit.clone(), limit);
    (0u64..60, shares, 0u64..10, 0u32..3, limits, any::<u64>(), ties).prop_map(
        |(
            pages,
            (discovery, audit, announced),
            discovery_min,
            warmup,
            (max_per_host, in_round),
            seed,
            ties,
        )| {
            PlanRequest {
                pages,
                discovery_share: discovery,
                audit_share: audit * (1.0 - discovery),
                announced_share: announced * (1.0 - audit) * (1.0 - discovery),
                discovery_min,
                warmup,
                max_per_host,
                max_per_host_in_round: in_round,
                seed,
                ties,
                ..request()
            }
        },
    )
}

/// A policy with a list of scores by ordinal.
pub(crate) struct ListedScores(pub Vec<f64>);

impl Policy for ListedScores {
    fn name(&self) -> &str {
        "listed"
    }

    fn prepare(&mut self, _cycle: Cycle, _seed: u64) {}

    fn score(&self, columns: &StateColumns, first_ordinal: u64, out: &mut Vec<f64>) {
        out.clear();
        out.extend_from_slice(&self.0[first_ordinal as usize..][..columns.len()]);
    }
}

/// Pages as columns, all of sites with the same ChangeRate.
pub(crate) fn columns(pages: &[TestPage]) -> StateColumns {
    let mut columns = StateColumns { global_rate: 0.1, ..StateColumns::default() };
    for (known, history) in pages {
        columns.push(*known, history.as_ref());
        columns.site_rate.push(0.2);
        columns.section_rate.push(0.2);
        columns.sibling_rate.push(0.2);
        columns.burst.push(1.0);
        columns.siblings.push(siblings(known));
    }
    columns
}

/// The group of a page: any division will do.
pub(crate) fn siblings(known: &Known) -> u32 {
    match known.depth % 5 {
        0 => StateColumns::ALONE,
        group => group.into(),
    }
}

/// A plan in memory.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) struct MadePlan {
    pub chosen: Vec<(u64, Share)>,
    pub cutoff: Option<f64>,
    pub counts: PlanCounts,
}

/// Makes a plan, with `block` pages per block.
pub(crate) fn plan(
    request: &PlanRequest,
    policy: &mut dyn Policy,
    pages: &[TestPage],
    hosts: &[u64],
    block: usize,
) -> Result<MadePlan, PlanError> {
    plan_within(PlanMemory::unlimited(), request, policy, pages, hosts, block)
}

/// The same with a memory limit.
pub(crate) fn plan_within(
    memory: PlanMemory,
    request: &PlanRequest,
    policy: &mut dyn Policy,
    pages: &[TestPage],
    hosts: &[u64],
    block: usize,
) -> Result<MadePlan, PlanError> {
    scan(Planner::new(request.clone(), policy, hosts.iter().copied(), memory)?, pages, block)
}

/// Scans all pages with a planner.
pub(crate) fn scan<H: Iterator<Item = u64>>(
    mut planner: Planner<'_, H>,
    pages: &[TestPage],
    block: usize,
) -> Result<MadePlan, PlanError> {
    for pages in pages.chunks(block) {
        planner.scan(&columns(pages))?;
        planner.scan(&StateColumns::default())?;
    }
    MadePlan::read(planner.finish()?)
}

impl MadePlan {
    /// A plan with its pages read.
    pub fn read(plan: Plan) -> Result<MadePlan, PlanError> {
        let (cutoff, counts) = (plan.cutoff, plan.counts);
        Ok(MadePlan {
            chosen: plan.chosen.map(|page| page.map(|p| (p.ordinal, p.share))).collect::<Result<_, _>>()?,
            cutoff,
            counts,
        })
    }
}

/// Spill storage in memory that tests can inspect.
#[derive(Clone, Default)]
pub(crate) struct MemorySpill(pub Rc<RefCell<Shelved>>);

#[derive(Default)]
pub(crate) struct Shelved {
    pub runs: BTreeMap<u32, Vec<u8>>,
    /// Number of open runs, and its maximum.
    pub open: usize,
    pub most_open: usize,
    /// Bytes until the storage is full, if it has a limit.
    pub free: Option<usize>,
}

impl Spill for MemorySpill {
    fn create(&mut self, run: u32) -> io::Result<Box<dyn Write>> {
        assert!(self.0.borrow_mut().runs.insert(run, Vec::new()).is_none(), "run {run} is there already");
        Ok(Box::new(Pen { spill: self.clone(), run }))
    }

    fn take(&mut self, run: u32) -> io::Result<Box<dyn Read>> {
        let mut shelved = self.0.borrow_mut();
        shelved.open += 1;
        shelved.most_open = shelved.most_open.max(shelved.open);
        let bytes = shelved.runs.remove(&run).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(Reading { spill: self.clone(), bytes: Cursor::new(bytes) }))
    }
}

struct Pen {
    spill: MemorySpill,
    run: u32,
}

impl Write for Pen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut shelved = self.spill.0.borrow_mut();
        if let Some(free) = &mut shelved.free {
            *free = free.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        }
        shelved.runs.get_mut(&self.run).expect("the run was created").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Reading {
    spill: MemorySpill,
    bytes: Cursor<Vec<u8>>,
}

impl Read for Reading {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.bytes.read(buffer)
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.spill.0.borrow_mut().open -= 1;
    }
}

/// The same plan by definition: keeps everything, sorts every order, counts every host.
pub(crate) fn by_definition(
    request: &PlanRequest,
    scores: &[f64],
    pages: &[TestPage],
    hosts: &[u64],
) -> MadePlan {
    by_definition_in_blocks(request, scores, pages, hosts, pages.len().max(1), &[])
}

/// The same with `block` pages per block, at whose ends groups of siblings end, and with pages that are due first.
pub(crate) fn by_definition_in_blocks(
    request: &PlanRequest,
    scores: &[f64],
    pages: &[TestPage],
    hosts: &[u64],
    block: usize,
    first: &[DueFirst],
) -> MadePlan {
    let ties = TieBreak::new(request.ties, request.seed, request.cycle);
    let targets = request.targets();
    let limit = request.max_per_host.unwrap_or(u64::MAX);
    let in_round = request.max_per_host_in_round.unwrap_or(u64::MAX);
    let host_of: Vec<usize> =
        hosts.iter().enumerate().flat_map(|(host, &length)| vec![host; length as usize]).collect();
    let at = |bytes_needed: Gate| -> Vec<usize> {
        let gate = |p: &TestPage| Gate::for_page(&p.0, p.1.map(|h| h.visits), request.cycle, request.warmup);
        (0..pages.len()).filter(|&i| gate(&pages[i]) == bytes_needed).collect()
    };
    let sorted = |mut of: Vec<usize>, key: &dyn Fn(usize) -> u64| {
        of.sort_by_key(|&i| ties.candidate(key(i), i as u64));
        of
    };
    let mut counts = PlanCounts {
        pages: pages.len() as u64,
        gone: at(Gate::Gone).len() as u64,
        refused: at(Gate::Refused).len() as u64,
        backing_off: at(Gate::BackOff).len() as u64,
        visited: at(Gate::Visited).len() as u64,
        discovery_due: at(Gate::Discovery).len() as u64,
        warmup_due: at(Gate::Warmup).len() as u64,
        revisit_due: at(Gate::Revisit).len() as u64,
        ..PlanCounts::default()
    };
    let mut used: HashMap<usize, u64> = HashMap::new();
    for i in (0..pages.len()).filter(|&i| pages[i].0.last_attempt == request.cycle) {
        let used = used.entry(host_of[i]).or_default();
        *used = limit.min(*used + 1);
    }
    for host in 0..hosts.len() {
        let used = used.entry(host).or_default();
        *used = (*used).max(limit - in_round.min(limit));
    }
    let mut chosen: Vec<(u64, Share)> = Vec::new();

    for i in sorted(at(Gate::Warmup), &|i| u64::from(pages[i].1.unwrap().last.0)) {
        let used = used.entry(host_of[i]).or_default();
        if *used < limit {
            *used += 1;
            counts.warmup += 1;
            chosen.push((i as u64, Share::Warmup));
        }
    }

    let room = |used: &HashMap<usize, u64>, i: usize| limit - used.get(&host_of[i]).copied().unwrap_or(0);
    let is_first = |i: &usize| first.iter().any(|page| page.ordinal == *i as u64);
    for i in at(Gate::Revisit).into_iter().filter(is_first) {
        if room(&used, i) > 0 {
            *used.entry(host_of[i]).or_default() += 1;
            let of_page = first.iter().filter(|page| page.ordinal == i as u64);
            let (share, count) = match of_page.map(|page| page.why).min() {
                Some(WhyFirst::Panel) => (Share::Panel, &mut counts.panel),
                _ => (Share::Promised, &mut counts.promised),
            };
            *count += 1;
            chosen.push((i as u64, share));
        }
    }
    let due: Vec<usize> = at(Gate::Revisit).into_iter().filter(|i| !is_first(i)).collect();
    let eligible: Vec<usize> = due.iter().copied().filter(|&i| room(&used, i) > 0).collect();
    counts.audit_eligible = eligible.len() as u64;
    let shuffle = Shuffle::new(request.seed, request.cycle, ShufflePurpose::Audit);
    let mut drawn = eligible.clone();
    drawn.sort_by_key(|&i| shuffle.apply(i as u64));
    drawn.truncate(targets.audit.min(1000) as usize);
    let before = used.clone();
    let mut audited = HashSet::new();
    for &i in &drawn {
        if room(&used, i) == 0 {
            continue;
        }
        let of_host = drawn.iter().filter(|&&j| host_of[j] == host_of[i]).count() as u64;
        let kept = of_host.min(room(&before, i)) as f64 / of_host as f64;
        let probability = drawn.len() as f64 / eligible.len() as f64 * kept;
        *used.entry(host_of[i]).or_default() += 1;
        counts.audit += 1;
        audited.insert(i);
        chosen.push((i as u64, Share::Audit(probability)));
    }

    let mut by_score = sorted(due, &|i| score_key(scores[i]));
    if request.samples_siblings {
        let competes = |i: &usize| targets.announced == 0 || !pages[*i].0.is_announced;
        let mut met = HashSet::new();
        by_score.retain(|i| {
            let group = siblings(&pages[*i].0);
            !competes(i) || group == StateColumns::ALONE || met.insert((i / block, group))
        });
    }
    by_score.retain(|i| !audited.contains(i));
    for i in by_score.clone().into_iter().filter(|&i| pages[i].0.is_announced) {
        if counts.announced < targets.announced && room(&used, i) > 0 {
            *used.entry(host_of[i]).or_default() += 1;
            counts.announced += 1;
            chosen.push((i as u64, Share::Announced));
            by_score.retain(|&other| other != i);
        }
    }
    let first = counts.panel + counts.promised;
    let score_target = (targets.score + targets.announced - counts.announced).saturating_sub(first);
    let mut by_discovery = sorted(at(Gate::Discovery), &|i| discovery_key(&pages[i].0));
    let mut cutoff = None;
    while first + counts.audit + counts.announced + counts.score + counts.discovery < request.pages {
        by_score.retain(|&i| room(&used, i) > 0);
        by_discovery.retain(|&i| room(&used, i) > 0);
        let behind = |taken: u64, target: u64| {
            if taken < target { taken as f64 / target as f64 } else { f64::INFINITY }
        };
        let score_first = behind(counts.score, score_target) < behind(counts.discovery, targets.discovery);
        let discovers =
            !by_discovery.is_empty() && (!request.samples_siblings || counts.discovery < targets.discovery);
        let i = if !by_score.is_empty() && (!discovers || score_first) {
            let i = by_score.remove(0);
            counts.score += 1;
            cutoff = Some(scores[i] + 0.0);
            chosen.push((i as u64, Share::Score));
            i
        } else if discovers {
            let i = by_discovery.remove(0);
            counts.discovery += 1;
            chosen.push((i as u64, Share::Discovery));
            i
        } else {
            break;
        };
        *used.entry(host_of[i]).or_default() += 1;
    }
    while counts.discovery < request.discovery_min {
        by_discovery.retain(|&i| room(&used, i) > 0);
        if by_discovery.is_empty() {
            break;
        }
        let i = by_discovery.remove(0);
        counts.discovery += 1;
        chosen.push((i as u64, Share::Discovery));
        *used.entry(host_of[i]).or_default() += 1;
    }
    chosen.sort_by_key(|c| c.0);
    MadePlan { chosen, cutoff, counts }
}
