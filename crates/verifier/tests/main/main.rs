//! Whole cycles over a repository. One binary for all, since each costs a link; a new behaviour is a module.

/// A power cut, or an error, at every point of a whole cycle.
mod crash;
/// Random lives of a repository against a sorted map.
mod long;
/// Tries in a row that did not get a page.
mod missed;
/// Random cycles against a plain map.
mod model;
/// Pages of the tests.
mod pages;
/// The plain map.
mod reference;
/// Pages that a cycle only skipped.
mod skipped;
/// Places of a host that a trap took.
mod traps;
/// Merges into the folders that older format versions left.
mod upgrade;
/// Waiting links.
mod waiting;
