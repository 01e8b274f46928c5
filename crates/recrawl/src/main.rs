//! recrawl: an incremental web crawler that learns what to revisit.
//!
//! The program: command line, terminal, signals and console around the crate `crawl`.

mod audit;
mod child;
mod cli;
mod command;
mod daemon;
mod notifier;
mod process;
mod serve;
mod texts;
mod tokens;
mod turn;

use clap::Parser;
use process::{clock, colour, logging};
use recrawl_crawl::Failure;
use std::process::ExitCode;
use std::time::SystemTime;

/// The threads allocate and free each other's pages: the C library would keep much of what was freed.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    if let Some(ended) = child::run(std::env::args_os().skip(1)) {
        return ended;
    }
    let cli = cli::Cli::parse(); // on wrong arguments clap prints an error and exits with 2
    let cli::OutputArgs { quiet, verbose, color } = cli.output;
    logging::choose(logging::Verbosity { is_quiet: quiet, more: verbose });
    colour::choose(color.into());
    let ended = clock::check(SystemTime::now()).and_then(|()| command::run(cli.command, serve::run));
    if let Err(failure) = &ended {
        logging::say(tracing::Level::ERROR, &failure.to_string());
    }
    logging::settle();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Work(_)) => ExitCode::from(1),
        Err(Failure::Usage(_)) => ExitCode::from(2),
    }
}
