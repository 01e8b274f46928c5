//! `recrawl focus`: term files, and the verdicts of a focused crawl.

mod check;
mod sample;

use crate::cli::FocusCommand;
use recrawl_crawl::failure::Failure;

pub fn run(command: &FocusCommand) -> Result<(), Failure> {
    match command {
        FocusCommand::Check(args) => check::run(args),
        FocusCommand::Sample(args) => sample::sample(args),
        FocusCommand::Label(args) => sample::label(args),
    }
}
