//! What somebody wants removed: bodies from the archive, what is known of pages' contents from their records, visits from
//! those that are kept; and not to be asked for again.
//!
//! In this order: the pattern is blocked, bodies are overwritten, visits are removed, a generation without the pages'
//! visits is committed, as by a cycle in which nothing was visited, and what was learned of whole hosts goes from the tables. Each step is durable before the next, and
//! every one may be done again; so what a stop has interrupted is begun anew, and ends.

mod pattern;

pub use pattern::Pattern;

use crate::control::Control;
use crate::crawl::{TABLES, WARC, check_pinned};
use crate::decisions::Decisions;
use crate::failure::Failure;
use crate::plan::Facts;
use crate::reading;
use crate::report::{CycleReport, TAKEDOWN, Tally};
use crate::settings::Settings;
use crate::space::Space;
use recrawl_archive::takedown::{TakenDown, take_down};
use recrawl_fetcher::StoppedBy;
use recrawl_repository::storage::{FileStorage, Storage};
use recrawl_repository::{Forgotten, Generation, OpenError, Repository, ScheduleFile};
use recrawl_types::{CanonicalUrl, Known, PageRecord, UrlRules};
use recrawl_verifier::MergeReport;
use serde::Serialize;
use std::sync::Arc;

/// Patterns that are taken down at most: each link that is found is compared with all of them.
const MAX_PATTERNS: usize = 1000;

/// What was taken down, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Pages that are known and meant; their addresses stay known.
    pub pages: u64,
    /// Of these, visited: history, digests, SimHash and validators go.
    pub emptied: u64,
    /// Kept visits.
    pub visits: u64,
    /// Records in WARC files.
    pub warc_records: u64,
    /// WARC files that had them.
    pub warc_files: u64,
    /// Bytes of these records.
    pub warc_bytes: u64,
    /// WARC files of which only the beginning could be read, and why.
    pub warc_unreadable: Vec<String>,
    /// Origins of which robots.txt, delays and counts were kept; nothing of the tables is where only a beginning of
    /// addresses is meant, whose part in what is kept of a whole host cannot be told apart.
    pub hosts: u64,
    /// Origins of which the dates of their pages were counted.
    pub dates: u64,
    /// Origins of which patterns of addresses were kept, with SimHashes of pages.
    pub trap_patterns: u64,
    /// Sites of which a noise floor was kept: all that a host of theirs is meant of.
    pub noise_floors: u64,
    /// Pages that operators asked for, and seeds that waited.
    pub asked: u64,
}

/// Takes down what is meant. With `only_count`, nothing is touched. `keep_crawling` blocks nothing, and ends an earlier
/// block. `now` in milliseconds since 1970.
///
/// # Errors
/// [`Failure::Usage`] where there is no crawl; [`Failure::Work`] when the crawl is in use, a cycle is in progress, or
/// something cannot be read or written: what was done before stays so.
pub fn run(
    settings: &Settings,
    meant: &Pattern,
    only_count: bool,
    keep_crawling: bool,
    now: u64,
) -> Result<Summary, Failure> {
    let folder = &settings.data_dir;
    let in_folder = |e: std::io::Error| Failure::Usage(format!("data directory {}: {e}", folder.display()));
    let storage = FileStorage::existing(folder).map_err(in_folder)?;
    if !folder.join("MANIFEST").exists() {
        return Err(Failure::Usage(format!("data directory {}: holds no crawl", folder.display())));
    }
    let storage: Arc<dyn Storage> = Arc::new(storage);
    // The lock: refused beside a running crawl.
    let repository =
        Repository::open(storage.clone()).map_err(|e| in_the_way(e, meant, only_count || keep_crawling))?;
    let mut repository = repository.keeping_visits(settings.config.storage.keep_visits);
    let tables = reading::own_tables(folder, recrawl_repository::sync_files())?;
    check_pinned(&tables, settings)?;
    let decided = Decisions::open(&*storage, &tables, repository.has_decisions())?;
    let cycle = repository.current().number().next();
    if !only_count {
        block(&*storage, decided, meant, !keep_crawling)?;
        Decisions::forget_older(&tables)?;
        if ScheduleFile::open(&*storage, cycle).map_err(Failure::work)?.is_some() {
            let text = format!(
                "data directory {}: cycle {cycle} is in progress, and its log may have these pages; {}let `recrawl crawl --cycles 1` finish it, and do this again",
                folder.display(),
                if keep_crawling { "" } else { "they are asked for no more; " }
            );
            return Err(Failure::Work(text));
        }
    }
    let bodies = folder.join(WARC);
    let taken = match bodies.is_dir() {
        true => {
            let bodies = FileStorage::existing(&bodies)?;
            take_down(&bodies, &|url| is_meant(meant, url), now, only_count)?
        }
        false => TakenDown::default(),
    };
    let visits = repository.remove_visits(&|url| meant.matches(url), only_count).map_err(Failure::work)?;
    let (pages, emptied) = count(&repository.current(), meant)?;
    if !only_count && emptied > 0 {
        Space::of(&storage, settings.config.storage.reserve).check_merge(&repository.current(), 0)?;
        empty(&mut repository, meant, now)?;
    }
    let asked = Control::forget(&tables, &|url| meant.matches(url), only_count)?;
    let forgotten =
        tables.forget(&|host| meant.covers_host(host), &|site| meant.touches_site(site), only_count)?;
    if !only_count {
        tables.flush()?;
        drop(tables.written_anew(&folder.join(TABLES))?);
    }
    let TakenDown {
        files: warc_files,
        records: warc_records,
        bytes: warc_bytes,
        unreadable: warc_unreadable,
    } = taken;
    let Forgotten { hosts, lastmods: dates, traps: trap_patterns, sites: noise_floors } = forgotten;
    Ok(Summary {
        pages,
        emptied,
        visits,
        warc_records,
        warc_files,
        warc_bytes,
        warc_unreadable,
        hosts,
        dates,
        trap_patterns,
        noise_floors,
        asked,
    })
}

/// Why the crawl cannot be had; beside a daemon, what can be done at once.
fn in_the_way(error: OpenError, meant: &Pattern, blocks_nothing: bool) -> Failure {
    match error {
        OpenError::InUse(_) if !blocks_nothing => {
            let bare = meant.bare();
            // A block covers all hosts below its own.
            let pattern = bare.strip_prefix("*.").unwrap_or(&bare);
            Failure::Work(format!(
                "{error}, and do this again; until then `PUT /api/v1/blocks/PATTERN` of the console of `recrawl serve`, with {pattern} percent-encoded for PATTERN, keeps the pages from being asked for"
            ))
        }
        other => Failure::work(other),
    }
}

/// An address in a WARC file was written by us, so it is canonical.
fn is_meant(meant: &Pattern, address: &str) -> bool {
    UrlRules::keep_all().canonicalize(address).is_ok_and(|url| meant.matches(&url))
}

/// Refuses the pages from now on, or no longer; durably.
fn block(
    storage: &dyn Storage,
    mut decided: Decisions,
    pattern: &Pattern,
    is_blocked: bool,
) -> Result<(), Failure> {
    let patterns = &mut decided.taken_down;
    let before = patterns.len();
    patterns.retain(|known| known != pattern);
    if is_blocked {
        patterns.push(pattern.clone());
    }
    if patterns.len() > MAX_PATTERNS {
        let text = format!(
            "{MAX_PATTERNS} patterns are taken down already: put the hosts into scope.opt_out, and take this one down with --keep-crawling"
        );
        return Err(Failure::Usage(text));
    }
    if patterns.len() == before { Ok(()) } else { decided.write(storage) }
}

/// Pages that are meant, and of these the visited.
fn count(generation: &Generation, meant: &Pattern) -> Result<(u64, u64), Failure> {
    let (mut pages, mut visited) = (0, 0);
    let mut records = generation.records();
    while let Some((_, key, record)) = records.next_record()? {
        if meant.matches(&CanonicalUrl::from_key(key).map_err(Failure::work)?) {
            pages += 1;
            visited += u64::from(record.visited.is_some());
        }
    }
    Ok((pages, visited))
}

/// Commits a generation in which these pages are known and nothing more. It is written anew from the first page to the
/// last: a part that is merely no longer used would keep what is to go.
fn empty(repository: &mut Repository, meant: &Pattern, now: u64) -> Result<(), Failure> {
    let generation = repository.current();
    let cycle = generation.number().next();
    let nothing = Generation::default();
    let mut next = repository.begin(&nothing).map_err(Failure::work)?;
    let mut records = generation.records();
    while let Some((_, key, record)) = records.next_record()? {
        let is_meant = meant.matches(&CanonicalUrl::from_key(key).map_err(Failure::work)?);
        let record = if is_meant { forgotten(record) } else { record };
        next.push(key, &record).map_err(Failure::work)?;
    }
    if let Some(mut links) = generation.waiting() {
        while let Some(link) = links.next_record()? {
            next.wait(link).map_err(Failure::work)?;
        }
    }
    let facts = Facts {
        cycle,
        started: now,
        formula: TAKEDOWN.into(),
        formula_toml: None,
        cutoff: None,
        scheduled: 0,
        random_seed: 0,
        by_score: None,
        audit_eligible: None,
        rules: 0,
    };
    let summary = *generation.summary();
    let merged = MergeReport {
        links_waiting: summary.waiting,
        pages: summary.pages,
        visited: next.summary().visited,
        never_tried: summary.untried,
        ..MergeReport::default()
    };
    let report = CycleReport {
        stopped_by: TAKEDOWN.into(),
        ..CycleReport::new(&facts, Tally::default(), &merged, StoppedBy::End, now)
    };
    repository.commit(next, &report.to_json()).map_err(Failure::work)
}

/// Known, and nothing more: what announces a change has nothing left that could have changed.
fn forgotten(record: PageRecord) -> PageRecord {
    PageRecord { known: Known { is_announced: false, ..record.known }, visited: None }
}
