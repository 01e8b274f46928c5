//! `recrawl focus`: term files, scores of pages, classifiers, and replays of focused crawls.

mod check;
mod corpus;
mod pages;
mod replay;
mod sample;
mod score;
mod terms;
mod train;

use crate::cli::FocusCommand;
use recrawl_crawl::failure::Failure;
use recrawl_focus::terms::MAX_FILE_BYTES;
use recrawl_focus::{TermsError, Topic};
use std::fs::File;
use std::io::Read;
use std::path::Path;

pub fn run(command: &FocusCommand) -> Result<(), Failure> {
    match command {
        FocusCommand::Check(args) => check::run(args),
        FocusCommand::Score(args) => score::run(args),
        FocusCommand::Terms(args) => terms::run(args),
        FocusCommand::Train(args) => train::run(args),
        FocusCommand::Replay(args) => replay::run(args),
        FocusCommand::Sample(args) => sample::sample(args),
        FocusCommand::Label(args) => sample::label(args),
    }
}

/// Reads a term file.
///
/// # Errors
/// The file, the line and a remedy; a file of terms is part of the arguments.
fn read_topic(path: &Path) -> Result<Topic, Failure> {
    let mut text = String::new();
    let read =
        File::open(path).and_then(|file| file.take(MAX_FILE_BYTES as u64 + 1).read_to_string(&mut text));
    read.map_err(|e| Failure::Usage(format!("cannot read {}: {e} (name a term file)", path.display())))?;
    Topic::from_toml(&text)
        .map_err(|error: TermsError| Failure::Usage(format!("{}: {error}", path.display())))
}
