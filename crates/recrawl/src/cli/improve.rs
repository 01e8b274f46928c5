//! Arguments of `recrawl improve`.

use super::{OnCrawl, OwnVisitsArgs, Where};
use clap::{Args, Subcommand};
use recrawl_crawl::config::units::Span;

/// `recrawl improve`
#[derive(Subcommand)]
pub enum ImproveCommand {
    /// How fresh the pages are, and whether visits find what was expected (improve.mode)
    Status(OnCrawl),
    /// Learn a formula from the crawl's own visits, test it, and leave it as a candidate
    Run(ImproveRunArgs),
    /// What was tried, put in force and taken back
    History(OnCrawl),
    /// Try nothing; a trial ends, and what is in force stays
    Hold(Where),
    /// Let the loop go on
    Release(Where),
    /// Put the proposed candidate in force
    Promote(Where),
    /// Take the promoted formula back
    Rollback(Where),
}

/// `recrawl improve run`
#[derive(Args)]
pub struct ImproveRunArgs {
    #[command(flatten)]
    pub own: OwnVisitsArgs,
    /// Processor time [default: improve.learn_cpu]
    #[arg(long, value_name = "DURATION", value_parser = Span::parse)]
    pub cpu: Option<Span>,
    /// Threads. Default: one per core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Give way to all other processes, and end with the daemon that started it, which has this process id
    #[arg(long, value_name = "PID", hide = true)]
    pub child_of: Option<u32>,
    /// Candidates tried since the last promotion: each makes the test of the next one stricter
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub tries: u32,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
