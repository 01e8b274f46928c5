//! The commands, one file each.

mod cluster;
mod completions;
mod config;
mod control;
mod crawl;
mod dataset;
mod dates;
pub mod explain;
pub mod export;
mod focus;
pub mod forecast;
mod formula;
mod import;
mod improve;
mod learn;
mod man;
mod notify;
mod page;
mod predict;
pub mod promises;
pub mod report;
mod repository;
mod show;
mod simulate;
pub mod status;
mod table;
mod takedown;
mod traps;

pub use recrawl_crawl::labels::{counted, thousands};

use crate::cli::{Command, ServeArgs};
use crate::process::colour;
use crate::process::logging;
use crate::process::terminal;
use recrawl_crawl::config::Log;
use recrawl_crawl::failure::Failure;
use std::io::{self, IsTerminal, Write};

/// Runs a command, the daemon by `serve`.
///
/// # Errors
/// A message for the user, on one line.
pub fn run(command: Command, serve: impl FnOnce(&ServeArgs) -> Result<(), Failure>) -> Result<(), Failure> {
    // A crawl starts its log later, when its configuration is read.
    if !matches!(command, Command::Crawl(_) | Command::Serve(_)) {
        logging::start(&Log::default(), "warn")?;
    }
    match command {
        Command::Crawl(args) => crawl::run(&args),
        Command::Serve(args) => serve(&args),
        Command::Status(args) => status::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Promises(args) => promises::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Show(args) => show::run(&args),
        Command::Page(command) => page::run(&command),
        Command::Notify(command) => notify::run(&command),
        Command::Formula(command) => formula::run(&command),
        Command::Dataset(command) => dataset::run(&command),
        Command::Cluster(command) => cluster::run(&command),
        Command::Focus(command) => focus::run(&command),
        Command::Repository(command) => repository::run(&command),
        Command::Simulate(args) => simulate::run(&args),
        Command::Predict(args) => predict::run(&args),
        Command::Learn(args) => learn::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Import(command) => import::run(&command),
        Command::Improve(command) => improve::run(&command),
        Command::WhatIf(args) => forecast::what_if(&args),
        Command::Savings(args) => forecast::savings(&args),
        Command::Pause(args) => control::pause(&args),
        Command::Resume(args) => control::resume(&args),
        Command::Block(args) => control::block(&args),
        Command::Unblock(args) => control::unblock(&args),
        Command::Takedown(args) => takedown::run(&args),
        Command::Config(command) => config::run(&command),
        Command::Completions { shell } => completions::run(shell),
        Command::Man { out } => man::run(&out),
    }
}

/// Prints to standard output, [escaped for a terminal](terminal). Succeeds also if the reader has
/// closed the pipe (`recrawl … | head`).
///
/// # Errors
/// When the write fails for another reason.
fn print(text: impl AsRef<str>) -> Result<(), Failure> {
    write(&terminal::lines(text.as_ref()))
}

/// Prints the heading of a table.
///
/// # Errors
/// As [`print()`].
fn print_heading(text: &str) -> Result<(), Failure> {
    write(&colour::strong(&terminal::lines(text)))
}

/// Prints lines of a label, two spaces or more, and a text; or of a text alone. They are wrapped at the width of a
/// terminal.
///
/// # Errors
/// As [`print()`].
fn print_labelled(text: impl AsRef<str>) -> Result<(), Failure> {
    terminal::lines(text.as_ref()).lines().try_for_each(|line| {
        let label = line.find("  ").unwrap_or(0);
        let indent = line[label..].find(|c| c != ' ').map_or(0, |gap| label + gap);
        let line = table::wrapped(line, indent, colour::width());
        match label {
            0 => write(&line),
            _ => write(&format!("{}{}", colour::strong(&line[..label]), &line[label..])),
        }
    })
}

fn write(escaped: &str) -> Result<(), Failure> {
    match writeln!(io::stdout(), "{escaped}") {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(e) => Err(Failure::Work(format!("cannot write to standard output: {e}"))),
        Ok(()) => Ok(()),
    }
}

/// Writes bytes as they are, but to a terminal as escaped text.
///
/// # Errors
/// As [`print()`].
fn write_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout();
    if out.is_terminal() {
        return print(String::from_utf8_lossy(bytes));
    }
    match out.write_all(bytes) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(e) => Err(Failure::Work(format!("cannot write to standard output: {e}"))),
        Ok(()) => Ok(()),
    }
}

/// Prints a JSON document.
///
/// # Errors
/// As [`print()`].
fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    print(serde_json::to_string_pretty(value).map_err(Failure::work)?)
}
