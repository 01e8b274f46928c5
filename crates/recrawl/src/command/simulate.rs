//! `recrawl simulate`: replays policies and formulas over a recorded history and compares them.

use crate::cli::SimulateArgs;
use crate::moved;
use recrawl_contest::Contestants;
use recrawl_crawl::failure::Failure;

/// The policies that a crawl can follow, and the bounds.
struct Policies;

impl Contestants for Policies {}

pub fn run(args: &SimulateArgs) -> Result<(), Failure> {
    match args.policies.iter().find_map(|name| moved::policy(name)) {
        Some(failure) => Err(failure),
        None => recrawl_contest::simulate(args, &Policies),
    }
}
