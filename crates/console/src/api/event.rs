//! Live events, as server-sent events.

use crate::connection::Peer;
use crate::console::Console;
use crate::news::Event as News;
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
    let (receiver, seat) = console.news.listen(from)?;
    let first = sent(&News::status(&console.view.status())).retry(RETRY);
    let begun = (receiver, console.stop.clone(), seat, Some(first));
    let events = stream::unfold(begun, async |(mut receiver, stop, seat, mut first)| {
        if let Some(first) = first.take() {
            return Some((Ok(first), (receiver, stop, seat, None)));
        }
        loop {
            let news = tokio::select! {
                () = stop.cancelled() => return None,
                news = receiver.recv() => news,
            };
            match news {
                Ok(news) => return Some((Ok(sent(&news)), (receiver, stop, seat, None))),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

fn sent(news: &News) -> Event {
    Event::default().event(news.name).data(&*news.data)
}
