//! Arguments of `recrawl fleet`.

use super::{Configuration, Where};
use clap::{Args, Subcommand};
use recrawl_crawl::config::units::Span;
use std::path::PathBuf;

/// `recrawl fleet`
#[derive(Subcommand)]
pub enum FleetCommand {
    /// Begin a fleet: divide the web into partitions, each of which a process will own
    #[command(after_help = "Examples:\n  recrawl fleet begin s3://bucket/fleet --cut h.com --cut p.com\n  \
                      recrawl fleet begin s3://bucket/fleet --data-dir data/example\n\
                      Then start a process for each partition, and one or two more that stand by: recrawl serve --fleet URL --name a")]
    Begin(FleetBeginArgs),
    /// Divide a partition: the sites from one on become a partition of their own
    #[command(
        after_help = "Example:\n  recrawl fleet split s3://bucket/fleet 2 --at m.com --config recrawl.toml\n\
                      Have a process that stands by: it takes the new partition"
    )]
    Split(FleetSplitArgs),
    /// Put two neighbours together, as one partition
    #[command(after_help = "Example:\n  recrawl fleet merge s3://bucket/fleet 2 3 --config recrawl.toml\n\
                      The first one's sites come before those of the second: see `recrawl fleet status`")]
    Merge(FleetMergeArgs),
    /// Go back to one machine: put all partitions together in a folder, and end the fleet
    #[command(
        after_help = "Example:\n  recrawl fleet leave s3://bucket/fleet data/whole --config recrawl.toml\n\
                      All processes end. If this command is stopped, the fleet goes on, or the same command finishes it"
    )]
    Leave(FleetLeaveArgs),
    /// Give a partition to a process that stands by, once its owner's round is done
    #[command(after_help = "Example:\n  recrawl fleet move s3://bucket/fleet 2 --to c")]
    Move(FleetMoveArgs),
    /// End a process once its round is done; another one takes its partition at once
    #[command(after_help = "Example:\n  recrawl fleet drain s3://bucket/fleet --name a")]
    Drain(FleetDrainArgs),
    /// Show the partitions, who owns them, and the processes that own none or are silent
    #[command(after_help = "Example:\n  recrawl fleet status s3://bucket/fleet --json\n\
                      States of a partition:\n  \
                      owned        its owner tells of itself\n  \
                      silent       its owner has told nothing for a lease: a process that stands by takes it\n  \
                      free         its owner has ended, and its vault has all: the same\n  \
                      never owned  no process has taken it yet\n  \
                      left         the fleet has ended")]
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
    /// Time without a sign of life after which another process takes the partition
    #[arg(long, value_name = "TIME", default_value = "90 s", value_parser = Span::parse)]
    pub lease: Span,
    #[command(flatten)]
    pub at: Where,
}

/// `recrawl fleet split`
#[derive(Args)]
pub struct FleetSplitArgs {
    /// Address of the fleet
    #[arg(value_name = "URL")]
    pub fleet: String,
    /// The partition, by its number
    #[arg(value_name = "PARTITION")]
    pub partition: u32,
    /// The site with which the new partition begins
    #[arg(long, value_name = "SITE")]
    pub at: String,
    /// Folder for a copy of the partition meanwhile [default: the system's folder of temporary files]
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
    #[command(flatten)]
    pub config: Configuration,
}

/// `recrawl fleet merge`
#[derive(Args)]
pub struct FleetMergeArgs {
    /// Address of the fleet
    #[arg(value_name = "URL")]
    pub fleet: String,
    /// The partition, by its number, whose sites come first
    #[arg(value_name = "FIRST")]
    pub left: u32,
    /// The one behind it
    #[arg(value_name = "SECOND")]
    pub right: u32,
    /// Folder for copies of both meanwhile [default: the system's folder of temporary files]
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
    #[command(flatten)]
    pub config: Configuration,
}

/// `recrawl fleet leave`
#[derive(Args)]
pub struct FleetLeaveArgs {
    /// Address of the fleet
    #[arg(value_name = "URL")]
    pub fleet: String,
    /// The data directory to make
    #[arg(value_name = "DIR")]
    pub out: PathBuf,
    #[command(flatten)]
    pub config: Configuration,
}

/// `recrawl fleet move`
#[derive(Args)]
pub struct FleetMoveArgs {
    /// Address of the fleet
    #[arg(value_name = "URL")]
    pub fleet: String,
    /// The partition, by its number
    #[arg(value_name = "PARTITION")]
    pub partition: u32,
    /// The process that takes it; its owner stands by
    #[arg(long, value_name = "NAME")]
    pub to: String,
}

/// `recrawl fleet drain`
#[derive(Args)]
pub struct FleetDrainArgs {
    /// Address of the fleet
    #[arg(value_name = "URL")]
    pub fleet: String,
    /// The process
    #[arg(long, value_name = "NAME")]
    pub name: String,
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
