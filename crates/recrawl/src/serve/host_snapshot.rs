//! A snapshot of all hosts, for lists whose order depends on more than the repository.
//!
//! A scan reads the stored state of every host, and reading needs no token. So all callers share
//! one scan at a time, and the next one starts only after [`WALK_REST`] times its duration. Callers
//! wait only for the first scan.

use recrawl_console::view::{HostQuery, HostRow, HostSort, HostState, Refusal};
use recrawl_repository::{Generation, OriginIndex, OriginRun};
use recrawl_types::Round;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

/// Scans take at most one part in this many of the time.
const WALK_REST: u32 = 20;

/// Cached between requests: an index of all hosts, and 28 bytes per host once a scan was needed.
#[derive(Default)]
pub struct Hosts {
    /// Of the last generation that was requested.
    origins: Mutex<Option<(Round, Arc<OriginIndex>)>>,
    last: Mutex<Option<Arc<HostSnapshot>>>,
    walking: Mutex<()>,
}

/// All hosts at one moment.
pub struct HostSnapshot {
    /// The origins, in the order of `hosts`.
    pub origins: Arc<OriginIndex>,
    hosts: Vec<HostSummary>,
    began: Instant,
    took: Duration,
}

/// The fields by which lists are sorted and filtered.
#[derive(Clone, Copy)]
struct HostSummary {
    state: HostState,
    pages: u32,
    queue: u32,
    delay: u32,
    latency: u32,
    failures: u32,
    changed: u32,
}

impl From<HostRow> for HostSummary {
    fn from(row: HostRow) -> HostSummary {
        let HostRow { state, pages, queue, delay_ms, latency_ms, failures, changed, .. } = row;
        // Only compared: above this all are the same.
        let [pages, queue, delay, latency, changed] =
            [pages, queue, delay_ms, latency_ms.unwrap_or_default(), changed]
                .map(|value| u32::try_from(value).unwrap_or(u32::MAX));
        HostSummary { state, pages, queue, delay, latency, failures, changed }
    }
}

impl Hosts {
    /// The origins of a generation.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn origins(&self, generation: &Generation) -> Result<Arc<OriginIndex>, Refusal> {
        let mut kept = lock(&self.origins);
        if let Some((number, origins)) = &*kept
            && *number == generation.number()
        {
            return Ok(origins.clone());
        }
        let origins = Arc::new(generation.origin_index().map_err(Refusal::failed)?);
        *kept = Some((generation.number(), origins.clone()));
        Ok(origins)
    }

    /// All hosts, as of now or of a recent scan.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn snapshot(
        &self,
        origins: Arc<OriginIndex>,
        row: impl Fn(&OriginRun) -> Result<HostRow, Refusal>,
    ) -> Result<Arc<HostSnapshot>, Refusal> {
        let last = lock(&self.last).clone();
        if let Some(last) = &last
            && last.began.elapsed() < last.took * WALK_REST
        {
            return Ok(last.clone());
        }
        let _walk = match (self.walking.try_lock(), last) {
            (Ok(walk), _) => walk,
            (Err(TryLockError::WouldBlock), Some(last)) => return Ok(last),
            (Err(TryLockError::WouldBlock), None) => {
                let walk = lock(&self.walking);
                // There is still none if that scan failed.
                if let Some(first) = &*lock(&self.last) {
                    return Ok(first.clone());
                }
                walk
            }
            (Err(TryLockError::Poisoned(_)), _) => panic!("no panic under the lock"),
        };
        let began = Instant::now();
        let mut hosts = Vec::with_capacity(origins.origins() as usize);
        let mut runs = origins.walk_from(0).map_err(Refusal::failed)?;
        while let Some(run) = runs.next_run().map_err(Refusal::failed)? {
            hosts.push(row(run)?.into());
        }
        let snapshot = Arc::new(HostSnapshot { origins, hosts, began, took: began.elapsed() });
        *lock(&self.last) = Some(snapshot.clone());
        Ok(snapshot)
    }
}

impl HostSnapshot {
    /// The places of hosts that are found in [`HostSnapshot::origins`] in the requested order, starting with
    /// number `from`, and their total number.
    pub fn places(&self, ask: &HostQuery, from: usize, is_found: impl Fn(u64) -> bool) -> (Vec<u64>, usize) {
        let is_asked_for = |host: &HostSummary| ask.state.is_none_or(|state| host.state == state);
        let mut places = Ordered::new(from, ask.limit);
        for (place, host) in (0..).zip(&self.hosts) {
            if is_asked_for(host) && is_found(place) {
                places.add(host.key(ask.sort), place);
            }
        }
        places.finish()
    }
}

impl HostSummary {
    fn key(&self, sort: HostSort) -> u64 {
        let key = match sort {
            HostSort::Name => 0,
            HostSort::Pages => self.pages,
            HostSort::Queue => self.queue,
            HostSort::Delay => self.delay,
            HostSort::Latency => self.latency,
            HostSort::Failures => self.failures,
            HostSort::Changes => self.changed,
        };
        key.into()
    }
}

/// A part of a list that is sorted by descending key and then by place. Only what comes up to its end is held.
pub struct Ordered {
    from: usize,
    end: usize,
    total: usize,
    /// The last one on top.
    first: BinaryHeap<(Reverse<u64>, u64)>,
}

impl Ordered {
    /// At most `limit` places, starting with number `from`.
    pub fn new(from: usize, limit: usize) -> Ordered {
        Ordered { from, end: from.saturating_add(limit), total: 0, first: BinaryHeap::new() }
    }

    /// Adds a place to the list.
    pub fn add(&mut self, key: u64, place: u64) {
        self.total += 1;
        let added = (Reverse(key), place);
        if self.first.len() < self.end {
            self.first.push(added);
        } else if let Some(mut last) = self.first.peek_mut()
            && added < *last
        {
            *last = added;
        }
    }

    /// The places, and the length of the whole list.
    pub fn finish(self) -> (Vec<u64>, usize) {
        let sorted = self.first.into_sorted_vec();
        (sorted.into_iter().skip(self.from).map(|(_, place)| place).collect(), self.total)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no panic under the lock")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use recrawl_repository::Repository;
    use recrawl_repository::storage::MemoryStorage;
    use recrawl_types::{Cycle, PageRecord, UrlRules};
    use std::cell::RefCell;
    use std::sync::mpsc;
    use std::thread;

    /// Hosts with so many pages.
    fn origins(pages: impl Iterator<Item = u64>) -> Arc<OriginIndex> {
        let mut repository = Repository::open(Arc::new(MemoryStorage::new())).unwrap();
        let empty = Generation::default();
        let mut writer = repository.begin(&empty, Cycle(1)).unwrap();
        for (host, pages) in pages.enumerate() {
            for page in 0..pages {
                let url = format!("http://host-{host:04}.test/{page:04}");
                let url = UrlRules::keep_all().canonicalize(&url).unwrap();
                writer.push(url.key(), &PageRecord::discovered(Cycle(1), 1)).unwrap();
            }
        }
        repository.commit(writer, b"").unwrap();
        Arc::new(repository.current().origin_index().unwrap())
    }

    fn host(run: &OriginRun) -> HostRow {
        HostRow {
            host: String::new(),
            state: if run.pages.is_multiple_of(2) { HostState::Waiting } else { HostState::Asking },
            pages: run.pages,
            visited: 0,
            queue: run.pages % 3,
            done: 0,
            changed: 0,
            requests: 0,
            robots_denied: 0,
            delay_ms: 0,
            delay_because: String::new(),
            latency_ms: None,
            failures: 0,
            left_alone: None,
            left_alone_until: None,
        }
    }

    fn ask(sort: HostSort, state: Option<HostState>, limit: usize) -> HostQuery {
        HostQuery { sort, state, search: None, limit, cursor: None }
    }

    #[test]
    fn parts_put_together_are_the_whole_in_order() {
        let of_pages = |pages| host(&OriginRun { key: Vec::new(), first: 0, pages, visited: 0 });
        let pages: Vec<u64> = (1..101).map(|i| i * 7 % 101).collect();
        let snapshot =
            Hosts::default().snapshot(origins(pages.iter().copied()), |run| Ok(host(run))).unwrap();
        let hosts: Vec<HostRow> = pages.into_iter().map(of_pages).collect();
        for (state, every) in [(None, 1), (Some(HostState::Waiting), 1), (None, 3)] {
            let mut whole: Vec<u64> = (0..100).filter(|place| place % every == 0).collect();
            whole.retain(|p| state.is_none_or(|s| hosts[*p as usize].state == s));
            whole.sort_by_key(|p| Reverse(hosts[*p as usize].queue));
            let asked = ask(HostSort::Queue, state, 7);
            let is_found = |place: u64| place.is_multiple_of(every);
            let parts = (0..=100).step_by(7).map(|from| snapshot.places(&asked, from, is_found));
            let (parts, totals): (Vec<Vec<u64>>, Vec<usize>) = parts.unzip();
            assert_eq!(parts.concat(), whole);
            assert!(totals.iter().all(|total| *total == whole.len()));
        }
    }

    proptest! {
        #[test]
        fn a_part_of_a_list_is_that_of_the_sorted_list(
            keys in prop::collection::vec(0u64..9, 0..60),
            from in 0usize..70,
            limit in 1usize..20,
        ) {
            let mut ordered = Ordered::new(from, limit);
            let mut whole: Vec<u64> = (0..keys.len() as u64).collect();
            whole.iter().for_each(|place| ordered.add(keys[*place as usize], *place));
            whole.sort_by_key(|place| Reverse(keys[*place as usize]));
            let part: Vec<u64> = whole.into_iter().skip(from).take(limit).collect();
            prop_assert_eq!(ordered.finish(), (part, keys.len()));
        }
    }

    /// A walk that has just begun and found no hosts, and that took so long.
    fn empty_walk(took: Duration) -> Option<Arc<HostSnapshot>> {
        let (origins, began) = (origins(0..0), Instant::now());
        Some(Arc::new(HostSnapshot { origins, hosts: Vec::new(), began, took }))
    }

    #[test]
    fn a_walk_is_shared_while_it_is_fresh() {
        let hosts = Hosts::default();
        let ask = || hosts.snapshot(origins(1..2), |run| Ok(host(run))).map(|snapshot| snapshot.hosts.len());
        // A walk of an hour serves the next nineteen hours, and one of no time only itself.
        *lock(&hosts.last) = empty_walk(Duration::from_secs(3600));
        assert_eq!(ask(), Ok(0));
        *lock(&hosts.last) = empty_walk(Duration::ZERO);
        assert_eq!(ask(), Ok(1));
    }

    /// A scan that lasts until `others` were answered, or `patience` is over, and their final
    /// results.
    fn ask_during_a_walk(hosts: &Hosts, others: usize, patience: Duration) -> Vec<Result<usize, Refusal>> {
        let origins = origins(1..2);
        let ask =
            || hosts.snapshot(origins.clone(), |run| Ok(host(run))).map(|snapshot| snapshot.hosts.len());
        let (tell, told) = mpsc::channel();
        let given = RefCell::new(Vec::new());
        thread::scope(|scope| {
            let walked = hosts.snapshot(origins.clone(), |run| {
                (0..others).for_each(|_| {
                    let tell = tell.clone();
                    scope.spawn(move || tell.send(ask()));
                });
                given.borrow_mut().extend((0..others).map_while(|_| told.recv_timeout(patience).ok()));
                Ok(host(run))
            });
            assert_eq!(walked.unwrap().hosts.len(), 1);
        });
        let mut given = given.into_inner();
        given.extend(told.try_iter());
        given
    }

    #[test]
    fn the_first_walk_is_waited_for() {
        let given = ask_during_a_walk(&Hosts::default(), 3, Duration::from_millis(100));
        assert_eq!(given, [Ok(1), Ok(1), Ok(1)]);
    }

    #[test]
    fn while_others_walk_the_last_walk_is_shown() {
        let hosts = Hosts::default();
        *lock(&hosts.last) = empty_walk(Duration::ZERO);
        assert_eq!(ask_during_a_walk(&hosts, 3, Duration::from_secs(60)), [Ok(0), Ok(0), Ok(0)]);
    }
}
