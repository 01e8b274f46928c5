//! `recrawl export`: pages, visits, cycles, the WARC index and the archive as files. docs/outputs.md has the
//! schemas.

mod archived_files;
mod cdxj;
mod changed;
mod contents;
mod cycles;
mod hosts;
mod lines;
mod new_file;
mod pages;
mod parquet;
mod rows;
mod visits;
mod wacz;

use super::print;
use crate::cli::{ExportArgs, ExportFormat, Exported};
use recrawl_crawl::admission::decisions::Decisions;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_crawl::settings::Settings;
use std::ffi::OsStr;
use std::io;
use std::path::Path;

pub fn run(args: &ExportArgs) -> Result<(), Failure> {
    let is_wacz = matches!(args.what, Exported::Wacz);
    if args.text && !is_wacz && !matches!(args.what, Exported::Contents) {
        return Err(Failure::Usage("--text is only for recrawl export contents and wacz".into()));
    }
    if args.markdown && !matches!(args.what, Exported::Contents) {
        return Err(Failure::Usage("--markdown is only for recrawl export contents".into()));
    }
    if args.changed_since.is_some() && !matches!(args.what, Exported::Pages | Exported::Contents) {
        return Err(Failure::Usage("--changed-since is only for recrawl export pages and contents".into()));
    }
    let selects = args.host.is_some() || args.prefix.is_some() || args.since.or(args.until).is_some();
    if !is_wacz && selects {
        return Err(Failure::Usage(
            "--host, --prefix, --since and --at are only for recrawl export wacz".into(),
        ));
    }
    let settings = args.at.settings_to_read()?;
    match args.what {
        Exported::Pages => pages::export(&settings, args, format(args)?),
        Exported::Contents => contents::export(&settings, args, format(args)?),
        Exported::Visits => visits::export(&settings, &args.out, format(args)?),
        Exported::Hosts => hosts::export(&settings, &args.out, format(args)?),
        Exported::Cycles if format(args)? == ExportFormat::Jsonl => cycles::export(&settings, &args.out),
        Exported::Rounds if format(args)? == ExportFormat::Jsonl => {
            cycles::export_rounds(&settings, &args.out)
        }
        Exported::Cdxj if args.format.is_none() => cdxj::export(&settings, &args.out),
        Exported::Wacz if args.format.is_none() => wacz::export(&settings, args),
        Exported::Cycles | Exported::Rounds | Exported::Cdxj | Exported::Wacz => {
            let text = "CSV and Parquet are only for pages, contents, visits and hosts; cycles and rounds are JSON lines, and cdxj \
                        and wacz take no --format";
            Err(Failure::Usage(text.into()))
        }
    }
}

/// The format from `--format`, else from the file extension.
fn format(args: &ExportArgs) -> Result<ExportFormat, Failure> {
    let ending = args.out.extension().map(OsStr::to_ascii_lowercase);
    let named = match ending.as_deref().map(OsStr::to_string_lossy).as_deref() {
        None | Some("jsonl" | "ndjson" | "json") => Some(ExportFormat::Jsonl),
        Some("csv") => Some(ExportFormat::Csv),
        Some("parquet") => Some(ExportFormat::Parquet),
        Some(_) => None,
    };
    args.format.or(named).ok_or_else(|| {
        let out = args.out.display();
        Failure::Usage(format!(
            "--out {out}: unknown file extension; use .jsonl, .csv or .parquet, or pass --format"
        ))
    })
}

fn decisions(settings: &Settings) -> Result<Decisions, Failure> {
    open_read::decisions(&settings.data_dir, || open_read::tables(&settings.data_dir))
}

/// Why an export is given up whose pages operators have decided about meanwhile.
fn decided_meanwhile() -> Failure {
    Failure::Work(
        "pages were blocked or taken down during the export, so it was discarded; run it again".into(),
    )
}

fn named(out: &Path, error: &io::Error) -> Failure {
    Failure::Work(format!("cannot write {}: {error}", out.display()))
}

/// Prints how much was written, unless it went to standard output.
fn report(out: &Path, written: u64, what: &str) -> Result<(), Failure> {
    if out == Path::new("-") {
        return Ok(());
    }
    print(format!("{written} {what} in {}", out.display()))
}
