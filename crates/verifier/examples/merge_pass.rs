//! Times one merge: `merge_pass [N]` known pages (default 1,000,000) and N/20 visits, a tenth of
//! whose links are new. Prints duration, pages per second and the size of the files.

use recrawl_repository::Repository;
use recrawl_repository::storage::{MemoryStorage, Storage};
use recrawl_types::{
    CanonicalUrl, Change, Content, Fingerprint, Link, LogRecord, Outcome, Share, UrlRules, Visit, Visited,
};
use recrawl_verifier::{Batch, BatchLimits, MergeReport, MergeRules, Waiting, merge};
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

const LINKS_PER_PAGE: u64 = 10;

fn url(host: u64, page: u64) -> CanonicalUrl {
    let text = format!("https://www{host}.example/section/{}/page-{page:09}", page % 7);
    UrlRules::keep_all().canonicalize(&text).expect("a sound URL")
}

fn link(url: CanonicalUrl) -> Link {
    Link { counted: true, ..Link::to(url, 1) }
}

/// Runs one cycle and returns its report with the seconds of the pass alone.
fn cycle(
    repository: &mut Repository,
    storage: &Arc<dyn Storage>,
    log: impl Iterator<Item = LogRecord>,
) -> Result<(MergeReport, f64), Box<dyn Error>> {
    let generation = repository.current();
    let round = generation.dated().in_next_cycle();
    let cycle = round.cycle;
    let gathering = Instant::now();
    let mut batch = Batch::new(storage.clone(), round, BatchLimits::default());
    for record in log {
        batch.add(record)?;
    }
    let batch = batch.finish()?;
    println!(
        "cycle {cycle}: gathered in {:.2} s, {} runs on disk",
        gathering.elapsed().as_secs_f64(),
        batch.runs_on_disk()
    );
    let mut writer = repository.begin(&generation, repository.current().cycle().next())?;
    let judge = |_: &CanonicalUrl, before: &Visited, after: &mut Content| {
        before.content.fingerprint != after.fingerprint
    };
    let rules = MergeRules {
        max_hops: 5,
        max_pages_per_host: 1_000_000,
        waiting: Waiting { max_cycles: 0, has_turns: true, enough: 0 },
        block_pages: recrawl_repository::BLOCK_PAGES,
        threads: 2,
        ..MergeRules::unlimited(cycle, &judge)
    };
    let start = Instant::now();
    let report = merge(&generation, batch, &mut writer, &rules)?;
    let seconds = start.elapsed().as_secs_f64();
    repository.commit(writer, b"")?;
    Ok((report, seconds))
}

fn main() -> Result<(), Box<dyn Error>> {
    let pages: u64 = std::env::args().nth(1).map_or(Ok(1_000_000), |n| n.parse())?;
    let hosts = (pages / 1000).max(1);
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
    let mut repository = Repository::open(storage.clone())?;

    let seeds = (0..pages).map(|i| LogRecord::Seeds(vec![link(url(i % hosts, i / hosts))]));
    cycle(&mut repository, &storage, seeds)?;

    let visits = (0..pages / 20).map(|i| {
        let (host, page) = (i % hosts, i / hosts);
        let links = (0..LINKS_PER_PAGE)
            .map(|l| link(if l == 0 { url(host, pages + page) } else { url(host, (page + 97 * l) % 1000) }))
            .collect();
        let fingerprint = Fingerprint { simhash: i, digest: i.into() };
        LogRecord::Visit(Box::new(Visit {
            index: Some(i),
            share: Share::Discovery,
            at: 1_700_000_000_000,
            content: Some(Content { fingerprint, ..Content::default() }),
            links,
            bytes: 10_000,
            ..Visit::new(url(host, page), Outcome::Fetched(Change::First))
        }))
    });
    let (report, seconds) = cycle(&mut repository, &storage, visits)?;
    println!("{report:#?}");
    println!("{seconds:.3} s for the pass, {:.0} records/s", report.pages as f64 / seconds);

    let mut bytes = 0;
    for name in storage.list()? {
        bytes += storage.open(&name)?.length()?;
    }
    println!("{bytes} bytes in {} files", storage.list()?.len());
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        status.lines().filter(|line| line.starts_with("VmHWM")).for_each(|line| println!("{line}"));
    }
    Ok(())
}
