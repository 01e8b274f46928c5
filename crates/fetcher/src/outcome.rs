//! The output of the fetcher, and the rules that turn a response into an outcome.

pub mod chain;
mod freshness;

use crate::net::client::{Cut, NetworkError, Reply, content_type_of, is_redirect};
use crate::net::date::http_date;
use crate::net::limits::MAX_HOST_BACK_OFF;
use bytes::Bytes;
use recrawl_types::{
    CanonicalUrl, ContentKind, Failure, Fingerprint, Origin, Outcome, ScheduleEntry, Skip, UrlRules,
    Validators,
};
use reqwest::header::{AGE, CONTENT_RANGE, DATE, ETAG, HeaderMap, LAST_MODIFIED, RETRY_AFTER};
use reqwest::{StatusCode, Url, Version};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::oneshot;

/// A finished page of the schedule, a followed redirect target, or a page that an operator
/// requested.
#[derive(Clone, Debug)]
pub struct FetchedPage {
    /// Its index in the schedule; none if it is not in the schedule.
    pub index: Option<u64>,
    /// The scheduled entry. A followed target has [`Share::Followed`](recrawl_types::Share) and a
    /// record without visits, with the depth of the page that redirected.
    pub entry: ScheduleEntry,
    /// Redirects in a row that led here. For a scheduled page, the count of its record; for a
    /// followed target, one more than its source.
    pub hops: u8,
    /// How the fetch ended.
    pub result: FetchResult,
    /// Was the request conditional, and was a 304 checked?
    pub condition: Condition,
    /// When it ended, in milliseconds since 1970.
    pub at: u64,
    /// From the start of the request to the end of the body; 0 without a request.
    pub elapsed: Duration,
    /// The sitemaps in the robots.txt of the page's origin, with the first page after that file is
    /// read. Known ones are repeated, so that a crash loses none. An empty list means that the file
    /// names none.
    pub sitemaps: Option<Vec<CanonicalUrl>>,
    /// Delays the next request to its host.
    pub hold: Hold,
}

/// Keeps the connection of a page in use until the page is read. Readers drop it when they take the
/// page. So pages that are slow to read delay their own host first, and the number of waiting pages
/// never exceeds the number of connections. A page that waits for its target has none yet (`detour.rs`).
#[derive(Clone, Debug, Default)]
pub struct Hold(#[allow(dead_code, reason = "its end is what counts")] Option<Arc<oneshot::Sender<()>>>);

impl Hold {
    /// A hold, and a receiver that ends with it.
    pub(crate) fn new() -> (Hold, oneshot::Receiver<()>) {
        let (hold, end) = oneshot::channel();
        (Hold(Some(Arc::new(hold))), end)
    }
}

/// Whether a request was conditional.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Condition {
    /// No validators sent: there were none, or the host's are not trusted.
    #[default]
    Unconditional,
    /// Validators sent.
    Conditional,
    /// Validators sent, a 304 or a refusal came, and the page was requested again without validators. The second
    /// response counts.
    Checked,
}

impl Condition {
    /// The same for a request without validators.
    pub(crate) fn without_validators(self) -> Condition {
        if self == Condition::Conditional { Condition::Unconditional } else { self }
    }
}

/// How a fetch ended.
#[derive(Clone, Debug)]
pub enum FetchResult {
    /// 2xx. The body may be empty (204), or cut at the limit ([`Response::cut`]).
    Page(Box<Response>),
    /// 304 to a conditional request.
    NotModified(Box<Response>),
    /// A redirect to another URL.
    Redirect {
        /// The URL in Location.
        target: CanonicalUrl,
        /// The redirect response.
        response: Box<Response>,
    },
    /// No page: not found, failed, forbidden, refused or skipped. Never [`Outcome::is_visit`].
    Nothing(Outcome),
}

/// A response.
#[derive(Clone, Debug, Default)]
pub struct Response {
    /// Status code.
    pub status: u16,
    /// Version of HTTP.
    pub version: Version,
    /// Reason phrase, unless it is the usual one of the status.
    pub reason: Option<Box<[u8]>>,
    /// Header fields as received: [`Reply::headers`].
    pub headers: HeaderMap,
    /// The header as received, without status line; none for HTTP/2.
    pub lines: Option<Box<[u8]>>,
    /// The body after decompression, at most the configured limit.
    pub body: Bytes,
    /// Why the body may not be all of it.
    pub cut: Option<Cut>,
    /// Content-Type as sent; the values of several fields with commas between them.
    pub content_type: Option<Box<str>>,
    /// For a conditional request at the next visit.
    pub validators: Validators,
    /// Address of the server.
    pub peer: Option<SocketAddr>,
    /// The request as text, if requests are kept.
    pub sent: Option<Box<[u8]>>,
    /// The document after its scripts, or what a command made of it, as HTML in UTF-8. The fetcher leaves it empty: a
    /// later stage makes it.
    pub rendered: Option<Bytes>,
    /// Did a command make it?
    pub is_converted: bool,
    /// URLs to which its scripts wanted to go.
    pub navigations: Vec<String>,
}

impl Response {
    /// Is a part of the body missing?
    pub fn is_cut(&self) -> bool {
        matches!(self.cut, Some(Cut::Limit | Cut::Coding))
    }

    /// Reason phrase as sent, or the usual one of the status; empty if there is none.
    pub fn reason(&self) -> &[u8] {
        let usual = || StatusCode::from_u16(self.status).ok().and_then(|status| status.canonical_reason());
        self.reason.as_deref().unwrap_or_else(|| usual().unwrap_or_default().as_bytes())
    }
}

impl From<Reply> for Response {
    fn from(reply: Reply) -> Response {
        Response {
            // They would let the server confirm a copy that a broken transfer left incomplete (RFC 9111 §3.3). A body that
            // is longer than the limit is as it was asked for.
            validators: match reply.cut {
                None | Some(Cut::Limit) => validators_of(&reply.headers),
                Some(Cut::Disconnect | Cut::Checksum | Cut::Coding) => Validators::default(),
            },
            content_type: content_type_of(&reply.headers),
            status: reply.status,
            version: reply.version,
            reason: reply.reason,
            headers: reply.headers,
            lines: reply.lines,
            body: reply.body,
            cut: reply.cut,
            peer: reply.peer,
            sent: reply.sent,
            rendered: None,
            is_converted: false,
            navigations: Vec::new(),
        }
    }
}

/// The validators of a response. Keeps only text that can be sent back.
pub(crate) fn validators_of(headers: &HeaderMap) -> Validators {
    let text = |name| headers.get(name).and_then(|v| v.to_str().ok());
    Validators::new(text(ETAG), text(LAST_MODIFIED))
}

/// Validators to send: those of a page whose last visit had a body. A redirect's validators do not
/// belong to a page. Without them, a page is not lost whose server fails at validators.
pub(crate) fn validators_to_send(entry: &ScheduleEntry) -> Validators {
    let may_be_refused = entry.record.known.failures > 0;
    match entry.record.visited.as_ref().map(|v| &v.content) {
        Some(content) if content.kind != ContentKind::Redirect && !may_be_refused => {
            content.validators.clone()
        }
        _ => Validators::default(),
    }
}

/// Does a 206 bring a part of the page? No request asks for one, but some servers and caches answer with what they have.
fn is_part(reply: &Reply) -> bool {
    let Some(range) = reply.header(CONTENT_RANGE) else { return false };
    let Some((first, length)) =
        range.trim().strip_prefix("bytes").and_then(|range| range.trim().split_once('-'))
    else {
        return false;
    };
    let is_all = length.split_once('/').is_some_and(|(last, length)| {
        let last = last.trim().parse::<u64>().ok().and_then(|last| last.checked_add(1));
        last.is_some() && last == length.trim().parse().ok()
    });
    first.trim() != "0" || !is_all
}

/// The outcome of a page that was requested at the URL `from`, as docs/fetching.md says.
pub(crate) fn result_of(
    answer: Result<Reply, NetworkError>,
    entry: &ScheduleEntry,
    from: &Url,
    conditional: bool,
    rules: &UrlRules,
) -> FetchResult {
    let reply = match answer {
        Ok(reply) => reply,
        Err(error) => return FetchResult::Nothing(error.outcome()),
    };
    let failed = |failure| FetchResult::Nothing(Outcome::Failed(failure));
    match reply.status {
        200..=299 if reply.is_unread => FetchResult::Nothing(Outcome::Skipped(Skip::MediaType)),
        206 if is_part(&reply) => failed(Failure::Status(206)),
        200..=299 => FetchResult::Page(Box::new(reply.into())),
        304 if conditional => FetchResult::NotModified(Box::new(reply.into())),
        status if is_redirect(status) => match chain::target(&reply, from, rules) {
            Some((_, target)) if target != entry.url => {
                FetchResult::Redirect { target, response: Box::new(reply.into()) }
            }
            _ => failed(Failure::Redirect),
        },
        status @ (404 | 410) => FetchResult::Nothing(Outcome::NotFound(status)),
        status => failed(Failure::Status(status)),
    }
}

/// The result of a request of a page: a response of any status is one, since its header fields say whether the page
/// may read it. The body of an error is left out: it was not decoded.
pub(crate) fn resource_of(
    answer: Result<Reply, NetworkError>,
    entry: &ScheduleEntry,
    from: &Url,
    conditional: bool,
    rules: &UrlRules,
) -> FetchResult {
    match answer {
        Ok(reply) if reply.status >= 400 => {
            FetchResult::Page(Box::new(Reply { body: Bytes::new(), cut: None, ..reply }.into()))
        }
        answer => result_of(answer, entry, from, conditional, rules),
    }
}

/// Is this redirect new? A target known from the last visit is a page of its own, which the
/// scheduler visits when it is due.
pub(crate) fn is_new_redirect(entry: &ScheduleEntry, target: &CanonicalUrl) -> bool {
    entry.record.visited.as_ref().is_none_or(|v| {
        v.content.kind != ContentKind::Redirect
            || v.content.fingerprint.digest != Fingerprint::of_redirect(target).digest
    })
}

/// Does this result count as a failure of the host?
pub(crate) fn is_host_failure(result: &FetchResult) -> bool {
    let FetchResult::Nothing(Outcome::Failed(failure)) = result else { return false };
    match failure {
        Failure::Status(status) => *status == 429 || *status >= 500,
        Failure::Dns | Failure::Connect | Failure::Tls | Failure::Timeout | Failure::Protocol => true,
        Failure::Encoding | Failure::Redirect | Failure::Render => false,
    }
}

impl Reply {
    /// The Retry-After of a 429 or 503: seconds or a date (RFC 9110 §10.2.3). Of a list and of seconds with a unit or a
    /// fraction, which are no HTTP but meant as a wait, the first number counts. `now` is in milliseconds since 1970.
    pub fn retry_after(&self, now: u64) -> Option<Duration> {
        let value = self.header(RETRY_AFTER).filter(|_| matches!(self.status, 429 | 503))?;
        let wait = match http_date(&value) {
            Some(until) => {
                let now = server_time(self).unwrap_or(SystemTime::UNIX_EPOCH + Duration::from_millis(now));
                until.duration_since(now).unwrap_or_default()
            }
            None => Duration::from_secs(seconds(&value)?),
        };
        Some(wait.min(MAX_HOST_BACK_OFF))
    }
}

/// The seconds with which a text begins, rounded up. A number too large for u64 still means a very long time.
fn seconds(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (whole, rest) = text.split_at(end);
    // A year of another form of date is no wait.
    let is_alone = matches!(rest.bytes().next(), None | Some(b'.' | b',' | b';' | b' ' | b's' | b'S'));
    let mut fraction = rest.strip_prefix('.').unwrap_or_default().bytes().take_while(u8::is_ascii_digit);
    let begun = u64::from(fraction.any(|digit| digit != b'0'));
    (!whole.is_empty() && is_alone).then(|| whole.parse().unwrap_or(u64::MAX).saturating_add(begun))
}

/// The time of a response by the clock of its server: its Date, and its Age since if a cache kept it (RFC 9111
/// §4.2.3). None if it has no Date.
fn server_time(reply: &Reply) -> Option<SystemTime> {
    let date = http_date(&reply.header(DATE)?)?;
    let age = reply.header(AGE).and_then(|age| age.trim().parse().ok()).unwrap_or_default();
    date.checked_add(Duration::from_secs(age))
}

/// Why a run failed. Nothing that a server does is among these.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The schedule cannot be read.
    #[error("cannot read the schedule at entry {index}: {source}")]
    Schedule {
        /// The first entry that cannot be read.
        index: u64,
        /// The cause.
        source: io::Error,
    },
    /// A page cannot be looked up in the schedule.
    #[error("cannot find {url} in the schedule: {source}")]
    Search {
        /// The page.
        url: CanonicalUrl,
        /// The cause.
        source: io::Error,
    },
    /// The state of a host cannot be loaded or stored.
    #[error("cannot load or store the state of {origin}: {source}")]
    Host {
        /// The host.
        origin: Origin,
        /// The cause.
        source: io::Error,
    },
    /// A request cannot be written down.
    #[error("cannot append to the log of requests: {0}")]
    Requests(#[source] io::Error),
    /// This machine had no file descriptor, buffer, port or memory left, for
    /// [`MAX_EXHAUSTED_WAIT`](crate::net::limits::MAX_EXHAUSTED_WAIT).
    #[error(
        "this machine has no open files, sockets or memory left for requests: raise the limit of open files \
         (ulimit -n), or lower fetch.connections and fetch.open_hosts; the next start resumes this cycle"
    )]
    Exhausted,
    /// The receiver of pages is gone.
    #[error("the stage after the fetcher has stopped receiving pages")]
    OutputClosed,
}

#[cfg(test)]
mod tests;
