//! Rows of named columns, and the kinds of file that they go into.

use super::lines::Lines;
use super::parquet::ParquetFile;
use crate::cli::Format;
use crate::failure::Failure;
use crate::terminal;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;

/// What a column holds. Any of it may be missing (null).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// True or false.
    Flag,
    /// A whole number, 0 or more.
    Count,
    /// A number.
    Number,
    /// Seconds since 1970.
    Time,
}

/// A column. Its name is kept once shipped.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
}

impl Column {
    /// A column.
    pub const fn new(name: &'static str, kind: Kind) -> Column {
        Column { name, kind }
    }
}

/// What stands in a row's column.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing.
    Null,
    /// In a column of [`Kind::Text`].
    Text(Cow<'static, str>),
    /// In a column of [`Kind::Flag`].
    Flag(bool),
    /// In a column of [`Kind::Count`] or [`Kind::Time`].
    Count(u64),
    /// In a column of [`Kind::Number`].
    Number(f64),
}

impl Cell {
    /// Of what may be missing.
    pub fn of<T: Into<Cell>>(value: Option<T>) -> Cell {
        value.map_or(Cell::Null, Into::into)
    }

    /// As a field of CSV (RFC 4180): nothing for null, and quotes around what needs them.
    fn csv(&self) -> Cow<'_, str> {
        match self {
            Cell::Null => "".into(),
            Cell::Text(text) if text.is_empty() || text.contains([',', '"', '\r', '\n']) => {
                format!("\"{}\"", text.replace('"', "\"\"")).into()
            }
            Cell::Text(text) => text.as_ref().into(),
            Cell::Flag(_) | Cell::Count(_) | Cell::Number(_) => self.json().to_string().into(),
        }
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        match self {
            Cell::Null => Value::Null,
            Cell::Text(text) => text.as_ref().into(),
            Cell::Flag(flag) => (*flag).into(),
            Cell::Count(count) => (*count).into(),
            Cell::Number(number) => (*number).into(),
        }
    }
}

impl From<&'static str> for Cell {
    fn from(text: &'static str) -> Cell {
        Cell::Text(text.into())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text.into())
    }
}

impl From<bool> for Cell {
    fn from(flag: bool) -> Cell {
        Cell::Flag(flag)
    }
}

impl From<u64> for Cell {
    fn from(count: u64) -> Cell {
        Cell::Count(count)
    }
}

impl From<u32> for Cell {
    fn from(count: u32) -> Cell {
        Cell::Count(count.into())
    }
}

/// A row as one line of JSON, in the order of its columns.
pub fn json_line(columns: &[Column], row: &[Cell]) -> String {
    let mut line = String::with_capacity(256);
    for (column, cell) in columns.iter().zip(row) {
        let before = if line.is_empty() { '{' } else { ',' };
        let _ = write!(line, "{before}\"{}\":{}", column.name, cell.json());
    }
    line.push('}');
    line
}

/// The fields of a line of CSV.
fn csv_line<'a>(fields: impl Iterator<Item = Cow<'a, str>>) -> String {
    fields.collect::<Vec<_>>().join(",")
}

/// A file that rows are written to.
pub enum Rows {
    /// JSON, a row a line.
    Lines(&'static [Column], Lines),
    /// CSV, a row a line.
    Csv(Lines),
    /// Parquet.
    Parquet(Box<ParquetFile>),
}

impl Rows {
    /// Begins the file; standard output for `-`.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(out: &Path, format: Format, columns: &'static [Column]) -> Result<Rows, Failure> {
        Ok(match format {
            Format::Jsonl => Rows::Lines(columns, Lines::create(out)?),
            Format::Csv => {
                let names = csv_line(columns.iter().map(|column| column.name.into()));
                Rows::Csv(Lines::with_heading(out, names)?)
            }
            Format::Parquet => Rows::Parquet(Box::new(ParquetFile::create(out, columns)?)),
        })
    }

    /// Writes a row, a cell for each column. Does the reader want more?
    ///
    /// # Errors
    /// When the disk takes no more.
    pub fn write(&mut self, row: &[Cell]) -> Result<bool, Failure> {
        match self {
            Rows::Lines(columns, lines) => lines.write(terminal::lines(&json_line(columns, row))),
            Rows::Csv(lines) => lines.write(csv_line(row.iter().map(Cell::csv))),
            Rows::Parquet(file) => file.write(row).map(|()| true),
        }
    }

    /// Ends the file and says how many rows of `what` are in it.
    ///
    /// # Errors
    /// When the disk takes no more.
    pub fn finish(self, what: &str) -> Result<(), Failure> {
        match self {
            Rows::Lines(_, lines) | Rows::Csv(lines) => lines.finish(what),
            Rows::Parquet(file) => file.finish(what),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_of_csv_can_be_read_back() {
        for (cell, field) in [
            (Cell::Null, ""),
            (Cell::from(""), "\"\""),
            (Cell::from("http://a.example/?a=1;b"), "http://a.example/?a=1;b"),
            (Cell::from("W/\"a,b\""), "\"W/\"\"a,b\"\"\""),
            (Cell::from("two\nlines"), "\"two\nlines\""),
            (Cell::from(true), "true"),
            (Cell::from(7_u64), "7"),
            (Cell::Number(0.25), "0.25"),
        ] {
            assert_eq!(cell.csv(), field, "{cell:?}");
        }
    }
}
