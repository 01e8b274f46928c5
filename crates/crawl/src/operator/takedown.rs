//! Takedown of pages: removes bodies from the archive, contents from page records, and stored
//! visits, and stops fetching the pages.
//!
//! The steps, in order: the pattern is blocked; bodies are overwritten; visits and waiting messages are
//! removed; a generation without the pages' contents is committed, as by a cycle without visits; data learned
//! of whole hosts is removed from the tables. Each step is durable before the next. Idempotent:
//! safe to run again after an interruption.

mod covered;
mod dry_run;

use crate::admission::pattern::Pattern;
pub use covered::Covered;
pub use dry_run::dry_run;

use crate::admission::decisions::Decisions;
use crate::data_dir::TABLES;
use crate::failure::Failure;
use crate::labels::{self, counted, thousands};
use crate::open_read::{self, InProgress};
use crate::operator::control::Control;
use crate::operator::removal::{self, Removed, Rewriting};
use crate::operator::stopped::StoppedCrawl;
use crate::part::{InTables, Takedown};
use crate::report::TAKEDOWN;
use crate::report::cycle_totals::CycleTotals;
use crate::settings::Settings;
use crate::space::Space;
use recrawl_archive::takedown::TakenDown;
use recrawl_delivery::note_takedown;
use recrawl_delivery::protocol::{TargetPlace, TargetProtocol};
use recrawl_repository::storage::Storage;
use recrawl_repository::{Repository, SledTables};
use recrawl_types::{CanonicalUrl, HostState, HostTable, Known, PageRecord, PageStatus, UrlRules};
use serde::Serialize;
use std::fmt;
use std::sync::Arc;

/// Maximum number of takedown patterns: each link is compared with all of them.
const MAX_PATTERNS: usize = 1000;

/// Data that was removed, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TakedownSummary {
    /// Matching known pages; their URLs stay known.
    pub pages: u64,
    /// Of these, visited pages, which lose history, digests, SimHash and validators.
    pub emptied: u64,
    /// Stored visits.
    pub visits: u64,
    /// Rows of what the host was asked in a round.
    #[serde(skip_serializing_if = "is_zero")]
    pub host_rows: u64,
    /// Messages of changes that waited for a target (`[[notify]]`).
    #[serde(skip_serializing_if = "is_zero")]
    pub messages: u64,
    /// Records in WARC files.
    pub warc_records: u64,
    /// WARC files with such records.
    pub warc_files: u64,
    /// Bytes of these records.
    pub warc_bytes: u64,
    /// WARC files that could only be read in part, and why.
    pub warc_unreadable: Vec<String>,
    /// Data in the tables; none if they could not be read.
    #[serde(flatten)]
    pub in_tables: Option<InTables>,
}

impl TakedownSummary {
    /// The end of a takedown removes nothing.
    fn of_end(covered: &Covered) -> TakedownSummary {
        TakedownSummary {
            pages: covered.pages,
            in_tables: Some(InTables::default()),
            ..TakedownSummary::default()
        }
    }

    fn new(
        covered: &Covered,
        warc: TakenDown,
        kept: Removed,
        in_tables: Option<InTables>,
    ) -> TakedownSummary {
        let TakenDown { files, records, bytes, unreadable } = warc;
        let Removed { visits, host_rows, messages } = kept;
        TakedownSummary {
            pages: covered.pages,
            emptied: covered.visited,
            visits,
            host_rows,
            messages,
            warc_records: records,
            warc_files: files,
            warc_bytes: bytes,
            warc_unreadable: unreadable,
            in_tables,
        }
    }
}

/// Removes the matching data from the tables of a stopped crawl, or only counts it.
pub(crate) fn remove_from(
    tables: &SledTables,
    meant: &Pattern,
    rules: &UrlRules,
    only_count: bool,
) -> Result<InTables, Failure> {
    if !only_count {
        forget_detours(tables, meant)?;
    }
    removal::from_tables(&Takedown { tables, meant, rules, only_count })
}

/// Removes paths of detours that are meant from the rows of hosts that stay. They are not counted.
fn forget_detours(tables: &SledTables, meant: &Pattern) -> Result<(), Failure> {
    for row in tables.hosts() {
        let (origin, state) = row?;
        let path = state.detour_path.as_ref().map(|path| format!("{origin}{path}"));
        let path = path.and_then(|path| UrlRules::keep_all().canonicalize(&path).ok());
        if path.is_some_and(|path| meant.names_path(&path)) {
            let state = HostState { detour_path: None, vain_detours: 0, ..state };
            HostTable::store(tables, &origin, &state)?;
        }
    }
    Ok(())
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The main figures.
impl fmt::Display for TakedownSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TakedownSummary { pages, emptied, visits, .. } = self;
        let [pages, visits] = [counted(*pages, "known page"), counted(*visits, "kept visit")];
        write!(f, "{pages}, {} with data; {visits}", thousands(*emptied))
    }
}

/// The order of an operator to take pages down.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename = "takedown")]
pub struct TakedownOrder {
    /// The pages.
    pub pattern: Pattern,
    /// Block nothing, and remove an earlier block.
    pub keep_crawling: bool,
    /// Only end an earlier takedown of this pattern: remove no data.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub end: bool,
}

impl TakedownOrder {
    fn blocks(&self) -> bool {
        !self.keep_crawling && !self.end
    }
}

/// The command that ends the takedown of a pattern.
pub fn ending(pattern: &Pattern) -> String {
    let option = match pattern {
        Pattern::Host(_) => "host",
        Pattern::Prefix(_) => "prefix",
        Pattern::Page(_) => "page",
    };
    // People paste it into a shell, and a URL of the crawl is a stranger's text.
    let quoted = pattern.to_string().replace('\'', r"'\''");
    format!("`recrawl takedown --{option} '{quoted}' --end`")
}

/// The result of a takedown, or of its dry run.
pub struct TakedownResult {
    /// Data that was removed, or would be.
    pub removed: TakedownSummary,
    /// The pages that it covers.
    pub covered: Covered,
    /// The round in progress of a stopped crawl. It must be finished first, so only a dry run meets one.
    pub in_progress: Option<InProgress>,
    /// Why a dry run could not count the data in the tables.
    pub tables_unread: Option<String>,
}

/// Opens a stopped crawl for a takedown.
///
/// # Errors
/// As [`StoppedCrawl::open`].
pub fn open(settings: &Settings) -> Result<Stopped<'_>, Failure> {
    let StoppedCrawl { storage, repository, tables, decided } = StoppedCrawl::open(settings)?;
    Ok(Stopped { settings, storage, repository, tables, decided })
}

/// A stopped crawl, whose lock this process holds.
pub struct Stopped<'s> {
    settings: &'s Settings,
    storage: Arc<dyn Storage>,
    repository: Repository,
    tables: SledTables,
    decided: Decisions,
}

impl Stopped<'_> {
    /// Removes the matching data. `now` in milliseconds since 1970.
    ///
    /// # Errors
    /// When something cannot be read or written. Completed steps stay done. The inner error says that the
    /// decision is in force, but nothing could be removed, since a cycle is in progress.
    pub fn take_down(
        mut self,
        order: &TakedownOrder,
        now: u64,
    ) -> Result<Result<TakedownResult, Failure>, Failure> {
        let TakedownOrder { pattern: meant, keep_crawling, end } = order;
        let folder = &self.settings.data_dir;
        let is_new = decide(&mut self.decided, order)?;
        // Whatever becomes of the takedown and of the pages until the next delivery.
        if !end && (is_new || *keep_crawling) {
            let is_page = |url: &CanonicalUrl| meant.matches(url);
            note_takedown(&*self.storage, &meant.to_string(), &is_page, &keeps_lines)
                .map_err(Failure::work)?;
        }
        if is_new {
            // A takedown that begins and ends within a cycle leaves no trace in the list: this count has its
            // pages checked again.
            if !order.blocks() {
                Control::note_lifted(&self.tables)?;
                self.tables.flush()?;
            }
            // Durable before anything is removed, or the crawl could fetch the pages again after a crash.
            self.decided.write(&*self.storage)?;
        }
        let generation = self.repository.current();
        let covered = || Covered::by(meant, self.settings, Some(&self.tables), &self.decided, &generation);
        let done =
            |removed, covered| TakedownResult { removed, covered, in_progress: None, tables_unread: None };
        if *end {
            let covered = covered()?;
            return Ok(Ok(done(TakedownSummary::of_end(&covered), covered)));
        }
        Decisions::forget_older(&self.tables)?;
        // The merge of that round would store from its log what is removed here.
        if let Some(InProgress { round, .. }) =
            open_read::in_progress(&*self.storage, &generation, Some(&self.tables))?
        {
            let blocked = match keep_crawling {
                true => "their takedown has ended; ",
                false => "they are already blocked; ",
            };
            return Ok(Err(Failure::Work(format!(
                "data directory {}: round {round} is in progress and its log may contain these pages; \
                 {blocked}finish it with `recrawl crawl --rounds 1`, then run takedown again",
                folder.display(),
            ))));
        }
        let covered = covered()?;
        let (warc, kept) = removal::beside_pages(self.settings, &self.repository, meant, (now, false))?;
        // Pages that were never visited have no content: without others, no commit is needed.
        if covered.visited > 0 {
            let reserve = self.settings.config.storage.reserve;
            Space::new(&self.storage, reserve).check_merge(&generation, 0, 0)?;
            empty(&mut self.repository, meant, *keep_crawling, now)?;
        }
        let tables = self.tables;
        let in_tables = remove_from(&tables, meant, &self.settings.rules, false)?;
        // Both name hosts and pages.
        CycleTotals::forget(&tables)?;
        tables.flush()?;
        // Tables of sled keep removed values in old segments until they are written anew.
        drop(tables.written_anew(&folder.join(TABLES))?);
        Ok(Ok(done(TakedownSummary::new(&covered, warc, kept, Some(in_tables)), covered)))
    }
}

/// Does a target of documents keep earlier lines?
fn keeps_lines(address: &str) -> bool {
    let is_lines = |protocol| matches!(protocol, TargetProtocol::Lines(_) | TargetProtocol::Objects(_));
    TargetPlace::parse(address).is_ok_and(|place| is_lines(place.protocol))
}

/// Blocks the pattern, or unblocks it. Returns whether that is a change.
fn decide(decided: &mut Decisions, order: &TakedownOrder) -> Result<bool, Failure> {
    let patterns = &mut decided.taken_down;
    let before = patterns.len();
    if order.end && !patterns.contains(&order.pattern) {
        let all: Vec<String> = patterns.iter().map(ToString::to_string).collect();
        let all = if all.is_empty() { "none".into() } else { labels::some_of(&all) };
        let text = format!("{} is not taken down; takedowns in force: {all}", order.pattern);
        return Err(Failure::Usage(text));
    }
    patterns.retain(|known| *known != order.pattern);
    if order.blocks() {
        patterns.push(order.pattern.clone());
    }
    if patterns.len() > MAX_PATTERNS {
        let text = format!(
            "limit of {MAX_PATTERNS} takedown patterns reached; \
             add a host to scope.opt_out and run takedown with --host HOST --end"
        );
        return Err(Failure::Usage(text));
    }
    Ok(patterns.len() != before)
}

/// Commits a generation in which these pages are only known, as a cycle of its own.
fn empty(repository: &mut Repository, meant: &Pattern, keep_crawling: bool, now: u64) -> Result<(), Failure> {
    let page = |url: &CanonicalUrl, record: PageRecord| {
        Some(if meant.matches(url) { forgotten(record, keep_crawling) } else { record })
    };
    let round = repository.current().dated().in_next_cycle();
    removal::rewrite(repository, &Rewriting { name: TAKEDOWN, round, page: &page, link: &|_| true }, now)
}

/// The record of a known page without content; an announced change and a date have nothing to be compared with. A blocked page is
/// refused at once, so that it takes no place of the next cycles.
fn forgotten(record: PageRecord, keep_crawling: bool) -> PageRecord {
    let known = record.known;
    let status =
        if keep_crawling || known.status == PageStatus::Gone { known.status } else { PageStatus::Refused };
    PageRecord { known: Known { is_announced: false, lastmod: 0, status, ..known }, visited: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::{Origin, Scheme};

    #[test]
    fn a_command_to_paste_is_one_for_any_url() {
        let pattern = Pattern::page("http://a.test/it's?q=$(id)`id`", &UrlRules::keep_all()).unwrap();
        let command = ending(&pattern);
        assert_eq!(command, r"`recrawl takedown --page 'http://a.test/it'\''s?q=$(id)`id`' --end`");
    }

    #[test]
    fn a_path_of_detours_goes_with_its_page() {
        let tables = SledTables::temporary().unwrap();
        let origin = Origin { scheme: Scheme::Http, host: "a.test".into(), port: 8080 };
        let path = || Some("/check".into());
        let state = HostState { detour_path: path(), vain_detours: 1, requests: 7, ..HostState::default() };
        HostTable::store(&tables, &origin, &state).unwrap();
        let left = |meant: Pattern, only_count| {
            remove_from(&tables, &meant, &UrlRules::default(), only_count).unwrap();
            let state = HostTable::load(&tables, &origin).unwrap().unwrap();
            (state.detour_path, state.vain_detours, state.requests)
        };
        let page = |url: &str| Pattern::page(url, &UrlRules::keep_all()).unwrap();
        let prefix = |url: &str| Pattern::prefix(url).unwrap();
        for other in [
            page("http://a.test:8080/"),
            page("http://a.test:8080/check/2"),
            page("http://a.test/check"),
            page("https://a.test:8080/check"),
            prefix("http://a.test:8080/b"),
        ] {
            assert_eq!(left(other, false), (path(), 1, 7));
        }
        let asked = || page("http://a.test:8080/check?to=%2Fa");
        assert_eq!(left(asked(), true), (path(), 1, 7));
        assert_eq!(left(asked(), false), (None, 0, 7));
        HostTable::store(&tables, &origin, &state).unwrap();
        let left = |meant: Pattern| {
            remove_from(&tables, &meant, &UrlRules::default(), false).unwrap();
            HostTable::load(&tables, &origin).unwrap().unwrap().detour_path
        };
        assert_eq!(left(prefix("http://a.test:8080/ch")), None);
    }
}
