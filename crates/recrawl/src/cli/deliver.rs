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
        on: OnCrawl,
    },
    /// Show how many documents each target holds, and which it refused
    #[command(after_help = "Example:\n  recrawl deliver status --config recrawl.toml")]
    Status(OnCrawl),
    /// Say whether a target would take documents: its address, credentials and index. Nothing that is sent lasts
    #[command(after_help = "Example:\n  recrawl deliver test search --config recrawl.toml")]
    Test {
        /// Name of the target (`deliver.name`)
        target: String,
        #[command(flatten)]
        on: OnCrawl,
    },
    /// Compare the ids and versions that a target holds with those delivered. Stop the daemon first
    #[command(
        after_help = "Example:\n  recrawl deliver verify search --repair && recrawl deliver send search"
    )]
    Verify {
        /// Name of the target (`deliver.name`)
        target: String,
        /// Let the next delivery send and delete what differs
        #[arg(long)]
        repair: bool,
        #[command(flatten)]
        on: OnCrawl,
    },
    /// Give up documents that a target refused, and those that wait for it, until their pages change. Deletes are still
    /// sent. Stop the daemon first
    #[command(
        after_help = "Example:\n  recrawl deliver skip search --url https://example.com/page --config recrawl.toml"
    )]
    Skip {
        /// Name of the target (`deliver.name`)
        target: String,
        /// Only this page
        #[arg(long)]
        url: Option<String>,
        #[command(flatten)]
        on: OnCrawl,
    },
    /// Let a target get all documents again: one that lost some, or is new under an old name. Stop the daemon first
    #[command(after_help = "Example:\n  recrawl deliver rebuild search && recrawl deliver send search")]
    Rebuild {
        /// Name of the target (`deliver.name`)
        target: String,
        #[command(flatten)]
        at: Where,
    },
}
