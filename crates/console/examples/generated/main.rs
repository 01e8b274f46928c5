//! Writes the files that are generated from the console's code (`make generated`): the dashboard and alert rules of
//! `deploy/`, the Python client, and the list of docs/console.md. A test fails if they are stale.

mod alert;
mod client;
mod grafana;
mod panel;
#[cfg(test)]
mod tests;
mod threshold;

use recrawl_console::view::health::{HealthRule, RULES};
use std::fmt::Write;
use std::path::Path;
use std::{fs, io};

const PAGE: &str = "docs/console.md";

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (path, text) in files(&root)? {
        let file = root.join(path);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(file, text)?;
        println!("{path}");
    }
    Ok(())
}

/// Paths below `root` and contents of the generated files.
fn files(root: &Path) -> io::Result<Vec<(&'static str, String)>> {
    let page = fs::read_to_string(root.join(PAGE))?;
    let page = filled(&page, "health", &health_rules())?;
    let document = serde_json::from_slice(&recrawl_console::openapi())?;
    Ok(vec![
        ("deploy/grafana/recrawl.json", grafana::dashboard()),
        ("deploy/prometheus/alerts.yml", alert::rules()),
        ("clients/python/recrawl.py", client::module(&document)),
        (PAGE, page),
    ])
}

/// The list of rules in docs/console.md.
fn health_rules() -> String {
    let mut list = String::new();
    for HealthRule { name, level, when, .. } in RULES {
        writeln!(list, "- {level}, {name}: {when}").expect("text takes all");
    }
    list
}

/// Replaces the list between the markers of `name`.
fn filled(page: &str, name: &str, list: &str) -> io::Result<String> {
    let (begin, end) =
        (format!("<!-- {name}, generated from the code -->\n"), format!("<!-- end of {name} -->"));
    let parts = page.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(&end)?.1)));
    let (before, after) = parts.ok_or_else(|| {
        io::Error::other(format!("{PAGE} has no markers for {name}; add `{}` and `{end}`", begin.trim()))
    })?;
    Ok(format!("{before}{begin}\n{list}\n{end}{after}"))
}
