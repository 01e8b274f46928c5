//! Opens a crawl for reading, also while another process writes to it.

use crate::admission::decisions::Decisions;
use crate::data_dir::TABLES;
use crate::failure::Failure;
use crate::labels::counted;
use crate::report::CycleReport;
use crate::settings::Settings;
use recrawl_repository::storage::{FileStorage, Storage};
use recrawl_repository::{Generation, OpenError, Repository, ScheduleFile, SledTables, SyncFolder};
use recrawl_types::{Cycle, DatedRound, ScheduleSource};
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fmt, io, thread};

/// Opens the last committed generation of a data directory.
///
/// # Errors
/// [`Failure::Usage`] if there is no repository; [`Failure::Work`] if it cannot be read.
pub fn repository(settings: &Settings) -> Result<Repository, Failure> {
    let folder = &settings.data_dir;
    let storage = FileStorage::existing(folder)
        .map_err(|e| Failure::Usage(format!("cannot open data directory {}: {e}", folder.display())))?;
    Repository::open_read(Arc::new(storage)).map_err(|e| match e {
        OpenError::Absent(_) => Failure::Usage(format!(
            "data directory {}: no crawl here; check --data-dir or storage.data_dir",
            folder.display()
        )),
        other => Failure::work(other),
    })
}

/// The tables, or why they cannot be opened.
pub type Tables = Result<Arc<SledTables>, String>;

/// Opens the tables of a data directory. This fails while a crawl runs, which locks them.
pub fn tables(data_dir: &Path) -> Tables {
    let folder = data_dir.join(TABLES);
    if !folder.is_dir() {
        return Err("no host has been contacted yet".into());
    }
    SledTables::open(&folder).map(Arc::new).map_err(|e| match is_in_use(&e) {
        true => "in use by the running crawl; stop it to read host data".into(),
        false => e.to_string(),
    })
}

/// Reads the operators' decisions, also while a crawl runs. Older versions kept them in the tables.
///
/// # Errors
/// When they cannot be read.
pub fn decisions(data_dir: &Path, tables: impl FnOnce() -> Tables) -> Result<Decisions, Failure> {
    let storage = FileStorage::existing(data_dir)?;
    match Decisions::read(&storage)? {
        Some(decided) => Ok(decided),
        None if !data_dir.join(TABLES).is_dir() => Ok(Decisions::default()),
        None => Decisions::of_older(&*tables().map_err(Failure::Work)?),
    }
}

/// How long to wait for a reader (`recrawl status`, `recrawl explain`) that has the tables open.
const LOOK: Duration = Duration::from_secs(10);

/// Opens the tables of a data directory that this process has locked; `sync` makes them durable.
/// Waits for other processes that have them open: these can only be readers.
///
/// # Errors
/// When the tables cannot be opened, or a reader takes too long.
pub fn own_tables(data_dir: &Path, sync: SyncFolder) -> io::Result<SledTables> {
    let begun = Instant::now();
    loop {
        match SledTables::open_with(&data_dir.join(TABLES), sync.clone()) {
            Err(e) if is_in_use(&e) && begun.elapsed() < LOOK => thread::sleep(Duration::from_millis(20)),
            done => return done,
        }
    }
}

/// Does another process have the tables open? sled reports this only in the text of its error.
fn is_in_use(error: &io::Error) -> bool {
    error.to_string().contains("could not acquire lock")
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

/// A planned cycle that is not committed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct InProgress {
    /// The cycle.
    pub cycle: Cycle,
    /// Pages in its schedule.
    pub scheduled: u64,
}

impl fmt::Display for InProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InProgress { cycle, scheduled } = self;
        write!(f, "cycle {cycle}, {} planned", counted(*scheduled, "page"))
    }
}

/// The cycle in progress after this generation, if there is one.
///
/// # Errors
/// When its schedule cannot be read.
pub fn in_progress(storage: &dyn Storage, generation: &Generation) -> Result<Option<InProgress>, Failure> {
    let DatedRound { round, cycle } = generation.dated().in_next_cycle();
    let schedule = ScheduleFile::open(storage, round).map_err(Failure::work)?;
    Ok(schedule.map(|schedule| InProgress { cycle, scheduled: schedule.len() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_only_looks_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let looking = SledTables::open(&folder.path().join(TABLES)).unwrap();
        assert!(tables(folder.path()).err().is_some_and(|why| why.starts_with("in use")));
        let looker = thread::spawn(move || {
            thread::sleep(Duration::from_millis(100));
            drop(looking);
        });
        assert!(own_tables(folder.path(), recrawl_repository::sync_files()).is_ok());
        looker.join().unwrap();
    }
}
