//! docs/internals/limits.md has a row for every constant `MAX_…` and every limit in
//! config/recrawl.toml, with its value, and no other rows.

use crate::rust_tokens::{is_mark, is_word, levels};
use crate::tidy::Complaint;
use crate::workspace::{File, Workspace};
use proc_macro2::TokenTree;
use std::collections::BTreeMap;

const PAGE: &str = "docs/internals/limits.md";
const CONFIG: &str = "config/recrawl.toml";
const HERE: &str = "crates/xtask/src/tidy/rule/limit.rs";

/// Crates that read no untrusted input.
const SPARED: &[&str] = &["mockweb", "fuzzing", "xtask"];

/// Keys that are not limits: names, choices, shares, politeness, and lists. The name of a section
/// stands for all its keys.
const NO_LIMIT: &[&str] = &[
    "change",
    "consent",
    "crawler",
    "cycle.announced_share",
    "cycle.audit_share",
    "cycle.discovery_min",
    "cycle.discovery_share",
    "cycle.pages_min",
    "cycle.period",
    "cycle.warmup",
    "dns.overrides",
    "dns.servers",
    "extract.types",
    "focus.change_threshold",
    "focus.classifier",
    "focus.enabled",
    "focus.explore_share",
    "focus.model",
    "focus.order",
    "focus.site_patience",
    "focus.target_recall",
    "focus.terms",
    "focus.threshold",
    "focus.worth",
    "fetch.allow_addresses",
    "fetch.extra_ca",
    "fetch.validator_checks",
    "hints.feeds",
    "hints.guess",
    "hints.min_trust",
    "hints.sitemaps",
    "improve",
    "pings.indexnow",
    "pings.websub",
    "politeness.delay_per_host",
    "politeness.delay_per_ip",
    "politeness.delay_per_latency",
    "proxy",
    "render.browser",
    "render.sandbox",
    "log",
    "schedule.formula",
    "schedule.policy",
    "schedule.ties",
    "scope.hosts",
    "scope.opt_out",
    "scope.prefixes",
    "scope.refuse_hosts",
    "scope.refuse_prefixes",
    "serve.events",
    "serve.listen",
    "serve.names",
    "serve.tokens",
    "storage.archive",
    "storage.archive_requests",
    "storage.data_dir",
    "storage.keep_hosts",
    "traps",
    "urls",
];

pub fn check(workspace: &Workspace) -> Vec<Complaint> {
    let page = workspace.text(PAGE).unwrap_or_default();
    let (limits, mut found) = limits(workspace);
    let rows: BTreeMap<&str, (usize, &str)> =
        rows(page).map(|(line, limit, name)| (name, (line, limit))).collect();
    for (name, limit) in &limits {
        match rows.get(name.as_str()) {
            None if !limit.needs_row => {}
            None => {
                let text = format!("`{name}` is a limit without a row in {PAGE}; add one");
                found.push(Complaint::at(&limit.path, limit.line, text));
            }
            Some((line, said)) if limit.value.is_some_and(|value| amount(said) != Some(value)) => {
                let text = format!("`{name}` is `{}` in {}, not {said}", limit.written, limit.path);
                found.push(Complaint::at(PAGE, *line, text));
            }
            Some(_) => {}
        }
    }
    for (name, (line, _)) in rows.iter().filter(|(name, _)| !limits.contains_key(**name)) {
        let text = format!("unknown limit `{name}`: neither a key of {CONFIG} nor CRATE::CONSTANT");
        found.push(Complaint::at(PAGE, *line, text));
    }
    found
}

/// A limit, or a constant that may be one.
struct Limit {
    needs_row: bool,
    path: String,
    line: usize,
    written: String,
    /// In bytes, milliseconds or pieces; none if it depends on other constants.
    value: Option<u64>,
}

/// All limits by name, and complaints about [`NO_LIMIT`].
fn limits(workspace: &Workspace) -> (BTreeMap<String, Limit>, Vec<Complaint>) {
    let mut limits = BTreeMap::new();
    for file in workspace.rust() {
        let Some(folder) = file.crate_folder().filter(|folder| !SPARED.contains(folder)) else { continue };
        if file.path.contains("/src/") && !file.path.contains("/tests") {
            limits.extend(constants(folder, file));
        }
    }
    let config = workspace.text(CONFIG).unwrap_or_default();
    let table: toml::Table = config.parse().unwrap_or_else(|e| panic!("{CONFIG} is not valid TOML: {e}"));
    let mut used = Vec::new();
    for (section, keys) in &table {
        for (key, value) in keys.as_table().into_iter().flatten() {
            let name = format!("{section}.{key}");
            if let Some(spared) = NO_LIMIT.iter().find(|spared| **spared == name || **spared == section) {
                used.push(spared);
                continue;
            }
            let written = value.to_string().trim_matches('"').to_owned();
            let line = config.lines().position(|l| l.starts_with(&format!("{key} ="))).map_or(1, |at| at + 1);
            let limit =
                Limit { needs_row: true, path: CONFIG.into(), line, value: amount(&written), written };
            limits.insert(name, limit);
        }
    }
    let stale = NO_LIMIT.iter().filter(|name| !used.contains(name));
    let stale = stale
        .map(|name| Complaint::of_file(HERE, format!("{CONFIG} has no `{name}`; remove it from NO_LIMIT")));
    (limits, stale.collect())
}

/// The constants of a file. `MAX_…` are limits; others are limits if the page lists them.
fn constants(folder: &str, file: &File) -> Vec<(String, Limit)> {
    let constant = |tokens: &[TokenTree]| {
        let end = tokens.iter().position(|token| is_mark(token, ';'))?;
        let equals = tokens[..end].iter().position(|token| is_mark(token, '='))?;
        let value = tokens[equals].span().byte_range().end..tokens[end].span().byte_range().start;
        let (name, value) = (tokens[1].to_string(), file.text[value].trim());
        let limit = Limit {
            needs_row: name.starts_with("MAX_"),
            path: file.path.clone(),
            line: tokens[0].span().start().line,
            written: value.into(),
            value: computed(value),
        };
        Some((format!("{folder}::{name}"), limit))
    };
    let levels = levels(file.tokens());
    let places = levels.iter().flat_map(|level| (0..level.len()).map(move |at| &level[at..]));
    places.filter(|tokens| is_word(&tokens[0], "const")).filter_map(constant).collect()
}

/// Rows of the tables: line, limit, name. The third cell names a key or a constant.
fn rows(page: &str) -> impl Iterator<Item = (usize, &str, &str)> {
    page.lines().enumerate().filter_map(|(i, line)| {
        let mut cells = line.strip_prefix('|')?.split('|').map(str::trim).skip(1);
        let (limit, name) = (cells.next()?, cells.next()?);
        Some((i + 1, limit, name.strip_prefix('`')?.strip_suffix('`')?))
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

    /// Every key of [`NO_LIMIT`], so that none is unused.
    fn config(limit: &str) -> String {
        let mut sections: BTreeMap<&str, String> = BTreeMap::new();
        for name in NO_LIMIT {
            let (section, key) = name.split_once('.').unwrap_or((name, "any"));
            *sections.entry(section).or_default() += &format!("{key} = 1\n");
        }
        *sections.entry("fetch").or_default() += limit;
        sections.iter().map(|(section, keys)| format!("[{section}]\n{keys}")).collect()
    }

    fn complaints(code: &str, page: &str) -> Vec<String> {
        let config = config("max_body = \"2 MiB\"\n");
        let files = [
            ("crates/a/src/lib.rs", code),
            ("crates/mockweb/src/lib.rs", code),
            (CONFIG, &config),
            (PAGE, page),
        ];
        check(&Workspace::of(&files))
            .into_iter()
            .map(|c| c.text.split('`').nth(1).unwrap().to_owned())
            .collect()
    }

    #[test]
    fn limits_and_rows_are_compared_both_ways_with_their_values() {
        let code = "/// const MAX_SAID: u8 = 1;\npub const MAX_WAIT: Duration = Duration::from_secs(24 * 3600);\nconst LEAST: u8 = 1;";
        let good = "| what | limit | set by | why |\n|---|---|---|---|\n| x | 2 MiB | `fetch.max_body` | y |\n| x | 1 d | `a::MAX_WAIT` | y |\n";
        assert_eq!(complaints(code, good), [""; 0]);
        assert_eq!(complaints(code, &good.replace("1 d", "25 h")), ["a::MAX_WAIT"]);
        assert_eq!(complaints(code, &good.replace("2 MiB", "2 MB")), ["fetch.max_body"]);
        assert_eq!(complaints("", good), ["a::MAX_WAIT"]);
        assert_eq!(
            complaints(code, ""),
            ["a::MAX_WAIT", "fetch.max_body"].map(String::from).to_vec().as_slice()
        );
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
