//! What a page may ask for while it is rendered.
//!
//! Only what can bring text and links: scripts, and the data that scripts load. Frames are pages of their own, and
//! images, fonts and media bring no text. Nor are workers: the protocol does not tell those that outlive the page.
//! Style sheets are answered with an empty one, since scripts wait for them. Only GET, and the preflights of GET: other
//! methods change something at a server.

use crate::clock::WaitingRequest;
use bytes::Bytes;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// Answers the requests of pages, each by the caller's rules. Redirects are answers too: each hop is asked for.
pub trait ResourceSource: Send + Sync {
    /// Answers a request. `waiting` is to be dropped when it is sent: until then the page's time stands still.
    fn get<'a>(&'a self, ask: &'a Ask, waiting: WaitingRequest) -> AnswerFuture<'a>;
}

/// Future of an answer.
pub type AnswerFuture<'a> = Pin<Box<dyn Future<Output = ResourceAnswer> + Send + 'a>>;

/// A request of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// An absolute http or https URL, without fragment.
    pub url: String,
    /// What it is for.
    pub kind: ResourceKind,
    /// Does the page's own document ask its own origin? Only then may credentials go with it: other parts of a page
    /// must not act in our name.
    pub is_own: bool,
    /// How long the body is read, for a stream of events, which has no end; none up to its end.
    pub body_time: Option<Duration>,
    /// Header fields to send, by names in lower case: `accept`, by which servers choose between a page and its data,
    /// and those of CORS.
    pub fields: Vec<(&'static str, String)>,
}

impl Ask {
    /// A field to send.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }
}

/// Fields of the browser's request that are sent.
pub const SENT: [&str; 4] =
    ["accept", "origin", "access-control-request-method", "access-control-request-headers"];

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResourceKind {
    /// A script.
    Script,
    /// What a script loads: fetch, XMLHttpRequest, EventSource.
    Data,
    /// OPTIONS: may the page's origin make a request that is no simple one?
    Preflight,
}

/// An answer.
#[derive(Clone, Debug)]
pub enum ResourceAnswer {
    /// A response: also an error or a redirect.
    Response(Arc<Resource>),
    /// There is none, and the page must do without it.
    Refused,
    /// There is none now: the page would be incomplete, so its rendering ends.
    NotNow,
}

/// A response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resource {
    /// The status.
    pub status: u16,
    /// Header fields, without those of content coding and length: the body is decoded.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

impl Resource {
    /// The first value of a header field, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }
}

/// Kinds of resources that are no part of a document's text, so that a browser is refused them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedKind {
    /// A font.
    Font,
    /// An image.
    Image,
    /// Sound or video.
    Media,
}

/// A request that a browser was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedResource {
    /// Its kind.
    pub kind: RefusedKind,
    /// Its URL.
    pub url: String,
}

/// How a paused request is decided before anybody is asked.
#[derive(Debug, PartialEq, Eq)]
pub enum RequestVerdict {
    /// Ask the source.
    Ask(ResourceKind),
    /// An empty style sheet.
    NoStyle,
    /// Another document in place of the page.
    Navigation,
    /// Refused, and told.
    LeaveOut(RefusedKind),
    /// Refused.
    Refuse,
}

/// Decides by method, resource type of the protocol, and whether it is for the page's own frame. `preflight_of`: the
/// method that a preflight asks about; pages cannot set this field.
pub fn decide(
    method: &str,
    resource_type: &str,
    url: &str,
    is_main_frame: bool,
    preflight_of: Option<&str>,
) -> RequestVerdict {
    let is_http = url.starts_with("http://") || url.starts_with("https://");
    match resource_type {
        "Document" if is_main_frame => RequestVerdict::Navigation,
        "XHR" | "Fetch" | "Preflight" if method == "OPTIONS" && preflight_of == Some("GET") && is_http => {
            RequestVerdict::Ask(ResourceKind::Preflight)
        }
        _ if method != "GET" || !is_http => RequestVerdict::Refuse,
        "Script" => RequestVerdict::Ask(ResourceKind::Script),
        "XHR" | "Fetch" => RequestVerdict::Ask(ResourceKind::Data),
        "Stylesheet" => RequestVerdict::NoStyle,
        "Font" => RequestVerdict::LeaveOut(RefusedKind::Font),
        "Image" => RequestVerdict::LeaveOut(RefusedKind::Image),
        "Media" => RequestVerdict::LeaveOut(RefusedKind::Media),
        _ => RequestVerdict::Refuse,
    }
}

/// Fields that are not handed to the browser: they belong to the connection, describe the coded body, set state, or
/// name places to report to.
const DROPPED: [&str; 13] = [
    "alt-svc",
    "content-encoding",
    "content-length",
    "content-security-policy-report-only",
    "keep-alive",
    "link",
    "nel",
    "refresh",
    "report-to",
    "reporting-endpoints",
    "set-cookie",
    "strict-transport-security",
    "transfer-encoding",
];

/// May the browser see this field?
pub fn is_shown(name: &str) -> bool {
    !DROPPED.contains(&name.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_scripts_and_data_are_asked_for() {
        let decided = |method: &str, kind: &str, url: &str| decide(method, kind, url, false, None);
        assert_eq!(
            decided("GET", "Script", "https://a.test/x.js"),
            RequestVerdict::Ask(ResourceKind::Script)
        );
        assert_eq!(decided("GET", "Fetch", "http://a.test/x"), RequestVerdict::Ask(ResourceKind::Data));
        assert_eq!(decided("GET", "Stylesheet", "http://a.test/x.css"), RequestVerdict::NoStyle);
        let image = RequestVerdict::LeaveOut(RefusedKind::Image);
        assert_eq!(decided("GET", "Image", "http://a.test/x.png"), image);
        assert_eq!(decide("POST", "Document", "http://a.test/", true, None), RequestVerdict::Navigation);
        let preflight = |of: Option<&str>| decide("OPTIONS", "XHR", "http://a.test/x", false, of);
        assert_eq!(preflight(Some("GET")), RequestVerdict::Ask(ResourceKind::Preflight));
        assert_eq!(
            (preflight(Some("POST")), preflight(None)),
            (RequestVerdict::Refuse, RequestVerdict::Refuse)
        );
        for (method, kind, url) in [
            ("POST", "XHR", "http://a.test/x"),
            ("HEAD", "Fetch", "http://a.test/x"),
            ("OPTIONS", "Script", "http://a.test/x"),
            ("GET", "Document", "http://a.test/frame"),
            ("HEAD", "Image", "http://a.test/x.png"),
            ("GET", "Font", "blob:http://a.test/x"),
            ("GET", "Ping", "http://a.test/x"),
            ("GET", "Other", "http://a.test/worker.js"),
            ("GET", "Fetch", "file:///etc/passwd"),
            ("GET", "Script", "ftp://a.test/x"),
        ] {
            assert_eq!(decided(method, kind, url), RequestVerdict::Refuse, "{method} {kind} {url}");
        }
    }

    #[test]
    fn fields_of_state_and_connection_are_not_shown() {
        assert!(is_shown("Content-Type") && is_shown("content-security-policy") && !is_shown("Set-Cookie"));
        assert!(DROPPED.is_sorted());
    }
}
