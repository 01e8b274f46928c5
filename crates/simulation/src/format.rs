//! The formats of data sets, one file each. docs/datasets.md describes them all.

pub mod calendar;
mod captures;
mod cdx;
mod cdxj;
mod error;
mod gp4c;
mod index;
mod lines;
pub mod native;
mod visits;

pub use self::captures::{Capture, MAX_CAPTURES};
pub use self::error::DatasetError;
pub use self::index::IndexLines;
pub use self::lines::{LineReader, MAX_LINE, shown};

use crate::{Dataset, histories::PageHistories};
use std::path::{Path, PathBuf};

/// A file format of data sets.
pub struct DatasetFormat {
    /// Name on the command line.
    pub name: &'static str,
    /// A short description.
    pub help: &'static str,
    /// Whether observations have times, so that the cycle length can be chosen.
    pub timed: bool,
    recognises: fn(&FormatStart) -> bool,
    /// Reads a file, given the cycle length in seconds.
    read: fn(&Path, u64) -> Result<Dataset, DatasetError>,
    write: Option<Write>,
}

/// Writes to a free path, and returns what this format loses of the data set.
type Write = fn(&Dataset, &Path) -> Result<Vec<String>, DatasetError>;

/// All formats, in the order in which they are tried for data of unknown format.
pub const ALL: &[DatasetFormat] = &[native::FORMAT, gp4c::FORMAT, cdx::FORMAT, cdxj::FORMAT, visits::FORMAT];

/// The part of a data set that identifies its format.
enum FormatStart {
    /// A folder with a file `pages.tsv.gz`.
    Folder,
    /// The first line of a file.
    Line(String),
}

/// Options for reading a data set.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadOptions<'a> {
    /// Name of the format; detected if absent.
    pub format: Option<&'a str>,
    /// Cycle length in seconds, for observations with times; one day if absent.
    pub cycle_seconds: Option<u64>,
}

/// Reads a data set in the named format, or detects the format.
///
/// # Errors
/// If it cannot be read or is invalid; the message names file and line.
pub fn open(path: &Path, format: Option<&str>) -> Result<Dataset, DatasetError> {
    ReadOptions { format, ..ReadOptions::default() }.open(path)
}

impl ReadOptions<'_> {
    /// Reads a data set.
    ///
    /// # Errors
    /// Those of [`open`]; and if the format has fixed cycles, or the length is 0.
    pub fn open(self, path: &Path) -> Result<Dataset, DatasetError> {
        let format = match self.format {
            Some(name) => named(name)?,
            None => recognised(path)?,
        };
        if self.cycle_seconds.is_some_and(|seconds| seconds == 0 || !format.timed) {
            return Err(DatasetError::CycleLength { format: format.name });
        }
        (format.read)(path, self.cycle_seconds.unwrap_or(calendar::DAY))
    }
}

/// Writes a data set in the named format, under a temporary name until it is complete. Creates its folder, and never
/// overwrites. Returns what this format loses, one phrase each.
///
/// # Errors
/// If the path exists, the format cannot hold the data or is read only, or the disk fails.
pub fn create(data: &Dataset, path: &Path, format: &str) -> Result<Vec<String>, DatasetError> {
    create_with(data, path, format, |_| Ok(()))
}

/// The same, with more files: `also` gets the temporary path after the data are written.
pub fn create_with(
    data: &Dataset,
    path: &Path,
    format: &str,
    also: impl FnOnce(&Path) -> Result<(), DatasetError>,
) -> Result<Vec<String>, DatasetError> {
    let write = writer(path, format)?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let created = parent.map_or(Ok(()), std::fs::create_dir_all);
    created.map_err(|source| DatasetError::Folder { of: path.to_owned(), source })?;
    let part = partial(path)?;
    let written = write(data, &part).and_then(|losses| also(&part).map(|()| losses));
    let losses = written.and_then(|losses| {
        std::fs::rename(&part, path).map_err(DatasetError::io(path))?;
        Ok(losses)
    });
    if losses.is_err() {
        // The write has failed already; a leftover that cannot be removed is reported at the next
        // attempt.
        let _ = if part.is_dir() { std::fs::remove_dir_all(&part) } else { std::fs::remove_file(&part) };
    }
    losses
}

/// Checks that a data set could be written here in the named format, before computing one.
///
/// # Errors
/// If the path exists, or the format is read only.
pub fn check_target(path: &Path, format: &str) -> Result<(), DatasetError> {
    writer(path, format).map(|_| ())
}

fn writer(path: &Path, format: &str) -> Result<Write, DatasetError> {
    let format = named(format)?;
    let write = format.write.ok_or(DatasetError::NotWritten { format: format.name })?;
    vacant(path).map(|()| write)
}

/// Checks that nothing exists at this path.
fn vacant(path: &Path) -> Result<(), DatasetError> {
    match path.symlink_metadata() {
        Ok(_) => Err(DatasetError::Exists { path: path.to_owned() }),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(DatasetError::io(path)(e)),
    }
}

/// The temporary path of an incomplete data set.
fn partial(path: &Path) -> Result<PathBuf, DatasetError> {
    let name = path.file_name().ok_or_else(|| DatasetError::whole(path, "not a file name"))?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(".partial");
    let part = path.with_file_name(hidden);
    match vacant(&part) {
        Err(DatasetError::Exists { .. }) => {
            Err(DatasetError::whole(&part, "left by an interrupted run; remove it"))
        }
        other => other.map(|()| part),
    }
}

/// The format of this name.
///
/// # Errors
/// If there is none.
pub fn named(name: &str) -> Result<&'static DatasetFormat, DatasetError> {
    let found = ALL.iter().find(|format| format.name == name);
    found.ok_or_else(|| DatasetError::UnknownFormat { name: name.to_owned() })
}

fn recognised(path: &Path) -> Result<&'static DatasetFormat, DatasetError> {
    let start = if !path.metadata().map_err(DatasetError::io(path))?.is_dir() {
        match lines::LineReader::open(path)?.next_line()? {
            None => return Err(DatasetError::whole(path, "the file is empty")),
            Some(line) => FormatStart::Line(line.to_owned()),
        }
    } else if path.join(native::PAGES).is_file() {
        FormatStart::Folder
    } else {
        let what = format!("not a data set: a data set folder has {} and {}", native::PAGES, native::CYCLES);
        return Err(DatasetError::whole(path, what));
    };
    let found = ALL.iter().find(|format| (format.recognises)(&start));
    found.ok_or_else(|| DatasetError::Unrecognised { path: path.to_owned() })
}

/// Builds the data set from its histories.
fn finish(
    histories: PageHistories,
    path: &Path,
    dates: Vec<String>,
    cycles: u32,
) -> Result<Dataset, DatasetError> {
    histories.finish(title(path), dates, cycles).map_err(|what| DatasetError::whole(path, what))
}

/// The name of a data set: that of its file or folder.
fn title(path: &Path) -> String {
    let last = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    last(path).or_else(|| last(&path.canonicalize().ok()?)).unwrap_or_else(|| path.display().to_string())
}

fn names(which: impl Fn(&DatasetFormat) -> bool) -> String {
    ALL.iter().filter(|format| which(format)).map(|format| format.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
