//! Writes lines to a file or to standard output, whose reader may close it early.

use super::new_file::NewFile;
use super::{named, report};
use recrawl_crawl::failure::Failure;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// A writer of lines that counts them.
pub struct CountedLines {
    file: NewFile,
    sink: BufWriter<File>,
    written: u64,
}

impl CountedLines {
    /// Creates `out`; standard output for `-`.
    ///
    /// # Errors
    /// With the file's name.
    pub fn create(out: &Path) -> Result<CountedLines, Failure> {
        let file = NewFile::create(out)?;
        let sink = BufWriter::new(file.writer()?);
        Ok(CountedLines { file, sink, written: 0 })
    }

    /// Creates `out` and writes a header line, which is not counted.
    ///
    /// # Errors
    /// With the file's name.
    pub fn with_heading(out: &Path, heading: impl Display) -> Result<CountedLines, Failure> {
        let mut lines = CountedLines::create(out)?;
        lines.write(heading)?;
        lines.written = 0;
        Ok(lines)
    }

    /// Writes a line. False once the reader of standard output has closed it.
    ///
    /// # Errors
    /// With the file's name.
    pub fn write(&mut self, line: impl Display) -> Result<bool, Failure> {
        match writeln!(self.sink, "{line}") {
            Err(e) if self.file.out() == Path::new("-") && e.kind() == io::ErrorKind::BrokenPipe => {
                return Ok(false);
            }
            other => other.map_err(|e| named(self.file.out(), &e))?,
        }
        self.written += 1;
        Ok(true)
    }

    /// Completes the file and prints its number of lines, which are `what`.
    ///
    /// # Errors
    /// With the file's name.
    pub fn finish(self, what: &str) -> Result<(), Failure> {
        self.finish_if(what, || Ok(()))
    }

    /// The same, if `may` agrees once all is written.
    ///
    /// # Errors
    /// With the file's name, or that of `may`.
    pub fn finish_if(mut self, what: &str, may: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
        self.sink.flush().map_err(|e| named(self.file.out(), &e))?;
        let out = self.file.out().to_owned();
        self.file.finish(may)?;
        report(&out, self.written, what)
    }
}
