//! Publishes the status every second while it changes, and the reports of cycles.
//!
//! The status is read once a second for all clients, and never without clients.

use crate::console::Console;
use crate::event_hub::{Event, MAX_STREAM_LAG};
use crate::view::Status;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{self, MissedTickBehavior};

/// Interval between two reads of the status.
pub const STATUS_INTERVAL: Duration = Duration::from_secs(1);

/// The state that was published last.
#[derive(Default)]
struct Published {
    status: Option<Status>,
    generation: u64,
    cycle: Option<u64>,
}

/// Publishes status and cycles until shutdown.
pub async fn publish(console: Arc<Console>) {
    let mut beat = time::interval(STATUS_INTERVAL);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut published = Published::default();
    loop {
        tokio::select! {
            () = console.stop.cancelled() => return,
            _ = beat.tick() => {}
        }
        if console.events.streams() == 0 {
            published = Published::default();
            continue;
        }
        let status = console.view.status();
        let committed = status.last.as_ref().map(|cycle| cycle.cycle);
        // A new client requests earlier cycles itself.
        if published.status.is_some() {
            let new = committed.unwrap_or(0).saturating_sub(published.cycle.unwrap_or(0));
            // A round may have added to the report of a cycle that was published before.
            let new = new.max(u64::from(status.generation != published.generation));
            report(&console, new.min(MAX_STREAM_LAG as u64) as usize).await;
        }
        (published.cycle, published.generation) = (committed, status.generation);
        if published.status.as_ref().is_none_or(|before| differ(before, &status)) {
            console.events.send(Event::status(&status));
            published.status = Some(status);
        }
    }
}

/// Publishes the reports of the last `new` cycles, oldest first.
async fn report(console: &Arc<Console>, new: usize) {
    if new == 0 {
        return;
    }
    match console.ask(move |view| view.cycles(new)).await {
        Ok(reports) => {
            reports
                .iter()
                .take(new)
                .rev()
                .for_each(|report| console.events.send(Event::new("cycle", report)));
        }
        Err(problem) => tracing::warn!("console: cannot read cycle reports: {problem:?}"),
    }
}

/// Did more than clocks and memory changed.
fn differ(before: &Status, after: &Status) -> bool {
    let still = Status {
        now: before.now,
        idle_ms: before.idle_ms,
        memory_bytes: before.memory_bytes,
        health: if before.health.level == after.health.level {
            before.health.clone()
        } else {
            after.health.clone()
        },
        ..after.clone()
    };
    still != *before
}
