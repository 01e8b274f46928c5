//! Drawings in a page (SVG) as images. A browser runs and loads nothing in an image, so a drawing needs no cleaning.
//!
//! Each is written as XML with all that it needs: images as `data:` URLs, and what its `use` elements name, in the page or
//! in another file. Style sheets of the page reach its box alone.

use crate::html::{self, Attributes};
use data_encoding::BASE64;
use ego_tree::{NodeId, NodeRef};
use html5ever::ns;
use scraper::node::{Element, Node};
use scraper::{ElementRef, Html};
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

/// Elements that mean nothing in an image.
const LEFT_OUT: [&str; 2] = ["foreignObject", "script"];
/// Elements that one drawing takes from elsewhere.
const MAX_USED: usize = 32;
/// Bytes of a drawing.
const MAX_BYTES: usize = 1 << 20;

/// Passes on what a drawing names: an image as a `data:` URL, or another file as text.
pub(super) trait DrawingFiles {
    fn image(&mut self, reference: &str) -> Option<String>;
    fn text(&mut self, reference: &str) -> Option<String>;
}

/// The drawings of a document that are not in another one.
pub(super) fn drawings(html: &Html) -> Vec<NodeId> {
    let is_svg = |node: NodeRef<'_, Node>| node.value().as_element().is_some_and(is_of_svg);
    let nodes = html.tree.root().descendants();
    nodes.filter(|node| is_svg(*node) && !node.parent().is_some_and(is_svg)).map(|node| node.id()).collect()
}

fn is_of_svg(element: &Element) -> bool {
    element.name.ns == ns!(svg)
}

/// Other files that drawings take elements from, by reference.
pub(super) type Sprites = HashMap<String, Option<Rc<Html>>>;

/// A drawing as a `data:` URL; none if it is too large.
pub(super) fn image(
    html: &Html,
    drawing: NodeId,
    sprites: &mut Sprites,
    files: &mut dyn DrawingFiles,
) -> Option<String> {
    let node = html.tree.get(drawing)?;
    let mut writer = DrawingWriter { files, out: String::new(), used: VecDeque::new() };
    writer.start(node.value().as_element()?, " xmlns=\"http://www.w3.org/2000/svg\"");
    node.children().for_each(|child| writer.node(child));
    let of_drawing = node.descendants().filter_map(|node| node.value().as_element()?.id());
    let mut there: HashSet<String> = of_drawing.map(str::to_owned).collect();
    writer.out.push_str("<defs>");
    for _ in 0..MAX_USED {
        let Some((file, id)) = writer.used.pop_front() else { break };
        if !there.insert(id.clone()) {
            continue;
        }
        let other = (!file.is_empty()).then(|| {
            let parsed = || Some(Rc::new(html::parse(&writer.files.text(&file)?, Attributes::All).0));
            sprites.entry(file.clone()).or_insert_with(parsed).clone()
        });
        match other {
            None => writer.by_id(html, &id),
            Some(other) => other.iter().for_each(|other| writer.by_id(other, &id)),
        }
    }
    writer.out.push_str("</defs></svg>");
    let is_small = writer.out.len() <= MAX_BYTES;
    is_small.then(|| format!("data:image/svg+xml;base64,{}", BASE64.encode(writer.out.as_bytes())))
}

struct DrawingWriter<'f> {
    files: &'f mut dyn DrawingFiles,
    out: String,
    /// File, or none for the page; and `id`.
    used: VecDeque<(String, String)>,
}

impl DrawingWriter<'_> {
    fn by_id(&mut self, html: &Html, id: &str) {
        let elements = html.tree.root().descendants().filter_map(ElementRef::wrap);
        let mut found =
            elements.filter(|element| is_of_svg(element.value()) && element.value().id() == Some(id));
        if let Some(found) = found.next() {
            self.node(*found);
        }
    }

    fn node(&mut self, node: NodeRef<'_, Node>) {
        match node.value() {
            Node::Text(text) => self.text(text),
            // What is too large is thrown away at the end.
            Node::Element(element) if is_kept(element) && self.out.len() <= MAX_BYTES => {
                self.start(element, "");
                node.children().for_each(|child| self.node(child));
                self.out.extend(["</", element.name(), ">"]);
            }
            _ => {}
        }
    }

    fn start(&mut self, element: &Element, namespace: &str) {
        self.out.extend(["<", element.name(), namespace]);
        let mut seen = HashSet::new();
        for (name, value) in &element.attrs {
            let name = &*name.local;
            let value = match name {
                "href" => self.target(element.name(), value),
                _ => Some(value.to_string()),
            };
            if let Some(value) = value.filter(|_| is_name(name) && name != "xmlns" && seen.insert(name)) {
                self.out.extend([" ", name, "=\""]);
                self.text(&value);
                self.out.push('"');
            }
        }
        self.out.push('>');
    }

    /// Where a reference leads in an image.
    fn target(&mut self, element: &str, reference: &str) -> Option<String> {
        let reference = reference.trim();
        match (element, reference.split_once('#')) {
            ("image" | "feImage", _) if !reference.starts_with('#') => self.files.image(reference),
            (_, Some((file, id))) if element == "use" || file.is_empty() => {
                self.used.push_back((file.to_owned(), id.to_owned()));
                Some(format!("#{id}"))
            }
            _ => None,
        }
    }

    /// A text, without characters that XML does not have.
    fn text(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '&' => self.out.push_str("&amp;"),
                '<' => self.out.push_str("&lt;"),
                '"' => self.out.push_str("&quot;"),
                '\t' | '\n' | ' '..='\u{FFFD}' | '\u{10000}'.. => self.out.push(character),
                _ => {}
            }
        }
    }
}

fn is_kept(element: &Element) -> bool {
    is_of_svg(element) && !LEFT_OUT.contains(&element.name()) && is_name(element.name())
}

/// Is it a name in XML? A page can write others.
fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}
