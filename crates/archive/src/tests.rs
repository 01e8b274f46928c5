//! WARC records as read by other programs.

use super::*;
use flate2::read::GzDecoder;
use std::io::Read;

fn response(url: &str, body: &[u8]) -> Vec<u8> {
    let headers = [("Content-Type", "text/html"), ("Content-Encoding", "gzip"), ("Content-Length", "3")];
    let head = Head { url, at: 1_700_000_000_000, peer: None, status: 200 };
    let headers = headers.iter().map(|(n, v)| (*n, v.as_bytes()));
    Record::Response { truncated: false, body, before: None }.compress(&mut Compressor::new(), &head, headers)
}

/// The text of the record that begins at `offset`.
fn read_at(path: &Path, offset: u64) -> String {
    let bytes = std::fs::read(path).unwrap();
    let mut text = String::new();
    GzDecoder::new(&bytes[offset as usize..]).read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_position_leads_to_its_record() {
    let folder = tempfile::tempdir().unwrap();
    let mut archive = Archive::create(folder.path(), 1 << 20).unwrap();
    let first = archive.append(&response("http://a.example/", b"one")).unwrap();
    let second = archive.append(&response("http://b.example/", b"three")).unwrap();
    let text = read_at(&file_path(folder.path(), second.file), second.offset);
    assert!(text.starts_with("WARC/1.1\r\nWARC-Type: response\r\n"), "{text}");
    assert!(text.contains("WARC-Target-URI: http://b.example/\r\n"), "{text}");
    assert!(text.contains("WARC-Date: 2023-11-14T22:13:20Z\r\n"), "{text}");
    assert!(text.contains("\r\nContent-Length: 5\r\n\r\nthree\r\n\r\n"), "{text}");
    assert!(text.contains("X-Archive-Orig-Content-Encoding: gzip"), "{text}");
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
    let folder = tempfile::tempdir().unwrap();
    let mut archive = Archive::create(folder.path(), 1).unwrap();
    let a = archive.append(&response("http://a.example/", b"one")).unwrap();
    let b = archive.append(&response("http://b.example/", b"two")).unwrap();
    assert_eq!((a.file, b.file), (1, 2));
    assert!(read_at(&file_path(folder.path(), b.file), b.offset).contains("two"));
    assert!(read_at(&file_path(folder.path(), b.file), 0).contains("warcinfo"));
}

#[test]
fn a_304_is_a_revisit_without_a_body() {
    let head =
        Head { url: "http://a.example/", at: 0, peer: Some("127.0.0.1".parse().unwrap()), status: 304 };
    let headers = [("ETag", &b"\"x\"\r\nInjected: yes"[..])];
    let mut text = String::new();
    GzDecoder::new(&Record::NotModified.compress(&mut Compressor::new(), &head, headers.into_iter())[..])
        .read_to_string(&mut text)
        .unwrap();
    assert!(text.contains("WARC-Type: revisit\r\n") && text.contains("server-not-modified"), "{text}");
    assert!(text.contains("WARC-IP-Address: 127.0.0.1\r\n"), "{text}");
    assert!(!text.contains("\r\nInjected"), "{text}");
}

#[test]
fn the_same_body_again_is_a_revisit_with_its_digest() {
    let head = Head { url: "http://a.example/", at: 0, peer: None, status: 200 };
    let mut text = String::new();
    GzDecoder::new(
        &Record::Same { body: b"" }.compress(&mut Compressor::new(), &head, std::iter::empty())[..],
    )
    .read_to_string(&mut text)
    .unwrap();
    assert!(text.contains("identical-payload-digest") && text.contains("sha1:3I42H3S6"), "{text}");
}

#[test]
fn one_compressor_makes_many_members_of_any_size() {
    let mut compressor = Compressor::new();
    for length in [0usize, 1, 100, 5000, 300_000, 3] {
        // Hardly compressible, so that the output outgrows its first guess.
        let body: Vec<u8> =
            (0..length as u64).map(|i| (i.wrapping_mul(i).wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let member = compressor.member(&[b"head", &body, b"tail"]);
        let mut back = Vec::new();
        GzDecoder::new(&member[..]).read_to_end(&mut back).unwrap();
        assert_eq!(back, [&b"head"[..], &body, b"tail"].concat(), "{length}");
    }
}
