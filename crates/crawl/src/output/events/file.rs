//! The events file: continued where its last cycle ends, and rotated to `FILE.1` once it is full.
//!
//! It is rotated between two cycles, so that no cycle and no line is split. Each file begins with
//! the end line of the cycle before its first, so that it can be continued whenever the program
//! stopped.

use super::{EventsEnd, put};
use crate::config;
use crate::failure::Failure;
use crate::output::sync_folder_of;
use recrawl_types::DatedRound;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Prefix of the line that ends a cycle; no other line begins with it.
const END: &[u8] = b"{\"end_of_cycle\":";
/// Maximum length of such a line.
const END_BYTES: usize = 128;
/// Bytes searched at a time for the last such line.
pub const WINDOW: u64 = 64 << 10;

/// A file for appending.
pub struct EventFile {
    path: PathBuf,
    file: File,
    /// Length up to the last end of a cycle; later bytes do not count.
    end: u64,
}

/// Where a file is continued.
pub enum EventFileEnd {
    /// After the end of this cycle.
    Here(DatedRound),
    /// It is empty; the last rotated file, if any, ends with this cycle.
    Before(Option<DatedRound>),
}

impl EventFile {
    /// Opens or creates the file, and cuts off an incomplete cycle.
    ///
    /// # Errors
    /// [`Failure::Usage`] when it is not an events file; [`Failure::Work`] when it cannot be read
    /// or written.
    pub fn open(path: &Path) -> Result<(EventFile, EventFileEnd), Failure> {
        let failed = |e: io::Error| failed(path, &e);
        let is_new = !path.exists();
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).create(true).open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        let (end, ended) = match last_end(&file, length).map_err(failed)? {
            Some((end, cycle)) => (end, EventFileEnd::Here(cycle)),
            None if begins_as_ours(&file, length).map_err(failed)? => {
                (0, EventFileEnd::Before(last_put_aside(path)?))
            }
            None => {
                let text =
                    format!("{}: not an events file, left unchanged; choose another file", path.display());
                return Err(Failure::Usage(text));
            }
        };
        if end < length {
            file.set_len(end).map_err(failed)?;
        }
        if is_new {
            sync_folder_of(path).map_err(failed)?;
        }
        Ok((EventFile { path: path.into(), file, end }, ended))
    }

    /// Cuts off an incompletely written cycle. Returns false when the file is shorter than before:
    /// another program truncated it.
    ///
    /// # Errors
    /// When it cannot be truncated.
    pub fn mend(&mut self) -> io::Result<bool> {
        let length = self.file.metadata()?.len();
        let is_whole = length >= self.end;
        if !is_whole {
            self.end = last_end(&self.file, length)?.map_or(0, |(end, _)| end);
        }
        if length > self.end {
            self.file.set_len(self.end)?;
        }
        Ok(is_whole)
    }

    /// Writes the end line of a cycle, after making the cycle's events durable.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn end_round(&mut self, end: &EventsEnd) -> io::Result<()> {
        self.file.sync_data()?;
        put(&mut &self.file, end)?;
        self.file.sync_data()?;
        self.end = self.file.metadata()?.len();
        Ok(())
    }

    /// Has the file reached its maximum size?
    pub fn is_full(&self, rotation: &config::Events) -> bool {
        rotation.max_bytes.0 > 0 && self.end >= rotation.max_bytes.0
    }

    /// Rotates the file: it becomes `FILE.1`, older ones move by one, the oldest are removed, and a
    /// new file is started.
    ///
    /// # Errors
    /// When the folder cannot be written to. Then the file is continued, or the next start finds
    /// the rotated one.
    pub fn put_aside(&mut self, keep: u32, end: &EventsEnd) -> io::Result<()> {
        for number in (keep.max(1)..).take_while(|number| aside(&self.path, *number).exists()) {
            fs::remove_file(aside(&self.path, number))?;
        }
        for number in (1..keep).rev().filter(|number| aside(&self.path, *number).exists()) {
            fs::rename(aside(&self.path, number), aside(&self.path, number + 1))?;
        }
        fs::rename(&self.path, aside(&self.path, 1))?;
        self.file = OpenOptions::new().read(true).append(true).create(true).open(&self.path)?;
        self.end = 0;
        self.end_round(end)?;
        sync_folder_of(&self.path)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Write for EventFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

pub fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::Work(format!("cannot write events to {}: {error}", path.display()))
}

/// `FILE.1`, the newest rotated file, and so on.
fn aside(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

/// The last cycle in the newest rotated file.
fn last_put_aside(path: &Path) -> Result<Option<DatedRound>, Failure> {
    let path = aside(path, 1);
    let last = File::open(&path).and_then(|file| last_end(&file, file.metadata()?.len()));
    match last {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        last => Ok(last.map_err(|e| failed(&path, &e))?.map(|(_, cycle)| cycle)),
    }
}

/// Is it empty, or the incomplete first line of an events file?
fn begins_as_ours(file: &File, length: u64) -> io::Result<bool> {
    let mut start = vec![0; length.min(END_BYTES as u64) as usize];
    file.read_exact_at(&mut start, 0)?;
    let shared = start.len().min(END.len());
    Ok(length < END_BYTES as u64 && start[..shared] == END[..shared])
}

/// Where the last line that ends a cycle ends, and its cycle.
fn last_end(file: &File, length: u64) -> io::Result<Option<(u64, DatedRound)>> {
    let mut to = length;
    let mut bytes = Vec::new();
    while to > 0 {
        let from = to.saturating_sub(WINDOW);
        // A line that begins before `to` may end after it. Whether one begins at `from` depends on
        // the byte before.
        let before = from.saturating_sub(1);
        bytes.resize((length.min(to + END_BYTES as u64) - before) as usize, 0);
        file.read_exact_at(&mut bytes, before)?;
        let is_start = |at: usize| (before == 0 && at == 0) || at > 0 && bytes[at - 1] == b'\n';
        for at in (0..bytes.len()).rev().filter(|at| is_start(*at) && bytes[*at..].starts_with(END)) {
            let Some(line) = bytes[at..].iter().position(|byte| *byte == b'\n') else { continue };
            if let Ok(end) = serde_json::from_slice::<EventsEnd>(&bytes[at..at + line]) {
                return Ok(Some((before + (at + line) as u64 + 1, end.round())));
            }
        }
        to = from;
    }
    Ok(None)
}
