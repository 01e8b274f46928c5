//! WARC records as read by other programs.

use super::*;
use crate::spelling::payload_digest;
use flate2::read::GzDecoder;
use recrawl_repository::storage::{FaultyStorage, MemoryStorage, Storage};
use std::io::{self, Read};
use std::sync::Arc;

fn response(url: &str, body: &[u8]) -> Vec<u8> {
    let headers = [("Content-Type", "text/html"), ("Content-Encoding", "gzip"), ("Content-Length", "3")];
    let head = RecordHead::new(url, 1_700_000_000_000, 200);
    let headers = headers.iter().map(|(n, v)| (*n, v.as_bytes()));
    Record::Response { truncated: None, body, before: None }.compress(&mut Compressor::new(), &head, headers)
}

/// The text of the record that begins at `offset`.
fn read_at(bytes: &[u8], offset: u64) -> String {
    let mut text = String::new();
    GzDecoder::new(&bytes[offset as usize..]).read_to_string(&mut text).unwrap();
    text
}

fn bytes_of(storage: &MemoryStorage, position: recrawl_types::ArchivePosition) -> Vec<u8> {
    let files = WarcFiles::in_storage(storage).unwrap();
    storage.image().remove(files.name(position.file).unwrap()).unwrap()
}

/// All members of a record, unpacked.
fn unpacked(members: &[u8]) -> String {
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(members).read_to_string(&mut text).unwrap();
    text
}

#[test]
fn the_head_is_as_received_but_for_what_the_body_no_longer_is() {
    let head = RecordHead { reason: b"Fine\r\nX: y", ..RecordHead::new("http://a.example/", 0, 200) };
    let record = |body| Record::Response { truncated: None, body, before: None };
    let compress = |record: Record<'_>, head: &RecordHead<'_>, headers: &[(&str, &str)]| {
        let headers = headers.iter().map(|(name, value)| (*name, value.as_bytes()));
        let text = unpacked(&record.compress(&mut Compressor::new(), head, headers));
        text.split_once("\r\n\r\n").unwrap().1.trim_end_matches("\r\n").to_owned()
    };
    // The length fits, so nothing is added, and all stays in its place.
    let plain = [("content-length", "3"), ("x-b", "2"), ("X-A", "1"), ("x-b", "3")];
    assert_eq!(
        compress(record(b"one"), &head, &plain),
        "HTTP/1.1 200 FineX: y\r\ncontent-length: 3\r\nx-b: 2\r\nX-A: 1\r\nx-b: 3\r\n\r\none"
    );
    let coded = [("content-encoding", "gzip"), ("content-length", "9"), ("transfer-encoding", "chunked")];
    let head = RecordHead { http: HttpVersion::Http10, ..RecordHead::new("http://a.example/", 0, 200) };
    let told = "HTTP/1.0 200 \r\nX-Archive-Orig-content-encoding: gzip\r\nX-Archive-Orig-content-length: 9\r\n\
                X-Archive-Orig-transfer-encoding: chunked\r\nContent-Length: 3\r\n\r\n";
    assert_eq!(compress(record(b"one"), &head, &coded), format!("{told}one"));
    // A revisit has the head of the body that it stands for.
    assert_eq!(
        compress(Record::Same { body: b"one", of: EarlierCapture { at: 0 } }, &head, &coded),
        told.trim_end()
    );
    let head = RecordHead::new("http://a.example/", 0, 304);
    assert_eq!(
        compress(Record::NotModified { of: None }, &head, &[("content-length", "9")]),
        "HTTP/1.1 304 \r\nX-Archive-Orig-content-length: 9"
    );
}

#[test]
fn a_request_follows_its_response_as_a_record_of_its_own() {
    let request = b"GET /p HTTP/1.1\r\nhost: a.example\r\n\r\n";
    let peer = Some("::1".parse().unwrap());
    let head = RecordHead {
        request: Some(request),
        peer,
        http: HttpVersion::Http2,
        ..RecordHead::new("http://a.example/p", 5, 200)
    };
    let record = Record::Response { truncated: None, body: b"one", before: None };
    let members = record.compress(&mut Compressor::new(), &head, std::iter::empty());
    let mut records = records::Records::over(&members[..], "x".into()).checked();
    let response = records.next_record().unwrap().unwrap();
    let found = records.next_record().unwrap().unwrap();
    assert!(records.next_record().unwrap().is_none());
    assert_eq!((response.problem, found.problem), (None, None));
    assert_eq!((response.kind(), found.kind()), (Some("response"), Some("request")));
    assert_eq!(found.field("WARC-Concurrent-To"), response.field("WARC-Record-ID"));
    assert_ne!(found.field("WARC-Record-ID"), response.field("WARC-Record-ID"));
    for name in ["WARC-Target-URI", "WARC-Date", "WARC-IP-Address", "WARC-Protocol"] {
        assert!(found.field(name).is_some(), "{name}");
        assert_eq!(found.field(name), response.field(name));
    }
    assert_eq!(found.field("Content-Type"), Some("application/http; msgtype=request"));
    assert_eq!((found.http_field("host").as_deref(), found.http_status()), (Some("a.example"), None));
    assert!(unpacked(&members).ends_with("\r\n\r\nGET /p HTTP/1.1\r\nhost: a.example\r\n\r\n\r\n\r\n"));
}

#[test]
fn a_file_says_of_whom_and_how_it_is() {
    let fields = vec![("operator", "mailto:me@a.example".to_owned()), ("robots", "obey\r\nx: y".to_owned())];
    let text = unpacked(&WarcProvenance { tag: "ab".into(), fields }.member("f.warc.gz", 0, false));
    assert!(text.starts_with("WARC/1.1\r\nWARC-Type: warcinfo\r\n"), "{text}");
    assert!(text.contains("\r\nWARC-Filename: f.warc.gz\r\n"), "{text}");
    assert!(
        text.contains("software: recrawl/") && text.contains("\r\noperator: mailto:me@a.example\r\n"),
        "{text}"
    );
    assert!(text.contains("\r\nrobots: obey  x: y\r\n"), "{text}");
}

#[test]
fn a_position_leads_to_its_record() {
    let storage = Arc::new(MemoryStorage::new());
    let mut archive = Archive::create(storage.clone(), 1 << 20);
    let first = archive.append(&response("http://a.example/", b"one")).unwrap();
    let second = archive.append(&response("http://b.example/", b"three")).unwrap();
    let text = read_at(&bytes_of(&storage, second), second.offset);
    assert!(text.starts_with("WARC/1.1\r\nWARC-Type: response\r\n"), "{text}");
    assert!(text.contains("WARC-Target-URI: http://b.example/\r\n"), "{text}");
    assert!(text.contains("WARC-Date: 2023-11-14T22:13:20Z\r\n"), "{text}");
    assert!(text.contains("\r\nContent-Length: 5\r\n\r\nthree\r\n\r\n"), "{text}");
    assert!(text.contains("X-Archive-Orig-Content-Encoding: gzip"), "{text}");
    assert!(text.contains("X-Archive-Orig-Content-Length: 3"), "{text}");
    let warc_length: usize =
        text.lines().find_map(|l| l.strip_prefix("Content-Length: ")).unwrap().trim().parse().unwrap();
    let block = text.split_once("\r\n\r\n").unwrap().1;
    assert_eq!(block.len(), warc_length + 4, "the block and two line ends");
    assert!(first.offset < second.offset && first.file == 1);
}

#[test]
fn the_payload_digest_is_sha1_in_base32() {
    // The SHA-1 of nothing, as in every WARC tool.
    assert_eq!(payload_digest(b""), "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
}

#[test]
fn a_full_file_is_followed_by_the_next() {
    let storage = Arc::new(MemoryStorage::new());
    let mut archive = Archive::create(storage.clone(), 1);
    let a = archive.append(&response("http://a.example/", b"one")).unwrap();
    let b = archive.append(&response("http://b.example/", b"two")).unwrap();
    assert_eq!((a.file, b.file), (1, 2));
    assert!(read_at(&bytes_of(&storage, b), b.offset).contains("two"));
    assert!(read_at(&bytes_of(&storage, b), 0).contains("warcinfo"));

    // The file after a recovery says so, and no other one.
    let (provenance, end) = (WarcProvenance::default(), archive.end());
    let mut archive = Archive::open(storage.clone(), 1, provenance, end, true).unwrap();
    let [c, d] = ["c", "d"].map(|host| archive.append(&response(&format!("http://{host}/"), b"x")).unwrap());
    let says_so = |at| read_at(&bytes_of(&storage, at), 0).contains("X-Recrawl-Recovered: yes\r\n");
    assert_eq!([a, b, c, d].map(says_so), [false, false, true, false]);
}

#[test]
fn a_304_is_a_revisit_without_a_body() {
    let head = RecordHead {
        peer: Some("127.0.0.1".parse().unwrap()),
        ..RecordHead::new("http://a.example/", 0, 304)
    };
    let headers = [("ETag", &b"\"x\"\r\nInjected: yes"[..])];
    let mut text = String::new();
    GzDecoder::new(
        &Record::NotModified { of: None }.compress(&mut Compressor::new(), &head, headers.into_iter())[..],
    )
    .read_to_string(&mut text)
    .unwrap();
    assert!(text.contains("WARC-Type: revisit\r\n") && text.contains("server-not-modified"), "{text}");
    assert!(text.contains("WARC-IP-Address: 127.0.0.1\r\n"), "{text}");
    assert!(!text.contains("\r\nInjected"), "{text}");
}

#[test]
fn the_same_body_again_is_a_revisit_with_its_digest() {
    let head = RecordHead::new("http://a.example/", 0, 200);
    let mut text = String::new();
    GzDecoder::new(
        &Record::Same { body: b"", of: EarlierCapture { at: 0 } }.compress(
            &mut Compressor::new(),
            &head,
            std::iter::empty(),
        )[..],
    )
    .read_to_string(&mut text)
    .unwrap();
    assert!(text.contains("identical-payload-digest") && text.contains("sha1:3I42H3S6"), "{text}");
}

#[test]
fn one_compressor_makes_many_members_of_any_size() {
    let mut compressor = Compressor::new();
    for length in [0usize, 1, 100, 5000, 3_000_000, 3] {
        // Hardly compressible, so that the output outgrows its first guess.
        let body: Vec<u8> =
            (0..length as u64).map(|i| (i.wrapping_mul(i).wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let member = compressor.member(&[b"head", &body, b"tail"]);
        let mut back = Vec::new();
        GzDecoder::new(&member[..]).read_to_end(&mut back).unwrap();
        assert_eq!(back, [&b"head"[..], &body, b"tail"].concat(), "{length}");
    }
}

#[test]
fn a_revisit_names_the_capture_that_it_stands_for() {
    let url = "http://a.example/";
    let (then, now) = (1_700_000_000_123, 1_800_000_000_000);
    let compress = |record: Record<'_>, at| {
        let member =
            record.compress(&mut Compressor::new(), &RecordHead::new(url, at, 200), std::iter::empty());
        let mut records = records::Records::over(&member[..], "x".into()).checked();
        records.next_record().unwrap().unwrap()
    };
    let first = compress(Record::Response { truncated: None, body: b"one", before: None }, then);
    let of = EarlierCapture { at: then };
    for record in [Record::Same { body: b"one", of }, Record::NotModified { of: Some(of) }] {
        let revisit = compress(record, now);
        assert_eq!((revisit.kind(), revisit.problem), (Some("revisit"), None));
        for (of_it, of_the_first) in [
            ("WARC-Refers-To-Target-URI", "WARC-Target-URI"),
            ("WARC-Refers-To-Date", "WARC-Date"),
            ("WARC-Refers-To", "WARC-Record-ID"),
        ] {
            assert_eq!(revisit.field(of_it), first.field(of_the_first), "{of_it}");
        }
    }
    // Older versions did not keep the time; of a body that is not archived there is nothing to name.
    let undated = compress(Record::Same { body: b"one", of: EarlierCapture { at: 0 } }, now);
    assert_eq!(undated.field("WARC-Refers-To-Target-URI"), Some(url));
    let unknown = compress(Record::NotModified { of: None }, now);
    for name in ["WARC-Refers-To-Date", "WARC-Refers-To"] {
        assert_eq!((undated.field(name), unknown.field(name)), (None, None), "{name}");
    }
    assert_eq!(unknown.field("WARC-Refers-To-Target-URI"), None);
}

#[test]
fn every_head_that_is_written_is_read_back() {
    let storage = Arc::new(MemoryStorage::new());
    let mut archive = Archive::create(storage.clone(), 1 << 30);
    let head = RecordHead::new("http://a.example/", 1_700_000_000_000, 200);
    let most = record::MAX_HTTP_HEAD - "HTTP/1.1 200 \r\n".len() - 64 - "x-huge".len();
    for (length, is_kept) in
        [(100 << 10, true), (128 << 10, true), (400 << 10, true), (most, true), (most + 1, false)]
    {
        let value = vec![b'h'; length];
        let headers = [("x-huge", &value[..]), ("content-type", b"text/html")];
        let record = Record::Response { truncated: None, body: b"the body", before: None };
        let member = record.compress(&mut Compressor::new(), &head, headers.into_iter());
        let found = records::Records::over(&member[..], "x".into()).checked().next_record().unwrap().unwrap();
        assert_eq!((found.problem, found.http_field("x-huge").is_some()), (None, is_kept), "{length}");
        // Fields behind one that is too long are kept if there is room.
        assert_eq!(found.http_field("content-type").is_some(), length != most, "{length}");
        let position = archive.append(&member).unwrap();
        let answer =
            answer::ArchivedAnswer::read(&ArchiveReader::open(storage.clone()).unwrap(), position, 1 << 20)
                .unwrap();
        assert_eq!((&answer.body[..], answer.body_bytes), (&b"the body"[..], 8), "{length}");
    }
    // A phrase in any encoding, or none.
    for reason in [&b"Trouv\xe9"[..], "Найдено".as_bytes(), b"\xff\xfe", b""] {
        let record = Record::Response { truncated: None, body: b"b", before: None };
        let member =
            record.compress(&mut Compressor::new(), &RecordHead { reason, ..head }, std::iter::empty());
        let found = records::Records::over(&member[..], "x".into()).checked().next_record().unwrap().unwrap();
        assert_eq!((found.problem, found.http_status()), (None, Some("200")));
        let position = archive.append(&member).unwrap();
        let answer =
            answer::ArchivedAnswer::read(&ArchiveReader::open(storage.clone()).unwrap(), position, 1 << 20)
                .unwrap();
        assert_eq!((answer.status(), &answer.body[..]), (200, &b"b"[..]));
        assert!(answer.http_head().starts_with(&[b"HTTP/1.1 200 ", reason, b"\r\n"].concat()));
    }
    // A phrase as long as the client takes.
    let head = RecordHead { reason: &[b'r'; 417_792], ..head };
    let record = Record::Response { truncated: None, body: b"b", before: None };
    let member = record.compress(&mut Compressor::new(), &head, std::iter::empty());
    let found = records::Records::over(&member[..], "x".into()).checked().next_record().unwrap().unwrap();
    assert_eq!((found.problem, found.http_status()), (None, Some("200")));
}

#[test]
fn warc_1_1_section_5_13_a_record_says_why_a_part_is_missing() {
    let head = RecordHead::new("http://a.example/", 0, 200);
    for (truncated, line) in [
        (None, None),
        (Some(Truncation::Length), Some("WARC-Truncated: length")),
        (Some(Truncation::Disconnect), Some("WARC-Truncated: disconnect")),
        (Some(Truncation::Unspecified), Some("WARC-Truncated: unspecified")),
    ] {
        let record = Record::Response { truncated, body: b"some", before: None };
        let text = unpacked(&record.compress(&mut Compressor::new(), &head, std::iter::empty()));
        assert_eq!(text.lines().find(|line| line.starts_with("WARC-Truncated")), line);
    }
}

/// A record of a response with this header, and what its reader finds.
fn with_lines(lines: &[u8]) -> (String, answer::ArchivedAnswer) {
    let storage = Arc::new(MemoryStorage::new());
    let head =
        RecordHead { lines: Some(lines), ..RecordHead::new("http://a.example/", 1_700_000_000_000, 200) };
    let record = Record::Response { truncated: None, body: b"one", before: None };
    let told = [("content-type", &b"not/this"[..])].into_iter();
    let member = record.compress(&mut Compressor::new(), &head, told);
    let position = Archive::create(storage.clone(), 1 << 20).append(&member).unwrap();
    let archive = ArchiveReader::open(storage.clone()).unwrap();
    let answer = answer::ArchivedAnswer::read(&archive, position, 1 << 20).unwrap();
    assert_eq!((answer.status(), &answer.body[..]), (200, &b"one"[..]));
    (answer.http_head().iter().map(|byte| char::from(*byte)).collect(), answer)
}

#[test]
fn header_lines_are_archived_as_received_and_every_reader_takes_them() {
    let mended =
        "X-Odd : 1\r\nX Y: 2\r\nno field\r\n: nameless\r\nX-L: \u{e9}\r\nX-UPPER:a\r\nX-F: a\r\n b\r\n";
    let lines: Vec<u8> = mended.chars().map(|c| c as u8).collect();
    let (head, _) = with_lines(&[&lines[..], b"Content-Length: 3\r\n\r\n"].concat());
    assert_eq!(head, format!("HTTP/1.1 200 \r\n{mended}Content-Length: 3\r\n"));
    let (head, _) = with_lines(b"A: 1\nB: 2\n\n");
    assert_eq!(head, "HTTP/1.1 200 \r\nA: 1\r\nB: 2\r\nContent-Length: 3\r\n", "line ends are CR LF");
    let coded = b"Content-encoding : gzip\r\nCONTENT-LENGTH:\r\n 9\r\nTransfer-Encoding: chunked\r\n\r\n";
    let (head, _) = with_lines(coded);
    assert_eq!(
        head,
        "HTTP/1.1 200 \r\nX-Archive-Orig-Content-encoding : gzip\r\nX-Archive-Orig-CONTENT-LENGTH:\r\n 9\r\n\
         X-Archive-Orig-Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"
    );
    for (lines, kind) in [
        (&b"Content-Type: text/html\r\n\r\n"[..], Some("text/html")),
        (b"CONTENT-TYPE :text/html\t\r\n\r\n", Some("text/html")),
        (b"Content-Type: text/html;\r\n charset=koi8-r\r\n\r\n", Some("text/html;   charset=koi8-r")),
        (b"Content-Type:\r\n text/html\r\n\r\n", Some("text/html")),
        (b"Content-Type: text/html; x=\xe9\r\n\r\n", Some("text/html; x=\u{fffd}")),
        (b"Content-Type: a/b\r\nX: y\r\ncontent-type: c/d\r\n\r\n", Some("a/b, c/d")),
        (b" Content-Type: folded/behind-nothing\r\nX: y\r\n\r\n", None),
        (b"X Content-Type: other/name\r\n\r\n", None),
    ] {
        assert_eq!(with_lines(lines).1.content_type().as_deref(), kind);
    }
}

/// Runs a check over each kind of storage.
fn over_all(check: impl Fn(Arc<dyn Storage>)) {
    let data_dir = tempfile::tempdir().unwrap();
    check(opener::create(data_dir.path()).unwrap());
    check(Arc::new(MemoryStorage::new()));
    check(Arc::new(FaultyStorage::new()));
}

#[test]
fn an_archive_in_any_storage_is_appended_to_read_continued_overwritten_and_capped() {
    over_all(|storage| {
        let mut archive = Archive::create(storage.clone(), 1);
        let a = archive.append(&response("http://a.example/", b"one")).unwrap();
        let b = archive.append(&response("http://b.example/", b"two")).unwrap();
        archive.sync().unwrap();
        let end = archive.end();
        let mut archive =
            Archive::open(storage.clone(), 1 << 20, WarcProvenance::default(), end, false).unwrap();
        let c = archive.append(&response("http://c.example/", b"three")).unwrap();
        archive.sync().unwrap();
        assert_eq!((a.file, b.file, c.file, c.offset), (1, 2, 2, end.length));

        let body = |at| {
            let reader = ArchiveReader::open(storage.clone()).unwrap();
            answer::ArchivedAnswer::read(&reader, at, 1 << 20).map(|answer| answer.body)
        };
        assert_eq!([a, b, c].map(|at| body(at).unwrap()), [&b"one"[..], b"two", b"three"]);
        let done = takedown::take_down(&*storage, &|url| url == "http://b.example/", 0, false).unwrap();
        assert_eq!(done.records, 1);
        assert_eq!((body(b).unwrap(), body(c).unwrap()), (Vec::new(), b"three".to_vec()), "no record moved");

        let taken = cap::taken(&*storage).unwrap();
        assert_eq!((taken.files, cap::keep_within(&*storage, 1).unwrap().files), (2, 1));
        assert_eq!(
            (body(a).unwrap_err().kind(), body(c).unwrap()),
            (io::ErrorKind::NotFound, b"three".to_vec())
        );
    });
}

#[test]
fn nothing_archived_is_an_empty_archive() {
    let data_dir = tempfile::tempdir().unwrap();
    assert!(opener::find(data_dir.path()).unwrap().is_none());
    let storage = opener::open(data_dir.path()).unwrap();
    assert_eq!(cap::taken(&*storage).unwrap(), cap::Files::default());
    std::fs::write(data_dir.path().join(opener::FOLDER), "no folder").unwrap();
    let error = opener::open(data_dir.path()).unwrap_err().to_string();
    assert!(error.contains("/warc: "), "{error}");
}
