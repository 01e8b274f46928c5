//! Standard output, [escaped for a terminal](crate::escape). A reader that has closed the pipe (`recrawl … | head`) is no
//! failure.

use crate::table::{self, Column};
use crate::{colour, escape};
use recrawl_crawl::failure::Failure;
use std::io::{self, IsTerminal, Write};

/// Prints text.
///
/// # Errors
/// When the write fails for another reason than a closed pipe.
pub fn print(text: impl AsRef<str>) -> Result<(), Failure> {
    write(&escape::lines(text.as_ref()))
}

/// Prints the heading of a table.
///
/// # Errors
/// As [`print()`].
pub fn print_heading(text: &str) -> Result<(), Failure> {
    write(&colour::strong(&escape::lines(text)))
}

/// Prints a table that fits the terminal.
///
/// # Errors
/// As [`print()`].
pub fn print_table<const N: usize>(columns: &[Column; N], rows: &[[String; N]]) -> Result<(), Failure> {
    let lines = table::lines(columns, rows, colour::width());
    print_heading(&lines[0])?;
    lines[1..].iter().try_for_each(print)
}

/// Prints lines of a label, two spaces or more, and a text; or of a text alone. They are wrapped at the width of a
/// terminal.
///
/// # Errors
/// As [`print()`].
pub fn print_labelled(text: impl AsRef<str>) -> Result<(), Failure> {
    escape::lines(text.as_ref()).lines().try_for_each(|line| {
        let label = line.find("  ").unwrap_or(0);
        let indent = line[label..].find(|c| c != ' ').map_or(0, |gap| label + gap);
        let line = table::wrapped(line, indent, colour::width());
        match label {
            0 => write(&line),
            _ => write(&format!("{}{}", colour::strong(&line[..label]), &line[label..])),
        }
    })
}

/// Prints a JSON document.
///
/// # Errors
/// As [`print()`].
pub fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    print(serde_json::to_string_pretty(value).map_err(Failure::work)?)
}

/// Writes bytes as they are, but to a terminal as escaped text.
///
/// # Errors
/// As [`print()`].
pub fn write_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout();
    if out.is_terminal() {
        return print(String::from_utf8_lossy(bytes));
    }
    ended(out.write_all(bytes))
}

fn write(escaped: &str) -> Result<(), Failure> {
    ended(writeln!(io::stdout(), "{escaped}"))
}

fn ended(written: io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(e) => Err(Failure::Work(format!("cannot write to standard output: {e}"))),
        Ok(()) => Ok(()),
    }
}
