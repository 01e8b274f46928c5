//! Spans for a trace collector: the cycle, its stages and its hosts, each with start, end and
//! parent.
//!
//! Ended spans go to a bounded queue, which [`export`] sends by OTLP over HTTP. A trace is one run
//! of a cycle. The crawl never waits for the collector: spans beyond the limit are dropped, counted
//! and logged.

mod export;
mod otlp;

pub use export::Collector;
use export::SpanQueue;
use otlp::{Finished, SpanId, TraceId};
use recrawl_crawl::failure::Failure;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// Names of exported spans; there are too many spans of single pages.
const TOLD: [&str; 7] = ["cycle", "plan", "fetch", "gather", "merge", "commit", "host"];
/// Maximum time that the end of the program waits for the collector.
const PATIENCE: Duration = Duration::from_secs(5);

/// The queue of ended spans.
static QUEUE: SpanQueue = SpanQueue::new();
/// Set once a collector is configured.
static STARTED: OnceLock<()> = OnceLock::new();

/// Starts the export to a collector; returns the layer that feeds it.
///
/// # Errors
/// When no thread can be started.
pub fn start<S>(collector: Collector) -> Result<impl Layer<S>, Failure>
where
    S: Subscriber + for<'s> LookupSpan<'s>,
{
    let export = move || QUEUE.export(&collector);
    std::thread::Builder::new().name("traces".into()).spawn(export)?;
    STARTED.get_or_init(|| ());
    let is_told = |span: &Metadata<'_>| {
        span.is_span() && span.target().starts_with("recrawl") && TOLD.contains(&span.name())
    };
    Ok(Traces { queue: &QUEUE, ids: Ids::new() }.with_filter(filter_fn(is_told)))
}

/// Waits briefly at the end of the program until all spans are sent, and logs how many were not.
pub fn settle() {
    if STARTED.get().is_some() {
        QUEUE.settle(PATIENCE);
    }
}

/// Generates globally unique ids.
struct Ids {
    /// Start time and id of this process.
    process: [u64; 2],
    given: AtomicU64,
}

impl Ids {
    fn new() -> Ids {
        Ids { process: [nanos(), std::process::id().into()], given: AtomicU64::new(0) }
    }

    fn bytes(&self) -> Vec<u8> {
        let given = self.given.fetch_add(1, Relaxed);
        self.process.into_iter().chain([given]).flat_map(u64::to_le_bytes).collect()
    }

    fn trace(&self) -> TraceId {
        TraceId(xxh3_128(&self.bytes()).max(1))
    }

    fn span(&self) -> SpanId {
        SpanId(xxh3_64(&self.bytes()).max(1))
    }
}

/// Nanoseconds since 1970.
fn nanos() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos() as u64)
}

/// The layer that collects spans.
struct Traces {
    queue: &'static SpanQueue,
    ids: Ids,
}

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for Traces {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let parent = span.parent().and_then(|parent| {
            parent.extensions().get::<Finished>().map(|parent| (parent.trace, parent.span))
        });
        let (trace, parent) = parent.map_or_else(|| (self.ids.trace(), None), |(t, p)| (t, Some(p)));
        let mut begun = Finished {
            trace,
            span: self.ids.span(),
            parent,
            name: span.name(),
            attributes: Vec::new(),
            began: nanos(),
            ended: 0,
        };
        attributes.record(&mut SpanFields(&mut begun.attributes));
        span.extensions_mut().insert(begun);
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        if let Some(mut finished) = span.extensions_mut().remove::<Finished>() {
            finished.ended = nanos().max(finished.began);
            self.queue.put(finished);
        }
    }
}

/// Converts the fields of a span to attributes.
struct SpanFields<'f>(&'f mut Vec<(&'static str, serde_json::Value)>);

impl Visit for SpanFields<'_> {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.push((field.name(), value.into()));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.push((field.name(), value.into()));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push((field.name(), value.into()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.push((field.name(), format!("{value:?}").into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing_subscriber::layer::SubscriberExt;

    #[test]
    fn spans_are_told_with_their_parents_when_they_end() {
        let queue: &'static SpanQueue = Box::leak(Box::new(SpanQueue::new()));
        let traces = Traces { queue, ids: Ids::new() };
        tracing::subscriber::with_default(tracing_subscriber::registry().with(traces), || {
            for cycle in [7_u32, 8] {
                let _cycle = tracing::error_span!("cycle", cycle).entered();
                let _fetch = tracing::error_span!("fetch").entered();
                drop(tracing::error_span!("host", host = %"a.example"));
            }
        });
        let told = queue.waiting();
        let names: Vec<_> = told.iter().map(|span| span.name).collect();
        assert_eq!(names, ["host", "fetch", "cycle", "host", "fetch", "cycle"]);
        for [host, fetch, cycle] in told.as_chunks::<3>().0 {
            assert_eq!((host.parent, fetch.parent, cycle.parent), (Some(fetch.span), Some(cycle.span), None));
            assert!(host.trace == cycle.trace && fetch.trace == cycle.trace);
            assert!(cycle.began <= host.began && host.ended <= cycle.ended);
            assert_eq!(host.attributes, [("host", "a.example".into())]);
        }
        assert_ne!(told[0].trace, told[3].trace, "each cycle is a trace");
        assert_eq!(told[5].attributes, [("cycle", 8.into())]);
    }
}
