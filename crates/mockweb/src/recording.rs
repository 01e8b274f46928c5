//! Recorded webs: read, join, store and cut them.
//!
//! A recording is a folder with `cycles.tsv`, `pages.tsv.gz` and, if contents are recorded,
//! `content.jsonl.zst`; docs/internals/mockweb.md describes the format. Several recordings are
//! joined over their common dates.

mod align;
mod cut;
mod source;
mod table;
mod texts;

pub use cut::{CutConfig, CutReport, cut};
pub use source::RecordingSource;
pub use table::{TablePage, seconds_of_date};
pub use texts::RecordedTexts;

use align::Alignment;
use std::path::PathBuf;
use table::Table;

/// Why a recording cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// A file could not be read or written.
    #[error("{}: {cause}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        cause: std::io::Error,
    },
    /// A line is invalid.
    #[error("{} line {line}: {why}", .path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong with it.
        why: String,
    },
    /// The recordings have no date in common.
    #[error("the recordings have no common date; use them separately")]
    NoSharedDate,
    /// Two pages would have the same URL.
    #[error("both recordings have a page {0:?}; use them separately")]
    SamePath(String),
    /// No recording was named, or no page remains.
    #[error("the recording has no pages")]
    NoPage,
}

/// A loaded recording: dates, pages, and texts if recorded.
pub struct Recording {
    /// The date of each cycle, as `YYYY-MM-DD`.
    pub dates: Vec<String>,
    /// The pages, by number.
    pub pages: Vec<TablePage>,
    /// The contents by page and version; `None` if a source recorded none.
    pub texts: Option<RecordedTexts>,
}

impl Recording {
    /// Reads one recording, or joins several over their common dates.
    ///
    /// # Errors
    /// [`RecordingError`] names file and line.
    pub fn load(sources: &[RecordingSource]) -> Result<Recording, RecordingError> {
        let tables = sources.iter().map(Table::read).collect::<Result<Vec<_>, _>>()?;
        let aligned = Alignment::new(&tables)?;
        let texts = if sources.iter().all(RecordingSource::has_content) {
            Some(RecordedTexts::read(sources, &tables, &aligned)?)
        } else {
            None
        };
        Ok(Recording {
            dates: aligned.dates,
            pages: aligned.pages.into_iter().map(|aligned| aligned.page).collect(),
            texts,
        })
    }
}

#[cfg(test)]
mod tests;
