use super::*;
use crate::clock::RoundToRun;
use crate::config::Config;
use crate::crawl::{Crawl, CrawlDisk};
use crate::cycle::{RoundEnd, round};
use crate::process::ProgramServices;
use crate::progress::figures::Stage;
use crate::report::{IMPORT, RoundReport};
use crate::settings::Settings;
use recrawl_repository::Repository;
use recrawl_repository::storage::{FileStorage, MemoryStorage};
use recrawl_types::{CanonicalUrl, Content, Cycle, DatedRound, History, PageRecord, UrlRules, Visited};
use recrawl_verifier::MergeReport;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The default of `serve.stall`, in milliseconds.
const STALL: u64 = 600_000;

/// The time, and the longest observed time without progress.
#[derive(Default)]
struct TestClock {
    now: AtomicU64,
    longest: AtomicU64,
}

/// Files on a disk that takes `step` milliseconds per operation.
struct SlowStorage {
    files: Arc<FileStorage>,
    clock: Arc<TestClock>,
    live: Arc<RoundProgress>,
    step: u64,
}

impl fmt::Debug for SlowStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.files.fmt(f)
    }
}

impl SlowStorage {
    /// Lets time pass and then checks the progress, except while pages are fetched, where other
    /// code reports it.
    fn passes(&self) {
        if self.live.now().is_some_and(|now| now.stage == Stage::Fetching) {
            return;
        }
        self.clock.now.fetch_add(self.step, Relaxed);
        self.clock.longest.fetch_max(self.live.idle_ms(), Relaxed);
    }

    fn again(&self) -> SlowStorage {
        let SlowStorage { files, clock, live, step } = self;
        SlowStorage { files: files.clone(), clock: clock.clone(), live: live.clone(), step: *step }
    }
}

impl Storage for SlowStorage {
    fn create(&self, name: &str) -> io::Result<Box<dyn WriteFile>> {
        self.passes();
        Ok(Box::new(SlowFile(self.files.create(name)?, self.again())))
    }

    fn append(&self, name: &str) -> io::Result<Box<dyn WriteFile>> {
        self.passes();
        Ok(Box::new(SlowFile(self.files.append(name)?, self.again())))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn ReadFile>> {
        self.passes();
        Ok(Box::new(SlowFile(self.files.open(name)?, self.again())))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.passes();
        self.files.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.passes();
        self.files.remove(name)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.files.list()
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.passes();
        self.files.sync_dir()
    }

    fn lock(&self) -> io::Result<Box<dyn Any + Send + Sync>> {
        self.files.lock()
    }

    fn free(&self) -> io::Result<u64> {
        self.files.free()
    }

    fn locate(&self, name: &str) -> String {
        self.files.locate(name)
    }
}

struct SlowFile<F>(F, SlowStorage);

impl WriteFile for SlowFile<Box<dyn WriteFile>> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.1.passes();
        self.0.write(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.1.passes();
        self.0.sync()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.1.passes();
        self.0.truncate(length)
    }
}

impl ReadFile for SlowFile<Box<dyn ReadFile>> {
    fn identity(&self) -> io::Result<String> {
        self.0.identity()
    }

    fn length(&self) -> io::Result<u64> {
        self.0.length()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.1.passes();
        self.0.read_at(buffer, offset)
    }
}

const PAGES: u32 = 100_000;

fn page(number: u32) -> CanonicalUrl {
    UrlRules::default().canonicalize(&format!("http://known.example/{number:06}")).unwrap()
}

/// This many known pages of a host out of scope: due, but never requested.
fn known_pages(files: &Arc<FileStorage>) {
    let mut repository = Repository::open(files.clone()).unwrap();
    let empty = repository.current();
    let mut writer = repository.begin(&empty, repository.current().cycle().next()).unwrap();
    for number in 0..PAGES {
        let mut record = PageRecord::discovered(Cycle(1), 1);
        let history = History::first_fetch(Cycle(1));
        record.visited = Some(Visited { history, content: Content::default() });
        writer.push(page(number).key(), &record).unwrap();
    }
    let round = DatedRound::only_of(Cycle(1));
    let report = RoundReport::without_visits(IMPORT, round, 0, &MergeReport::default(), 0);
    repository.commit(writer, &report.to_json()).unwrap();
}

/// A cycle on a disk that takes `step` milliseconds per operation: its duration and the longest
/// time without progress, in milliseconds, and the reported numbers of passed pages.
fn cycle_over(step: u64, formula: &str) -> (u64, u64, (u64, u64)) {
    let folder = tempfile::tempdir().unwrap();
    let files = Arc::new(FileStorage::create(folder.path()).unwrap());
    known_pages(&files);
    let mut config: Config = toml::from_str(&format!(
        "[scope]\nhosts = [\"other.example\"]\n[schedule]\nformula = {formula:?}\n\
         [cycle]\npages_min = {PAGES}\n[storage]\nreserve = \"0 B\"\nplan_memory = \"1 MiB\"\n"
    ))
    .unwrap();
    config.storage.data_dir = folder.path().into();
    let clock = Arc::new(TestClock::default());
    let time = clock.clone();
    let uptime = Arc::new(move || Duration::from_millis(time.now.load(Relaxed)));
    let live = Arc::new(RoundProgress::by(recrawl_fetcher::system_clock(), uptime));
    let slow = SlowStorage { files, clock: clock.clone(), live: live.clone(), step };
    let settings = Settings::check(config).unwrap();
    let warc = Arc::new(MemoryStorage::new());
    let disk = CrawlDisk { files: Arc::new(slow), warc, sync: recrawl_repository::sync_files() };
    let mut crawl =
        Crawl::over(disk, live.clone(), settings, &[], 1, ProgramServices::quiet().unwrap()).unwrap();
    clock.now.store(0, Relaxed);
    clock.longest.store(0, Relaxed);
    live.moved();
    let ended = round(&mut crawl, RoundToRun::OF_NEXT_CYCLE, &[]).unwrap();
    assert!(matches!(ended, RoundEnd::Committed(report) if report.scheduled > 0));
    let now = live.now().unwrap();
    (clock.now.load(Relaxed), clock.longest.load(Relaxed), (now.passed, now.to_pass))
}

#[test]
fn a_cycle_that_takes_hours_for_its_plan_and_its_merge_moves_all_the_while() {
    for formula in ["t", "t * site_rate"] {
        let (took, idle, passed) = cycle_over(1_000, formula);
        assert!(took > STALL, "{took} ms are short: nothing is shown");
        assert!(idle < STALL / 4, "{formula}: nothing moved for {idle} ms of {took}");
        assert_eq!(passed, (PAGES.into(), PAGES.into()), "{formula}: the merge came past all of them");
    }
}

#[test]
fn a_disk_that_hangs_is_told() {
    let (_, idle, _) = cycle_over(STALL, "t");
    assert!(idle >= STALL, "{idle}");
}
