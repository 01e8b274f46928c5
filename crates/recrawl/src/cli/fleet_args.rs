//! Arguments of `recrawl fleet`.

use super::Where;
use clap::{Args, Subcommand};
use recrawl_crawl::config::units::Span;

/// `recrawl fleet`
#[derive(Subcommand)]
pub enum FleetCommand {
    /// Begin a fleet: divide the web into partitions, each of which a process will own
    #[command(after_help = "Examples:\n  recrawl fleet begin s3://bucket/fleet --cut h.com --cut p.com\n  \
                      recrawl fleet begin s3://bucket/fleet --data-dir data/example\n\
                      Then start a process for each partition, and one or two more that stand by: recrawl serve --fleet URL --name a")]
    Begin(FleetBeginArgs),
    /// Show the partitions, who owns them, and the nodes
    #[command(after_help = "Example:\n  recrawl fleet status s3://bucket/fleet --json")]
    Status(FleetStatusArgs),
}

/// `recrawl fleet begin`
#[derive(Args)]
pub struct FleetBeginArgs {
    /// Address of the fleet: a prefix that holds nothing else
    #[arg(value_name = "URL")]
    pub fleet: String,
    /// A site at which a new partition begins, in the order of reversed host names (repeatable)
    #[arg(long = "cut", value_name = "SITE")]
    pub cuts: Vec<String>,
    /// Time after which the partitions of a process that shows no sign of life are taken by another
    #[arg(long, value_name = "TIME", default_value = "90 s", value_parser = Span::parse)]
    pub lease: Span,
    #[command(flatten)]
    pub at: Where,
}

/// `recrawl fleet status`
#[derive(Args)]
pub struct FleetStatusArgs {
    /// Address of the fleet
    #[arg(value_name = "URL")]
    pub fleet: String,
    /// Only the partition that has this host
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
