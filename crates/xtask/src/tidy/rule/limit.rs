//! Every constant `MAX_…` has a comment that says what it bounds, and the entries of
//! docs/internals/limits.md have the values of the code.

use crate::rust_tokens::{is_mark, is_word, levels};
use crate::tidy::Complaint;
use crate::workspace::{Workspace, WorkspaceFile};
use proc_macro2::TokenTree;
use std::collections::BTreeMap;

const PAGE: &str = "docs/internals/limits.md";

/// Crates that read no untrusted input.
const SPARED: &[&str] = &["mockweb", "fuzzing", "xtask"];

pub fn check(workspace: &Workspace) -> Vec<Complaint> {
    let page = workspace.text(PAGE).unwrap_or_default();
    let limits = limits(workspace);
    let entries: BTreeMap<&str, (usize, &str)> =
        entries(page).map(|(line, limit, name)| (name, (line, limit))).collect();
    let mut found = Vec::new();
    for (name, limit) in &limits {
        if limit.needs_comment {
            let text = format!("`{name}` has no comment; say what it bounds, and why so");
            found.push(Complaint::at(&limit.path, limit.line, text));
        }
        if let Some((line, said)) = entries.get(name.as_str())
            && limit.value.is_some_and(|value| amount(said) != Some(value))
        {
            let text = format!("`{name}` is `{}` in {}, not {said}", limit.written, limit.path);
            found.push(Complaint::at(PAGE, *line, text));
        }
    }
    for (name, (line, _)) in entries.iter().filter(|(name, _)| !limits.contains_key(**name)) {
        found.push(Complaint::at(PAGE, *line, format!("unknown limit `{name}`: delete its entry")));
    }
    found
}

/// A limit, or a constant that may be one.
struct LimitConstant {
    /// A constant `MAX_…` without a comment above it.
    needs_comment: bool,
    path: String,
    line: usize,
    written: String,
    /// In bytes, milliseconds or pieces; none if it depends on other constants.
    value: Option<u64>,
}

/// All constants by name.
fn limits(workspace: &Workspace) -> BTreeMap<String, LimitConstant> {
    let mut limits = BTreeMap::new();
    for file in workspace.rust() {
        let Some(folder) = file.crate_folder().filter(|folder| !SPARED.contains(folder)) else { continue };
        if file.path.contains("/src/") && !file.path.contains("/tests") {
            limits.extend(constants(folder, file));
        }
    }
    limits
}

/// The constants of a file.
fn constants(folder: &str, file: &WorkspaceFile) -> Vec<(String, LimitConstant)> {
    let constant = |tokens: &[TokenTree]| {
        let end = tokens.iter().position(|token| is_mark(token, ';'))?;
        let equals = tokens[..end].iter().position(|token| is_mark(token, '='))?;
        let value = tokens[equals].span().byte_range().end..tokens[end].span().byte_range().start;
        let (name, value) = (tokens[1].to_string(), file.text[value].trim());
        let line = tokens[0].span().start().line;
        let limit = LimitConstant {
            needs_comment: name.starts_with("MAX_") && !is_below_a_comment(&file.text, line),
            path: file.path.clone(),
            line,
            written: value.into(),
            value: computed(value),
        };
        Some((format!("{folder}::{name}"), limit))
    };
    let levels = levels(file.tokens());
    let places = levels.iter().flat_map(|level| (0..level.len()).map(move |at| &level[at..]));
    places.filter(|tokens| is_word(&tokens[0], "const")).filter_map(constant).collect()
}

/// Whether a comment stands above this line and its attributes.
fn is_below_a_comment(text: &str, line: usize) -> bool {
    let above: Vec<&str> = text.lines().take(line - 1).map(str::trim).collect();
    above.iter().rev().find(|l| !l.starts_with("#[")).is_some_and(|l| l.starts_with("//"))
}

/// Entries ``- `CRATE::CONSTANT` LIMIT: what``, as line, limit, name.
fn entries(page: &str) -> impl Iterator<Item = (usize, &str, &str)> {
    page.lines().enumerate().filter_map(|(i, line)| {
        let (name, rest) = line.strip_prefix("- `")?.split_once("` ")?;
        Some((i + 1, rest.split_once(": ")?.0, name))
    })
}

/// A number with its unit, in bytes, milliseconds or pieces; `none` is 0.
fn amount(text: &str) -> Option<u64> {
    let text = text.replace([',', '_'], "");
    if text == "none" {
        return Some(0);
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = text[..digits].parse().ok()?;
    let unit = match text[digits..].trim() {
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "s" => 1_000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => 1,
    };
    Some(number * unit)
}

/// The value of an expression of numbers; none if it uses other constants.
fn computed(expression: &str) -> Option<u64> {
    let expression = expression.trim();
    if let Some(seconds) = expression.strip_prefix("Duration::from_secs(") {
        return Some(computed(seconds.strip_suffix(')')?)? * 1_000);
    }
    if let Some((number, shift)) = expression.split_once("<<") {
        return computed(number)?.checked_shl(computed(shift)?.try_into().ok()?);
    }
    if let Some((a, b)) = expression.rsplit_once('*') {
        return computed(a)?.checked_mul(computed(b)?);
    }
    expression.replace('_', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(code: &str, page: &str) -> Vec<String> {
        let files = [("crates/a/src/lib.rs", code), ("crates/mockweb/src/lib.rs", code), (PAGE, page)];
        check(&Workspace::from_files(&files))
            .into_iter()
            .map(|c| c.text.split('`').nth(1).unwrap().to_owned())
            .collect()
    }

    #[test]
    fn limits_are_explained_and_entries_have_their_values() {
        let code = "/// Longest wait.\n#[allow(x)]\npub const MAX_WAIT: Duration = Duration::from_secs(24 * 3600);\nconst LEAST: u8 = 1;";
        let good = "# Limits\n\n- `a::MAX_WAIT` 1 d: wait; then it ends\n- no entry\n";
        assert_eq!(complaints(code, good), [""; 0]);
        assert_eq!(complaints(code, ""), [""; 0]);
        assert_eq!(complaints(code, &good.replace("1 d", "25 h")), ["a::MAX_WAIT"]);
        assert_eq!(complaints("", good), ["a::MAX_WAIT"]);
        assert_eq!(complaints(&code.replace("/// Longest wait.", "use x;"), good), ["a::MAX_WAIT"]);
    }

    #[test]
    fn values_are_read_as_they_are_written() {
        for (written, value) in [
            ("2_000", Some(2_000)),
            ("1 << 20", Some(1 << 20)),
            ("500 * 1024", Some(512_000)),
            ("Duration::from_secs(24 * 3600)", Some(86_400_000)),
            ("4 * Expr::MAX_DEPTH", None),
        ] {
            assert_eq!(computed(written), value, "{written}");
        }
        for (said, value) in
            [("2,000 bytes", Some(2_000)), ("64 KiB", Some(65_536)), ("none", Some(0)), ("some", None)]
        {
            assert_eq!(amount(said), value, "{said}");
        }
    }
}
