//! `recrawl repository`: how large it is, whether every byte of it is sound, what of it can be saved, and copies of it.

mod salvage;
mod snapshot;
mod stats;

use super::{print, print_json, thousands};
use crate::cli::RepositoryCommand;
use crate::crawl::{TABLES, WARC};
use crate::failure::Failure;
use crate::reading;
use crate::settings::Settings;
use recrawl_archive::verify;
use recrawl_repository::storage::FileStorage;
use recrawl_repository::{SledTables, TablesFound};
use serde_json::json;
use std::path::Path;

pub fn run(command: &RepositoryCommand) -> Result<(), Failure> {
    match command {
        RepositoryCommand::Stats { at, json } => stats::run(&at.settings()?, *json),
        RepositoryCommand::Verify { salvage: None, at, json } => check(&at.settings()?, *json),
        RepositoryCommand::Verify { salvage: Some(out), at, json } => {
            salvage::run(&at.settings()?, out, *json)
        }
        RepositoryCommand::Snapshot { out, at, json } => snapshot::run(&at.settings()?, out, *json),
    }
}

/// A folder to write a repository into: a new one, or one that is empty.
fn new_folder(out: &Path, from: &Path) -> Result<FileStorage, Failure> {
    let refused = |why: &str| Err(Failure::Usage(format!("{}: {why}; name a new folder", out.display())));
    if out.exists() {
        if out.canonicalize()? == from.canonicalize()? {
            return refused("this is the data directory itself");
        }
        // Also where no file of a repository is among them: they are somebody's.
        if !out.is_dir() || std::fs::read_dir(out)?.next().is_some() {
            return refused("it exists and is not empty");
        }
    }
    FileStorage::create(out).map_err(|e| Failure::Work(format!("{}: {e}", out.display())))
}

/// The tables, read by way of a copy; none while a crawl has them.
fn tables(settings: &Settings) -> Result<Option<TablesFound>, Failure> {
    let folder = settings.data_dir.join(TABLES);
    if !folder.is_dir() {
        return Ok(Some(TablesFound::default()));
    }
    let scratch = tempfile::tempdir()?;
    Ok(SledTables::verify(&folder, &scratch.path().join(TABLES))?)
}

fn check(settings: &Settings, as_json: bool) -> Result<(), Failure> {
    let repository = reading::repository(settings)?;
    let mut damage = repository.verify();
    let summary = *repository.current().summary();
    let bodies = settings.data_dir.join(WARC);
    let archive = match bodies.is_dir() {
        true => verify::verify(&FileStorage::existing(&bodies)?, &repository.current())?,
        false => verify::Verified::default(),
    };
    let mut notes = archive.notes;
    damage.extend(archive.damage);
    let rows = match tables(settings)? {
        Some(found) => {
            damage.extend(found.damage);
            Some(found.rows)
        }
        None => {
            notes.push(format!("{TABLES}: in use by the running crawl, and not looked at"));
            None
        }
    };
    if as_json {
        let list: Vec<_> =
            damage.iter().map(|d| json!({"file": d.file, "offset": d.offset, "what": d.what})).collect();
        print_json(&json!({
            "generation": summary.number, "pages": summary.pages, "warc_records": archive.records,
            "table_rows": rows, "damage": list, "notes": notes,
        }))?;
    } else {
        notes.iter().try_for_each(print)?;
        damage.iter().try_for_each(|place| print(place.to_string()))?;
    }
    if damage.is_empty() {
        let sound = format!(
            "generation {}: {} pages, every block is sound; {} records in WARC files and {} rows of tables are sound",
            summary.number,
            thousands(summary.pages),
            thousands(archive.records),
            rows.map_or_else(|| "no".into(), thousands),
        );
        return if as_json { Ok(()) } else { print(sound) };
    }
    let places =
        if damage.len() == 1 { "one place is".into() } else { format!("{} places are", damage.len()) };
    Err(Failure::Work(format!(
        "{}: {places} damaged; restore the data directory from a backup, or save the rest with --salvage OUT",
        settings.data_dir.display()
    )))
}
