//! Nothing moves, nothing remains of the records taken down, and an interruption at any moment
//! loses nothing.

use super::*;
use crate::files;
use crate::overwrite::{BLOCK, notice};
use crate::record::rendered;
use crate::spelling::record_id;
use crate::{Compressor, Record, RecordHead};
use flate2::read::MultiGzDecoder;
use recrawl_repository::storage::{FaultyStorage, MemoryStorage, StorageFault, Survivors};
use std::collections::BTreeMap;
use std::io::Read;

const NOW: u64 = 1_795_000_000_000;

/// Old files have other names than new ones.
fn file_name(number: u32) -> String {
    match number {
        1 => "recrawl-000001.warc.gz".into(),
        number => files::file_name(number, 1_700_000_000_000, "ab"),
    }
}

fn member(url: &str, body: &[u8]) -> Vec<u8> {
    let head = RecordHead::new(url, 1_700_000_000_000, 200);
    let record = Record::Response { truncated: None, body, before: None };
    record.compress(&mut Compressor::new(), &head, [].into_iter())
}

/// The record of the request for this URL.
fn request(url: &str) -> Vec<u8> {
    let path = url.rsplit('/').next().unwrap();
    let request = format!("GET /{path} HTTP/1.1\r\nhost: {url}\r\n\r\n");
    let head =
        RecordHead { request: Some(request.as_bytes()), ..RecordHead::new(url, 1_700_000_000_000, 304) };
    let both = Record::NotModified { of: None }.compress(&mut Compressor::new(), &head, [].into_iter());
    let head = RecordHead { request: None, ..head };
    let first = Record::NotModified { of: None }.compress(&mut Compressor::new(), &head, [].into_iter());
    both[first.len()..].to_vec()
}

/// Incompressible bytes.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 7u32;
    let step = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..length).map(step).collect()
}

/// Files of responses, requests and documents that were made of the responses, and the URL of each.
fn files() -> Vec<Vec<(String, Vec<u8>)>> {
    let urls = |file: u32, count: u32| {
        let members = (0..count).flat_map(move |page| {
            let host = if page % 3 == 1 { "secret" } else { "open" };
            let url = format!("http://{host}.example/{file}/{page}");
            let body = noise([10, 70_000, 500][page as usize % 3] + page as usize);
            let document = rendered(&mut Compressor::new(), &url, 1_700_000_000_000, &body);
            [member(&url, &body), request(&url), document].map(|member| (url.clone(), member))
        });
        members.collect::<Vec<_>>()
    };
    vec![urls(1, 7), urls(2, 1), urls(3, 4)]
}

fn image(files: &[Vec<(String, Vec<u8>)>]) -> BTreeMap<String, Vec<u8>> {
    let bytes = |file: &Vec<(String, Vec<u8>)>| file.iter().flat_map(|(_, member)| member.clone()).collect();
    (1..).zip(files).map(|(number, file)| (file_name(number), bytes(file))).collect()
}

fn is_meant(url: &str) -> bool {
    url.starts_with("http://secret.example/")
}

/// Every other record is unchanged byte for byte, and each matching one is replaced by a notice.
fn is_taken_down(files: &[Vec<(String, Vec<u8>)>], after: &BTreeMap<String, Vec<u8>>) {
    let before = image(files);
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    for (number, file) in (1..).zip(files) {
        let bytes = &after[&file_name(number)];
        let mut records = Records::over(bytes.as_slice(), String::new());
        for (url, member) in file {
            let found = records.next_record().unwrap().unwrap();
            let place = found.offset as usize..(found.offset + found.length) as usize;
            assert_eq!(found.length as usize, member.len());
            if is_meant(url) {
                assert_eq!((found.kind(), found.field("WARC-Target-URI")), (Some("metadata"), None));
                assert!(!bytes[place].windows(6).any(|part| part == b"secret"));
            } else {
                assert_eq!(found.field("WARC-Target-URI"), Some(url.as_str()));
                assert_eq!(&bytes[place], member);
            }
        }
        assert!(records.next_record().unwrap().is_none());
    }
}

#[test]
fn a_notice_fits_every_length_that_a_record_has() {
    let id = record_id("x", NOW);
    let smallest = (1..1000).find(|length| notice(*length, Reason::TakenDown, &id, NOW).is_some()).unwrap();
    let head = RecordHead::new("http://a/", 1, 304);
    let record = Record::NotModified { of: None }.compress(&mut Compressor::new(), &head, [].into_iter());
    assert!(
        smallest <= record.len().min(request("http://a/").len()),
        "{smallest} bytes, and the least record that we write has {}",
        record.len()
    );
    let around = |block: usize| block.saturating_sub(20)..block + 20;
    let lengths = (smallest..smallest + 300)
        .chain(around(BLOCK + 5 + 18))
        .chain(around(2 * (BLOCK + 5) + 18))
        .chain([1 << 20, (1 << 20) + 1]);
    for length in lengths {
        let member = notice(length, Reason::TakenDown, &id, NOW).unwrap();
        assert_eq!(member.len(), length);
        let mut text = Vec::new();
        MultiGzDecoder::new(member.as_slice()).read_to_end(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let (head, content) = text.split_once("\r\n\r\n").unwrap();
        let told: usize = head.rsplit_once(": ").unwrap().1.trim().parse().unwrap();
        assert_eq!(content.len(), told + 4, "the content and two line ends, at {length}");
    }
}

#[test]
fn what_is_meant_goes_and_nothing_else_moves() {
    let files = files();
    let folder = MemoryStorage::with_files(image(&files));
    let counted = take_down(&folder, &is_meant, NOW, true).unwrap();
    assert_eq!(folder.image(), image(&files), "only counted");
    let taken = take_down(&folder, &is_meant, NOW, false).unwrap();
    assert_eq!((taken.files, taken.records), (2, 9), "each with its request and its document");
    assert_eq!(taken, counted);
    is_taken_down(&files, &folder.image());
    assert_eq!(take_down(&folder, &is_meant, NOW, false).unwrap(), TakenDown::default(), "once is enough");
}

#[test]
fn what_a_killed_takedown_left_goes_with_the_next_one() {
    let mut image = image(&files());
    let part = format!("{}{PART}", file_name(2));
    image.insert(part.clone(), b"bodies of another page".to_vec());
    let folder = MemoryStorage::with_files(image);
    take_down(&folder, &|_| false, NOW, true).unwrap();
    assert!(folder.image().contains_key(&part), "only counted");
    take_down(&folder, &|_| false, NOW, false).unwrap();
    assert!(!folder.image().contains_key(&part));
}

#[test]
fn a_damaged_record_keeps_nobody_from_the_rest() {
    let files = files();
    let mut image = image(&files);
    // Damage in the third response of the first file: one matching page lies before it, another
    // after it.
    let before: usize = files[0][..6].iter().map(|(_, member)| member.len()).sum();
    image.get_mut(&file_name(1)).unwrap()[before] ^= 0xff;
    let folder = MemoryStorage::with_files(image.clone());
    let taken = take_down(&folder, &is_meant, NOW, false).unwrap();
    assert_eq!((taken.files, taken.records, taken.unreadable.len()), (2, 6, 1));
    assert!(taken.unreadable[0].contains(&format!("{}, byte ", file_name(1))), "{taken:?}");
    let after = folder.image();
    assert_eq!(
        after[&file_name(1)][before..],
        image[&file_name(1)][before..],
        "behind the damage all is as it was"
    );
    let again = take_down(&folder, &is_meant, NOW, false).unwrap();
    assert_eq!((again.records, again.unreadable), (0, taken.unreadable));
}

#[test]
fn a_torn_end_is_taken_down_too_where_it_tells_whose_it_is() {
    let mut whole = member("http://open.example/", b"one");
    let place = whole.len();
    whole.extend(member("http://secret.example/", &noise(5_000)));
    for cut in [place + 1, place + 100, whole.len() - 1000, whole.len() - 1] {
        let bytes = whole[..cut].to_vec();
        let folder = MemoryStorage::with_files([(file_name(1), bytes.clone())].into());
        let taken = take_down(&folder, &is_meant, NOW, false).unwrap();
        let after = folder.image().remove(&file_name(1)).unwrap();
        assert_eq!((after.len(), &after[..place]), (cut, &bytes[..place]));
        // No URL can be unpacked from its first bytes.
        assert!(taken.records == 1 || cut <= place + 100, "cut at {cut}");
        assert_eq!(after == bytes, taken.records == 0);
    }
}

#[test]
fn a_stop_or_an_error_at_any_point_leaves_each_file_whole_and_a_second_run_ends_it() {
    let files = files();
    let before = image(&files);
    let done = MemoryStorage::with_files(before.clone());
    take_down(&done, &is_meant, NOW, false).unwrap();
    let done = done.image();
    let points = {
        let folder = FaultyStorage::with_files(before.clone());
        take_down(&folder, &is_meant, NOW, false).unwrap();
        folder.points()
    };
    assert!(points > 10, "{points} points");
    for point in 1..=points {
        for (fault, survivors) in [
            (StorageFault::Fail(point), Survivors::All),
            (StorageFault::Stop(point), Survivors::Synced),
            (StorageFault::Stop(point), Survivors::Some(point)),
        ] {
            let folder = FaultyStorage::with_files(before.clone());
            folder.set_fault(fault);
            assert!(take_down(&folder, &is_meant, NOW, false).is_err());
            if matches!(fault, StorageFault::Fail(_)) {
                let names = folder.list().unwrap();
                assert!(names.iter().all(|name| number_in(name).is_some()), "{names:?} after {fault:?}");
            }
            let left = folder.after_power_cut(survivors);
            for (name, bytes) in left.image().iter().filter(|(name, _)| number_in(name).is_some()) {
                assert!(*bytes == before[name] || *bytes == done[name], "{name} after {fault:?}");
            }
            take_down(&left, &is_meant, NOW, false).unwrap();
            let mut after = left.image();
            after.retain(|name, _| number_in(name).is_some());
            is_taken_down(&files, &after);
        }
    }
}
