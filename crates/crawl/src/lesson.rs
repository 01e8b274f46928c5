//! Lessons: each capability that learns from the pages of a round has one.
//!
//! A lesson sees the visits of the log first, then what the merge finds, in the order of URLs; it is stored before the
//! commit. `cycle/lessons.rs` lists all lessons of a round.

use crate::failure::Failure;
use recrawl_repository::SledTables;
use recrawl_types::{CanonicalUrl, Content, DatedRound, Known, Visit};
use recrawl_verifier::Tried;

/// The lesson of one capability from one round. It leaves out the methods that it does not need.
pub trait RoundLesson {
    /// A visit, in the order of the log.
    fn visited(&mut self, _visit: &Visit) {}

    /// A page was compared with its last visit. `is_newer` tells whether its date in a sitemap or feed had moved; none if
    /// it has no date. Several comparisons of a page follow each other.
    fn compared(&mut self, _url: &CanonicalUrl, _is_newer: Option<bool>, _is_changed: bool) {}

    /// A page was visited for the first time.
    fn visited_first(&mut self, _url: &CanonicalUrl, _content: &Content) {}

    /// A URL was tried that had never been judged: it was judged, or found to be no page.
    fn tried(&mut self, _url: &CanonicalUrl, _tried: &Tried) {}

    /// A URL is known after the round, and was not visited.
    fn found(&mut self, _key: &[u8], _known: &Known) {}

    /// A link to this URL was logged and dropped: its host is full, or the round's own visits show a trap. Does a page link
    /// to it, or only a sitemap, a feed or a redirect?
    fn dropped(&mut self, _key: &[u8], _is_linked: bool) {}

    /// Stores what was learned, before the commit of the round. After a crash between the two, the round is merged and
    /// stored again: a lesson counts once, so its stored form names its round, or keeps what it began with. (Dropped links
    /// may count twice.)
    ///
    /// # Errors
    /// When the tables cannot be read or written, or a method before met an error.
    fn store(&mut self, tables: &SledTables, round: DatedRound) -> Result<(), Failure>;

    /// Removes what waited for this round, after its commit. If that fails, or the program ends before, it waits on.
    ///
    /// # Errors
    /// When the tables cannot be read or written.
    fn committed(&mut self, _tables: &SledTables) -> Result<(), Failure> {
        Ok(())
    }
}
