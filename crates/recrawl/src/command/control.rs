//! `recrawl pause`, `resume`, `block` and `unblock`: by the running daemon, or else in the data directory.

use super::{print_json, print_labelled};
use crate::action;
use crate::cli::{BlockArgs, OnCrawl, PauseArgs, Where};
use recrawl_console::view::{Accepted, Change};
use recrawl_crawl::failure::Failure;

pub fn pause(args: &PauseArgs) -> Result<(), Failure> {
    change(&args.on, &Change::Pause { host: args.host.clone() })
}

pub fn resume(args: &PauseArgs) -> Result<(), Failure> {
    change(&args.on, &Change::Resume { host: args.host.clone() })
}

pub fn block(args: &BlockArgs) -> Result<(), Failure> {
    change(&args.on, &Change::Block { pattern: args.pattern.clone() })
}

pub fn unblock(args: &BlockArgs) -> Result<(), Failure> {
    change(&args.on, &Change::Unblock { pattern: args.pattern.clone() })
}

/// Makes a change, and prints its result.
///
/// # Errors
/// As [`action::make`].
pub fn change(on: &OnCrawl, change: &Change) -> Result<(), Failure> {
    tell(&action::make(&on.at.settings_or_daemon()?, change)?, on.json)
}

/// The same for a command that prints no JSON.
pub fn change_and_say(at: &Where, change: &Change) -> Result<(), Failure> {
    tell(&action::make(&at.settings_or_daemon()?, change)?, false)
}

/// Prints the result of a change.
pub fn tell(accepted: &Accepted, as_json: bool) -> Result<(), Failure> {
    if as_json { print_json(accepted) } else { print_labelled(&accepted.detail) }
}
