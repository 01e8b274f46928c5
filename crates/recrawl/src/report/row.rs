//! Rows of named columns.

use serde_json::Value;
use std::borrow::Cow;
use std::fmt::Write as _;

/// Type of a column's values. Every value may be null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    Text,
    Flag,
    /// A whole number, 0 or more.
    Count,
    Number,
    /// Seconds since 1970.
    Time,
}

/// A column. Its name never changes once released.
#[derive(Clone, Copy, Debug)]
pub struct RowColumn {
    pub name: &'static str,
    pub kind: CellKind,
}

impl RowColumn {
    pub const fn new(name: &'static str, kind: CellKind) -> RowColumn {
        RowColumn { name, kind }
    }
}

/// How a formula begins in spreadsheets, where some take full-width signs and skip white space.
const FORMULA: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// A value of a row, or null.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Null,
    Text(Cow<'static, str>),
    Flag(bool),
    /// For [`CellKind::Count`] and [`CellKind::Time`].
    Count(u64),
    Number(f64),
}

impl Cell {
    /// Null for `None`.
    pub fn from_option<T: Into<Cell>>(value: Option<T>) -> Cell {
        value.map_or(Cell::Null, Into::into)
    }

    /// As a field of CSV (RFC 4180): empty for null, quoted if needed. Spreadsheets run a text that begins with one of
    /// [`FORMULA`] as a formula, quoted or not, so an apostrophe goes before it. Where they take `;` for the separator, only
    /// quotes keep a text in one cell.
    pub fn csv(&self) -> Cow<'_, str> {
        match self {
            Cell::Null => "".into(),
            Cell::Text(text) if text.starts_with(FORMULA) => {
                Cell::from(format!("'{text}")).csv().into_owned().into()
            }
            Cell::Text(text) if text.is_empty() || text.contains([',', ';', '"', '\r', '\n']) => {
                format!("\"{}\"", text.replace('"', "\"\"")).into()
            }
            Cell::Text(text) => text.as_ref().into(),
            Cell::Flag(_) | Cell::Count(_) | Cell::Number(_) => self.json().to_string().into(),
        }
    }

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

/// A row as one line of JSON, in column order.
pub fn json_line(columns: &[RowColumn], row: &[Cell]) -> String {
    let mut line = String::with_capacity(256);
    for (column, cell) in columns.iter().zip(row) {
        let before = if line.is_empty() { '{' } else { ',' };
        let _ = write!(line, "{before}\"{}\":{}", column.name, cell.json());
    }
    line.push('}');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_of_csv_can_be_read_back() {
        for (cell, field) in [
            (Cell::Null, ""),
            (Cell::from(""), "\"\""),
            (Cell::from("http://a.example/?a=1&b"), "http://a.example/?a=1&b"),
            (Cell::from("x;=WEBSERVICE(A1)"), "\"x;=WEBSERVICE(A1)\""),
            (Cell::from("W/\"a,b\""), "\"W/\"\"a,b\"\"\""),
            (Cell::from("two\nlines"), "\"two\nlines\""),
            (Cell::from("=HYPERLINK(\"http://a.example\",1)"), "\"'=HYPERLINK(\"\"http://a.example\"\",1)\""),
            (Cell::from("+1"), "'+1"),
            (Cell::from("-1"), "'-1"),
            (Cell::from("@SUM(1)"), "'@SUM(1)"),
            (Cell::from("\t=1"), "'\t=1"),
            (Cell::from("\n=1"), "\"'\n=1\""),
            (Cell::from("＝1"), "'＝1"),
            (Cell::from("＠SUM(1)"), "'＠SUM(1)"),
            (Cell::from("a=1"), "a=1"),
            (Cell::Number(-0.5), "-0.5"),
            (Cell::from(true), "true"),
            (Cell::from(7_u64), "7"),
            (Cell::Number(0.25), "0.25"),
        ] {
            assert_eq!(cell.csv(), field, "{cell:?}");
        }
    }
}
