//! A fleet in lockstep, all partitions in one process, knows and visits what one crawl knows and visits.

use super::*;
use crate::cycle::page::Tools;
use crate::cycle::pipeline::ReaderResources;
use recrawl_fetcher::{FetchResult, FetchedPage, Response};
use recrawl_fleet::{ExchangePatience, FleetMap, FleetWaits, Partition, PartitionRange};
use recrawl_types::{PageRecord, ScheduleEntry, ScheduleSource, Visit};
use recrawl_vault::Store;
use recrawl_vault::store::{Listed, MemoryStore, StoreError};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const CYCLES: u64 = 10;
/// Milliseconds of a cycle: pages that are not found three times in a row are gone.
pub(super) const CYCLE: u64 = 8 * 86_400_000;
pub(super) const HOSTS: u64 = 23;

/// A made-up web: links cross hosts and change, texts change, pages vanish, come back and redirect to other hosts.
pub(super) struct LinkedWeb {
    pub(super) pages: u64,
    /// Does nothing ever change?
    pub(super) is_still: bool,
}

impl LinkedWeb {
    fn draw(&self, what: &str, page: u64, cycle: u64, below: u64) -> u64 {
        xxhash_rust::xxh3::xxh3_64(format!("{what} {page} {cycle}").as_bytes()) % below
    }

    fn address(page: u64) -> String {
        format!("http://www.h{}.test/p{page}", page % HOSTS)
    }

    pub(super) fn seeds() -> Vec<CanonicalUrl> {
        (0..HOSTS).map(|page| UrlRules::default().canonicalize(&LinkedWeb::address(page)).unwrap()).collect()
    }

    fn answer(&self, url: &str, cycle: u64) -> FetchResult {
        let page: u64 = url.rsplit_once("/p").unwrap().1.parse().unwrap();
        let cycle = if self.is_still { 0 } else { cycle };
        let now = |what, below| self.draw(what, page, cycle / (1 + page % 5), below);
        if page >= HOSTS && now("missing", 9) == 0 {
            return FetchResult::Nothing(Outcome::NotFound(404));
        }
        if page >= HOSTS && now("redirect", 11) == 0 {
            let target = self.draw("target", page, 0, self.pages);
            let target = UrlRules::default().canonicalize(&LinkedWeb::address(target)).unwrap();
            return FetchResult::Redirect { target, response: Box::default() };
        }
        let links: String = (0..6)
            .map(|link| LinkedWeb::address(self.draw("to", page * 6 + link, now("links", 3), self.pages)))
            .map(|to| format!("<a href={to}>there</a>"))
            .collect();
        let text = self.draw("text", page, cycle / (1 + page % 4), u64::MAX);
        let body = format!("<p>{text} {page}</p>{links}");
        let content_type = Some("text/html".into());
        FetchResult::Page(Box::new(Response {
            status: 200,
            body: body.into(),
            content_type,
            ..Response::default()
        }))
    }
}

pub(super) fn settings(folder: &Path, web: &LinkedWeb) -> Settings {
    let discovery_min = if web.is_still { 100_000 } else { 40 };
    let mut config: Config = toml::from_str(&format!(
        "[cycle]\npages = \"30%\"\npages_min = 7\ndiscovery_min = {discovery_min}\ndiscovery_share = 0.3\naudit_share = 0.1\n\
         fill = false\nwarmup = 1\n\
         [schedule]\nformula = \"n\"\n\
         [traps]\nenabled = false\n\
         [politeness]\ndelay_per_host = \"0 ms\"\n\
         [fetch]\nallow_addresses = [\"127.0.0.0/8\"]\n\
         [storage]\nreserve = \"0 B\"\nlink_wait = 0\narchive = false\n",
    ))
    .unwrap();
    config.storage.data_dir = folder.into();
    Settings::check(config).unwrap()
}

/// What a partition, or a crawl, did and knows at the end of a cycle.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct MemberState {
    /// Pages in the order of their visits, host after host, with their shares.
    pub(super) schedule: Vec<String>,
    pub(super) visits: Vec<String>,
    /// All that is known, but for digests of links.
    pub(super) known: BTreeMap<String, PageRecord>,
}

impl MemberState {
    /// Panics unless a fleet planned, saw and knows the same.
    pub(super) fn assert_alike(&self, fleet: &MemberState, what: &str) {
        let differing = self.schedule.iter().zip(&fleet.schedule).find(|(one, fleet)| one != fleet);
        assert_eq!(differing, None, "{what}: schedules differ");
        assert_eq!(self.schedule.len(), fleet.schedule.len(), "{what}");
        assert_eq!(self.visits, fleet.visits, "{what}");
        let differing = self.known.iter().zip(&fleet.known).find(|(one, fleet)| one != fleet);
        assert_eq!(differing, None, "{what}: what is known differs");
        assert_eq!(self.known.len(), fleet.known.len(), "{what}");
    }
}

/// Ends all waits once a thread has failed.
pub(super) struct FailFast<'f>(pub(super) &'f AtomicBool);

impl Drop for FailFast<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

pub(super) struct Lockstep(pub(super) Arc<AtomicBool>);

impl ExchangePatience for Lockstep {
    fn wait(&self, _times: u64) -> bool {
        thread::yield_now();
        !self.0.load(Ordering::Relaxed)
    }
}

/// Nobody waits.
pub(super) struct NoPatience;

impl ExchangePatience for NoPatience {
    fn wait(&self, _times: u64) -> bool {
        false
    }
}

/// A store that refuses to read the runs of others, once: after the own one was written, and before the commit.
#[derive(Debug)]
struct CutStore {
    objects: Arc<MemoryStore>,
    own: String,
    is_armed: AtomicBool,
}

impl CutStore {
    fn meets(&self, key: &str) -> Result<(), StoreError> {
        let is_other_run = key.contains("/links/") && !key.starts_with(&self.own);
        match is_other_run && self.is_armed.swap(false, Ordering::Relaxed) {
            true => Err(StoreError::Failed(format!("{key}: the line broke"))),
            false => Ok(()),
        }
    }
}

impl Store for CutStore {
    fn create(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.objects.create(key, bytes)
    }
    fn read(&self, key: &str, most: u64) -> Result<Vec<u8>, StoreError> {
        self.meets(key)?;
        self.objects.read(key, most)
    }
    fn replace(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.objects.replace(key, bytes)
    }
    fn list(&self, folder: &str) -> Result<Vec<Listed>, StoreError> {
        self.objects.list(folder)
    }
    fn remove(&self, key: &str) -> Result<(), StoreError> {
        self.objects.remove(key)
    }
    fn locate(&self, key: &str) -> String {
        self.objects.locate(key)
    }
}

/// A partition of a fleet.
#[derive(Clone)]
pub(super) struct FleetMember {
    waits_for_runs: bool,
    objects: Arc<MemoryStore>,
    map: FleetMap,
    id: u32,
    has_failed: Arc<AtomicBool>,
}

impl FleetMember {
    fn begin(&self, life: u64) -> (Arc<CutStore>, Partition) {
        let own = format!("p/{:010}/", self.id);
        let store =
            Arc::new(CutStore { objects: self.objects.clone(), own, is_armed: AtomicBool::new(false) });
        let lockstep = || Box::new(Lockstep(self.has_failed.clone()));
        let runs: Box<dyn ExchangePatience> =
            if self.waits_for_runs { lockstep() } else { Box::new(NoPatience) };
        let waits = FleetWaits { plans: lockstep(), runs };
        let nonce = format!("{}-{life}", self.id);
        let epoch = recrawl_fleet::begin(&*store, self.id, life - 1, &nonce, 1).unwrap();
        let partition = Partition::owned(store.clone(), self.map.clone(), self.id, epoch, waits);
        (store, partition.unwrap().unwrap())
    }
}

/// Runs all cycles of a crawl, or of a partition, which is restarted, cut off and interrupted on the way.
pub(super) fn run_all(web: &LinkedWeb, cycles: u64, member: Option<&FleetMember>) -> Vec<MemberState> {
    let folder = tempfile::tempdir().unwrap();
    let seeds = LinkedWeb::seeds();
    let (mut told, mut life) = (Vec::new(), 0);
    let mut open = || {
        let mut crawl =
            Crawl::open(settings(folder.path(), web), &seeds, 1, ProgramServices::quiet().unwrap()).unwrap();
        life += 1;
        let cut = member.map(|member| {
            let (cut, partition) = member.begin(life);
            crawl.join(partition).unwrap();
            cut
        });
        (crawl, cut)
    };
    let (mut crawl, mut cut) = open();
    for cycle in 0..cycles {
        let mut of_cycle = MemberState::default();
        // The first life of a hard cycle is interrupted, the second one loses the store between its run and its commit.
        let is_hard = cycle % 3 == 2
            && member.is_some_and(|member| member.waits_for_runs && member.map.ranges().len() > 1);
        for attempt in 0.. {
            crawl.clock = Arc::new(move || 1_700_000_000_000 + cycle * CYCLE);
            let (is_interrupted, is_cut) = (is_hard && attempt == 0, is_hard && attempt == 1);
            cut.iter().for_each(|cut| cut.is_armed.store(is_cut, Ordering::Relaxed));
            let mut fetch = |crawl: &Crawl, plan: RoundPlan, traps: &Arc<Traps>| {
                visit_all(web, crawl, plan, traps, cycle, is_interrupted, &mut of_cycle)
            };
            match round_fetched_by(&mut crawl, RoundToRun::OF_NEXT_CYCLE, &seeds, &mut fetch) {
                Ok(RoundEnd::Committed(_)) => break,
                Ok(RoundEnd::Interrupted) if is_interrupted => {}
                Err(error) if is_cut && error.to_string().contains("the line broke") => {}
                Err(error) => panic!("{error}"),
                Ok(_) => panic!("a cycle had nothing to do"),
            }
            // The process ends; another one goes on.
            drop(crawl);
            (crawl, cut) = open();
            assert!(attempt < 2);
        }
        of_cycle.known = known_without_digests(&crawl);
        told.push(of_cycle);
    }
    told
}

/// Visits what is left of a plan, or half of it.
pub(super) fn visit_all(
    web: &LinkedWeb,
    crawl: &Crawl,
    plan: RoundPlan,
    traps: &Arc<Traps>,
    cycle: u64,
    is_interrupted: bool,
    told: &mut MemberState,
) -> Result<Fetched, Failure> {
    let resources = ReaderResources::open(crawl).unwrap();
    let reader = resources.reader(crawl, &plan.facts, traps, false).unwrap();
    let (mut log, mut tools) = (plan.log, Tools::new(false));
    let half = if is_interrupted { plan.schedule.len() / 2 } else { u64::MAX };
    told.schedule.clear();
    for host in plan.schedule.hosts() {
        let entries = plan.schedule.read(host, host.start, host.count as usize).unwrap();
        for (index, entry) in (host.start..).zip(entries) {
            assert!(crawl.owns(&entry.url));
            told.schedule.push(format!("{} {:?}", entry.url, entry.share));
            if plan.recovered.done.contains(index) || index >= half {
                continue;
            }
            let page = fetched(web, entry, index, cycle);
            let visit = reader.read(page, &mut tools).unwrap().visit;
            told.visits.push(shown(&visit));
            log.append(&LogRecord::Visit(Box::new(visit.clone()))).unwrap();
            traps.observe(&visit).unwrap();
        }
    }
    log.sync().unwrap();
    let stopped_by = if is_interrupted { StoppedBy::Stop } else { StoppedBy::End };
    Ok(Fetched {
        stopped_by,
        skipped: 0,
        asked_again: 0,
        requisites: Default::default(),
        conversions: Default::default(),
        archive: None,
    })
}

fn fetched(web: &LinkedWeb, entry: ScheduleEntry, index: u64, cycle: u64) -> FetchedPage {
    FetchedPage {
        index: Some(index),
        result: web.answer(&entry.url.to_string(), cycle),
        hops: entry.record.known.hops,
        entry,
        condition: Default::default(),
        at: 1_700_000_000_000 + cycle * CYCLE,
        elapsed: Default::default(),
        sitemaps: None,
        hold: Default::default(),
    }
}

/// A visit, but for its place in the schedule.
fn shown(visit: &Visit) -> String {
    format!("{} {:?} {:?} {:?}", visit.url, visit.outcome, visit.share, visit.at)
}

/// The cycles of a fleet, put together.
fn run_fleet(web: &LinkedWeb, cycles: u64, partitions: usize, waits_for_runs: bool) -> Vec<MemberState> {
    let mut sites: Vec<String> = (0..HOSTS).map(|host| format!("h{host}.test")).collect();
    sites.sort();
    let step = sites.len() / partitions;
    let ranges = (0..partitions).map(|at| PartitionRange {
        // Numbers that descend: the order is that of the URLs.
        id: (partitions - at) as u32,
        begin: (at > 0).then(|| sites[at * step].clone()),
        parent: None,
    });
    let map = FleetMap::new(1, ranges.collect()).unwrap();
    let (objects, has_failed) = (Arc::new(MemoryStore::new()), Arc::new(AtomicBool::new(false)));
    let members: Vec<FleetMember> = map
        .ranges()
        .iter()
        .map(|range| FleetMember {
            waits_for_runs,
            objects: objects.clone(),
            map: map.clone(),
            id: range.id,
            has_failed: has_failed.clone(),
        })
        .collect();
    let all: Vec<Vec<MemberState>> = thread::scope(|scope| {
        let run = |member| {
            let has_failed = &has_failed;
            scope.spawn(move || {
                let _failing = FailFast(has_failed);
                run_all(web, cycles, Some(member))
            })
        };
        let running: Vec<_> = members.iter().map(run).collect();
        running.into_iter().map(|member| member.join().unwrap()).collect()
    });
    let mut together = vec![MemberState::default(); cycles as usize];
    for told in all {
        for (together, told) in together.iter_mut().zip(told) {
            together.schedule.extend(told.schedule);
            together.visits.extend(told.visits);
            for (url, record) in told.known {
                assert!(together.known.insert(url.clone(), record).is_none(), "{url} is in two partitions");
            }
        }
    }
    together
}

/// 1, 3 and 7 partitions; all but the alone crawl are restarted, interrupted and cut off between a run and its commit.
#[test]
#[expect(clippy::disallowed_methods, reason = "more pages are asked for by a documented variable")]
fn a_fleet_in_lockstep_is_one_crawl() {
    let pages = std::env::var("RECRAWL_FLEET_PAGES").ok().and_then(|n| n.parse().ok()).unwrap_or(1500);
    let web = LinkedWeb { pages, is_still: false };
    let mut one = run_all(&web, CYCLES, None);
    one.iter_mut().for_each(|told| told.visits.sort());
    let last = &one[CYCLES as usize - 1];
    assert!(last.known.len() as u64 > pages / 3, "{} of {pages} pages are known", last.known.len());
    let shares = ["Audit(", "Score", "Discovery", "Warmup"];
    for share in shares {
        assert!(one.iter().any(|told| told.schedule.iter().any(|page| page.contains(share))), "no {share}");
    }
    for partitions in [1, 3, 7] {
        let mut fleet = run_fleet(&web, CYCLES, partitions, true);
        fleet.iter_mut().for_each(|told| told.visits.sort());
        for (cycle, (one, fleet)) in one.iter().zip(&fleet).enumerate() {
            one.assert_alike(fleet, &format!("cycle {cycle}, {partitions} partitions"));
        }
    }
}

/// Links come in a round later, or several, as they do where nobody waits for anybody.
#[test]
fn out_of_lockstep_the_pages_agree_at_rest_and_no_link_counts_twice() {
    const AT_REST: u64 = 24;
    let web = LinkedWeb { pages: 400, is_still: true };
    let told = |all: Vec<MemberState>| {
        let last = all.into_iter().next_back().unwrap().known;
        let seen = |record: PageRecord| (record.visited.is_some(), record.known.in_links, record.known.depth);
        last.into_iter().map(|(url, record)| (url, seen(record))).collect::<BTreeMap<_, _>>()
    };
    let one = told(run_all(&web, AT_REST, None));
    assert!(one.len() > 250 && one.values().any(|(_, in_links, _)| *in_links > 4), "{} pages", one.len());
    for partitions in [3, 7] {
        let fleet = told(run_fleet(&web, AT_REST, partitions, false));
        // A longer way may be known first. What a page links to was told its depth then, so depths may stay larger.
        let differing = one.iter().zip(&fleet).find(|((page, known), (other, reached))| {
            let same = page == other && (known.0, known.1) == (reached.0, reached.1);
            !(same && known.2 <= reached.2)
        });
        assert_eq!(differing, None, "{partitions} partitions");
        assert_eq!(one.len(), fleet.len(), "{partitions} partitions");
    }
}
