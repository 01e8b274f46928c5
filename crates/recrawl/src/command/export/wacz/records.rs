//! The WARC files of a WACZ: selected records, copied byte by byte.

use super::super::cdxj;
use super::package::Package;
use super::selection::Selection;
use recrawl_archive::records::{Found, Records};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::output::sorted_lines::SortedLines;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Bytes copied at a time.
const CHUNK: u64 = 256 << 10;

/// The files that were copied.
#[derive(Default)]
pub struct CopiedFiles(Vec<(PathBuf, u64)>);

impl CopiedFiles {
    /// Copies the selected records of a WARC file to an entry of the package, and collects the lines of its
    /// index. Without such records there is no entry.
    ///
    /// # Errors
    /// When the package cannot be written. What cannot be read is left out with a warning.
    pub fn copy(
        &mut self,
        path: &Path,
        name: &str,
        selection: &Selection,
        package: &mut Package,
        lines: &mut SortedLines,
    ) -> Result<(), Failure> {
        let opened = File::open(path).and_then(|file| Ok((file.metadata()?.ino(), file)));
        let (inode, file) = match opened {
            Ok(opened) => opened,
            // A running crawl removes old files.
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(super::super::named(path, &e)),
        };
        self.0.push((path.into(), inode));
        let mut copy = FileCopy { name, file: &file, info: None, is_begun: false };
        let mut choice = Choice { selection, exported: None };
        let mut records = Records::over(Positioned { file: &file, at: 0 }, path.display().to_string());
        loop {
            match records.next_record() {
                Ok(Some(record)) if record.is_torn => {
                    tracing::warn!(
                        "{}, byte {}: left out the incomplete last record",
                        path.display(),
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

    /// Fails if a file has been replaced since it was read, as a takedown does.
    ///
    /// # Errors
    /// That one has.
    pub fn are_unchanged(&self) -> Result<(), Failure> {
        for (path, inode) in &self.0 {
            let now = std::fs::metadata(path).map(|file| file.ino());
            if now.is_ok_and(|now| now != *inode) {
                let path = path.display();
                let text = format!(
                    "{path} was rewritten during the export (takedown), so it was discarded; run it again"
                );
                return Err(Failure::Work(text));
            }
        }
        Ok(())
    }
}

/// Chooses records.
struct Choice<'s> {
    selection: &'s Selection,
    /// Id of the last exported response or revisit.
    exported: Option<String>,
}

impl Choice<'_> {
    /// Is the record exported? A 304 is not, since it has no body and names none; a request is, if its
    /// response is.
    fn takes(&mut self, record: &Found) -> bool {
        let takes = match record.kind() {
            Some("request") => return record.field("WARC-Concurrent-To") == self.exported.as_deref(),
            Some("response") => true,
            Some("revisit") => record.field("WARC-Payload-Digest").is_some(),
            _ => false,
        };
        let named = record.field("WARC-Target-URI").zip(record.field("WARC-Date"));
        let takes = takes && named.is_some_and(|(url, date)| self.selection.admits(url, date));
        self.exported = record.field("WARC-Record-ID").filter(|_| takes).map(str::to_owned);
        takes
    }
}

/// Copies records of one file.
struct FileCopy<'f> {
    name: &'f str,
    file: &'f File,
    /// The record of the file itself, which goes before the first one copied.
    info: Option<Found>,
    is_begun: bool,
}

impl FileCopy<'_> {
    /// Copies a record and returns it with its new offset.
    fn record(&mut self, mut record: Found, package: &mut Package) -> Result<Found, Failure> {
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

    fn bytes(&self, record: &Found, package: &mut Package) -> Result<(), Failure> {
        let (mut at, end) = (record.offset, record.offset + record.length);
        let mut buffer = vec![0; (end - at).min(CHUNK) as usize];
        while at < end {
            let part = &mut buffer[..(end - at).min(CHUNK) as usize];
            let read = self.file.read_exact_at(part, at);
            read.map_err(|e| Failure::Work(format!("cannot read {}, byte {at}: {e}", self.name)))?;
            package.write(part)?;
            at += part.len() as u64;
        }
        Ok(())
    }
}

/// Reads a file from an offset.
struct Positioned<'f> {
    file: &'f File,
    at: u64,
}

impl Read for Positioned<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}
