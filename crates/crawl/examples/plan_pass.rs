//! Measures the passes of a plan over a generation on disk, by what the formula reads: seconds and peak memory.
//!
//! `cargo run --release -p recrawl-crawl --example plan_pass FOLDER [PAGES [FORMULA]]`
//!
//! Writes the generation if the folder has none: hosts of 10,000 pages in folders of 25, nine of ten pages visited up
//! to 40 times. k is 5 %. Without a formula, each of the list runs in turn. Each is planned as in a crawl that is not
//! measured (`improve.mode`), in one that is, in one whose loop counts the next arms, and in a shadow run beside `t`.

use recrawl_crawl::cycle::inputs::FormulaInputs;
use recrawl_crawl::improve::population::PopulationCounter;
use recrawl_formula::Formula;
use recrawl_repository::spill::SpillRuns;
use recrawl_repository::storage::FileStorage;
use recrawl_repository::{Generation, Repository};
use recrawl_scheduler::policy::PolicyKind;
use recrawl_scheduler::{Arm, ArmsPlanner, PlanMemory, PlanRequest, Planner, Policy, Ties};
use recrawl_types::{Content, Cycle, History, PageRecord, Round, Spill, UrlRules, Visited};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

const FORMULAS: [&str; 4] = ["t", "p_eb_site", "p_burst", "u_fresh_sib"];
const OF_HOST: u64 = 10_000;
const OF_FOLDER: u64 = 25;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("which folder?")?;
    let pages: u64 = arguments.next().map_or(Ok(10_000_000), |pages| pages.parse())?;
    let given: Vec<String> = arguments.collect();
    let storage = Arc::new(FileStorage::create(Path::new(&folder))?);
    let mut repository = Repository::open(storage.clone())?;
    if repository.current().pages() == 0 {
        write(&mut repository, pages)?;
    }
    let generation = repository.current();
    let formulas = if given.is_empty() { FORMULAS.map(str::to_owned).to_vec() } else { given };
    for text in &formulas {
        for kind in [Kind::Plain, Kind::Measured, Kind::Loop, Kind::Shadow] {
            let (started, used) = (Instant::now(), processor_time()?);
            let chosen = plan(&storage, &generation, &Formula::from_expression(text)?, kind)?;
            let (seconds, pages) = (started.elapsed().as_secs_f64(), generation.pages());
            println!(
                "{text}, {kind:?}: {:.2} CPU s, {seconds:.2} s for {pages} pages, {chosen} chosen; peak memory {} MB",
                processor_time()? - used,
                peak_memory()? / 1_000_000
            );
        }
    }
    Ok(())
}

/// What a plan does beside choosing pages by one formula.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Plain,
    /// It sums up what is expected of all pages.
    Measured,
    /// And of the next arms.
    Loop,
    /// And scores by another formula, too.
    Shadow,
}

fn plan(
    storage: &Arc<FileStorage>,
    generation: &Generation,
    formula: &Formula,
    kind: Kind,
) -> Result<u64, Box<dyn Error>> {
    let is_measured = kind != Kind::Plain;
    let request = PlanRequest {
        cycle: generation.cycle().next(),
        pages: generation.pages() / 20,
        discovery_share: 0.2,
        audit_share: 0.05,
        announced_share: 0.0,
        discovery_min: 0,
        warmup: 0,
        max_per_host: None,
        max_per_host_in_round: None,
        samples_siblings: false,
        sums_expected: is_measured,
        seed: 1,
        ties: Ties::Hash,
        policy: PolicyKind::default(),
    };
    let origins = generation.origins()?;
    let inputs = FormulaInputs::read(formula, request.cycle, generation, &origins, None, &|_| {})?;
    let mut policy = request.policy(formula);
    let hosts = origins.iter().map(|origin| origin.pages);
    let mut population = PopulationCounter::new(request.cycle, request.warmup);
    let runs = || hosts.clone().zip([0, 1, 2, 2, 2, 2, 2, 2, 2, 2].into_iter().cycle()).collect();
    let other = Formula::from_expression("t")?;
    let mut other = request.policy(&other);
    let (mut planner, mut shadow) = match kind {
        Kind::Shadow => {
            let arm =
                |policy| Arm { request: request.clone(), policy, hosts: hosts.clone(), first: Vec::new() };
            let spill = |number| -> Box<dyn Spill> {
                Box::new(SpillRuns::of_plan(storage.clone(), Round(1), number as u32))
            };
            let none = None::<std::iter::Empty<(u64, usize)>>;
            let policies: Vec<&mut dyn Policy> = vec![&mut *policy, &mut *other];
            let planner = ArmsPlanner::new(vec![arm(0), arm(1)], policies, none, u64::MAX, spill)?;
            (None, Some(planner.count_arms(runs())))
        }
        _ => {
            let planner = Planner::new(request, &mut *policy, hosts.clone(), PlanMemory::unlimited())?;
            (Some(if kind == Kind::Loop { planner.count_arms(runs()) } else { planner }), None)
        }
    };
    generation.scan(inputs.need_keys(), |first, columns| -> Result<(), Box<dyn Error>> {
        inputs.fill(first, columns);
        if is_measured {
            columns.global_rate = inputs.global_rate().unwrap_or(0.02);
            population.add(columns);
        }
        planner.iter_mut().try_for_each(|planner| planner.scan(columns))?;
        Ok(shadow.iter_mut().try_for_each(|shadow| shadow.scan(columns))?)
    })?;
    let mut plans = match (planner, shadow) {
        (Some(planner), _) => vec![planner.finish()?],
        (None, shadow) => shadow.ok_or("one of them plans")?.finish()?,
    };
    Ok(plans.swap_remove(0).chosen.count() as u64)
}

fn write(repository: &mut Repository, pages: u64) -> Result<(), Box<dyn Error>> {
    let rules = UrlRules::keep_all();
    let empty = Generation::default();
    let mut writer = repository.begin(&empty, Cycle(365))?;
    for page in 0..pages {
        let (host, folder, page_of) = (page / OF_HOST, page % OF_HOST / OF_FOLDER, page % OF_FOLDER);
        let url = format!("https://host-{host:06}.example/section-{folder:04}/an-article-about-{page_of:02}");
        let url = rules.canonicalize(&url)?;
        let mut record = PageRecord::discovered(Cycle(1), 1);
        let lot = page.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        if lot % 10 > 0 {
            let mut history = History::first_fetch(Cycle(1 + (lot % 20) as u32));
            for visit in 0..(lot >> 8) % 40 {
                let cycle = Cycle(21 + (visit * 8 + (lot >> 3) % 8) as u32);
                history.record(cycle, (lot >> 13).wrapping_mul(visit + 1) % 11 == 0);
            }
            record.visited = Some(Visited { history, content: Content::default() });
        }
        writer.push(url.key(), &record)?;
    }
    repository.commit(writer, b"")?;
    Ok(())
}

/// Processor time of this process in seconds.
fn processor_time() -> Result<f64, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit_once(')').ok_or("no name")?.1.split_whitespace();
    let ticks: Vec<u64> = fields.skip(11).take(2).map(str::parse).collect::<Result<_, _>>()?;
    Ok(ticks.iter().sum::<u64>() as f64 / 100.0)
}

/// Peak memory of this process in bytes.
fn peak_memory() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.split_whitespace().nth(1).ok_or("no figure")?.parse::<u64>()? << 10)
}
