//! Event hub: status every second while it changes, cycle reports, and changes.
//!
//! The hub reads the status once a second for all clients, and never without clients.

use crate::client_limit::{ClientLimit, ClientSlot};
use crate::config::{Entry, Outcome};
use crate::console::Console;
use crate::problem::Problem;
use crate::view::Status;
use serde::Serialize;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast;
use tokio::time::{self, MissedTickBehavior};

/// Maximum concurrent event streams.
pub const MAX_STREAMS: usize = 32;
/// Maximum queued events of a slow client. Beyond that it loses the oldest.
pub const MAX_STREAM_LAG: usize = 64;
/// Interval between two reads of the status.
pub const STATUS_INTERVAL: Duration = Duration::from_secs(1);

/// One event.
#[derive(Clone, Debug)]
pub struct Event {
    /// `status`, `cycle` or `change`.
    pub name: &'static str,
    /// JSON.
    pub data: Arc<str>,
}

impl Event {
    fn new(name: &'static str, data: &impl Serialize) -> Event {
        let data = serde_json::to_string(data).expect("an event is plain data");
        Event { name, data: data.into() }
    }

    /// A `status` event.
    pub fn status(status: &Status) -> Event {
        Event::new("status", status)
    }
}

/// The event hub.
pub struct EventHub {
    sender: broadcast::Sender<Event>,
    clients: ClientLimit,
}

impl EventHub {
    /// A hub without clients.
    pub fn new() -> EventHub {
        EventHub { sender: broadcast::channel(MAX_STREAM_LAG).0, clients: ClientLimit::new(MAX_STREAMS) }
    }

    /// Adds a client until its slot is dropped.
    ///
    /// # Errors
    /// If [`MAX_STREAMS`] are in use, or the address has its share of them.
    pub fn listen(&self, from: IpAddr) -> Result<(broadcast::Receiver<Event>, ClientSlot), Problem> {
        match self.clients.take(from) {
            Some(slot) => Ok((self.sender.subscribe(), slot)),
            None => {
                let text = format!("{} of {MAX_STREAMS} event streams are in use", self.streams());
                Err(Problem::busy(text).retry_after(5).todo("close some, or poll /api/v1/status"))
            }
        }
    }

    /// Number of clients.
    pub fn streams(&self) -> usize {
        self.clients.taken()
    }

    /// Publishes an attempted change.
    pub fn change(&self, entry: &Entry) {
        let Entry { at, who, change, result, detail } = entry;
        let (kind, what) = (change.kind(), change.to_string());
        self.send(Event::new(
            "change",
            &ChangeEvent { at: *at, name: &who.name, kind, what, result: *result, detail },
        ));
    }

    fn send(&self, event: Event) {
        // An error means that there are no clients.
        let _ = self.sender.send(event);
    }
}

/// The event of a change: without the operator's address, and always one line.
#[derive(Serialize)]
struct ChangeEvent<'a> {
    at: u64,
    name: &'a str,
    kind: &'static str,
    what: String,
    result: Outcome,
    detail: &'a str,
}

/// What the hub last published.
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

/// Whether more than clocks and memory changed.
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
