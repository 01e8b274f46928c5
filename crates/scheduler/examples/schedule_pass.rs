//! Measures the schedule pass over synthetic records: seconds and peak memory.
//!
//! `cargo run --release -p recrawl-scheduler --example schedule_pass [PAGES] [MAX_PER_HOST] [MIB]`
//!
//! `MAX_PER_HOST` 0 means no limit. `MIB` is the plan's memory limit, beyond which it spills to a
//! temporary folder. Without it there is no limit.
//!
//! Records are made block by block and never kept. Nine of ten known pages were visited, up to 41
//! times in the last year. The formula is the default one. k is 5 % of the pages, a fifth of it for
//! discovery and 1 % for the audit. The time for making records is printed separately.

use recrawl_formula::Formula;
use recrawl_scheduler::policy::PolicyKind;
use recrawl_scheduler::policy::formula::FormulaPolicy;
use recrawl_scheduler::{PlanMemory, PlanRequest, Planner, Ties};
use recrawl_types::{Cycle, History, Known, Spill, StateColumns};
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Rows per block, as in a generation on disk.
const BLOCK: u64 = 4096;
const NOW: Cycle = Cycle(365);
const PAGES_PER_HOST: u64 = 250;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let pages: u64 = arguments.next().map_or(Ok(10_000_000), |a| a.parse())?;
    let max_per_host: Option<u64> = arguments.next().map(|a| a.parse()).transpose()?.filter(|cap| *cap > 0);
    let memory = match arguments.next() {
        Some(mib) => PlanMemory::new(mib.parse::<u64>()? << 20, Box::new(Folder::new()?)),
        None => PlanMemory::unlimited(),
    };
    let request = PlanRequest {
        cycle: NOW,
        pages: pages / 20,
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
    let formula = Formula::from_expression("t * (X + 0.1) / (n + 1)")?;
    let mut policy = FormulaPolicy::new(&formula);
    let hosts =
        (0..pages.div_ceil(PAGES_PER_HOST)).map(|host| PAGES_PER_HOST.min(pages - host * PAGES_PER_HOST));
    let mut planner = Planner::new(request, &mut policy, hosts, memory)?;

    let before = peak_memory()?;
    let (mut making, mut passing) = (Duration::ZERO, Duration::ZERO);
    let mut block = StateColumns::default();
    let mut next = 0;
    while next < pages {
        let started = Instant::now();
        let rows = BLOCK.min(pages - next);
        block.clear();
        (next..next + rows).for_each(|ordinal| add_page(ordinal, &mut block));
        next += rows;
        making += started.elapsed();
        let started = Instant::now();
        planner.scan(&block)?;
        passing += started.elapsed();
    }
    let started = Instant::now();
    let plan = planner.finish()?;
    let c = plan.counts;
    // A real crawl would write these as a schedule.
    let mut listed = 0;
    for page in plan.chosen {
        page?;
        listed += 1;
    }
    assert_eq!(listed, c.chosen());
    let finishing = started.elapsed();

    println!("pages {pages}, formula {}", formula.expr);
    println!(
        "chosen: {} by score, {} discovery, {} audit, {} warm-up",
        c.score, c.discovery, c.audit, c.warmup
    );
    println!("making the records: {:.3} s", making.as_secs_f64());
    println!(
        "the pass: {:.3} s = {:.3} s scan + {:.3} s finish",
        (passing + finishing).as_secs_f64(),
        passing.as_secs_f64(),
        finishing.as_secs_f64()
    );
    println!("peak memory: {:.1} MB, {:.1} MB before the pass", peak_memory()?, before);
    Ok(())
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
    written: u64,
}

impl Folder {
    fn new() -> io::Result<Folder> {
        let path = std::env::temp_dir().join(format!("schedule-pass-{}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Folder { path, written: 0 })
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
        self.written += file.metadata()?.len();
        fs::remove_file(self.file(run))?;
        Ok(Box::new(BufReader::with_capacity(256 << 10, file)))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        println!("spilled: {:.1} MB", self.written as f64 / 1e6);
        if let Err(error) = fs::remove_dir_all(&self.path) {
            println!("{} is left behind: {error}", self.path.display());
        }
    }
}

/// Peak memory of this process, in MB.
fn peak_memory() -> Result<f64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib * 1024.0 / 1e6)
}
