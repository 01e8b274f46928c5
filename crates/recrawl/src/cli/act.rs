//! Arguments of `recrawl add`, `fetch` and `reload`.

use super::{Where, web_address};
use clap::Args;

/// `recrawl add`
#[derive(Args)]
pub struct AddArgs {
    /// Seed URLs; https is assumed
    #[arg(value_name = "URL", value_parser = web_address, required = true)]
    pub urls: Vec<String>,
    #[command(flatten)]
    pub at: Where,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
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
    pub at: Where,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `recrawl reload`
#[derive(Args)]
pub struct ReloadArgs {
    #[command(flatten)]
    pub at: Where,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
