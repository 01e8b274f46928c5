//! Counts of one run.

use crate::outcome::FetchResult;
use crate::run::unavailable::Unavailable;
use crate::run::unvisited_hosts::UnvisitedHosts;
use recrawl_types::{Failure, Outcome, Skip};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::time::Duration;

/// The report of one run. Only the program publishes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FetchReport {
    /// Requests sent, including those for robots.txt.
    pub requests: u64,
    /// Requests that the server did not process and that were repeated. Not included in `requests`.
    pub repeated: u64,
    /// Requests of detours for a cookie beyond one a visit: a page, or the target that it redirects to, again.
    pub asked_again: u64,
    /// Bytes of bodies kept, after decompression and the limit.
    pub bytes: u64,
    /// Bytes of bodies received over the network, kept or not.
    pub received: u64,
    /// Requests for robots.txt; each redirect counts as one.
    pub robots_requests: u64,
    /// Hosts opened; a host that was closed and opened again counts twice.
    pub hosts: u64,
    /// Redirect targets followed in this run.
    pub followed: u64,
    /// New redirect targets left to a later cycle: out of scope, in this schedule, seen before in
    /// this run, or over the limit.
    pub not_followed: u64,
    /// Visits ended by a panic: bugs of recrawl.
    pub panics: u64,
    /// Pages by outcome.
    pub outcomes: Outcomes,
    /// Duration of the run.
    pub elapsed: Duration,
    /// Why the run ended.
    pub stopped_by: StoppedBy,
    /// Pages of the schedule that were neither visited nor delivered, because the deadline came or the byte budget was
    /// spent: ranges of its entries, in order.
    #[serde(skip)]
    pub skipped: Vec<Range<u64>>,
    /// Hosts that were not visited. The next run begins with them.
    #[serde(skip)]
    pub unvisited_hosts: UnvisitedHosts,
    /// Origins that delivered no page at their last requests.
    #[serde(skip)]
    pub unavailable: Unavailable,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoppedBy {
    /// The schedule is done.
    #[default]
    End,
    /// The program stopped it.
    Stop,
    /// The deadline passed.
    Deadline,
    /// The byte budget of the cycle was spent.
    ByteBudget,
    /// Only hosts that need long have anything left; the rest of the schedule stays to be done.
    SlowHosts,
    /// A crawler without a contact made all requests that it may make; the rest stays to be done.
    FirstLook,
}

/// Pages by outcome, each in exactly one field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)] // the names are those of `Outcome`, `Failure` and `Skip`
pub struct Outcomes {
    pub page: u64,
    pub not_modified: u64,
    pub redirect: u64,
    pub not_found: u64,
    pub failed_dns: u64,
    pub failed_connect: u64,
    pub failed_tls: u64,
    pub failed_timeout: u64,
    pub failed_protocol: u64,
    pub failed_encoding: u64,
    pub failed_redirect: u64,
    pub failed_status: u64,
    pub robots_denied: u64,
    pub robots_unreachable: u64,
    pub refused_address: u64,
    pub skipped_deadline: u64,
    pub skipped_host_back_off: u64,
    pub skipped_out_of_scope: u64,
    pub skipped_crawl_delay: u64,
    pub skipped_opted_out: u64,
    pub skipped_byte_budget: u64,
    pub skipped_trap: u64,
    pub skipped_blocked: u64,
    pub skipped_media_type: u64,
}

impl Outcomes {
    /// Counts one page.
    ///
    /// # Panics
    /// [`FetchResult::Nothing`] holds the outcome of a visit.
    pub fn count(&mut self, result: &FetchResult) {
        *match result {
            FetchResult::Page(_) => &mut self.page,
            FetchResult::NotModified(_) => &mut self.not_modified,
            FetchResult::Redirect { .. } => &mut self.redirect,
            FetchResult::Nothing(outcome) => match outcome {
                Outcome::NotFound(_) => &mut self.not_found,
                Outcome::Failed(failure) => match failure {
                    Failure::Dns => &mut self.failed_dns,
                    Failure::Connect => &mut self.failed_connect,
                    Failure::Tls => &mut self.failed_tls,
                    Failure::Timeout => &mut self.failed_timeout,
                    Failure::Protocol => &mut self.failed_protocol,
                    Failure::Encoding => &mut self.failed_encoding,
                    Failure::Redirect => &mut self.failed_redirect,
                    // A page is rendered after it was delivered.
                    Failure::Render => unreachable!("the fetcher renders and converts nothing"),
                    Failure::Status(_) => &mut self.failed_status,
                },
                Outcome::RobotsDenied => &mut self.robots_denied,
                Outcome::RobotsUnreachable(_) => &mut self.robots_unreachable,
                Outcome::RefusedAddress(_) => &mut self.refused_address,
                Outcome::Skipped(skip) => self.skipped_by(*skip),
                Outcome::Fetched(_) | Outcome::NotModified | Outcome::Redirected(_) => {
                    unreachable!("{outcome:?} has a response")
                }
            },
        } += 1;
    }

    /// Counts pages that were skipped together.
    pub(crate) fn count_skipped(&mut self, why: Skip, pages: u64) {
        *self.skipped_by(why) += pages;
    }

    fn skipped_by(&mut self, why: Skip) -> &mut u64 {
        match why {
            Skip::Deadline => &mut self.skipped_deadline,
            Skip::HostBackOff => &mut self.skipped_host_back_off,
            Skip::OutOfScope => &mut self.skipped_out_of_scope,
            Skip::CrawlDelay => &mut self.skipped_crawl_delay,
            Skip::OptedOut => &mut self.skipped_opted_out,
            Skip::ByteBudget => &mut self.skipped_byte_budget,
            Skip::Trap => &mut self.skipped_trap,
            Skip::Blocked => &mut self.skipped_blocked,
            Skip::MediaType => &mut self.skipped_media_type,
        }
    }

    /// All pages.
    pub fn total(&self) -> u64 {
        self.page
            + self.not_modified
            + self.redirect
            + self.not_found
            + self.failed()
            + self.robots_denied
            + self.robots_unreachable
            + self.refused_address
            + self.skipped()
    }

    /// Pages that failed.
    pub fn failed(&self) -> u64 {
        self.failed_dns
            + self.failed_connect
            + self.failed_tls
            + self.failed_timeout
            + self.failed_protocol
            + self.failed_encoding
            + self.failed_redirect
            + self.failed_status
    }

    /// Pages that were not requested, for a reason of recrawl's own.
    pub fn skipped(&self) -> u64 {
        self.skipped_deadline
            + self.skipped_host_back_off
            + self.skipped_out_of_scope
            + self.skipped_crawl_delay
            + self.skipped_opted_out
            + self.skipped_byte_budget
            + self.skipped_trap
            + self.skipped_blocked
            + self.skipped_media_type
    }
}
