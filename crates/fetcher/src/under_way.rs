//! Visits under way, each in a task of its own. A panic in one is a fault of ours: it costs the visit's page, and
//! never the run.

use crate::fetch::Run;
use crate::host::{Ask, Errand, Waiting};
use crate::outcome::{FetchResult, FetchedPage, Hold};
use crate::visit::{Ended, EndedKind, Visit, deliver};
use crate::{NetworkError, frontier::HostId};
use futures_util::FutureExt;
use recrawl_types::{Failure, Outcome};
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::Sender;

/// What the frontier must know of a visit that could not tell.
struct Witness {
    host: HostId,
    track: Option<u32>,
    address: Option<IpAddr>,
    asked: Asked,
}

/// What it was about.
enum Asked {
    Nothing,
    Address,
    Robots(Errand),
    Page(Box<Waiting>),
}

impl Witness {
    fn of(visit: &Visit) -> Witness {
        let asked = match &visit.ask {
            None => Asked::Nothing,
            Some((_, Ask::Address(_))) => Asked::Address,
            Some((_, Ask::Robots(errand))) => Asked::Robots(errand.clone()),
            Some((_, Ask::Page(waiting))) => Asked::Page(waiting.clone()),
        };
        let track = visit.ask.as_ref().and_then(|(track, _)| *track);
        Witness { host: visit.host, track, address: visit.address, asked }
    }

    /// What is said in the visit's place.
    async fn ended(self, run: &Run, out: &Sender<FetchedPage>) -> Ended {
        let Witness { host, track, address, asked } = self;
        run.report().panics += 1;
        let mut output_closed = false;
        let kind = match asked {
            Asked::Nothing => EndedKind::Settled,
            Asked::Address => EndedKind::Address(None),
            Asked::Robots(errand) => {
                tracing::error!(url = %errand.url, "a visit panicked: a fault of ours, please report it");
                EndedKind::Robots { errand, answer: Err(NetworkError::Protocol) }
            }
            Asked::Page(waiting) => {
                let url = &waiting.entry.url;
                tracing::error!(%url, "a visit panicked: a fault of ours, please report it");
                output_closed = deliver(failed(*waiting, run.now()), run, out).await.is_err();
                EndedKind::Page { host_failed: false, follow: None, bytes: 0 }
            }
        };
        Ended { host, track, address, kind, echo: None, received: 0, output_closed }
    }
}

/// The page backs off like one that failed, so that it is not met again in every cycle; its host is not blamed.
fn failed(waiting: Waiting, at: u64) -> FetchedPage {
    let Waiting { index, entry, hops, condition, sitemaps } = waiting;
    let result = FetchResult::Nothing(Outcome::Failed(Failure::Protocol));
    FetchedPage {
        index,
        entry,
        hops,
        result,
        condition,
        at,
        elapsed: Duration::ZERO,
        sitemaps,
        hold: Hold::default(),
    }
}

/// Makes a visit, whatever happens in it.
pub async fn visit(visit: Visit, run: Arc<Run>, out: Sender<FetchedPage>) -> Ended {
    let witness = Witness::of(&visit);
    let visited = AssertUnwindSafe(visit.run(run.clone(), out.clone())).catch_unwind().await;
    match visited {
        Ok(ended) => ended,
        Err(_) => witness.ended(&run, &out).await,
    }
}
