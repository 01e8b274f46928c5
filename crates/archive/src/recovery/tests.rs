//! Archive and visit log on a disk whose power fails at every point: the archive has all bodies
//! that the log names.

use super::*;
use crate::answer::holds;
use crate::{Archive, Compressor, Record, RecordHead, WarcProvenance};
use recrawl_repository::VisitLog;
use recrawl_repository::storage::{FaultyStorage, MemoryStorage, StorageFault, Survivors};
use recrawl_types::{
    ArchivePosition, CanonicalUrl, Change, Content, LogRecord, Outcome, Round, UrlRules, Visit,
};
use std::collections::BTreeMap;
use std::sync::Arc;

const NOW: u64 = 1_795_000_000_000;
const ROUND: Round = Round(1);
const VISITS: u64 = 12;
/// Number of visits between two syncs.
const SYNC_EVERY: u64 = 4;
/// A file holds about three bodies.
const LIMIT: u64 = 4_000;

fn url(index: u64) -> CanonicalUrl {
    UrlRules::keep_all().canonicalize(&format!("http://a.example/{index}")).unwrap()
}

/// An incompressible body, so that records span sectors.
fn body(index: u64) -> Vec<u8> {
    let mut state = index as u32 + 1;
    let step = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..1_200).map(step).collect()
}

/// A response and its request.
fn member(index: u64, at: u64) -> Vec<u8> {
    let address = url(index).as_text();
    let request = format!("GET /{index} HTTP/1.1\r\nhost: a.example\r\n\r\n");
    let head = RecordHead { request: Some(request.as_bytes()), ..RecordHead::new(&address, at, 200) };
    let record = Record::Response { truncated: None, body: &body(index), before: None };
    record.compress(&mut Compressor::new(), &head, std::iter::empty())
}

/// The mark stored in the tables, which are durable by then.
type Mark = Option<ArchiveMark>;

fn stays(visit: &Visit, sound: ArchiveEnd) -> bool {
    let position = visit.content.as_ref().and_then(|content| content.archive);
    position.is_none_or(|position| sound.is_behind(position))
}

/// The results of a run of the cycle for the check.
#[derive(Default)]
struct Run {
    /// Visits that were synced.
    synced: Vec<u64>,
    cut: u64,
}

/// Runs or resumes the cycle as recorder and plan do; each run writes other bytes of the same
/// pages.
fn run(storage: &Arc<dyn Storage>, mark: &mut Mark, at: u64, run: &mut Run) -> io::Result<()> {
    let recovery = recover(&**storage, *mark, || Ok(0), NOW)?;
    let observe = |visit: &Visit| stays(visit, recovery.sound);
    let (mut log, recovered) =
        VisitLog::open_observed(&**storage, ROUND, observe).map_err(io::Error::other)?;
    run.cut += recovered.cut;
    *mark = Some(ArchiveMark { end: recovery.end, is_open: true });
    let mut archive =
        Archive::open(storage.clone(), LIMIT, WarcProvenance::default(), recovery.end, recovery.is_new_file)?;
    let mut unsynced = Vec::new();
    for index in (0..VISITS).filter(|index| !recovered.done.contains(*index)) {
        let position = archive.append(&member(index, at))?;
        let content = Content { archive: Some(position), ..Content::default() };
        let visit = Visit::new(url(index), Outcome::Fetched(Change::First));
        let visit = Visit { index: Some(index), content: Some(content), ..visit };
        log.append(&LogRecord::Visit(Box::new(visit)))?;
        unsynced.push(index);
        if index % SYNC_EVERY == SYNC_EVERY - 1 {
            archive.sync()?;
            log.sync()?;
            run.synced.append(&mut unsynced);
        }
    }
    archive.sync()?;
    log.sync()?;
    run.synced.append(&mut unsynced);
    *mark = Some(ArchiveMark { end: archive.end(), is_open: false });
    Ok(())
}

/// The position of each page's body, according to the log.
fn positions(storage: &dyn Storage) -> BTreeMap<u64, ArchivePosition> {
    let mut log = VisitLog::read(storage, ROUND).unwrap();
    let mut positions = BTreeMap::new();
    while let Some(record) = log.next_record().unwrap() {
        let LogRecord::Visit(visit) = record else { continue };
        let position = visit.content.unwrap().archive.unwrap();
        assert!(positions.insert(visit.index.unwrap(), position).is_none(), "a page is in the log twice");
    }
    positions
}

/// Every byte of every file belongs to a complete record; the number of those that replace torn ones.
fn overwritten(storage: &dyn Storage, what: &str) -> u64 {
    let mut overwritten = 0;
    for name in storage.list().unwrap().iter().filter(|name| name.ends_with(".warc.gz")) {
        let mut records = Records::open_at(storage, name, 0).unwrap().checked();
        while let Some(found) = records.next_record().unwrap_or_else(|e| panic!("{what}: {e}")) {
            assert_eq!((found.is_torn, found.problem), (false, None), "{what}: {name} at {}", found.offset);
            overwritten += u64::from(Reason::find(&found) == Some(Reason::Torn));
        }
    }
    overwritten
}

/// Resumes after a power cut until the end: all synced visits are there, each position leads to its
/// page, and the files are sound. Returns the visits cut off and the records overwritten.
fn check(left: MemoryStorage, mut mark: Mark, before: &Run, what: &str) -> (u64, u64) {
    let copy = MemoryStorage::with_files(left.image());
    let sound = recover(&copy, mark, || Ok(0), NOW).unwrap().sound;
    let (_, recovered) = VisitLog::open_observed(&copy, ROUND, |visit| stays(visit, sound)).unwrap();
    for index in &before.synced {
        assert!(recovered.done.contains(*index), "{what}: visit {index} was synced and is lost");
    }
    let left: Arc<dyn Storage> = Arc::new(left);
    let mut again = Run::default();
    run(&left, &mut mark, 2_000, &mut again).unwrap_or_else(|e| panic!("{what}: {e}"));
    let positions = positions(&*left);
    assert_eq!(positions.len() as u64, VISITS, "{what}");
    let files = WarcFiles::in_storage(&*left).unwrap();
    for (index, position) in positions {
        let name = files.name(position.file).unwrap();
        assert!(
            holds(&*left, name, position.offset, &url(index).as_text()),
            "{what}: {position:?} is no record of page {index}"
        );
    }
    (again.cut, overwritten(&*left, what))
}

#[test]
fn no_position_of_the_log_leads_elsewhere_after_a_power_cut_at_any_point() {
    let (mut points, mut tried, mut cut, mut kept, mut mended) = (0, 0, 0, 0, 0);
    // The first run, one that continues the file of an earlier one, and one after a crash.
    for earlier in 0..3 {
        let prepared = || {
            let storage = Arc::new(FaultyStorage::new());
            let shared: Arc<dyn Storage> = storage.clone();
            let (mut mark, mut before) = (None, Run::default());
            if earlier > 0 {
                let mut archive = Archive::open(
                    shared.clone(),
                    LIMIT,
                    WarcProvenance::default(),
                    ArchiveEnd::default(),
                    true,
                )
                .unwrap();
                archive.append(&member(99, 500)).unwrap();
                archive.sync().unwrap();
                mark = Some(ArchiveMark { end: archive.end(), is_open: earlier > 1 });
            }
            if earlier > 1 {
                storage.set_fault(StorageFault::Stop(17));
                run(&shared, &mut mark, 700, &mut before).unwrap_err();
                let left = storage.after_power_cut(Survivors::All);
                return (Arc::new(FaultyStorage::with_files(left.image())), mark, before);
            }
            (storage, mark, before)
        };
        for point in 1.. {
            let (storage, mut mark, mut before) = prepared();
            storage.set_fault(StorageFault::Stop(point));
            if run(&(storage.clone() as Arc<dyn Storage>), &mut mark, 1_000, &mut before).is_ok() {
                break;
            }
            points += 1;
            kept += before.synced.len();
            let chances = (0..8).map(|i| Survivors::Some(point * 1_031 + i));
            for survivors in [Survivors::Synced, Survivors::All].into_iter().chain(chances) {
                let what = format!("after {earlier} runs, cut at point {point}, {survivors:?}");
                let left = storage.after_power_cut(survivors);
                let (visits, records) = check(left, mark, &before, &what);
                cut += u64::from(visits > 0);
                mended += records;
                tried += 1;
            }
        }
    }
    println!(
        "{points} points, {tried} power cuts, {cut} of them cut the log; {kept} visits were synced before, \
         {mended} torn records overwritten"
    );
    assert!(tried > 900 && cut > 100 && kept > 100, "{tried} cuts, {cut} of the log, {kept} synced");
    assert!(mended > 20, "{mended} torn records overwritten");
}

/// An error of the disk at any point ends the run, and the next one resumes.
#[test]
fn an_error_at_any_point_leads_no_position_elsewhere() {
    for point in 1.. {
        let storage = Arc::new(FaultyStorage::new());
        let (mut mark, mut before) = (None, Run::default());
        storage.set_fault(StorageFault::Fail(point));
        let done = run(&(storage.clone() as Arc<dyn Storage>), &mut mark, 1_000, &mut before);
        storage.set_fault(StorageFault::None);
        let points = storage.points();
        for survivors in [Survivors::Synced, Survivors::All] {
            let what = format!("error at point {point}, {survivors:?}");
            check(storage.after_power_cut(survivors), mark, &before, &what);
        }
        if done.is_ok() {
            assert!(point > 40 && points < point, "{point} points");
            break;
        }
    }
}

fn archive_of(bodies: u64) -> (Arc<MemoryStorage>, Archive, Vec<ArchivePosition>) {
    let storage = Arc::new(MemoryStorage::new());
    let mut archive =
        Archive::open(storage.clone(), 1 << 20, WarcProvenance::default(), ArchiveEnd::default(), true)
            .unwrap();
    let positions = (0..bodies).map(|index| archive.append(&member(index, 1)).unwrap()).collect();
    (storage, archive, positions)
}

/// The name of the first file.
fn first(storage: &MemoryStorage) -> String {
    WarcFiles::in_storage(storage).unwrap().name(1).unwrap().to_owned()
}

/// Length of the record that begins at this byte of the first file.
fn response_length(storage: &MemoryStorage, offset: u64) -> u64 {
    Records::open_at(storage, &first(storage), offset).unwrap().next_record().unwrap().unwrap().length
}

fn cut_to(storage: &MemoryStorage, name: &str, length: u64) {
    storage.append(name).unwrap().truncate(length).unwrap();
}

/// Power fails after the end of a cycle: what the next one appended is gone to the byte, and its
/// log is there.
#[test]
fn a_file_that_ends_where_it_was_closed_is_gone_on_with_only_if_nothing_was_appended_since() {
    let (storage, archive, _) = archive_of(2);
    let closed = ArchiveMark { end: archive.end(), is_open: false };
    let recovery = recover(&*storage, Some(closed), || Ok(0), NOW).unwrap();
    assert_eq!(recovery, Recovery { sound: closed.end, end: closed.end, is_new_file: false });
    let mut archive =
        Archive::open(storage.clone(), 1 << 20, WarcProvenance::default(), recovery.end, false).unwrap();
    let lost = archive.append(&member(7, 1)).unwrap();
    cut_to(&storage, &first(&storage), closed.end.length);
    let open = ArchiveMark { is_open: true, ..closed };
    let recovery = recover(&*storage, Some(open), || Ok(0), NOW).unwrap();
    assert!(recovery.is_new_file && !recovery.sound.is_behind(lost));
    let mut archive =
        Archive::open(storage, 1 << 20, WarcProvenance::default(), recovery.end, recovery.is_new_file)
            .unwrap();
    let other = archive.append(&member(8, 1)).unwrap();
    assert_eq!((lost.file, other.file), (1, 2), "no other record may come to lie there");
}

#[test]
fn a_torn_end_is_cut_off_and_no_complete_record_is_removed() {
    let (storage, archive, positions) = archive_of(4);
    let open = |length| Some(ArchiveMark { end: ArchiveEnd { number: 1, length }, is_open: true });
    let length = archive.end().length;
    let image = storage.image();
    // Torn within the last request, whose response stays, and within the last response.
    let request = positions[3].offset + response_length(&storage, positions[3].offset);
    for (torn, sound) in [(length - 1, request), (request - 1, positions[3].offset)] {
        let storage = MemoryStorage::with_files(image.clone());
        cut_to(&storage, &first(&storage), torn);
        let recovery = recover(&storage, open(0), || Ok(0), NOW).unwrap();
        assert_eq!(recovery.sound, ArchiveEnd { number: 1, length: sound });
        assert_eq!(recovery.sound.is_behind(positions[3]), sound == request);
        assert_eq!(storage.image()[&first(&storage)].len() as u64, sound, "the torn end is cut");
    }

    // Damage in the middle of the file: the log may name nothing after it, no complete record is
    // removed, and other programs can read on.
    let mut damaged = image.clone();
    damaged.get_mut(&first(&storage)).unwrap()[positions[1].offset as usize + 40] ^= 1;
    let damaged = MemoryStorage::with_files(damaged);
    let recovery = recover(&damaged, open(0), || Ok(0), NOW).unwrap();
    assert_eq!((recovery.sound.length, recovery.end.length), (positions[1].offset, length));
    let (after, torn) = (&damaged.image()[&first(&storage)], positions[1].offset as usize);
    let next = torn + response_length(&storage, positions[1].offset) as usize;
    assert!(
        after[..torn] == image[&first(&storage)][..torn] && after[next..] == image[&first(&storage)][next..]
    );
    assert_eq!(overwritten(&damaged, "damage in the middle"), 1);
    // Data committed before is not read.
    let mut later = image.clone();
    later.get_mut(&first(&storage)).unwrap()[positions[1].offset as usize + 40] ^= 1;
    let damaged = MemoryStorage::with_files(later.clone());
    let recovery = recover(&damaged, open(positions[2].offset), || Ok(0), NOW).unwrap();
    assert_eq!((recovery.sound.length, recovery.end.length), (length, length));
    assert_eq!(damaged.image(), later);
    // Without a mark, nothing is cut.
    let torn = MemoryStorage::with_files(image);
    cut_to(&torn, &first(&storage), length - 1);
    let recovery = recover(&torn, None, || Ok(0), NOW).unwrap();
    assert_eq!((recovery.sound.length, recovery.end.length), (request, length - 1));
    assert_eq!(torn.image()[&first(&storage)].len() as u64, length - 1);
}

/// The files of a storage by their names.
type Image = BTreeMap<String, Vec<u8>>;

/// A mark at the beginning of the first file.
const OPEN: Mark = Some(ArchiveMark { end: ArchiveEnd { number: 1, length: 0 }, is_open: true });

/// A file with a torn record between whole ones and another one at the end, as it is and as it is
/// after a recovery; its name, and the offset of the first torn record.
fn torn_twice() -> (Image, Image, String, u64) {
    let (storage, _, positions) = archive_of(5);
    let (name, mut torn, at) = (first(&storage), storage.image(), positions[1].offset);
    let bytes = torn.get_mut(&name).unwrap();
    bytes[at as usize + 40] ^= 1;
    bytes.truncate(positions[4].offset as usize + 300);
    let whole = MemoryStorage::with_files(torn.clone());
    let recovery = recover(&whole, OPEN, || Ok(0), NOW).unwrap();
    let end = ArchiveEnd { number: 1, length: positions[4].offset };
    assert_eq!(recovery, Recovery { sound: ArchiveEnd { length: at, ..end }, end, is_new_file: true });
    assert_eq!((overwritten(&whole, "undisturbed"), whole.image().len()), (1, 1));
    (torn, whole.image(), name, at)
}

/// The log is cut after the archive: if the power fails between them, the next recovery must find the
/// same sound part.
#[test]
fn a_recovery_that_is_disturbed_at_any_point_and_repeated_finds_the_same_sound_part() {
    let (torn, whole, name, at) = torn_twice();
    let cut = whole[&name].len();
    let (mut points, mut done) = (0, 0);
    for fault in [StorageFault::Stop, StorageFault::Fail] {
        for point in 1.. {
            let what = format!("{:?}", fault(point));
            let storage = FaultyStorage::with_files(torn.clone());
            storage.set_fault(fault(point));
            let recovered = recover(&storage, OPEN, || Ok(0), NOW);
            if storage.points() < point {
                assert!(recovered.is_ok());
                break;
            }
            points += 1;
            assert!(recovered.is_err(), "{what}");
            for survivors in [Survivors::Synced, Survivors::Some(point * 1_031), Survivors::All] {
                let left = storage.after_power_cut(survivors);
                let bytes = left.image().remove(&name).unwrap();
                let is_done = bytes == whole[&name];
                assert!(is_done || bytes[..cut] == torn[&name][..cut], "{what}, {survivors:?}");
                done += u64::from(is_done);
                let recovery = recover(&left, OPEN, || Ok(0), NOW).unwrap();
                assert_eq!((recovery.sound.length, recovery.end.length), (at, cut as u64), "{what}");
                assert_eq!(left.image(), whole, "{what}, {survivors:?}");
            }
        }
    }
    assert!(points > 8 && done > 1, "{points} points, {done} times overwritten");
}

#[test]
fn a_read_that_fails_or_ends_early_changes_no_file() {
    let (torn, whole, ..) = torn_twice();
    for fault in [StorageFault::FailRead, StorageFault::ShortRead] {
        for read in 1.. {
            let storage = FaultyStorage::with_files(torn.clone());
            storage.set_fault(fault(read));
            if recover(&storage, OPEN, || Ok(0), NOW).is_ok() {
                assert!(read > 2, "{:?}", fault(read));
                break;
            }
            storage.set_fault(StorageFault::None);
            let left = storage.after_power_cut(Survivors::All);
            recover(&left, OPEN, || Ok(0), NOW).unwrap();
            assert_eq!(left.image(), whole, "{:?}", fault(read));
        }
    }
}

#[test]
fn without_a_mark_or_without_space_nothing_is_overwritten_and_the_crawl_starts() {
    let (torn, whole, name, at) = torn_twice();
    let unmarked = MemoryStorage::with_files(torn.clone());
    assert_eq!(recover(&unmarked, None, || Ok(0), NOW).unwrap().sound.length, at);
    assert_eq!(unmarked.image(), torn);
    let full = FaultyStorage::with_files(torn.clone());
    full.set_fault(StorageFault::Full(torn[&name].len() as u64 + 100));
    assert_eq!(recover(&full, OPEN, || Ok(0), NOW).unwrap().sound.length, at);
    let left = full.after_power_cut(Survivors::All).image();
    let cut = whole[&name].len();
    assert_eq!((left.len(), &left[&name]), (1, &torn[&name][..cut].to_vec()));
}

#[test]
fn a_long_torn_part_is_overwritten_in_pieces() {
    let parts = [0..10, 20..20 + 2 * PIECE, 5 << 20..(8 << 20) + 1];
    let pieces = pieces(&parts);
    let lengths: Vec<u64> = pieces.iter().map(|piece| piece.end - piece.start).collect();
    assert_eq!(lengths, [10, 2 * PIECE, PIECE, PIECE, PIECE + 1]);
}

/// Older files are complete, so what is damaged in them since is left for people to look at.
#[test]
fn a_file_before_the_one_of_the_mark_is_left_alone() {
    let (torn, ..) = torn_twice();
    let storage = MemoryStorage::with_files(torn.clone());
    let mark = ArchiveMark { end: ArchiveEnd { number: 2, length: 77 }, is_open: true };
    let recovery = recover(&storage, Some(mark), || Ok(2), NOW).unwrap();
    assert_eq!((recovery.sound, recovery.end), (mark.end, mark.end));
    assert_eq!(storage.image(), torn);
    // Nor is it read after the file behind it was removed as one without a record.
    let name = super::super::files::file_name(2, NOW, "ab");
    storage.create(&name).unwrap().write(b"torn").unwrap();
    let recovery = recover(&storage, OPEN, || Ok(1), NOW).unwrap();
    let length = torn[&first(&storage)].len() as u64;
    assert_eq!((recovery.end, storage.image()), (ArchiveEnd { number: 1, length }, torn));
}

#[test]
fn numbers_of_files_that_were_taken_away_are_not_given_again() {
    let (storage, archive, _) = archive_of(1);
    let closed = Some(ArchiveMark { end: archive.end(), is_open: false });
    storage.remove(&first(&storage)).unwrap();
    let recovery = recover(&*storage, closed, || Ok(0), NOW).unwrap();
    let mut archive =
        Archive::open(storage, 1 << 20, WarcProvenance::default(), recovery.end, recovery.is_new_file)
            .unwrap();
    assert_eq!(archive.append(&member(1, 1)).unwrap().file, 2);
    // Nor if the tables are lost too: pages' records name the files.
    let recovery = recover(&MemoryStorage::new(), None, || Ok(7), NOW).unwrap();
    assert_eq!((recovery.end.number, recovery.is_new_file), (7, true));
    let older: ArchiveMark = serde_json::from_str(r#"{"number":3,"length":9}"#).unwrap();
    assert_eq!(
        older,
        ArchiveMark { end: ArchiveEnd { number: 3, length: 9 }, is_open: false },
        "as it was kept before"
    );
}
