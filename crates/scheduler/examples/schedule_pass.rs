//! Measures the schedule pass over synthetic records: seconds and peak memory.
//!
//! `cargo run --release -p recrawl-scheduler --example schedule_pass [PAGES] [MAX_PER_HOST] [MIB] [PARTITIONS]`
//!
//! `MAX_PER_HOST` 0 means no limit. `MIB` is the plan's memory limit, beyond which it spills to a
//! temporary folder. Without it there is no limit. Each of `PARTITIONS` plans `PAGES` pages within its
//! own limit, and all agree on one plan.
//!
//! Records are made block by block and never kept. Nine of ten known pages were visited, up to 41
//! times in the last year. The formula is the default one. k is 5 % of the pages, a fifth of it for
//! discovery and 1 % for the audit. The time for making records is printed separately. Times are those
//! of a processor, and with several partitions the longest of one.

use recrawl_formula::Formula;
use recrawl_scheduler::policy::PolicyKind;
use recrawl_scheduler::policy::formula::FormulaPolicy;
use recrawl_scheduler::{PlanCounts, PlanMemory, PlanRequest, Planner, Ties};
use recrawl_types::{Cycle, History, Known, Spill, StateColumns};
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::thread;

/// Rows per block, as in a generation on disk.
const BLOCK: u64 = 4096;
const NOW: Cycle = Cycle(365);
const PAGES_PER_HOST: u64 = 250;

type Failure = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let pages: u64 = arguments.next().map_or(Ok(10_000_000), |a| a.parse())?;
    let max_per_host: Option<u64> = arguments.next().map(|a| a.parse()).transpose()?.filter(|cap| *cap > 0);
    let memory: Option<u64> = arguments.next().map(|a| a.parse()).transpose()?;
    let partitions: usize = arguments.next().map_or(Ok(1), |a| a.parse())?;
    let request = PlanRequest {
        cycle: NOW,
        pages: pages * partitions as u64 / 20,
        discovery_share: 0.2,
        audit_share: 0.01,
        announced_share: 0.1,
        discovery_min: 0,
        warmup: 2,
        max_per_host,
        max_per_host_in_round: None,
        samples_siblings: false,
        sums_expected: false,
        explore: 0.0,
        round: 0,
        seed: 1,
        ties: Ties::Hash,
        policy: PolicyKind::default(),
    };
    let (before, room) = (peak_memory()?, Room::new(partitions));
    let passes: Vec<Pass> = thread::scope(|scope| {
        let pass = |place| {
            let (request, room) = (&request, &room);
            scope.spawn(move || Pass::run(request, pages, memory, (place, room)))
        };
        let running: Vec<_> = (0..partitions).map(pass).collect();
        running
            .into_iter()
            .map(|pass| pass.join().map_err(|_| "a planner failed")?)
            .collect::<Result<_, Failure>>()
    })?;
    let c = passes.iter().fold(PlanCounts::default(), |sum, pass| sum + pass.counts);
    let longest = |of: fn(&Pass) -> f64| passes.iter().map(of).fold(0.0, f64::max);
    println!("pages {partitions} x {pages}");
    println!(
        "chosen: {} by score, {} discovery, {} audit, {} warm-up",
        c.score, c.discovery, c.audit, c.warmup
    );
    println!("making the records: {:.3} s", longest(|pass| pass.making));
    let (scan, finish) = (longest(|pass| pass.scanning), longest(|pass| pass.finishing));
    println!("the pass: {:.3} s = {scan:.3} s scan + {finish:.3} s finish", scan + finish);
    let told = longest(|pass| pass.told as f64);
    println!("exchanges: {}, {:.2} MB told by one", longest(|pass| pass.exchanges as f64), told / 1e6);
    println!("spilled: {:.1} MB", passes.iter().map(|pass| pass.spilled).sum::<u64>() as f64 / 1e6);
    println!("peak memory: {:.1} MB, {before:.1} MB before the pass", peak_memory()?);
    Ok(())
}

/// The pass of one planner: seconds of a processor, and what it told the others.
#[derive(Default)]
struct Pass {
    counts: PlanCounts,
    making: f64,
    scanning: f64,
    finishing: f64,
    exchanges: usize,
    told: usize,
    spilled: u64,
}

impl Pass {
    fn run(
        request: &PlanRequest,
        pages: u64,
        memory: Option<u64>,
        (place, room): (usize, &Room),
    ) -> Result<Pass, Failure> {
        let spilled = Arc::default();
        let memory = match memory {
            Some(mib) => PlanMemory::new(mib << 20, Box::new(Folder::new(place, Arc::clone(&spilled))?)),
            None => PlanMemory::unlimited(),
        };
        let formula = Formula::from_expression("t * (X + 0.1) / (n + 1)")?;
        let mut policy = FormulaPolicy::new(&formula);
        let hosts =
            (0..pages.div_ceil(PAGES_PER_HOST)).map(|host| PAGES_PER_HOST.min(pages - host * PAGES_PER_HOST));
        let first = place as u64 * pages;
        let mut planner = Planner::new(request.clone(), &mut policy, hosts, memory)?.behind(first);
        let mut pass = Pass::default();
        let mut block = StateColumns::default();
        let mut next = 0;
        while next < pages {
            let started = processor_seconds()?;
            let rows = BLOCK.min(pages - next);
            block.clear();
            (first + next..first + next + rows).for_each(|ordinal| add_page(ordinal, &mut block));
            next += rows;
            let made = processor_seconds()?;
            planner.scan(&block)?;
            pass.making += made - started;
            pass.scanning += processor_seconds()? - made;
        }
        let started = processor_seconds()?;
        let plan = match room.planners() {
            1 => planner.finish()?,
            _ => planner.finish_with(&mut |told| {
                pass.exchanges += 1;
                pass.told += told.len();
                Ok(room.gather(place, told))
            })?,
        };
        pass.counts = plan.counts;
        // A real crawl would write these as a schedule.
        let mut listed = 0;
        for page in plan.chosen {
            page?;
            listed += 1;
        }
        assert_eq!(listed, pass.counts.chosen());
        pass.finishing = processor_seconds()? - started;
        pass.spilled = spilled.load(Ordering::Relaxed);
        Ok(pass)
    }
}

/// Where planners hear each other, in memory.
struct Room {
    told: Mutex<Vec<Vec<u8>>>,
    all: Barrier,
}

impl Room {
    fn new(planners: usize) -> Room {
        Room { told: Mutex::new(vec![Vec::new(); planners]), all: Barrier::new(planners) }
    }

    fn planners(&self) -> usize {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn gather(&self, place: usize, own: &[u8]) -> Vec<Vec<u8>> {
        let told = || self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told()[place] = own.to_vec();
        self.all.wait();
        let all = told().clone();
        self.all.wait();
        all
    }
}

/// Seconds that a processor spent on this thread.
fn processor_seconds() -> Result<f64, Failure> {
    let times = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds: f64 = times.split(' ').next().ok_or("no times")?.parse()?;
    Ok(nanoseconds / 1e9)
}

/// Adds a page whose record depends only on its ordinal.
fn add_page(ordinal: u64, block: &mut StateColumns) {
    let mut chance = ordinal.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut draw = |below: u64| {
        chance ^= chance >> 29;
        chance = chance.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (chance >> 33) % below
    };
    let known = Known { depth: draw(12) as u16, in_links: draw(50) as u32, ..Known::default() };
    if draw(10) == 0 {
        return block.push(known, None);
    }
    let visits = if draw(100) == 0 { 0 } else { 2 + draw(40) as u32 };
    let changes = draw(u64::from(visits) + 1) as u32;
    let last = Cycle(NOW.0 - 1 - draw(60) as u32);
    let first = Cycle(last.0 - visits);
    let history = History { visits, changes, first, last, last_change: last, ..History::default() };
    block.push(Known { last_attempt: last, ..known }, Some(&history));
}

/// A temporary folder of runs.
struct Folder {
    path: PathBuf,
    written: Arc<AtomicU64>,
}

impl Folder {
    fn new(place: usize, written: Arc<AtomicU64>) -> io::Result<Folder> {
        let path = std::env::temp_dir().join(format!("schedule-pass-{}-{place}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Folder { path, written })
    }

    fn file(&self, run: u32) -> PathBuf {
        self.path.join(run.to_string())
    }
}

impl Spill for Folder {
    fn create(&mut self, run: u32) -> io::Result<Box<dyn Write>> {
        Ok(Box::new(File::create(self.file(run))?))
    }

    fn take(&mut self, run: u32) -> io::Result<Box<dyn Read>> {
        let file = File::open(self.file(run))?;
        self.written.fetch_add(file.metadata()?.len(), Ordering::Relaxed);
        fs::remove_file(self.file(run))?;
        Ok(Box::new(BufReader::with_capacity(256 << 10, file)))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            println!("{} is left behind: {error}", self.path.display());
        }
    }
}

/// Peak memory of this process, in MB.
fn peak_memory() -> Result<f64, Failure> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib * 1024.0 / 1e6)
}
