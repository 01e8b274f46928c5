//! The newest version of each page is there, whatever went, however often files were cut, and wherever it was stopped.

use crate::ArchiveReader;
use crate::answer::ArchivedAnswer;
use crate::cap::{keep_within, taken};
use crate::newest::CutFiles;
use crate::records::Records;
use crate::thin::Thinning;
use crate::thin::tests::{Crawled, START, Version, crawled};
use recrawl_repository::storage::{FaultyStorage, MemoryStorage, Storage, StorageFault, Survivors};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

/// The newest version of each page in the files up to a number.
fn newest(crawled: &Crawled, until: u32) -> Vec<&Version> {
    let last = |versions: &'_ Vec<Version>| versions.iter().rposition(|version| version.at.file <= until);
    crawled.pages.values().filter_map(|versions| last(versions).map(|at| &versions[at])).collect()
}

fn cut(storage: &dyn Storage, newest: &[&Version], max: u64, after: u32) -> io::Result<CutFiles> {
    let named = |files: &BTreeSet<u32>| {
        Ok(newest.iter().map(|version| version.at).filter(|at| files.contains(&at.file)).collect())
    };
    crate::tidy(storage)?;
    Thinning { storage, named: &named, go_on: &|| Ok(()) }.cut_to_newest(max, after, START)
}

/// Each newest version is there, and the chain before it leads to others of its page.
fn check(storage: &Arc<MemoryStorage>, newest: &[&Version], what: &str) {
    let archive = ArchiveReader::open(storage.clone()).unwrap();
    for version in newest {
        let answer = ArchivedAnswer::read(&archive, version.at, 1 << 20);
        let answer = answer.unwrap_or_else(|e| panic!("{what}: {:?}: {e}", version.at));
        assert_eq!(answer.body, version.body.as_bytes(), "{what}");
        let (url, mut next) = (answer.field("WARC-Target-URI").map(str::to_owned), answer.before());
        while let Some(at) = next {
            match ArchivedAnswer::read(&archive, at, 1 << 20) {
                Ok(before) => {
                    assert_eq!(before.field("WARC-Target-URI").map(str::to_owned), url);
                    next = before.before();
                }
                Err(e) => {
                    assert_eq!(e.kind(), io::ErrorKind::NotFound, "{what}");
                    break;
                }
            }
        }
    }
}

/// The first files of a crawl.
fn first(crawled: &Crawled, files: usize) -> BTreeMap<String, Vec<u8>> {
    crawled.files.iter().take(files).map(|(name, bytes)| (name.clone(), bytes.clone())).collect()
}

#[test]
fn files_are_cut_again_and_again_and_each_newest_version_stays() {
    for seed in 0..8 {
        let crawled = crawled(seed, 90);
        let (mut image, mut after, mut again) = (BTreeMap::new(), 0, 0);
        let mut before = BTreeSet::new();
        for files in 3..=crawled.files.len() {
            // What was written since the last pass.
            let names: Vec<String> = crawled.files.keys().take(files).cloned().collect();
            let known = if image.is_empty() { 0 } else { files - 1 };
            image.extend(
                names.into_iter().skip(known).map(|name| (name.clone(), crawled.files[&name].clone())),
            );
            let storage = Arc::new(MemoryStorage::with_files(image));
            let (newest, all) = (newest(&crawled, files as u32), taken(&*storage).unwrap().bytes);
            let max = if files % 3 == 0 { 0 } else { all * 3 / 4 };
            let done = cut(&*storage, &newest, max, after).unwrap();
            let left = taken(&*storage).unwrap().bytes;
            assert_eq!(left, all - done.dropped.freed(), "it says what it frees");
            check(&storage, &newest, &format!("seed {seed}, {files} files"));
            let thinned: BTreeSet<String> =
                storage.list().unwrap().into_iter().filter(|name| crate::is_thinned(name)).collect();
            let is_same = |name: &&String| thinned.contains(*name);
            again += before.iter().filter(is_same).filter(|_| done.dropped.records > 0).count();
            for name in &thinned {
                let mut records = Records::open_at(&*storage, name, 0).unwrap().checked();
                while let Some(found) = records.next_record().unwrap() {
                    assert_eq!((found.problem, found.is_torn), (None, false));
                    assert_ne!(found.kind(), Some("revisit"), "{name}");
                }
            }
            (before, after, image) = (thinned, done.end, storage.image());
        }
        assert!(again > 0, "no file was cut again");
    }
}

#[test]
fn what_is_enough_goes_and_no_more() {
    let crawled = crawled(4, 60);
    let newest = newest(&crawled, u32::MAX);
    let storage = MemoryStorage::with_files(crawled.files.clone());
    let all = taken(&storage).unwrap().bytes;
    assert_eq!(cut(&storage, &newest, all, 5).unwrap(), CutFiles { end: 5, ..CutFiles::default() });
    assert_eq!(storage.image(), crawled.files);
    let one = cut(&storage, &newest, all - 1, 0).unwrap();
    let changed: Vec<String> =
        crawled.files.keys().filter(|name| storage.open(name).is_err()).cloned().collect();
    assert_eq!((changed.len(), one.end), (1, 1), "the oldest alone");
    // Nothing is left to cut: what is beyond the limit goes as whole files, of which the newest stays.
    cut(&storage, &newest, 0, one.end).unwrap();
    assert_eq!(cut(&storage, &newest, 0, 0).unwrap().dropped.records, 0);
    assert!(keep_within(&storage, 1).unwrap().files > 0);
    assert_eq!(taken(&storage).unwrap().files, 1);
}

#[test]
fn a_stop_or_an_error_at_any_point_leaves_each_newest_version() {
    let crawled = crawled(6, 60);
    let half = crawled.files.len() / 2;
    let begun = MemoryStorage::with_files(first(&crawled, half));
    cut(&begun, &newest(&crawled, half as u32), 0, 0).unwrap();
    let mut image = begun.image();
    image.extend(crawled.files.clone().into_iter().skip(half));
    let newest = newest(&crawled, u32::MAX);
    let done = MemoryStorage::with_files(image.clone());
    cut(&done, &newest, 0, 0).unwrap();
    let mut kills = 0;
    let mut run = |fault: StorageFault, survivors: Survivors| {
        let folder = FaultyStorage::with_files(image.clone());
        folder.set_fault(fault);
        let cut_once = cut(&folder, &newest, 0, 0).is_ok();
        let left = Arc::new(folder.after_power_cut(survivors));
        check(&left, &newest, &format!("{fault:?}"));
        cut(&*left, &newest, 0, 0).unwrap();
        check(&left, &newest, &format!("{fault:?}, then whole"));
        kills += 1;
        (cut_once, left.image())
    };
    for point in 1.. {
        let (is_done, _) = run(StorageFault::Fail(point), Survivors::All);
        if is_done {
            break;
        }
        for survivors in [Survivors::Synced, Survivors::Some(point)] {
            assert_eq!(run(StorageFault::Stop(point), survivors).1, done.image(), "{point}");
        }
    }
    for read in 1..200 {
        assert_eq!(run(StorageFault::FailRead(read), Survivors::All).1, done.image(), "read {read}");
    }
    println!("{kills} kills");
    assert!(kills > 250, "{kills}");
}
