//! The formats of data sets: one file each, one list. docs/datasets.md describes them all.

mod calendar;
mod error;
mod gp4c;
mod histories;
mod lines;
mod native;

pub use self::error::DatasetError;
pub use self::lines::MAX_LINE;

use crate::Dataset;
use std::path::Path;

/// A way to keep a data set on disk.
pub struct Format {
    /// What it is called.
    pub name: &'static str,
    /// What it is, in a few words.
    pub help: &'static str,
    /// Is this it?
    recognises: fn(&Start) -> bool,
    read: fn(&Path) -> Result<Dataset, DatasetError>,
    write: Option<fn(&Dataset, &Path) -> Result<Vec<String>, DatasetError>>,
}

/// All formats, in the order in which they are tried on data whose format is not said.
pub const ALL: &[Format] = &[native::FORMAT, gp4c::FORMAT];

/// What is looked at to tell a format.
enum Start {
    /// A folder with a file `pages.tsv.gz`.
    Folder,
    /// The first line of a file.
    Line(String),
}

/// Reads a data set in the format of this name, or else in the one that it is recognised to have.
///
/// # Errors
/// When it cannot be read, or says what cannot be; the message names file and line.
pub fn open(path: &Path, format: Option<&str>) -> Result<Dataset, DatasetError> {
    let format = match format {
        Some(name) => named(name)?,
        None => recognised(path)?,
    };
    (format.read)(path)
}

/// The format of this name.
///
/// # Errors
/// When there is none.
pub fn named(name: &str) -> Result<&'static Format, DatasetError> {
    let found = ALL.iter().find(|format| format.name == name);
    found.ok_or_else(|| DatasetError::UnknownFormat { name: name.to_owned() })
}

fn recognised(path: &Path) -> Result<&'static Format, DatasetError> {
    let start = if !path.metadata().map_err(DatasetError::io(path))?.is_dir() {
        match lines::Lines::open(path)?.next_line()? {
            None => return Err(DatasetError::whole(path, "the file is empty")),
            Some(line) => Start::Line(line.to_owned()),
        }
    } else if path.join(native::PAGES).is_file() {
        Start::Folder
    } else {
        let what = format!("a folder is a data set when {} and {} are in it", native::PAGES, native::CYCLES);
        return Err(DatasetError::whole(path, what));
    };
    let found = ALL.iter().find(|format| (format.recognises)(&start));
    found.ok_or_else(|| DatasetError::Unrecognised { path: path.to_owned() })
}

fn names(which: impl Fn(&Format) -> bool) -> String {
    ALL.iter().filter(|format| which(format)).map(|format| format.name).collect::<Vec<_>>().join(", ")
}
