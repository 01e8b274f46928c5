//! Writes rows as an Apache Parquet file, in groups with one compressed chunk per column.

use super::new_file::NewFile;
use super::report;
use crate::report::row::{Cell, CellKind, RowColumn};
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};
use recrawl_crawl::failure::Failure;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Rows per group. A group is held in memory: about 500 bytes per row.
const GROUP: usize = 64 << 10;
/// Maximum bytes of text in a group, above which it ends early. Only texts of pages are so long.
const MAX_GROUP_TEXT: usize = 32 << 20;

/// A Parquet file being written. It is readable only after `finish`.
pub struct ParquetFile {
    file: NewFile,
    writer: SerializedFileWriter<File>,
    held: Vec<ColumnGroup>,
    rows: usize,
    /// Bytes of text in the current group.
    text: usize,
    written: u64,
}

/// The current group's values of one column.
struct ColumnGroup {
    kind: CellKind,
    /// For each row 1, or 0 if the value is null.
    present: Vec<i16>,
    values: ColumnValues,
}

enum ColumnValues {
    Text(Vec<ByteArray>),
    Flag(Vec<bool>),
    Whole(Vec<i64>),
    Number(Vec<f64>),
}

impl ParquetFile {
    /// Creates `out`; standard output for `-`.
    ///
    /// # Errors
    /// With the file's name.
    pub fn create(out: &Path, columns: &[RowColumn]) -> Result<ParquetFile, Failure> {
        let file = NewFile::create(out)?;
        let sink = file.writer()?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("recrawl ", env!("CARGO_PKG_VERSION")).into())
            .build();
        let writer = schema(columns)
            .and_then(|schema| SerializedFileWriter::new(sink, schema, Arc::new(properties)))
            .map_err(|e| failed(out, &e))?;
        let held = columns.iter().map(|column| ColumnGroup::new(column.kind)).collect();
        Ok(ParquetFile { file, writer, held, rows: 0, text: 0, written: 0 })
    }

    /// Writes a row.
    ///
    /// # Errors
    /// With the file's name.
    ///
    /// # Panics
    /// When a cell is not of its column's kind.
    pub fn write(&mut self, row: &[Cell]) -> Result<(), Failure> {
        assert_eq!(row.len(), self.held.len(), "a cell for each column");
        self.held.iter_mut().zip(row).for_each(|(held, cell)| held.push(cell));
        self.rows += 1;
        self.written += 1;
        let bytes = |cell: &Cell| if let Cell::Text(text) = cell { text.len() } else { 0 };
        self.text += row.iter().map(bytes).sum::<usize>();
        if self.rows == GROUP || self.text >= MAX_GROUP_TEXT { self.close_group() } else { Ok(()) }
    }

    fn close_group(&mut self) -> Result<(), Failure> {
        let group = self.writer.next_row_group();
        let written = group.and_then(|group| put_group(group, &self.held));
        written.map_err(|e| failed(self.file.out(), &e))?;
        self.held.iter_mut().for_each(|held| *held = ColumnGroup::new(held.kind));
        (self.rows, self.text) = (0, 0);
        Ok(())
    }

    /// Completes the file if `may` agrees, and prints its number of rows, which are `what`.
    ///
    /// # Errors
    /// With the file's name, or that of `may`.
    pub fn finish_if(mut self, what: &str, may: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
        if self.rows > 0 {
            self.close_group()?;
        }
        self.writer.close().map_err(|e| failed(self.file.out(), &e))?;
        let out = self.file.out().to_owned();
        self.file.finish(may)?;
        report(&out, self.written, what)
    }
}

impl ColumnGroup {
    fn new(kind: CellKind) -> ColumnGroup {
        let values = match kind {
            CellKind::Text => ColumnValues::Text(Vec::new()),
            CellKind::Flag => ColumnValues::Flag(Vec::new()),
            CellKind::Count | CellKind::Time => ColumnValues::Whole(Vec::new()),
            CellKind::Number => ColumnValues::Number(Vec::new()),
        };
        ColumnGroup { kind, present: Vec::new(), values }
    }

    fn push(&mut self, cell: &Cell) {
        self.present.push(i16::from(*cell != Cell::Null));
        match (&mut self.values, cell) {
            (_, Cell::Null) => {}
            (ColumnValues::Text(values), Cell::Text(text)) => values.push(text.as_bytes().to_vec().into()),
            (ColumnValues::Flag(values), Cell::Flag(flag)) => values.push(*flag),
            (ColumnValues::Whole(values), Cell::Count(count)) => {
                // A timestamp's unit is the millisecond: Parquet has none for seconds.
                let count = if self.kind == CellKind::Time { count.saturating_mul(1000) } else { *count };
                values.push(i64::try_from(count).unwrap_or(i64::MAX));
            }
            (ColumnValues::Number(values), Cell::Number(number)) => values.push(*number),
            (_, cell) => panic!("{cell:?} in a column of {:?}", self.kind),
        }
    }
}

fn put_group<W: Write + Send>(
    mut group: SerializedRowGroupWriter<'_, W>,
    columns: &[ColumnGroup],
) -> Result<(), ParquetError> {
    for held in columns {
        match &held.values {
            ColumnValues::Text(values) => put_column::<ByteArrayType, W>(&mut group, values, &held.present)?,
            ColumnValues::Flag(values) => put_column::<BoolType, W>(&mut group, values, &held.present)?,
            ColumnValues::Whole(values) => put_column::<Int64Type, W>(&mut group, values, &held.present)?,
            ColumnValues::Number(values) => put_column::<DoubleType, W>(&mut group, values, &held.present)?,
        }
    }
    group.close().map(|_| ())
}

fn put_column<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    present: &[i16],
) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.expect("a writer for each column");
    column.typed::<T>().write_batch(values, Some(present), None)?;
    column.close()
}

fn schema(columns: &[RowColumn]) -> Result<TypePtr, ParquetError> {
    let field = |column: &RowColumn| {
        let (physical, logical) = match column.kind {
            CellKind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            CellKind::Flag => (Physical::BOOLEAN, None),
            CellKind::Count => (Physical::INT64, None),
            CellKind::Number => (Physical::DOUBLE, None),
            CellKind::Time => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MILLIS))),
        };
        Type::primitive_type_builder(column.name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()
            .map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<Result<_, _>>()?;
    Type::group_type_builder("recrawl").with_fields(fields).build().map(Arc::new)
}

fn failed(out: &Path, error: &ParquetError) -> Failure {
    Failure::Work(format!("cannot write {}: {error}", out.display()))
}

#[cfg(test)]
mod tests;
