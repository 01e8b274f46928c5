//! The commands, one file each.

mod completions;
mod config;
mod crawl;
mod dataset;
mod dates;
pub mod explain;
pub mod export;
mod formula;
mod import;
mod learn;
mod man;
mod repository;
mod simulate;
pub mod status;
mod takedown;
mod traps;

use crate::cli::Command;
use crate::config::Log;
use crate::failure::Failure;
use crate::logging;
use crate::terminal;
use std::io::{self, Write};

/// Runs a command.
///
/// # Errors
/// A message for the user, on one line.
pub fn run(command: Command) -> Result<(), Failure> {
    // A crawl starts its log later, when its configuration is read.
    if !matches!(command, Command::Crawl(_) | Command::Serve(_)) {
        logging::start(&Log::default(), "warn")?;
    }
    match command {
        Command::Crawl(args) => crawl::run(&args),
        Command::Serve(args) => crate::serve::run(&args),
        Command::Status(args) => status::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Formula(command) => formula::run(&command),
        Command::Dataset(command) => dataset::run(&command),
        Command::Repository(command) => repository::run(&command),
        Command::Simulate(args) => simulate::run(&args),
        Command::Learn(args) => learn::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Import(command) => import::run(&command),
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
    match writeln!(io::stdout(), "{}", terminal::lines(text.as_ref())) {
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

/// 1234567 as "1,234,567".
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number and its noun: "1 page", "1,234 pages".
pub fn counted(number: u64, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {noun}{s}", thousands(number))
}

#[cfg(test)]
mod tests {
    use super::{counted, thousands};

    #[test]
    fn one_is_singular() {
        let said = [0, 1, 2, 1234].map(|number| counted(number, "page"));
        assert_eq!(said, ["0 pages", "1 page", "2 pages", "1,234 pages"]);
    }

    #[test]
    fn thousands_are_set_apart() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(thousands(number), text);
        }
    }
}
