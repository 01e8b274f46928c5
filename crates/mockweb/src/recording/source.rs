//! Opens the files of a recording, from a folder or from the program itself.

use super::RecordingError;
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

const CYCLES: &str = "cycles.tsv";
const PAGES: &str = "pages.tsv.gz";
const CONTENT: &str = "content.jsonl.zst";

/// The bundled recording, so that the program works without other files. `recording/README.md` has
/// source, licence and credit.
const BUNDLED: [(&str, &[u8]); 3] = [
    (CYCLES, include_bytes!("../../recording/cycles.tsv")),
    (PAGES, include_bytes!("../../recording/pages.tsv.gz")),
    (CONTENT, include_bytes!("../../recording/content.jsonl.zst")),
];

/// A recording that is not yet read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordingSource {
    /// A folder with the files.
    Folder(PathBuf),
    /// The recording inside the program.
    Bundled,
}

impl RecordingSource {
    /// The path for error messages.
    pub(super) fn path(&self, file: &str) -> PathBuf {
        match self {
            RecordingSource::Folder(folder) => folder.join(file),
            RecordingSource::Bundled => Path::new("(bundled recording)").join(file),
        }
    }

    /// Whether contents are recorded.
    pub fn has_content(&self) -> bool {
        match self {
            RecordingSource::Folder(folder) => folder.join(CONTENT).exists(),
            RecordingSource::Bundled => true,
        }
    }

    fn open(&self, file: &'static str) -> Result<Box<dyn Read>, RecordingError> {
        match self {
            RecordingSource::Folder(folder) => {
                let path = folder.join(file);
                let opened = File::open(&path).map_err(|cause| RecordingError::Io { path, cause })?;
                Ok(Box::new(opened))
            }
            RecordingSource::Bundled => {
                let bytes = BUNDLED.iter().find(|(name, _)| *name == file).expect("every file is bundled").1;
                Ok(Box::new(Cursor::new(bytes)))
            }
        }
    }

    pub(super) fn cycles(&self) -> Result<NumberedLines, RecordingError> {
        Ok(NumberedLines::new(self.path(CYCLES), self.open(CYCLES)?))
    }

    pub(super) fn pages(&self) -> Result<NumberedLines, RecordingError> {
        let unpacked = flate2::read::MultiGzDecoder::new(self.open(PAGES)?);
        Ok(NumberedLines::new(self.path(PAGES), Box::new(unpacked)))
    }

    pub(super) fn content(&self) -> Result<NumberedLines, RecordingError> {
        let path = self.path(CONTENT);
        let unpacked = zstd::stream::read::Decoder::new(self.open(CONTENT)?)
            .map_err(|cause| RecordingError::Io { path: path.clone(), cause })?;
        Ok(NumberedLines::new(path, Box::new(unpacked)))
    }
}

/// The lines of a file, numbered from 1.
pub(super) struct NumberedLines {
    path: PathBuf,
    reader: BufReader<Box<dyn Read>>,
    number: u64,
    line: String,
}

impl NumberedLines {
    fn new(path: PathBuf, reader: Box<dyn Read>) -> NumberedLines {
        NumberedLines {
            path,
            reader: BufReader::with_capacity(1 << 16, reader),
            number: 0,
            line: String::new(),
        }
    }

    /// The next line without its end; `None` after the last.
    pub(super) fn next_line(&mut self) -> Result<Option<&str>, RecordingError> {
        self.line.clear();
        let read = self
            .reader
            .read_line(&mut self.line)
            .map_err(|cause| RecordingError::Io { path: self.path.clone(), cause })?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        Ok(Some(self.line.trim_end_matches(['\n', '\r'])))
    }

    /// An error about the line read last.
    pub(super) fn error(&self, why: impl Into<String>) -> RecordingError {
        RecordingError::Line { path: self.path.clone(), line: self.number, why: why.into() }
    }
}
