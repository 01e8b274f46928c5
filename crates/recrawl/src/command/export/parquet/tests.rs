//! Rows written to a Parquet file are read back unchanged, over several groups.

use super::*;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

const COLUMNS: &[RowColumn] = &[
    RowColumn::new("text", CellKind::Text),
    RowColumn::new("flag", CellKind::Flag),
    RowColumn::new("count", CellKind::Count),
    RowColumn::new("number", CellKind::Number),
    RowColumn::new("time", CellKind::Time),
];

fn row(i: u64) -> [Cell; 5] {
    match i % 3 {
        0 => [
            format!("é {i}").into(),
            i.is_multiple_of(2).into(),
            i.into(),
            Cell::Number(i as f64 / 4.0),
            (1_700_000_000 + i).into(),
        ],
        1 => [const { Cell::Null }; 5],
        _ => ["same".into(), Cell::Null, u64::MAX.into(), Cell::Number(-0.5), 0u64.into()],
    }
}

fn field(cell: &Cell, kind: CellKind) -> Field {
    match cell {
        Cell::Null => Field::Null,
        Cell::Text(text) => Field::Str(text.to_string()),
        Cell::Flag(flag) => Field::Bool(*flag),
        Cell::Count(count) if kind == CellKind::Time => Field::TimestampMillis(*count as i64 * 1000),
        Cell::Count(count) => Field::Long(i64::try_from(*count).unwrap_or(i64::MAX)),
        Cell::Number(number) => Field::Double(*number),
    }
}

#[test]
fn rows_come_back_in_their_order_over_several_groups() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.parquet");
    let rows = GROUP as u64 + 7;
    let mut file = ParquetFile::create(&path, COLUMNS).unwrap();
    (0..rows).for_each(|i| file.write(&row(i)).unwrap());
    file.finish_if("rows", || Ok(())).unwrap();
    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    assert_eq!((reader.num_row_groups(), reader.metadata().file_metadata().num_rows()), (2, rows as i64));
    let mut read = 0;
    for (i, found) in (0..).zip(reader.get_row_iter(None).unwrap()) {
        let found = found.unwrap();
        let expected = row(i);
        for ((column, cell), (name, value)) in COLUMNS.iter().zip(&expected).zip(found.get_column_iter()) {
            assert_eq!((name.as_str(), value), (column.name, &field(cell, column.kind)), "row {i}");
        }
        read += 1;
    }
    assert_eq!(read, rows);
}

#[test]
fn an_empty_file_has_its_columns() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.parquet");
    ParquetFile::create(&path, COLUMNS).unwrap().finish_if("rows", || Ok(())).unwrap();
    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    let schema = reader.metadata().file_metadata().schema().clone();
    let names: Vec<&str> = schema.get_fields().iter().map(|field| field.name()).collect();
    assert_eq!(names, ["text", "flag", "count", "number", "time"]);
    assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
}

#[test]
fn a_file_that_cannot_be_made_is_named() {
    let missing = Path::new("no/such/folder/rows.parquet");
    let error = ParquetFile::create(missing, COLUMNS).err().unwrap().to_string();
    assert!(error.contains("no/such/folder"), "{error}");
}
