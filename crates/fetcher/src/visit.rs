//! One visit to a host, as a task of its own: deliver what was settled, make one request, deliver its
//! page. Back-pressure from the stage after us holds the task, and with it the host's slot.

use crate::client::{NetworkError, Reply, Request};
use crate::fetch::Run;
use crate::frontier::HostId;
use crate::host::{Ask, Errand, Waiting};
use crate::limits::MAX_ROBOTS;
use crate::outcome::{
    FetchResult, FetchedPage, is_host_failure, is_news, result_of, retry_after, validators_to_send,
};
use recrawl_types::{CanonicalUrl, Failure, Known, Outcome, PageRecord, ScheduleEntry, Share};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, timeout};

/// What to do.
pub struct Visit {
    pub host: HostId,
    pub settled: Vec<FetchedPage>,
    /// The track that asks, and what for.
    pub ask: Option<(u32, Ask)>,
    /// Is nothing else in sight at this host?
    pub last: bool,
}

/// What was done, as far as the frontier must know it.
pub struct Ended {
    pub host: HostId,
    /// The track that made a request.
    pub track: Option<u32>,
    pub kind: EndedKind,
    /// Was anything sent? A refused address is asked nothing.
    pub asked: bool,
    /// How long the answer asks us to stay away.
    pub retry_after: Option<Duration>,
    /// Nobody takes the pages any more.
    pub output_closed: bool,
}

/// See [`Ended`].
pub enum EndedKind {
    /// Nothing was asked.
    Settled,
    /// A page was asked for.
    Page {
        /// Does the result speak against the host?
        host_failed: bool,
        /// A redirect's target that is news.
        follow: Option<Waiting>,
    },
    /// robots.txt was asked for.
    Robots { errand: Errand, answer: Result<Reply, NetworkError> },
}

impl Visit {
    /// Does it.
    pub async fn run(self, run: Arc<Run>, out: Sender<FetchedPage>) -> Ended {
        let mut ended = Ended {
            host: self.host,
            track: self.ask.as_ref().map(|(track, _)| *track),
            kind: EndedKind::Settled,
            asked: false,
            retry_after: None,
            output_closed: false,
        };
        for page in self.settled {
            ended.output_closed |= deliver(page, &run, &out).await.is_err();
        }
        match self.ask {
            Some((_, Ask::Page(waiting))) => {
                let page = visit_page(*waiting, self.last, &run, &mut ended).await;
                ended.output_closed |= deliver(page, &run, &out).await.is_err();
            }
            Some((_, Ask::Robots(errand))) => {
                let (url, validators) = (errand.url.clone(), errand.validators.clone());
                let answer = ask(&Request { url, validators, max_body: MAX_ROBOTS, last: false }, &run).await;
                ended.asked = answer.as_ref().err() != Some(&NetworkError::Refused);
                run.report().robots_requests += u64::from(ended.asked);
                ended.retry_after = retry_after(&answer, run.now());
                ended.kind = EndedKind::Robots { errand, answer };
            }
            None => {}
        }
        ended
    }
}

/// Counts a page and hands it on.
pub async fn deliver(page: FetchedPage, run: &Run, out: &Sender<FetchedPage>) -> Result<(), OutputClosed> {
    let result = out.reserve().await.map_err(|_| OutputClosed)?;
    run.report().outcomes.count(&page.result);
    result.send(page);
    Ok(())
}

/// The receiver of pages has gone away.
#[derive(Debug)]
pub struct OutputClosed;

async fn ask(request: &Request, run: &Run) -> Result<Reply, NetworkError> {
    let answer = timeout(run.config.timeout, run.network.get(request)).await;
    let answer = answer.unwrap_or(Err(NetworkError::Timeout));
    let mut report = run.report();
    report.requests += u64::from(answer.as_ref().err() != Some(&NetworkError::Refused));
    report.bytes += answer.as_ref().map_or(0, |reply| reply.body.len() as u64);
    drop(report);
    answer
}

async fn visit_page(waiting: Waiting, last: bool, run: &Run, ended: &mut Ended) -> FetchedPage {
    let Waiting { index, entry, hops } = waiting;
    let validators = validators_to_send(&entry);
    let conditional = !validators.is_empty();
    let request = Request { url: entry.url.clone(), validators, max_body: run.config.max_body, last };
    let start = Instant::now();
    let answer = ask(&request, run).await;
    let (at, elapsed) = (run.now(), start.elapsed());
    ended.retry_after = retry_after(&answer, at);
    ended.asked = answer.as_ref().err() != Some(&NetworkError::Refused);
    let mut result = result_of(answer, &entry, conditional, &run.rules);
    let host_failed = is_host_failure(&result);
    let mut follow = None;
    if let FetchResult::Redirect { target, .. } = &result
        && is_news(&entry, target)
    {
        if hops >= run.config.max_redirects {
            result = FetchResult::Nothing(Outcome::Failed(Failure::Redirect));
        } else {
            follow = Some(followed(target.clone(), hops + 1, &entry.record.known));
        }
    }
    ended.kind = EndedKind::Page { host_failed, follow };
    FetchedPage { index, entry, hops, result, at, elapsed }
}

/// The target of a redirect, as a page to visit at once. A redirect is no click: the depth stays.
fn followed(target: CanonicalUrl, hops: u8, source: &Known) -> Waiting {
    let known = Known { depth: source.depth, hops, ..Known::default() };
    let entry =
        ScheduleEntry { url: target, share: Share::Followed, record: PageRecord { known, visited: None } };
    Waiting { index: None, entry, hops }
}
