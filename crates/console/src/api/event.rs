//! Live events, as server-sent events.

use crate::connection::Peer;
use crate::console::Console;
use crate::event_hub::Event as HubEvent;
use crate::problem::Problem;
use axum::Extension;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;

/// Interval of keep-alive comments. They let either side notice a lost connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Delay before a browser reconnects.
const RETRY: Duration = Duration::from_secs(2);

/// Live events (server-sent events).
///
/// `status`: status of the crawl, at once and then every second while it changes. `cycle`: report
/// of a committed cycle. `change`: an attempted change and its result, with `at`, `name`, `kind`,
/// `what`, `result` and `detail`. A slow client loses events, but never the newest.
#[utoipa::path(get, path = "/api/v1/events", tag = "look",
    responses((status = 200, description = "Event stream", body = String, content_type = "text/event-stream")))]
pub async fn events(
    State(console): State<Arc<Console>>,
    Extension(Peer(from)): Extension<Peer>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let (receiver, slot) = console.events.listen(from)?;
    let first = sent(&HubEvent::status(&console.view.status())).retry(RETRY);
    let begun = (receiver, console.stop.clone(), slot, Some(first));
    let events = stream::unfold(begun, async |(mut receiver, stop, slot, mut first)| {
        if let Some(first) = first.take() {
            return Some((Ok(first), (receiver, stop, slot, None)));
        }
        loop {
            let event = tokio::select! {
                () = stop.cancelled() => return None,
                event = receiver.recv() => event,
            };
            match event {
                Ok(event) => return Some((Ok(sent(&event)), (receiver, stop, slot, None))),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

fn sent(event: &HubEvent) -> Event {
    Event::default().event(event.name).data(&*event.data)
}
