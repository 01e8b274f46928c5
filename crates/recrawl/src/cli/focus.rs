//! Arguments of `recrawl focus`.

use super::{OnCrawl, Where};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `recrawl focus`
#[derive(Subcommand)]
pub enum FocusCommand {
    /// Check term files and show their sets
    #[command(after_help = "Example:\n  recrawl focus check config/focus/recipes-vegetarian.toml")]
    Check(FocusCheckArgs),
    /// Draw judged pages of a crawl to be labelled by hand, half of each verdict
    #[command(after_help = "Example:\n  recrawl focus sample --config recrawl.toml > labels.tsv")]
    Sample(FocusSampleArgs),
    /// Tell what labels by hand say of the classifier and of the recall of a crawl
    #[command(after_help = "Example:\n  recrawl focus label labels.tsv --config recrawl.toml")]
    Label(FocusLabelArgs),
}

/// `recrawl focus sample`
#[derive(Args)]
pub struct FocusSampleArgs {
    #[command(flatten)]
    pub at: Where,
    /// Number of pages
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub pages: u32,
    /// Seed of the draw
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub random_seed: u64,
}

/// `recrawl focus label`
#[derive(Args)]
pub struct FocusLabelArgs {
    /// Lines of `recrawl focus sample` with yes or no in the last column
    #[arg(value_name = "FILE")]
    pub labels: PathBuf,
    #[command(flatten)]
    pub on: OnCrawl,
}

/// `recrawl focus check`
#[derive(Args)]
pub struct FocusCheckArgs {
    /// Term files
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Language in which terms with the same stem are shown
    #[arg(long, value_name = "TAG", default_value = "en")]
    pub language: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
