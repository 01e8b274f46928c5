//! What comes out: pages, and the one rule by which an answer becomes an outcome.

use crate::client::{NetworkError, Reply};
use crate::limits::MAX_HOST_BACK_OFF;
use bytes::Bytes;
use recrawl_types::{
    CanonicalUrl, ContentKind, Failure, Fingerprint, Origin, Outcome, ScheduleEntry, UrlRules, Validators,
};
use reqwest::header::{CONTENT_TYPE, ETAG, HeaderMap, LAST_MODIFIED, LOCATION, RETRY_AFTER};
use std::fmt::{self, Write as _};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::oneshot;

/// One page of the schedule (or the target of a redirect that was followed), done with.
#[derive(Clone, Debug)]
pub struct FetchedPage {
    /// Its place in the schedule; none when a redirect led here.
    pub index: Option<u64>,
    /// The entry as it was scheduled. Of a followed target: [`Share::Followed`](recrawl_types::Share),
    /// and a record that was never visited, with the depth of the page that redirected.
    pub entry: ScheduleEntry,
    /// Redirects in a row that led here: the record's own count for a scheduled page, one more than its
    /// source's for a followed target.
    pub hops: u8,
    /// How the fetch ended.
    pub result: FetchResult,
    /// Were validators sent, and was what they brought put to the test?
    pub condition: Condition,
    /// When it ended, in milliseconds since 1970.
    pub at: u64,
    /// From the request's start to the body's end; 0 when nothing was asked.
    pub elapsed: Duration,
    /// The sitemaps that robots.txt of the page's origin names, on the first page that comes out under a
    /// robots.txt each time when the origin is opened: known ones are told again, so that none is lost with
    /// a crash. An empty list says that it names none.
    pub sitemaps: Option<Vec<CanonicalUrl>>,
    /// Keeps its host waiting.
    pub hold: Hold,
}

/// What a page with an answer keeps for as long as it waits to be read: its connection, and one of its
/// host's requests under way. Whoever reads pages drops it when a page's turn has come. So pages that are
/// slow to read delay their own host first, and never more pages wait than there are connections.
#[derive(Clone, Debug, Default)]
pub struct Hold(#[allow(dead_code, reason = "its end is what counts")] Option<Arc<oneshot::Sender<()>>>);

impl Hold {
    /// A hold, and what ends with it.
    pub(crate) fn new() -> (Hold, oneshot::Receiver<()>) {
        let (hold, end) = oneshot::channel();
        (Hold(Some(Arc::new(hold))), end)
    }
}

/// Whether a page was asked for conditionally, and what that led to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Condition {
    /// Without validators: there were none, or the host's are not believed.
    #[default]
    Unconditional,
    /// With validators.
    Conditional,
    /// With validators, a 304 came, and the page was asked for once more without: what came then counts.
    Checked,
}

/// How a fetch ended.
#[derive(Clone, Debug)]
pub enum FetchResult {
    /// 2xx. The body may be empty (204), or cut at the limit ([`Response::truncated`]).
    Page(Box<Response>),
    /// 304 to a conditional request.
    NotModified(Box<Response>),
    /// A redirect that leads somewhere else.
    Redirect {
        /// Where to.
        target: CanonicalUrl,
        /// The answer itself.
        response: Box<Response>,
    },
    /// No page: not found, failed, forbidden, refused or skipped. Never [`Outcome::is_visit`].
    Nothing(Outcome),
}

/// An answer.
#[derive(Clone, Debug, Default)]
pub struct Response {
    /// Status code.
    pub status: u16,
    /// Header fields, without Content-Encoding and Content-Length where the body was decompressed.
    pub headers: HeaderMap,
    /// The body after decompression, at most the configured limit.
    pub body: Bytes,
    /// Was the body longer than the limit?
    pub truncated: bool,
    /// Content-Type as sent.
    pub content_type: Option<Box<str>>,
    /// To ask conditionally with at the next visit.
    pub validators: Validators,
    /// Who answered.
    pub peer: Option<SocketAddr>,
}

impl From<Reply> for Response {
    fn from(reply: Reply) -> Response {
        Response {
            validators: validators_of(&reply.headers),
            content_type: reply.header(CONTENT_TYPE).map(|v| v.as_ref().into()),
            status: reply.status,
            headers: reply.headers,
            body: reply.body,
            truncated: reply.truncated,
            peer: reply.peer,
        }
    }
}

/// The validators of an answer. Only text that can be sent back is worth keeping.
pub(crate) fn validators_of(headers: &HeaderMap) -> Validators {
    let text = |name| headers.get(name).and_then(|v| v.to_str().ok());
    Validators::new(text(ETAG), text(LAST_MODIFIED))
}

/// What is asked conditionally: a page whose last visit saw a body. A redirect's validators, if any,
/// are not of a page.
pub(crate) fn validators_to_send(entry: &ScheduleEntry) -> Validators {
    match entry.record.visited.as_ref().map(|v| &v.content) {
        Some(content) if content.kind != ContentKind::Redirect => content.validators.clone(),
        _ => Validators::default(),
    }
}

/// The outcome of a page that was asked for: the table in docs/fetching.md.
pub(crate) fn result_of(
    answer: Result<Reply, NetworkError>,
    entry: &ScheduleEntry,
    conditional: bool,
    rules: &UrlRules,
) -> FetchResult {
    let reply = match answer {
        Ok(reply) => reply,
        Err(error) => return FetchResult::Nothing(error.outcome()),
    };
    let failed = |failure| FetchResult::Nothing(Outcome::Failed(failure));
    match reply.status {
        200..=299 => FetchResult::Page(Box::new(reply.into())),
        304 if conditional => FetchResult::NotModified(Box::new(reply.into())),
        status if is_redirect(status) => match redirect_target(&reply, &entry.url, rules) {
            Some(target) => FetchResult::Redirect { target, response: Box::new(reply.into()) },
            None => failed(Failure::Redirect),
        },
        status @ (404 | 410) => FetchResult::Nothing(Outcome::NotFound(status)),
        status => failed(Failure::Status(status)),
    }
}

/// The statuses whose Location is a page to go to (RFC 9110 §15.4): not 300, 304, 305, 306.
pub(crate) fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// Where a redirect leads; none without a target that can be crawled, or when it leads to itself.
pub(crate) fn redirect_target(reply: &Reply, from: &CanonicalUrl, rules: &UrlRules) -> Option<CanonicalUrl> {
    let location = in_ascii(reply.headers.get(LOCATION)?.as_bytes().trim_ascii());
    rules.join(&from.to_url(), &location).ok().filter(|target| target != from)
}

/// The bytes of a URL with those that are no ASCII percent-encoded one by one, whatever text they were meant
/// to be: the server that wrote them knows them again.
fn in_ascii(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len()), |mut text, &byte| {
        match byte.is_ascii() {
            true => text.push(char::from(byte)),
            false => _ = write!(text, "%{byte:02X}"),
        }
        text
    })
}

/// Is this redirect new to us? A target known from the last visit is a page of its own, which the
/// scheduler visits when it is due.
pub(crate) fn is_news(entry: &ScheduleEntry, target: &CanonicalUrl) -> bool {
    entry.record.visited.as_ref().is_none_or(|v| {
        v.content.kind != ContentKind::Redirect
            || v.content.fingerprint.digest != Fingerprint::of_redirect(target).digest
    })
}

/// Does this result speak against the host as a whole?
pub(crate) fn is_host_failure(result: &FetchResult) -> bool {
    let FetchResult::Nothing(Outcome::Failed(failure)) = result else { return false };
    match failure {
        Failure::Status(status) => *status == 429 || *status >= 500,
        Failure::Dns | Failure::Connect | Failure::Tls | Failure::Timeout | Failure::Protocol => true,
        Failure::Encoding | Failure::Redirect => false,
    }
}

/// How long a 429 or 503 asks us to stay away: seconds or a date (RFC 9110 §10.2.3). `now` is in
/// milliseconds since 1970.
pub(crate) fn retry_after(answer: &Result<Reply, NetworkError>, now: u64) -> Option<Duration> {
    let reply = answer.as_ref().ok().filter(|r| matches!(r.status, 429 | 503))?;
    let value = reply.header(RETRY_AFTER)?;
    let value = value.trim();
    let wait = if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        // More digits than a u64 holds still mean a very long time.
        Duration::from_secs(value.parse().unwrap_or(u64::MAX))
    } else {
        let until = httpdate::parse_http_date(value).ok()?;
        until.duration_since(SystemTime::UNIX_EPOCH + Duration::from_millis(now)).unwrap_or_default()
    };
    Some(wait.min(MAX_HOST_BACK_OFF))
}

/// Why a run could not go on. Nothing that a server does is among these.
#[derive(Debug)]
#[non_exhaustive]
pub enum FetchError {
    /// The schedule could not be read.
    Schedule {
        /// From this entry on.
        index: u64,
        /// Why.
        source: io::Error,
    },
    /// A page could not be looked up in the schedule.
    Search {
        /// The page.
        url: CanonicalUrl,
        /// Why.
        source: io::Error,
    },
    /// A host's state could not be loaded or stored.
    Host {
        /// The host.
        origin: Origin,
        /// Why.
        source: io::Error,
    },
    /// This machine had no file descriptor, buffer, port or memory left, for
    /// [`MAX_EXHAUSTED_WAIT`](crate::limits::MAX_EXHAUSTED_WAIT).
    Exhausted,
    /// Nobody takes the pages any more.
    OutputClosed,
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FetchError::Schedule { index, source } => {
                write!(f, "the schedule cannot be read from entry {index} on: {source}")
            }
            FetchError::Search { url, source } => {
                write!(f, "the schedule cannot be searched for {url}: {source}")
            }
            FetchError::Host { origin, source } => {
                write!(f, "the state of {origin} cannot be loaded or stored: {source}")
            }
            FetchError::Exhausted => f.write_str(
                "this machine has no open files, sockets or memory left for requests: raise the limit of open files \
                 (ulimit -n), or lower fetch.connections and fetch.open_hosts; the next start goes on with this cycle",
            ),
            FetchError::OutputClosed => f.write_str("the stage after the fetcher has gone away"),
        }
    }
}

impl std::error::Error for FetchError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            FetchError::Schedule { source, .. }
            | FetchError::Search { source, .. }
            | FetchError::Host { source, .. } => Some(source),
            FetchError::OutputClosed | FetchError::Exhausted => None,
        }
    }
}

#[cfg(test)]
mod tests;
