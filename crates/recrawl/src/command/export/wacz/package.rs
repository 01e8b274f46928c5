//! The ZIP file of a WACZ: its entries with their digests, and the file that lists them.

use super::super::named;
use super::super::new_file::NewFile;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::output::folder_of;
use ring::digest::{Context, SHA256};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::SystemTime;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Version of the format.
const WACZ_VERSION: &str = "1.1.1";

/// A WACZ file that is being written.
pub struct WaczPackage {
    file: NewFile,
    zip: ZipWriter<Output>,
    /// Entry being written.
    entry: Option<ZipEntry>,
    /// Finished entries as `datapackage.json` lists them.
    resources: Vec<Value>,
}

struct ZipEntry {
    path: String,
    digest: Context,
    bytes: u64,
}

impl WaczPackage {
    /// Begins the file. It vanishes unless it is finished.
    ///
    /// # Errors
    /// With the file's name.
    pub fn create(out: &Path) -> Result<WaczPackage, Failure> {
        let file = NewFile::create(out)?;
        let output = Output { file: BufWriter::new(file.writer()?), at: 0, is_broken: false };
        let zip = ZipWriter::new(output);
        Ok(WaczPackage { file, zip, entry: None, resources: Vec::new() })
    }

    /// The folder that the file goes to.
    pub fn folder(&self) -> &Path {
        folder_of(self.file.out())
    }

    /// Begins an entry; the one before is finished. Entries are stored without compression, so that
    /// programs can read a part of one.
    ///
    /// # Errors
    /// With the file's name.
    pub fn begin(&mut self, path: String) -> Result<(), Failure> {
        self.end_entry();
        let stored =
            SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
        self.zip.start_file(&*path, stored).map_err(|e| named(self.file.out(), &e.into()))?;
        self.entry = Some(ZipEntry { path, digest: Context::new(&SHA256), bytes: 0 });
        Ok(())
    }

    /// Length of the entry so far, in bytes.
    pub fn length(&self) -> u64 {
        self.entry.as_ref().map_or(0, |entry| entry.bytes)
    }

    /// Appends to the entry.
    ///
    /// # Errors
    /// With the file's name.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.zip.write_all(bytes).map_err(|e| named(self.file.out(), &e))?;
        let entry = self.entry.as_mut().expect("an entry was begun");
        entry.digest.update(bytes);
        entry.bytes += bytes.len() as u64;
        Ok(())
    }

    fn end_entry(&mut self) -> Option<String> {
        let ZipEntry { path, digest, bytes } = self.entry.take()?;
        let name = path.rsplit('/').next().unwrap_or(&path);
        let hash = sha256(digest);
        self.resources.push(json!({"name": name, "path": path, "hash": hash, "bytes": bytes}));
        Some(hash)
    }

    /// Writes the list of entries, makes the file durable and, if `may` agrees then, gives it its name. An older file
    /// of this name is replaced.
    ///
    /// # Errors
    /// With the file's name, or that of `may`.
    pub fn finish(mut self, may: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
        self.end_entry();
        let created = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let list = json!({
            "profile": "data-package", "wacz_version": WACZ_VERSION, "created": created,
            "software": concat!("recrawl/", env!("CARGO_PKG_VERSION")),
            "resources": std::mem::take(&mut self.resources),
        });
        self.begin("datapackage.json".into())?;
        self.write(format!("{list:#}\n").as_bytes())?;
        let hash = self.end_entry();
        self.begin("datapackage-digest.json".into())?;
        self.write(json!({"path": "datapackage.json", "hash": hash}).to_string().as_bytes())?;
        let WaczPackage { file, zip, .. } = self;
        let written = zip.finish().map_err(io::Error::from);
        let flushed = written.and_then(|mut output| output.flush());
        flushed.map_err(|e| named(file.out(), &e))?;
        file.finish(may)
    }
}

/// The file of a [`ZipWriter`], which completes the archive when it is dropped, and prints what fails then. After an
/// error the file will be removed, so nothing more is written, and nothing fails.
struct Output {
    file: BufWriter<File>,
    /// Offset in the file, or where it would be.
    at: u64,
    is_broken: bool,
}

impl Output {
    fn checked<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        result.inspect_err(|_| self.is_broken = true)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = if self.is_broken { Ok(bytes.len()) } else { self.file.write(bytes) };
        let written = self.checked(written)?;
        self.at += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = if self.is_broken { Ok(()) } else { self.file.flush() };
        self.checked(flushed)
    }
}

impl Seek for Output {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let sought = match (self.is_broken, to) {
            (false, to) => self.file.seek(to),
            (true, SeekFrom::Start(offset)) => Ok(offset),
            (true, SeekFrom::Current(by)) => Ok(self.at.saturating_add_signed(by)),
            (true, SeekFrom::End(_)) => Ok(self.at),
        };
        self.at = self.checked(sought)?;
        Ok(self.at)
    }
}

/// A digest as WACZ writes it.
pub fn sha256(digest: Context) -> String {
    let hex: String = digest.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}
