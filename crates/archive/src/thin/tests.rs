//! A model says what stays, every page's chain leads through it, and a stop at any moment loses nothing of it.

use super::*;
use crate::answer::ArchivedAnswer;
use crate::months::{Month, months as all_months};
use crate::recovery::recover;
use crate::warcinfo::WarcProvenance;
use crate::{ArchiveReader, Compressor, EarlierCapture, Record, RecordHead};
use recrawl_repository::storage::{FaultyStorage, MemoryStorage, StorageFault, Survivors};
use std::collections::BTreeMap;
use std::sync::Arc;

mod sequences;

pub(crate) const DAY: u64 = 86_400_000;
/// 2026-01-01.
pub(crate) const START: u64 = 1_767_225_600_000;

/// A version of a page.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub at: ArchivePosition,
    time: u64,
    pub body: String,
    /// The files of the visits that found it again.
    revisits: Vec<u32>,
}

/// A crawl of some pages, once a day, in files of some records each: their names have no times that matter.
pub(crate) struct Crawled {
    pub files: BTreeMap<String, Vec<u8>>,
    pub pages: BTreeMap<String, Vec<Version>>,
}

/// Pseudo-random numbers below `end`.
fn dice(state: &mut u64, end: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % end
}

fn url(page: u64) -> String {
    format!("http://a.example/{page}")
}

fn begin_file(storage: &dyn Storage, number: u32, at: u64, is_recovered: bool) {
    let name = crate::files::file_name(number, at, "ab");
    let info = WarcProvenance::default().member(&name, at, is_recovered);
    storage.create(&name).unwrap().write(&info).unwrap();
}

fn append(storage: &dyn Storage, number: u32, member: &[u8]) -> ArchivePosition {
    let files = WarcFiles::in_storage(storage).unwrap();
    let name = files.name(number).unwrap();
    let offset = storage.open(name).unwrap().length().unwrap();
    storage.append(name).unwrap().write(member).unwrap();
    ArchivePosition { file: number, offset }
}

pub(crate) fn crawled(seed: u64, days: u64) -> Crawled {
    let (storage, mut state) = (Arc::new(MemoryStorage::new()), seed);
    let mut pages = BTreeMap::<String, Vec<Version>>::new();
    let mut compressor = Compressor::new();
    let mut number = 0;
    for day in 0..days {
        // A new file now and then; its first record has the time of the crawl, not of the test.
        if dice(&mut state, 4) == 0 || number == 0 {
            number += 1;
            begin_file(&*storage, number, START + day * DAY, false);
        }
        for page in 0..6 {
            let (url, at) = (url(page), START + day * DAY + page * 1000);
            let known = pages.entry(url.clone()).or_default();
            // Page 0 never changes, page 5 always does.
            let is_new = known.is_empty() || page == 5 || page > 0 && dice(&mut state, 3) == 0;
            let request = (page % 2 == 0).then_some(&b"GET / HTTP/1.1\r\n\r\n"[..]);
            let head = RecordHead { request, ..RecordHead::new(&url, at, 200) };
            let mut add = |record: Record<'_>| {
                append(&*storage, number, &record.compress(&mut compressor, &head, std::iter::empty()))
            };
            match known.last_mut() {
                Some(last) if !is_new => {
                    last.revisits.push(number);
                    let of = EarlierCapture { at: last.time };
                    add(match dice(&mut state, 2) {
                        0 => Record::Same { body: last.body.as_bytes(), of },
                        _ => Record::NotModified { of: Some(of) },
                    });
                }
                last => {
                    let (body, before) = (format!("{url} of day {day}"), last.map(|last| last.at));
                    let at = add(Record::Response { truncated: None, body: body.as_bytes(), before });
                    known.push(Version {
                        at,
                        time: START + day * DAY + page * 1000,
                        body,
                        revisits: Vec::new(),
                    });
                }
            }
        }
    }
    Crawled { files: storage.image(), pages }
}

fn month(time: u64) -> String {
    crate::timestamp(time)[..7].to_owned()
}

/// Thins all that is due.
fn thin(storage: &dyn Storage, crawled: &Crawled, until: u64, only_count: bool) -> io::Result<Dropped> {
    let named = |files: &BTreeSet<u32>| {
        let last = crawled.pages.values().filter_map(|versions| Some(versions.last()?.at));
        Ok(last.filter(|at| files.contains(&at.file)).collect())
    };
    let thinning = Thinning { storage, named: &named, go_on: &|| Ok(()) };
    if !only_count {
        crate::tidy(storage)?;
    }
    let (mut dropped, mut after) = (Dropped::default(), 0);
    while let Some(batch) = thinning.next(after, until)? {
        dropped.add(thinning.drop_from(&batch, START, only_count)?);
        after = batch.end();
    }
    Ok(dropped)
}

/// The chain of each page is what the model says, each body is there, and each revisit refers to one that is.
fn check(storage: Arc<dyn Storage>, crawled: &Crawled, until: u64) {
    let archive = ArchiveReader::open(storage).unwrap();
    let mut begun: Vec<u64> = Vec::new();
    for name in crawled.files.keys() {
        let storage = MemoryStorage::with_files(crawled.files.clone());
        let found = Records::open_at(&storage, name, 0).unwrap().next_record().unwrap().unwrap();
        begun.push(seconds_of(found.field("WARC-Date").unwrap()) * 1000);
    }
    let is_due = |file: u32| begun.get(file as usize).is_some_and(|next| *next <= until);
    let mut present = BTreeSet::new();
    for (url, versions) in &crawled.pages {
        let stays = |at: usize| {
            let is_last =
                versions.get(at + 1).is_none_or(|next| month(next.time) != month(versions[at].time));
            // A page's record names its last version; what it shows may be the one before it.
            let is_before_last = at + 2 == versions.len();
            // What is found again in a file that is not due stays with its revisit.
            is_last
                || is_before_last
                || !is_due(versions[at].at.file)
                || versions[at].revisits.iter().any(|file| !is_due(*file))
        };
        let expected: Vec<&Version> =
            (0..versions.len()).filter(|at| stays(*at)).map(|at| &versions[at]).collect();
        let (mut found, mut next) = (Vec::new(), versions.last().map(|last| last.at));
        while let Some(at) = next {
            let answer = ArchivedAnswer::read(&archive, at, 1 << 20).unwrap();
            assert_eq!(answer.field("WARC-Target-URI"), Some(url.as_str()));
            found.push((at, String::from_utf8(answer.body.clone()).unwrap()));
            next = answer.before();
        }
        found.reverse();
        assert_eq!(
            found,
            expected.iter().map(|version| (version.at, version.body.clone())).collect::<Vec<_>>()
        );
        present.extend(expected.iter().map(|version| (url.clone(), crate::timestamp(version.time))));
    }
    for (_, name) in archive.files.iter() {
        let mut records = archive.records(name).unwrap().checked();
        while let Some(found) = records.next_record().unwrap() {
            assert_eq!((found.problem, found.is_torn), (None, false));
            if found.kind() == Some("revisit") {
                let of = |field| found.field(field).unwrap().to_owned();
                let of = (of("WARC-Refers-To-Target-URI"), of("WARC-Refers-To-Date"));
                assert!(present.contains(&of), "a revisit without its body: {of:?}");
            }
        }
    }
}

#[test]
fn the_last_of_each_month_stays_and_every_chain_leads_through_it() {
    for seed in 0..12 {
        let crawled = crawled(seed, 120);
        for age in [0, 31, 60, 200] {
            let until = (START + 120 * DAY).saturating_sub(age * DAY);
            let storage = Arc::new(MemoryStorage::with_files(crawled.files.clone()));
            let counted = thin(&*storage, &crawled, until, true).unwrap();
            assert_eq!(storage.image(), crawled.files, "only counted");
            assert_eq!(thin(&*storage, &crawled, until, false).unwrap(), counted);
            let bytes =
                |files: &BTreeMap<String, Vec<u8>>| files.values().map(Vec::len).sum::<usize>() as u64;
            assert_eq!(
                bytes(&crawled.files).saturating_sub(bytes(&storage.image())),
                counted.freed(),
                "it says what it frees"
            );
            assert_eq!(counted.versions > 0, age < 100, "{seed}, {age}");
            check(storage.clone(), &crawled, until);
            let once = storage.image();
            assert_eq!(thin(&*storage, &crawled, until, false).unwrap(), Dropped::default());
            assert_eq!(storage.image(), once, "once is enough");
            // The newest file is as it was, so the archive goes on.
            let newest = crawled.files.last_key_value().unwrap();
            assert_eq!(once.last_key_value().unwrap(), newest);
            assert!(recover(&*storage, None, || Ok(1), START).is_ok());
        }
    }
}

#[test]
fn a_stop_or_an_error_at_any_point_loses_nothing_that_stays_and_a_second_run_ends_it() {
    let crawled = crawled(7, 60);
    let until = START + 60 * DAY;
    let done = MemoryStorage::with_files(crawled.files.clone());
    let all = thin(&done, &crawled, until, false).unwrap();
    assert!(all.versions > 20, "{all:?}");
    let points = {
        let folder = FaultyStorage::with_files(crawled.files.clone());
        thin(&folder, &crawled, until, false).unwrap();
        folder.points()
    };
    let mut kills = 0;
    for point in 1..=points {
        for (fault, survivors) in [
            (StorageFault::Fail(point), Survivors::All),
            (StorageFault::Stop(point), Survivors::Synced),
            (StorageFault::Stop(point), Survivors::Some(point)),
        ] {
            kills += 1;
            let folder = FaultyStorage::with_files(crawled.files.clone());
            folder.set_fault(fault);
            assert!(thin(&folder, &crawled, until, false).is_err());
            let left = Arc::new(folder.after_power_cut(survivors));
            // What is left can be read before anything is mended: each page's last version, and those of each month.
            let archive = ArchiveReader::open(left.clone()).unwrap();
            for versions in crawled.pages.values() {
                for (at, version) in versions.iter().enumerate() {
                    if versions.get(at + 1).is_none_or(|next| month(next.time) != month(version.time)) {
                        let answer = ArchivedAnswer::read(&archive, version.at, 1 << 20).unwrap();
                        assert_eq!(answer.body, version.body.as_bytes(), "{fault:?}");
                    }
                }
            }
            sequences::each_reference_leads_to_a_body(&archive, &format!("{fault:?}"));
            thin(&*left, &crawled, until, false).unwrap();
            check(left.clone(), &crawled, until);
            assert_eq!(left.image(), done.image(), "{fault:?}");
        }
    }
    println!("{kills} kills");
    assert!(kills > 200, "{kills}");
}

#[test]
fn a_damaged_file_stays_as_it_is() {
    let crawled = crawled(3, 90);
    let mut files = crawled.files.clone();
    let (name, bytes) = files.iter_mut().nth(1).unwrap();
    let (name, middle) = (name.clone(), bytes.len() / 2);
    bytes[middle..middle + 40].fill(0xff);
    let damaged = bytes.clone();
    let storage = MemoryStorage::with_files(files);
    let dropped = thin(&storage, &crawled, START + 90 * DAY, false).unwrap();
    assert!(dropped.versions > 0);
    assert_eq!(storage.image().get(&name), Some(&damaged));
}

/// It is as if it were not due: what its revisits refer to stays, and it holds up nothing.
#[test]
fn a_file_that_cannot_be_read_keeps_what_it_refers_to_and_the_rest_is_thinned() {
    let crawled = crawled(11, 90);
    let until = START + 90 * DAY;
    let done = MemoryStorage::with_files(crawled.files.clone());
    let all = thin(&done, &crawled, until, false).unwrap();
    let (mut reads, mut left, mut errors) = (0, 0, 0);
    for read in 1.. {
        let folder = FaultyStorage::with_files(crawled.files.clone());
        folder.set_fault(StorageFault::FailRead(read));
        match thin(&folder, &crawled, until, false) {
            Ok(dropped) if dropped == all && read > 200 => break,
            Ok(dropped) => {
                left += u32::from(dropped.versions < all.versions);
                assert!(dropped.versions > 0, "read {read}");
            }
            // While it is written anew. It was read a moment before.
            Err(_) => errors += 1,
        }
        reads += 1;
        folder.set_fault(StorageFault::None);
        let archive = ArchiveReader::open(Arc::new(folder.after_power_cut(Survivors::All))).unwrap();
        for version in crawled.pages.values().filter_map(|versions| versions.last()) {
            assert_eq!(
                ArchivedAnswer::read(&archive, version.at, 1 << 20).unwrap().body,
                version.body.as_bytes()
            );
        }
    }
    assert!(reads >= 200 && left > 10 && errors < reads / 2, "{left} and {errors} of {reads}");

    // The same of a file that is damaged for good: each of its revisits has its body.
    for damaged in crawled.files.keys() {
        let mut files = crawled.files.clone();
        let bytes = files.get_mut(damaged).unwrap();
        let end = bytes.len();
        bytes[end - 40..].fill(0xff);
        let storage = Arc::new(MemoryStorage::with_files(files));
        thin(&*storage, &crawled, until, false).unwrap();
        let mut bodies = BTreeSet::new();
        let mut revisits = BTreeSet::new();
        for (_, name) in ArchiveReader::open(storage.clone()).unwrap().files.iter() {
            let mut records = Records::open_at(&*storage, name, 0).unwrap();
            while let Ok(Some(found)) = records.next_record() {
                let of =
                    |url, date| (found.field(url).map(str::to_owned), found.field(date).map(str::to_owned));
                match found.kind() {
                    Some("response") => drop(bodies.insert(of("WARC-Target-URI", "WARC-Date"))),
                    Some("revisit") if name == damaged => {
                        revisits.insert(of("WARC-Refers-To-Target-URI", "WARC-Refers-To-Date"));
                    }
                    _ => {}
                }
            }
        }
        // Of a month before, its version may have gone.
        let month = |of: &(Option<String>, Option<String>)| of.1.as_ref().unwrap()[..7].to_owned();
        let newest = revisits.iter().map(month).max();
        let lost: Vec<_> = revisits.difference(&bodies).filter(|of| Some(month(of)) == newest).collect();
        assert!(lost.is_empty(), "{damaged}: {lost:?}");
    }
}

#[test]
fn a_takedown_finds_all_that_stayed() {
    let mut crawled = crawled(9, 90);
    let until = START + 90 * DAY;
    let storage = Arc::new(MemoryStorage::with_files(crawled.files.clone()));
    thin(&*storage, &crawled, until, false).unwrap();
    let last = crawled.pages.remove(&url(5)).unwrap().pop().unwrap();
    let taken = crate::takedown::take_down(&*storage, &|of| of == url(5), START, false).unwrap();
    assert!(taken.records > 2 && taken.unreadable.is_empty(), "{taken:?}");
    let archive = ArchiveReader::open(storage.clone()).unwrap();
    assert_eq!(ArchivedAnswer::read(&archive, last.at, 9).unwrap().field("WARC-Type"), Some("metadata"));
    for (_, name) in archive.files.iter() {
        let mut records = archive.records(name).unwrap();
        while let Some(found) = records.next_record().unwrap() {
            assert_ne!(found.field("WARC-Target-URI"), Some(url(5).as_str()));
        }
    }
    check(storage, &crawled, until);
}

#[test]
fn the_months_add_up() {
    let crawled = crawled(5, 70);
    let storage = MemoryStorage::with_files(crawled.files.clone());
    let months = all_months(&storage, &|| Ok(())).unwrap();
    let bytes: usize = crawled.files.values().map(Vec::len).sum();
    assert_eq!(months.values().map(|month| month.bytes).sum::<u64>(), bytes as u64);
    let versions: usize = crawled.pages.values().map(Vec::len).sum();
    assert_eq!(months.values().map(|month| month.versions).sum::<u64>(), versions as u64);
    assert_eq!(months.keys().collect::<Vec<_>>(), ["2026-01", "2026-02", "2026-03"]);
    let counted = thin(&storage, &crawled, START + 70 * DAY, false).unwrap();
    let after = all_months(&storage, &|| Ok(())).unwrap();
    assert_eq!(after["indices"].bytes, counted.indices);
    let left = |months: &BTreeMap<String, _>| months.values().map(|month: &Month| month.bytes).sum::<u64>();
    assert_eq!(left(&after), left(&months) - counted.freed());
}
