//! What the repository reads from disk. Input: a byte that says what the rest is, a byte for version and
//! packing, and parts with their lengths before them.
//!
//! Checksums would turn every mutation away at the door, so they are put right here (`image.rs`): what is tested
//! is that bytes with a good checksum which nobody ever wrote are refused, and harm nothing.

mod image;

use crate::FuzzTarget;
use image::{CYCLE, Image, InputParts, ROUND, varint};
use recrawl_repository::codec::{
    put_host, put_link, put_visit, take_host, take_link, take_log_record, take_visit,
};
use recrawl_repository::storage::MemoryStorage;
use recrawl_repository::{BLOCK_PAGES, Generation, Repository, ScheduleFile, ScheduleWriter, VisitLog};
use recrawl_types::{Cycle, DatedRound, LogRecord, PageRecord, ScheduleSource};
use std::fmt::Debug;
use std::sync::Arc;

/// Readers of the repository's files as a target.
pub const TARGET: FuzzTarget = FuzzTarget { name: "repository", check };

/// Asserts that what is read once can be written, and is then read as the same.
pub fn check(data: &[u8]) {
    let mut parts = InputParts::new(data);
    let kind = parts.byte();
    let how = image::How::from_byte(parts.byte());
    match kind % 8 {
        0 => generation(&mut parts, how),
        1 => log(&mut parts, how),
        2 => kept_visits(&mut parts, how),
        3 => schedule(&mut parts, how),
        4 => index(&mut parts, how),
        5 => any_file(&mut parts),
        6 => records(parts.rest()),
        _ => host(parts.rest()),
    }
}

/// As text: NaN is equal to nothing.
fn assert_same(a: &impl Debug, b: &impl Debug) {
    assert_eq!(format!("{a:?}"), format!("{b:?}"));
}

/// One block of pages: a number of pages, of visited ones, its four parts, and the origins.
fn generation(parts: &mut InputParts<'_>, how: image::How) {
    let pages = u64::from(parts.short()) % (BLOCK_PAGES as u64 + 2);
    let visited = u64::from(parts.short()) % (pages + 1);
    let origins = parts.byte();
    let mut image = Image::default();
    let [keys, known, history, content] = [parts.part(), parts.part(), parts.part(), parts.part()];
    let mut index = [varint(pages), varint(visited), vec![0]].concat();
    let key = first_key(keys);
    index.extend(varint(key.len() as u64));
    index.extend_from_slice(key);
    for (part, kind, payload) in
        [("keys", 3, keys), ("known", 5, known), ("history", 6, history), ("content", 7, content)]
    {
        let places = image.frames(&image::generation(part), kind, how, &[payload]);
        index.extend([varint(places[0].0), varint(places[0].1)].concat());
    }
    // That of version 3 leaves to the reader what is counted in the parts.
    image.frames(&image::generation("index"), 2, image::How { older: 1, packed: false }, &[&index]);
    image.frames(&image::generation("origins"), 4, how, &[parts.rest()]);
    image.manifest([pages, visited, 0, u64::from(origins)]);
    open(image);
}

/// The first key of a block's keys; the index repeats it.
fn first_key(keys: &[u8]) -> &[u8] {
    match keys {
        [0, length, rest @ ..] if *length < 128 => &rest[..rest.len().min(usize::from(*length))],
        _ => &[],
    }
}

/// An index that says what it likes of a generation whose other files are short.
fn index(parts: &mut InputParts<'_>, how: image::How) {
    let (pages, visited) = (parts.short(), parts.short());
    let mut image = Image::default();
    for (part, kind) in [("keys", 3), ("known", 5), ("history", 6), ("content", 7), ("origins", 4)] {
        image.frames(&image::generation(part), kind, how, &[parts.part()]);
    }
    let index = parts.rest();
    image.frames(&image::generation("index"), 2, image::How::default(), &[index, index]);
    image.manifest([pages.into(), visited.into(), 0, 1]);
    open(image);
}

fn open(image: Image) {
    let Ok(repository) = Repository::open_read(Arc::new(MemoryStorage::with_files(image.files))) else {
        return;
    };
    let generation = repository.current();
    let is_sound = repository.verify().is_empty();
    let mut states = generation.states();
    let mut rows = 0;
    while let Ok(Some((first, columns))) = states.next_block() {
        assert_eq!(first, rows);
        rows += columns.len() as u64;
    }
    let mut gathered = generation.gather(0..generation.pages());
    while let Ok(Some(_)) = gathered.next_page() {}
    if !is_sound {
        return;
    }
    assert_eq!(rows, generation.pages(), "sound, and not all of it can be read");
    let pages = all(&generation);
    let storage: Arc<MemoryStorage> = Arc::default();
    let mut copy = Repository::open(storage).expect("memory can be written");
    let empty = Generation::default();
    let mut writer = copy.begin(&empty, Cycle(1)).expect("memory can be written");
    for (key, record) in &pages {
        writer.push(key, record).expect("memory can be written");
    }
    copy.commit(writer, b"").expect("memory can be written");
    assert_same(&all(&copy.current()), &pages);
    for (key, record) in pages.iter().take(2) {
        let url = recrawl_types::CanonicalUrl::from_key(key).expect("a sound generation has keys of URLs");
        let found = generation.get(&url).expect("a sound generation can be read");
        let mut found = found.expect("a page that is there is found").1;
        settle(&mut found);
        assert_same(&found, record);
    }
}

fn all(generation: &Generation) -> Vec<(Vec<u8>, PageRecord)> {
    let mut records = generation.records();
    let mut pages = Vec::new();
    while let Some((_, key, record)) = records.next_record().expect("a sound generation can be read") {
        let mut page = (key.to_vec(), record);
        settle(&mut page.1);
        pages.push(page);
    }
    pages
}

/// A date that is not there announces nothing, and is written so.
fn settle(record: &mut PageRecord) {
    record.known.is_announced &= record.known.lastmod > 0;
}

/// A log: a frame a part, then a torn tail.
fn log(parts: &mut InputParts<'_>, how: image::How) {
    let mut payloads = Vec::new();
    for _ in 0..parts.byte() % 8 {
        payloads.push(parts.part());
    }
    // A set of bits is as large as its greatest member, up to a bound that costs half a gigabyte.
    let is_far = |payload: &&[u8]| {
        let last = match take_log_record(payload) {
            Ok(LogRecord::Visit(visit)) => visit.index,
            Ok(LogRecord::Skipped(skipped)) => Some(skipped.pages.end),
            Ok(LogRecord::Seeds(_)) | Err(_) => None,
        };
        last.is_some_and(|last| last > 1 << 20)
    };
    if how.is_packed() || payloads.iter().any(is_far) {
        return;
    }
    let mut image = Image::default();
    image.frames(&image::cycle("visits"), 10, how, &payloads);
    image.tail(&image::cycle("visits"), parts.rest());
    let storage = MemoryStorage::with_files(image.files);
    let Ok((_, recovered)) = VisitLog::open(&storage, ROUND) else { return };
    let records = read_log(&storage);
    assert_eq!(recovered.records, records.len() as u64);
    let members = recovered.done.count() + recovered.followed.len() as u64;
    let skipped: u64 = recovered.skipped.iter().map(|skipped| skipped.pages.end - skipped.pages.start).sum();
    assert!(members <= recovered.records + skipped);
    let copy = MemoryStorage::new();
    let (mut log, empty) = VisitLog::open(&copy, ROUND).expect("memory can be written");
    assert_eq!(empty.records, 0);
    for record in &records {
        log.append(record).expect("memory can be written");
    }
    assert_same(&read_log(&copy), &records);
}

fn read_log(storage: &MemoryStorage) -> Vec<LogRecord> {
    let mut reader = VisitLog::read(storage, ROUND).expect("a log that was recovered can be read");
    let mut records = Vec::new();
    while let Some(record) = reader.next_record().expect("a log that was recovered can be read") {
        records.push(record);
    }
    records
}

/// Kept visits, a frame a part, beside an empty generation.
fn kept_visits(parts: &mut InputParts<'_>, how: image::How) {
    let mut image = Image::default();
    let mut payloads = Vec::new();
    for _ in 0..parts.byte() % 8 {
        payloads.push(parts.part());
    }
    payloads.push(parts.rest());
    image.frames("visits-0000000001.0000000007.kept", 13, how, &payloads);
    for (part, kind) in
        [("keys", 3), ("known", 5), ("history", 6), ("content", 7), ("origins", 4), ("index", 2)]
    {
        image.frames(&image::generation(part), kind, how, &[]);
    }
    image.manifest([0, 0, 0, 0]);
    let storage = Arc::new(MemoryStorage::with_files(image.files));
    let repository = Repository::open_read(storage).expect("an empty generation is sound");
    let Ok(Some(mut visits)) = repository.kept().visits(DatedRound { round: ROUND, cycle: CYCLE }) else {
        return;
    };
    let mut read = 0;
    let whole = loop {
        match visits.next_entry() {
            Ok(Some(_)) => read += 1,
            Ok(None) => break true,
            Err(_) => break false,
        }
    };
    let damage = repository.verify();
    assert_eq!(damage.is_empty(), whole, "after {read} visits: {damage:?}");
}

/// A schedule of one host, with the table of this program and with that of older ones: its key, the number of entries,
/// the frames that hold them, and their order by URL.
fn schedule(parts: &mut InputParts<'_>, how: image::How) {
    let count = u64::from(parts.byte() % 70);
    let key = parts.part();
    let mut frames = Vec::new();
    for _ in 0..count.div_ceil(32) {
        frames.push(parts.part());
    }
    let entry_frames = varint(frames.len() as u64);
    let head = [vec![0], varint(key.len() as u64), key.to_vec(), varint(count), entry_frames].concat();
    schedule_with("hosts", &head, &frames, how);
    if frames.len() > 1 {
        frames.push(parts.rest());
    }
    schedule_with("queues", &head, &frames, how);
}

/// The same with one of the tables, which begins with `head`.
fn schedule_with(table: &str, head: &[u8], frames: &[&[u8]], how: image::How) {
    let mut image = Image::default();
    let places = image.frames(&image::cycle("schedule"), 9, how, frames);
    let mut row = head.to_vec();
    places.iter().for_each(|(offset, length)| row.extend([varint(*offset), varint(*length)].concat()));
    image.frames(&image::cycle(table), 9, image::How::default(), &[&row]);
    let storage = MemoryStorage::with_files(image.files);
    let Ok(Some(file)) = ScheduleFile::open(&storage, ROUND) else { return };
    let [host] = file.hosts() else { panic!("a table of one host has {}", file.hosts().len()) };
    let Ok(entries) = file.read(host, host.start, host.count as usize) else { return };
    assert!(entries.len() as u64 <= host.count);
    for entry in &entries {
        if let Ok(Some(found)) = file.find(&entry.url) {
            assert_eq!(found.entry.url, entry.url);
        }
    }
    let in_order =
        entries.windows(2).all(|pair| pair[0].url < pair[1].url && pair[0].url.same_origin(&pair[1].url));
    if !in_order || entries.is_empty() {
        return;
    }
    let copy = MemoryStorage::new();
    let mut writer = ScheduleWriter::create(&copy, ROUND).expect("memory can be written");
    for entry in &entries {
        writer.push(entry).expect("memory can be written");
    }
    assert_eq!(writer.finish().expect("memory can be written"), entries.len() as u64);
    let again = ScheduleFile::open(&copy, ROUND).expect("it was just written").expect("it is complete");
    let read = again.read(&again.hosts()[0], 0, entries.len()).expect("it was just written");
    assert_same(&read, &entries);
}

/// Any bytes as the files of a repository, checksums and all.
fn any_file(parts: &mut InputParts<'_>) {
    let mut image = Image::default();
    let name = [
        "MANIFEST",
        "reports",
        "cycle-0000000001.visits",
        "cycle-0000000001.hosts",
        "cycle-0000000001.queues",
    ];
    let name = name[usize::from(parts.byte()) % name.len()];
    image.manifest([0, 0, 0, 0]);
    image.files.insert(image::cycle("schedule"), parts.part().to_vec());
    image.files.insert(name.to_owned(), parts.rest().to_vec());
    let storage = Arc::new(MemoryStorage::with_files(image.files));
    let repository = Repository::open_read(storage.clone());
    if let Ok(repository) = repository {
        repository.verify();
    }
    if let Ok(Some(file)) = ScheduleFile::open(&*storage, ROUND) {
        assert!(file.hosts().len() as u64 <= file.len(), "a host without a page");
    }
    if VisitLog::open(&*storage, ROUND).is_ok() {
        read_log(&storage);
    }
}

/// A visit, or a link, as the parts of a batch hold them.
fn records(bytes: &[u8]) {
    if let Ok(visit) = take_visit(bytes) {
        let mut written = Vec::new();
        put_visit(&mut written, &visit);
        assert_same(&take_visit(&written), &Ok::<_, ()>(visit));
    }
    if let Ok(link) = take_link(bytes) {
        let mut written = Vec::new();
        put_link(&mut written, &link);
        assert_same(&take_link(&written), &Ok::<_, ()>(link));
    }
}

/// An entry of the host table.
fn host(bytes: &[u8]) {
    if let Ok(state) = take_host(bytes) {
        assert_same(&take_host(&put_host(&state)), &Ok::<_, ()>(state));
    }
}
