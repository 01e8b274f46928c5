//! Declarative shadow trees: `<template shadowrootmode>` in an element that may have one.
//!
//! The parser puts a shadow tree before the other children of its host, in an element [`ROOT`] that no page can write. So
//! selectors find what is in it, also from outside (`my-card .price`). [`flatten`] then makes the tree that a browser shows:
//! a slot has the children of the host that ask for it, or else its own content. Children without a slot are not shown, but
//! their links count, as in other hidden parts.

use crate::sink::Handle;
use ego_tree::Tree;
use html5ever::{LocalName, QualName, local_name, ns};
use scraper::{Html, Node};
use std::collections::HashMap;

/// The name of the element that holds a shadow tree.
const ROOT: &str = "#shadow-root";
/// The name of the element that holds what no slot shows.
const UNASSIGNED: &str = "#unassigned";

/// Hyphenated names of SVG and MathML, which are no custom elements.
const RESERVED: [&str; 8] = [
    "annotation-xml",
    "color-profile",
    "font-face",
    "font-face-format",
    "font-face-name",
    "font-face-src",
    "font-face-uri",
    "missing-glyph",
];

/// May an element have a shadow tree (DOM Standard, valid shadow host name)?
pub(crate) fn may_host(name: &QualName) -> bool {
    let local = &*name.local;
    let is_custom = local.starts_with(|first: char| first.is_ascii_lowercase()) && local.contains('-');
    let is_known = matches!(
        name.local,
        local_name!("article")
            | local_name!("aside")
            | local_name!("blockquote")
            | local_name!("body")
            | local_name!("div")
            | local_name!("footer")
            | local_name!("h1")
            | local_name!("h2")
            | local_name!("h3")
            | local_name!("h4")
            | local_name!("h5")
            | local_name!("h6")
            | local_name!("header")
            | local_name!("main")
            | local_name!("nav")
            | local_name!("p")
            | local_name!("section")
            | local_name!("span")
    );
    name.ns == ns!(html) && (is_known || is_custom && !RESERVED.contains(&local))
}

/// Puts the content of a template into its host, as a shadow tree.
pub(crate) fn place(tree: &mut Tree<Node>, host: Handle, template: Handle) {
    rename(tree, template, ROOT);
    let Some(mut root) = tree.get_mut(template) else { return };
    if let Some(content) = root.first_child().map(|content| content.id()) {
        root.reparent_from_id_append(content);
        tree.get_mut(content).into_iter().for_each(|mut content| content.detach());
    }
    tree.get_mut(host).into_iter().for_each(|mut host| _ = host.prepend_id(template));
}

/// Is this the name of an element that holds a shadow tree?
pub(crate) fn is_root(name: &QualName) -> bool {
    &*name.local == ROOT
}

/// Gives each slot of the shadow trees what a browser shows there.
pub(crate) fn flatten(html: &mut Html) {
    let is_root = |node: &Node| node.as_element().is_some_and(|element| is_root(&element.name));
    // A tree comes before those in it, and its slots are looked for before anything is put into it.
    let roots: Vec<Handle> =
        html.tree.nodes().filter(|node| is_root(node.value())).map(|node| node.id()).collect();
    roots.into_iter().for_each(|root| assign(&mut html.tree, root));
}

/// Puts the children of a host into the slots of its shadow tree.
fn assign(tree: &mut Tree<Node>, root: Handle) {
    let Some(host) = tree.get(root).and_then(|root| root.parent()).map(|host| host.id()) else { return };
    let slots = slots(tree, root);
    let mut unassigned = Vec::new();
    let mut assigned: Vec<(Handle, Handle)> = Vec::new();
    for child in
        tree.get(host).into_iter().flat_map(|host| host.children()).filter(|child| child.id() != root)
    {
        let name = match child.value() {
            Node::Text(_) => "",
            Node::Element(element) => element.attr("slot").unwrap_or(""),
            _ => continue,
        };
        match slots.get(name) {
            Some(slot) => assigned.push((*slot, child.id())),
            None => unassigned.push(child.id()),
        }
    }
    set_aside(tree, host, &unassigned);
    let mut filled = std::collections::HashSet::new();
    for (slot, child) in assigned {
        if filled.insert(slot) {
            let own: Vec<Handle> =
                tree.get(slot).into_iter().flat_map(|slot| slot.children()).map(|own| own.id()).collect();
            set_aside(tree, slot, &own);
        }
        tree.get_mut(slot).into_iter().for_each(|mut slot| _ = slot.append_id(child));
    }
}

/// The slots of a shadow tree, by name: the first of a name counts. What is outside, such as the page's title, has no
/// meaning in it.
fn slots(tree: &mut Tree<Node>, root: Handle) -> HashMap<String, Handle> {
    let mut slots = HashMap::new();
    let mut documents = Vec::new();
    let mut open = vec![root];
    while let Some(node) = open.pop().and_then(|id| tree.get(id)) {
        if let Some(element) = node.value().as_element().filter(|element| element.name.ns == ns!(html)) {
            match element.name.local {
                local_name!("slot") => {
                    slots.entry(element.attr("name").unwrap_or("").to_owned()).or_insert(node.id());
                }
                local_name!("base") | local_name!("title") => documents.push(node.id()),
                _ if is_root(&element.name) && node.id() != root => continue,
                _ => {}
            }
        }
        open.extend(node.children().rev().map(|child| child.id()));
    }
    documents.into_iter().for_each(|id| rename(tree, id, UNASSIGNED));
    slots
}

/// Hides nodes at the end of their parent.
fn set_aside(tree: &mut Tree<Node>, parent: Handle, nodes: &[Handle]) {
    if nodes.is_empty() {
        return;
    }
    let name = QualName::new(None, ns!(html), LocalName::from(UNASSIGNED));
    let Some(mut parent) = tree.get_mut(parent) else { return };
    let mut aside = parent.append(Node::Element(scraper::node::Element::new(name, Vec::new())));
    nodes.iter().for_each(|node| _ = aside.append_id(*node));
}

fn rename(tree: &mut Tree<Node>, id: Handle, name: &str) {
    if let Some(mut node) = tree.get_mut(id)
        && let Node::Element(element) = node.value()
    {
        element.name = QualName::new(None, ns!(html), LocalName::from(name));
    }
}
