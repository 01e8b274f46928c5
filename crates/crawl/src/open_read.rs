//! Opens a crawl for reading, also while another process writes to it.

use crate::admission::decisions::Decisions;

use crate::data_dir::TABLES;
use crate::failure::Failure;
use crate::labels::counted;
use crate::report::facts::Facts;
use crate::report::{RoundReport, history};
use crate::settings::Settings;
use recrawl_repository::storage::{FileStorage, Storage};
use recrawl_repository::{
    Generation, OpenError, ReadError, Repository, ScheduleFile, SledTables, SyncFolder,
};
use recrawl_types::{CanonicalUrl, Cycle, Round, ScheduleSource};
use serde::Serialize;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fmt, io, io::ErrorKind, thread};

/// Opens the last committed generation of a data directory.
///
/// # Errors
/// [`Failure::Usage`] if there is no repository; [`Failure::Work`] if it cannot be read.
pub fn repository(settings: &Settings) -> Result<Repository, Failure> {
    repository_or_damage(settings)?.map_err(Failure::work)
}

/// The same, for those who say what to do about damage.
///
/// # Errors
/// As [`repository`], but for data that cannot be read.
pub fn repository_or_damage(settings: &Settings) -> Result<Result<Repository, ReadError>, Failure> {
    let folder = &settings.data_dir;
    crate::data_dir::check_files(folder)?;
    let storage = FileStorage::existing(folder).map_err(|e| crate::data_dir::cannot_open(folder, &e))?;
    match Repository::open_read(Arc::new(storage)) {
        Ok(repository) => Ok(Ok(repository)),
        Err(OpenError::Read(error)) => Ok(Err(error)),
        Err(OpenError::Absent(_)) => Err(crate::data_dir::no_crawl(folder)),
        Err(other) => Err(Failure::work(other)),
    }
}

/// The page that a person names, as the data directory knows it; without one, as the rules write it.
///
/// # Errors
/// As [`Settings::known_page`].
pub fn named_page(settings: &Settings, text: &str) -> Result<CanonicalUrl, Failure> {
    match repository(settings) {
        Ok(repository) => Ok(settings.known_page(text, &repository.current())?.0),
        // A new directory knows no page.
        Err(Failure::Usage(_)) => settings.named_page(text),
        Err(other) => Err(other),
    }
}

/// The tables, or why they cannot be opened.
pub type Tables = Result<Arc<SledTables>, String>;

/// The error of [`tables`] while a crawl runs.
pub const IN_USE: &str = "in use by the running crawl; stop it to read host data";

/// Opens the tables of a data directory. This fails with [`IN_USE`] while a crawl runs, which locks them.
pub fn tables(data_dir: &Path) -> Tables {
    let folder = data_dir.join(TABLES);
    if !folder.is_dir() {
        return Err("no host has been contacted yet".into());
    }
    let opened = match SledTables::open(&folder) {
        Err(e) if e.kind() == ErrorKind::ReadOnlyFilesystem => copied(&folder),
        opened => opened,
    };
    opened.map(Arc::new).map_err(|e| match is_in_use(&e) {
        true => IN_USE.into(),
        false => e.to_string(),
    })
}

/// A temporary folder for a copy of tables.
///
/// # Errors
/// When there can be none, naming TMPDIR.
pub fn scratch() -> io::Result<tempfile::TempDir> {
    tempfile::tempdir().map_err(|e| {
        io::Error::new(
            e.kind(),
            format!("cannot use a temporary folder: {e}; set TMPDIR to a folder with room"),
        )
    })
}

/// The tables on a disk that became read-only, as it does after an error: a copy can be opened.
fn copied(folder: &Path) -> io::Result<SledTables> {
    let scratch = scratch()?;
    let to = scratch.path().join(TABLES);
    let found = SledTables::open_copy(folder, &to, Box::new(scratch))?;
    found.ok_or_else(|| io::Error::other(IN_USE))
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
///
/// # Errors
/// When the tables cannot be opened, or a reader takes too long.
pub fn own_tables(data_dir: &Path, sync: SyncFolder) -> io::Result<SledTables> {
    once_free(|| SledTables::open_with(&data_dir.join(TABLES), sync.clone()))
}

/// Copies the tables of a data directory that this process has locked.
///
/// # Errors
/// When they cannot be copied, or a reader takes too long.
pub fn copy_tables(data_dir: &Path, to: &Path) -> io::Result<()> {
    once_free(|| match SledTables::back_up(&data_dir.join(TABLES), &to.join(TABLES))? {
        true => Ok(()),
        false => Err(io::Error::other(IN_USE)),
    })
}

/// Waits for other processes that have the tables open: while this one has the lock of the directory, these can only be
/// readers, or a daemon that is about to close them.
fn once_free<T>(attempt: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let begun = Instant::now();
    loop {
        match attempt() {
            Err(e) if is_in_use(&e) && begun.elapsed() < LOOK => thread::sleep(Duration::from_millis(20)),
            done => return done,
        }
    }
}

/// Does another process have the tables open? sled reports this only in the text of its error.
fn is_in_use(error: &io::Error) -> bool {
    let text = error.to_string();
    text.contains("could not acquire lock") || text == IN_USE
}

/// Rounds that are read for the reports of the last cycles: all that are kept one by one.
const MAX_ROUNDS: usize = 2 * history::KEPT_ROUNDS as usize;

/// The reports of the last committed rounds, oldest first.
///
/// # Errors
/// When they cannot be read.
pub fn last_rounds(repository: &Repository) -> Result<Vec<RoundReport>, Failure> {
    let mut reports = repository.reports().map_err(Failure::work)?;
    let mut last = VecDeque::new();
    while let Some(bytes) = reports.next_report().map_err(Failure::work)? {
        last.push_back(bytes.to_vec());
        if last.len() > MAX_ROUNDS {
            last.pop_front();
        }
    }
    let read = |bytes: &Vec<u8>| serde_json::from_slice(bytes).map_err(Failure::work);
    last.iter().map(read).collect()
}

/// Adds the report of a round to those of cycles; the oldest beyond `most` are dropped.
pub fn add_round(cycles: &mut VecDeque<RoundReport>, round: RoundReport, most: usize) {
    match cycles.back_mut() {
        Some(cycle) if cycle.is_continued_by(&round) => cycle.add(&round),
        _ => cycles.push_back(round),
    }
    if cycles.len() > most {
        cycles.pop_front();
    }
}

/// The reports of the last `most` cycles, each added up from its rounds, oldest first.
///
/// # Errors
/// When they cannot be read.
pub fn last_cycles(repository: &Repository, most: usize) -> Result<VecDeque<RoundReport>, Failure> {
    let mut cycles = VecDeque::new();
    last_rounds(repository)?.into_iter().for_each(|round| add_round(&mut cycles, round, most));
    Ok(cycles)
}

/// A planned round that is not committed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct InProgress {
    /// The round.
    pub round: Round,
    /// Its cycle; none while another process has the tables open, which say it.
    pub cycle: Option<Cycle>,
    /// Pages in its schedule.
    pub scheduled: u64,
}

impl fmt::Display for InProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InProgress { round, cycle, scheduled } = self;
        match cycle {
            Some(cycle) if cycle.0 != round.0 => write!(f, "round {round} (cycle {cycle})")?,
            Some(cycle) => write!(f, "cycle {cycle}")?,
            None => write!(f, "round {round}")?,
        }
        write!(f, ", {} planned", counted(*scheduled, "page"))
    }
}

/// The round in progress after this generation, if there is one.
///
/// # Errors
/// When its schedule cannot be read.
pub fn in_progress(
    storage: &dyn Storage,
    generation: &Generation,
    tables: Option<&SledTables>,
) -> Result<Option<InProgress>, Failure> {
    let next = generation.dated().in_next_cycle();
    let Some(schedule) = ScheduleFile::open(storage, next.round).map_err(Failure::work)? else {
        return Ok(None);
    };
    let facts = tables.map(Facts::last).transpose()?.flatten().map(|facts| facts.round());
    let of_round = facts.filter(|facts| facts.round == next.round);
    // Without facts it is resumed as a round of the next cycle.
    let cycle = tables.map(|_| of_round.unwrap_or(next).cycle);
    Ok(Some(InProgress { round: next.round, cycle, scheduled: schedule.len() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_only_looks_is_waited_for() {
        let [folder, backup] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let meanwhile = |work: &dyn Fn()| {
            let looking = SledTables::open(&folder.path().join(TABLES)).unwrap();
            assert!(tables(folder.path()).err().is_some_and(|why| why.starts_with("in use")));
            let looker = thread::spawn(move || {
                thread::sleep(Duration::from_millis(100));
                drop(looking);
            });
            work();
            looker.join().unwrap();
        };
        meanwhile(&|| drop(own_tables(folder.path(), recrawl_repository::sync_files()).unwrap()));
        meanwhile(&|| copy_tables(folder.path(), backup.path()).unwrap());
        assert!(backup.path().join(TABLES).is_dir());
    }
}
