//! Writers of rows for each file format.

use super::lines::CountedLines;
use super::parquet::ParquetFile;
use crate::cli::ExportFormat;
use crate::report::row::{Cell, RowColumn, json_line};
use recrawl_crawl::failure::Failure;
use recrawl_terminal::escape;
use std::borrow::Cow;
use std::path::Path;

fn csv_line<'a>(fields: impl Iterator<Item = Cow<'a, str>>) -> String {
    fields.collect::<Vec<_>>().join(",")
}

/// A file of rows.
pub enum RowFile {
    /// JSON lines.
    Lines(Vec<RowColumn>, CountedLines),
    Csv(CountedLines),
    Parquet(Box<ParquetFile>),
}

impl RowFile {
    /// Creates the file; standard output for `-`.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn create(out: &Path, format: ExportFormat, columns: &[RowColumn]) -> Result<RowFile, Failure> {
        Ok(match format {
            ExportFormat::Jsonl => RowFile::Lines(columns.to_vec(), CountedLines::create(out)?),
            ExportFormat::Csv => {
                let names = csv_line(columns.iter().map(|column| column.name.into()));
                RowFile::Csv(CountedLines::with_heading(out, names)?)
            }
            ExportFormat::Parquet => RowFile::Parquet(Box::new(ParquetFile::create(out, columns)?)),
        })
    }

    /// Writes a row, one cell per column. False once the reader of standard output has closed it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&mut self, row: &[Cell]) -> Result<bool, Failure> {
        match self {
            RowFile::Lines(columns, lines) => lines.write(escape::lines(&json_line(columns, row))),
            RowFile::Csv(lines) => lines.write(csv_line(row.iter().map(Cell::csv))),
            RowFile::Parquet(file) => file.write(row).map(|()| true),
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
            RowFile::Lines(_, lines) | RowFile::Csv(lines) => lines.finish_if(what, may),
            RowFile::Parquet(file) => file.finish_if(what, may),
        }
    }
}
