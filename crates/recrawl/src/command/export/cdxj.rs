//! `recrawl export cdxj`: the sorted index of the WARC files that replay programs need.

use super::lines::CountedLines;
use recrawl_archive::records::FoundRecord;
use recrawl_archive::surt::surt;
use recrawl_archive::{ArchiveReader, name_now, opener};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::output::folder_of;
use recrawl_crawl::output::sorted_lines::SortedLines;
use recrawl_crawl::settings::Settings;
use std::fmt::Write as _;
use std::path::Path;

/// Writes a line for each response and each revisit of a body in the WARC files, sorted by bytes.
///
/// # Errors
/// When there is no archive, it cannot be read, or `out` cannot be written.
pub fn export(settings: &Settings, out: &Path) -> Result<(), Failure> {
    let Some(storage) = opener::find(&settings.data_dir)? else {
        let folder = settings.data_dir.join(opener::FOLDER);
        return Err(Failure::Work(format!("cannot read {}: there is no archive", folder.display())));
    };
    let archive = ArchiveReader::open(storage)?;
    let missing = archive.files.missing();
    if missing > 0 {
        tracing::warn!(
            files = missing,
            "removed WARC files are missing from the index (storage.archive_max)"
        );
    }
    // Temporary files go next to the output file, where there should be space.
    let aside = if out == Path::new("-") { &settings.data_dir } else { folder_of(out) };
    let mut sorted = SortedLines::new(aside, settings.config.storage.batch_memory.0 as usize);
    for (_, name) in archive.files.iter() {
        read_file(&archive, name, &mut sorted)?;
    }
    let mut lines = CountedLines::create(out)?;
    let mut merged = sorted.merged()?;
    while let Some(line) = merged.next_line()? {
        if !lines.write(line)? {
            return Ok(());
        }
    }
    lines.finish("captures")
}

/// Reads a WARC file. Its last record is incomplete after a crash, or while a crawl writes it.
fn read_file(archive: &ArchiveReader, name: &str, sorted: &mut SortedLines) -> Result<(), Failure> {
    // A running crawl removes old files.
    let Some(name) = name_now(&**archive.storage(), name)? else { return Ok(()) };
    let name = &*name;
    let mut records = archive.records(name)?;
    loop {
        match records.next_record() {
            Ok(Some(record)) if record.is_torn => {
                tracing::warn!(
                    "{}, byte {}: skipped the incomplete last record",
                    archive.storage().locate(name),
                    record.offset
                );
                return Ok(());
            }
            Ok(Some(record)) => {
                if let Some(line) = line(&record, name) {
                    sorted.push(line)?;
                }
            }
            Ok(None) => return Ok(()),
            Err(error) => {
                tracing::warn!("{error}; skipped the rest of the file");
                return Ok(());
            }
        }
    }
}

/// `key time {…}`; none for a record that is not a capture. A 304 is none: replay programs would show its status and no
/// body in place of the capture that it confirmed.
pub(super) fn line(record: &FoundRecord, file: &str) -> Option<String> {
    let is_revisit = match record.kind()? {
        "response" => false,
        "revisit" if record.http_status() != Some("304") => true,
        _ => return None,
    };
    let url = record.field("WARC-Target-URI")?;
    let time: String = record.field("WARC-Date")?.chars().filter(char::is_ascii_digit).take(14).collect();
    let mime = match is_revisit {
        true => Some("warc/revisit".into()),
        false => record.first_http_field("Content-Type").map(|field| media_type(&field).to_owned()),
    };
    let (length, offset) = (record.length.to_string(), record.offset.to_string());
    let mut line = format!("{} {time} {{", surt(url));
    let mut separator = "";
    for (name, value) in [
        ("url", Some(url)),
        ("mime", mime.as_deref()),
        ("status", record.http_status()),
        ("digest", record.field("WARC-Payload-Digest")),
        ("length", Some(&length)),
        ("offset", Some(&offset)),
        ("filename", Some(file)),
    ] {
        if let Some(value) = value {
            let _ = write!(line, "{separator}\"{name}\": {}", ascii_json(value));
            separator = ", ";
        }
    }
    line.push('}');
    Some(line)
}

/// `text/html` of `text/html; charset=utf-8`.
fn media_type(field: &str) -> &str {
    field.split(|c: char| c == ';' || c.is_whitespace()).next().unwrap_or_default()
}

/// Text as a JSON string of ASCII only, as is usual in CDXJ.
fn ascii_json(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            c if c.is_ascii() => out.push(c),
            c => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| {
                let _ = write!(out, "\\u{unit:04x}");
            }),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_archive::{Archive, Compressor, EarlierCapture, Record, RecordHead};
    use recrawl_repository::storage::{MemoryStorage, Storage};
    use std::sync::Arc;

    fn append(archive: &mut Archive, record: &Record<'_>, url: &str, status: u16, kind: Option<&str>) {
        append_with(archive, record, url, status, kind.map(str::as_bytes));
    }

    fn append_with(archive: &mut Archive, record: &Record<'_>, url: &str, status: u16, kind: Option<&[u8]>) {
        let head = RecordHead::new(url, 1_700_000_000_000, status);
        let headers = kind.into_iter().map(|kind| ("Content-Type", kind));
        archive.append(&record.compress(&mut Compressor::new(), &head, headers)).unwrap();
    }

    /// Begins an archive.
    fn archive() -> (Arc<MemoryStorage>, Archive) {
        let storage = Arc::new(MemoryStorage::new());
        (storage.clone(), Archive::create(storage, 1 << 20))
    }

    #[test]
    fn each_capture_is_a_line_by_its_key() {
        let (storage, mut archive) = archive();
        let body = Record::Response { truncated: None, body: b"hello", before: None };
        append(&mut archive, &body, "https://www.example.org/B?b&a", 200, Some("text/html; charset=utf-8"));
        append(
            &mut archive,
            &Record::Same { body: b"hello", of: EarlierCapture { at: 0 } },
            "http://a.example/",
            200,
            Some("text/html"),
        );
        append(&mut archive, &Record::NotModified { of: None }, "http://a.example/", 304, None);
        append(&mut archive, &body, "http://b.example/", 302, Some("caf\u{e9}/\u{1f600}"));
        let reader = ArchiveReader::open(storage).unwrap();
        let mut records = reader.records(reader.files.name(1).unwrap()).unwrap();
        let mut lines = Vec::new();
        let mut at = 0;
        while let Some(record) = records.next_record().unwrap() {
            assert_eq!(record.offset, at, "records lie side by side");
            at += record.length;
            let place = format!(
                r#""length": "{}", "offset": "{}", "filename": "x.warc.gz"}}"#,
                record.length, record.offset
            );
            lines.extend(line(&record, "x.warc.gz").map(|line| line.replace(&place, "…")));
        }
        assert_eq!(at, archive.end().length);
        let digest = r#""digest": "sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N", …"#;
        assert_eq!(
            lines,
            [
                format!(
                    r#"org,example)/b?a&b 20231114221320 {{"url": "https://www.example.org/B?b&a", "mime": "text/html", "status": "200", {digest}"#
                ),
                format!(
                    r#"example,a)/ 20231114221320 {{"url": "http://a.example/", "mime": "warc/revisit", "status": "200", {digest}"#
                ),
                format!(
                    r#"example,b)/ 20231114221320 {{"url": "http://b.example/", "mime": "caf\u00e9/\ud83d\ude00", "status": "302", {digest}"#
                ),
            ]
        );
    }

    /// As cdxj-indexer writes it.
    #[test]
    fn a_content_type_that_is_none_is_written_as_it_is() {
        let (storage, mut archive) = archive();
        let body = Record::Response { truncated: None, body: b"hello", before: None };
        let kinds = [&b""[..], b"; charset=utf-8", b"caf\xe9/x y"];
        for kind in kinds {
            append_with(&mut archive, &body, "http://a.example/", 200, Some(kind));
        }
        append(&mut archive, &body, "http://a.example/", 200, None);
        let reader = ArchiveReader::open(storage).unwrap();
        let mut records = reader.records(reader.files.name(1).unwrap()).unwrap();
        // The file begins with a record about itself.
        let mut lines = std::iter::from_fn(|| records.next_record().unwrap())
            .filter_map(|record| line(&record, "x.warc.gz"));
        for expected in
            [r#", "mime": "", "#, r#", "mime": "", "#, r#", "mime": "caf\u00e9/x", "#, r#"/", "status""#]
        {
            let line = lines.next().unwrap();
            assert!(line.contains(expected), "{line}");
        }
    }

    #[test]
    fn what_is_torn_is_left_out_with_what_is_behind_it() {
        let (storage, mut archive) = archive();
        let body = Record::Response { truncated: None, body: b"hello", before: None };
        append(&mut archive, &body, "http://a.example/", 200, None);
        append(&mut archive, &body, "http://b.example/", 200, None);
        let reader = ArchiveReader::open(storage.clone()).unwrap();
        let name = reader.files.name(1).unwrap();
        storage.append(name).unwrap().truncate(archive.end().length - 1).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut sorted = SortedLines::new(folder.path(), 1 << 20);
        read_file(&reader, name, &mut sorted).unwrap();
        let mut merged = sorted.merged().unwrap();
        assert!(merged.next_line().unwrap().unwrap().starts_with("example,a)/ "));
        assert_eq!(merged.next_line().unwrap(), None);
    }
}
