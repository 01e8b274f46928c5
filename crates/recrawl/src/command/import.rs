//! `recrawl import`: adds the URLs of lists and web archive indexes as known pages.

use super::{counted, print, print_json, thousands};
use crate::cli::{ImportArgs, ImportCommand};
use crate::exclusive_access::ExclusiveAccess;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::labels;
use recrawl_crawl::operator::import::lines::TextLines;
use recrawl_crawl::operator::import::{Import, Offered};
use recrawl_crawl::report::RoundReport;
use recrawl_extractor::dated_line;
use recrawl_simulation::format::{Capture, IndexLines, shown};
use serde_json::json;
use std::path::Path;

/// Bad lines quoted in messages; more are only counted.
const NAMED_LINES: usize = 5;

pub fn run(command: &ImportCommand) -> Result<(), Failure> {
    let (ImportCommand::List(args) | ImportCommand::Cdx(args)) = command;
    let clock = recrawl_fetcher::system_clock();
    let failed = |e: std::io::Error| Failure::Work(format!("cannot read {}: {e}", args.file.display()));
    // Before the data directory is touched.
    let mut lines = TextLines::open(&args.file).map_err(|e| Failure::Usage(failed(e).to_string()))?;
    let mut settings = args.on.at.settings()?;
    settings.files.push(args.file.clone());
    let _turn = ExclusiveAccess::alone(&settings.data_dir)?;
    let mut import = Import::open(settings, clock())?;
    let mut bad = BadLines { named: Vec::new(), count: 0 };
    let (mut pages, mut last) = (ImportedPages::default(), 0);
    while let Some((number, line)) = lines.next_line().map_err(failed)? {
        last = number;
        let taken = match (line, command) {
            (Err(what), _) => Err(what.to_owned()),
            (Ok(line), ImportCommand::List(_)) => offer_line(&mut import, line)?,
            (Ok(line), ImportCommand::Cdx(_)) => pages.offer_line(&mut import, line)?,
        };
        if let Err(what) = taken {
            bad.add(&args.file, number, &what);
        }
    }
    if let Err(what) = pages.finish(&mut import)? {
        bad.add(&args.file, last, &what);
    }
    if bad.count > 0 && !args.skip_bad {
        let text = format!("{}; nothing was imported: fix these lines or pass --skip-bad", bad.words());
        return Err(Failure::Work(text));
    }
    if bad.count > 0 {
        tracing::warn!("skipped: {}", bad.words());
    }
    let (counts, joined) = (import.counts.clone(), std::mem::take(&mut import.joining));
    let report = import.commit(clock())?;
    tell(args, bad.count, &json!(counts), &joined, &report)
}

fn tell(
    args: &ImportArgs,
    bad: u64,
    counts: &serde_json::Value,
    joined: &[String],
    report: &RoundReport,
) -> Result<(), Failure> {
    let (new, known) = (report.links_new, report.pages_known);
    if args.on.json {
        return print_json(&json!({
            "offered": counts, "new": new, "bad_lines": bad, "pages_known": known, "sites_joined": joined,
        }));
    }
    let of = |name: &str, noun: &str| counted(counts[name].as_u64().unwrap_or(0), noun);
    print(format!(
        "imported {}, {} with a date; {} new, {} known in total",
        of("taken", "URL"),
        thousands(counts["dated"].as_u64().unwrap_or(0)),
        thousands(new),
        thousands(known)
    ))?;
    match joined.len() as u64 {
        0 => {}
        1 => print(format!("1 new site joins the crawl: {}", joined[0]))?,
        many => print(format!("{} new sites join the crawl: {}", thousands(many), labels::some_of(joined)))?,
    }
    print(format!(
        "skipped: {} outside the scope, {}; ignored {} in the future",
        of("out_of_scope", "URL"),
        counted(bad, "bad line"),
        of("ahead", "date")
    ))
}

fn offer_line(import: &mut Import, line: &str) -> Result<Offered, Failure> {
    match dated_line(line) {
        Ok(Some(dated)) => {
            let offered = import.offer(dated.address, dated.lastmod)?;
            Ok(offered.map_err(|e| format!("{}: {e}", shown(dated.address))))
        }
        Ok(None) => Ok(Ok(())),
        Err(what) => Ok(Err(what)),
    }
}

/// Combines the captures of an index into pages: captures of a URL are adjacent.
#[derive(Default)]
struct ImportedPages {
    index: IndexLines,
    page: Option<ImportedPage>,
}

/// The captures of a URL so far.
struct ImportedPage {
    key: String,
    address: String,
    /// Did the last capture succeed?
    is_there: bool,
    digest: String,
    /// Time of the first capture with the current content, in seconds since 1970.
    since: u64,
}

impl ImportedPages {
    fn offer_line(&mut self, import: &mut Import, line: &str) -> Result<Offered, Failure> {
        let mut before = None;
        let page = &mut self.page;
        let read = self.index.read(line, |capture| {
            let seconds = capture.seconds()?;
            let known = page.as_mut().filter(|page| page.key == capture.key);
            match known {
                Some(page) => page.see(capture, seconds),
                None => before = page.replace(ImportedPage::first(capture, seconds)),
            }
            Ok(())
        });
        // An error of the URL before is reported at this line, unless the line itself is bad.
        let offered = before.map_or(Ok(Ok(())), |page| page.offer(import))?;
        Ok(read.map(drop).and(offered))
    }

    /// Offers the last page.
    fn finish(self, import: &mut Import) -> Result<Offered, Failure> {
        self.page.map_or(Ok(Ok(())), |page| page.offer(import))
    }
}

impl ImportedPage {
    fn first(capture: &Capture<'_>, seconds: u64) -> ImportedPage {
        ImportedPage {
            key: capture.key.into(),
            address: capture.url.into(),
            is_there: capture.shows_a_page(),
            digest: capture.digest.into(),
            since: seconds,
        }
    }

    fn see(&mut self, capture: &Capture<'_>, seconds: u64) {
        let shows = capture.shows_a_page();
        if shows && (capture.digest != self.digest || !self.is_there) {
            self.digest = capture.digest.into();
            self.since = seconds;
        }
        if shows && !capture.url.is_empty() {
            self.address = capture.url.into();
        }
        // A revisit record has the content of the capture before.
        self.is_there = shows;
    }

    fn offer(self, import: &mut Import) -> Result<Offered, Failure> {
        if !self.is_there {
            return Ok(Ok(()));
        }
        let lastmod = u32::try_from(self.since).unwrap_or(u32::MAX);
        let offered = import.offer(&self.address, lastmod)?;
        Ok(offered.map_err(|e| format!("{}: {e}", shown(&self.address))))
    }
}

/// Lines that cannot be imported.
struct BadLines {
    named: Vec<String>,
    count: u64,
}

impl BadLines {
    fn add(&mut self, file: &Path, number: u64, what: &str) {
        self.count += 1;
        if self.named.len() < NAMED_LINES {
            self.named.push(format!("{}:{number}: {what}", file.display()));
        }
    }

    fn words(&self) -> String {
        let more = self.count - self.named.len() as u64;
        let rest = if more > 0 { format!("; and {more} more bad lines") } else { String::new() };
        format!("{}{rest}", self.named.join("; "))
    }
}
