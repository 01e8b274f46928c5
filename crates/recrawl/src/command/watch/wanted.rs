//! The configuration that a watch wants: new tables, and changes of those that are there.

use super::additions::Additions;
use super::destination;
use super::revision::{KeyChange, Told, WrittenTables, revised};
use super::targets::{Targets, condition};
use crate::cli::WatchArgs;
use recrawl_crawl::admission::pattern::Pattern;
use recrawl_crawl::config::PagesTable;
use recrawl_crawl::config::units::Render;
use recrawl_crawl::data_dir::is_begun;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::settings::Settings;
use recrawl_notifications::ChangeKind;
use recrawl_types::{CanonicalUrl, Span};
use std::path::Path;
use toml::{Spanned, Value};

/// Interval of visits, unless another is asked for.
const EVERY: Span = Span::millis(3_600_000);

/// The rule in force of a page as the configuration has it, and whether it is of this page alone.
fn rule_of<'s>(now: &'s Settings, url: &CanonicalUrl) -> Option<(&'s PagesTable, bool)> {
    let rule = now.pages.rule_for(url)?;
    let table = now.config.pages.iter().find(|table| table.matches == rule.matches)?;
    let pattern = Pattern::parse(&table.matches, &now.rules);
    Some((table, pattern.is_ok_and(|pattern| pattern == Pattern::Page(url.clone()))))
}

/// A rule to add for a page, or changes of its own one. What the rule in force says of its text holds on.
enum WatchedRule {
    New(PagesTable),
    Changed(Vec<KeyChange>),
}

impl WatchedRule {
    fn wanted(args: &WatchArgs, now: &Settings, tables: &WrittenTables, url: &CanonicalUrl) -> WatchedRule {
        let wanted = args.every.unwrap_or(EVERY);
        let in_force = match rule_of(now, url) {
            Some((table, true)) => {
                let is_it =
                    |written: &Spanned<Value>| written.get_ref().as_str() == Some(table.matches.as_str());
                // One of the environment alone is of no table.
                let number = tables.pages.iter().position(|of| of.get("match").is_some_and(is_it));
                return WatchedRule::Changed(own_rule(args, table, number.unwrap_or(tables.pages.len())));
            }
            Some((table, false)) => table.clone(),
            None => PagesTable::default(),
        };
        WatchedRule::New(PagesTable {
            matches: Pattern::Page(url.clone()).to_string(),
            include: args.select.as_ref().map_or(in_force.include, |select| vec![select.clone()]),
            every: Some(wanted),
            render: if args.render { Render::Always } else { in_force.render },
            ..in_force
        })
    }
}

/// The changes of a page's own rule.
fn own_rule(args: &WatchArgs, table: &PagesTable, number: usize) -> Vec<KeyChange> {
    let edit = |key, name, now: Option<String>, then: &str, value| {
        let told = Told { name, now: now.unwrap_or_else(|| "none".into()), then: then.to_owned() };
        KeyChange { list: "pages", number, key, value, told }
    };
    let mut edits = Vec::new();
    if let Some(every) =
        args.every.or(table.every.is_none().then_some(EVERY)).filter(|of| Some(*of) != table.every)
    {
        let text = every.to_string();
        edits.push(edit(
            "every",
            "every",
            table.every.map(|now| now.to_string()),
            &text,
            text.clone().into(),
        ));
    }
    if let Some(select) = args.select.as_ref().filter(|of| table.include != [of.as_str()]) {
        let now = (!table.include.is_empty()).then(|| table.include.join(", "));
        edits.push(edit("include", "select", now, select, vec![select.clone()].into()));
    }
    if args.render && table.render != Render::Always {
        let now = if table.render == Render::Auto { "auto" } else { "no" };
        edits.push(edit("render", "render", Some(now.into()), "yes", true.into()));
    }
    edits
}

/// The configuration with the pages and whom to tell of them.
pub struct WatchConfig {
    /// None if it is as it was.
    pub text: Option<String>,
    /// Does a value change that it has?
    pub is_changed: bool,
    /// The values that change, and other targets that are told.
    pub told: Vec<String>,
}

/// `before` is the text of `file`, if there is one, which settings `now` are of.
///
/// # Errors
/// A mistake in the arguments, or the line that a person must change.
pub fn wanted(
    args: &WatchArgs,
    now: &Settings,
    urls: &[CanonicalUrl],
    before: Option<&str>,
    file: &Path,
) -> Result<WatchConfig, Failure> {
    let text = before.unwrap_or_default();
    let tables = WrittenTables::read(text);
    let (mut rules, mut edits) = (Vec::new(), Vec::new());
    for url in urls {
        match WatchedRule::wanted(args, now, &tables, url) {
            WatchedRule::New(rule) => rules.push(rule),
            WatchedRule::Changed(changes) => edits.extend(changes),
        }
    }
    let pages: Vec<String> = urls.iter().map(|url| Pattern::Page(url.clone()).to_string()).collect();
    let to = args.to.as_deref().map(destination::keys).transpose();
    let to = to.map_err(|e| Failure::Usage(format!("--to: {e}")))?;
    let targets = Targets { tables: &tables, text, file, pages: &pages };
    let (untold, conditions) = targets.changed(to.as_deref(), args.below)?;
    edits.extend(conditions);
    let mut told: Vec<String> = edits.iter().map(|edit| edit.told.to_string()).collect();
    let to = to.filter(|_| !untold.is_empty());
    let others = if to.is_some() { targets.names() } else { Vec::new() };
    told.extend(others.iter().map(|name| {
        format!("as before   the target {name:?} is told too; remove its [[notify]] to end that")
    }));
    let revised = revised(text, &edits).map_err(|(line, edit)| {
        let KeyChange { list, key, value, told: Told { now, .. }, .. } = edit;
        Failure::Usage(format!(
            "{}, line {line}: {key} is {now}, and this [[{list}]] has no line of its own for it: set `{key} = {value}` there, \
             then repeat this",
            file.display()
        ))
    })?;
    let is_changed = !edits.is_empty();
    if rules.is_empty() && to.is_none() {
        return Ok(WatchConfig { text: is_changed.then_some(revised), is_changed, told });
    }
    let changes = ChangeKind::OF_KNOWN.map(ChangeKind::name);
    let additions = Additions {
        rules: &rules,
        pages: &untold,
        is_first: !is_begun(&now.data_dir),
        changes: &changes,
        when: args.below.map(condition),
        to,
        host: &urls[0].host(),
    };
    if let Some(key) = additions.in_the_way(&revised) {
        return Err(Failure::Usage(format!(
            "the configuration has `{key} = [ … ]` on a line, where nothing can be added: write its entries as [[{key}]] \
             tables, then repeat this"
        )));
    }
    Ok(WatchConfig { text: Some(additions.to(before.map(|_| &*revised))), is_changed, told })
}
