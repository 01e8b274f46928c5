//! A crawl opened for reading, beside a process that may be writing to it.

use crate::crawl::TABLES;
use crate::decisions::Decisions;
use crate::failure::Failure;
use crate::report::CycleReport;
use crate::settings::Settings;
use recrawl_repository::storage::FileStorage;
use recrawl_repository::{OpenError, Repository, SledTables, SyncFolder};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, thread};

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
    SledTables::open(&folder).map(Arc::new).map_err(|e| match is_in_use(&e) {
        true => "in use by the running crawl: stop it to read hosts".into(),
        false => e.to_string(),
    })
}

/// What operators decided, also beside a crawl that runs. What an older program decided is in the tables.
///
/// # Errors
/// When it cannot be read.
pub fn decisions(data_dir: &Path, tables: impl FnOnce() -> Tables) -> Result<Decisions, Failure> {
    let storage = FileStorage::existing(data_dir)?;
    match Decisions::read(&storage)? {
        Some(decided) => Ok(decided),
        None if !data_dir.join(TABLES).is_dir() => Ok(Decisions::default()),
        None => Decisions::of_older(&*tables().map_err(Failure::Work)?),
    }
}

/// How long who only looks (`recrawl status`, `recrawl explain`) may have the tables.
const LOOK: Duration = Duration::from_secs(10);

/// The tables of a data directory whose lock is ours, made durable by `sync`: another process that has them only looks, and is waited for.
///
/// # Errors
/// When they cannot be opened, or somebody looks for too long.
pub fn own_tables(data_dir: &Path, sync: SyncFolder) -> io::Result<SledTables> {
    let begun = Instant::now();
    loop {
        match SledTables::open_with(&data_dir.join(TABLES), sync.clone()) {
            Err(e) if is_in_use(&e) && begun.elapsed() < LOOK => thread::sleep(Duration::from_millis(20)),
            done => return done,
        }
    }
}

/// Has another process the tables? sled says it in words alone.
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
