//! `recrawl export`: what is known, for other programs. docs/outputs.md has each file's schema.

mod cdxj;
mod cycles;
mod lines;
mod pages;
mod parquet;
mod rows;
mod visits;

use super::print;
use crate::cli::{ExportArgs, Exported, Format};
use crate::failure::Failure;
use std::io;
use std::path::Path;

pub use pages::page_json;

pub fn run(args: &ExportArgs) -> Result<(), Failure> {
    let settings = args.at.settings()?;
    match (args.what, format(args)) {
        (Exported::Pages, format) => pages::export(&settings, &args.out, format),
        (Exported::Visits, format) => visits::export(&settings, &args.out, format),
        (Exported::Cycles, Format::Jsonl) => cycles::export(&settings, &args.out),
        (Exported::Cdxj, _) if args.format.is_none() => cdxj::export(&settings, &args.out),
        (Exported::Cycles | Exported::Cdxj, _) => {
            let text =
                "Parquet is for pages and visits; cycles are JSON lines, and CDXJ is a format of its own";
            Err(Failure::Usage(text.into()))
        }
    }
}

/// What was asked for, or what the name of the file says.
fn format(args: &ExportArgs) -> Format {
    let is_parquet = args.out.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("parquet"));
    args.format.unwrap_or(if is_parquet { Format::Parquet } else { Format::Jsonl })
}

fn named(out: &Path, error: &io::Error) -> Failure {
    Failure::Work(format!("{}: {error}", out.display()))
}

/// Says what was written, unless it went to standard output.
fn report(out: &Path, written: u64, what: &str) -> Result<(), Failure> {
    if out == Path::new("-") {
        return Ok(());
    }
    print(format!("{written} {what} in {}", out.display()))
}
