//! A visit: the outcome of a fetch and what it found.

use crate::{
    CanonicalUrl, Content, Expectation, HostRun, Outcome, ScheduleSource, Share, Skip, Standing,
    ValidatorSign, Verdict,
};
use serde::{Deserialize, Serialize};
use std::io;
use std::ops::Range;

/// A visit: one record of the cycle's visit log.
#[derive(Clone, Debug, PartialEq)]
pub struct Visit {
    /// The page.
    pub url: CanonicalUrl,
    /// Position in the cycle's schedule; none for a redirect target that was followed at once.
    pub index: Option<u64>,
    /// Why the page was visited.
    pub share: Share,
    /// How it stood in the plan: [`ScheduleEntry::standing`](crate::ScheduleEntry::standing).
    pub standing: Option<Standing>,
    /// When the fetch ended, in milliseconds since 1970.
    pub at: u64,
    /// How long it took, in milliseconds: from the request to the end of the body, redirects included. 0 where nothing
    /// was requested, and in logs of older versions.
    pub took: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// Present exactly for [`Outcome::Fetched`], [`Outcome::Redirected`] and, if the server sent
    /// new validators, for [`Outcome::NotModified`].
    pub content: Option<Content>,
    /// Change of the text since the last visit, if both visits saw text (a 304 is the same text
    /// without a distance). A site's noise floor is learned from it.
    pub difference: Option<ContentDifference>,
    /// Links found (for a redirect: its target).
    pub links: Vec<Link>,
    /// Body bytes kept, after decompression and the cap.
    pub bytes: u64,
    /// Evidence about the host's validators, if any.
    pub sign: Option<ValidatorSign>,
    /// Links of the crawl that are missing from `links`.
    pub left_out: LeftOut,
    /// How relevant the fetched text is; none without `[focus]`, and where nothing was fetched.
    pub verdict: Option<Verdict>,
}

impl Visit {
    /// An empty visit of the score share at time 0; the caller sets the other fields.
    pub fn new(url: CanonicalUrl, outcome: Outcome) -> Visit {
        Visit {
            url,
            index: None,
            share: Share::Score,
            standing: None,
            at: 0,
            took: 0,
            outcome,
            content: None,
            difference: None,
            links: Vec::new(),
            bytes: 0,
            sign: None,
            left_out: LeftOut::default(),
            verdict: None,
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
    /// Merged after an earlier visit, with nothing to add since ([`Content::merged_links`]).
    pub repeated: u32,
}

/// How two contents of one page differ, as the detectors see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentDifference {
    /// Are the digests the same?
    pub same_digest: bool,
    /// Hamming distance of the SimHashes, 0 to 64.
    pub distance: u8,
    /// Cycles since the last visit (t).
    pub cycles: u32,
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
    /// Does a sitemap or feed list it, rather than a page link to it?
    pub listed: bool,
    /// Modification date from a sitemap or feed of the page's own host, in seconds since 1970; 0
    /// for none.
    pub lastmod: u32,
    /// What the link lets expect of its target; none without `[focus]`.
    pub expectation: Option<Expectation>,
}

impl Link {
    /// A link without redirects and date, which is not counted.
    pub fn to(url: CanonicalUrl, depth: u16) -> Link {
        Link { url, depth, hops: 0, counted: false, listed: false, lastmod: 0, expectation: None }
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
    /// Pages of the schedule that the end of a cycle left unvisited.
    Skipped(Skipped),
}

/// Entries of a schedule read at a time.
const READ: usize = 1024;

/// Pages of the schedule that the end of a cycle left unvisited, however many, in one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Their positions in the schedule.
    pub pages: Range<u64>,
    /// Why.
    pub why: Skip,
    /// When, in milliseconds since 1970.
    pub at: u64,
}

impl Skipped {
    /// Calls `work` with the visit of each page, in the order of the schedule.
    ///
    /// # Errors
    /// When the schedule cannot be read or does not have the pages, or what `work` returns.
    pub fn each<E: From<io::Error>>(
        &self,
        schedule: &dyn ScheduleSource,
        mut work: impl FnMut(Visit) -> Result<(), E>,
    ) -> Result<(), E> {
        let (hosts, mut next) = (schedule.hosts(), self.pages.start);
        let end = |host: &HostRun| host.start + host.count;
        let mut host = hosts.partition_point(|host| end(host) <= next);
        while next < self.pages.end {
            let run = hosts.get(host).ok_or_else(|| io::Error::other("pages outside the schedule"))?;
            let to = end(run).min(self.pages.end);
            let entries = schedule.read(run, next, READ.min((to - next) as usize))?;
            if entries.is_empty() {
                return Err(io::Error::other("the schedule ends within a host").into());
            }
            for entry in entries.into_iter().take((to - next) as usize) {
                let (share, standing) = (entry.share, entry.standing);
                let visit = Visit::new(entry.url, Outcome::Skipped(self.why));
                work(Visit { index: Some(next), share, standing, at: self.at, ..visit })?;
                next += 1;
            }
            host += usize::from(next == end(run));
        }
        Ok(())
    }
}
