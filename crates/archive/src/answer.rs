//! Reads one archived response, from the position in a page's record or in a later response.

use super::files::number_in;
use super::moved::place;
use super::reader::ArchiveReader;
use super::record::{BODY_BEFORE, ROUND};
use super::records::{MAX_HEAD, Records, Stored, cut_head, field, http_fields, http_status};
use super::spelling::seconds_of;
use flate2::bufread::GzDecoder;
use recrawl_repository::storage::Storage;
use recrawl_types::{ArchivePosition, CanonicalUrl, UrlRules};
use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read};

/// Bytes of a record that are unpacked to see whose it is: its fields, of which the URL is the longest.
const FIELDS: u64 = 4 << 10;
/// Bytes that are read at a time. Most records have fewer.
const BUFFER: usize = 16 << 10;
/// Records of the same visit that may lie between a response and what a browser made of it: its request.
const BETWEEN: usize = 1;

/// The bytes, if a record begins with them.
fn warc(bytes: &[u8]) -> io::Result<&[u8]> {
    let is_one = bytes.starts_with(b"WARC/1.");
    is_one.then_some(bytes).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not a WARC record"))
}

/// A record of the archive, its body perhaps truncated.
#[derive(Debug)]
pub struct ArchivedAnswer {
    head: Vec<u8>,
    http: Vec<u8>,
    /// The body after decoding.
    pub body: Vec<u8>,
    /// The document that a browser made of it (HTML in UTF-8), if the page was rendered.
    pub rendered: Option<Vec<u8>>,
    /// Bytes of the whole body, also of what was not read.
    pub body_bytes: u64,
    /// Is the body or the document longer than what was read?
    pub is_cut: bool,
    before: Option<ArchivePosition>,
}

impl ArchivedAnswer {
    /// Reads the record at this position, with the body truncated to this length.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if the file is missing; other errors name the file and byte.
    pub fn read(
        archive: &ArchiveReader,
        position: ArchivePosition,
        max_body: u64,
    ) -> io::Result<ArchivedAnswer> {
        ArchivedAnswer::at(archive, position, |members| {
            let mut answer = ArchivedAnswer::of_member(members, max_body)?;
            if let Some((document, is_cut)) = answer.rendered_in(members, max_body)? {
                answer.is_cut |= is_cut;
                answer.rendered = Some(document);
            }
            Ok(answer)
        })
    }

    /// The same, with the fields of the WARC record alone.
    ///
    /// # Errors
    /// As [`ArchivedAnswer::read`].
    pub fn read_head(archive: &ArchiveReader, position: ArchivePosition) -> io::Result<ArchivedAnswer> {
        ArchivedAnswer::at(archive, position, |members| {
            let mut bytes = Vec::new();
            GzDecoder::new(members).take(FIELDS).read_to_end(&mut bytes)?;
            let (head, _) = cut_head(warc(&bytes)?);
            let (http, body) = (Vec::new(), Vec::new());
            let (head, before) = (head.to_vec(), None);
            Ok(ArchivedAnswer { head, http, body, rendered: None, body_bytes: 0, is_cut: true, before })
        })
    }

    /// What `read` reads from this position on.
    fn at(
        archive: &ArchiveReader,
        position: ArchivePosition,
        read: impl FnOnce(&mut BufReader<Stored>) -> io::Result<ArchivedAnswer>,
    ) -> io::Result<ArchivedAnswer> {
        let ArchivePosition { file, offset } = position;
        let name = archive.files.name(file)?;
        let opened = archive.from(file, offset);
        let answer = opened.and_then(|stored| read(&mut BufReader::with_capacity(BUFFER, stored)));
        let linked = answer.and_then(|mut answer| {
            let before = answer.field(BODY_BEFORE).and_then(body_before);
            answer.before = before.map(|before| archive.present(before)).transpose()?.flatten();
            Ok(answer)
        });
        linked.map_err(|e| {
            let text = format!("{}, byte {offset}: {e}", archive.storage().locate(name));
            io::Error::new(e.kind(), text)
        })
    }

    fn of_member(members: &mut impl BufRead, max_body: u64) -> io::Result<ArchivedAnswer> {
        let mut bytes = Vec::new();
        let mut member = GzDecoder::new(members);
        (&mut member).take((MAX_HEAD as u64).saturating_add(max_body)).read_to_end(&mut bytes)?;
        warc(&bytes)?;
        // To the next member.
        io::copy(&mut member, &mut io::sink())?;
        let (head, block) = cut_head(&bytes);
        let length = field(head, "Content-Length").and_then(|text| text.parse().ok()).unwrap_or(usize::MAX);
        let (http, body) = cut_head(&block[..length.min(block.len())]);
        let body_bytes = match length {
            usize::MAX => body.len(),
            length => length.saturating_sub(block.len().min(length) - body.len()),
        } as u64;
        let kept = &body[..body.len().min(max_body.try_into().unwrap_or(usize::MAX))];
        let is_cut = kept.len() < body.len() || length > block.len();
        let (head, http, body) = (head.to_vec(), http.to_vec(), kept.to_vec());
        Ok(ArchivedAnswer { head, http, body, rendered: None, body_bytes, is_cut, before: None })
    }

    /// Where a redirect of this URL leads, read as the fetcher reads it; none if this is no redirect.
    pub fn target(&self, url: &CanonicalUrl) -> Option<CanonicalUrl> {
        let location = self.http_field("Location").filter(|_| (300..400).contains(&self.status()))?;
        UrlRules::keep_all().join(&url.to_url(), &location).ok()
    }

    /// The document in a `conversion` record of the response, and whether it is longer. What follows the response is
    /// unpacked only if it belongs to it.
    fn rendered_in(&self, members: &mut impl BufRead, max_body: u64) -> io::Result<Option<(Vec<u8>, bool)>> {
        for _ in 0..=BETWEEN {
            let (mut member, mut start) = (GzDecoder::new(&mut *members), Vec::new());
            // What is still being written, or torn, belongs to another visit: those of one are written at once.
            if (&mut member).take(FIELDS).read_to_end(&mut start).is_err() {
                return Ok(None);
            }
            let (head, document) = cut_head(&start);
            let (is_conversion, response) = match field(head, "WARC-Type") {
                Some("conversion") => (true, field(head, "WARC-Refers-To")),
                _ => (false, field(head, "WARC-Concurrent-To")),
            };
            if response.is_none() || response != self.field("WARC-Record-ID") {
                return Ok(None);
            }
            if !is_conversion {
                io::copy(&mut member, &mut io::sink())?;
                continue;
            }
            let length = field(head, "Content-Length").and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
            let mut document = document.to_vec();
            member.take(max_body).read_to_end(&mut document)?;
            document.truncate(length.min(max_body) as usize);
            return Ok(Some((document, length > max_body)));
        }
        Ok(None)
    }

    /// The document that was read at the visit: what a browser made of the body, or else the body.
    pub fn document(&self) -> &[u8] {
        self.rendered.as_ref().unwrap_or(&self.body)
    }

    /// The declared media type of the body; the values of several fields with commas between them.
    pub fn content_type(&self) -> Option<String> {
        let values: Vec<_> = http_fields(&self.http, "Content-Type").collect();
        (!values.is_empty()).then(|| values.join(", "))
    }

    /// A field of the WARC record.
    pub fn field(&self, name: &str) -> Option<&str> {
        field(&self.head, name)
    }

    /// Status line and headers of the HTTP response, as archived.
    pub fn http_head(&self) -> &[u8] {
        &self.http
    }

    /// A header of the HTTP response.
    pub fn http_field(&self, name: &str) -> Option<Cow<'_, str>> {
        http_fields(&self.http, name).next()
    }

    /// The HTTP status; 0 if there is none.
    pub fn status(&self) -> u16 {
        http_status(&self.http).and_then(|text| text.parse().ok()).unwrap_or_default()
    }

    /// Time of the fetch, in seconds since 1970; 0 if it cannot be parsed.
    pub fn time(&self) -> u64 {
        self.field("WARC-Date").map_or(0, seconds_of)
    }

    /// Number of the round that fetched it, if it is noted.
    pub fn round(&self) -> Option<u32> {
        self.field(ROUND)?.parse().ok()
    }

    /// Position of the page's previous body that was not dropped.
    pub fn before(&self) -> Option<ArchivePosition> {
        self.before
    }
}

/// The position in the field [`BODY_BEFORE`].
pub(super) fn body_before(text: &str) -> Option<ArchivePosition> {
    let (file, offset) = text.split_once(' ')?;
    // Earlier releases wrote the name of the file.
    let file = file.parse().ok().or_else(|| number_in(file))?;
    Some(ArchivePosition { file, offset: offset.parse().ok()? })
}

/// Does a complete record with this page's body begin at this byte of a file?
pub fn holds(storage: &dyn Storage, name: &str, offset: u64, url: &str) -> bool {
    let records = place(storage, name, offset).and_then(|at| Records::open_at(storage, name, at));
    let found = records.and_then(|records| records.checked().next_record());
    found.is_ok_and(|found| {
        found.is_some_and(|found| {
            let is_whole = !found.is_torn && found.problem.is_none();
            is_whole && found.kind() == Some("response") && found.field("WARC-Target-URI") == Some(url)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Compressor, Record, RecordHead};
    use super::*;
    use recrawl_repository::storage::MemoryStorage;
    use std::sync::Arc;

    const URL: &str = "http://a.example/";

    const LONG: u64 = 2 << 20;

    fn response(body: &[u8], before: Option<ArchivePosition>) -> Vec<u8> {
        let head = RecordHead::new(URL, 1_700_000_000_999, 200);
        let headers = [("Content-Type", &b"text/html"[..])].into_iter();
        Record::Response { truncated: None, body, before }.compress(&mut Compressor::new(), &head, headers)
    }

    fn opened(storage: &Arc<MemoryStorage>) -> ArchiveReader {
        ArchiveReader::open(storage.clone()).unwrap()
    }

    #[test]
    fn each_body_leads_to_the_one_before() {
        let storage = Arc::new(MemoryStorage::new());
        // With a limit of one byte, each record gets a file of its own.
        let mut archive = crate::Archive::create(storage.clone(), 1);
        let first = archive.append(&response(b"one", None)).unwrap();
        let second = archive.append(&response(b"two\r\n\r\n", Some(first))).unwrap();
        let found = ArchivedAnswer::read(&opened(&storage), second, LONG).unwrap();
        assert_eq!(
            (&found.body[..], found.status(), found.time()),
            (&b"two\r\n\r\n"[..], 200, 1_700_000_000)
        );
        assert_eq!(
            (found.field("WARC-Target-URI"), found.http_field("content-type").as_deref()),
            (Some(URL), Some("text/html"))
        );
        assert_eq!(found.before(), Some(first));
        let found = ArchivedAnswer::read(&opened(&storage), first, LONG).unwrap();
        assert_eq!((&found.body[..], found.before()), (&b"one"[..], None));
    }

    #[test]
    fn the_document_of_a_browser_is_read_with_its_response_only() {
        let storage = Arc::new(MemoryStorage::new());
        let mut archive = crate::Archive::create(storage.clone(), 1 << 20);
        let document = "<p>rendered</p>".repeat(3000);
        let (at, request) = (1_700_000_000_999, Some(&b"GET / HTTP/1.1\r\n\r\n"[..]));
        let rendered = crate::rendered(&mut Compressor::new(), URL, at, document.as_bytes());
        let with_request = Record::Response { truncated: None, body: b"shell", before: None }.compress(
            &mut Compressor::new(),
            &RecordHead { request, ..RecordHead::new(URL, at, 200) },
            std::iter::empty(),
        );
        let own = archive.append(&[response(b"shell", None), rendered.clone()].concat()).unwrap();
        let asked = archive.append(&[with_request, rendered].concat()).unwrap();
        // The next visit, of another page or time.
        let other = crate::rendered(&mut Compressor::new(), URL, at + 1, b"other");
        let plain = archive.append(&[response(b"plain", None), other].concat()).unwrap();
        let last = archive.append(&response(b"last", None)).unwrap();
        let archive = opened(&storage);
        for position in [own, asked] {
            let found = ArchivedAnswer::read(&archive, position, LONG).unwrap();
            assert_eq!(
                (&found.body[..], found.document(), found.is_cut),
                (&b"shell"[..], document.as_bytes(), false)
            );
            let cut = ArchivedAnswer::read(&archive, position, 9).unwrap();
            assert_eq!((&cut.body[..], cut.document(), cut.is_cut), (&b"shell"[..], &b"<p>render"[..], true));
        }
        for (position, body) in [(plain, "plain"), (last, "last")] {
            let found = ArchivedAnswer::read(&archive, position, LONG).unwrap();
            assert_eq!((found.document(), found.rendered.is_none()), (body.as_bytes(), true));
        }
    }

    #[test]
    fn what_is_not_there_damaged_or_too_long_is_told_apart() {
        let storage = Arc::new(MemoryStorage::new());
        let mut archive = crate::Archive::create(storage.clone(), 1 << 20);
        let long = archive.append(&response(&vec![b'x'; LONG as usize + 9], None)).unwrap();
        for (most, read) in [(LONG, LONG), (0, 0), (1 << 30, LONG + 9)] {
            let found = ArchivedAnswer::read(&opened(&storage), long, most).unwrap();
            assert_eq!((found.body.len() as u64, found.body_bytes), (read, LONG + 9));
            assert_eq!(found.is_cut, read < found.body_bytes);
        }
        let gone = ArchivedAnswer::read(&opened(&storage), ArchivePosition { file: 9, offset: 0 }, LONG)
            .unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
        let within = ArchivePosition { offset: long.offset + 1, ..long };
        let error = ArchivedAnswer::read(&opened(&storage), within, LONG).unwrap_err().to_string();
        assert!(error.contains("-000001-0.warc.gz, byte"), "{error}");
        let beyond = ArchivePosition { offset: 1 << 40, ..long };
        assert!(ArchivedAnswer::read(&opened(&storage), beyond, LONG).is_err());
    }
}
