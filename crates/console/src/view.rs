//! The interface between the console and a crawl.
//!
//! Times are milliseconds since 1970 by the crawl's clock, unless a name says otherwise. The
//! console calls [`CrawlView::status`] and [`CrawlView::errors`] on the threads that serve
//! requests, the first several times a second. They must be cheap, as [`CrawlView::improve`], which
//! metrics read. All other methods run on blocking threads.

mod control;
mod errors;
mod fleet;
mod forecast;
mod formula;
pub mod health;
mod improve;
mod page_change;
mod ping;
mod query;
mod recent;
mod refusal;
mod search;
mod status;
mod version;

pub use control::{Accepted, Actor, Change, Controls, Decision, Effect, WaitingPage};
pub use errors::{ErrorCount, ErrorGroup, ErrorKind, Errors, PageError};
pub use fleet::{FleetAnswer, FleetFigures, FleetQuestion, NodeFigures, PartitionFigures, SoughtPages};
pub use forecast::{
    BudgetForecast, Computing, ComputingState, ForecastBasis, Forecasted, Missing, PlainBudget, ReadyState,
    Savings, WhatIf,
};
pub use formula::{
    Choice, ChoiceOf, FormulaCheck, FormulaText, FormulaUse, Formulas, RankChange, RankChanges,
};
pub use health::{CrawlHealth, HealthLevel};
pub use improve::{
    Arms, Asked, AskedFor, BackTest, Candidate, CandidateDocument, CandidateState, CycleFreshness,
    Difference, DriftAlarm, DriftWatch, Estimate, EventList, FoundBeside, HistoryQuery, Improve, ImproveMode,
    LearnerEnd, LearnerNow, Loop, LoopEvent, LoopEventKind, LoopStep, LoopTerms, MoreOrFewer,
    PopulationWatch, Quarantined, Scored, ShadowSoFar, Split, Stability, TrialPhase, TrialSoFar, Watch,
};
pub use page_change::{MAX_DIFFERENCES, PageChange, PageChangeList, PageChangeQuery};
pub use ping::{
    IndexNow, IndexNowParams, PingDelivery, PingFigures, Pinged, SubscriptionFigures, Verification,
};
pub use query::{
    HostList, HostQuery, HostRow, HostSort, MAX_CURSOR_BYTES, MAX_ROWS, MAX_VERSION_ROWS, OnePage, PageList,
    PageQuery,
};
pub use recent::{Answers, Meters, Recent, RecentPoint, Rendering, RequisiteMeters};
pub use refusal::Refusal;
pub use search::{MAX_RESULTS, SearchList, SearchQuery, SearchResult, SearchSort, SnippetPart};
pub use status::{
    ByteBudget, ConversionFigures, CopyFigures, Counts, CycleDone, CycleNow, CycleStage, Fetching,
    FocusFigures, Freshness, HostNow, HostState, NextRound, Promise, PromiseFigures, SeedsRefused, State,
    Status, TargetFigures, VaultFigures,
};
pub use version::{
    MementoList, NoVersion, OneVersion, RawVersion, Version, VersionContent, VersionList, VersionQuery, Which,
};

use serde_json::Value;

/// A running crawl, to monitor and control.
pub trait CrawlView: Send + Sync {
    /// Status of the crawl. Cheap, and never waits for the disk.
    fn status(&self) -> Status;

    /// The points of the last hour after `since`, in milliseconds since 1970. As cheap as the status.
    fn recent(&self, since: u64) -> Recent;

    /// Figures for metrics. As cheap as the status.
    fn meters(&self) -> Meters;

    /// The reports of the last cycles, newest first, as `recrawl crawl --json` prints them. A cycle
    /// with an expected ChangeRate has a `promise`, a [`Promise`].
    ///
    /// # Errors
    /// If the reports cannot be read.
    fn cycles(&self, last: usize) -> Result<Vec<Value>, Refusal>;

    /// The last failed pages, and counts by outcome. As cheap as the status.
    fn errors(&self) -> Errors;

    /// The known hosts.
    ///
    /// # Errors
    /// If the cursor is unknown or the table cannot be read.
    fn hosts(&self, ask: &HostQuery) -> Result<HostList, Refusal>;

    /// The document of `recrawl status --host HOST --json`: one object per origin. A value of
    /// [`HostRow::host`] names exactly one origin.
    ///
    /// # Errors
    /// If the name is invalid, the host is unknown, or the table cannot be read.
    fn host(&self, host: &str) -> Result<Vec<Value>, Refusal>;

    /// The text of `recrawl status --host HOST`.
    ///
    /// # Errors
    /// As [`CrawlView::host`].
    fn host_text(&self, host: &str) -> Result<String, Refusal>;

    /// The document of `recrawl report HOST --json`, with at most the last `cycles` cycles in which the host was
    /// asked.
    ///
    /// # Errors
    /// As [`CrawlView::host`], or if the kept rows cannot be read.
    fn host_report(&self, host: &str, cycles: usize) -> Result<Value, Refusal>;

    /// The text of `recrawl report HOST`.
    ///
    /// # Errors
    /// As [`CrawlView::host_report`].
    fn host_report_text(&self, host: &str, cycles: usize) -> Result<String, Refusal>;

    /// The document of `recrawl promises --json`. Reads all pages below the prefixes.
    ///
    /// # Errors
    /// If pages or visits cannot be read.
    fn promises(&self) -> Result<Value, Refusal>;

    /// The text of `recrawl promises`.
    ///
    /// # Errors
    /// As [`CrawlView::promises`].
    fn promises_text(&self) -> Result<String, Refusal>;

    /// The pages with a URL prefix, in URL order.
    ///
    /// # Errors
    /// If the prefix or the cursor is invalid, or the pages cannot be read.
    fn pages(&self, ask: &PageQuery) -> Result<PageList, Refusal>;

    /// The document of `recrawl explain URL --json`, with stored visits and the difference of the
    /// last two texts.
    ///
    /// # Errors
    /// If the URL or the formula is invalid, the page is unknown, or it cannot be read.
    fn page(&self, page: &OnePage) -> Result<Value, Refusal>;

    /// The text of `recrawl explain URL`.
    ///
    /// # Errors
    /// As [`CrawlView::page`].
    fn page_text(&self, page: &OnePage) -> Result<String, Refusal>;

    /// The changes that visits of committed rounds found, newest first.
    ///
    /// # Errors
    /// If a pattern, a kind or the cursor is invalid, no visits are kept, or they cannot be read.
    fn page_changes(&self, ask: &PageChangeQuery) -> Result<PageChangeList, Refusal>;

    /// The best pages for a query.
    ///
    /// # Errors
    /// If the query is invalid, or there is no index, or it cannot be read.
    fn search(&self, ask: &SearchQuery) -> Result<SearchList, Refusal>;

    /// The archived versions of a page, newest first.
    ///
    /// # Errors
    /// If the URL or the cursor is invalid, or the page is unknown.
    fn versions(&self, ask: &VersionQuery) -> Result<VersionList, Refusal>;

    /// What the archive has of one version.
    ///
    /// # Errors
    /// If the URL is invalid, or page or version are unknown, taken down or unreadable.
    fn version(&self, version: &OneVersion) -> Result<VersionContent, Refusal>;

    /// One version as an HTML document that neither acts nor loads anything.
    ///
    /// # Errors
    /// As [`CrawlView::version`], or if it is no text.
    fn archived(&self, version: &OneVersion) -> Result<String, Refusal>;

    /// The times of a page's archived versions.
    ///
    /// # Errors
    /// If the URL is invalid, or the page is unknown or has no version.
    fn mementos(&self, url: &str) -> Result<MementoList, Refusal>;

    /// One version as it was received.
    ///
    /// # Errors
    /// As [`CrawlView::version`], or if it is too long.
    fn raw(&self, version: &OneVersion) -> Result<RawVersion, Refusal>;

    /// The partition of the fleet that has what is sought, if it is another process's. As cheap as the status.
    ///
    /// # Errors
    /// If there is no such partition.
    fn elsewhere(&self, sought: &SoughtPages) -> Result<Option<u32>, Refusal>;

    /// Asks the owner of another partition, and waits for its answer for less than
    /// [`ANSWER_TIMEOUT`](crate::ANSWER_TIMEOUT).
    ///
    /// # Errors
    /// If nobody answers, or the answer is too long.
    fn ask_elsewhere(&self, partition: u32, question: &FleetQuestion) -> Result<FleetAnswer, Refusal>;

    /// Operator decisions in force.
    ///
    /// # Errors
    /// If the table cannot be read.
    fn controls(&self) -> Result<Controls, Refusal>;

    /// The formula in force, the next one, previous and built-in ones.
    ///
    /// # Errors
    /// If they cannot be read.
    fn formulas(&self) -> Result<Formulas, Refusal>;

    /// Terminals, cost and warnings of a formula. Changes nothing.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] if the text is not a formula.
    fn check_formula(&self, text: &str) -> Result<FormulaCheck, Refusal>;

    /// Ranking differences between a formula and the one in force. Changes nothing. May take
    /// seconds; the client gets 503 after [`ANSWER_TIMEOUT`](crate::ANSWER_TIMEOUT), so a large
    /// crawl should compare a sample.
    ///
    /// # Errors
    /// As [`CrawlView::check_formula`], or if the pages cannot be read.
    fn rank_changes(&self, text: &str) -> Result<RankChanges, Refusal>;

    /// What the crawl measures of its formula, and where its loop stands. As cheap as the status.
    fn improve(&self) -> Improve;

    /// What happened in the loop, newest first.
    ///
    /// # Errors
    /// If the cursor is unknown, or the state cannot be read.
    fn improve_history(&self, ask: &HistoryQuery) -> Result<EventList, Refusal>;

    /// All that is known of a candidate: one that is tried, waits, or has an event.
    ///
    /// # Errors
    /// If the id is unknown, or the state cannot be read.
    fn candidate(&self, id: &str) -> Result<CandidateDocument, Refusal>;

    /// What other budgets would bring. The first request in a cycle starts the computation.
    ///
    /// # Errors
    /// If the visits cannot be read.
    fn what_if(&self) -> Result<Forecasted<WhatIf>, Refusal>;

    /// What plain revisiting would need. As [`CrawlView::what_if`].
    ///
    /// # Errors
    /// As [`CrawlView::what_if`].
    fn savings(&self) -> Result<Forecasted<Savings>, Refusal>;

    /// Takes a ping: a site owner tells which pages have changed.
    ///
    /// # Errors
    /// If pings are off, or the ping is invalid, forged or beyond a limit.
    fn ping(&self, ping: &IndexNow) -> Result<Pinged, Refusal>;

    /// Takes the verification of a subscription (WebSub). The challenge is answered if this succeeds.
    ///
    /// # Errors
    /// If WebSub is off, or no request fits.
    fn verify_subscription(&self, id: &str, verification: &Verification) -> Result<(), Refusal>;

    /// Takes a notification: a feed has changed (WebSub).
    ///
    /// # Errors
    /// If WebSub is off, or beyond a limit.
    fn notify(&self, id: &str, signature: Option<&str>, body: &[u8]) -> Result<PingDelivery, Refusal>;

    /// Makes a change. The change is durable once this returns.
    ///
    /// # Errors
    /// If the change is invalid, exceeds a limit, or cannot be stored.
    fn change(&self, change: &Change, who: &Actor) -> Result<Accepted, Refusal>;
}
