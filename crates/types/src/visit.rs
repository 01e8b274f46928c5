//! A visit: the outcome of a fetch and what it found.
//!
//! A failed fetch is an outcome, not an error, and a page that was not requested is never *gone*:
//! every way a fetch can end is one variant of [`Outcome`], with its own rule for n, X, t and the
//! page's links. docs/outcomes.md has the table of rules; the verifier applies it.

use crate::{CanonicalUrl, Content, Share, ValidatorSign};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A visit: one record of the cycle's visit log.
#[derive(Clone, Debug, PartialEq)]
pub struct Visit {
    /// The page.
    pub url: CanonicalUrl,
    /// Position in the cycle's schedule; none for a redirect target that was followed at once.
    pub index: Option<u64>,
    /// Why the page was visited.
    pub share: Share,
    /// When the fetch ended, in milliseconds since 1970.
    pub at: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// Present exactly for [`Outcome::Fetched`], [`Outcome::Redirected`] and, if the server sent
    /// new validators, for [`Outcome::NotModified`].
    pub content: Option<Content>,
    /// Change of the text since the last visit, if both visits saw text (a 304 is the same text
    /// without a distance). A site's noise floor is learned from it.
    pub difference: Option<Difference>,
    /// Links found (for a redirect: its target).
    pub links: Vec<Link>,
    /// Body bytes kept, after decompression and the cap.
    pub bytes: u64,
    /// Evidence about the host's validators, if any.
    pub sign: Option<ValidatorSign>,
    /// Links of the crawl that are missing from `links`.
    pub left_out: LeftOut,
}

impl Visit {
    /// An empty visit of the score share at time 0; the caller sets the other fields.
    pub fn new(url: CanonicalUrl, outcome: Outcome) -> Visit {
        Visit {
            url,
            index: None,
            share: Share::Score,
            at: 0,
            outcome,
            content: None,
            difference: None,
            links: Vec::new(),
            bytes: 0,
            sign: None,
            left_out: LeftOut::default(),
        }
    }
}

/// Links that were found but not recorded, although host, prefix and depth belong to the crawl.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Rejected for their shape: too long, too many segments, repetitions or parameters.
    pub filtered: u32,
    /// Cut off as a trap.
    pub trapped: u32,
}

/// How a fetch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// 2xx with a body.
    Fetched(Change),
    /// 304: counts as a visit that found no change.
    NotModified,
    /// 3xx with a usable target: a visit; changed exactly when the target differs from the last
    /// one.
    Redirected(Change),
    /// 404 or 410: one confirmation that the page is *gone*; not a visit.
    NotFound(u16),
    /// Requested without success; not a visit.
    Failed(Failure),
    /// robots.txt forbids the page; not requested.
    RobotsDenied,
    /// robots.txt could not be fetched, so everything on the host is forbidden for now (RFC 9309
    /// §2.3.1.4). The reason is none in records of a version that did not keep it.
    RobotsUnreachable(Option<Failure>),
    /// The configuration refuses the host's IP address (private, loopback, …); not requested.
    RefusedAddress,
    /// Not requested, for a reason other than robots.txt or the address.
    Skipped(Skip),
}

/// How a page compares with its last visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Nothing to compare with: the first successful fetch. n and X stay 0.
    First,
    /// The same as at the last visit.
    Unchanged,
    /// Different.
    Changed,
    /// The record was not available (a redirect target, followed at once): the verifier compares.
    Undecided,
}

/// How two contents of one page differ, as the detectors see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// Are the digests the same?
    pub same_digest: bool,
    /// Hamming distance of the SimHashes, 0 to 64.
    pub distance: u8,
    /// Cycles since the last visit (t).
    pub cycles: u32,
}

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The name did not resolve.
    Dns,
    /// No connection.
    Connect,
    /// The TLS handshake failed.
    Tls,
    /// The time limit passed.
    Timeout,
    /// The connection broke, or the response was invalid or truncated.
    Protocol,
    /// The body could not be decompressed.
    Encoding,
    /// A redirect without a usable target, or one more than the cap allows.
    Redirect,
    /// A status that is none of 2xx, 304, a redirect, 404 or 410.
    Status(u16),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Failure::Dns => "the host name did not resolve",
            Failure::Connect => "cannot connect to the host",
            Failure::Tls => "the TLS handshake failed",
            Failure::Timeout => "no response within fetch.timeout",
            Failure::Protocol => "connection broken, or response invalid or truncated",
            Failure::Encoding => "cannot decode the body",
            Failure::Redirect => "invalid redirect, or too many redirects",
            Failure::Status(status) => return write!(f, "HTTP status {status}"),
        })
    }
}

/// Why a scheduled page was not requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Skip {
    /// The cycle's deadline passed.
    Deadline,
    /// Its host is in back-off.
    HostBackOff,
    /// The scope no longer admits it.
    OutOfScope,
    /// The Crawl-delay in robots.txt exceeds `politeness.max_crawl_delay`.
    CrawlDelay,
    /// The host's owner has opted out.
    OptedOut,
    /// The byte budget of its host or of the cycle is spent.
    ByteBudget,
    /// It was never fetched, and its URL pattern is cut off as a trap.
    Trap,
    /// An operator blocked it while the crawl ran.
    Blocked,
}

/// A link, as it enters the uniqueness check.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    /// The target.
    pub url: CanonicalUrl,
    /// Number of links from a seed to the target on this path.
    pub depth: u16,
    /// Consecutive redirects on this path; 0 for a link on a page.
    pub hops: u8,
    /// Is it counted in [`Known::in_links`](crate::Known::in_links)? Only links of a page's first
    /// fetch are, so that a page counts once however often it is visited.
    pub counted: bool,
    /// Modification date from a sitemap or feed of the page's own host, in seconds since 1970; 0
    /// for none.
    pub lastmod: u32,
}

impl Link {
    /// A link without redirects and date, which is not counted.
    pub fn to(url: CanonicalUrl, depth: u16) -> Link {
        Link { url, depth, hops: 0, counted: false, lastmod: 0 }
    }
}

impl Outcome {
    /// Is this a visit: does it update n, X and the last visit?
    pub fn is_visit(self) -> bool {
        matches!(self, Outcome::Fetched(_) | Outcome::NotModified | Outcome::Redirected(_))
    }

    /// The result of the comparison, if the outcome is a visit.
    pub fn change(self) -> Option<Change> {
        match self {
            Outcome::Fetched(c) | Outcome::Redirected(c) => Some(c),
            Outcome::NotModified => Some(Change::Unchanged),
            _ => None,
        }
    }

    /// Was nothing requested? Then the page's record stays the same, except for the back-off of a
    /// denial, and its links stay known.
    pub fn is_skip(self) -> bool {
        matches!(self, Outcome::Skipped(_))
    }
}

/// One record of a cycle's append-only log. The log and generation g are all that the verifier
/// needs to make generation g+1.
#[derive(Clone, Debug, PartialEq)]
pub enum LogRecord {
    /// A fetch ended.
    Visit(Box<Visit>),
    /// Seeds: URLs that no page linked to. Their depth is 0, which also revives a gone page.
    Seeds(Vec<Link>),
}
