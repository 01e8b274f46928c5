//! `recrawl add URL…`: seeds for a running daemon, or for the next crawl in the data directory.

use super::control;
use crate::cli::AddArgs;
use recrawl_console::view::Change;
use recrawl_crawl::failure::Failure;

pub fn run(args: &AddArgs) -> Result<(), Failure> {
    control::change(&args.on, &Change::AddSeeds { urls: args.urls.clone() })
}
