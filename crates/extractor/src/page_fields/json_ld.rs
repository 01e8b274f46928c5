//! The JSON-LD of a page, as pages write it.

use super::{FieldBudget, cut};
use scraper::{Html, Node};
use serde_json::Value;
use std::collections::HashMap;

/// Bytes of JSON-LD that are read of a page.
const MAX_JSON_LD: usize = 1 << 20;

/// The JSON-LD of a page. A script that is no JSON, or is nested deeper than serde_json reads (128), is left out.
pub(super) fn read(html: &Html) -> Vec<Value> {
    let (mut values, mut left) = (Vec::new(), MAX_JSON_LD);
    for node in html.tree.nodes() {
        let Node::Element(element) = node.value() else { continue };
        let kind = element.attr("type").unwrap_or_default().split(';').next().unwrap_or_default().trim();
        if element.name() != "script" || !kind.eq_ignore_ascii_case("application/ld+json") {
            continue;
        }
        let text: String =
            node.children().filter_map(|child| child.value().as_text().map(|text| &**text)).collect();
        let Some(rest) = left.checked_sub(text.len()) else { continue };
        left = rest;
        values.extend(serde_json::from_str::<Value>(&strict(uncommented(&text))));
    }
    values
}

/// A script without the marks of comments at both ends, and without separators behind it.
fn uncommented(mut text: &str) -> &str {
    const OPENING: [&str; 6] = ["<!--", "<![CDATA[", "//", "/*", "*/", "\u{feff}"];
    const CLOSING: [&str; 7] = ["-->", "]]>", "//", "/*", "*/", ";", ","];
    loop {
        text = text.trim();
        let opened = OPENING.iter().find_map(|mark| text.strip_prefix(mark));
        match opened.or_else(|| CLOSING.iter().find_map(|mark| text.strip_suffix(mark))) {
            Some(rest) => text = rest,
            None => return text,
        }
    }
}

/// The same as JSON: without comments and commas behind the last value, with spaces for line ends in texts. Numbers become
/// texts, so that 10.50 stays that.
fn strict(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '"' => {
                let length = text_length(rest);
                out.extend(rest[..length].chars().map(|c| if c.is_control() { ' ' } else { c }));
                length
            }
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest[2..].find("*/").map_or(rest.len(), |at| at + 4),
            '-' | '0'..='9' => {
                let is_number = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.');
                let length = rest.find(|c| !is_number(c)).unwrap_or(rest.len());
                out.extend(['"'].into_iter().chain(rest[..length].chars()).chain(['"']));
                length
            }
            ']' | '}' => {
                let end = out.trim_end();
                out.truncate(end.strip_suffix(',').unwrap_or(end).len());
                out.push(c);
                1
            }
            c => {
                out.push(c);
                c.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    out
}

/// Bytes of the text in quotation marks that begins here.
fn text_length(text: &str) -> usize {
    let mut is_escaped = true;
    let end = text.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 1)
}

/// The JSON-LD of a page with its nodes by their names: one may stand for another by that.
pub(super) struct LinkedData<'v> {
    values: &'v [Value],
    nodes: HashMap<&'v str, &'v Value>,
}

impl<'v> LinkedData<'v> {
    pub(super) fn new(values: &'v [Value]) -> LinkedData<'v> {
        let mut nodes = HashMap::new();
        for value in values.iter().flat_map(listed) {
            for node in std::iter::once(value).chain(value.get("@graph").into_iter().flat_map(listed)) {
                let is_more = node.as_object().is_some_and(|node| node.len() > 1);
                if let Some(id) = node.get("@id").and_then(Value::as_str).filter(|_| is_more) {
                    nodes.entry(id).or_insert(node);
                }
            }
        }
        LinkedData { values, nodes }
    }

    /// Collects the values at a path, at most so many.
    pub(super) fn find(
        &self,
        path: &[String],
        limit: usize,
        budget: &mut FieldBudget,
        found: &mut Vec<String>,
    ) {
        self.values.iter().for_each(|value| self.at_path(value, path, true, limit, budget, found));
    }

    /// A list on the way stands for its elements, and so does `@graph`. `follows`: a node without the field may stand for
    /// another one, which has it.
    fn at_path(
        &self,
        value: &'v Value,
        path: &[String],
        follows: bool,
        limit: usize,
        budget: &mut FieldBudget,
        found: &mut Vec<String>,
    ) {
        budget.scan(0);
        if found.len() >= limit || budget.is_spent() {
            return;
        }
        match value {
            Value::Array(values) => {
                values.iter().for_each(|value| self.at_path(value, path, follows, limit, budget, found));
            }
            Value::Object(object) => {
                let (name, rest) = match path.split_first() {
                    Some((name, rest)) => (&**name, rest),
                    None => ("@value", path),
                };
                if let Some(value) = object.get(name) {
                    self.at_path(value, rest, follows, limit, budget, found);
                } else if let Some(node) = self.named(value).filter(|_| follows) {
                    self.at_path(node, path, false, limit, budget, found);
                }
                if let Some(graph) = object.get("@graph").filter(|_| follows) {
                    self.at_path(graph, path, follows, limit, budget, found);
                }
            }
            _ if !path.is_empty() => {}
            Value::String(text) => {
                budget.scan(text.len());
                budget.take(cut(text.trim()), found);
            }
            Value::Number(_) | Value::Bool(_) => budget.take(value.to_string(), found),
            Value::Null => {}
        }
    }

    /// Another node with the name of this one.
    fn named(&self, value: &Value) -> Option<&'v Value> {
        let node = *self.nodes.get(value.get("@id")?.as_str()?)?;
        (!std::ptr::eq(node, value)).then_some(node)
    }
}

/// The elements of a list, or the one value.
fn listed(value: &Value) -> &[Value] {
    match value {
        Value::Array(values) => values,
        value => std::slice::from_ref(value),
    }
}
