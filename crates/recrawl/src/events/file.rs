//! A file of events: taken up where its last cycle ends, and put aside, as `FILE.1`, once it is full.
//!
//! It is put aside between two cycles, so that no cycle, and no line, is in two files. Each file begins with the end of the
//! cycle before its first, so that it can be taken up whenever the program stopped.

use super::{End, put};
use crate::config;
use crate::failure::Failure;
use recrawl_types::Cycle;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// How the line begins that ends a cycle; no other line begins so.
const END: &[u8] = b"{\"end_of_cycle\":";
/// No such line is longer.
const END_BYTES: usize = 128;
/// Bytes in which the last such line is looked for at a time.
pub const WINDOW: u64 = 64 << 10;

/// A file that is appended to.
pub struct EventFile {
    path: PathBuf,
    file: File,
    /// Bytes up to the last end of a cycle; what is behind them does not count.
    end: u64,
}

/// Where a file goes on.
pub enum Ended {
    /// Behind the end of this cycle.
    Here(Cycle),
    /// It is empty; the one that was put aside before it, if any, ends with this cycle.
    Before(Option<Cycle>),
}

impl EventFile {
    /// Opens the file, or makes one, and cuts off what no line ends.
    ///
    /// # Errors
    /// [`Failure::Usage`] when it is no file of events; [`Failure::Work`] when it cannot be read or written.
    pub fn open(path: &Path) -> Result<(EventFile, Ended), Failure> {
        let failed = |e: io::Error| failed(path, &e);
        let is_new = !path.exists();
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).create(true).open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        let (end, ended) = match last_end(&file, length).map_err(failed)? {
            Some((end, cycle)) => (end, Ended::Here(cycle)),
            None if begins_as_ours(&file, length).map_err(failed)? => {
                (0, Ended::Before(last_put_aside(path)?))
            }
            None => {
                let text =
                    format!("{}: is no file of events, and stays as it is: give another", path.display());
                return Err(Failure::Usage(text));
            }
        };
        if end < length {
            file.set_len(end).map_err(failed)?;
        }
        if is_new {
            sync_folder(path).map_err(failed)?;
        }
        Ok((EventFile { path: path.into(), file, end }, ended))
    }

    /// Cuts off what a cycle left behind that could not be written to its end. False when the file is shorter than it
    /// was: somebody else has cut it.
    ///
    /// # Errors
    /// When it cannot be cut.
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

    /// Makes what was written count. It is durable before the line that says so is written.
    ///
    /// # Errors
    /// When the disk takes no more.
    pub fn end_cycle(&mut self, end: &End) -> io::Result<()> {
        self.file.sync_data()?;
        put(&mut &self.file, end)?;
        self.file.sync_data()?;
        self.end = self.file.metadata()?.len();
        Ok(())
    }

    /// Is it as large as it may become?
    pub fn is_full(&self, rotation: &config::Events) -> bool {
        rotation.max_bytes.0 > 0 && self.end >= rotation.max_bytes.0
    }

    /// Puts it aside, and those before it one further; the oldest go. What is written next goes to a new one.
    ///
    /// # Errors
    /// When the folder cannot be written to. Then the file goes on, or a start finds the one put aside.
    pub fn put_aside(&mut self, keep: u32, end: &End) -> io::Result<()> {
        for number in (keep.max(1)..).take_while(|number| aside(&self.path, *number).exists()) {
            fs::remove_file(aside(&self.path, number))?;
        }
        for number in (1..keep).rev().filter(|number| aside(&self.path, *number).exists()) {
            fs::rename(aside(&self.path, number), aside(&self.path, number + 1))?;
        }
        fs::rename(&self.path, aside(&self.path, 1))?;
        self.file = OpenOptions::new().read(true).append(true).create(true).open(&self.path)?;
        self.end = 0;
        self.end_cycle(end)?;
        sync_folder(&self.path)
    }

    /// Where it is.
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

/// What went wrong with the file.
pub fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::Work(format!("events: {}: {error}", path.display()))
}

/// `FILE.1`, the newest that was put aside, and so on.
fn aside(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

/// With which cycle the file ends that was put aside last.
fn last_put_aside(path: &Path) -> Result<Option<Cycle>, Failure> {
    let path = aside(path, 1);
    let last = File::open(&path).and_then(|file| last_end(&file, file.metadata()?.len()));
    match last {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        last => Ok(last.map_err(|e| failed(&path, &e))?.map(|(_, cycle)| cycle)),
    }
}

fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

/// Is it empty, or a part of a first line that a stop has cut?
fn begins_as_ours(file: &File, length: u64) -> io::Result<bool> {
    let mut start = vec![0; length.min(END_BYTES as u64) as usize];
    file.read_exact_at(&mut start, 0)?;
    let shared = start.len().min(END.len());
    Ok(length < END_BYTES as u64 && start[..shared] == END[..shared])
}

/// Where the last line that ends a cycle ends, and which cycle that is.
fn last_end(file: &File, length: u64) -> io::Result<Option<(u64, Cycle)>> {
    let mut to = length;
    let mut bytes = Vec::new();
    while to > 0 {
        let from = to.saturating_sub(WINDOW);
        // A line that begins before `to` may end behind it; one that begins at `from` is told by what stands before.
        let before = from.saturating_sub(1);
        bytes.resize((length.min(to + END_BYTES as u64) - before) as usize, 0);
        file.read_exact_at(&mut bytes, before)?;
        let is_start = |at: usize| (before == 0 && at == 0) || at > 0 && bytes[at - 1] == b'\n';
        for at in (0..bytes.len()).rev().filter(|at| is_start(*at) && bytes[*at..].starts_with(END)) {
            let Some(line) = bytes[at..].iter().position(|byte| *byte == b'\n') else { continue };
            if let Ok(end) = serde_json::from_slice::<End>(&bytes[at..at + line]) {
                return Ok(Some((before + (at + line) as u64 + 1, end.end_of_cycle)));
            }
        }
        to = from;
    }
    Ok(None)
}
