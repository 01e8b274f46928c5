//! Arguments of `recrawl deliver`.

use super::{OnCrawl, Where};
use clap::Subcommand;

/// `recrawl deliver`
#[derive(Subcommand)]
pub enum DeliverCommand {
    /// Send what differs to all targets, or one, and end. For crawls without a daemon
    #[command(
        after_help = "Example:\n  recrawl crawl --config recrawl.toml --cycles 1 && recrawl deliver send --config recrawl.toml"
    )]
    Send {
        /// Name of the target (`deliver.name`) [default: all]
        target: Option<String>,
        #[command(flatten)]
        at: Where,
    },
    /// Show how many documents each target holds
    #[command(after_help = "Example:\n  recrawl deliver status --config recrawl.toml")]
    Status(OnCrawl),
    /// Let a target get all documents again: one that lost some, or is new under an old name. Stop the daemon first
    #[command(after_help = "Example:\n  recrawl deliver rebuild search && recrawl deliver send search")]
    Rebuild {
        /// Name of the target (`deliver.name`)
        target: String,
        #[command(flatten)]
        at: Where,
    },
}
