//! `recrawl export`: what is known, for other programs.

use super::print;
use crate::cli::{ExportArgs, Exported};
use crate::failure::Failure;
use crate::reading;
use crate::settings::Settings;
use recrawl_types::{CanonicalUrl, PageRecord};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

pub fn run(args: &ExportArgs) -> Result<(), Failure> {
    let settings = args.at.settings()?;
    match args.what {
        Exported::Pages => pages(&settings, &args.out),
    }
}

fn pages(settings: &Settings, out: &Path) -> Result<(), Failure> {
    let repository = reading::repository(settings)?;
    let named = |e: io::Error| Failure::Work(format!("{}: {e}", out.display()));
    let to_stdout = out == Path::new("-");
    let mut sink: Box<dyn Write> = match to_stdout {
        true => Box::new(BufWriter::new(io::stdout().lock())),
        false => Box::new(BufWriter::new(File::create(out).map_err(named)?)),
    };
    let generation = repository.current();
    let mut records = generation.records();
    while let Some((_, key, record)) = records.next_record().map_err(Failure::work)? {
        let url = CanonicalUrl::from_key(key).map_err(Failure::work)?;
        match writeln!(sink, "{}", page_json(&url, &record)) {
            Err(e) if to_stdout && e.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            other => other.map_err(named)?,
        }
    }
    sink.flush().map_err(named)?;
    if to_stdout { Ok(()) } else { print(format!("{} pages in {}", generation.pages(), out.display())) }
}

/// A page as one JSON object. What a page has only once it was visited is null before.
pub fn page_json(url: &CanonicalUrl, record: &PageRecord) -> Value {
    let known = &record.known;
    let history = record.visited.as_ref().map(|v| &v.history);
    let content = record.visited.as_ref().map(|v| &v.content);
    json!({
        "url": url.to_string(),
        "status": known.status,
        "depth": known.depth,
        "in_links": known.in_links,
        "discovered": known.discovered,
        "last_attempt": Some(known.last_attempt.0).filter(|c| *c > 0),
        "failures": known.failures,
        "not_found": known.not_found,
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
        "warc_file": content.and_then(|c| c.archive).map(|a| a.file),
        "warc_offset": content.and_then(|c| c.archive).map(|a| a.offset),
    })
}
