//! Arguments of `recrawl export`.

use super::{PastTime, Where};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `recrawl export`
#[derive(Args)]
pub struct ExportArgs {
    /// Data to export
    #[arg(value_enum)]
    pub what: Exported,
    /// Output file; `-` for standard output
    #[arg(long, value_name = "PATH")]
    pub out: PathBuf,
    /// File format. Default: from the file extension: `.jsonl` (or none), `.csv`, `.parquet`
    #[arg(long, value_enum)]
    pub format: Option<ExportFormat>,
    /// With contents and wacz: also the text, as far as it counts
    #[arg(long)]
    pub text: bool,
    /// With contents: also the main content as Markdown
    #[arg(long)]
    pub markdown: bool,
    /// With pages and contents: only what is new or has changed since then: a day (2026-01-31), yesterday, how long ago (7d)
    #[arg(long, value_name = "TIME", value_parser = PastTime::parse)]
    pub changed_since: Option<PastTime>,
    /// With wacz: only the pages of this host, or of `*.example.com`
    #[arg(long, value_name = "HOST", conflicts_with = "prefix")]
    pub host: Option<String>,
    /// With wacz: only pages whose URL starts with this
    #[arg(long, value_name = "URL")]
    pub prefix: Option<String>,
    /// With wacz: only what was fetched since then
    #[arg(long, value_name = "TIME", value_parser = PastTime::parse)]
    pub since: Option<PastTime>,
    /// With wacz: each page as it was then (of a day: at its end), with its requisites
    #[arg(long = "at", value_name = "TIME", value_parser = PastTime::parse, conflicts_with = "since")]
    pub until: Option<PastTime>,
    #[command(flatten)]
    pub at: Where,
}

/// File format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// JSON lines
    Jsonl,
    /// CSV with a header line
    Csv,
    /// Apache Parquet
    Parquet,
}

/// Data that can be exported.
#[derive(Clone, Copy, ValueEnum)]
pub enum Exported {
    /// Every known URL with its record
    Pages,
    /// The last archived version of every page: type, size, title, language, with --text or --markdown also its
    /// content
    Contents,
    /// Every visit of the last storage.keep_visits cycles
    Visits,
    /// What every host was asked in every round of these cycles (storage.keep_hosts)
    Hosts,
    /// The report of every cycle, as JSON lines
    Cycles,
    /// The report of every round, as JSON lines
    Rounds,
    /// Sorted CDXJ index of the WARC files
    Cdxj,
    /// Archive, index and list of pages in one WACZ file, which replays in a browser
    Wacz,
}
