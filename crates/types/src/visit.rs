//! A visit: how one fetch ended, and what it brought.
//!
//! A fetch that fails is an outcome, not an error, and *not looked at* is never *gone*: every way a
//! fetch can end is one variant of [`Outcome`], each with its own rule for n, X, t and the page's
//! links. The table of rules stands in docs/outcomes.md; the verifier applies it.

use crate::{CanonicalUrl, Content, Share, ValidatorSign};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a visit brings home: one record of the cycle's visit log.
#[derive(Clone, Debug, PartialEq)]
pub struct Visit {
    /// The page.
    pub url: CanonicalUrl,
    /// Its place in the cycle's schedule; none for the target of a redirect that was followed at once.
    pub index: Option<u64>,
    /// Why the page was visited.
    pub share: Share,
    /// When the fetch ended, in milliseconds since 1970.
    pub at: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// What was seen; present exactly for [`Outcome::Fetched`], [`Outcome::Redirected`] and, when the
    /// server renewed them, for the validators of [`Outcome::NotModified`].
    pub content: Option<Content>,
    /// How far the text moved since the last visit, when both visits saw text (a 304 is the same text
    /// without a distance): what a site's noise
    /// floor is learned from.
    pub difference: Option<Difference>,
    /// Links found (for a redirect: its target).
    pub links: Vec<Link>,
    /// Body bytes kept, after decompression and the cap.
    pub bytes: u64,
    /// What it told of the host's validators, if anything.
    pub sign: Option<ValidatorSign>,
    /// Links of the crawl that are not among them.
    pub left_out: LeftOut,
}

impl Visit {
    /// A visit that the score asked for, at no time, which brought nothing: the rest is for the caller to add.
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

/// Links that were found and not recorded, though host, prefix and depth belong to the crawl.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// For their shape: too long, too many segments, repetitions or parameters.
    pub filtered: u32,
    /// Since their pattern is cut off as a trap.
    pub trapped: u32,
}

/// How a fetch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// 2xx with a body.
    Fetched(Change),
    /// 304: counts as a visit that met no change.
    NotModified,
    /// 3xx with a usable target: a visit; changed exactly when the target differs from the last one.
    Redirected(Change),
    /// 404 or 410: a confirmation on the way to *gone*; not a visit.
    NotFound(u16),
    /// Looked for and not got; not a visit.
    Failed(Failure),
    /// robots.txt forbids the page; nothing was asked.
    RobotsDenied,
    /// robots.txt could not be had, so everything of the host is forbidden for now (RFC 9309 §2.3.1.4); why it
    /// could not. None where a version recorded it that did not keep the reason.
    RobotsUnreachable(Option<Failure>),
    /// The address is one that the configuration refuses (private, loopback, …); nothing was asked.
    RefusedAddress,
    /// Never asked, for a reason of ours.
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
    /// The record was not at hand (a redirect's target, followed at once): the verifier compares.
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

/// Why a page was looked for and not got.
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
    /// The connection broke, or what came was not HTTP, or was shorter than announced.
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
            Failure::Dns => "the host's name did not resolve",
            Failure::Connect => "no connection to the host could be made",
            Failure::Tls => "the TLS handshake failed",
            Failure::Timeout => "the server took longer than fetch.timeout",
            Failure::Protocol => "the connection broke, or the answer was not HTTP or shorter than announced",
            Failure::Encoding => "the body could not be decoded",
            Failure::Redirect => "it redirects to nowhere, or more often than allowed",
            Failure::Status(status) => return write!(f, "the server answered {status}"),
        })
    }
}

/// Why a scheduled page was never asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Skip {
    /// The cycle's deadline passed.
    Deadline,
    /// Its host had failed too often in this cycle.
    HostBackOff,
    /// The scope no longer admits it.
    OutOfScope,
    /// The host's robots.txt asks for a longer delay than the configuration is willing to wait.
    CrawlDelay,
    /// The host's owner has opted out: it is not sent anything.
    OptedOut,
    /// The bytes that its host, or the cycle, may cost are spent.
    ByteBudget,
    /// It was never fetched, and addresses of its pattern are cut off: a trap.
    Trap,
    /// An operator blocked it while the crawl ran.
    Blocked,
}

/// A link, as it enters the uniqueness check.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    /// Where it leads.
    pub url: CanonicalUrl,
    /// Links from a seed to here by this way.
    pub depth: u16,
    /// Redirects in a row that led here by this way; 0 for a link on a page.
    pub hops: u8,
    /// Is it counted in [`Known::in_links`](crate::Known::in_links)? Only links on a page's first
    /// fetch are, so that a page counts once however often it is visited.
    pub counted: bool,
    /// The date of modification that a sitemap or feed of the page's own host gives it, in seconds since
    /// 1970; 0 for none.
    pub lastmod: u32,
}

impl Link {
    /// A link that has no redirect behind it, no date, and no vote.
    pub fn to(url: CanonicalUrl, depth: u16) -> Link {
        Link { url, depth, hops: 0, counted: false, lastmod: 0 }
    }
}

impl Outcome {
    /// Is this a visit, that is, does it touch n, X and the last visit (or make the first)?
    pub fn is_visit(self) -> bool {
        matches!(self, Outcome::Fetched(_) | Outcome::NotModified | Outcome::Redirected(_))
    }

    /// The comparison, when the outcome is a visit.
    pub fn change(self) -> Option<Change> {
        match self {
            Outcome::Fetched(c) | Outcome::Redirected(c) => Some(c),
            Outcome::NotModified => Some(Change::Unchanged),
            _ => None,
        }
    }

    /// Was nothing asked of the server? Then the page's record stays as it is but for the back-off of
    /// a denial, and its children stay known.
    pub fn is_skip(self) -> bool {
        matches!(self, Outcome::Skipped(_))
    }
}

/// One record of a cycle's log. The log only grows; together with generation g it is all that the
/// verifier needs to make generation g+1.
#[derive(Clone, Debug, PartialEq)]
pub enum LogRecord {
    /// A fetch ended.
    Visit(Box<Visit>),
    /// URLs that no page named: seeds. Their depth is 0, which also revives a gone page.
    Seeds(Vec<Link>),
}
