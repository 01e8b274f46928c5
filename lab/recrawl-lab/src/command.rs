//! The commands, one file each.

mod cluster;
mod dataset;
mod focus;
mod predict;
mod simulate;

use crate::cli::{Lab, LabCommand};
use clap::CommandFactory;
use recrawl_crawl::config::Log;
use recrawl_crawl::failure::Failure;
use recrawl_terminal::{help, logging};

/// Runs a command.
///
/// # Errors
/// A message for the user, on one line.
pub fn run(command: LabCommand) -> Result<(), Failure> {
    logging::start(&Log::default(), "warn", logging::ALONE)?;
    match command {
        LabCommand::Cluster(command) => cluster::run(&command),
        LabCommand::Focus(command) => focus::run(&command),
        LabCommand::Dataset(command) => dataset::run(&command),
        LabCommand::Predict(args) => predict::run(&args),
        LabCommand::Simulate(args) => simulate::run(&args),
        LabCommand::Completions { shell } => help::print_completions(Lab::command(), shell),
        LabCommand::Man { out } => help::write_manual(Lab::command(), &out),
    }
}

/// A pool of this many threads; by default one a core.
fn pool(threads: Option<u32>) -> Result<rayon::ThreadPool, Failure> {
    let threads = threads.map_or(0, |threads| threads as usize);
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(Failure::work)
}
