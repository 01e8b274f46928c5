//! One visit to a host, as a task of its own: deliver what was settled, make one request, deliver its
//! page, and wait until that is read. The stage after us holds the task, and with it the host's slot.

use crate::client::{Meter, NetworkError, Reply, Request};
use crate::exhausted::patiently;
use crate::fetch::Run;
use crate::frontier::HostId;
use crate::host::{Ask, Errand, Waiting};
use crate::limits::MAX_ROBOTS;
use crate::outcome::{
    Condition, FetchResult, FetchedPage, Hold, is_host_failure, is_news, result_of, retry_after,
    validators_to_send,
};
use crate::politeness::Sign;
use recrawl_types::{CanonicalUrl, Failure, Known, Outcome, PageRecord, ScheduleEntry, Share, Validators};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, timeout};

/// What to do.
pub struct Visit {
    pub host: HostId,
    pub settled: Vec<FetchedPage>,
    /// The track that asks, and what for.
    pub ask: Option<(Option<u32>, Ask)>,
    /// The address that is charged with the request.
    pub address: Option<IpAddr>,
    /// Is nothing else in sight at this host?
    pub last: bool,
    /// What to do where no server takes the request.
    pub may: May,
}

/// What a request that no server took may do next.
#[derive(Clone, Copy)]
pub struct May {
    /// Where no connection can be had: be made at the name's next address.
    pub go_elsewhere: bool,
    /// Where the server closed a kept connection or refused the stream: be repeated.
    pub repeat: bool,
}

/// What was done, as far as the frontier must know it.
pub struct Ended {
    pub host: HostId,
    /// The track that made a request.
    pub track: Option<u32>,
    /// The address that was charged with it.
    pub address: Option<IpAddr>,
    pub kind: EndedKind,
    /// What came of the request. None where nobody was asked: a refused address, say.
    pub echo: Option<Echo>,
    /// Bytes that came over the network.
    pub received: u64,
    /// Nobody takes the pages any more.
    pub output_closed: bool,
}

/// What an answer, or its absence, tells of the host.
#[derive(Debug)]
pub struct Echo {
    pub elapsed: Duration,
    pub sign: Sign,
    /// How long the answer asks us to stay away.
    pub retry_after: Option<Duration>,
    /// Who answered.
    pub peer: Option<IpAddr>,
}

impl Echo {
    fn of(answer: &Result<Reply, NetworkError>, elapsed: Duration, now: u64) -> Option<Echo> {
        let sign = match answer {
            Err(error) if error.is_unasked() => return None,
            Ok(reply) if matches!(reply.status, 429 | 503) => Sign::Overloaded,
            Ok(reply) if reply.status < 500 => Sign::Well,
            Err(NetworkError::Timeout) => Sign::TimedOut,
            Ok(_) | Err(_) => Sign::None,
        };
        let peer = answer.as_ref().ok().and_then(|r| r.peer).map(|p| p.ip().to_canonical());
        Some(Echo { elapsed, sign, retry_after: retry_after(answer, now), peer })
    }
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
        /// Bytes of the page, after decompression.
        bytes: u64,
    },
    /// robots.txt was asked for.
    Robots { errand: Errand, answer: Result<Reply, NetworkError> },
    /// The address was looked up.
    Address(Option<IpAddr>),
    /// There was no connection, and the name has another address, or the server did not take the request: to be
    /// asked again, there or on a fresh connection.
    Again {
        /// What for.
        ask: Ask,
        /// Had the server closed the kept connection?
        was_closed_idle: bool,
    },
    /// This machine had nothing left to ask with, for long.
    Exhausted,
    /// 304, and the page is one of those at which validators are put to the test: to be asked again without.
    Check(Waiting),
}

impl EndedKind {
    fn again(ask: Ask, why: &NetworkError) -> EndedKind {
        EndedKind::Again { ask, was_closed_idle: matches!(why, NetworkError::NotTaken) }
    }
}

impl Visit {
    /// Does it.
    pub async fn run(self, run: Arc<Run>, out: Sender<FetchedPage>) -> Ended {
        let mut ended = Ended {
            host: self.host,
            track: self.ask.as_ref().and_then(|(track, _)| *track),
            address: self.address,
            kind: EndedKind::Settled,
            echo: None,
            received: 0,
            output_closed: false,
        };
        let may = self.may;
        for page in self.settled {
            ended.output_closed |= deliver(page, &run, &out).await.is_err();
        }
        match self.ask {
            Some((_, Ask::Page(waiting))) => {
                if let Some(page) = visit_page(*waiting, self.last, may, &run, &mut ended).await {
                    let (hold, taken) = Hold::new();
                    let page = FetchedPage { hold, ..page };
                    ended.output_closed |= deliver(page, &run, &out).await.is_err();
                    // An error is what the end of a hold looks like.
                    let _ = taken.await;
                }
            }
            Some((_, Ask::Robots(errand))) => {
                let (url, validators) = (errand.url.clone(), errand.validators.clone());
                let request = Request { url, validators, max_body: MAX_ROBOTS, last: false };
                let answer = ask(&request, may, &run, &mut ended).await;
                run.report().robots_requests += u64::from(ended.echo.is_some());
                ended.kind = match answer {
                    Err(error @ (NetworkError::Elsewhere | NetworkError::NotTaken)) => {
                        EndedKind::again(Ask::Robots(errand), &error)
                    }
                    Err(NetworkError::Exhausted) => EndedKind::Exhausted,
                    answer => EndedKind::Robots { errand, answer },
                };
            }
            Some((_, Ask::Address(host))) => {
                let look_up = || async {
                    let found = timeout(run.config.connect_timeout, run.network.address(&host)).await;
                    found.unwrap_or(Err(NetworkError::Timeout))
                };
                ended.kind = match patiently(look_up).await.0 {
                    Err(NetworkError::Exhausted) => EndedKind::Exhausted,
                    found => EndedKind::Address(found.ok()),
                };
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

async fn ask(request: &Request, may: May, run: &Run, ended: &mut Ended) -> Result<Reply, NetworkError> {
    // Whatever brought a request here, this is the one door to the network.
    if (run.opted_out)(&request.url.host()) {
        return Err(NetworkError::Refused);
    }
    let start = Instant::now();
    let received = Meter::default();
    let get = || async {
        let answer = timeout(run.config.timeout, run.network.get(request, &received)).await;
        answer.unwrap_or(Err(NetworkError::Timeout))
    };
    let (answer, elapsed) = patiently(get).await;
    ended.received = received.total();
    let answer = match answer {
        // It failed while the process stood still: asked again, since nobody else is to blame.
        Err(_) if may.go_elsewhere && run.suspension.was_after(start, run.now()) => {
            Err(NetworkError::Elsewhere)
        }
        Err(error @ NetworkError::Elsewhere) if !may.go_elsewhere => Err(error.for_good()),
        Err(error @ NetworkError::NotTaken) if !may.repeat => Err(error.for_good()),
        answer => answer,
    };
    ended.echo = Echo::of(&answer, elapsed, run.now());
    if let Some(echo) = &mut ended.echo
        && run.suspension.was_after(start, run.now())
        && echo.sign != Sign::Overloaded
    {
        echo.sign = Sign::None;
    }
    let mut report = run.report();
    report.requests += u64::from(ended.echo.is_some());
    report.repeated += u64::from(matches!(answer, Err(NetworkError::NotTaken)));
    report.received += ended.received;
    report.bytes += answer.as_ref().map_or(0, |reply| reply.body.len() as u64);
    drop(report);
    answer
}

/// Asks for a page; none where it has to be asked for again.
async fn visit_page(
    waiting: Waiting,
    last: bool,
    may: May,
    run: &Run,
    ended: &mut Ended,
) -> Option<FetchedPage> {
    let conditional = waiting.condition == Condition::Conditional;
    let validators = if conditional { validators_to_send(&waiting.entry) } else { Validators::default() };
    let request = Request { url: waiting.entry.url.clone(), validators, max_body: run.config.max_body, last };
    let answer = ask(&request, may, run, ended).await;
    if let Err(error @ (NetworkError::Elsewhere | NetworkError::NotTaken)) = &answer {
        ended.kind = EndedKind::again(Ask::Page(Box::new(waiting)), error);
        return None;
    }
    if matches!(answer, Err(NetworkError::Exhausted)) {
        ended.kind = EndedKind::Exhausted;
        return None;
    }
    if conditional && answer.as_ref().is_ok_and(|r| r.status == 304) && run.is_tested(&waiting.entry.url) {
        ended.kind = EndedKind::Check(Waiting { condition: Condition::Checked, ..waiting });
        return None;
    }
    let Waiting { index, entry, hops, condition, sitemaps } = waiting;
    let (at, elapsed) = (run.now(), ended.echo.as_ref().map_or(Duration::ZERO, |echo| echo.elapsed));
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
    let bytes = if let FetchResult::Page(page) = &result { page.body.len() as u64 } else { 0 };
    ended.kind = EndedKind::Page { host_failed, follow, bytes };
    let hold = Hold::default();
    Some(FetchedPage { index, entry, hops, result, condition, at, elapsed, sitemaps, hold })
}

/// The target of a redirect, as a page to visit at once. A redirect is no click: the depth stays.
fn followed(target: CanonicalUrl, hops: u8, source: &Known) -> Waiting {
    let known = Known { depth: source.depth, hops, ..Known::default() };
    let entry =
        ScheduleEntry { url: target, share: Share::Followed, record: PageRecord { known, visited: None } };
    Waiting { hops, ..Waiting::of(None, entry) }
}
