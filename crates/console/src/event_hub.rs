//! Event hub: sends status, cycle reports and changes to all clients.

use crate::client_limit::{ClientLimit, ClientSlot};
use crate::config::{ChangeResult, Entry};
use crate::problem::Problem;
use crate::view::Status;
use serde::Serialize;
use serde_json::Value;
use std::net::IpAddr;
use std::sync::Arc;
use tokio::sync::broadcast;

/// Maximum concurrent event streams.
pub const MAX_STREAMS: usize = 32;
/// Maximum queued events of a slow client. Beyond that it loses the oldest.
pub const MAX_STREAM_LAG: usize = 64;
/// One event.
#[derive(Clone, Debug)]
pub struct Event {
    /// `status`, `cycle` or `change`.
    pub name: &'static str,
    /// JSON.
    pub data: Arc<str>,
}

impl Event {
    /// An event with this document.
    pub fn new(name: &'static str, data: &impl Serialize) -> Event {
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
        let what = change.to_string();
        let kind = serde_json::to_value(change).map_or(Value::Null, |mut change| change["kind"].take());
        self.send(Event::new(
            "change",
            &ChangeEvent { at: *at, name: &who.name, kind, what, result: *result, detail },
        ));
    }

    /// Sends an event to all clients.
    pub fn send(&self, event: Event) {
        // An error means that there are no clients.
        let _ = self.sender.send(event);
    }
}

/// The event of a change: without the operator's address, and always one line.
#[derive(Serialize)]
struct ChangeEvent<'a> {
    at: u64,
    name: &'a str,
    kind: Value,
    what: String,
    result: ChangeResult,
    detail: &'a str,
}
