//! `recrawl fleet leave`: puts all partitions together in a folder that goes on as one crawl, and ends the fleet.
//!
//! The folder has its name last: whoever finds it finds a fleet that has ended. A command that is stopped between the two left the
//! folder beside it, with the nonce of its map. The same command, run again, gives it its name; it keeps the nonce, so that the
//! command says so once more.

use super::own::{FleetChange, OwnedPartitions};
use super::{counted, print, settings_of};
use crate::cli::FleetLeaveArgs;
use crate::fleet;
use crate::process;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::fleet::{PartitionJoining, leave};
use recrawl_fleet::{FleetMap, left, newest_map, sweep_void};
use recrawl_vault::{Store, store};
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file, beside the parts and then among all, that says which map of the fleet its end is.
const NONCE: &str = "left-fleet";
/// The folder there with all.
const WHOLE: &str = "whole";

pub fn run(args: &FleetLeaveArgs) -> Result<(), Failure> {
    let FleetLeaveArgs { fleet: address, out, .. } = args;
    let store = store::open(address)?;
    let aside = aside(out)?;
    let has_name = is_done(&*store, out)?;
    if has_name || is_done(&*store, &aside)? {
        put_in_place(&aside, out, has_name)?;
        return print(told(address, out, None));
    }
    refuse_used(out)?;
    let map = fleet::map_of(&*store, address)?;
    let tag = process::random_tag()?;
    // What cannot be is told before anybody gives anything up.
    sweep_void(&*store, &map)?;
    last_map(&*store, &map, &tag)?;
    begin_aside(&aside, &tag)?;
    let ids: Vec<u32> = map.ranges().iter().map(|range| range.id).collect();
    let change = FleetChange { name: "leave", address, tag: &tag };
    let leave = |owned: &OwnedPartitions| leave_owned(args, &store, &aside, owned, &tag);
    let pages = match OwnedPartitions::with(&change, &store, &map, &ids, leave) {
        Ok(pages) => pages,
        Err(failure) => {
            // If the verdict was not answered, it may be the only copy.
            if !is_done(&*store, &aside).unwrap_or(true) {
                let _ = fs::remove_dir_all(&aside);
            }
            return Err(failure);
        }
    };
    put_in_place(&aside, out, false)?;
    print(told(address, out, Some(pages)))
}

/// Checks that no other change is being made.
fn last_map(store: &dyn Store, map: &FleetMap, tag: &str) -> Result<(), Failure> {
    let ends = map.ranges().iter().map(|range| recrawl_fleet::PartitionEnd { id: range.id, epoch: 0 });
    left(store, map, ends.collect(), tag).map(drop).map_err(Failure::usage)
}

fn told(address: &str, out: &Path, pages: Option<u64>) -> String {
    let pages = pages.map(|pages| format!(", with {}", counted(pages, "page"))).unwrap_or_default();
    let out = out.display();
    format!(
        "the fleet has ended: {out} is one crawl{pages}; go on by `recrawl serve --data-dir {out}`, and remove {address} \
         when you have a backup"
    )
}

/// The folder beside `out`.
fn aside(out: &Path) -> Result<PathBuf, Failure> {
    match out.file_name() {
        Some(name) => Ok(out.with_file_name(format!("{}.leaving", name.to_string_lossy()))),
        None => Err(Failure::Usage(format!("{}: is no name of a folder", out.display()))),
    }
}

/// Refuses a folder that has something in it.
fn refuse_used(out: &Path) -> Result<(), Failure> {
    let refused = |what: &str| Err(Failure::Usage(format!("{}: {what}", out.display())));
    match fs::read_dir(out).map(|mut entries| entries.next().is_none()) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        Err(e) => refused(&format!("cannot be used: {e}")),
        Ok(true) => Ok(()),
        Ok(false) => refused("is not empty; name a folder that is not there"),
    }
}

/// Has this command, run before, ended the fleet by what is in this folder?
fn is_done(store: &dyn Store, folder: &Path) -> Result<bool, Failure> {
    let nonce = match fs::read_to_string(folder.join(NONCE)) {
        Err(e) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&e.kind()) => return Ok(false),
        nonce => nonce?,
    };
    let last = newest_map(store)?.filter(FleetMap::is_end);
    Ok(last.and_then(|map| map.joining().map(|joining| joining.nonce == nonce)).unwrap_or(false))
}

/// Makes the folder beside, in place of one that was stopped and has ended nothing.
fn begin_aside(aside: &Path, tag: &str) -> Result<(), Failure> {
    let failed = |e: std::io::Error| Failure::Work(format!("cannot create {}: {e}", aside.display()));
    match fs::metadata(aside.join(NONCE)) {
        Ok(_) => fs::remove_dir_all(aside).map_err(failed)?,
        Err(e) if e.kind() == ErrorKind::NotFound => {}
        Err(e) => return Err(failed(e)),
    }
    // One that is of something else stays: it cannot be created.
    fs::create_dir(aside).and_then(|()| fs::write(aside.join(NONCE), tag)).map_err(failed)?;
    File::open(aside.join(NONCE)).and_then(|file| file.sync_all()).map_err(failed)
}

/// Puts all together, and ends the fleet. Gives the number of pages.
fn leave_owned(
    args: &FleetLeaveArgs,
    store: &Arc<dyn Store>,
    aside: &Path,
    owned: &OwnedPartitions,
    tag: &str,
) -> Result<u64, Failure> {
    let address = &args.fleet;
    let before = fleet::map_of(&**store, address)?;
    let map = left(&**store, &before, owned.ends(), tag).map_err(Failure::usage)?;
    let is_owner = || {
        owned.rest()?;
        sync_folders(aside)
    };
    let (_, pages) = leave(&PartitionJoining {
        fleet: store.clone(),
        before: &before,
        map: &map,
        scratch: aside,
        settings: &settings_of(&args.config, address, map.ranges().len()),
        tag,
        now: recrawl_fetcher::system_clock()(),
        is_owner: &is_owner,
    })?;
    Ok(pages)
}

/// Renames the one folder that is left, which gets the nonce, and makes its name durable, before the fleet ends.
fn sync_folders(aside: &Path) -> Result<(), Failure> {
    for entry in fs::read_dir(aside)? {
        let path = entry?.path();
        if path.is_dir() {
            fs::copy(aside.join(NONCE), path.join(NONCE))?;
            fs::rename(&path, aside.join(WHOLE))?;
        }
    }
    Ok(File::open(aside)?.sync_all()?)
}

/// Gives the folder its name, unless it has that, and removes what is left beside it.
fn put_in_place(aside: &Path, out: &Path, has_name: bool) -> Result<(), Failure> {
    let failed = |e: std::io::Error| {
        Failure::Work(format!("cannot rename {} to {}: {e}", aside.display(), out.display()))
    };
    if !has_name {
        // An empty folder is replaced.
        fs::rename(aside.join(WHOLE), out).map_err(failed)?;
    }
    match fs::remove_dir_all(aside) {
        Err(e) if e.kind() == ErrorKind::NotFound => {}
        removed => removed.map_err(failed)?,
    }
    let above = out.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(above).and_then(|folder| folder.sync_all()).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_fleet::{PartitionEnd, PartitionRange, begin, propose, put_joining_in_force, write_map};
    use recrawl_vault::store::MemoryStore;

    /// Stopped before the fleet ended, it begins anew; behind that, only the name is missing.
    #[test]
    fn the_same_command_finishes_what_was_stopped() {
        let (store, folder) = (MemoryStore::new(), tempfile::tempdir().unwrap());
        let map = FleetMap::new(1, vec![PartitionRange { id: 1, begin: None, parent: None }]).unwrap();
        write_map(&store, &map).unwrap();
        let out = folder.path().join("whole");
        let aside = aside(&out).unwrap();
        assert!(!is_done(&store, &aside).unwrap());
        begin_aside(&aside, "first").unwrap();
        fs::create_dir(aside.join("partition-1")).unwrap();
        assert!(!is_done(&store, &aside).unwrap());
        begin_aside(&aside, "second").unwrap();
        assert!(!aside.join("partition-1").exists(), "half of a copy is of no use");
        fs::create_dir(aside.join("partition-1")).unwrap();
        fs::write(aside.join("partition-1/MANIFEST"), "all").unwrap();
        sync_folders(&aside).unwrap();
        let epoch = begin(&store, 1, 0, "second", 1).unwrap();
        let last = left(&store, &map, vec![PartitionEnd { id: 1, epoch }], "second").unwrap();
        propose(&store, &last).unwrap();
        assert!(!is_done(&store, &aside).unwrap(), "the fleet goes on");
        put_joining_in_force(&store, &last).unwrap();
        assert!(is_done(&store, &aside).unwrap() && !out.exists());
        put_in_place(&aside, &out, false).unwrap();
        assert_eq!(
            (fs::read_to_string(out.join("MANIFEST")).unwrap().as_str(), aside.exists()),
            ("all", false)
        );
        // Once more, and after a crash before the folder beside was removed.
        assert!(is_done(&store, &out).unwrap());
        fs::create_dir(&aside).unwrap();
        put_in_place(&aside, &out, true).unwrap();
        assert!(out.join("MANIFEST").exists() && !aside.exists());
        let other = folder.path().join("crawl");
        fs::create_dir(&other).unwrap();
        fs::write(other.join("MANIFEST"), "all").unwrap();
        assert!(!is_done(&store, &other).unwrap(), "another crawl");
        assert!(refuse_used(&other).unwrap_err().to_string().contains("is not empty"));
        // A folder of something else is never removed.
        let other = folder.path().join("other.leaving");
        fs::create_dir(&other).unwrap();
        begin_aside(&other, "third").unwrap_err();
    }
}
