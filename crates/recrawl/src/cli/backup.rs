//! Arguments of `recrawl backup` and `recrawl restore`.

use super::OnCrawl;
use clap::Args;
use std::path::PathBuf;

/// `recrawl backup`
#[derive(Args)]
pub struct BackupArgs {
    /// Target folder; must be new or empty
    #[arg(value_name = "DIR")]
    pub out: PathBuf,
    /// Only the last committed generation, its reports and decisions: at once, beside any crawl, by hard links where the
    /// file system allows it
    #[arg(long)]
    pub last_commit: bool,
    #[command(flatten)]
    pub on: OnCrawl,
}

/// `recrawl restore`
#[derive(Args)]
pub struct RestoreArgs {
    /// Folder that `recrawl backup` wrote
    #[arg(value_name = "DIR", required_unless_present = "vault", conflicts_with = "vault")]
    pub from: Option<PathBuf>,
    /// Vault that a crawl has shipped to (`storage.vault`)
    #[arg(long, value_name = "URL")]
    pub vault: Option<String>,
    /// The data directory before: its takedowns that are newer than the backup are repeated
    #[arg(long, value_name = "DIR", conflicts_with = "vault")]
    pub takedowns_of: Option<PathBuf>,
    #[command(flatten)]
    pub on: OnCrawl,
}
