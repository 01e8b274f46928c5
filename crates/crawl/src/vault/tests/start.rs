//! How a process and the one before it in the same directory, or in a copy of it, take a vault.

use super::super::lineage::Lineage;
use super::super::{CrawlVault, FollowedCrawl, OpenVault, Prepared, prepare_in, will_purge};
use super::settings;
use crate::failure::Failure;
use crate::settings::Settings;
use recrawl_archive::opener;
use recrawl_repository::SledTables;
use recrawl_repository::storage::FileStorage;
use recrawl_vault::store::MemoryStore;
use recrawl_vault::{Founded, contents, found};
use std::fs;
use std::path::Path;
use std::sync::Arc;

fn in_folder(folder: &Path) -> Settings {
    let mut settings = settings();
    settings.data_dir = folder.to_owned();
    settings
}

fn prepared(settings: &Settings, store: &Arc<MemoryStore>, tag: &str) -> Result<Prepared, Failure> {
    prepare_in(store.clone(), settings, tag, 1)
}

fn begin(prepared: Prepared, settings: &Settings) -> Result<CrawlVault, Failure> {
    let storage = Arc::new(FileStorage::create(&settings.data_dir).unwrap());
    let warc = opener::create(&settings.data_dir).unwrap();
    let tables = Arc::new(SledTables::temporary().unwrap());
    prepared.begin(FollowedCrawl { settings, storage, warc, tables, clock: Arc::new(|| 1) })
}

fn shipped(vault: &CrawlVault) {
    vault.wait_while_it_answers();
    assert_eq!(vault.figures().error, None);
}

#[test]
fn a_start_goes_on_from_what_the_process_before_left_while_it_waited_for_the_lock() {
    let (folder, store) = (tempfile::tempdir().unwrap(), Arc::new(MemoryStore::new()));
    let settings = in_folder(folder.path());
    let waiting = prepared(&settings, &store, "a").unwrap();
    begin(prepared(&settings, &store, "b").unwrap(), &settings).unwrap().close();
    let left = Lineage::read(folder.path()).unwrap().unwrap();
    will_purge(&settings).unwrap();
    let vault = begin(waiting, &settings).unwrap();
    assert_eq!(Lineage::read(folder.path()).unwrap().unwrap().previous, left.nonce);
    assert_eq!(vault.close().error, None);
    assert_eq!(found(&*store).unwrap().unwrap().epoch, 2);
    assert!(!Lineage::read(folder.path()).unwrap().unwrap().purge, "it did what was left to do");
    assert!(contents(&*store).unwrap().unwrap().manifest.epoch == 2);
}

#[test]
fn a_restored_copy_begins_only_while_nothing_was_shipped_since() {
    let (folder, store) = (tempfile::tempdir().unwrap(), Arc::new(MemoryStore::new()));
    let (old, copy, late) = ("old", "copy", "late");
    let settings_of = |name: &str| in_folder(&folder.path().join(name));
    let restore = |name: &str| {
        let newest = contents(&*store).unwrap().unwrap().newest();
        let lineage = Lineage::read(&settings_of(old).data_dir).unwrap().unwrap();
        fs::create_dir(settings_of(name).data_dir).unwrap();
        let (restored, previous) = (Some(newest), String::new());
        Lineage { restored, previous, ..lineage }.write(&settings_of(name).data_dir).unwrap();
    };
    let process = begin(prepared(&settings_of(old), &store, "a").unwrap(), &settings_of(old)).unwrap();
    shipped(&process);
    restore(late);
    fs::write(settings_of(old).data_dir.join("cycle-1.visits"), "visits").unwrap();
    process.committed().unwrap();
    shipped(&process);
    restore(copy);
    // The old process is still in its epoch.
    let Err(refused) = prepared(&settings_of(late), &store, "b") else {
        panic!("it is older than its vault")
    };
    assert!(refused.is_usage() && refused.to_string().contains("has shipped since"), "{refused}");
    // One that was looked at before is looked at again.
    let prepared = prepared(&settings_of(copy), &store, "c").unwrap();
    fs::write(settings_of(old).data_dir.join("cycle-1.visits"), "more visits").unwrap();
    process.committed().unwrap();
    shipped(&process);
    let Err(refused) = begin(prepared, &settings_of(copy)) else { panic!("it is older than its vault") };
    assert!(refused.to_string().contains("restore again"), "{refused}");
    assert_eq!(found(&*store).unwrap().unwrap().epoch, 1, "the old process goes on");
    fs::remove_dir_all(settings_of(copy).data_dir).unwrap();
    restore(copy);
    let taken = self::prepared(&settings_of(copy), &store, "d").unwrap();
    assert_eq!(begin(taken, &settings_of(copy)).unwrap().close().error, None);
    assert_eq!(Lineage::read(&settings_of(copy).data_dir).unwrap().unwrap().restored, None);
}

#[test]
fn a_restored_copy_goes_on_after_a_kill_between_its_first_manifest_and_the_note_of_it() {
    let (folder, store) = (tempfile::tempdir().unwrap(), Arc::new(MemoryStore::new()));
    let settings = in_folder(folder.path());
    begin(prepared(&settings, &store, "a").unwrap(), &settings).unwrap().close();
    let restored = Some(contents(&*store).unwrap().unwrap().newest());
    let lineage = Lineage::read(folder.path()).unwrap().unwrap();
    let begun = Lineage { restored, previous: String::new(), ..lineage };
    begun.write(folder.path()).unwrap();
    begin(prepared(&settings, &store, "b").unwrap(), &settings).unwrap().close();
    // As the kill left it: the epoch is noted, and the manifest is not.
    let noted = Lineage::read(folder.path()).unwrap().unwrap();
    assert_eq!((noted.restored, &noted.previous), (None, &begun.nonce));
    Lineage { restored, ..noted.clone() }.write(folder.path()).unwrap();
    begin(prepared(&settings, &store, "c").unwrap(), &settings).unwrap().close();
    assert_eq!(Lineage::read(folder.path()).unwrap().unwrap().previous, noted.nonce);
    // Until a restored directory takes an epoch, it has the nonce of the other copy.
    let there = Founded { id: begun.id.clone(), epoch: 2, nonce: begun.nonce.clone() };
    assert_eq!(begun.own_epoch(&there), None);
}

#[test]
fn an_end_that_cannot_read_the_directory_says_so() {
    let (folder, store) = (tempfile::tempdir().unwrap(), Arc::new(MemoryStore::new()));
    let settings = in_folder(&folder.path().join("data"));
    let vault = begin(prepared(&settings, &store, "a").unwrap(), &settings).unwrap();
    shipped(&vault);
    fs::remove_dir_all(&settings.data_dir).unwrap();
    let error = vault.close().error.expect("nobody knows what is missing");
    assert!(error.contains("cannot read the data directory"), "{error}");
}

/// The console reads figures while the crawl ends.
#[test]
fn a_crawl_that_ends_ships_what_is_left_also_while_others_read_its_figures() {
    let (folder, store) = (tempfile::tempdir().unwrap(), Arc::new(MemoryStore::new()));
    let settings = in_folder(folder.path());
    let open = OpenVault::new(begin(prepared(&settings, &store, "a").unwrap(), &settings).unwrap());
    let reader = open.get().unwrap().clone();
    shipped(&reader);
    fs::write(folder.path().join("cycle-1.visits"), "visits").unwrap();
    drop(open);
    assert!(contents(&*store).unwrap().unwrap().files.contains_key("cycle-1.visits"));
    assert_eq!(reader.figures().waiting_since, None);
}
