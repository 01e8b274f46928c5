//! A load of a fixed number of requests per second, with latencies.
//!
//! Requests are due at fixed times (an open loop), and latency counts from the due time. A server
//! that hangs for a second is charged for all requests due in that second.

use super::client::{self, LoadClient};
use super::mix::Subjects;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// Connections for requests.
const ASKING: u64 = 16;
/// Open dashboards; each reads an event stream.
pub const LISTENING: usize = 4;

/// Results of one kind of request.
#[derive(Debug, Default)]
pub struct RequestResults {
    /// For each 200, microseconds from the due time to the last byte.
    pub latencies: Vec<u32>,
    /// Responses with other statuses.
    pub refused: BTreeMap<u16, u64>,
    /// Requests without a response.
    pub broken: u64,
}

/// Results by kind, and the bytes of events.
#[derive(Debug, Default)]
pub struct LoadResults {
    /// By kind.
    pub kinds: BTreeMap<&'static str, RequestResults>,
    /// Bytes of server-sent events.
    pub event_bytes: u64,
}

impl LoadResults {
    /// The sum.
    pub fn add(&mut self, other: LoadResults) {
        self.event_bytes += other.event_bytes;
        for (kind, outcomes) in other.kinds {
            self.kinds.entry(kind).or_default().add(outcomes);
        }
    }
}

impl RequestResults {
    /// The sum.
    pub fn add(&mut self, other: RequestResults) {
        self.latencies.extend(other.latencies);
        self.broken += other.broken;
        for (status, count) in other.refused {
            *self.refused.entry(status).or_default() += count;
        }
    }

    /// The latency quantile in per mille, in milliseconds.
    pub fn per_mille(sorted: &[u32], of_thousand: usize) -> f64 {
        let rank = (sorted.len() * of_thousand).div_ceil(1000).max(1);
        sorted.get(rank - 1).map_or(f64::NAN, |micros| f64::from(*micros) / 1000.0)
    }
}

/// Sends `rate` requests per second for this long.
///
/// # Errors
/// If an event stream breaks.
pub fn run(server: SocketAddr, subjects: &Subjects, rate: u32, long: Duration) -> io::Result<LoadResults> {
    let (begun, is_over) = (Instant::now(), AtomicBool::new(false));
    thread::scope(|scope| {
        let goes_on = || !is_over.load(Relaxed);
        let listeners: Vec<_> =
            (0..LISTENING).map(|_| scope.spawn(move || client::listen(server, goes_on))).collect();
        let askers: Vec<_> = (0..ASKING)
            .map(|first| scope.spawn(move || ask(server, subjects, rate, begun, begun + long, first)))
            .collect();
        let mut load = LoadResults::default();
        for asker in askers {
            for (kind, outcomes) in asker.join().expect("it does not panic") {
                load.kinds.entry(kind).or_default().add(outcomes);
            }
        }
        is_over.store(true, Relaxed);
        for listener in listeners {
            load.event_bytes += listener.join().expect("it does not panic")?;
        }
        Ok(load)
    })
}

fn ask(
    server: SocketAddr,
    subjects: &Subjects,
    rate: u32,
    begun: Instant,
    end: Instant,
    first: u64,
) -> BTreeMap<&'static str, RequestResults> {
    let mut client = LoadClient::new(server);
    let mut kinds: BTreeMap<&'static str, RequestResults> = BTreeMap::new();
    for n in (first..).step_by(ASKING as usize) {
        let due = begun + Duration::from_nanos(n * 1_000_000_000 / u64::from(rate));
        if due >= end {
            break;
        }
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let question = subjects.question(n);
        let answer = client.ask(&question.path, question.body.as_deref());
        let outcomes = kinds.entry(question.kind).or_default();
        match answer {
            Ok(answer) if answer.status == 200 => {
                outcomes.latencies.push(due.elapsed().as_micros().min(u32::MAX.into()) as u32);
            }
            Ok(answer) => *outcomes.refused.entry(answer.status).or_default() += 1,
            Err(_) => outcomes.broken += 1,
        }
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_the_least_values_that_reach_their_part() {
        let latencies: Vec<u32> = (1..=1000).map(|ms| ms * 1000).collect();
        assert_eq!(RequestResults::per_mille(&latencies, 500), 500.0);
        assert_eq!(RequestResults::per_mille(&latencies, 999), 999.0);
        assert_eq!(RequestResults::per_mille(&latencies[..1], 999), 1.0);
        assert!(RequestResults::per_mille(&[], 500).is_nan());
    }
}
