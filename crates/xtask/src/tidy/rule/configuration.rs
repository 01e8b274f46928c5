//! docs/configuration.md is generated from config/recrawl.toml, so that the meaning of a key is
//! written once.

use crate::tidy::Complaint;
use crate::workspace::Workspace;
use std::fmt::Write;

/// The page.
pub const PAGE: &str = "docs/configuration.md";
const REFERENCE: &str = "config/recrawl.toml";

pub fn check(workspace: &Workspace) -> Vec<Complaint> {
    let is_current = workspace.text(PAGE) == Some(&made_page(workspace));
    let complaint =
        || Complaint::of_file(PAGE, format!("differs from {REFERENCE}; run `cargo xtask tidy --fix`"));
    (!is_current).then(complaint).into_iter().collect()
}

/// The generated page.
pub fn made_page(workspace: &Workspace) -> String {
    let mut page = String::from(
        "# Configuration\n\n\
         Every key with its default. Generated from `config/recrawl.toml` by `cargo xtask tidy --fix`. A configuration is a \
         TOML file with the keys that differ from the default. `recrawl config check --config FILE` checks it; \
         `recrawl config show --config FILE` prints all values. Keys marked *not set* have no default.\n\n\
         `recrawl config init` writes a file to start from. Environment variables override the file, and the command line \
         overrides both: `RECRAWL__CYCLE__PAGES=100` sets `cycle.pages`. Write texts, durations and sizes as they are \
         (`RECRAWL__CYCLE__PERIOD=\"1 h\"` in a shell), other values in TOML \
         (`RECRAWL__SCOPE__HOSTS='[\"example.com\"]'`), and the list of hosts as a whole in `RECRAWL__HOSTS`. An unknown \
         variable of this kind is an error.\n",
    );
    for section in sections(workspace.text(REFERENCE).unwrap_or_default()) {
        let (open, close) = if section.repeats { ("[[", "]]") } else { ("[", "]") };
        write!(page, "\n## `{open}{}{close}`\n\n", section.name).expect("a string grows");
        if !section.about.is_empty() {
            write!(page, "{}\n\n", plain(&section.about)).expect("a string grows");
        }
        page += "| key | default | what |\n|---|---|---|\n";
        for row in section.rows {
            let names: Vec<String> = row.keys.iter().map(|k| format!("`{}`", k.name)).collect();
            let values: Vec<String> = row.keys.iter().map(Key::default).collect();
            let about = plain(&row.about);
            writeln!(page, "| {} | {} | {about} |", names.join("<br>"), values.join("<br>"))
                .expect("a string grows");
        }
    }
    page
}

/// Escapes Markdown syntax.
fn plain(text: &str) -> String {
    text.replace('|', "\\|").replace('*', "\\*").replace('<', "&lt;").replace("[[", "\\[\\[")
}

struct Section {
    name: String,
    /// An array of tables.
    repeats: bool,
    about: String,
    rows: Vec<Row>,
}

/// Keys with a common comment.
struct Row {
    about: String,
    keys: Vec<Key>,
}

struct Key {
    name: String,
    value: String,
    /// False if the line is commented out: there is no default, and the value is an example.
    set: bool,
}

impl Key {
    fn default(&self) -> String {
        let value = self.value.replace('|', "\\|");
        if self.set { format!("`{value}`") } else { format!("*not set*, such as `{value}`") }
    }
}

/// Reads the file line by line, because TOML parsers drop comments.
fn sections(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut comment: Vec<&str> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let bare = line.strip_prefix("# ");
        let content = bare.unwrap_or(line);
        if let Some((name, repeats)) = header(content) {
            sections.push(Section { name, repeats, about: comment.join(" "), rows: Vec::new() });
            comment.clear();
        } else if let (Some((name, value)), Some(section)) = (assignment(content), sections.last_mut()) {
            let mut value = value.trim().to_owned();
            while value.starts_with('[') && !value.ends_with(']') {
                let Some(more) = lines.next() else { break };
                let more = more.trim();
                if !value.ends_with('[') && more != "]" {
                    value.push(' ');
                }
                value.push_str(more);
            }
            let key = Key { name: name.to_owned(), value: value.replace(",]", "]"), set: bare.is_none() };
            match section.rows.last_mut() {
                Some(row) if comment.is_empty() => row.keys.push(key),
                _ => section.rows.push(Row { about: comment.join(" "), keys: vec![key] }),
            }
            comment.clear();
        } else if let Some(words) = bare {
            comment.push(words);
        } else if sections.is_empty() {
            comment.clear(); // the head of the file
        }
    }
    sections
}

/// `[name]`, or `[[name]]` for an array of tables.
fn header(line: &str) -> Option<(String, bool)> {
    let inner = line.strip_prefix('[')?.strip_suffix(']')?;
    let (name, repeats) = match inner.strip_prefix('[').and_then(|i| i.strip_suffix(']')) {
        Some(name) => (name, true),
        None => (inner, false),
    };
    is_name(name).then(|| (name.to_owned(), repeats))
}

fn assignment(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(" = ")?;
    is_name(name).then_some((name, value))
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_become_rows() {
        let text = "# The head.\n\n# About a.\n[a]\n# One\n# reason.\nx = 1\n# Two | three of \"*\".\nleast = \"1 s\"\nmost = [\n    \"p\",\n    \"q\",\n]\n\
                    # Seldom.\n# deadline = \"20 h\"\n\n# Again and again.\n# [[hosts]]\n# Name.\n# host = \"h\"\n";
        let workspace = Workspace::of(&[(REFERENCE, text)]);
        let page = made_page(&workspace);
        let wanted = "\n## `[a]`\n\nAbout a.\n\n| key | default | what |\n|---|---|---|\n| `x` | `1` | One reason. |\n\
                      | `least`<br>`most` | `\"1 s\"`<br>`[\"p\", \"q\"]` | Two \\| three of \"\\*\". |\n\
                      | `deadline` | *not set*, such as `\"20 h\"` | Seldom. |\n\
                      \n## `[[hosts]]`\n\nAgain and again.\n\n| key | default | what |\n|---|---|---|\n\
                      | `host` | *not set*, such as `\"h\"` | Name. |\n";
        assert!(page.ends_with(wanted), "{page}");
        assert_eq!(check(&workspace).len(), 1);
        assert!(check(&Workspace::of(&[(REFERENCE, text), (PAGE, &page)])).is_empty());
    }

    #[test]
    fn no_key_of_the_reference_is_lost() {
        let workspace = Workspace::read(&crate::tidy::repository_root()).expect("the repository can be read");
        let text = workspace.text(REFERENCE).expect("the reference is there");
        let tables: toml::Table = text.parse().expect("TOML");
        let found = sections(text);
        for (table, keys) in tables {
            let section =
                found.iter().find(|s| s.name == table).unwrap_or_else(|| panic!("no section {table}"));
            let listed: Vec<&str> =
                section.rows.iter().flat_map(|r| &r.keys).map(|k| k.name.as_str()).collect();
            for key in keys.as_table().expect("a table").keys() {
                assert!(listed.contains(&key.as_str()), "{table}.{key} is lost");
            }
        }
    }
}
