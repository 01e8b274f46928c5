//! Counters of the console's own requests.

use axum::http::StatusCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Minimum interval between log lines of unauthorized changes: anybody can send them, and the log
/// must not fill the disk.
pub const REFUSALS_LOGGED: Duration = Duration::from_secs(1);

/// Counters since the console started.
#[derive(Default)]
pub struct Traffic {
    classes: [AtomicU64; 5],
    unauthorized: AtomicU64,
    connection_rejected: AtomicU64,
    logged: Mutex<Logged>,
}

/// The time of the last logged rejection, and the number of unlogged ones since.
#[derive(Default)]
struct Logged {
    at: Option<Instant>,
    unlogged: u64,
}

impl Traffic {
    /// Counts a response.
    pub fn answered(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).clamp(1, 5) - 1;
        self.classes[class].fetch_add(1, Relaxed);
    }

    /// Counts an unauthorized change. Returns the number of unlogged ones before it if this one is
    /// to be logged.
    pub fn unauthorized(&self, now: Instant) -> Option<u64> {
        self.unauthorized.fetch_add(1, Relaxed);
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        if logged.at.is_some_and(|at| now.saturating_duration_since(at) < REFUSALS_LOGGED) {
            logged.unlogged += 1;
            return None;
        }
        let unlogged = logged.unlogged;
        *logged = Logged { at: Some(now), unlogged: 0 };
        Some(unlogged)
    }

    /// Counts a connection above the limit.
    pub fn connection_rejected(&self) {
        self.connection_rejected.fetch_add(1, Relaxed);
    }

    /// Responses by the first digit of their status, from 1 to 5.
    pub fn answers(&self) -> [u64; 5] {
        std::array::from_fn(|i| self.classes[i].load(Relaxed))
    }

    /// Unauthorized changes.
    pub fn refused_changes(&self) -> u64 {
        self.unauthorized.load(Relaxed)
    }

    /// Connections above the limit.
    pub fn refused_connections(&self) -> u64 {
        self.connection_rejected.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_all_counted_and_some_are_logged() {
        let (traffic, now) = (Traffic::default(), Instant::now());
        assert_eq!(traffic.unauthorized(now), Some(0));
        assert_eq!((traffic.unauthorized(now), traffic.unauthorized(now)), (None, None));
        assert_eq!(traffic.unauthorized(now + REFUSALS_LOGGED), Some(2));
        assert_eq!(traffic.unauthorized.load(Relaxed), 4);
    }
}
