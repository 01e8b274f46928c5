//! Arguments of `recrawl notify`.

use super::Where;
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
        at: Where,
    },
    /// Tell all targets of what they were not told yet, and end. For crawls without a daemon
    #[command(
        after_help = "Example:\n  recrawl crawl --config recrawl.toml && recrawl notify send --config recrawl.toml"
    )]
    Send {
        #[command(flatten)]
        at: Where,
    },
    /// Show what each target was told
    #[command(after_help = "Example:\n  recrawl notify status --config recrawl.toml")]
    Status {
        #[command(flatten)]
        at: Where,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Tell a target nothing of what was found so far. The daemon must not run
    #[command(after_help = "Example:\n  recrawl notify skip desk --config recrawl.toml")]
    Skip {
        /// Name of the target (`notify.name`)
        target: String,
        #[command(flatten)]
        at: Where,
    },
}
