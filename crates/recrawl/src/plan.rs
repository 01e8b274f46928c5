//! From generation g to a schedule: score every page in one pass, then read the chosen ones in another.

use crate::crawl::Crawl;
use crate::failure::Failure;
use crate::scope::Scope;
use recrawl_formula::Formula;
use recrawl_repository::{Generation, Recovered, ScheduleFile, ScheduleWriter, VisitLog};
use recrawl_scheduler::policy::formula::FormulaPolicy;
use recrawl_scheduler::{PlanRequest, Planner};
use recrawl_types::{CanonicalUrl, Cycle, Link, LogRecord, PageRecord, ScheduleEntry, Share, Status};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The name under which a cycle's facts are kept beside its schedule.
const FACTS: &str = "plan";
/// Seeds in a record of the log.
const SEEDS_A_RECORD: usize = 1000;

/// A cycle about to run, or to go on.
pub struct Plan {
    /// What was decided when it was made.
    pub facts: Facts,
    /// The schedule.
    pub schedule: Arc<ScheduleFile>,
    /// The log, open behind its last sound record.
    pub log: VisitLog,
    /// What an earlier run of the cycle did.
    pub recovered: Recovered,
}

/// What was decided when a cycle was planned; kept, so that a resumed cycle reports the same.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Facts {
    /// The cycle.
    pub cycle: Cycle,
    /// When it began, in milliseconds since 1970.
    pub started: u64,
    /// What ranked the pages.
    pub formula: String,
    /// The lowest score chosen.
    pub cutoff: Option<f64>,
    /// Pages scheduled, seeds among them.
    pub scheduled: u64,
}

/// Takes up the cycle's schedule where one was finished, else makes it. Seeds that are new enter the log
/// either way.
///
/// # Errors
/// When the repository cannot be read or the schedule cannot be written.
pub fn resume_or_make(
    crawl: &Crawl,
    generation: &Generation,
    cycle: Cycle,
    seeds: &[CanonicalUrl],
) -> Result<Plan, Failure> {
    let news = new_seeds(generation, seeds)?;
    let facts = match resumable(crawl, cycle)? {
        Some(facts) => facts,
        None => make(crawl, generation, cycle, &news)?,
    };
    let schedule = ScheduleFile::open(&*crawl.storage, cycle).map_err(Failure::work)?;
    let schedule = Arc::new(schedule.ok_or_else(|| Failure::work("the schedule just written is not there"))?);
    let (mut log, recovered) = VisitLog::open(&*crawl.storage, cycle).map_err(Failure::work)?;
    if recovered.cut > 0 {
        tracing::info!(bytes = recovered.cut, "a torn record at the end of the visit log was cut off");
    }
    // Bounded records, so that a reader needs no more memory than for a page with many links.
    for part in news.chunks(SEEDS_A_RECORD) {
        let links = part.iter().map(|url| Link { url: url.clone(), depth: 0, hops: 0, counted: false });
        log.append(&LogRecord::Seeds(links.collect())).map_err(Failure::work)?;
    }
    Ok(Plan { facts, schedule, log, recovered })
}

/// The facts of a finished schedule for this very cycle.
fn resumable(crawl: &Crawl, cycle: Cycle) -> Result<Option<Facts>, Failure> {
    if ScheduleFile::open(&*crawl.storage, cycle).map_err(Failure::work)?.is_none() {
        return Ok(None);
    }
    let Some(bytes) = crawl.tables.setting(FACTS)? else { return Ok(None) };
    let facts: Facts = serde_json::from_slice(&bytes).map_err(Failure::work)?;
    Ok((facts.cycle == cycle).then_some(facts))
}

/// Seeds that the repository does not know, or knows as gone; in order.
fn new_seeds(generation: &Generation, seeds: &[CanonicalUrl]) -> Result<Vec<CanonicalUrl>, Failure> {
    let mut news = Vec::new();
    for url in seeds {
        match generation.get(url).map_err(Failure::work)? {
            Some((_, record)) if record.known.status != Status::Gone => {}
            _ => news.push(url.clone()),
        }
    }
    Ok(news)
}

fn make(
    crawl: &Crawl,
    generation: &Generation,
    cycle: Cycle,
    news: &[CanonicalUrl],
) -> Result<Facts, Failure> {
    let formula = crawl.formula()?;
    let config = &crawl.settings.config;
    let known = generation.pages() + news.len() as u64;
    let pages = config.cycle.pages.of(known).max(config.cycle.pages_min);
    // New seeds are the first to be discovered: they take their part of k from other URLs never fetched.
    let seeds = (news.len() as u64).min(pages.max(config.cycle.discovery_min));
    let request = PlanRequest {
        cycle,
        pages: pages.saturating_sub(seeds),
        discovery_share: config.cycle.discovery_share.0,
        discovery_min: config.cycle.discovery_min.saturating_sub(seeds),
        audit_share: config.cycle.audit_share.0,
        warmup: config.cycle.warmup,
        max_per_host: Some(config.schedule.max_per_host).filter(|cap| *cap > 0),
        seed: crawl.random_seed,
        ties: crawl.settings.ties,
    };
    let chosen = choose(generation, request, &formula)?;
    let mut writer = ScheduleWriter::create(&*crawl.storage, cycle).map_err(Failure::work)?;
    let scheduled =
        write(&mut writer, generation, &chosen.chosen, &news[..seeds as usize], &crawl.settings.scope)?;
    let facts =
        Facts { cycle, started: (crawl.clock)(), formula: formula.name, cutoff: chosen.cutoff, scheduled };
    let bytes = serde_json::to_vec(&facts).map_err(Failure::work)?;
    crawl.tables.set_setting(FACTS, &bytes)?;
    crawl.tables.flush()?;
    // Last: a schedule that is there is complete, and its facts are durable.
    writer.finish().map_err(Failure::work)?;
    Ok(facts)
}

/// The pass over the state columns.
fn choose(
    generation: &Generation,
    request: PlanRequest,
    formula: &Formula,
) -> Result<recrawl_scheduler::Plan, Failure> {
    let origins = generation.origins().map_err(Failure::work)?;
    let mut policy = FormulaPolicy::new(formula);
    let hosts = origins.iter().map(|origin| origin.pages);
    let mut planner = Planner::new(request, &mut policy, hosts).map_err(Failure::work)?;
    let mut states = generation.states();
    while let Some((_, columns)) = states.next_block().map_err(Failure::work)? {
        planner.scan(columns).map_err(Failure::work)?;
    }
    planner.finish().map_err(Failure::work)
}

/// Writes chosen pages and new seeds in the order of their URLs.
fn write(
    writer: &mut ScheduleWriter<'_>,
    generation: &Generation,
    chosen: &[(u64, Share)],
    seeds: &[CanonicalUrl],
    scope: &Scope,
) -> Result<u64, Failure> {
    let mut seeds = seeds.iter().filter(|url| scope.admits(url)).peekable();
    let mut scheduled = 0;
    let mut push = |entry: ScheduleEntry| {
        scheduled += 1;
        writer.push(&entry).map_err(Failure::work)
    };
    let seed_entry = |url: &CanonicalUrl, cycle: Cycle| ScheduleEntry {
        url: url.clone(),
        share: Share::Discovery,
        record: PageRecord::discovered(cycle, 0),
    };
    let cycle = generation.number().next();
    let mut pages = generation.gather(chosen.iter().map(|c| c.0));
    let mut shares = chosen.iter().map(|c| c.1);
    while let Some((_, url, record)) = pages.next_page().map_err(Failure::work)? {
        while let Some(seed) = seeds.next_if(|s| **s < url) {
            push(seed_entry(seed, cycle))?;
        }
        let share = shares.next().expect("one page for each chosen one");
        push(ScheduleEntry { url, share, record })?;
    }
    for seed in seeds {
        push(seed_entry(seed, cycle))?;
    }
    Ok(scheduled)
}
