//! Times gathering: `gather [links=5000000] [pages=250000] [hosts=20000] [memory=512]` (MiB). Makes
//! a log of `pages` visits and `links` links in memory. Hosts follow Zipf's law, like the Web's;
//! four links in five stay within the page's own origin; URLs have about 60 characters. Prints the
//! seconds of reading the log alone, of reading and adding, and of sorting.

use recrawl_repository::storage::{MemoryStorage, Storage};
use recrawl_repository::{LogChunk, VisitLog};
use recrawl_types::schedule::MemorySchedule;
use recrawl_types::{
    CanonicalUrl, Change, Content, Cycle, DatedRound, Fingerprint, Link, LogRecord, Outcome, Round, UrlRules,
    Visit,
};
use recrawl_verifier::{Batch, BatchLimits};
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

const CYCLE: Cycle = Cycle(1);
const ROUND: DatedRound = DatedRound { round: Round(1), cycle: CYCLE };

/// Random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// A number from 1 to `bound`; the probability of i is proportional to 1/i.
    fn skewed(&mut self, bound: u64) -> u64 {
        let even = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        ((bound as f64).powf(even) as u64).clamp(1, bound)
    }
}

fn url(rules: &UrlRules, host: u64, page: u64) -> CanonicalUrl {
    let text = format!("https://www.site-{host:06}.example/section-{}/article-{page:014}.html", page % 7);
    rules.canonicalize(&text).expect("a sound URL")
}

fn argument(name: &str, default: u64) -> Result<u64, Box<dyn Error>> {
    let given = std::env::args().find_map(|a| a.strip_prefix(name)?.strip_prefix('=').map(str::to_owned));
    Ok(given.map_or(Ok(default), |n| n.parse())?)
}

/// Start by the clock, and CPU seconds at the start (in hundredths, if the system reports them).
struct Timer(Instant, f64);

impl Timer {
    fn start() -> Timer {
        Timer(Instant::now(), Timer::processor())
    }

    fn processor() -> f64 {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
    }

    fn tell(&self, what: &str) {
        let processor = Timer::processor() - self.1;
        println!("{:.2} s, of processor {processor:.2} s, to {what}", self.0.elapsed().as_secs_f64());
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (links, pages) = (argument("links", 5_000_000)?, argument("pages", 250_000)?);
    let (hosts, memory) = (argument("hosts", 20_000)?, argument("memory", 512)?);
    let limits = BatchLimits { memory_bytes: (memory << 20) as usize };
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
    let (rules, mut random) = (UrlRules::keep_all(), Random(1));
    let (mut log, _) = VisitLog::open(&*storage, ROUND.round)?;
    for visit in 0..pages {
        let host = random.skewed(hosts);
        // The most popular host has twenty million pages, the last a thousand.
        let page = |random: &mut Random, host: u64| random.below(20_000_000 / host + 1000);
        let found = (0..links * (visit + 1) / pages - links * visit / pages).map(|_| {
            let host = if random.below(100) < 78 { host } else { random.skewed(hosts) };
            Link::to(url(&rules, host, page(&mut random, host)), 1)
        });
        let links = found.collect();
        let fingerprint = Fingerprint { simhash: random.next(), digest: random.next().into() };
        log.append(&LogRecord::Visit(Box::new(Visit {
            index: Some(visit),
            at: 1_700_000_000_000,
            content: Some(Content { fingerprint, ..Content::default() }),
            links,
            bytes: 10_000,
            ..Visit::new(url(&rules, host, page(&mut random, host)), Outcome::Fetched(Change::First))
        })))?;
    }
    drop(log);

    let timer = Timer::start();
    let mut reader = VisitLog::read(&*storage, ROUND.round)?;
    let mut chunk = LogChunk::default();
    while reader.next_chunk(&mut chunk)? {}
    timer.tell("read the log");

    let timer = Timer::start();
    let mut batch = Batch::new(storage.clone(), ROUND, limits);
    batch.add_log(
        VisitLog::read(&*storage, ROUND.round)?,
        &MemorySchedule::default(),
        |_, _| {},
        |_| true,
    )?;
    timer.tell("read and add");
    let sorting = Timer::start();
    let batch = batch.finish()?;
    sorting.tell("sort what is in memory");
    timer.tell("gather and sort");
    println!("{} runs on disk", batch.runs_on_disk());
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        status.lines().filter(|line| line.starts_with("VmHWM")).for_each(|line| println!("{line}"));
    }
    Ok(())
}
