//! A file of lines, or standard output, which whoever reads it may close before the end.

use super::{named, report};
use crate::failure::Failure;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The growing file.
pub struct Lines {
    out: PathBuf,
    sink: Box<dyn Write>,
    written: u64,
}

impl Lines {
    /// Makes `out`; standard output for `-`.
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

    /// The same, under a line of names, which is not counted.
    ///
    /// # Errors
    /// With the file's name.
    pub fn with_heading(out: &Path, heading: impl Display) -> Result<Lines, Failure> {
        let mut lines = Lines::create(out)?;
        lines.write(heading)?;
        lines.written = 0;
        Ok(lines)
    }

    /// Writes a line. Does the reader want more?
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

    /// Ends the file and says how many lines of `what` are in it.
    ///
    /// # Errors
    /// With the file's name.
    pub fn finish(mut self, what: &str) -> Result<(), Failure> {
        self.sink.flush().map_err(|e| named(&self.out, &e))?;
        report(&self.out, self.written, what)
    }
}
