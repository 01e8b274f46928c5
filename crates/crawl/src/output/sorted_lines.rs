//! External sort of lines: runs are sorted in memory, written to unnamed files and merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Lines, Seek, Write};
use std::path::{Path, PathBuf};

/// Maximum number of runs, beyond which they are merged into one: reading a run takes a file handle
/// and a buffer.
const MAX_SORTED_RUNS: usize = 64;

/// Collects lines in any order.
pub struct SortedLines {
    folder: PathBuf,
    limit: usize,
    max_runs: usize,
    held: Vec<String>,
    bytes: usize,
    runs: Vec<File>,
}

impl SortedLines {
    /// Holds `limit` bytes in memory; the rest goes to files in `folder`, which vanish with the
    /// process.
    pub fn new(folder: &Path, limit: usize) -> SortedLines {
        let (held, runs) = (Vec::new(), Vec::new());
        SortedLines { folder: folder.into(), limit, max_runs: MAX_SORTED_RUNS, held, bytes: 0, runs }
    }

    /// Adds a line, without its end.
    ///
    /// # Errors
    /// When the folder cannot be written to.
    pub fn push(&mut self, line: String) -> io::Result<()> {
        self.bytes += line.len() + size_of::<String>();
        self.held.push(line);
        if self.bytes > self.limit { self.put_aside() } else { Ok(()) }
    }

    fn put_aside(&mut self) -> io::Result<()> {
        if self.runs.len() >= self.max_runs {
            let mut merged = Merged::new(std::mem::take(&mut self.runs), Vec::new())?;
            self.runs.push(write_run(&self.folder, || merged.next_line())?);
        }
        self.held.sort_unstable();
        let mut held = self.held.drain(..);
        self.runs.push(write_run(&self.folder, || Ok(held.next()))?);
        self.bytes = 0;
        Ok(())
    }

    /// All lines in byte order.
    ///
    /// # Errors
    /// When a run cannot be read.
    pub fn merged(mut self) -> io::Result<Merged> {
        self.held.sort_unstable();
        Merged::new(self.runs, self.held)
    }
}

/// Writes sorted lines to an unnamed file, positioned at its start.
fn write_run(folder: &Path, mut next: impl FnMut() -> io::Result<Option<String>>) -> io::Result<File> {
    let mut run = BufWriter::new(tempfile::tempfile_in(folder)?);
    while let Some(line) = next()? {
        writeln!(run, "{line}")?;
    }
    let mut file = run.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(file)
}

/// Lines in order.
pub struct Merged {
    runs: Vec<Lines<BufReader<File>>>,
    /// The lines still in memory: the last run.
    held: std::vec::IntoIter<String>,
    /// The next line of each run that has one.
    heads: BinaryHeap<Reverse<(String, usize)>>,
}

impl Merged {
    /// Merges sorted runs and sorted lines in memory.
    fn new(runs: Vec<File>, held: Vec<String>) -> io::Result<Merged> {
        let mut merged = Merged {
            runs: runs.into_iter().map(|file| BufReader::new(file).lines()).collect(),
            held: held.into_iter(),
            heads: BinaryHeap::new(),
        };
        for run in 0..=merged.runs.len() {
            if let Some(line) = merged.next_of(run)? {
                merged.heads.push(Reverse((line, run)));
            }
        }
        Ok(merged)
    }

    fn next_of(&mut self, run: usize) -> io::Result<Option<String>> {
        match self.runs.get_mut(run) {
            Some(lines) => lines.next().transpose(),
            None => Ok(self.held.next()),
        }
    }

    /// The next line; none at the end.
    ///
    /// # Errors
    /// When a run cannot be read.
    pub fn next_line(&mut self) -> io::Result<Option<String>> {
        let Some(Reverse((_, run))) = self.heads.peek() else { return Ok(None) };
        let after = self.next_of(*run)?;
        let mut head = self.heads.peek_mut().expect("it was there just before");
        Ok(Some(match after {
            Some(line) => std::mem::replace(&mut head.0.0, line),
            None => PeekMut::pop(head).0.0,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lines_come_out_as_one_sort_would_give_them(
            lines in proptest::collection::vec("[a-z é]{0,6}", 0..60), limit in 0usize..600, max_runs in 1usize..5,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let mut sorted = SortedLines::new(folder.path(), limit);
            sorted.max_runs = max_runs;
            for line in &lines {
                sorted.push(line.clone()).unwrap();
                prop_assert!(sorted.runs.len() <= max_runs.max(2), "no more than there may be are open");
            }
            let mut merged = sorted.merged().unwrap();
            let found: Vec<String> = std::iter::from_fn(|| merged.next_line().unwrap()).collect();
            let mut expected = lines;
            expected.sort();
            prop_assert_eq!(found, expected);
            prop_assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }
}
