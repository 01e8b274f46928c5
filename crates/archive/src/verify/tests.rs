//! Each byte of an archive matters: a flipped bit is reported, or a page's position leads nowhere.

use super::*;
use crate::{Archive, ArchiveEnd, Compressor, EarlierCapture, Record, RecordHead, WarcProvenance};
use recrawl_repository::Repository;
use recrawl_repository::storage::MemoryStorage;
use recrawl_types::{ArchivePosition, Content, Cycle, History, UrlRules, Visited};
use std::io::Read;
use std::sync::Arc;

const FILE: &str = "recrawl-000001.warc.gz";

fn url(page: u32) -> CanonicalUrl {
    UrlRules::keep_all().canonicalize(&format!("http://a.example/{page}")).unwrap()
}

/// An archive of some pages, and the positions of their bodies.
fn archived(pages: u32) -> (Arc<MemoryStorage>, Vec<ArchivePosition>) {
    let storage = Arc::new(MemoryStorage::new());
    let mut archive =
        Archive::open(storage.clone(), 1 << 20, WarcProvenance::default(), ArchiveEnd::default(), true)
            .unwrap();
    let mut compressor = Compressor::new();
    let mut positions = Vec::new();
    for page in 0..pages {
        let address = url(page).as_text();
        let request = Some(&b"GET / HTTP/1.1\r\n\r\n"[..]).filter(|_| page % 2 == 1);
        let head = RecordHead { request, ..RecordHead::new(&address, 1_700_000_000_000, 200) };
        let body = format!("<p>page {page}</p>").repeat(20);
        let record = Record::Response { truncated: None, body: body.as_bytes(), before: None };
        let headers = [("Content-Type", &b"text/html"[..])].into_iter();
        positions.push(archive.append(&record.compress(&mut compressor, &head, headers)).unwrap());
        let same = Record::Same { body: body.as_bytes(), of: EarlierCapture { at: 0 } };
        archive.append(&same.compress(&mut compressor, &head, std::iter::empty())).unwrap();
    }
    // As earlier releases named it.
    let bytes = storage.image().into_values().next().unwrap();
    (Arc::new(MemoryStorage::with_files([(FILE.into(), bytes)].into())), positions)
}

fn generation(positions: &[ArchivePosition]) -> Arc<Generation> {
    let mut repository = Repository::open(Arc::new(MemoryStorage::new())).unwrap();
    let empty = repository.current();
    let mut writer = repository.begin(&empty, Cycle(1)).unwrap();
    for (page, position) in (0..).zip(positions) {
        let mut record = PageRecord::discovered(Cycle(1), 0);
        let content = Content { archive: Some(*position), ..Content::default() };
        record.visited = Some(Visited { history: History::first_fetch(Cycle(1)), content });
        writer.push(url(page).key(), &record).unwrap();
    }
    repository.commit(writer, b"").unwrap();
    repository.current()
}

fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut all).unwrap();
    all
}

#[test]
fn a_flipped_bit_in_any_byte_is_told() {
    let (storage, positions) = archived(4);
    let generation = generation(&positions);
    let sound = verify(&*storage, &generation, MayBeGone::default()).unwrap();
    assert_eq!((sound.records, &sound.damage[..], &sound.notes[..]), (13, &[][..], &[][..]));
    let bytes = storage.image()[FILE].clone();
    let (mut flips, mut untold) = (0, 0);
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            let storage = MemoryStorage::with_files([(FILE.into(), flipped)].into());
            let found = verify(&storage, &generation, MayBeGone::default()).unwrap();
            flips += 1;
            if found.damage.is_empty() && found.notes.is_empty() {
                untold += 1;
                // Some bits of a gzip member mean nothing: the compression level, the text flag,
                // and the padding of the last byte (RFC 1952 §2.3.1, RFC 1951 §3.2.3).
                assert_eq!(unpacked(&storage.image()[FILE]), unpacked(&bytes), "byte {at}, bit {bit}");
            }
        }
    }
    println!("{flips} flips, {untold} of them in bits that mean nothing");
}

#[test]
fn damage_is_told_where_it_lies_and_what_is_behind_it_is_read() {
    let (storage, positions) = archived(4);
    let generation = generation(&positions);
    let mut bytes = storage.image()[FILE].clone();
    bytes[positions[1].offset as usize + 60] ^= 1;
    let found = verify(
        &MemoryStorage::with_files([(FILE.into(), bytes.clone())].into()),
        &generation,
        MayBeGone::default(),
    )
    .unwrap();
    assert_eq!(found.records, 12, "{found:?}");
    assert!(found.damage.iter().all(|d| d.offset == positions[1].offset), "{found:?}");
    assert!(found.damage.iter().any(|d| d.what.contains("http://a.example/1")), "{found:?}");

    // An incomplete record at the end is no damage, unless a page refers to it.
    let torn = &storage.image()[FILE][..storage.image()[FILE].len() - 3];
    let torn = MemoryStorage::with_files([(FILE.into(), torn.to_vec())].into());
    let found = verify(&torn, &generation, MayBeGone::default()).unwrap();
    assert!(found.damage.is_empty() && found.notes.len() == 1, "{found:?}");
    let short = &storage.image()[FILE][..positions[3].offset as usize + 3];
    let short = MemoryStorage::with_files([(FILE.into(), short.to_vec())].into());
    assert!(!verify(&short, &generation, MayBeGone::default()).unwrap().damage.is_empty());
}

#[test]
fn a_position_that_leads_to_another_page_or_nowhere_is_told_and_taken_out_of_a_saved_record() {
    let (storage, mut positions) = archived(4);
    let beyond = ArchivePosition { file: 1, offset: 1 << 40 };
    let gone = ArchivePosition { file: 9, offset: 0 };
    positions[1] = positions[0];
    positions[2] = ArchivePosition { offset: positions[2].offset + 1, ..positions[2] };
    positions[3] = beyond;
    positions.push(gone);
    let found = verify(&*storage, &generation(&positions), MayBeGone::default()).unwrap();
    assert_eq!(found.damage.len(), 4, "{found:?}");
    let missing = &found.damage[3];
    assert!(missing.file.ends_with("recrawl-*-000009-*.warc.gz"), "{missing}");
    assert_eq!(missing.what, format!("missing, with the bodies of 1 pages, such as {}", url(4).as_text()));
    for (page, damage) in (1..=3).zip(&found.damage) {
        assert!(damage.what.contains(&url(page).as_text()[..]), "{damage}");
    }
    let bodies = Bodies::in_storage(&*storage).unwrap();
    for (page, position) in (0..).zip(positions) {
        let content = Content { archive: Some(position), ..Content::default() };
        let visited = Visited { history: History::first_fetch(Cycle(1)), content };
        let mut record = PageRecord { visited: Some(visited), ..PageRecord::default() };
        let is_lost = forget_unreadable(&*storage, &bodies, &url(page), &mut record);
        assert_eq!(is_lost, (1..=3).contains(&page), "{page}");
        assert_eq!(record.visited.unwrap().content.archive.is_none(), is_lost);
    }
}

/// `storage.archive_max` removes the oldest files, never the newest. A copy of the last commit alone has none.
#[test]
fn a_file_that_nothing_removes_is_damage_when_it_is_missing() {
    let (whole, positions) = archived(3);
    let bytes = &whole.image()[FILE];
    let storage = |numbers: &[u32]| {
        let name = |number: &u32| format!("recrawl-{number:06}.warc.gz");
        MemoryStorage::with_files(numbers.iter().map(|number| (name(number), bytes.clone())).collect())
    };
    let in_files = [2, 3, 4].map(|file| ArchivePosition { file, ..positions[0] });
    let pages: Vec<ArchivePosition> =
        (0..3).map(|page| ArchivePosition { offset: positions[page].offset, ..in_files[page] }).collect();
    let generation = generation(&pages);
    let found = |present: &[u32], oldest, all| {
        let found = verify(&storage(present), &generation, MayBeGone { oldest, all }).unwrap();
        (found.damage.len(), found.notes.len())
    };
    for (present, capped, uncapped) in [
        (&[2, 3, 4][..], (0, 0), (0, 0)),
        (&[1, 2, 3, 4], (0, 0), (0, 0)),
        (&[3, 4], (0, 0), (0, 1)),
        (&[4, 5], (0, 0), (0, 1)),
        (&[5], (0, 0), (0, 1)),
        (&[2, 4], (1, 0), (1, 0)),
        (&[3], (1, 0), (1, 1)),
        (&[2], (2, 0), (2, 0)),
        (&[], (3, 0), (3, 0)),
    ] {
        assert_eq!(found(present, true, false), capped, "{present:?}");
        assert_eq!(found(present, false, false), uncapped, "{present:?}");
    }
    assert_eq!(found(&[], false, true), (0, 1), "no folder: told, but no damage");
    assert_eq!(found(&[2], false, true), (2, 0));
}
