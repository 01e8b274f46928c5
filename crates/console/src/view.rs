//! The seam: all that the console may know of a crawl, and the one way to change something.
//!
//! Times are milliseconds since 1970, by the crawl's clock, unless a name says otherwise. None of the
//! methods is called on a thread that serves other requests but [`CrawlView::status`] and [`CrawlView::errors`],
//! which must be cheap: the first is asked several times a second.

mod ask;
mod control;
mod errors;
mod formula;
mod refusal;
mod status;

pub use ask::{HostList, HostQuery, HostRow, HostSort, PageList, PageQuery};
pub use control::{Accepted, Change, Controls, Decision, Did, Who};
pub use errors::{ErrorCount, ErrorKind, Errors, PageError};
pub use formula::{FormulaCheck, FormulaText, FormulaUse, Formulas, RankChange, RankChanges};
pub use refusal::Refusal;
pub use status::{
    Counts, CycleDone, CycleNow, CycleStage, Freshness, HostNow, HostState, Promise, State, Status,
};

use serde_json::Value;

/// A running crawl, as it is looked at and steered.
pub trait CrawlView: Send + Sync {
    /// Where the crawl stands at this moment. Cheap, and never waits for the disk.
    fn status(&self) -> Status;

    /// The reports of the last cycles, as `recrawl crawl --json` prints them, newest first; each with its `promise`, a
    /// [`Promise`], where there was one.
    ///
    /// # Errors
    /// When they cannot be read.
    fn cycles(&self, last: usize) -> Result<Vec<Value>, Refusal>;

    /// The last pages that were not got, and how many of each kind. Cheap as the status is.
    fn errors(&self) -> Errors;

    /// The hosts that the crawl knows.
    ///
    /// # Errors
    /// When the cursor is not one that a list gave out, or the table cannot be read.
    fn hosts(&self, ask: &HostQuery) -> Result<HostList, Refusal>;

    /// The document of `recrawl status --host HOST --json`: an object for each origin that is meant. A name as
    /// [`HostRow::host`] has it means one.
    ///
    /// # Errors
    /// When this names no host, the crawl knows none of it, or the table cannot be read.
    fn host(&self, host: &str) -> Result<Vec<Value>, Refusal>;

    /// The pages whose URLs begin with a prefix, in the order of URLs.
    ///
    /// # Errors
    /// When the prefix or the cursor is none, or the pages cannot be read.
    fn pages(&self, ask: &PageQuery) -> Result<PageList, Refusal>;

    /// The document of `recrawl explain URL --json`, with the visits that were kept and the difference of the
    /// last two texts.
    ///
    /// # Errors
    /// When this is no URL, no page is known by it, or it cannot be read.
    fn page(&self, url: &str) -> Result<Value, Refusal>;

    /// What operators decided, as far as it holds now.
    ///
    /// # Errors
    /// When the table cannot be read.
    fn controls(&self) -> Result<Controls, Refusal>;

    /// The formula in force, the next one, those before, and the built-in ones.
    ///
    /// # Errors
    /// When they cannot be read.
    fn formulas(&self) -> Result<Formulas, Refusal>;

    /// What a formula uses and costs, and what to beware of. Changes nothing.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] when the text is no formula.
    fn check_formula(&self, text: &str) -> Result<FormulaCheck, Refusal>;

    /// Where a formula would rank pages otherwise than the one in force. Changes nothing; may take seconds. Who asks is
    /// told to come back after [`ANSWER_TIMEOUT`](crate::ANSWER_TIMEOUT), so that a large crawl had better compare a sample.
    ///
    /// # Errors
    /// As [`CrawlView::check_formula`], or when the pages cannot be read.
    fn rank_changes(&self, text: &str) -> Result<RankChanges, Refusal>;

    /// Every change, one way in. It is in force, durably, once this returns.
    ///
    /// # Errors
    /// When it makes no sense, would pass a limit, or cannot be kept.
    fn change(&self, change: &Change, who: &Who) -> Result<Accepted, Refusal>;
}
