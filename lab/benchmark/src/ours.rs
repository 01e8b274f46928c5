//! The verifier: the whole step from a cycle's log to the next generation and its plan, timed by
//! stage.

use crate::Failure;
use crate::copy::copy_synced;
use crate::counted::CountedStorage;
use crate::decode::decode_and_compare;
use crate::model::{BlockBytes, TouchedBlocks};
use crate::outcome::{ContenderOutcome, CycleOutcome, PLAN};
use crate::process::{Moved, peak_bytes, processor_seconds, reset_peak};
use crate::size::BenchmarkSize;
use crate::stream::LinkStream;
use crate::web::{FIRST_CYCLE, Web};
use recrawl_formula::builtin;
use recrawl_repository::spill::SpillRuns;
use recrawl_repository::storage::{FileStorage, Storage};
use recrawl_repository::{BLOCK_PAGES, Generation, Repository, VisitLog};
use recrawl_scheduler::policy::PolicyKind;
use recrawl_scheduler::policy::formula::FormulaPolicy;
use recrawl_scheduler::{PlanMemory, PlanRequest, Planner, Ties};
use recrawl_types::schedule::MemorySchedule;
use recrawl_types::{CanonicalUrl, Content, Cycle, Visit, Visited};
use recrawl_verifier::{Batch, BatchLimits, MergeReport, MergeRules, Waiting, merge};
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

/// Share of known pages in the plan of the next cycle.
const PLANNED: f64 = 0.05;
/// The default of `storage.plan_memory`.
const PLAN_MEMORY: u64 = 64 << 20;
/// Above this number of pages the files do not stay in the cache, so decoding alone cannot be
/// timed.
const CACHED_PAGES: u64 = 30_000_000;

/// Which links wait, for the contender with waiting links.
pub const WAITING: Waiting = Waiting { max_cycles: 8, has_turns: true, enough: 64 };
/// No link waits.
pub const NO_WAITING: Waiting = Waiting { max_cycles: 0, has_turns: true, enough: 0 };

/// The rules of all merges.
pub fn rules(cycle: Cycle, waiting: Waiting, threads: usize) -> MergeRules<'static> {
    MergeRules {
        max_hops: 5,
        max_pages_per_host: u64::MAX,
        waiting,
        block_pages: BLOCK_PAGES,
        threads,
        ..MergeRules::unlimited(cycle, &|_: &CanonicalUrl, before: &Visited, after: &mut Content| {
            before.content.fingerprint != after.fingerprint
        })
    }
}

/// A repository under test.
pub struct Ours {
    storage: Arc<CountedStorage>,
    limits: BatchLimits,
    repository: Repository,
    /// Mean bytes of a known URL's key.
    text: f64,
}

impl Ours {
    /// Writes the initially known pages as the generation of [`FIRST_CYCLE`].
    ///
    /// # Errors
    /// If the disk fails.
    pub fn prepare(web: &Web, dir: &Path, limits: BatchLimits) -> Result<Ours, Failure> {
        let storage = Arc::new(CountedStorage::over(FileStorage::create(dir)?));
        let mut repository = Repository::open(storage.clone())?;
        let mut text = 0;
        // The histories span these cycles: one generation each.
        while repository.current().cycle() < FIRST_CYCLE {
            let base = repository.current();
            let cycle = base.cycle().next();
            let mut writer = repository.begin(&base, cycle)?;
            if cycle == FIRST_CYCLE {
                web.each_page(|key, record| {
                    text += key.len();
                    writer.push(key, record)
                })?;
            }
            repository.commit(writer, b"")?;
        }
        Ok(Ours { storage, limits, repository, text: text as f64 / web.pages() as f64 })
    }

    /// The current generation.
    pub fn generation(&self) -> Arc<Generation> {
        self.repository.current()
    }

    /// Runs cycle number `turn` of the stream.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn cycle(
        &mut self,
        stream: &LinkStream<'_>,
        turn: u64,
        waiting: Waiting,
    ) -> Result<CycleOutcome, Failure> {
        let generation = self.repository.current();
        let round = generation.dated().in_next_cycle();
        let cycle = round.cycle;
        let written = stream.write_log(&*self.storage, turn, round.round)?;
        let named = named(&generation, stream, turn)?;
        // The log is given: the step begins here.
        let (before, kinds_before) = (Moved::now().unwrap_or_default(), self.storage.bytes());

        let processor = processor_seconds().unwrap_or_default();
        let mut clock = StageClock::start();
        let mut batch = Batch::new(self.storage.clone(), round, self.limits);
        batch.add_log(
            VisitLog::read(&*self.storage, round.round)?,
            &MemorySchedule::default(),
            |_: &Visit, _| {},
            |_| true,
        )?;
        let batch = batch.finish()?;
        clock.stage("read and sort");
        let merged = self.merge(&generation, batch, cycle, waiting, &mut clock)?;

        let moved = Moved::now().unwrap_or_default() - before;
        let processor = processor_seconds().unwrap_or_default() - processor;
        let kinds = self.storage.bytes().into_iter().map(|(kind, bytes)| {
            let before = kinds_before.get(&kind).copied().unwrap_or_default();
            (kind, (bytes.read - before.read, bytes.written - before.written))
        });
        let kinds: BTreeMap<String, (u64, u64)> = kinds.collect();
        // Adding up the bytes is no part of the step.
        clock.restart();
        plan(&self.repository.current(), self.storage.clone())?;
        clock.stage(PLAN);
        Ok(CycleOutcome {
            checks: written.links,
            new: merged.links_new,
            waiting: merged.links_waiting,
            stages: clock.stages,
            processor,
            read: moved.read,
            written: moved.written,
            named,
            log: kinds.get("visits").map_or(0, |bytes| bytes.0),
            kinds,
            logged: written.links,
            is_cut: false,
        })
    }

    fn merge(
        &mut self,
        generation: &Generation,
        batch: recrawl_verifier::SortedBatch,
        cycle: Cycle,
        waiting: Waiting,
        clock: &mut StageClock,
    ) -> Result<MergeReport, Failure> {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let mut writer = self.repository.begin(generation, cycle)?;
        let merged = merge(generation, batch, &mut writer, &rules(cycle, waiting, threads))?;
        clock.stage("merge");
        self.repository.commit(writer, b"")?;
        clock.stage("commit");
        Ok(merged)
    }

    /// Stored bytes per known page, by kind of file.
    fn bytes_a_page(&self) -> BTreeMap<String, f64> {
        let generation = self.repository.current();
        let mut kinds = BTreeMap::new();
        for (name, bytes) in generation.files() {
            let kind = name.rsplit_once('.').map_or(&*name, |(_, kind)| kind);
            *kinds.entry(kind.to_owned()).or_default() += bytes as f64 / generation.pages() as f64;
        }
        kinds
    }

    /// Decodes and compares all pages on one thread with cached files; returns pages per CPU
    /// second.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn decode(&self, counted: bool) -> Result<f64, Failure> {
        let storage: Arc<dyn Storage> = self.storage.clone();
        decode_and_compare(&self.repository, storage, counted)
    }
}

/// Runs all cycles, and copies the same files after each.
///
/// # Errors
/// If the disk fails.
pub fn run(size: &BenchmarkSize, dir: &Path, waiting: Waiting) -> Result<ContenderOutcome, Failure> {
    let web = Web::new(size.pages, size.seed);
    let stream = size.stream(&web);
    let started = Instant::now();
    let mut ours = Ours::prepare(&web, dir, size.batch_limits())?;
    let prepared = started.elapsed().as_secs_f64();
    let kinds = ours.bytes_a_page();
    let of = |kind: &str| kinds.get(kind).copied().unwrap_or_default();
    let mut outcome = ContenderOutcome {
        pages: web.pages(),
        text: ours.text,
        parts: BlockBytes { keys: of("keys"), known: of("known"), past: of("history") + of("content") },
        prepared,
        is_peak_of_cycles: true,
        ..ContenderOutcome::default()
    };
    outcome.kinds = kinds;
    for turn in 0..size.cycles {
        outcome.is_peak_of_cycles &= reset_peak();
        outcome.cycles.push(ours.cycle(&stream, turn, waiting)?);
        outcome.peak = outcome.peak.max(peak_bytes());
        let names: Vec<String> = ours.generation().files().into_iter().map(|file| file.0).collect();
        let target = dir.join("copy");
        outcome.copies.push(copy_synced(dir, &names, &target)?);
        fs::remove_dir_all(&target)?;
    }
    outcome.stored = ours.generation().files().iter().map(|file| file.1).sum();
    if waiting == NO_WAITING && size.pages <= CACHED_PAGES {
        for (name, counted) in [("read alone", false), ("link counts written", true)] {
            outcome.decoded.insert(name.to_owned(), ours.decode(counted)?);
        }
    }
    Ok(outcome)
}

/// Scores all pages by t·X and chooses those of the next cycle.
fn plan(generation: &Generation, storage: Arc<dyn Storage>) -> Result<u64, Failure> {
    let formula = builtin::resolve("t_times_X")?;
    let mut policy = FormulaPolicy::new(&formula);
    let request = PlanRequest {
        cycle: generation.cycle().next(),
        pages: (generation.pages() as f64 * PLANNED) as u64,
        discovery_share: 0.2,
        announced_share: 0.0,
        audit_share: 0.05,
        discovery_min: 0,
        warmup: 0,
        max_per_host: None,
        max_per_host_in_round: None,
        samples_siblings: false,
        sums_expected: false,
        explore: 0.0,
        round: 0,
        seed: 1,
        ties: Ties::Hash,
        policy: PolicyKind::default(),
    };
    let memory = PlanMemory::new(PLAN_MEMORY, Box::new(SpillRuns::new(storage, generation.number().next())));
    // Without a limit per host, no host is counted.
    let hosts = std::iter::empty::<u64>();
    let mut planner = Planner::new(request, &mut policy, hosts, memory)?;
    generation.scan(false, |_, columns| -> Result<(), Failure> { Ok(planner.scan(columns)?) })?;
    Ok(planner.finish()?.chosen.try_fold(0, |pages, page| page.map(|_| pages + 1))?)
}

/// The locality for the cost model: pages in the blocks that a cycle touches.
fn named(generation: &Generation, stream: &LinkStream<'_>, turn: u64) -> Result<TouchedBlocks, Failure> {
    let (mut opened, mut changed, mut grown, mut visited) =
        (HashSet::new(), HashSet::new(), HashSet::new(), HashSet::new());
    let block = |key: &[u8]| {
        let (mut low, mut high) = (0, generation.blocks());
        while low < high {
            let middle = (low + high) / 2;
            if generation.first_key(middle) <= key { low = middle + 1 } else { high = middle }
        }
        low.saturating_sub(1)
    };
    stream.each_visit(turn, |visit, unknown| {
        visited.insert(block(visit.url.key()));
        for (link, is_unknown) in visit.links.iter().zip(unknown) {
            let at = block(link.url.key());
            opened.insert(at);
            if *is_unknown {
                grown.insert(at);
            }
            if *is_unknown || link.counted {
                changed.insert(at);
            }
        }
        Ok(())
    })?;
    opened.extend(&visited);
    changed.extend(&visited);
    let pages = |blocks: &HashSet<usize>| blocks.iter().map(|&at| generation.block_pages(at) as u64).sum();
    Ok(TouchedBlocks {
        opened: pages(&opened),
        changed: pages(&changed),
        grown: pages(&grown),
        visited: pages(&visited),
    })
}

/// Times consecutive stages.
pub struct StageClock {
    since: Instant,
    /// Name and seconds of each stage.
    pub stages: Vec<(String, f64)>,
}

impl StageClock {
    pub fn start() -> StageClock {
        StageClock { since: Instant::now(), stages: Vec::new() }
    }

    /// Ends a stage.
    pub fn stage(&mut self, name: &str) {
        self.stages.push((name.to_owned(), self.since.elapsed().as_secs_f64()));
        self.restart();
    }

    /// Excludes the time since the last stage.
    pub fn restart(&mut self) {
        self.since = Instant::now();
    }
}
