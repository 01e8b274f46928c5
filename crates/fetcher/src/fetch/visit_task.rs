//! Runs each visit in a task of its own. A panic is a bug of recrawl: it costs the page of the
//! visit, but never the run.

use crate::fetch::visit::{HostVisit, VisitEnd, VisitEndKind, deliver};
use crate::host::{HostRequest, OriginId, QueuedPage, RobotsRequest};
use crate::net::client::NetworkError;
use crate::outcome::{FetchResult, FetchedPage, Hold};
use crate::run::{HostId, Run};
use futures_util::FutureExt;
use recrawl_types::{Failure, Outcome};
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::mpsc::Sender;

/// The parts of a visit that the main loop needs if it panics.
pub struct PanickedVisit {
    host: HostId,
    origin: Option<OriginId>,
    address: Option<IpAddr>,
    action: PanickedAction,
}

/// The request of that visit.
enum PanickedAction {
    Nothing,
    Lookup,
    Robots(RobotsRequest),
    Page(Arc<QueuedPage>),
}

impl PanickedVisit {
    pub fn new(visit: &HostVisit) -> PanickedVisit {
        let action = match &visit.action {
            None => PanickedAction::Nothing,
            Some((_, HostRequest::Lookup(_))) => PanickedAction::Lookup,
            Some((_, HostRequest::Robots(robots_request))) => PanickedAction::Robots(robots_request.clone()),
            Some((_, HostRequest::Page(queued))) => PanickedAction::Page(Arc::new((**queued).clone())),
        };
        let origin = visit.action.as_ref().and_then(|(origin, _)| *origin);
        PanickedVisit { host: visit.host, origin, address: visit.address, action }
    }

    /// The page that is fetched, as long as the visit lasts.
    pub fn page(&self) -> Option<Weak<QueuedPage>> {
        match &self.action {
            PanickedAction::Page(queued) => Some(Arc::downgrade(queued)),
            PanickedAction::Nothing | PanickedAction::Lookup | PanickedAction::Robots(_) => None,
        }
    }

    /// The result that replaces that of the visit.
    async fn ended(self, run: &Run, out: &Sender<FetchedPage>) -> VisitEnd {
        let PanickedVisit { host, origin, address, action } = self;
        run.report().panics += 1;
        let (mut output_closed, mut delivered) = (false, 0);
        let kind = match action {
            PanickedAction::Nothing => VisitEndKind::NoRequest,
            PanickedAction::Lookup => VisitEndKind::Lookup(None),
            PanickedAction::Robots(robots_request) => {
                tracing::error!(url = %robots_request.url, "a visit panicked; this is a bug in recrawl, please report it");
                VisitEndKind::Robots { robots_request, answer: Err(NetworkError::Protocol) }
            }
            PanickedAction::Page(queued) => {
                let url = &queued.entry.url;
                tracing::error!(%url, "a visit panicked; this is a bug in recrawl, please report it");
                if let Some(ticket) = &queued.ticket {
                    ticket.answer(FetchResult::Nothing(Outcome::Failed(Failure::Protocol)));
                    VisitEndKind::Resource { bytes: 0 }
                } else {
                    for page in failed((*queued).clone(), run.now()) {
                        delivered += 1;
                        output_closed |= deliver(page, run, out).await.is_err();
                    }
                    VisitEndKind::Page { host_failed: false, follow: None, bytes: 0 }
                }
            }
        };
        VisitEnd {
            host,
            origin,
            address,
            kind,
            feedback: None,
            received: 0,
            error: None,
            delivered,
            detour: None,
            output_closed,
        }
    }
}

/// The page backs off like a failed page, so that not every cycle panics. The host is not blamed.
fn failed(queued: QueuedPage, at: u64) -> Vec<FetchedPage> {
    let QueuedPage { index, entry, hops, condition, sitemaps, ticket: _, chain: _, detour } = queued;
    let result = FetchResult::Nothing(Outcome::Failed(Failure::Protocol));
    let (elapsed, hold) = (Duration::ZERO, Hold::default());
    let page = FetchedPage { index, entry, hops, result, condition, at, elapsed, sitemaps, hold };
    detour.map(|detour| *detour).unwrap_or_default().end(page)
}

/// Makes a visit and catches panics.
pub async fn visit(
    visit: HostVisit,
    panicked: PanickedVisit,
    run: Arc<Run>,
    out: Sender<FetchedPage>,
) -> VisitEnd {
    let visited = AssertUnwindSafe(visit.run(run.clone(), out.clone())).catch_unwind().await;
    match visited {
        Ok(ended) => ended,
        Err(_) => panicked.ended(&run, &out).await,
    }
}
