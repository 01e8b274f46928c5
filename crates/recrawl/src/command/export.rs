//! `recrawl export`: what is known, for other programs.

mod visits;

use super::print;
use crate::cli::{ExportArgs, Exported};
use crate::consent::claim;
use crate::failure::Failure;
use crate::reading;
use crate::settings::Settings;
use recrawl_types::{CanonicalUrl, PageRecord};
use serde_json::{Value, json};
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

pub fn run(args: &ExportArgs) -> Result<(), Failure> {
    let settings = args.at.settings()?;
    match args.what {
        Exported::Pages => pages(&settings, &args.out),
        Exported::Visits => visits::export(&settings, &args.out),
    }
}

fn pages(settings: &Settings, out: &Path) -> Result<(), Failure> {
    let repository = reading::repository(settings)?;
    let mut lines = Lines::create(out)?;
    let generation = repository.current();
    let mut records = generation.records();
    while let Some((_, key, record)) = records.next_record().map_err(Failure::work)? {
        let url = CanonicalUrl::from_key(key).map_err(Failure::work)?;
        if !lines.write(page_json(&url, &record))? {
            return Ok(());
        }
    }
    lines.finish("pages")
}

/// A file of lines, or standard output, which whoever reads it may close before the end.
struct Lines {
    out: PathBuf,
    sink: Box<dyn Write>,
    written: u64,
}

impl Lines {
    fn create(out: &Path) -> Result<Lines, Failure> {
        let sink: Box<dyn Write> = match out == Path::new("-") {
            true => Box::new(BufWriter::new(io::stdout().lock())),
            false => Box::new(BufWriter::new(File::create(out).map_err(|e| named(out, &e))?)),
        };
        Ok(Lines { out: out.into(), sink, written: 0 })
    }

    fn is_stdout(&self) -> bool {
        self.out == Path::new("-")
    }

    /// Does the reader want more?
    fn write(&mut self, line: impl Display) -> Result<bool, Failure> {
        match writeln!(self.sink, "{line}") {
            Err(e) if self.is_stdout() && e.kind() == io::ErrorKind::BrokenPipe => return Ok(false),
            other => other.map_err(|e| named(&self.out, &e))?,
        }
        self.written += 1;
        Ok(true)
    }

    fn finish(mut self, what: &str) -> Result<(), Failure> {
        self.sink.flush().map_err(|e| named(&self.out, &e))?;
        if self.is_stdout() {
            return Ok(());
        }
        print(format!("{} {what} in {}", self.written, self.out.display()))
    }
}

fn named(out: &Path, error: &io::Error) -> Failure {
    Failure::Work(format!("{}: {error}", out.display()))
}

/// A page as one JSON object. What a page has only once it was visited is null before.
pub fn page_json(url: &CanonicalUrl, record: &PageRecord) -> Value {
    let known = &record.known;
    let history = record.visited.as_ref().map(|v| &v.history);
    let content = record.visited.as_ref().map(|v| &v.content);
    let consent = content.map(|c| &c.consent);
    json!({
        "url": url.to_string(),
        "status": known.status,
        "depth": known.depth,
        "in_links": known.in_links,
        "discovered": known.discovered,
        "last_attempt": Some(known.last_attempt.0).filter(|c| *c > 0),
        "failures": known.failures,
        "not_found": known.not_found,
        "lastmod": Some(known.lastmod).filter(|at| *at > 0),
        "announced": known.is_announced,
        "n": history.map(|h| h.visits),
        "X": history.map(|h| h.changes),
        "first": history.map(|h| h.first),
        "last": history.map(|h| h.last),
        "last_change": history.map(|h| h.last_change.0).filter(|c| *c > 0),
        "kind": content.map(|c| c.kind),
        "simhash": content.map(|c| format!("{:016x}", c.fingerprint.simhash)),
        "digest": content.map(|c| format!("{:032x}", c.fingerprint.digest)),
        "etag": content.and_then(|c| c.validators.etag.as_deref()),
        "last_modified": content.and_then(|c| c.validators.last_modified.as_deref()),
        "noindex": consent.map(|c| c.noindex),
        "nofollow": consent.map(|c| c.nofollow),
        "noarchive": consent.map(|c| c.noarchive),
        "unavailable_after": consent.and_then(|c| c.unavailable_after),
        "canonical": consent.and_then(|c| c.canonical.other()).map(ToString::to_string),
        "canonical_claim": consent.and_then(|c| claim(&c.canonical, url)),
        "warc_file": content.and_then(|c| c.archive).map(|a| a.file),
        "warc_offset": content.and_then(|c| c.archive).map(|a| a.offset),
    })
}
