//! The stream of events: after each commit a line for each page that was to be visited, and what came of it.
//!
//! A stream is derived from the kept visits of committed cycles, so it says what the pages' records were told,
//! and a cycle is in it whole or not at all: each ends with a line that says so. A file is taken up behind the last
//! such line, and what stands behind that is cut off, so no stop, kill or power cut loses or doubles an event. What
//! is printed cannot be cut off: a cycle in whose middle the program was stopped is printed once more, whole.
//! docs/outputs.md describes the lines.

use crate::crawl::{Crawl, keep, kept};
use crate::failure::Failure;
use crate::words;
use recrawl_repository::{KeptVisit, Repository, SledTables};
use recrawl_types::{Change, Cycle, Outcome};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The setting that says up to which cycle events were printed.
const PRINTED: &str = "events_printed";
/// How the line begins that ends a cycle; no other line begins so.
const END: &[u8] = b"{\"end_of_cycle\":";
/// No such line is longer.
const END_BYTES: usize = 128;
/// Bytes in which the last such line is looked for at a time.
const WINDOW: u64 = 64 << 10;

/// What came of a page.
#[derive(Serialize)]
struct Event {
    cycle: Cycle,
    time: u64,
    url: String,
    checked: &'static str,
    outcome: &'static str,
    share: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed: Option<u8>,
}

/// The line behind a cycle's events, and the first of a file.
#[derive(Serialize, Deserialize)]
struct End {
    end_of_cycle: Cycle,
    events: u64,
}

/// In place of cycles whose visits are no longer kept.
#[derive(Serialize)]
struct Lost {
    lost_from: Cycle,
    lost_to: Cycle,
}

/// A stream that follows a crawl.
pub struct Events {
    sink: Sink,
    /// All cycles up to this one are in it.
    up_to: Cycle,
}

enum Sink {
    Printed,
    File { path: PathBuf, file: File },
}

impl Events {
    /// Takes up the file where it ends, or begins it with the next commit; `-` prints. Cycles that were committed since
    /// it ended are added.
    ///
    /// # Errors
    /// [`Failure::Usage`] when no visits are kept, or the file is none of this crawl's events; [`Failure::Work`]
    /// when it cannot be read or written.
    pub fn open(at: &Path, crawl: &Crawl) -> Result<Events, Failure> {
        if crawl.settings.config.storage.keep_visits == 0 {
            let text = "events are made from the kept visits: set storage.keep_visits above 0";
            return Err(Failure::Usage(text.into()));
        }
        let mut events = Events::at(at, &crawl.repository, &crawl.tables)?;
        events.add(&crawl.repository, &crawl.tables)?;
        Ok(events)
    }

    fn at(at: &Path, repository: &Repository, tables: &SledTables) -> Result<Events, Failure> {
        let committed = repository.current().number();
        let (sink, ended) = match at == Path::new("-") {
            true => (Sink::Printed, kept(tables, PRINTED)?),
            false => {
                let (file, ended) = open_file(at)?;
                (Sink::File { path: at.into(), file }, ended)
            }
        };
        let up_to = ended.unwrap_or(committed);
        if up_to > committed {
            let text = format!(
                "{}: its events end with cycle {up_to}, and this crawl with cycle {committed}: give another file",
                at.display()
            );
            return Err(Failure::Usage(text));
        }
        let mut events = Events { sink, up_to };
        if ended.is_none() {
            events.end_cycle(up_to, 0, tables)?;
        }
        Ok(events)
    }

    /// Adds the cycles that were committed since.
    ///
    /// # Errors
    /// When their visits cannot be read, or the disk takes no more. Nothing is lost: the next start goes on here.
    pub fn follow(&mut self, crawl: &Crawl) -> Result<(), Failure> {
        self.add(&crawl.repository, &crawl.tables)
    }

    /// Do they take standard output?
    pub fn are_printed(&self) -> bool {
        matches!(self.sink, Sink::Printed)
    }

    fn add(&mut self, repository: &Repository, tables: &SledTables) -> Result<(), Failure> {
        let committed = repository.current().number();
        while self.up_to < committed {
            let cycle = self.up_to.next();
            match repository.kept_visits(cycle)? {
                Some(mut visits) => {
                    let mut written = 0;
                    let mut lines = BufWriter::new(self.sink.writer());
                    while let Some(visit) = visits.next_visit()? {
                        put(&mut lines, &Event::of(cycle, &visit)).map_err(|e| self.sink.failed(&e))?;
                        written += 1;
                    }
                    lines.flush().map_err(|e| self.sink.failed(&e))?;
                    drop(lines);
                    self.end_cycle(cycle, written, tables)?;
                }
                None => self.skip_lost(cycle, committed, repository, tables)?,
            }
        }
        Ok(())
    }

    /// Says which cycles from this one on are no longer kept.
    fn skip_lost(
        &mut self,
        from: Cycle,
        committed: Cycle,
        repository: &Repository,
        tables: &SledTables,
    ) -> Result<(), Failure> {
        let next = repository.kept_cycles()?.into_iter().find(|cycle| *cycle > from);
        let to = next.map_or(committed, |next| Cycle(next.0 - 1));
        tracing::warn!(%from, %to, "the visits of these cycles are no longer kept: they have no events");
        put(&mut self.sink.writer(), &Lost { lost_from: from, lost_to: to })
            .map_err(|e| self.sink.failed(&e))?;
        self.end_cycle(to, 0, tables)
    }

    /// Makes a cycle's lines count. They are durable before the line that says so is written.
    fn end_cycle(&mut self, cycle: Cycle, events: u64, tables: &SledTables) -> Result<(), Failure> {
        let end = End { end_of_cycle: cycle, events };
        self.sink.sync().map_err(|e| self.sink.failed(&e))?;
        let written = put(&mut self.sink.writer(), &end).and_then(|()| self.sink.sync());
        written.map_err(|e| self.sink.failed(&e))?;
        if self.are_printed() {
            keep(tables, PRINTED, &cycle)?;
            tables.flush()?;
        }
        self.up_to = cycle;
        Ok(())
    }
}

impl Event {
    fn of(cycle: Cycle, visit: &KeptVisit) -> Event {
        let outcome = words::outcome(visit.outcome);
        let is_absent = matches!(visit.outcome, Outcome::NotFound(_));
        let checked = match visit.outcome.change() {
            Some(Change::First | Change::Undecided) => "first",
            Some(Change::Changed) => "changed",
            Some(Change::Unchanged) => "unchanged",
            None if is_absent => "gone",
            None => "not_looked_at",
        };
        let why = || words::why(visit.outcome).unwrap_or_else(|| outcome.to_owned());
        Event {
            cycle,
            time: visit.at,
            url: visit.url.to_string(),
            checked,
            outcome,
            share: words::share(visit.share).0,
            why: (checked == "not_looked_at").then(why),
            status: words::status(visit.outcome),
            confirmed: Some(visit.confirmed).filter(|confirmed| is_absent && *confirmed > 0),
        }
    }
}

impl Sink {
    /// Where lines are written: at the end of the file.
    fn writer(&self) -> Box<dyn Write + '_> {
        match self {
            Sink::Printed => Box::new(io::stdout().lock()),
            Sink::File { file, .. } => Box::new(file),
        }
    }

    fn sync(&self) -> io::Result<()> {
        match self {
            Sink::Printed => io::stdout().flush(),
            Sink::File { file, .. } => file.sync_data(),
        }
    }

    fn failed(&self, error: &io::Error) -> Failure {
        match self {
            Sink::Printed => Failure::Work(format!("events: standard output: {error}")),
            Sink::File { path, .. } => Failure::Work(format!("events: {}: {error}", path.display())),
        }
    }
}

/// Writes a line in one piece.
fn put(out: &mut impl Write, line: &impl Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    out.write_all(&bytes)
}

/// Opens the file and cuts off what no line ends; a new one has no last cycle.
fn open_file(path: &Path) -> Result<(File, Option<Cycle>), Failure> {
    let failed = |e: io::Error| Failure::Work(format!("events: {}: {e}", path.display()));
    let is_new = !path.exists();
    let mut options = OpenOptions::new();
    let mut file = options.read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let (end, cycle) = match last_end(&file, length).map_err(failed)? {
        Some((end, cycle)) => (end, Some(cycle)),
        None if begins_as_ours(&file, length).map_err(failed)? => (0, None),
        None => {
            let text = format!("{}: is no file of events, and stays as it is: give another", path.display());
            return Err(Failure::Usage(text));
        }
    };
    if end < length {
        file.set_len(end).map_err(failed)?;
    }
    file.seek(SeekFrom::Start(end)).map_err(failed)?;
    if is_new {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
    }
    Ok((file, cycle))
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

#[cfg(test)]
mod tests;
