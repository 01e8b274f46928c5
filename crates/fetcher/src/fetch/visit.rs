//! One visit to a host, in a task of its own. It delivers finished pages, makes one request,
//! delivers its page, and waits until the next stage reads that page. Until then the host's
//! connection stays in use.

use crate::fetch::in_flight::{Answered, InFlight, PendingRequest};
use crate::host::detour::{DetourEnd, Onward};
use crate::host::feedback::{HostFeedback, RetryPolicy, retry_while_exhausted};
use crate::host::politeness::ServerHealth;
use crate::host::{HostRequest, OriginId, QueuedPage, RequestStart, RobotsRequest};
use crate::net::client::{NetworkError, Reply, Request, RequestOptions, is_redirect};
use crate::net::limits::MAX_ROBOTS;
use crate::outcome::chain::Chain;
use crate::outcome::{
    Condition, FetchError, FetchResult, FetchedPage, Hold, is_host_failure, resource_of, result_of,
    validators_to_send,
};
use crate::run::resources::Ticket;
use crate::run::{HostId, Run};
use recrawl_types::{CanonicalUrl, ContentKind, Origin, ScheduleEntry, SentRequest, Validators};
use reqwest::header::{ACCEPT, HeaderMap, HeaderValue};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::Sender;
use tokio::time::timeout;

/// The field `Accept` of a request for robots.txt: plain text (RFC 9309 §2.3), and what servers send instead.
const ROBOTS_ACCEPT: HeaderValue = HeaderValue::from_static("text/plain,*/*;q=0.8");

fn robots_manner(is_public_only: bool) -> RequestOptions {
    RequestOptions {
        is_public_only,
        fields: HeaderMap::from_iter([(ACCEPT, ROBOTS_ACCEPT)]),
        ..RequestOptions::default()
    }
}

/// Ends of the paths of sitemaps.
const ENDS_OF_LISTINGS: [&str; 3] = [".xml", ".xml.gz", ".txt"];

pub struct HostVisit {
    pub host: HostId,
    pub finished: Vec<FetchedPage>,
    /// The request, if any. A DNS lookup has no origin.
    pub action: Option<(Option<OriginId>, HostRequest)>,
    /// The start of the request, if there is one.
    pub start: Option<RequestStart>,
    /// The address that the request counts for.
    pub address: Option<IpAddr>,
    /// Is this the last known request of the host?
    pub last: bool,
    pub retry: RetryPolicy,
    /// The path by which a detour of the origin led back before.
    pub detour_path: Option<Box<str>>,
    /// The request, if an earlier run sent it.
    pub sent: Option<PendingRequest>,
}

/// Result of a visit for the main loop.
pub struct VisitEnd {
    pub host: HostId,
    /// The origin that made a request.
    pub origin: Option<OriginId>,
    /// The address that the request counted for.
    pub address: Option<IpAddr>,
    pub kind: VisitEndKind,
    /// None if no server was reached, for example because the address was refused.
    pub feedback: Option<HostFeedback>,
    /// Bytes received over the network.
    pub received: u64,
    /// Why the run cannot go on.
    pub error: Option<FetchError>,
    /// Pages delivered behind the request.
    pub delivered: u64,
    /// How a detour ended with the page.
    pub detour: Option<DetourEnd>,
    /// The receiver of pages is gone.
    pub output_closed: bool,
}

/// See [`VisitEnd`].
pub enum VisitEndKind {
    /// The visit made no request.
    NoRequest,
    Page {
        /// Does the result count as a failure of the host?
        host_failed: bool,
        /// A new redirect target, or a page to which it led back.
        follow: Option<QueuedPage>,
        /// Bytes of the page after decompression.
        bytes: u64,
    },
    /// A request of a page that is rendered.
    Resource {
        /// Bytes after decompression.
        bytes: u64,
    },
    Robots {
        robots_request: RobotsRequest,
        answer: Result<Reply, NetworkError>,
    },
    Lookup(Option<IpAddr>),
    /// The request must be made again: at the next address of the name, or on a fresh connection.
    Retry {
        action: HostRequest,
        why: NetworkError,
    },
    /// This machine had no resources for the request, for
    /// [`MAX_EXHAUSTED_WAIT`](crate::net::limits::MAX_EXHAUSTED_WAIT).
    Exhausted,
    /// Request the page again: without validators, if they are tested and brought a 304, or may be refused; or at the URL to which
    /// the page redirects as itself.
    Again(QueuedPage),
    /// The run leaves the request to the next one.
    Left(Box<InFlight>),
}

impl VisitEnd {
    fn leave(&mut self, action: HostRequest, sent: PendingRequest) {
        self.kind = VisitEndKind::Left(Box::new(InFlight { action, address: self.address, sent }));
    }
}

impl HostVisit {
    pub async fn run(self, run: Arc<Run>, out: Sender<FetchedPage>) -> VisitEnd {
        let mut ended = VisitEnd {
            host: self.host,
            origin: self.action.as_ref().and_then(|(origin, _)| *origin),
            address: self.address,
            kind: VisitEndKind::NoRequest,
            feedback: None,
            received: 0,
            error: None,
            delivered: 0,
            detour: None,
            output_closed: false,
        };
        let mut sending = Sending {
            retry: self.retry,
            start: self.start,
            ticket: None,
            detour_path: self.detour_path,
            sent: self.sent,
        };
        for page in self.finished {
            ended.output_closed |= deliver(page, &run, &out).await.is_err();
        }
        match self.action {
            Some((_, HostRequest::Page(queued))) => {
                for page in visit_page(*queued, self.last, &mut sending, &run, &mut ended).await {
                    // The connection stays in use until the page is read: so connections bound the bodies in
                    // memory.
                    let (hold, taken) = Hold::new();
                    let page = FetchedPage { hold, ..page };
                    ended.delivered += 1;
                    ended.output_closed |= deliver(page, &run, &out).await.is_err();
                    // The sender is dropped with the hold, so an error is the normal end.
                    let _ = taken.await;
                }
            }
            Some((_, HostRequest::Robots(robots_request))) => {
                let (url, validators) = (robots_request.url.clone(), robots_request.validators.clone());
                let request = Request {
                    url,
                    hop: robots_request.chain.as_deref().map(Chain::hop),
                    validators,
                    max_body: MAX_ROBOTS,
                    types: None,
                    last: false,
                    manner: robots_manner(robots_request.is_public_only),
                };
                let answer = match send(request, &mut sending, true, &run, &mut ended).await {
                    Ok(answer) => answer,
                    Err(sent) => {
                        ended.leave(HostRequest::Robots(robots_request), sent);
                        return ended;
                    }
                };
                run.report().robots_requests += u64::from(ended.feedback.is_some());
                ended.kind = match answer {
                    Err(why) if why.is_repeated() => {
                        VisitEndKind::Retry { action: HostRequest::Robots(robots_request), why }
                    }
                    // The fault is with this machine, so the host is not blamed.
                    Err(NetworkError::Exhausted) => VisitEndKind::Exhausted,
                    answer => VisitEndKind::Robots { robots_request, answer },
                };
            }
            Some((_, HostRequest::Lookup(host))) => ended.kind = look_up(&host, &run).await,
            None => {}
        }
        ended
    }
}

async fn look_up(host: &str, run: &Run) -> VisitEndKind {
    let find = || async {
        let found = timeout(run.config.connect_timeout, run.network.address(host)).await;
        found.unwrap_or(Err(NetworkError::Timeout))
    };
    tokio::select! {
        biased;
        (found, _) = retry_while_exhausted(find) => match found {
            Err(NetworkError::Exhausted) => VisitEndKind::Exhausted,
            found => VisitEndKind::Lookup(found.ok()),
        },
        // The next run looks it up again.
        () = run.leaving.cancelled() => VisitEndKind::NoRequest,
    }
}

/// Counts a page and sends it to the next stage.
pub async fn deliver(page: FetchedPage, run: &Run, out: &Sender<FetchedPage>) -> Result<(), OutputClosed> {
    let result = out.reserve().await.map_err(|_| OutputClosed)?;
    run.report().outcomes.count(&page.result);
    result.send(page);
    Ok(())
}

/// The receiver of pages is gone.
#[derive(Debug)]
pub struct OutputClosed;

/// How a request is sent.
struct Sending {
    retry: RetryPolicy,
    start: Option<RequestStart>,
    /// Of a page's resource.
    ticket: Option<Ticket>,
    /// See [`HostVisit::detour_path`].
    detour_path: Option<Box<str>>,
    /// See [`HostVisit::sent`].
    sent: Option<PendingRequest>,
}

/// The answer to a request; gives the request back if the run leaves it to the next one.
async fn send(
    request: Request,
    sending: &mut Sending,
    may_leave: bool,
    run: &Run,
    ended: &mut VisitEnd,
) -> Result<Result<Reply, NetworkError>, PendingRequest> {
    let origin = Origin::from_url(&request.url);
    // All requests pass here, so this check covers every case.
    if (run.opted_out)(&origin.host) {
        return Ok(Err(NetworkError::Refused));
    }
    let sent = sending
        .sent
        .take()
        .unwrap_or_else(|| PendingRequest::new(request, sending.start, sending.ticket.take(), run));
    let (start, started, retry) = (sent.began, sent.start, sending.retry);
    let Answered { answer, elapsed, received } = sent.answered(may_leave.then_some(&run.leaving)).await?;
    ended.received = received;
    let answer = match answer {
        // It failed while the process was suspended, which says nothing about the host.
        Err(_) if retry.try_next_address && run.suspension.ended_after(start, run.now()) => {
            Err(NetworkError::TryNextAddress)
        }
        Err(error @ NetworkError::TryNextAddress) if !retry.try_next_address => Err(error.final_error()),
        Err(error @ NetworkError::NotProcessed) if !retry.repeat => Err(error.final_error()),
        answer => answer,
    };
    ended.feedback = HostFeedback::from_answer(&answer, elapsed, run.now());
    if let Some(feedback) = &mut ended.feedback
        && run.suspension.ended_after(start, run.now())
        && feedback.health != ServerHealth::Overloaded
    {
        feedback.health = ServerHealth::Unknown;
    }
    let mut report = run.report();
    report.requests += u64::from(ended.feedback.is_some());
    report.repeated += u64::from(matches!(answer, Err(NetworkError::NotProcessed)));
    report.received += ended.received;
    report.bytes += answer.as_ref().map_or(0, |reply| reply.body.len() as u64);
    drop(report);
    if let (Some(log), Some(RequestStart { at, gap, delay }), Some(_)) =
        (&run.requests, started, &ended.feedback)
    {
        let status = answer.as_ref().map_or(0, |reply| reply.status);
        let sent = SentRequest { origin, at, gap, delay, status, bytes: ended.received };
        ended.error = log.append(&sent).err().map(FetchError::Requests);
    }
    Ok(answer)
}

/// Is a page asked for again without validators? A sample of the 304s is put to the test: some servers confirm pages that
/// have changed. Others refuse any validators. Those that may be in trouble are not asked twice.
fn is_asked_whole(reply: &Reply, queued: &QueuedPage, run: &Run) -> bool {
    match reply.status {
        304 => run.is_tested(&queued.entry.url),
        404 | 410 | 429 => false,
        status => matches!(status, 400..=499 | 501),
    }
}

/// The request for a page, or for what a page loads.
fn request_for(queued: &QueuedPage, conditional: bool, last: bool, run: &Run) -> Request {
    let manner = queued.ticket.as_ref().map(|ticket| ticket.manner.clone()).unwrap_or_default();
    let validators = match &queued.ticket {
        _ if !conditional => Validators::default(),
        Some(_) => manner.validators.clone(),
        None => validators_to_send(&queued.entry),
    };
    let max_body = manner.max_body.map_or(run.config.max_body, |most| most.min(run.config.max_body));
    // A page may load anything.
    let types = run.types.clone().filter(|_| queued.ticket.is_none() && !is_listing(&queued.entry));
    let hop = queued.chain.as_deref().map(Chain::hop);
    Request { url: queued.entry.url.clone(), hop, validators, max_body, types, last, manner }
}

/// Requests a page. Returns the pages that are finished: none if it must be requested again, waits for another, or is left
/// to the next run.
async fn visit_page(
    queued: QueuedPage,
    last: bool,
    sending: &mut Sending,
    run: &Run,
    ended: &mut VisitEnd,
) -> Vec<FetchedPage> {
    let conditional = queued.condition == Condition::Conditional;
    let request = request_for(&queued, conditional, last, run);
    // Pages that wait for it are of this schedule.
    sending.ticket = queued.ticket.clone();
    let may_leave = queued.ticket.is_none() && queued.chain.is_none() && queued.detour.is_none();
    let answer = match send(request, sending, may_leave, run, ended).await {
        Ok(answer) => answer,
        Err(sent) => {
            ended.leave(HostRequest::Page(Box::new(queued)), sent);
            return Vec::new();
        }
    };
    let asks_again = queued.detour.as_ref().is_some_and(|detour| detour.asks_again());
    run.report().asked_again += u64::from(asks_again && ended.feedback.is_some());
    if let Err(why) = answer
        && why.is_repeated()
    {
        ended.kind = VisitEndKind::Retry { action: HostRequest::Page(Box::new(queued)), why };
        return Vec::new();
    }
    if matches!(answer, Err(NetworkError::Exhausted)) {
        ended.kind = VisitEndKind::Exhausted;
        return Vec::new();
    }
    let is_page = conditional && queued.ticket.is_none();
    if is_page && answer.as_ref().is_ok_and(|reply| is_asked_whole(reply, &queued, run)) {
        ended.kind = VisitEndKind::Again(QueuedPage { condition: Condition::Checked, ..queued });
        return Vec::new();
    }
    let onward = next_of_chain(&queued, &answer, run);
    // The chain led back with a cookie that the page has not seen: with it, the page may answer.
    if let Some((target, chain)) = &onward
        && *target == queued.entry.url
        && !chain.is_loop()
        && usize::from(queued.hops) + chain.steps() <= usize::from(run.config.max_redirects)
    {
        run.report().asked_again += 1;
        ended.kind = VisitEndKind::Again(QueuedPage { chain: Some(Box::new(chain.clone())), ..queued });
        return Vec::new();
    }
    let from = Chain::url(&queued.entry.url, queued.chain.as_deref());
    let QueuedPage { index, entry, hops, condition, sitemaps, ticket, chain: _, detour } = queued;
    if let Some(ticket) = ticket {
        let result = resource_of(answer, &entry, &from, conditional, &run.rules);
        let bytes = if let FetchResult::Page(page) = &result { page.body.len() as u64 } else { 0 };
        ended.kind = VisitEndKind::Resource { bytes };
        ticket.answer(result);
        return Vec::new();
    }
    let (at, elapsed) =
        (run.now(), ended.feedback.as_ref().map_or(Duration::ZERO, |feedback| feedback.elapsed));
    // A header that is not HTTP says nothing about the other pages of the host.
    let is_malformed = matches!(answer, Err(NetworkError::Malformed));
    let result = result_of(answer, &entry, &from, conditional, &run.rules);
    let host_failed = is_host_failure(&result) && !is_malformed;
    let bytes = if let FetchResult::Page(page) = &result { page.body.len() as u64 } else { 0 };
    let page =
        FetchedPage { index, entry, hops, result, condition, at, elapsed, sitemaps, hold: Hold::default() };
    let (detour, chain) = (detour.map(|detour| *detour).unwrap_or_default(), onward.map(|(_, chain)| chain));
    let onward = detour.go_on(page, chain, sending.detour_path.as_deref(), run);
    let Onward { delivered, follow, end } = onward.unwrap_or_else(|error| {
        ended.error = Some(error);
        Onward::default()
    });
    ended.detour = end;
    ended.kind = VisitEndKind::Page { host_failed, follow, bytes };
    delivered
}

/// May the page be a sitemap or feed, whatever media type its server gives to it?
fn is_listing(entry: &ScheduleEntry) -> bool {
    let kind = entry.record.visited.as_ref().map(|visited| visited.content.kind);
    let path = entry.url.path_and_query().split('?').next().unwrap_or_default();
    kind == Some(ContentKind::Hints) || ENDS_OF_LISTINGS.iter().any(|end| path.ends_with(end))
}

/// The page and the chain behind a redirect of a page.
fn next_of_chain(
    queued: &QueuedPage,
    answer: &Result<Reply, NetworkError>,
    run: &Run,
) -> Option<(CanonicalUrl, Chain)> {
    let reply = answer.as_ref().ok().filter(|reply| is_redirect(reply.status) && queued.ticket.is_none())?;
    Chain::behind(&queued.entry.url, queued.chain.as_deref(), reply, &run.rules, run.now())
}
