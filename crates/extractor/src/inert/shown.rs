//! Makes a page what its readers saw: without all that was hidden (module `text`), with the documents in its frames, the
//! labels of its buttons, and the texts of its drawings and formulas.
//!
//! Elements of drawings and formulas become plain ones, since no other stays in an inert document.

use super::rename;
use crate::element::{Element, ElementSpace};
use crate::html::{self, Attributes};
use crate::names::{Attr, Name};
use crate::sink::Handle;
use crate::text::{ElementParts, ShownText, TextEffect, effect, label};
use crate::walk::{MAX_EMBEDDED, MAX_NESTED};
use ego_tree::iter::Edge;
use html5ever::{LocalName, QualName, local_name, ns};
use scraper::node::{self, Text};
use scraper::{Html, Node};

/// The way in which a page is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShownAs {
    /// Its texts, with those of its frames, drawings and fields.
    Text,
    /// Its elements. Frames, drawings and players are still there, but empty.
    Look,
}

/// A change of the tree.
enum TreeChange {
    Remove,
    /// Its content is for browsers that do not show such elements.
    Empty,
    /// A text in the place of an element.
    Write(String),
    /// An element of a drawing or formula is a plain one, with a text before it.
    Flatten(LocalName, Option<&'static str>),
    /// A document in the place of a frame.
    Embed(ShownText, String),
}

/// Keeps of a page what its readers saw. It is as harmful as before.
pub(super) fn keep_shown(html: &mut Html, shown_as: ShownAs) {
    keep(html, shown_as, ShownText::default(), 0, &mut 0);
}

/// The same for a document in others.
fn keep(html: &mut Html, shown_as: ShownAs, around: ShownText, nested: usize, embedded: &mut usize) {
    for (handle, change) in changes(html, shown_as, around) {
        let mut inner = None;
        if let TreeChange::Embed(shown, document) = &change
            && nested < MAX_NESTED
            && *embedded < MAX_EMBEDDED
        {
            *embedded += 1;
            let (mut document, _) = html::parse(document, Attributes::All);
            keep(&mut document, shown_as, shown.in_document(), nested + 1, embedded);
            let elements = document.tree.values_mut();
            elements.filter_map(as_element).for_each(|element| rename(&mut element.name));
            inner = Some(html.tree.extend_tree(document.tree).id());
        }
        let Some(mut node) = html.tree.get_mut(handle) else { continue };
        match change {
            TreeChange::Remove => node.detach(),
            TreeChange::Empty => {
                while let Some(mut child) = node.first_child() {
                    child.detach();
                }
            }
            TreeChange::Write(text) => *node.value() = Node::Text(Text { text: text.into() }),
            TreeChange::Flatten(name, before) => {
                if let Some(text) = before {
                    node.insert_before(Node::Text(Text { text: text.into() }));
                }
                flatten(node.value(), name);
            }
            TreeChange::Embed(..) => {
                flatten(node.value(), local_name!("div"));
                inner.into_iter().for_each(|inner| node.reparent_from_id_append(inner));
            }
        }
    }
}

/// Finds the changes, in the order of the page.
fn changes(html: &Html, shown_as: ShownAs, around: ShownText) -> Vec<(Handle, TreeChange)> {
    let mut changes = Vec::new();
    let mut open = vec![ShownElement { shown: around, parts: ElementParts::default() }];
    // Elements that are open in one that is removed, and it.
    let mut removed = 0;
    for edge in html.tree.root().traverse() {
        match edge {
            Edge::Open(node) if removed > 0 => removed += usize::from(node.value().is_element()),
            Edge::Open(node) => match (node.value(), open.last_mut()) {
                (Node::Element(element), Some(around)) => {
                    let (inside, change) = around.enter(&Element::of_node(element), shown_as);
                    match change {
                        Some(TreeChange::Remove | TreeChange::Empty) => removed = 1,
                        _ => open.push(inside),
                    }
                    changes.extend(change.map(|change| (node.id(), change)));
                }
                (Node::Text(_), Some(around)) if !around.shown.is_seen() => {
                    changes.push((node.id(), TreeChange::Remove));
                }
                _ => {}
            },
            Edge::Close(node) if !node.value().is_element() => {}
            Edge::Close(_) if removed > 0 => removed -= 1,
            Edge::Close(_) => _ = open.pop(),
        }
    }
    changes
}

/// An open element.
struct ShownElement {
    /// How its texts are shown.
    shown: ShownText,
    parts: ElementParts,
}

impl ShownElement {
    /// Opens an element in it, which is changed or not.
    fn enter(&mut self, element: &Element<'_>, shown_as: ShownAs) -> (ShownElement, Option<TreeChange>) {
        let is_box = shown_as == ShownAs::Look && is_box(element);
        let mut effect = match element.name {
            // Nothing that is looked at here runs scripts or shows objects: those that are images have become one.
            Name::Noscript | Name::Object if element.space == ElementSpace::Html => TextEffect::default(),
            _ if is_box => effect(
                &Element { name: Name::Span, attributes: element.attributes.clone(), ..*element },
                false,
            ),
            _ => effect(element, false),
        };
        let sign = self.parts.meet(&mut effect);
        let shown = self.shown.within(&effect);
        let is_image = element.is(Name::Img) || element.is(Name::Input);
        let document = element.get(Attr::Srcdoc).filter(|_| element.is(Name::Iframe));
        let label = label(element).filter(|_| shown_as == ShownAs::Text);
        let change = match label {
            _ if effect.hides || is_image && !shown.is_seen() => Some(TreeChange::Remove),
            _ if is_box => Some(TreeChange::Empty),
            Some(label) => Some(TreeChange::Write(format!(" {label} "))),
            None if element.space != ElementSpace::Html => {
                Some(TreeChange::Flatten(plain_name(element, &effect), sign))
            }
            None => document.map(|document| TreeChange::Embed(shown, document.to_string())),
        };
        // The other content of a frame is for browsers without frames.
        let hides = TextEffect { hides: document.is_some(), ..TextEffect::default() };
        (ShownElement { shown: shown.within(&hides), parts: effect.parts }, change)
    }
}

/// Does a browser show something else in the place of its content?
fn is_box(element: &Element<'_>) -> bool {
    let boxes = [Name::Iframe, Name::Canvas, Name::Video, Name::Audio, Name::Progress, Name::Meter];
    element.space == ElementSpace::Html && boxes.contains(&element.name)
}

/// The name of a plain element for one of a drawing or formula.
fn plain_name(element: &Element<'_>, effect: &TextEffect) -> LocalName {
    match element.name {
        Name::A => local_name!("a"),
        Name::Text | Name::ForeignObject | Name::Mtr | Name::Mlabeledtr => local_name!("div"),
        _ if effect.is_above == Some(true) => local_name!("sup"),
        _ if effect.is_above == Some(false) => local_name!("sub"),
        _ => local_name!("span"),
    }
}

/// Gives an element another name. Of its attributes only the target of a link stays.
fn flatten(node: &mut Node, name: LocalName) {
    let Some(element) = as_element(node) else { return };
    let is_link = name == local_name!("a");
    element.name = QualName::new(None, ns!(html), name);
    element.attrs.retain(|(name, _)| is_link && name.local == local_name!("href"));
    element.attrs.truncate(1);
    element.attrs.iter_mut().for_each(|(name, _)| *name = QualName::new(None, ns!(), local_name!("href")));
}

fn as_element(node: &mut Node) -> Option<&mut node::Element> {
    match node {
        Node::Element(element) => Some(element),
        _ => None,
    }
}
