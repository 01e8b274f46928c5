//! A snapshot of all hosts, for lists whose order depends on more than the repository.
//!
//! A scan reads the stored state of every host, and reading needs no token. So all callers share
//! one scan at a time, and the next one starts only after [`WALK_REST`] times its duration. Callers
//! wait only for the first scan.

use recrawl_console::view::{HostQuery, HostRow, HostSort, HostState, Refusal};
use recrawl_repository::{Generation, OriginRun};
use recrawl_types::Round;
use std::cmp::Reverse;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

/// Scans take at most one part in this many of the time.
const WALK_REST: u32 = 20;

/// Cached between requests: about 60 bytes per host, and 40 more once a scan was needed.
#[derive(Default)]
pub struct Hosts {
    /// Of the last generation that was requested.
    origins: Mutex<Option<(Round, Arc<Vec<OriginRun>>)>>,
    last: Mutex<Option<Arc<HostSnapshot>>>,
    walking: Mutex<()>,
}

/// All hosts at one moment.
pub struct HostSnapshot {
    /// The origins, in the order of `hosts`.
    pub origins: Arc<Vec<OriginRun>>,
    hosts: Vec<Host>,
    began: Instant,
    took: Duration,
}

/// The fields by which lists are sorted and filtered.
#[derive(Clone, Copy)]
struct Host {
    state: HostState,
    queue: u64,
    delay: u64,
    latency: u64,
    failures: u32,
    changed: u64,
}

impl From<HostRow> for Host {
    fn from(row: HostRow) -> Host {
        let HostRow { state, queue, delay_ms, latency_ms, failures, changed, .. } = row;
        Host { state, queue, delay: delay_ms, latency: latency_ms.unwrap_or_default(), failures, changed }
    }
}

impl Hosts {
    /// The origins of a generation.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn origins(&self, generation: &Generation) -> Result<Arc<Vec<OriginRun>>, Refusal> {
        let mut kept = lock(&self.origins);
        if let Some((number, origins)) = &*kept
            && *number == generation.number()
        {
            return Ok(origins.clone());
        }
        let origins = Arc::new(generation.origins().map_err(super::failed)?);
        *kept = Some((generation.number(), origins.clone()));
        Ok(origins)
    }

    /// All hosts, as of now or of a recent scan.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn snapshot(
        &self,
        origins: Arc<Vec<OriginRun>>,
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
        let hosts = origins.iter().map(|run| row(run).map(Host::from)).collect::<Result<_, _>>()?;
        let snapshot = Arc::new(HostSnapshot { origins, hosts, began, took: began.elapsed() });
        *lock(&self.last) = Some(snapshot.clone());
        Ok(snapshot)
    }
}

impl HostSnapshot {
    /// The places of hosts in [`HostSnapshot::origins`] in the requested order, starting with number
    /// `from`, and their total number.
    pub fn places(&self, ask: &HostQuery, from: usize) -> (Vec<usize>, usize) {
        let is_asked_for = |place: &usize| ask.state.is_none_or(|state| self.hosts[*place].state == state);
        let places = (0..self.hosts.len()).filter(is_asked_for).collect();
        ordered(places, from, ask.limit, |place| self.key(ask.sort, place))
    }

    fn key(&self, sort: HostSort, place: usize) -> u64 {
        let host = &self.hosts[place];
        match sort {
            HostSort::Name => 0,
            HostSort::Pages => self.origins[place].pages,
            HostSort::Queue => host.queue,
            HostSort::Delay => host.delay,
            HostSort::Latency => host.latency,
            HostSort::Failures => host.failures.into(),
            HostSort::Changes => host.changed,
        }
    }
}

/// At most `limit` places, starting with number `from`, sorted by descending key and then by place,
/// and the total number.
pub fn ordered(
    mut places: Vec<usize>,
    from: usize,
    limit: usize,
    key: impl Fn(usize) -> u64,
) -> (Vec<usize>, usize) {
    let (total, key) = (places.len(), |place: &usize| (Reverse(key(*place)), *place));
    let end = from.saturating_add(limit);
    if end < total {
        places.select_nth_unstable_by_key(end, key);
        places.truncate(end);
    }
    places.sort_unstable_by_key(key);
    (places.into_iter().skip(from).collect(), total)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no panic under the lock")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};
    use std::sync::mpsc;
    use std::thread;

    fn run(pages: u64) -> OriginRun {
        OriginRun { key: Vec::new(), first: 0, pages, visited: 0 }
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
            latency_ms: None,
            failures: 0,
        }
    }

    fn ask(sort: HostSort, state: Option<HostState>, limit: usize) -> HostQuery {
        HostQuery { sort, state, limit, cursor: None }
    }

    #[test]
    fn parts_put_together_are_the_whole_in_order() {
        let origins = Arc::new((0..100).map(|i| run(i * 7 % 101)).collect::<Vec<_>>());
        let snapshot = Hosts::default().snapshot(origins.clone(), |run| Ok(host(run))).unwrap();
        for state in [None, Some(HostState::Waiting)] {
            let mut whole: Vec<usize> =
                (0..100).filter(|p| state.is_none_or(|s| host(&origins[*p]).state == s)).collect();
            whole.sort_by_key(|p| Reverse(host(&origins[*p]).queue));
            let parts =
                (0..=100).step_by(7).map(|from| snapshot.places(&ask(HostSort::Queue, state, 7), from));
            let (parts, totals): (Vec<Vec<usize>>, Vec<usize>) = parts.unzip();
            assert_eq!(parts.concat(), whole);
            assert!(totals.iter().all(|total| *total == whole.len()));
        }
    }

    #[test]
    fn a_walk_is_shared_while_it_is_fresh() {
        let (hosts, walked) = (Hosts::default(), Cell::new(0));
        let snapshot = |slow: u64| {
            let row = |run: &OriginRun| {
                walked.set(walked.get() + 1);
                std::thread::sleep(Duration::from_millis(slow));
                Ok(host(run))
            };
            hosts.snapshot(Arc::new(vec![run(1)]), row).map(|snapshot| snapshot.took)
        };
        // A scan of one second serves the next nineteen.
        assert!(snapshot(1000).unwrap() >= Duration::from_secs(1));
        snapshot(0).unwrap();
        assert_eq!(walked.get(), 1);
    }

    /// A scan that lasts until `others` were answered, or `patience` is over, and their final
    /// results.
    fn ask_during_a_walk(hosts: &Hosts, others: usize, patience: Duration) -> Vec<Result<usize, Refusal>> {
        let origins = Arc::new(vec![run(1)]);
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
        let last = HostSnapshot {
            origins: Arc::default(),
            hosts: Vec::new(),
            began: Instant::now(),
            took: Duration::ZERO,
        };
        *lock(&hosts.last) = Some(Arc::new(last));
        assert_eq!(ask_during_a_walk(&hosts, 3, Duration::from_secs(60)), [Ok(0), Ok(0), Ok(0)]);
    }
}
