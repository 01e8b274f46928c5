//! Changes of `recrawl watch` to keys of tables that a configuration has: in place, so that comments stay.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use toml::{Spanned, Table, Value};

/// A table as it is written: its values with their places in the text.
type WrittenTable = BTreeMap<String, Spanned<Value>>;

/// The tables that a watch changes.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct WrittenTables {
    pub pages: Vec<WrittenTable>,
    pub notify: Vec<WrittenTable>,
}

impl WrittenTables {
    /// Those of a configuration; none of one that is no TOML, which is refused elsewhere.
    pub fn read(text: &str) -> WrittenTables {
        toml::from_str(text).unwrap_or_default()
    }

    fn list(&self, name: &str) -> &[WrittenTable] {
        if name == "pages" { &self.pages } else { &self.notify }
    }
}

/// A key of the table of this number in the list `pages` or `notify`, and its new value.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyChange {
    pub list: &'static str,
    pub number: usize,
    pub key: &'static str,
    pub value: Value,
    /// How people know the value so far, and the new one.
    pub told: Told,
}

/// The name of a value, the value, and its next one.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    pub name: &'static str,
    pub now: String,
    pub then: String,
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Told { name, now, then } = self;
        write!(f, "{name:<11} {now} becomes {then}")
    }
}

/// The text with all changes.
///
/// # Errors
/// The first change that cannot be made in place, with the line of its table, or of its value if it has one.
pub fn revised<'e>(text: &str, edits: &'e [KeyChange]) -> Result<String, (usize, &'e KeyChange)> {
    let mut text = text.to_owned();
    for edit in edits {
        let tables = WrittenTables::read(&text);
        let Some(table) = tables.list(edit.list).get(edit.number) else { return Err((1, edit)) };
        let place = place(&text, table, edit.key);
        let new = match table.contains_key(edit.key) {
            true => edit.value.to_string(),
            false => format!("\n{} = {}", edit.key, edit.value),
        };
        let mut changed = text.clone();
        changed.replace_range(place.clone(), &new);
        // A table may be written in ways in which no line can be added to it.
        if toml::from_str::<Table>(&changed).ok() != expected(&text, edit) {
            return Err((line(&text, place.start), edit));
        }
        text = changed;
    }
    Ok(text)
}

/// Where the value of the key is, or else the end of the line of the value that stands first in the table.
fn place(text: &str, table: &WrittenTable, key: &str) -> Range<usize> {
    if let Some(value) = table.get(key) {
        return value.span();
    }
    let first = table.values().map(Spanned::span).min_by_key(|span| span.start);
    let after = first.map_or(text.len(), |span| span.end);
    let end = text[after..].find('\n').map_or(text.len(), |length| after + length);
    end..end
}

/// The tables of the text with the change.
fn expected(text: &str, edit: &KeyChange) -> Option<Table> {
    let mut tables: Table = toml::from_str(text).ok()?;
    let table = tables.get_mut(edit.list)?.as_array_mut()?.get_mut(edit.number)?.as_table_mut()?;
    table.insert(edit.key.to_owned(), edit.value.clone());
    Some(tables)
}

/// The line of a place, from 1.
pub fn line(text: &str, place: usize) -> usize {
    text[..place].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(number: usize, key: &'static str, value: &str) -> KeyChange {
        let told = Told { name: key, now: "none".into(), then: value.into() };
        KeyChange { list: "pages", number, key, value: value.into(), told }
    }

    #[test]
    fn a_value_changes_in_its_place_and_all_else_stays() {
        let text = "# mine\n[[pages]]   # one\nmatch = 'a'\nevery = \"1 h\"  # often\n\n[[pages]]\nmatch = \"b\" # two\n\n[serve]\n";
        let edits = [edit(0, "every", "2 h"), edit(1, "every", "3 h"), edit(0, "include", ".x\"y")];
        assert_eq!(
            revised(text, &edits).unwrap(),
            "# mine\n[[pages]]   # one\nmatch = 'a'\ninclude = '.x\"y'\nevery = \"2 h\"  # often\n\n[[pages]]\nmatch = \"b\" # two\n\
             every = \"3 h\"\n\n[serve]\n"
        );
        assert_eq!(edits[0].told.to_string(), "every       none becomes 2 h");
        let open = "[[pages]]\nmatch = \"a\"";
        assert_eq!(revised(open, &edits[..1]).unwrap(), format!("{open}\nevery = \"2 h\""));
    }

    #[test]
    fn what_cannot_be_changed_in_place_is_named_by_its_line() {
        let inline = "\npages = [{ match = \"a\", every = \"1 h\" }]\n";
        assert!(revised(inline, &[edit(0, "every", "2 h")]).unwrap().contains("every = \"2 h\" }]"));
        let edits = [edit(0, "include", ".x")];
        let (line, refused) = revised(inline, &edits).unwrap_err();
        assert_eq!((line, refused.key), (2, "include"));
    }
}
