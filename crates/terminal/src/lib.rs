//! The terminal side of a program: what `recrawl` and `recrawl-lab` have in common.
//!
//! [`OutputArgs`] are the arguments that each command has, [`logging`] writes to standard error, [`print`](mod@print)
//! and [`table`] to standard output, and [`help`] makes manual pages and completions of a program's arguments. All text
//! that may come from the network passes [`escape`].
//!
//! This crate knows no command of any program.

pub mod arguments;
pub mod clock;
pub mod colour;
pub mod escape;
pub mod help;
pub mod logging;
pub mod print;
pub mod progress_bar;
pub mod table;

pub use crate::arguments::{OutputArgs, exit_code};
pub use crate::print::{print, print_heading, print_json, print_labelled, print_table, write_bytes};
