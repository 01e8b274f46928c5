//! Writes lines to a file or to standard output, whose reader may close it early.

use super::{named, report};
use recrawl_crawl::failure::Failure;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A writer of lines that counts them.
pub struct Lines {
    out: PathBuf,
    sink: Box<dyn Write>,
    written: u64,
}

impl Lines {
    /// Creates `out`; standard output for `-`.
    ///
    /// # Errors
    /// With the file's name.
    pub fn create(out: &Path) -> Result<Lines, Failure> {
        let sink: Box<dyn Write> = match out == Path::new("-") {
            true => Box::new(BufWriter::new(io::stdout().lock())),
            false => Box::new(BufWriter::new(File::create(out).map_err(|e| named(out, &e))?)),
        };
        Ok(Lines { out: out.into(), sink, written: 0 })
    }

    /// Creates `out` and writes a header line, which is not counted.
    ///
    /// # Errors
    /// With the file's name.
    pub fn with_heading(out: &Path, heading: impl Display) -> Result<Lines, Failure> {
        let mut lines = Lines::create(out)?;
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
            Err(e) if self.out == Path::new("-") && e.kind() == io::ErrorKind::BrokenPipe => {
                return Ok(false);
            }
            other => other.map_err(|e| named(&self.out, &e))?,
        }
        self.written += 1;
        Ok(true)
    }

    /// Flushes the file and prints its number of lines, which are `what`.
    ///
    /// # Errors
    /// With the file's name.
    pub fn finish(mut self, what: &str) -> Result<(), Failure> {
        self.sink.flush().map_err(|e| named(&self.out, &e))?;
        report(&self.out, self.written, what)
    }
}
