//! Arguments of `recrawl changes`.

use super::{OnCrawl, PastTime};
use clap::Args;

/// `recrawl changes`
#[derive(Args)]
pub struct ChangesArgs {
    /// Only these pages: `example.com`, `*.example.com` with subdomains, `https://example.com/page`, or
    /// `https://example.com/a/*`
    #[arg(value_name = "PATTERN")]
    pub patterns: Vec<String>,
    /// Only changes since then: a day (2026-01-31), a time (2026-01-31T12:00:00Z), today, yesterday, or how long ago (2d)
    #[arg(long, value_name = "TIME", value_parser = PastTime::parse)]
    pub since: Option<PastTime>,
    /// The same as PATTERN (repeatable)
    #[arg(long, value_name = "PATTERN")]
    pub pages: Vec<String>,
    /// Kinds: changed, new, gone, back, not_found, failed [default: all but new]
    #[arg(long, value_name = "KIND,…", value_delimiter = ',')]
    pub changes: Vec<String>,
    /// Show title and difference of each
    #[arg(long)]
    pub diff: bool,
    /// Maximum number of changes
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub limit: u32,
    /// Continue where a list ended, with its `next`
    #[arg(long, value_name = "NEXT")]
    pub cursor: Option<String>,
    #[command(flatten)]
    pub on: OnCrawl,
}
