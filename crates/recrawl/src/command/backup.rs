//! `recrawl backup DIR` and `recrawl restore DIR`: all that a crawl needs to go on elsewhere or later.
//!
//! A daemon steps aside while its generation, tables and decisions are copied, so that they belong together. The archive is
//! copied after that, up to the lengths that it had then: it only grows. The manifest comes last: a backup that was cut
//! short has none, and is refused.

mod inventory;
mod newer_takedowns;

use super::repository::last_backup::{self, LastBackup};
use super::repository::{self, snapshot};
use super::{counted, print_json, print_labelled, takedown};
use crate::cli::{BackupArgs, RestoreArgs};
use crate::exclusive_access::ExclusiveAccess;
use inventory::WarcLengths;
use recrawl_archive::{name_now, opener, timestamp};
use recrawl_crawl::data_dir::TABLES;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::first_look;
use recrawl_crawl::open_read;
use recrawl_crawl::operator::stopped::in_the_way;
use recrawl_crawl::settings::Settings;
use recrawl_crawl::vault::restore;
use recrawl_delivery::doubt;
use recrawl_fetcher::system_clock;
use recrawl_repository::storage::{self, FileStorage, Storage};
use recrawl_repository::{Damage, GenerationSummary, OpenError, Repository, copies};
use recrawl_types::Size;
use serde_json::json;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

/// Small files beside the repository, as far as they exist. Others are of the process or of a round in progress.
const BESIDE: [&str; 7] = [
    "formula.toml",
    "candidate.json",
    "notify.json",
    first_look::FILE,
    "control.jsonl",
    "control.jsonl.1",
    "warc/index.cdxj",
];
/// The configuration, in a backup.
const CONFIGURATION: &str = "recrawl.toml";

pub fn back_up(args: &BackupArgs) -> Result<(), Failure> {
    let settings = args.on.at.settings()?;
    if args.last_commit {
        return snapshot::run(&settings, &args.out, args.on.json);
    }
    let (folder, out) = (&settings.data_dir, &args.out);
    let (to, copied, bodies, at) = {
        let _turn = ExclusiveAccess::alone(folder)?;
        // Holds the lock: no crawl begins meanwhile, and no takedown.
        let repository = writing(&settings)?;
        let at = system_clock()();
        let (to, copied) = snapshot::make(&settings, &repository, out)?;
        beside(folder, out)?;
        if let Some(file) = args.on.at.config.file() {
            copy(&file, &out.join(CONFIGURATION))?;
        }
        (to, copied, lengths(&*opener::open(folder)?)?, at)
    };
    let bodies = copy_archive(&*opener::open(folder)?, &*opener::create(out)?, &bodies)?;
    let bytes: u64 = bodies.values().sum();
    inventory::write(out, &bodies)?;
    let made = copied.finish(&to).map_err(Failure::work)?;
    last_backup::note(folder, &made, out, at)?;
    sync_folder(out)?;
    if args.on.json {
        return print_json(&json!({
            "generation": made.generation, "pages": made.pages, "warc_files": bodies.len(), "warc_bytes": bytes,
        }));
    }
    print_labelled(format!("generation  {}, {}", made.generation, counted(made.pages, "page")))?;
    print_labelled(format!(
        "archive     {} ({})",
        counted(bodies.len() as u64, "file"),
        Size(bytes).rounded()
    ))?;
    print_labelled(format!("backup      {}; `recrawl restore` puts it back", out.display()))
}

pub fn restore(args: &RestoreArgs) -> Result<(), Failure> {
    let settings = args.on.at.settings()?;
    match (&args.vault, &args.from) {
        (Some(vault), _) => restore_vault(vault, &settings.data_dir, args.on.json),
        (None, Some(from)) => restore_backup(from, &settings, args),
        (None, None) => Err(Failure::Usage("name the folder of a backup, or pass --vault URL".into())),
    }
}

fn restore_vault(vault: &str, folder: &Path, as_json: bool) -> Result<(), Failure> {
    let source = restore::open(vault)?;
    repository::new_folder(folder, None)?;
    let restored = restore::restore(&source, folder)?;
    let damaged = doubt_copies(folder)?;
    sync_folder(folder)?;
    let summary = summary(folder)?;
    if as_json {
        return print_json(&json!({
            "generation": summary.number, "pages": summary.pages, "files": restored.files, "bytes": restored.bytes,
        }));
    }
    print_labelled(format!("generation  {}, {}", summary.number, counted(summary.pages, "page")))?;
    let files = counted(restored.files, "file");
    print_labelled(format!(
        "restored    {}: {files} ({})",
        folder.display(),
        Size(restored.bytes).rounded()
    ))?;
    print_labelled("go on       with the configuration of the crawl; the vault does not have it")?;
    tell_damaged(&damaged)
}

fn summary(folder: &Path) -> Result<GenerationSummary, Failure> {
    let storage = FileStorage::existing(folder)?;
    Ok(*Repository::open_read(Arc::new(storage)).map_err(Failure::work)?.current().summary())
}

/// Targets of documents have got others since.
fn doubt_copies(folder: &Path) -> Result<Vec<String>, Failure> {
    let storage = FileStorage::existing(folder)?;
    let mut damaged = Vec::new();
    for name in copies(&storage)? {
        damaged.extend(doubt(&storage, &name, None).map_err(Failure::work)?.map(|damage| damage.to_string()));
    }
    Ok(damaged)
}

fn tell_damaged(damaged: &[String]) -> Result<(), Failure> {
    damaged.iter().try_for_each(|damage| {
        print_labelled(format!("damaged     {damage}; this target of [[deliver]] gets all again"))
    })
}

fn restore_backup(from: &Path, settings: &Settings, args: &RestoreArgs) -> Result<(), Failure> {
    let folder = &settings.data_dir;
    check(from)?;
    let made = LastBackup::noted(from).map(|backup| backup.at);
    let newer = args.takedowns_of.as_deref().map(|before| {
        let decided = open_read::decisions(from, || open_read::tables(from))?;
        newer_takedowns::orders(before, made.unwrap_or_default(), &decided)
    });
    let newer = newer.transpose()?;
    repository::new_folder(folder, Some(from)).map_err(|failure| match failure {
        Failure::Usage(text) => Failure::Usage(format!("{text} with --data-dir, or move this one away")),
        other => other,
    })?;
    // The manifest comes last: what was cut short is no crawl.
    let mut names: Vec<_> =
        fs::read_dir(from)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<_>>()?;
    names.sort_by_key(|name| name == "MANIFEST");
    for name in names
        .iter()
        .filter(|name| !["LOCK", CONFIGURATION, inventory::FILE].iter().any(|other| name == other))
    {
        copy_all(&from.join(name), &folder.join(name))?;
    }
    let damaged = doubt_copies(folder)?;
    sync_folder(folder)?;
    // A takedown needs a whole crawl. After a stop here, the pages of those that are left are there.
    let are_repeated = takedown::repeat(settings, newer.as_deref().unwrap_or_default());
    let summary = summary(folder)?;
    let repeated = newer.map(|newer| newer.iter().map(|order| order.pattern.to_string()).collect::<Vec<_>>());
    if args.on.json {
        print_json(&json!({
            "generation": summary.number, "pages": summary.pages, "made": made, "takedowns": repeated,
        }))?;
        return are_repeated;
    }
    print_labelled(format!("generation  {}, {}", summary.number, counted(summary.pages, "page")))?;
    print_labelled(format!(
        "restored    {}; `recrawl repository verify` reads every byte",
        folder.display()
    ))?;
    print_labelled(format!("takedowns   {}", about_takedowns(made, repeated.as_deref())))?;
    tell_damaged(&damaged)?;
    let configuration = from.join(CONFIGURATION);
    if configuration.is_file() {
        print_labelled(format!("go on       with `--config {}`, or a copy of it", configuration.display()))?;
    }
    are_repeated
}

/// Which takedowns hold in what was restored, and what to do about others.
fn about_takedowns(made: Option<u64>, repeated: Option<&[String]>) -> String {
    let made = made.map_or("the backup".into(), timestamp);
    match repeated {
        None => format!(
            "those after {made} are not in it: their pages are back. Repeat each `recrawl takedown` before you crawl, or \
             restore anew with --takedowns-of DIR, the data directory before"
        ),
        Some([]) => format!("the data directory before has none after {made}"),
        Some(some) => format!("{} after {made} repeated: {}", some.len(), some.join(", ")),
    }
}

/// Checks a backup before anything is copied: a crawl that begins with damage would go on for days.
fn check(from: &Path) -> Result<(), Failure> {
    let source = FileStorage::existing(from).map_err(|e| {
        Failure::Usage(format!(
            "cannot open {}: {e}; name a folder that `recrawl backup` wrote",
            from.display()
        ))
    })?;
    let backup = Repository::open_read(Arc::new(source)).map_err(|e| match e {
        OpenError::Read(error) => unsound(from, &error.into_damage()),
        other => Failure::Usage(format!("{}: no complete backup: {other}", from.display())),
    })?;
    // It goes on without old visits (`repository verify` says which).
    if let Some(place) = backup.verify().iter().find(|place| !place.file.ends_with(".kept")) {
        return Err(unsound(from, place));
    }
    match inventory::damage(from)? {
        Some(place) => Err(unsound(from, &place)),
        None => Ok(()),
    }
}

/// The failure of a backup with damage.
fn unsound(from: &Path, place: &Damage) -> Failure {
    let from = from.display();
    Failure::Work(format!(
        "{place}; nothing was restored: take another backup, or save what can be read with `recrawl repository verify \
         --salvage OUT --data-dir {from}`"
    ))
}

/// The repository, locked. On a disk that is read-only no lock can be taken, but no crawl can write there either.
fn writing(settings: &Settings) -> Result<Repository, Failure> {
    // First: opening to write would create one.
    let committed = open_read::repository(settings)?;
    let storage = FileStorage::existing(&settings.data_dir)?;
    let is_read_only = storage.lock().err().is_some_and(|e| e.kind() == ErrorKind::ReadOnlyFilesystem);
    let repository = match is_read_only {
        true => committed,
        false => Repository::open(Arc::new(storage)).map_err(in_the_way)?,
    };
    Ok(repository.keeping_visits(settings.config.storage.keep_visits))
}

/// Copies what no generation has: tables and small files.
fn beside(folder: &Path, out: &Path) -> Result<(), Failure> {
    if folder.join(TABLES).is_dir() {
        open_read::copy_tables(folder, out)
            .map_err(|e| Failure::Work(format!("{}: {e}", folder.join(TABLES).display())))?;
    }
    for name in BESIDE.iter().filter(|name| folder.join(name).is_file()) {
        fs::create_dir_all(out.join(name).parent().unwrap_or(out))?;
        copy(&folder.join(name), &out.join(name))?;
    }
    Ok(())
}

/// Names and lengths of the WARC files.
fn lengths(archive: &dyn Storage) -> Result<Vec<(String, u64)>, Failure> {
    let mut names = archive.list()?;
    names.retain(|name| name.ends_with(".warc.gz"));
    names.sort_unstable();
    let length = |name: String| Ok((name.clone(), archive.open(&name)?.length()?));
    names.into_iter().map(length).collect()
}

/// Copies these files durably, up to these lengths. One that was thinned since is copied as it is now, and one that is gone
/// was removed by `storage.archive_max`. Returns what was copied.
fn copy_archive(
    from: &dyn Storage,
    to: &dyn Storage,
    files: &[(String, u64)],
) -> Result<WarcLengths, Failure> {
    let mut copied = WarcLengths::new();
    for (name, length) in files {
        let failed = |e: io::Error| Failure::Work(format!("cannot copy {}: {e}", from.locate(name)));
        let Some(now) = name_now(from, name).map_err(failed)? else { continue };
        let source = from.open(&now).map_err(failed)?;
        let length = if now == *name { *length } else { source.length().map_err(failed)? };
        let mut target = to.create(&now).map_err(failed)?;
        storage::copy(&*source, 0..length, &mut *target).map_err(failed)?;
        target.sync().map_err(failed)?;
        copied.insert(now, length);
    }
    to.sync_dir()?;
    Ok(copied)
}

/// Copies a file durably.
fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    let failed = |e: io::Error| Failure::Work(format!("cannot copy {}: {e}", from.display()));
    let mut source = match File::open(from) {
        // It may have been removed since it was listed.
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        opened => opened.map_err(failed)?,
    };
    let mut target = File::create(to).map_err(failed)?;
    io::copy(&mut source, &mut target).map_err(failed)?;
    target.sync_all().map_err(failed)
}

/// Copies a file, or a folder with all in it.
fn copy_all(from: &Path, to: &Path) -> Result<(), Failure> {
    if !from.is_dir() {
        return copy(from, to);
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        copy_all(&from.join(&name), &to.join(&name))?;
    }
    sync_folder(to)
}

fn sync_folder(folder: &Path) -> Result<(), Failure> {
    Ok(File::open(folder)?.sync_all()?)
}
