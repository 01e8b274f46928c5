//! Arguments of `recrawl vault`.

use super::OnCrawl;
use clap::{Args, Subcommand};

/// `recrawl vault`
#[derive(Subcommand)]
pub enum VaultCommand {
    /// Show what the vault holds, and how old it is
    #[command(after_help = "Example:\n  recrawl vault status --config recrawl.toml")]
    Status(VaultArgs),
    /// Read every byte that a restore would read, and list the damage
    #[command(after_help = "Example:\n  recrawl vault verify --vault s3://bucket/prefix --json")]
    Verify(VaultArgs),
}

/// The vault, and the crawl that it is of.
#[derive(Args)]
pub struct VaultArgs {
    /// Address of the vault; by default `storage.vault`
    #[arg(long, value_name = "URL")]
    pub vault: Option<String>,
    #[command(flatten)]
    pub on: OnCrawl,
}
