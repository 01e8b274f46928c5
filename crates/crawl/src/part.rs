//! The contract of a part: a capability of the crawl with a folder of its own below `parts`.
//!
//! A part knows neither other parts nor the rounds. It has rules of its own in the configuration, learns by a
//! [`RoundLesson`](crate::lesson::RoundLesson), and says here what a takedown has to remove of it.

use crate::admission::pattern::Pattern;
use crate::failure::Failure;
use recrawl_repository::{OriginTable, SledTables};
use recrawl_types::{CanonicalUrl, UrlRules};
use serde::Serialize;

/// A part.
pub struct CrawlPart {
    /// The name of its module.
    pub name: &'static str,
    /// The tables of the configuration that are its rules alone.
    pub tables: &'static [&'static str],
    /// The page of docs/ that tells people what it does, without its ending.
    pub page: &'static str,
    /// Its fields in the explanation of a page; none if it decides nothing about a single page's next visit.
    pub explained: &'static [&'static str],
    /// Removes what it keeps of pages in the tables.
    pub forget: Forget,
}

/// The part of a takedown that concerns one part.
pub enum Forget {
    /// It keeps rows of pages, hosts or sites: this removes them, or only counts them, and adds their numbers.
    Rows(fn(&Takedown<'_>, &mut InTables) -> Result<(), Failure>),
    /// It keeps nothing in the tables that names a page, for this reason.
    Nothing(&'static str),
}

/// The pages whose data is removed.
pub trait MeantPages {
    /// Is it meant?
    fn matches(&self, url: &CanonicalUrl) -> bool;
    /// Is this URL of a requisite meant? It has all its parameters, a page only those that the rules keep.
    fn matches_requisite(&self, url: &CanonicalUrl, rules: &UrlRules) -> bool;
    /// Are all pages of this host meant?
    fn covers_host(&self, host: &str) -> bool;
    /// Is what is known of this site known from a host whose pages are all meant, perhaps?
    fn touches_site(&self, site: &str) -> bool;
}

impl MeantPages for Pattern {
    fn matches(&self, url: &CanonicalUrl) -> bool {
        Pattern::matches(self, url)
    }
    fn matches_requisite(&self, url: &CanonicalUrl, rules: &UrlRules) -> bool {
        Pattern::matches_requisite(self, url, rules)
    }
    fn covers_host(&self, host: &str) -> bool {
        Pattern::covers_host(self, host)
    }
    fn touches_site(&self, site: &str) -> bool {
        Pattern::touches_site(self, site)
    }
}

/// The removal of data in the tables of a stopped crawl, by a takedown or after a division.
pub struct Takedown<'t> {
    /// The tables.
    pub tables: &'t SledTables,
    /// The pages.
    pub meant: &'t dyn MeantPages,
    /// How URLs of pages are read.
    pub rules: &'t UrlRules,
    /// Is nothing to be removed?
    pub only_count: bool,
}

impl Takedown<'_> {
    /// Removes the rows of the hosts that are meant as a whole.
    ///
    /// # Errors
    /// When the table cannot be read or written.
    pub fn rows(&self, table: OriginTable) -> Result<u64, Failure> {
        let is_meant = |host: &str| self.meant.covers_host(host);
        Ok(self.tables.forget_origins(table, &is_meant, self.only_count)?)
    }
}

/// Data in the tables that was removed, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct InTables {
    /// Origins whose robots.txt, delays and counts were stored. Of a page or a URL prefix they have at most a path by
    /// which detours led back: it is removed, and not counted.
    pub hosts: u64,
    /// Counts of dates and of pings, by origin.
    pub dates: u64,
    /// Origins with stored URL patterns, which have SimHashes of pages.
    pub trap_patterns: u64,
    /// Sites with a stored noise floor that have a host whose pages all match.
    pub noise_floors: u64,
    /// Requisites of pages.
    pub requisites: u64,
    /// Page requests and queued seeds.
    pub asked: u64,
}
