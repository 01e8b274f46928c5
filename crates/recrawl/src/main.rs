//! recrawl: an incremental web crawler that learns what to revisit.
//!
//! The program: command line, terminal, signals and console around the crate `crawl`.

mod action;
mod audit;
mod child;
mod cli;
mod command;
mod converter;
mod daemon;
mod deliverer;
mod exclusive_access;
mod fleet;
mod moved;
mod notifier;
mod process;
mod report;
mod serve;
mod texts;
mod tokens;

use clap::{CommandFactory, FromArgMatches};
use process::traces;
use recrawl_terminal::{exit_code, logging};
use std::process::ExitCode;

/// The threads allocate and free each other's pages: the C library would keep much of what was freed.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    if let Some(ended) = child::run(std::env::args_os().skip(1)) {
        return ended;
    }
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let parsed = cli::grouped(cli::Cli::command()).try_get_matches_from(cli::with_words(std::env::args_os()));
    let ended = match parsed.and_then(|matches| cli::Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli.output.apply("recrawl").and_then(|()| command::run(cli.command, serve::run)),
        // On other wrong arguments clap prints an error and exits with 2.
        Err(refused) => Err(moved::failure(&refused, &words).unwrap_or_else(|| refused.exit())),
    };
    let code = exit_code(ended);
    traces::settle();
    logging::settle();
    code
}
