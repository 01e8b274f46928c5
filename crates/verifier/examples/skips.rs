//! Times the end of a cycle that leaves most of its schedule out: `skips [known=3000000] [skipped=1000000]`. The pages are spread
//! over all blocks. First each is a record of the log and a page that may be unknown, so that its block is opened; then they are
//! one range. Prints CPU seconds of writing and reading the log, of the merge with its commit, and bytes of log and kept visits.

use recrawl_repository::storage::{FileStorage, Storage};
use recrawl_repository::{BLOCK_PAGES, Repository, VisitLog};
use recrawl_types::schedule::MemorySchedule;
use recrawl_types::{
    CanonicalUrl, Content, Cycle, LogRecord, PageRecord, ScheduleEntry, ScheduleSource, Share, Skip, Skipped,
    UrlRules, Visit, Visited,
};
use recrawl_verifier::{Batch, BatchLimits, MergeRules, Waiting, merge};
use std::error::Error;
use std::fs;
use std::sync::Arc;

fn url(page: u64) -> CanonicalUrl {
    let text = format!("https://www{:05}.example/section/{}/page-{page:09}", page / 500, page % 7);
    UrlRules::keep_all().canonicalize(&text).expect("a sound URL")
}

fn argument(name: &str, default: u64) -> Result<u64, Box<dyn Error>> {
    let given = std::env::args().find_map(|a| a.strip_prefix(name)?.strip_prefix('=').map(str::to_owned));
    Ok(given.map_or(Ok(default), |n| n.parse())?)
}

/// CPU seconds of this process, in hundredths.
fn processor() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<f64> =
        stat.rsplit(')').next().unwrap_or_default().split(' ').map(|f| f.parse().unwrap_or(0.0)).collect();
    fields.get(12).zip(fields.get(13)).map_or(f64::NAN, |(user, system)| (user + system) / 100.0)
}

fn main() -> Result<(), Box<dyn Error>> {
    let (known, count) = (argument("known", 3_000_000)?, argument("skipped", 1_000_000)?);
    let name = format!("recrawl-skips-{}", std::process::id());
    let folder = &std::env::temp_dir().join(name);
    fs::create_dir_all(folder)?;
    let storage: Arc<dyn Storage> = Arc::new(FileStorage::create(folder)?);
    let mut repository = Repository::open(storage.clone())?.keeping_visits(9);
    let mut urls: Vec<CanonicalUrl> = (0..known).map(url).collect();
    urls.sort_unstable();
    let base = repository.current();
    let mut writer = repository.begin(&base, Cycle(1))?;
    for url in &urls {
        writer.push(url.key(), &PageRecord::discovered(Cycle(1), 1))?;
    }
    repository.commit(writer, b"")?;
    let entries = urls.into_iter().step_by((known / count) as usize);
    let entries = entries.map(|url| ScheduleEntry::new(url, Share::Score, PageRecord::default()));
    let schedule = MemorySchedule::new(entries.collect());
    for is_range in [false, true, false, true] {
        let generation = repository.current();
        let round = generation.dated().in_next_cycle();
        let pages = Skipped { pages: 0..schedule.len(), why: Skip::Deadline, at: 1_700_000_000_000 };
        let began = processor();
        let (mut log, _) = VisitLog::open(&*storage, round.round)?;
        if is_range {
            log.append(&LogRecord::Skipped(pages.clone()))?;
        } else {
            pages.each(&schedule, |visit| -> Result<(), std::io::Error> {
                let visit = Visit { index: None, ..visit };
                log.append(&LogRecord::Visit(Box::new(visit))).map_err(std::io::Error::other)
            })?;
        }
        log.sync()?;
        let bytes = VisitLog::bytes(&*storage, round.round)?;
        let written = processor();
        let mut batch = Batch::new(storage.clone(), round, BatchLimits::default());
        batch.add_log(VisitLog::read(&*storage, round.round)?, &schedule, |_, _| {}, |_| true)?;
        let batch = batch.finish()?;
        let gathered = processor();
        let judge = |_: &CanonicalUrl, before: &Visited, after: &mut Content| {
            before.content.fingerprint != after.fingerprint
        };
        let rules = MergeRules {
            max_hops: 5,
            max_pages_per_host: 1_000_000,
            waiting: Waiting { max_cycles: 0, has_turns: true, enough: 0 },
            block_pages: BLOCK_PAGES,
            threads: 2,
            ..MergeRules::unlimited(round.cycle, &judge)
        };
        let mut writer = repository.begin(&generation, round.cycle)?;
        merge(&generation, batch, &mut writer, &rules)?;
        repository.commit(writer, b"")?;
        let merged = processor();
        println!(
            "{}: log {bytes} bytes, written {:.2} s, gathered {:.2} s, merged {:.2} s",
            if is_range { "range" } else { "each" },
            written - began,
            gathered - written,
            merged - gathered
        );
    }
    for name in storage.list()?.iter().filter(|name| name.ends_with(".kept")) {
        println!("{name}: {} bytes", fs::metadata(folder.join(name))?.len());
    }
    fs::remove_dir_all(folder)?;
    Ok(())
}
