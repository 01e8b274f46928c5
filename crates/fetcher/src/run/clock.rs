//! The time of day.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the time of day in milliseconds since 1970. A parameter, so that tests can set it.
pub type WallClock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// The clock of this machine.
pub fn system_clock() -> WallClock {
    Arc::new(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64))
}
