//! `recrawl pause`, `resume`, `block` and `unblock`: by the running daemon, or else in the data directory.

use super::{print_json, print_labelled};
use crate::action;
use crate::cli::{BlockArgs, PauseArgs, Where};
use recrawl_console::view::{Accepted, Change};
use recrawl_crawl::failure::Failure;

pub fn pause(args: &PauseArgs) -> Result<(), Failure> {
    change(&args.at, &Change::Pause { host: args.host.clone() }, args.json)
}

pub fn resume(args: &PauseArgs) -> Result<(), Failure> {
    change(&args.at, &Change::Resume { host: args.host.clone() }, args.json)
}

pub fn block(args: &BlockArgs) -> Result<(), Failure> {
    change(&args.at, &Change::Block { pattern: args.pattern.clone() }, args.json)
}

pub fn unblock(args: &BlockArgs) -> Result<(), Failure> {
    change(&args.at, &Change::Unblock { pattern: args.pattern.clone() }, args.json)
}

/// Makes a change, and prints its result.
///
/// # Errors
/// As [`action::make`].
pub fn change(at: &Where, change: &Change, as_json: bool) -> Result<(), Failure> {
    tell(&action::make(&at.settings()?, change)?, as_json)
}

/// Prints the result of a change.
pub fn tell(accepted: &Accepted, as_json: bool) -> Result<(), Failure> {
    if as_json { print_json(accepted) } else { print_labelled(&accepted.detail) }
}
