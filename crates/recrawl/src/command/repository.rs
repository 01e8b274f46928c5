//! `recrawl repository`: statistics, verification, salvage and snapshots.

mod advice;
pub mod last_backup;
mod requisites;
mod salvage;
pub mod snapshot;
mod stats;

use super::{counted, print, print_json};
use crate::cli::RepositoryCommand;
use recrawl_archive::opener;
use recrawl_archive::verify::{self, MayBeGone};
use recrawl_crawl::data_dir::TABLES;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_crawl::settings::{Settings, ranking};
use recrawl_notifications::store::{self, DeliveryFileError};
use recrawl_repository::storage::{FileStorage, MemoryStorage, Storage};
use recrawl_repository::{
    CopyReader, Damage, GenerationSummary, ReadError, Repository, SledTables, TablesFound, copies,
};
use recrawl_types::Round;
use serde_json::{Value, json};
use std::io;
use std::path::Path;
use std::sync::Arc;

pub fn run(command: &RepositoryCommand) -> Result<(), Failure> {
    match command {
        RepositoryCommand::Stats(on) => stats::run(&on.at.settings()?, on.json),
        RepositoryCommand::Verify { salvage: None, on } => check(&on.at.settings()?, on.json),
        RepositoryCommand::Verify { salvage: Some(out), on } => {
            salvage::run(&on.at.settings()?, out, on.json)
        }
        RepositoryCommand::Snapshot { out, on } => snapshot::run(&on.at.settings()?, out, on.json),
    }
}

/// Creates the folder for a new repository, made from that of `from`, if any; an empty one may exist.
pub fn new_folder(out: &Path, from: Option<&Path>) -> Result<FileStorage, Failure> {
    let refused = |why: &str| Err(Failure::Usage(format!("{}: {why}; choose a new folder", out.display())));
    if out.exists() {
        if let Some(from) = from
            && out.canonicalize()? == from.canonicalize()?
        {
            return refused("is the data directory itself");
        }
        // Also if none of the files belongs to a repository.
        if !out.is_dir() || std::fs::read_dir(out)?.next().is_some() {
            return refused("exists and is not empty");
        }
    }
    // A folder of the data directory would be a part of the next backup, and is lost with it.
    let place = std::path::absolute(out)?;
    let above = place.ancestors().find(|folder| folder.exists()).map(Path::canonicalize).transpose()?;
    let from = from.and_then(|from| from.canonicalize().ok());
    if above.is_some_and(|above| from.is_some_and(|from| above.starts_with(from))) {
        return refused("is inside the data directory");
    }
    FileStorage::create(out).map_err(|e| Failure::Work(format!("cannot create {}: {e}", out.display())))
}

/// Verifies the tables in a copy; none while a crawl has them locked.
fn tables(settings: &Settings) -> Result<Option<TablesFound>, Failure> {
    let folder = settings.data_dir.join(TABLES);
    if !folder.is_dir() {
        return Ok(Some(TablesFound::default()));
    }
    let scratch = open_read::scratch().map_err(Failure::usage)?;
    Ok(SledTables::verify(&folder, &scratch.path().join(TABLES))?)
}

/// Damage of the file that says how far targets of notifications were told: a crawl does not start with it.
fn damage_of_notices(folder: &Path) -> Result<Option<Damage>, Failure> {
    let found = FileStorage::existing(folder)?;
    Ok(store::read(&found).err().map(|error| match error {
        DeliveryFileError::Read(error) => error.into_damage(),
        other => Damage { file: store::NAME.into(), offset: 0, what: other.to_string() },
    }))
}

/// Damage of the files that say which documents targets hold: until they are rebuilt, these targets get none.
fn damage_of_copies(folder: &Path) -> Result<Vec<Damage>, Failure> {
    let storage = FileStorage::existing(folder)?;
    let read = |name: &String| {
        let Some(mut copy) = CopyReader::open(&storage, name)? else { return Ok(()) };
        while copy.next_page()?.is_some() {}
        Ok(())
    };
    let names = copies(&storage)?;
    Ok(names.iter().filter_map(|name| read(name).err().map(ReadError::into_damage)).collect())
}

/// Missing pieces that are no damage: a copy of the last commit alone has no tables, and visits may be removed.
fn missing(settings: &Settings, repository: &Repository) -> Result<Vec<String>, Failure> {
    let (folder, now) = (&settings.data_dir, repository.current().number());
    let mut missing = Vec::new();
    if now > Round(0) && !folder.join(TABLES).is_dir() {
        missing.push(format!(
            "{}: missing, as in a backup by --last-commit: give the seeds again; delays and robots.txt are learned again",
            folder.join(TABLES).display()
        ));
    }
    let keep = settings.config.storage.keep_visits;
    let has_last = || Ok::<_, Failure>(repository.kept().list()?.iter().any(|kept| kept.round == now));
    if now > Round(0) && keep > 0 && !has_last()? {
        missing.push(format!(
            "{}: has no visits of round {now}, though storage.keep_visits is {keep}: exports, `recrawl changes` and \
             notifications do not tell of them",
            folder.display()
        ));
    }
    missing.extend(ranking::note(folder, &settings.config));
    Ok(missing)
}

/// The archive, and which of its files may be missing.
fn archive(settings: &Settings) -> io::Result<(Arc<dyn Storage>, MayBeGone)> {
    let found = opener::find(&settings.data_dir)?;
    let may_be_gone = MayBeGone { oldest: settings.config.storage.archive_max.0 > 0, all: found.is_none() };
    Ok((found.unwrap_or_else(|| Arc::new(MemoryStorage::new())), may_be_gone))
}

fn check(settings: &Settings, as_json: bool) -> Result<(), Failure> {
    let repository = match open_read::repository_or_damage(settings)? {
        Ok(repository) => repository,
        Err(error) => return damaged(settings, &[error.into_damage()], &[], None, as_json),
    };
    // Damage does not end the check: one list tells of all of it.
    let mut damage = repository.verify();
    let summary = *repository.current().summary();
    let (archive, may_be_gone) = archive(settings)?;
    let archive = verify::verify(&*archive, &repository.current(), may_be_gone)?;
    let mut notes = archive.notes;
    notes.extend(missing(settings, &repository)?);
    damage.extend(archive.damage);
    damage.extend(ranking::damage(&settings.data_dir));
    damage.extend(damage_of_notices(&settings.data_dir)?);
    damage.extend(damage_of_copies(&settings.data_dir)?);
    damage.extend(requisites::damage(&settings.data_dir)?);
    let rows = match tables(settings)? {
        Some(found) => {
            damage.extend(found.damage);
            Some(found.rows)
        }
        None => {
            notes.push(format!("{TABLES}: not checked, in use by the running crawl"));
            None
        }
    };
    let read = RepositoryFigures { summary, records: archive.records, rows };
    if !damage.is_empty() {
        return damaged(settings, &damage, &notes, Some(&read), as_json);
    }
    if as_json {
        return print_json(&document(&damage, &notes, Some(&read), &[]));
    }
    notes.iter().try_for_each(print)?;
    print(format!(
        "generation {}: ok: {}, {}, {}",
        summary.number,
        counted(summary.pages, "page"),
        counted(archive.records, "WARC record"),
        rows.map_or_else(|| "no table rows".into(), |rows| counted(rows, "table row")),
    ))
}

/// Figures of a repository that can be opened.
struct RepositoryFigures {
    summary: GenerationSummary,
    /// Of the archive.
    records: u64,
    /// Of the tables; none if they are in use.
    rows: Option<u64>,
}

fn document(
    damage: &[Damage],
    notes: &[String],
    read: Option<&RepositoryFigures>,
    advice: &[String],
) -> Value {
    let damage: Vec<_> =
        damage.iter().map(|d| json!({"file": d.file, "offset": d.offset, "what": d.what})).collect();
    json!({
        "generation": read.map(|read| read.summary.number), "pages": read.map(|read| read.summary.pages),
        "warc_records": read.map(|read| read.records), "table_rows": read.and_then(|read| read.rows),
        "damage": damage, "notes": notes, "advice": advice,
    })
}

/// Tells of damage, and what to do about it.
fn damaged(
    settings: &Settings,
    damage: &[Damage],
    notes: &[String],
    read: Option<&RepositoryFigures>,
    as_json: bool,
) -> Result<(), Failure> {
    let advice = advice::lines(settings, damage, read.map(|read| read.summary.number.0));
    if as_json {
        print_json(&document(damage, notes, read, &advice))?;
    } else {
        notes.iter().try_for_each(print)?;
        damage.iter().try_for_each(|place| print(place.to_string()))?;
        print("")?;
        advice.iter().try_for_each(print)?;
    }
    let places =
        if damage.len() == 1 { "1 damaged place".into() } else { format!("{} damaged places", damage.len()) };
    Err(Failure::Work(format!("{}: {places}; the output says what to do", settings.data_dir.display())))
}
