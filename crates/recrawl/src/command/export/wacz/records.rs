//! The WARC files of a WACZ: selected records, copied byte by byte.

use super::super::archived_files::ArchivedFiles;
use super::super::cdxj;
use super::package::WaczPackage;
use super::selection::CaptureSelection;
use recrawl_archive::records::FoundRecord;
use recrawl_archive::{ArchiveReader, name_now};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::output::sorted_lines::SortedLines;
use recrawl_repository::storage::ReadFile;

/// Bytes copied at a time.
const CHUNK: u64 = 256 << 10;

/// Copies the selected records of a WARC file to an entry of the package, collects the lines of its
/// index, and notes the file. Without such records there is no entry.
///
/// # Errors
/// When the package cannot be written. What cannot be read is left out with a warning.
pub fn copy(
    archive: &ArchiveReader,
    name: &str,
    selection: &CaptureSelection,
    package: &mut WaczPackage,
    lines: &mut SortedLines,
    files: &mut ArchivedFiles,
) -> Result<(), Failure> {
    // A running crawl removes old files.
    let Some(name) = name_now(&**archive.storage(), name)? else { return Ok(()) };
    let name = &*name;
    let opened = archive.storage().open(name).and_then(|file| {
        // Before anything is read: what replaces the file from here on is seen at the end.
        files.note(name, &*file)?;
        Ok((archive.records(name)?, file))
    });
    let (mut records, file) = match opened {
        Ok(opened) => opened,
        Err(e) => {
            let file = archive.storage().locate(name);
            return Err(Failure::Work(format!("cannot read {file}: {e}")));
        }
    };
    let mut copy = FileCopy { name, file: &*file, info: None, is_begun: false };
    let mut choice = RecordChoice { selection, exported: None };
    loop {
        match records.next_record() {
            Ok(Some(record)) if record.is_torn => {
                tracing::warn!(
                    "{}, byte {}: left out the incomplete last record",
                    archive.storage().locate(name),
                    record.offset
                );
                return Ok(());
            }
            Ok(Some(record)) if record.kind() == Some("warcinfo") => copy.info = Some(record),
            Ok(Some(record)) if choice.takes(&record) => {
                let moved = copy.record(record, package)?;
                if let Some(line) = cdxj::line(&moved, name) {
                    lines.push(line)?;
                }
            }
            Ok(Some(_)) => {}
            Ok(None) => return Ok(()),
            Err(error) => {
                tracing::warn!("{error}; left out the rest of the file");
                return Ok(());
            }
        }
    }
}

/// Chooses records.
struct RecordChoice<'s> {
    selection: &'s CaptureSelection,
    /// Id of the last exported response or revisit.
    exported: Option<String>,
}

impl RecordChoice<'_> {
    fn is_exported(&self, response: Option<&str>) -> bool {
        response.is_some() && response == self.exported.as_deref()
    }

    /// Is the record exported? A 304 is not, since it has no body and names none; a request and what a browser made of a
    /// response are, if the response is.
    fn takes(&mut self, record: &FoundRecord) -> bool {
        let takes = match record.kind() {
            Some("request") => return self.is_exported(record.field("WARC-Concurrent-To")),
            Some("conversion") => return self.is_exported(record.field("WARC-Refers-To")),
            Some("response") => true,
            Some("revisit") => record.field("WARC-Payload-Digest").is_some(),
            _ => false,
        };
        let takes = takes && self.selection.admits(record);
        self.exported = record.field("WARC-Record-ID").filter(|_| takes).map(str::to_owned);
        takes
    }
}

/// Copies records of one file.
struct FileCopy<'f> {
    name: &'f str,
    file: &'f dyn ReadFile,
    /// The record of the file itself, which goes before the first one copied.
    info: Option<FoundRecord>,
    is_begun: bool,
}

impl FileCopy<'_> {
    /// Copies a record and returns it with its new offset.
    fn record(&mut self, mut record: FoundRecord, package: &mut WaczPackage) -> Result<FoundRecord, Failure> {
        if !self.is_begun {
            package.begin(format!("archive/{}", self.name))?;
            self.is_begun = true;
        }
        if let Some(info) = self.info.take() {
            self.bytes(&info, package)?;
        }
        let offset = package.length();
        self.bytes(&record, package)?;
        record.offset = offset;
        Ok(record)
    }

    fn bytes(&self, record: &FoundRecord, package: &mut WaczPackage) -> Result<(), Failure> {
        let (mut at, end) = (record.offset, record.offset + record.length);
        let mut buffer = vec![0; (end - at).min(CHUNK) as usize];
        while at < end {
            let part = &mut buffer[..(end - at).min(CHUNK) as usize];
            let read = self.file.read_at(part, at);
            read.map_err(|e| Failure::Work(format!("cannot read {}, byte {at}: {e}", self.name)))?;
            package.write(part)?;
            at += part.len() as u64;
        }
        Ok(())
    }
}
