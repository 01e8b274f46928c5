//! Arguments of `recrawl notify`.

use super::OnCrawl;
use clap::Subcommand;

/// `recrawl notify`
#[derive(Subcommand)]
pub enum NotifyCommand {
    /// Send a test message to a target
    #[command(after_help = "Example:\n  recrawl notify test desk --config recrawl.toml")]
    Test {
        /// Name of the target (`notify.name`)
        target: String,
        #[command(flatten)]
        on: OnCrawl,
    },
    /// Send all pending changes to all targets, and end. For crawls without a daemon
    #[command(
        after_help = "Example:\n  recrawl crawl --config recrawl.toml && recrawl notify send --config recrawl.toml"
    )]
    Send(OnCrawl),
    /// Show what was delivered to each target, and what is pending
    #[command(after_help = "Example:\n  recrawl notify status --config recrawl.toml")]
    Status(OnCrawl),
    /// Drop a target's pending messages, and all changes found so far. Stop the daemon first
    #[command(after_help = "Example:\n  recrawl notify skip desk --config recrawl.toml")]
    Skip {
        /// Name of the target (`notify.name`)
        target: String,
        #[command(flatten)]
        on: OnCrawl,
    },
}
