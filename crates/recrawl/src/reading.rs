//! A crawl opened for reading, beside a process that may be writing to it.

use crate::crawl::TABLES;
use crate::failure::Failure;
use crate::report::CycleReport;
use crate::settings::Settings;
use recrawl_repository::storage::FileStorage;
use recrawl_repository::{KeptVisit, OpenError, Repository, SledTables};
use recrawl_types::{CanonicalUrl, Cycle};
use std::path::Path;
use std::sync::Arc;

/// Opens the repository of a data directory as it was last committed.
///
/// # Errors
/// [`Failure::Usage`] where there is none; [`Failure::Work`] where it cannot be read.
pub fn repository(settings: &Settings) -> Result<Repository, Failure> {
    let folder = &settings.data_dir;
    let storage = FileStorage::existing(folder)
        .map_err(|e| Failure::Usage(format!("data directory {}: {e}", folder.display())))?;
    Repository::open_read(Arc::new(storage)).map_err(|e| match e {
        OpenError::Absent(_) => {
            Failure::Usage(format!("data directory {}: holds no crawl", folder.display()))
        }
        other => Failure::work(other),
    })
}

/// The tables, or why they cannot be had.
pub type Tables = Result<Arc<SledTables>, String>;

/// The tables of a data directory, or why they cannot be had: a running crawl keeps them to itself.
pub fn tables(data_dir: &Path) -> Tables {
    let folder = data_dir.join(TABLES);
    if !folder.is_dir() {
        return Err("no host was ever asked anything".into());
    }
    SledTables::open(&folder).map(Arc::new).map_err(|e| match e.to_string() {
        text if text.contains("could not acquire lock") => {
            "in use by the running crawl: stop it to read hosts".into()
        }
        text => text,
    })
}

/// The reports of the last `most` committed cycles, oldest first.
///
/// # Errors
/// When they cannot be read.
pub fn last_reports(repository: &Repository, most: usize) -> Result<Vec<CycleReport>, Failure> {
    let mut reports = repository.reports().map_err(Failure::work)?;
    let mut last = std::collections::VecDeque::with_capacity(most + 1);
    while let Some(bytes) = reports.next_report().map_err(Failure::work)? {
        last.push_back(serde_json::from_slice(bytes).map_err(Failure::work)?);
        if last.len() > most {
            last.pop_front();
        }
    }
    Ok(last.into())
}

/// Bytes of kept visits that are read for the history of one page, about; of a million pages a cycle a hundred cycles take
/// more, and somebody waits.
const MAX_HISTORY_BYTES: u64 = 256 << 20;

/// The visits of one page.
#[derive(Debug, Default)]
pub struct PageHistory {
    /// In the cycles that were looked at, oldest first.
    pub visits: Vec<(Cycle, KeptVisit)>,
    /// The first of these cycles; none where no cycle's visits are kept.
    pub since: Option<Cycle>,
}

/// The visits of a page in the cycles whose visits are kept. Each cycle's are read up to the page, the newest first, until
/// so much was read that older ones are left out.
///
/// # Errors
/// When they cannot be read.
pub fn visits_of(repository: &Repository, url: &CanonicalUrl) -> Result<PageHistory, Failure> {
    let (mut history, mut read) = (PageHistory::default(), 0);
    for cycle in repository.kept_cycles().map_err(Failure::work)?.into_iter().rev() {
        let Some(mut visits) = repository.kept_visits(cycle).map_err(Failure::work)? else { continue };
        let of_cycle = visits.visits_of(url).map_err(Failure::work)?;
        history.visits.extend(of_cycle.into_iter().rev().map(|visit| (cycle, visit)));
        history.since = Some(cycle);
        read += visits.bytes_read();
        if read >= MAX_HISTORY_BYTES {
            break;
        }
    }
    history.visits.reverse();
    Ok(history)
}
