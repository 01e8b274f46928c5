//! `recrawl-lab focus`: scores of pages, terms, classifiers, and replays of focused crawls.

mod corpus;
mod pages;
mod replay;
mod score;
mod terms;
mod train;

use crate::cli::FocusStudy;
use recrawl_crawl::failure::Failure;

pub fn run(command: &FocusStudy) -> Result<(), Failure> {
    match command {
        FocusStudy::Score(args) => score::run(args),
        FocusStudy::Terms(args) => terms::run(args),
        FocusStudy::Train(args) => train::run(args),
        FocusStudy::Replay(args) => replay::run(args),
    }
}
