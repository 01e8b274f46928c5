//! The style sheets of a document in the document itself: each import is replaced by the text that it names.

use super::{ArchivedRequisite, LookWriter};
use crate::RequisiteKind;
use crate::base::ReferenceResolver;
use crate::inert::escaped;
use crate::requisites::{CssTarget, rewrite, style_text};
use ego_tree::{NodeId, NodeRef};
use scraper::Html;
use scraper::node::{Element, Node};
use std::collections::HashMap;
use std::fmt::Write as _;

/// Style sheets in each other: one that imports itself ends here.
pub(super) const MAX_IMPORTS: usize = 8;
/// A reference that leads nowhere.
pub(super) const NOWHERE: &str = "url(\"data:,\")";

impl LookWriter<'_> {
    /// The style sheets of a document, in their order. Those of a shadow tree, which `roots` number, are for it alone.
    pub(super) fn styles(
        &mut self,
        html: &Html,
        roots: &HashMap<NodeId, usize>,
        resolver: &ReferenceResolver<'_>,
    ) -> String {
        let mut out = String::new();
        for node in html.tree.root().descendants() {
            let Node::Element(element) = node.value() else { continue };
            let is_of_template = |above: NodeRef<'_, Node>| {
                above.value().as_element().is_some_and(|element| element.name() == "template")
            };
            let text = match element.name() {
                "style" | "link" if node.ancestors().any(is_of_template) => None,
                "style" => {
                    let text = node.children().filter_map(|child| child.value().as_text());
                    let text: String = text.map(|text| &**text).collect();
                    self.take(text.len()).then(|| self.rewritten(&text, resolver, 0))
                }
                "link" if is_style_sheet(element) => {
                    element.attr("href").and_then(|reference| self.sheet(reference, resolver, 0))
                }
                _ => None,
            };
            let root = node.ancestors().find_map(|above| roots.get(&above.id()));
            let text = text.map(|text| match root {
                Some(root) => format!("@scope ([data-shadow=\"{root}\"]) to ([data-slot]) {{{text}\n}}"),
                None => text,
            });
            // Imported text may end within a string or a comment, so that what stood in one loads something.
            if let Some(text) = text.map(|text| rewrite(&text, &mut only_inline)) {
                let media = element.attr("media").map(|media| format!(" media=\"{}\"", escaped(media)));
                let _ = writeln!(out, "<style{}>{text}</style>", media.unwrap_or_default());
            }
        }
        out
    }

    /// The text of a style sheet, with those that it imports.
    fn sheet(&mut self, reference: &str, resolver: &ReferenceResolver<'_>, depth: usize) -> Option<String> {
        let ArchivedRequisite { url, content_type, body } =
            self.get(reference, resolver, RequisiteKind::Style)?;
        let text = style_text(&body, content_type.as_deref(), &url);
        if !self.take(text.len()) {
            return None;
        }
        let rules = self.rules;
        Some(self.rewritten(&text, &ReferenceResolver::new(&url, None, rules), depth))
    }

    pub(super) fn rewritten(&mut self, css: &str, resolver: &ReferenceResolver<'_>, depth: usize) -> String {
        rewrite(css, &mut |target| match target {
            CssTarget::Import { reference, conditions } if depth < MAX_IMPORTS => {
                let sheet = self.sheet(&reference, resolver, depth + 1);
                sheet.map(|text| under(conditions, text)).unwrap_or_default()
            }
            CssTarget::Import { .. } | CssTarget::Nothing => String::new(),
            CssTarget::Font(reference) => self.data_url(&reference, resolver, RequisiteKind::Font),
            CssTarget::Image(reference) => self.data_url(&reference, resolver, RequisiteKind::Image),
            target @ (CssTarget::Link | CssTarget::Href) => of_links(&target).to_owned(),
        })
    }
}

/// A reference of a finished style sheet: to its own data, or a part of the document.
fn only_inline(target: CssTarget<'_>) -> String {
    match target {
        CssTarget::Font(reference) | CssTarget::Image(reference)
            if reference.starts_with("data:") || reference.starts_with('#') =>
        {
            format!("url(\"{}\")", css_string(&reference))
        }
        CssTarget::Font(_) | CssTarget::Image(_) => NOWHERE.into(),
        CssTarget::Link | CssTarget::Href => of_links(&target).to_owned(),
        CssTarget::Import { .. } | CssTarget::Nothing => String::new(),
    }
}

/// A selector of links for those of the view: they have no target, but a title that tells it. It is as specific.
fn of_links(target: &CssTarget<'_>) -> &'static str {
    match target {
        CssTarget::Link => ":where(a)[title]",
        _ => "title",
    }
}

/// Is it a style sheet that is on from the start?
fn is_style_sheet(element: &Element) -> bool {
    let rel = element.attr("rel").unwrap_or_default().to_ascii_lowercase();
    let has = |name: &str| rel.split_ascii_whitespace().any(|token| token == name);
    has("stylesheet") && !has("alternate") && element.attr("disabled").is_none()
}

/// A text in a string of CSS.
pub(super) fn css_string(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\a ")
        .replace('\r', "\\d ")
        .replace('\x0c', "\\c ")
}

/// An imported style sheet under the conditions of its rule: a layer, what must be supported, media.
fn under(conditions: &str, text: String) -> String {
    let (mut rest, mut layer, mut supported) = (conditions, None, None);
    if let Some(behind) = strip_name(rest, "layer") {
        let (name, after) = parenthesised(behind).unwrap_or(("", behind));
        (layer, rest) = (Some(name), after.trim_start());
    }
    if let Some((condition, after)) = strip_name(rest, "supports").and_then(parenthesised) {
        (supported, rest) = (Some(condition), after.trim_start());
    }
    let mut text = if rest.is_empty() { text } else { format!("@media {rest} {{{text}\n}}") };
    if let Some(condition) = supported {
        text = format!("@supports ({condition}) {{{text}\n}}");
    }
    if let Some(name) = layer {
        text = format!("@layer {name} {{{text}\n}}");
    }
    text
}

/// The text behind a word, which ends there.
fn strip_name<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let start = text.get(..name.len()).filter(|start| start.eq_ignore_ascii_case(name))?;
    let rest = &text[start.len()..];
    let ends = rest.chars().next().is_none_or(|next| next.is_ascii_whitespace() || next == '(');
    ends.then_some(rest)
}

/// The text in the parentheses that it begins with, and what stands behind them.
fn parenthesised(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix('(')?;
    let mut depth = 1;
    for (at, byte) in inner.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((&inner[..at], &inner[at + 1..]));
        }
    }
    None
}
