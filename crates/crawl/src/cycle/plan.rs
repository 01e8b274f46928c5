//! From generation g to a schedule: one pass scores every page, another reads the chosen ones.

mod choice;
mod focused;
mod hosts;
mod measure;
pub mod promised;
mod request;
mod schedule;

pub use request::request;

use crate::clock::RoundToPlan;
use crate::crawl::Crawl;
use crate::cycle::carry::Carried;
use crate::cycle::improvement;
use crate::cycle::plan::choice::{PlanChoice, SelectionInput};
use crate::cycle::plan::schedule::Unranked;
use crate::cycle::readmission::{self, RefusalRules, SinceLastPlan};
use crate::failure::Failure;
use crate::fleet::{Planning, SharedPlan};
use crate::parts::focus::report::FocusFacts;
use crate::parts::improve::steps::PlanComparison;
use crate::parts::promises::Surveyed;
use crate::parts::requisites;
use crate::parts::traps::Traps;
use crate::report::Bursts;
use crate::report::facts::Facts;
use crate::round::RoundKind;
use crate::settings::formula_file;
use recrawl_archive::cap::Bodies;
use recrawl_archive::{Archive, Recovery};
use recrawl_fetcher::{KeptTypes, Unavailable};
use recrawl_formula::Formula;
use recrawl_repository::{Generation, Ranked, Recovered, ScheduleFile, ScheduleWriter, SledTables, VisitLog};
use recrawl_scheduler::PlanCounts;
use recrawl_types::{
    CanonicalUrl, Cycle, DatedRound, Link, LogRecord, PageRecord, PageStatus, Round, ScheduleSource, Visit,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The end of the archive, with the rows of what a killed run of this round archived for pages.
fn recover_archive(crawl: &Crawl, round: Round) -> Result<Recovery, Failure> {
    let archived = crawl.recover_archive()?;
    requisites::resume(&*crawl.storage, &crawl.tables, round, archived.sound)?;
    Ok(archived)
}

/// The name under which origins are kept that gave no page when they were last asked.
pub const UNAVAILABLE: &str = "unavailable";
/// Seeds per log record.
const SEEDS_A_RECORD: usize = 1000;

/// A round, if it has anything to do.
pub enum Planned {
    /// It has.
    Pages(Box<RoundPlan>),
    /// No page is due, and no link waits.
    Nothing,
}

/// A round ready to run or resume.
pub struct RoundPlan {
    /// Decisions made when it was planned.
    pub facts: Facts,
    /// The pages to visit.
    pub schedule: Arc<ScheduleFile>,
    /// The log, open after its last sound record.
    pub log: VisitLog,
    /// The work of an earlier run of the cycle.
    pub recovered: Recovered,
    /// Page bodies; none if they are not archived.
    pub archive: Option<Archive>,
}

/// Resumes the round's schedule if one was completed, or else makes it. New seeds enter the log in
/// either case.
///
/// # Errors
/// When the repository cannot be read, or the schedule cannot be written.
#[tracing::instrument(level = "error", name = "plan", skip_all)]
pub fn resume_or_make(
    crawl: &Crawl,
    generation: &Generation,
    to_plan: &RoundToPlan,
    seeds: &[CanonicalUrl],
    traps: &Arc<Traps>,
) -> Result<Planned, Failure> {
    let DatedRound { round, cycle } = to_plan.round;
    crawl.live.begin(to_plan.round, to_plan.kind);
    let news = new_seeds(crawl, generation, cycle, seeds)?;
    let archived = recover_archive(crawl, round)?;
    let mut observed = Ok(());
    // A visit whose body the archive has lost is cut off the log, and its page visited again.
    let observe = |visit: &Visit| {
        let body = visit.content.as_ref().and_then(|content| content.archive);
        let stays = body.is_none_or(|position| archived.sound.is_behind(position));
        if stays {
            crawl.live.recovered(visit);
            if observed.is_ok() {
                observed = traps.observe(visit);
            }
        }
        stays
    };
    let (mut log, recovered) =
        VisitLog::open_observed(&*crawl.storage, round, observe).map_err(Failure::work)?;
    observed?;
    if recovered.cut > 0 {
        tracing::warn!(
            bytes = recovered.cut,
            "truncated the visit log (incomplete, or ahead of the archive); its last pages are visited again"
        );
    }
    let found = ScheduleFile::open(&*crawl.storage, round).map_err(Failure::work)?;
    let (facts, schedule) = match found {
        Some(schedule) => {
            let mut facts = facts_of(crawl, to_plan.round, &schedule)?;
            if facts.rules != 0 && facts.rules != readmission::digest(crawl)? {
                // Pages that only this run refuses are checked when the next cycle is planned.
                facts.rules = 0;
                facts.keep(&crawl.tables)?;
            }
            (facts, schedule)
        }
        None if recovered.done.count() > 0 => {
            let text = "has visits but no schedule; restore the data directory from a backup";
            return Err(Failure::Work(format!(
                "{}: cycle {cycle} {text}",
                crawl.settings.data_dir.display()
            )));
        }
        None => {
            let made = make(crawl, generation, to_plan, &news, traps, &mut log)?;
            let Some(facts) = made else { return Ok(Planned::Nothing) };
            let made = ScheduleFile::open(&*crawl.storage, round).map_err(Failure::work)?;
            (facts, made.ok_or_else(|| Failure::work("the schedule just written is missing"))?)
        }
    };
    if recovered.done.last().is_some_and(|last| last >= schedule.len()) {
        let text = "has visits of pages outside its schedule; restore the data directory from a backup";
        return Err(Failure::Work(format!("{}: cycle {cycle} {text}", crawl.settings.data_dir.display())));
    }
    // Bounded records: a reader needs no more memory than for a page with many links.
    for part in news.chunks(SEEDS_A_RECORD) {
        let links = part.iter().map(|(url, _)| Link::to(url.clone(), 0));
        log.append(&LogRecord::Seeds(links.collect())).map_err(Failure::work)?;
    }
    // The log has ranges of indexes; only the schedule names their pages.
    for skipped in &recovered.skipped {
        skipped.each(&schedule, |visit| -> Result<(), Failure> {
            crawl.live.recovered(&visit);
            Ok(())
        })?;
    }
    crawl.live.planned(&facts, schedule.len(), recovered.done.count());
    let archive = crawl.open_archive(&archived)?;
    Ok(Planned::Pages(Box::new(RoundPlan { facts, schedule: Arc::new(schedule), log, recovered, archive })))
}

/// The decisions for this schedule. An existing schedule is run even if the tables lost its facts,
/// since the visits in the log refer to its numbers.
fn facts_of(crawl: &Crawl, round: DatedRound, schedule: &ScheduleFile) -> Result<Facts, Failure> {
    Ok(Facts::last(&crawl.tables)?.filter(|facts| facts.round() == round).unwrap_or_else(|| {
        tracing::warn!(round = %round.round, "the plan data of this round is lost; running its schedule anyway");
        Facts {
            scheduled: schedule.len(),
            random_seed: crawl.random_seed,
            ..Facts::without_plan(round, (crawl.clock)(), "unknown")
        }
    }))
}

/// A seed to visit, with its record: a new page, or one that is gone.
type NewSeed = (CanonicalUrl, PageRecord);

/// Seeds that are unknown or gone, in URL order without duplicates. Seeds out of scope are skipped.
fn new_seeds(
    crawl: &Crawl,
    generation: &Generation,
    cycle: Cycle,
    seeds: &[CanonicalUrl],
) -> Result<Vec<NewSeed>, Failure> {
    let seeds: BTreeSet<&CanonicalUrl> = seeds.iter().collect();
    let (mut news, mut refused) = (Vec::new(), None);
    let blocks = crawl.control.blocks();
    let has_seeds = !seeds.is_empty();
    for url in seeds {
        crawl.live.moved();
        if !crawl.owns(url) {
            continue;
        }
        if let Some(why) = crawl.settings.scope.refuse(url) {
            tracing::warn!(%url, "skipped a seed: {why}");
            let (so_far, first) = refused.unwrap_or_else(|| (0, format!("{url}: {why}")));
            refused = Some((so_far + 1, first));
            continue;
        }
        let record = match generation.get(url).map_err(Failure::work)? {
            Some((_, record)) if record.known.status != PageStatus::Gone => continue,
            Some((_, record)) => record,
            None => PageRecord::discovered(cycle, 0),
        };
        if let Some(pattern) = blocks.cover(url) {
            tracing::warn!(%url, "a seed is not requested until you unblock {pattern}");
        }
        news.push((url.clone(), record));
    }
    if let Some((number, first)) = &refused {
        tracing::warn!("seeds out of scope are never visited: {number}, such as {first}");
    }
    if has_seeds {
        crawl.live.seeds_admitted(refused);
    }
    Ok(news)
}

/// Makes a schedule; none if the round has nothing to do.
fn make(
    crawl: &Crawl,
    generation: &Generation,
    to_plan: &RoundToPlan,
    news: &[NewSeed],
    traps: &Arc<Traps>,
    log: &mut VisitLog,
) -> Result<Option<Facts>, Failure> {
    let RoundToPlan { round: DatedRound { round, cycle }, kind, cycle_started } = *to_plan;
    let rules = readmission::digest(crawl)?;
    let begins_cycle = cycle_started.is_none() && kind == RoundKind::Revisit;
    // The loop may put another formula in force, so it goes before the formula is read.
    let comparison = match kind {
        RoundKind::Revisit => improvement::compared(crawl, generation, cycle, begins_cycle)?,
        RoundKind::Fill | RoundKind::Urgent => None,
    };
    let formula = formula_file::in_force(&crawl.settings)?;
    let last = Facts::last(&crawl.tables)?;
    let planned = RoundToAsk { crawl, generation, to_plan, news: news.len() as u64, last: last.as_ref() };
    let AskedPages { k, seeds, focus, promised, mut choice, bursts } =
        planned.choose(&formula, comparison)?;
    if choice.is_broken {
        improvement::fail(crawl, cycle)?;
    }
    let counts = choice.counts;
    let mut carried = Carried::into_round(crawl, generation, to_plan).peekable();
    if !has_work(crawl, generation, kind, &counts)? && news.is_empty() && carried.peek().is_none() {
        return Ok(None);
    }
    let since = changes_since(last.as_ref(), to_plan, rules);
    // An urgent round counts no refused pages, and leaves the change to the next one.
    if counts.refused > 0 || since.rules_changed && kind != RoundKind::Urgent {
        readmission::readmit(crawl, generation, &since, RefusalRules::new(crawl, traps.clone()), log)?;
    }
    let order = |pages: &[Ranked]| schedule::in_turn(pages, cycle, traps);
    let mut writer = ScheduleWriter::in_order(&*crawl.storage, round, order).map_err(Failure::work)?;
    let bodies = Bodies::in_storage(&*crawl.warc)?;
    let others = Unranked::new(carried, &news[..seeds as usize]);
    let standings = choice.measured.as_mut().map(|measured| &mut measured.standings);
    let scheduled =
        schedule::write(&crawl.live, &mut writer, generation, &mut choice.pages, others, &bodies, standings)?;
    let planned = facts_before_choice(crawl, generation, to_plan, &formula, last, rules);
    let facts = Facts {
        cutoff: choice.cutoff,
        arms: choice.arms,
        overlap: choice.pages.overlap(),
        promises: promised.accounts,
        focus: focus.map(|focus| FocusFacts { pending: choice.pending.unwrap_or_default(), ..focus.facts }),
        population: choice.measured.as_ref().map(|measured| measured.population.clone()),
        next_rate: choice.measured.as_ref().map(|measured| measured.next_rate).or(planned.next_rate),
        bursts,
        scheduled,
        of_k: if kind == RoundKind::Revisit { k.min(counts.chosen() - counts.warmup + seeds) } else { 0 },
        by_score: Some(counts.score),
        audit_eligible: Some(counts.audit_eligible).filter(|_| kind == RoundKind::Revisit),
        ..planned
    };
    facts.keep(&crawl.tables)?;
    choice.measured.map_or(Ok(()), |measured| measured.standings.keep_panel(crawl))?;
    crawl.tables.flush()?;
    // Finish last: an existing schedule is complete, and its facts are durable.
    writer.finish().map_err(Failure::work)?;
    Ok(Some(facts))
}

/// A round that asks for its pages.
struct RoundToAsk<'a> {
    crawl: &'a Crawl,
    generation: &'a Generation,
    to_plan: &'a RoundToPlan,
    /// New seeds.
    news: u64,
    last: Option<&'a Facts>,
}

/// The pages that it gets.
struct AskedPages {
    /// Of all partitions of a fleet.
    k: u64,
    /// New seeds that it visits.
    seeds: u64,
    focus: Option<focused::Focus>,
    promised: Surveyed,
    choice: PlanChoice,
    bursts: Bursts,
}

impl RoundToAsk<'_> {
    /// Chooses with the other partitions of a fleet, if there are some and they answer.
    fn choose(
        &self,
        formula: &Formula,
        mut comparison: Option<PlanComparison>,
    ) -> Result<AskedPages, Failure> {
        let own = (self.generation.pages(), self.news);
        let mut planning = SharedPlan::begin(self.crawl, self.to_plan, own, formula)?;
        loop {
            match self.choose_by(&mut planning, formula, comparison.take()) {
                Err(failure) => planning = planning.without_others(self.crawl, failure)?,
                chosen => return chosen,
            }
        }
    }

    fn choose_by(
        &self,
        planning: &mut Planning<'_>,
        formula: &Formula,
        comparison: Option<PlanComparison>,
    ) -> Result<AskedPages, Failure> {
        let RoundToAsk { crawl, generation, to_plan, news, last } = *self;
        let RoundToPlan { round: DatedRound { round, cycle }, kind, .. } = *to_plan;
        let (known, all_news, reserved) = match planning {
            Planning::Shared(plan) => (plan.known, plan.news, plan.reserved),
            Planning::Own | Planning::Alone(_) => (generation.pages() + news, news, 0),
        };
        let asked =
            request::RoundRequest::for_round(crawl, generation, to_plan, known, (all_news, reserved))?;
        let asked = if let Planning::Alone(most) = planning { asked.at_most(*most) } else { asked };
        let k = asked.k(kind);
        let request::RoundRequest { request, seeds, focus, of_cycle } = asked;
        let seeds = if let Planning::Shared(plan) = planning { plan.own_seeds(seeds) } else { seeds };
        let begins_cycle = to_plan.begins_cycle() && kind == RoundKind::Revisit;
        let promised = match begins_cycle {
            true => promised::planned(crawl, generation, cycle, of_cycle.unwrap_or(k))?.within(request.pages),
            false => Surveyed::default(),
        };
        let mut bursts = Bursts::default();
        let choice = match kind {
            RoundKind::Urgent => PlanChoice::nothing(),
            RoundKind::Revisit | RoundKind::Fill => {
                let last = (crawl.settings.is_measured && begins_cycle).then_some(last);
                let focus = focus.as_ref().map(|focus| (&*focus.survey, focus.facts.is_satisfied));
                let promised = &promised.due[..];
                let input = SelectionInput { round, formula, comparison, last, promised, focus };
                choice::choose(crawl, generation, input, request, planning, &mut bursts)?
            }
        };
        Ok(AskedPages { k, seeds, focus, promised, choice, bursts })
    }
}

/// Has the round anything to visit besides new seeds and carried pages?
fn has_work(
    crawl: &Crawl,
    generation: &Generation,
    kind: RoundKind,
    counts: &PlanCounts,
) -> Result<bool, Failure> {
    Ok(match kind {
        RoundKind::Revisit => true,
        // What is only drawn is no reason for a fill round.
        RoundKind::Fill => {
            counts.discovery > counts.explored || generation.summary().waiting > 0 || crawl.has_incoming()?
        }
        RoundKind::Urgent => crawl.has_requests()? || crawl.fetcher.has_left(),
    })
}

/// Changes of the rules since the last plan, of which only a new cycle gives origins their turn.
fn changes_since(last: Option<&Facts>, to_plan: &RoundToPlan, rules: u64) -> SinceLastPlan {
    SinceLastPlan {
        turn: to_plan.cycle_started.is_none().then_some(to_plan.round.cycle),
        planned: last.map_or(0, Facts::rules_applied),
        rules_changed: last.is_some_and(|last| last.rules != rules),
    }
}

/// Facts of the plan that do not depend on the chosen pages.
fn facts_before_choice(
    crawl: &Crawl,
    generation: &Generation,
    to_plan: &RoundToPlan,
    formula: &Formula,
    last: Option<Facts>,
    rules: u64,
) -> Facts {
    let is_by_formula = crawl.settings.policy.is_formula();
    let name = if is_by_formula { &formula.name } else { crawl.settings.policy.name };
    let is_urgent = to_plan.kind == RoundKind::Urgent;
    Facts {
        kind: to_plan.kind,
        cycle_started: to_plan.cycle_started,
        formula_toml: if is_by_formula { formula.to_toml().ok() } else { None },
        next_rate: last.as_ref().and_then(|last| last.next_rate),
        types: kept_types(crawl, last.as_ref(), to_plan.round.cycle),
        random_seed: crawl.random_seed,
        revisits_left: request::revisits_left(crawl, generation, to_plan),
        rules: last.as_ref().filter(|_| is_urgent).map_or(rules, |last| last.rules),
        rules_applied: last.filter(|_| is_urgent).map(|last| last.rules_applied()),
        ..Facts::without_plan(to_plan.round, (crawl.clock)(), name)
    }
}

/// The media types in scope, unless all are, since the first cycle with this list; `last` knows the list before.
pub fn kept_types(crawl: &Crawl, last: Option<&Facts>, cycle: Cycle) -> Option<KeptTypes> {
    let types = crawl.settings.scope.types()?;
    let known = last.and_then(|last| last.types.clone()).filter(|known| known.types == *types);
    Some(known.unwrap_or_else(|| KeptTypes { types: types.clone(), since: cycle }))
}

/// The origins that gave no page when last contacted.
///
/// # Errors
/// When the tables cannot be read.
pub fn unavailable(tables: &SledTables) -> Result<Unavailable, Failure> {
    let bytes = tables.setting(UNAVAILABLE)?;
    Ok(bytes.map(|bytes| Unavailable::from_bytes(&bytes)).unwrap_or_default())
}

#[cfg(test)]
mod tests;
