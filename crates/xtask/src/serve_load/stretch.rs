//! A stretch of time with or without load: progress and cost of the crawl.

use super::daemon::{DaemonSample, LoadedDaemon};
use crate::crawl::error::CrawlError;
use crate::crawl::mockweb::MockWeb;
use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

/// Interval of the samples.
const EVERY: Duration = Duration::from_secs(5);

/// One stretch.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    is_loaded: bool,
    seconds: f64,
    cycles: u64,
    visits: u64,
    processor: f64,
    /// Resident bytes: at the start, maximum, at the end.
    resident: [u64; 3],
}

/// Samples the daemon for this long while `beside` runs on another thread. Pages change from cycle
/// to cycle.
///
/// # Errors
/// If the daemon or the web no longer responds.
pub fn watched<T: Send>(
    web: &MockWeb,
    daemon: &mut LoadedDaemon,
    is_loaded: bool,
    long: Duration,
    beside: impl FnOnce() -> T + Send,
) -> Result<(Stretch, T), CrawlError> {
    let begun = Instant::now();
    thread::scope(|scope| {
        let beside = scope.spawn(beside);
        let first = daemon.sample()?;
        let (mut last, mut most) = (first, first.resident);
        while begun.elapsed() < long {
            thread::sleep(EVERY.min(long.saturating_sub(begun.elapsed())));
            let before = std::mem::replace(&mut last, daemon.sample()?);
            most = most.max(last.resident);
            if last.generation > before.generation {
                web.set_clock(last.generation as u32)?;
            }
        }
        let done = beside.join().expect("it does not panic");
        Ok((Stretch::between(is_loaded, first, last, most), done))
    })
}

/// The header line.
pub fn header() -> String {
    format!(
        "{:<8} {:>8} {:>7} {:>9} {:>8} {:>11} {:>10} {:>24}",
        "load", "seconds", "cycles", "visits", "visits/s", "s/cycle", "processor", "MiB: start, max, end"
    )
}

impl Stretch {
    fn between(is_loaded: bool, first: DaemonSample, last: DaemonSample, most: u64) -> Stretch {
        Stretch {
            is_loaded,
            seconds: last.at.duration_since(first.at).as_secs_f64(),
            cycles: last.generation - first.generation,
            visits: last.visits - first.visits,
            processor: last.processor - first.processor,
            resident: [first.resident, most, last.resident],
        }
    }

    /// Visits per second with load, relative to those without load.
    pub fn compared(stretches: &[Stretch]) -> String {
        let rate = |is_loaded: bool| {
            let of = || stretches.iter().filter(|stretch| stretch.is_loaded == is_loaded);
            of().map(|s| s.visits).sum::<u64>() as f64 / of().map(|s| s.seconds).sum::<f64>()
        };
        let (with, without) = (rate(true), rate(false));
        format!("visits/s with load {with:.1}, without {without:.1}: ratio {:.3}", with / without)
    }
}

impl fmt::Display for Stretch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = self.resident.map(|bytes| (bytes >> 20).to_string()).join(", ");
        let name = if self.is_loaded { "with" } else { "without" };
        write!(
            f,
            "{name:<8} {:>8.0} {:>7} {:>9} {:>8.1} {:>11.2} {:>9.1}% {mib:>24}",
            self.seconds,
            self.cycles,
            self.visits,
            self.visits as f64 / self.seconds,
            self.seconds / self.cycles as f64,
            100.0 * self.processor / self.seconds
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visits_a_second_are_over_all_stretches_of_a_kind() {
        let of = |is_loaded, seconds, visits| Stretch {
            is_loaded,
            seconds,
            cycles: 1,
            visits,
            processor: 1.0,
            resident: [1 << 20; 3],
        };
        let stretches = [of(false, 10.0, 100), of(true, 10.0, 90), of(false, 30.0, 300)];
        assert_eq!(Stretch::compared(&stretches), "visits/s with load 9.0, without 10.0: ratio 0.900");
    }
}
