//! Running: resuming, stopping, back-pressure, memory, and errors of the machine.

use super::*;
use crate::net::limits::CHUNK;
use recrawl_types::{HostRun, SchedulePlace, ScheduleSource};
use std::collections::HashSet;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[tokio::test(start_paused = true)]
async fn an_interrupted_run_is_taken_up_where_it_stopped() {
    let pages: Vec<String> = (0..500).map(|i| format!("http://h{}.test/{i}", i % 7)).collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let mut setup = Setup::new(&pages, |r| friendly(r).after(Duration::from_millis(10)));
    let stop = setup.stop.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(155)).await;
        stop.cancel();
    });
    let first = setup.run().await;
    assert_eq!(first.report.stopped_by, crate::StoppedBy::Stop);
    // For each of seven hosts: robots.txt, fourteen pages, and one in flight.
    assert_eq!(first.pages.len(), 15 * 7);
    let done: HashSet<u64> = first.pages.iter().filter_map(|p| p.index).collect();
    let known = done.clone();
    setup.done = Arc::new(move |i| known.contains(&i));
    setup.stop = CancellationToken::new();
    setup.now += 1000;
    let second = setup.run().await;
    assert_eq!(second.report.stopped_by, crate::StoppedBy::End);
    assert_eq!(second.report.robots_requests, 0);
    let rest: HashSet<u64> = second.pages.iter().filter_map(|p| p.index).collect();
    assert!(done.is_disjoint(&rest));
    assert_eq!((second.pages.len(), done.union(&rest).count()), (rest.len(), 500));
}

#[tokio::test(start_paused = true)]
async fn a_run_with_nothing_to_do_ends() {
    let setup = Setup::new(&[], friendly);
    assert_eq!(setup.run().await.report.requests, 0);
    let mut setup = Setup::new(&["http://a.test/1", "http://b.test/2"], friendly);
    setup.done = Arc::new(|_| true);
    let output = setup.run().await;
    assert_eq!((output.pages.len(), setup.network.log().len()), (0, 0));
    setup.stop.cancel();
    assert_eq!(setup.run().await.report.stopped_by, crate::StoppedBy::Stop);
}

#[tokio::test(start_paused = true)]
async fn no_request_starts_while_no_reader_takes_pages() {
    let entries = (0..100).map(|i| entry(&format!("http://h{i}.test/"))).collect();
    let network = ScriptedNetwork::new(friendly);
    let config = FetchConfig { connections: 5, ..plain() };
    let hosts = Arc::new(MemoryHostTable::default());
    let fetcher = Fetcher::new(config, network.clone(), hosts, tokio_clock(NOW));
    let (out, mut taken) = channel(3);
    let job = job(Arc::new(MemorySchedule::new(entries)), out);
    let run = tokio::spawn(async move { fetcher.run(job).await });
    let pages_asked = || network.urls().iter().filter(|u| !u.ends_with("robots.txt")).count();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(pages_asked(), 5, "a page keeps its connection until it is read");
    taken.recv().await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    // One visit is free again; it requests a robots.txt before a page.
    assert!((5..=6).contains(&pages_asked()));
    // When the receiver is dropped, the run ends.
    drop(taken);
    assert!(matches!(run.await.unwrap(), Err(FetchError::OutputClosed)));
}

#[tokio::test(start_paused = true)]
async fn a_page_that_is_not_read_yet_delays_its_own_host_and_no_other() {
    let slow = (0..50).map(|i| format!("http://slow.test/{i}"));
    let fast = (0..50).map(|i| format!("http://fast{}.test/{i}", i % 5));
    let entries = slow.chain(fast).map(|page| entry(&page)).collect();
    let network = ScriptedNetwork::new(friendly);
    let hosts = Arc::new(MemoryHostTable::default());
    let fetcher = Fetcher::new(plain(), network.clone(), hosts, tokio_clock(NOW));
    let (out, mut taken) = channel(32);
    let job = job(Arc::new(MemorySchedule::new(entries)), out);
    let run = tokio::spawn(async move { fetcher.run(job).await });
    let asked = |host: &str| {
        let pages = network.urls().into_iter().filter(|u| !u.ends_with("robots.txt"));
        pages.filter(|u| u.contains(host)).count()
    };
    // Pages of the slow host wait to be read; all others are read at once.
    let mut unread = Vec::new();
    for _ in 0..51 {
        let page = taken.recv().await.unwrap();
        if page.entry.url.host() == "slow.test" {
            unread.push(page);
        }
    }
    assert_eq!((asked("slow.test"), asked("fast")), (1, 50));
    // Read one by one, all of them arrive.
    while unread.pop().is_some() {
        unread.extend(taken.recv().await);
    }
    assert_eq!(asked("slow.test"), 50);
    assert_eq!(run.await.unwrap().unwrap().outcomes.total(), 100);
}

/// A schedule that counts reads and can fail.
struct Counting {
    inner: MemorySchedule,
    largest: AtomicU64,
    handed_out: AtomicU64,
    fail_at: Option<u64>,
    foreign: Mutex<Option<ScheduleEntry>>,
}

impl Counting {
    fn new(pages: impl Iterator<Item = String>) -> Counting {
        Counting {
            inner: MemorySchedule::new(pages.map(|p| entry(&p)).collect()),
            largest: AtomicU64::new(0),
            handed_out: AtomicU64::new(0),
            fail_at: None,
            foreign: Mutex::new(None),
        }
    }
}

impl ScheduleSource for Counting {
    fn hosts(&self) -> &[HostRun] {
        self.inner.hosts()
    }

    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn read(&self, host: &HostRun, start: u64, max: usize) -> io::Result<Vec<ScheduleEntry>> {
        if self.fail_at.is_some_and(|at| (start..start + max as u64).contains(&at)) {
            return Err(io::Error::other("the disk is gone"));
        }
        self.largest.fetch_max(max as u64, Relaxed);
        let mut entries = self.inner.read(host, start, max)?;
        if let Some(foreign) = self.foreign.lock().unwrap().take() {
            entries[0] = foreign;
        }
        self.handed_out.fetch_add(entries.len() as u64, Relaxed);
        Ok(entries)
    }

    fn find(&self, url: &CanonicalUrl) -> io::Result<Option<SchedulePlace>> {
        self.inner.find(url)
    }
}

async fn run(
    schedule: Arc<Counting>,
    network: Arc<ScriptedNetwork>,
    open_hosts: usize,
) -> Result<RunOutput, FetchError> {
    let config = FetchConfig { open_hosts, ..plain() };
    let fetcher = Fetcher::new(config, network, Arc::new(MemoryHostTable::default()), tokio_clock(NOW));
    let (out, pages) = channel(4);
    let (report, pages) = tokio::join!(fetcher.run(job(schedule, out)), collect(pages));
    Ok(RunOutput { report: report?, pages })
}

#[tokio::test(start_paused = true)]
async fn entries_in_memory_are_bounded_by_the_open_hosts_not_by_the_schedule() {
    const OPEN: u64 = 4;
    let schedule = Arc::new(Counting::new((0..20_000).map(|i| format!("http://h{}.test/{i}", i % 40))));
    let worst = Arc::new(AtomicU64::new(0));
    let (counted, most, asked) = (schedule.clone(), worst.clone(), AtomicU64::new(0));
    let network = ScriptedNetwork::new(move |r| {
        if r.url.path_and_query() != "/robots.txt" {
            let in_memory = counted.handed_out.load(Relaxed) - asked.fetch_add(1, Relaxed);
            most.fetch_max(in_memory, Relaxed);
        }
        friendly(r)
    });
    let output = run(schedule.clone(), network, OPEN as usize).await.unwrap();
    assert_eq!((output.report.outcomes.page, output.report.hosts), (20_000, 40));
    assert_eq!(schedule.largest.load(Relaxed), CHUNK as u64);
    let worst = worst.load(Relaxed);
    assert!(worst <= OPEN * CHUNK as u64, "{worst} entries in memory");
    assert_eq!(schedule.handed_out.load(Relaxed), 20_000, "each entry is read once");
}

#[tokio::test(start_paused = true)]
async fn the_host_with_the_most_pages_is_opened_first() {
    let small = (0..30).map(|i| format!("http://h{i}.test/"));
    let pages = (0..50).map(|i| format!("http://z.test/{i}")).chain(small);
    let network = ScriptedNetwork::new(friendly);
    run(Arc::new(Counting::new(pages)), network.clone(), 2).await.unwrap();
    assert_eq!(network.urls()[0], "http://z.test/robots.txt");
}

#[tokio::test(start_paused = true)]
async fn a_schedule_that_cannot_be_read_stops_the_run_with_the_place() {
    let mut schedule = Counting::new((0..100).map(|i| format!("http://a.test/{i:03}")));
    schedule.fail_at = Some(70);
    let error = run(Arc::new(schedule), ScriptedNetwork::new(friendly), 4).await.err().unwrap();
    assert_eq!(error.to_string(), "cannot read the schedule at entry 64: the disk is gone");
}

#[tokio::test(start_paused = true)]
async fn an_entry_of_another_host_is_not_asked_for_under_this_hosts_pace() {
    let schedule = Counting::new((0..3).map(|i| format!("http://a.test/{i}")));
    *schedule.foreign.lock().unwrap() = Some(entry("http://victim.test/"));
    let network = ScriptedNetwork::new(friendly);
    let error = run(Arc::new(schedule), network.clone(), 4).await.err().unwrap();
    assert!(error.to_string().contains("belong to another host"), "{error}");
    assert!(network.urls().is_empty());
}

/// A host table on a broken disk.
struct Broken;

impl HostTable for Broken {
    fn load(&self, _: &Origin) -> io::Result<Option<HostState>> {
        Ok(None)
    }

    fn store(&self, _: &Origin, _: &HostState) -> io::Result<()> {
        Err(io::Error::other("read-only"))
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_table_that_cannot_be_written_stops_the_run() {
    let network = ScriptedNetwork::new(friendly);
    let fetcher = Fetcher::new(FetchConfig::default(), network, Arc::new(Broken), tokio_clock(NOW));
    let (out, _pages) = channel(4);
    let schedule = Arc::new(MemorySchedule::new(vec![entry("http://a.test/1")]));
    let error = fetcher.run(job(schedule, out)).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot load or store the state of http://a.test: read-only");
}
