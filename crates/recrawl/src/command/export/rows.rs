//! Writers of rows for each file format.

use super::lines::Lines;
use super::parquet::ParquetFile;
use crate::cli::Format;
use crate::report::row::{Cell, Column, json_line};
use recrawl_crawl::failure::Failure;
use recrawl_terminal::escape;
use std::borrow::Cow;
use std::path::Path;

fn csv_line<'a>(fields: impl Iterator<Item = Cow<'a, str>>) -> String {
    fields.collect::<Vec<_>>().join(",")
}

/// A file of rows.
pub enum Rows {
    /// JSON lines.
    Lines(Vec<Column>, Lines),
    Csv(Lines),
    Parquet(Box<ParquetFile>),
}

impl Rows {
    /// Creates the file; standard output for `-`.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn create(out: &Path, format: Format, columns: &[Column]) -> Result<Rows, Failure> {
        Ok(match format {
            Format::Jsonl => Rows::Lines(columns.to_vec(), Lines::create(out)?),
            Format::Csv => {
                let names = csv_line(columns.iter().map(|column| column.name.into()));
                Rows::Csv(Lines::with_heading(out, names)?)
            }
            Format::Parquet => Rows::Parquet(Box::new(ParquetFile::create(out, columns)?)),
        })
    }

    /// Writes a row, one cell per column. False once the reader of standard output has closed it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&mut self, row: &[Cell]) -> Result<bool, Failure> {
        match self {
            Rows::Lines(columns, lines) => lines.write(escape::lines(&json_line(columns, row))),
            Rows::Csv(lines) => lines.write(csv_line(row.iter().map(Cell::csv))),
            Rows::Parquet(file) => file.write(row).map(|()| true),
        }
    }

    /// Completes the file and prints its number of rows, which are `what`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(self, what: &str) -> Result<(), Failure> {
        self.finish_if(what, || Ok(()))
    }

    /// The same, if `may` agrees once all is written.
    ///
    /// # Errors
    /// When the file cannot be written, and that of `may`.
    pub fn finish_if(self, what: &str, may: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
        match self {
            Rows::Lines(_, lines) | Rows::Csv(lines) => lines.finish_if(what, may),
            Rows::Parquet(file) => file.finish_if(what, may),
        }
    }
}
