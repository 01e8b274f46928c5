//! Arguments of `recrawl add` and `fetch`.

use super::{OnCrawl, web_address};
use clap::Args;

/// `recrawl add`
#[derive(Args)]
pub struct AddArgs {
    /// Seed URLs; https is assumed
    #[arg(value_name = "URL", value_parser = web_address, required = true)]
    pub urls: Vec<String>,
    #[command(flatten)]
    pub on: OnCrawl,
}

/// `recrawl fetch`
#[derive(Args)]
pub struct FetchArgs {
    /// URL of the page; https is assumed. A new one becomes a seed
    #[arg(value_parser = web_address)]
    pub url: String,
    /// Wait until a daemon has fetched it, and say what came of it. Without a daemon, recrawl fetches it itself and waits
    #[arg(long)]
    pub wait: bool,
    #[command(flatten)]
    pub on: OnCrawl,
}
