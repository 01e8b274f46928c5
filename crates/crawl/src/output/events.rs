//! The stream of events: after each commit, one line per page that was to be visited, with its
//! outcome.
//!
//! The stream is derived from the stored visits of committed cycles. A cycle is in it completely or
//! not at all: each ends with a line that says so. A file is continued after the last such line,
//! and anything after that line is cut off. So no stop, kill or power cut loses or doubles an
//! event. Printed lines cannot be cut off: if the program stops in the middle of a cycle, the next
//! start prints that whole cycle again. docs/outputs.md describes the lines.

mod file;

use crate::config;
use crate::crawl::Crawl;
use crate::failure::Failure;
use crate::labels;
use crate::process::Printer;
use crate::stored::{keep, kept};
use file::{EventFile, EventFileEnd};
use recrawl_repository::{
    Followed, Repository, SledTables, StoredPosition, StoredRounds, StoredVisit, VisitFollower,
};
use recrawl_types::{Change, Cycle, DatedRound, Outcome, Round};
use serde::{Deserialize, Serialize};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Setting that stores up to which cycle events were printed.
const PRINTED: &str = "events_printed";

/// The outcome of a page.
#[derive(Serialize)]
struct PageEvent {
    cycle: Cycle,
    time: u64,
    url: String,
    checked: &'static str,
    outcome: &'static str,
    share: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed: Option<u8>,
}

/// The line after a round's events, and the first line of a file.
#[derive(Serialize, Deserialize)]
struct EventsEnd {
    end_of_cycle: Cycle,
    /// None if it is the number of the cycle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    round: Option<Round>,
    events: u64,
}

impl EventsEnd {
    fn new(round: DatedRound, events: u64) -> EventsEnd {
        EventsEnd { end_of_cycle: round.cycle, round: (!round.is_only()).then_some(round.round), events }
    }

    fn round(&self) -> DatedRound {
        let cycle = self.end_of_cycle;
        DatedRound { round: self.round.unwrap_or(DatedRound::only_of(cycle).round), cycle }
    }
}

/// A line that replaces cycles whose visits are no longer stored.
#[derive(Serialize)]
struct Lost {
    lost_from: Cycle,
    lost_to: Cycle,
}

/// A stream of events that follows a crawl.
pub struct Events {
    sink: Sink,
    /// The last round in the stream.
    up_to: DatedRound,
}

enum Sink {
    Printed(Box<dyn Printer>),
    File(EventFile),
}

impl Events {
    /// Continues the file at its end, or starts it with the next commit; `-` prints by `printer`. Cycles
    /// committed since the file ended are added.
    ///
    /// # Errors
    /// [`Failure::Usage`] when no visits are stored, or the file does not hold this crawl's events;
    /// [`Failure::Work`] when it cannot be read or written.
    pub fn open(at: &Path, crawl: &Crawl, printer: Box<dyn Printer>) -> Result<Events, Failure> {
        if crawl.settings.config.storage.keep_visits == 0 {
            let text = "events need stored visits; set storage.keep_visits above 0";
            return Err(Failure::Usage(text.into()));
        }
        let mut events = match at == Path::new("-") {
            true => Events::printed(printer, &crawl.repository, &crawl.tables)?,
            false => Events::at(at, None, &crawl.repository, &crawl.tables)?,
        };
        events.follow(crawl)?;
        Ok(events)
    }

    /// Prints events, from where the last printing run ended.
    fn printed(printer: Box<dyn Printer>, from: &Repository, tables: &SledTables) -> Result<Events, Failure> {
        let sink = Sink::Printed(printer);
        match kept(tables, PRINTED)?.map(LastPrinted::round) {
            Some(up_to) => Events { sink, up_to }.checked("-", from),
            None => Events { sink, up_to: from.current().dated() }.begun(tables),
        }
    }

    /// Writes to a file. `before` is the last cycle in the file that was here when it was last
    /// opened.
    fn at(
        at: &Path,
        before: Option<DatedRound>,
        from: &Repository,
        tables: &SledTables,
    ) -> Result<Events, Failure> {
        let (file, ended) = EventFile::open(at)?;
        let sink = Sink::File(file);
        match ended {
            EventFileEnd::Here(up_to) => Events { sink, up_to }.checked(&at.to_string_lossy(), from),
            EventFileEnd::Before(aside) => {
                let up_to = before.or(aside).unwrap_or(from.current().dated());
                Events { sink, up_to }.checked(&at.to_string_lossy(), from)?.begun(tables)
            }
        }
    }

    fn checked(self, at: &str, from: &Repository) -> Result<Events, Failure> {
        let (up_to, committed) = (self.up_to, from.current().dated());
        if up_to.round > committed.round {
            let text = format!(
                "{at}: ends with cycle {}, but the crawl is at cycle {}; choose another file",
                up_to.cycle, committed.cycle
            );
            return Err(Failure::Usage(text));
        }
        Ok(self)
    }

    /// Writes the first line.
    fn begun(mut self, tables: &SledTables) -> Result<Events, Failure> {
        self.end_round(self.up_to, 0, tables)?;
        Ok(self)
    }

    /// Adds the cycles committed since. Waits for a slow reader of standard output until the
    /// program stops; then the next start prints that cycle again.
    ///
    /// # Errors
    /// When the visits cannot be read, or the events not be written. Nothing is lost: the next call
    /// continues here.
    pub fn follow(&mut self, crawl: &Crawl) -> Result<(), Failure> {
        let added = self.add(&crawl.settings.config.events, &crawl.repository, &crawl.tables);
        match &self.sink {
            Sink::Printed(printed) if printed.gave_up() => {
                tracing::info!(
                    "nothing reads the events on standard output; the next start prints this cycle again"
                );
                Ok(())
            }
            _ => added,
        }
    }

    /// Opens the file again, after another program may have rotated it.
    ///
    /// # Errors
    /// When it cannot be opened, or holds something else; then events go to the old file.
    pub fn reopen(&mut self, crawl: &Crawl) -> Result<(), Failure> {
        if let Sink::File(file) = &self.sink {
            *self = Events::at(file.path(), Some(self.up_to), &crawl.repository, &crawl.tables)?;
        }
        Ok(())
    }

    /// Are events written to standard output?
    pub fn are_printed(&self) -> bool {
        matches!(self.sink, Sink::Printed(_))
    }

    fn add(
        &mut self,
        rotation: &config::Events,
        repository: &Repository,
        tables: &SledTables,
    ) -> Result<(), Failure> {
        let (committed, kept) = (repository.current().dated(), repository.kept());
        let mut follower = VisitFollower::default();
        while self.up_to.round < committed.round {
            if let Sink::File(file) = &mut self.sink
                && !file.mend().map_err(|e| file::failed(file.path(), &e))?
            {
                self.end_round(self.up_to, 0, tables)?;
            }
            let from = StoredPosition::before(self.up_to.round.next());
            match self.put_round(&mut follower, from, &kept, committed.round)? {
                WrittenRound::Events(round, events) => self.end_round(round, events, tables)?,
                WrittenRound::Lost(to) => self.put_lost(to.unwrap_or(committed), tables)?,
            }
            self.rotate(rotation)?;
        }
        Ok(())
    }

    /// Writes the events of the next round, or tells up to which they are lost; none up to `until`.
    fn put_round(
        &mut self,
        follower: &mut VisitFollower,
        mut from: StoredPosition,
        kept: &StoredRounds,
        until: Round,
    ) -> Result<WrittenRound, Failure> {
        let mut events = 0;
        let mut lines = BufWriter::new(&mut self.sink);
        let mut put_all = || loop {
            match follower.next(&mut from, kept, until)? {
                Followed::Page(round, visits) => {
                    for visit in &visits {
                        put(&mut lines, &PageEvent::from_visit(round.cycle, visit)).map_err(NotPut::Line)?;
                        events += 1;
                    }
                }
                Followed::End(round) => {
                    lines.flush().map_err(NotPut::Line)?;
                    return Ok(WrittenRound::Events(round, events));
                }
                Followed::Lost(next) => return Ok(WrittenRound::Lost(Some(before(self.up_to, next)))),
                Followed::Nothing => return Ok(WrittenRound::Lost(None)),
            }
        };
        let all = put_all();
        // Discard the buffer of a failed write.
        drop(lines.into_parts());
        all.map_err(|e: NotPut| e.into_failure(&self.sink))
    }

    /// Rotates a full file.
    fn rotate(&mut self, rotation: &config::Events) -> Result<(), Failure> {
        let Sink::File(file) = &mut self.sink else { return Ok(()) };
        if file.is_full(rotation) {
            let end = EventsEnd::new(self.up_to, 0);
            file.put_aside(rotation.keep, &end).map_err(|e| file::failed(file.path(), &e))?;
        }
        Ok(())
    }

    /// Writes a line for the next rounds, up to this one, whose visits are no longer stored.
    fn put_lost(&mut self, to: DatedRound, tables: &SledTables) -> Result<(), Failure> {
        // Rounds of the last cycle may be lost too, unless each cycle has one.
        let from = if self.up_to.is_only() { self.up_to.cycle.next() } else { self.up_to.cycle };
        let from = from.min(to.cycle);
        tracing::warn!(
            %from,
            to = %to.cycle,
            "no events for these cycles: their visits were already removed (storage.keep_visits)"
        );
        put(&mut self.sink, &Lost { lost_from: from, lost_to: to.cycle })
            .map_err(|e| self.sink.failed(&e))?;
        self.end_round(to, 0, tables)
    }

    /// Writes the line that makes a round's events valid.
    fn end_round(&mut self, round: DatedRound, events: u64, tables: &SledTables) -> Result<(), Failure> {
        let end = EventsEnd::new(round, events);
        let ended = match &mut self.sink {
            Sink::Printed(printed) => put(printed, &end),
            Sink::File(file) => file.end_round(&end),
        };
        ended.map_err(|e| self.sink.failed(&e))?;
        if self.are_printed() {
            keep(tables, PRINTED, &LastPrinted::from_round(round))?;
            tables.flush()?;
        }
        self.up_to = round;
        Ok(())
    }
}

/// The last round before `next`, after `last`.
fn before(last: DatedRound, next: DatedRound) -> DatedRound {
    let round = Round(next.round.0.saturating_sub(1));
    let has_one_round_each = next.cycle.since(last.cycle) == next.round.since(last.round);
    DatedRound { round, cycle: Cycle(next.cycle.0.saturating_sub(u32::from(has_one_round_each))) }
}

/// The last printed round, as stored: only its cycle if that has the same number.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum LastPrinted {
    Cycle(Cycle),
    Round(DatedRound),
}

impl LastPrinted {
    fn from_round(round: DatedRound) -> LastPrinted {
        match round.is_only() {
            true => LastPrinted::Cycle(round.cycle),
            false => LastPrinted::Round(round),
        }
    }

    fn round(self) -> DatedRound {
        match self {
            LastPrinted::Cycle(cycle) => DatedRound::only_of(cycle),
            LastPrinted::Round(round) => round,
        }
    }
}

/// The outcome of writing a round.
enum WrittenRound {
    /// Its events, and how many.
    Events(DatedRound, u64),
    /// Nothing: the visits up to this round are lost; none: up to the last commit.
    Lost(Option<DatedRound>),
}

/// Why a round's events could not be written.
enum NotPut {
    Visits(Failure),
    Line(io::Error),
}

impl From<recrawl_repository::ReadError> for NotPut {
    fn from(error: recrawl_repository::ReadError) -> NotPut {
        NotPut::Visits(error.into())
    }
}

impl NotPut {
    fn into_failure(self, sink: &Sink) -> Failure {
        match self {
            NotPut::Visits(failure) => failure,
            NotPut::Line(error) => sink.failed(&error),
        }
    }
}

impl PageEvent {
    fn from_visit(cycle: Cycle, visit: &StoredVisit) -> PageEvent {
        let outcome = visit.outcome.name();
        let is_absent = matches!(visit.outcome, Outcome::NotFound(_));
        let checked = match visit.outcome.change() {
            Some(Change::First | Change::Undecided) => "first",
            Some(Change::Changed) => "changed",
            Some(Change::Unchanged) => "unchanged",
            None if is_absent => "gone",
            None => "not_looked_at",
        };
        let why = || visit.outcome.why().unwrap_or(outcome);
        PageEvent {
            cycle,
            time: visit.at,
            url: visit.url.to_string(),
            checked,
            outcome,
            share: labels::share(visit.share).0,
            why: (checked == "not_looked_at").then(why),
            status: visit.outcome.status(),
            confirmed: Some(visit.confirmed).filter(|confirmed| is_absent && *confirmed > 0),
        }
    }
}

impl Sink {
    fn failed(&self, error: &io::Error) -> Failure {
        match self {
            Sink::Printed(_) => Failure::Work(format!("cannot write events to standard output: {error}")),
            Sink::File(file) => file::failed(file.path(), error),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::Printed(printed) => printed.write(bytes),
            Sink::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a line at once.
fn put(out: &mut impl Write, line: &impl Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    out.write_all(&bytes)
}

#[cfg(test)]
mod tests;
