//! Files generated from the code: the dashboard and alert rules of `deploy/`, and the lists of
//! docs/console.md. `make generated` writes them; a test fails if they are stale.

use crate::metrics::{alert, grafana};
use crate::view::health;
use std::io;
use std::path::Path;

const PAGE: &str = "docs/console.md";

/// Paths below `root` and contents of the generated files.
///
/// # Errors
/// If docs/console.md cannot be read or lacks the markers of a list.
pub fn files(root: &Path) -> io::Result<Vec<(&'static str, String)>> {
    let page = std::fs::read_to_string(root.join(PAGE))?;
    let page = filled(&page, "health", &health::list())?;
    Ok(vec![
        ("deploy/grafana/recrawl.json", grafana::dashboard()),
        ("deploy/prometheus/alerts.yml", alert::rules()),
        (PAGE, page),
    ])
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_files_are_as_the_code_has_them() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for (path, text) in files(&root).unwrap() {
            let there = std::fs::read_to_string(root.join(path)).unwrap_or_default();
            assert!(there == text, "{path} is stale: run `make generated`");
        }
    }

    #[test]
    fn a_table_takes_its_place_and_nothing_else() {
        let page = "a\n<!-- x, generated from the code -->\nold\n<!-- end of x -->\nb\n";
        let new = filled(page, "x", "| t |\n").unwrap();
        assert_eq!(new, "a\n<!-- x, generated from the code -->\n\n| t |\n\n<!-- end of x -->\nb\n");
        assert_eq!(filled(&new, "x", "| t |\n").unwrap(), new);
        assert!(filled(page, "y", "").unwrap_err().to_string().contains("<!-- y, generated"));
    }
}
