//! Event hub: status every second while it changes, cycle reports, and changes.
//!
//! The hub reads the status once a second for all clients, and never without clients.

use crate::config::{Entry, Outcome};
use crate::console::Console;
use crate::problem::Problem;
use crate::seat::{Seat, Seats};
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
pub const MAX_BEHIND: usize = 64;
/// Interval between two reads of the status.
pub const BEAT: Duration = Duration::from_secs(1);

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
        let data = serde_json::to_string(data).expect("what is shown is plain data");
        Event { name, data: data.into() }
    }

    /// A `status` event.
    pub fn status(status: &Status) -> Event {
        Event::new("status", status)
    }
}

/// The event hub.
pub struct News {
    sender: broadcast::Sender<Event>,
    seats: Seats,
}

impl News {
    /// A hub without clients.
    pub fn new() -> News {
        News { sender: broadcast::channel(MAX_BEHIND).0, seats: Seats::new(MAX_STREAMS) }
    }

    /// Adds a client until its seat is dropped.
    ///
    /// # Errors
    /// If [`MAX_STREAMS`] are in use, or the address has its share of them.
    pub fn listen(&self, from: IpAddr) -> Result<(broadcast::Receiver<Event>, Seat), Problem> {
        match self.seats.take(from) {
            Some(seat) => Ok((self.sender.subscribe(), seat)),
            None => {
                let text = format!("{} of {MAX_STREAMS} event streams are in use", self.streams());
                Err(Problem::busy(text).retry_after(5).todo("close some, or poll /api/v1/status"))
            }
        }
    }

    /// Number of clients.
    pub fn streams(&self) -> usize {
        self.seats.taken()
    }

    /// Publishes an attempted change.
    pub fn change(&self, entry: &Entry) {
        let Entry { at, who, change, result, detail } = entry;
        let (kind, what) = (change.kind(), change.to_string());
        self.send(Event::new(
            "change",
            &Tried { at: *at, name: &who.name, kind, what, result: *result, detail },
        ));
    }

    fn send(&self, event: Event) {
        // An error means that there are no clients.
        let _ = self.sender.send(event);
    }
}

/// The event of a change: without the operator's address, and always one line.
#[derive(Serialize)]
struct Tried<'a> {
    at: u64,
    name: &'a str,
    kind: &'static str,
    what: String,
    result: Outcome,
    detail: &'a str,
}

/// What the hub last published.
#[derive(Default)]
struct Told {
    status: Option<Status>,
    cycle: Option<u64>,
}

/// Publishes status and cycles until shutdown.
pub async fn tell(console: Arc<Console>) {
    let mut beat = time::interval(BEAT);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut told = Told::default();
    loop {
        tokio::select! {
            () = console.stop.cancelled() => return,
            _ = beat.tick() => {}
        }
        if console.news.streams() == 0 {
            told = Told::default();
            continue;
        }
        let status = console.view.status();
        let committed = status.last.as_ref().map(|cycle| cycle.cycle);
        // A new client requests earlier cycles itself.
        if told.status.is_some() {
            let new = committed.unwrap_or(0).saturating_sub(told.cycle.unwrap_or(0));
            report(&console, new.min(MAX_BEHIND as u64) as usize).await;
        }
        told.cycle = committed;
        if told.status.as_ref().is_none_or(|before| differ(before, &status)) {
            console.news.send(Event::status(&status));
            told.status = Some(status);
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
            reports.iter().take(new).rev().for_each(|report| console.news.send(Event::new("cycle", report)));
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
        ..after.clone()
    };
    still != *before
}
