//! Arguments of `recrawl page` and `recrawl show`.

use super::{OnCrawl, PastTime, Where, web_address};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `recrawl page`
#[derive(Subcommand)]
pub enum PageCommand {
    /// Show what a rule for pages leaves of a page's text, and of the difference of its last two versions
    #[command(after_help = "Examples:\n  recrawl page test https://example.com/ --data-dir data/example\n  \
                      recrawl page test https://example.com/news/ --include 'main article' --ignore .ads --ignore time\n  \
                      recrawl page test https://example.com/ --file saved.html --ignore-text '^Seen \\d+ times$'")]
    Test(PageTestArgs),
}

/// `recrawl page test`
#[derive(Args)]
pub struct PageTestArgs {
    /// A page; one that no crawl has fetched is fetched now. https is assumed
    #[arg(value_parser = web_address)]
    pub url: String,
    /// CSS selector of elements that count (repeatable). It and the next two are tested instead of the
    /// configured rule
    #[arg(long, value_name = "SELECTOR")]
    pub include: Vec<String>,
    /// CSS selector of elements that do not count (repeatable)
    #[arg(long, value_name = "SELECTOR")]
    pub ignore: Vec<String>,
    /// Regular expression of text that does not count (repeatable)
    #[arg(long, value_name = "REGEX")]
    pub ignore_text: Vec<String>,
    /// Test without any rule
    #[arg(long, conflicts_with_all = ["include", "ignore", "ignore_text"])]
    pub no_rule: bool,
    /// Read the page from this file instead of the archive
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub on: OnCrawl,
}

/// `recrawl show`
#[derive(Args)]
pub struct ShowArgs {
    /// URL of the page; https is assumed
    #[arg(value_parser = web_address)]
    pub url: String,
    /// The text, as far as it counts (the default)
    #[arg(long, group = "what")]
    pub text: bool,
    /// The body, as archived; of a rendered page, the document after its scripts
    #[arg(long, group = "what")]
    pub html: bool,
    /// The main content as Markdown, with absolute links
    #[arg(long, group = "what")]
    pub markdown: bool,
    /// With --markdown: all that is seen, also menus and forms
    #[arg(long, requires = "markdown")]
    pub whole: bool,
    /// Status line and headers
    #[arg(long, group = "what")]
    pub headers: bool,
    /// How the text differs from that of the version before
    #[arg(long, group = "what")]
    pub diff: bool,
    /// List the versions, newest first
    #[arg(long, group = "what")]
    pub list: bool,
    /// The version: 1 is the newest, 2 the one before. A visit that found the same body makes no version
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub version: u32,
    /// The newest version that is not after then: a day (2026-01-31, to its end), a time (2026-01-31T12:00:00Z), today,
    /// yesterday, or how long ago (2d)
    #[arg(long = "at", value_name = "TIME", value_parser = PastTime::parse, conflicts_with_all = ["version", "list"])]
    pub until: Option<PastTime>,
    #[command(flatten)]
    pub at: Where,
    /// Print JSON: headers, text and difference of the version, or with --list all versions
    #[arg(long, conflicts_with_all = ["text", "html", "markdown", "headers", "diff"])]
    pub json: bool,
}
