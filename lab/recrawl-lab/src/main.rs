//! recrawl-lab: studies of revisiting, clustering and focused crawling on recorded and generated data.
//!
//! It is for people who compare methods, and needs no crawl. What an operator needs of a crawl is in `recrawl`, which
//! links nothing of the laboratory.

mod cli;
mod command;

use clap::Parser;
use recrawl_terminal::{exit_code, logging};
use std::process::ExitCode;

/// As in `recrawl`, so that measurements compare.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let cli = cli::Lab::parse(); // on wrong arguments clap prints an error and exits with 2
    let ended = cli.output.apply("recrawl-lab").and_then(|()| command::run(cli.command));
    let code = exit_code(ended);
    logging::settle();
    code
}
