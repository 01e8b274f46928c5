//! What happens, for those who listen: figures each second while they change, cycles, and changes.
//!
//! The crawl is asked once a second however many listen, and not at all when nobody does.

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

/// Streams of events at a time.
pub const MAX_STREAMS: usize = 32;
/// Events that a slow listener may be behind; then it misses some, never the newest.
pub const MAX_BEHIND: usize = 64;
/// How often the crawl is asked where it stands.
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

    /// Where the crawl stands.
    pub fn status(status: &Status) -> Event {
        Event::new("status", status)
    }
}

/// Those who listen.
pub struct News {
    sender: broadcast::Sender<Event>,
    seats: Seats,
}

impl News {
    /// Nobody, yet.
    pub fn new() -> News {
        News { sender: broadcast::channel(MAX_BEHIND).0, seats: Seats::new(MAX_STREAMS) }
    }

    /// One more listener, until its seat is dropped.
    ///
    /// # Errors
    /// When there are [`MAX_STREAMS`], or all that one address may have.
    pub fn listen(&self, from: IpAddr) -> Result<(broadcast::Receiver<Event>, Seat), Problem> {
        match self.seats.take(from) {
            Some(seat) => Ok((self.sender.subscribe(), seat)),
            None => {
                let text = format!("{} of {MAX_STREAMS} streams of events are open already", self.streams());
                Err(Problem::busy(text).retry_after(5).todo("close some, or ask /api/v1/status now and then"))
            }
        }
    }

    /// How many listen.
    pub fn streams(&self) -> usize {
        self.seats.taken()
    }

    /// Somebody tried a change.
    pub fn change(&self, entry: &Entry) {
        let Entry { at, who, change, result, detail } = entry;
        let (kind, what) = (change.kind(), change.to_string());
        self.send(Event::new(
            "change",
            &Tried { at: *at, name: &who.name, kind, what, result: *result, detail },
        ));
    }

    fn send(&self, event: Event) {
        // An error means that nobody listens.
        let _ = self.sender.send(event);
    }
}

/// A change, for those who listen: nothing of the operator's address, and a line whatever its size.
#[derive(Serialize)]
struct Tried<'a> {
    at: u64,
    name: &'a str,
    kind: &'static str,
    what: String,
    result: Outcome,
    detail: &'a str,
}

/// What those who listen were told last.
#[derive(Default)]
struct Told {
    status: Option<Status>,
    cycle: Option<u64>,
}

/// Tells those who listen where the crawl stands, until the end.
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
        // Who has just begun to listen asks for the cycles before.
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

/// Tells of the cycles that were just committed: the last `new`, the oldest first.
async fn report(console: &Arc<Console>, new: usize) {
    if new == 0 {
        return;
    }
    match console.ask(move |view| view.cycles(new)).await {
        Ok(reports) => {
            reports.iter().take(new).rev().for_each(|report| console.news.send(Event::new("cycle", report)));
        }
        Err(problem) => tracing::warn!("console: reports of cycles: {problem:?}"),
    }
}

/// Is there more to tell than that time went by?
fn differ(before: &Status, after: &Status) -> bool {
    let still = Status {
        now: before.now,
        idle_ms: before.idle_ms,
        memory_bytes: before.memory_bytes,
        ..after.clone()
    };
    still != *before
}
