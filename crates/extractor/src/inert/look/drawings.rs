//! Drawings (SVG) and formulas (MathML) of a page, written anew.
//!
//! Of each stay the elements that are named here, which run and load nothing and hold no HTML, so a browser reads them as they
//! were written. An attribute stays unless it acts; its value leads to the drawing itself, or has its data inline. A drawing
//! takes with it what its `use` elements and its paints name, elsewhere in the page or in another file.

use crate::html::{self, Attributes};
use crate::inert::escaped;
use crate::requisites::{CssTarget, scan};
use ego_tree::{NodeId, NodeRef};
use html5ever::{Namespace, ns};
use scraper::Html;
use scraper::node::{Element, Node};
use std::borrow::Borrow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

/// Elements of drawings that stay.
pub(super) const OF_SVG: &str = "a circle clipPath defs ellipse feBlend feColorMatrix feComponentTransfer feComposite \
    feConvolveMatrix feDiffuseLighting feDisplacementMap feDistantLight feDropShadow feFlood feFuncA \
    feFuncB feFuncG feFuncR feGaussianBlur feImage feMerge feMergeNode feMorphology feOffset \
    fePointLight feSpecularLighting feSpotLight feTile feTurbulence filter g image line linearGradient \
    marker mask path pattern polygon polyline radialGradient rect stop svg switch symbol text textPath \
    tspan use view";
/// Elements of formulas that stay.
pub(super) const OF_MATHML: &str = "math menclose merror mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow ms \
    mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover";
/// Attributes that lead somewhere, or mean something to the document around.
const NEVER: [&str; 16] = [
    "action",
    "autofocus",
    "background",
    "base",
    "cite",
    "data",
    "formaction",
    "is",
    "longdesc",
    "ping",
    "poster",
    "slot",
    "src",
    "srcdoc",
    "srcset",
    "tabindex",
];
/// Elements that one drawing takes from elsewhere.
const MAX_USED: usize = 32;
/// Bytes of a drawing.
const MAX_BYTES: usize = 1 << 20;
/// Bytes that an element or attribute counts as that is looked at and left out.
const LEFT_OUT: usize = 16;

/// Passes on what a drawing names.
pub(super) trait DrawingFiles {
    /// An image as a `data:` URL.
    fn image(&mut self, reference: &str) -> Option<String>;
    /// Another file.
    fn text(&mut self, reference: &str) -> Option<String>;
    /// A style without a reference that leads out of the document.
    fn style(&mut self, css: &str) -> String;
    /// Bytes for which there is room.
    fn room(&self) -> usize;
}

/// The drawings and formulas of a document that are not in another one.
pub(super) fn drawings(html: &Html) -> Vec<NodeId> {
    let is_drawn = |node: NodeRef<'_, Node>| node.value().as_element().is_some_and(is_drawn);
    let nodes = html.tree.root().descendants();
    nodes.filter(|node| is_drawn(*node) && !node.ancestors().any(is_drawn)).map(|node| node.id()).collect()
}

fn is_drawn(element: &Element) -> bool {
    is_of_svg(element) || element.name.ns == ns!(mathml)
}

fn is_of_svg(element: &Element) -> bool {
    element.name.ns == ns!(svg)
}

/// A document with its elements of drawings, by `id`.
pub(super) struct DrawnDocument<H> {
    html: H,
    ids: HashMap<String, NodeId>,
}

impl<H: Borrow<Html>> DrawnDocument<H> {
    pub(super) fn new(html: H) -> DrawnDocument<H> {
        let mut ids = HashMap::new();
        for node in html.borrow().tree.root().descendants() {
            let of_svg = node.value().as_element().filter(|element| is_of_svg(element));
            if let Some(id) = of_svg.and_then(Element::id) {
                ids.entry(id.to_owned()).or_insert(node.id());
            }
        }
        DrawnDocument { html, ids }
    }

    fn by_id(&self, id: &str) -> Option<NodeRef<'_, Node>> {
        self.html.borrow().tree.get(*self.ids.get(id)?)
    }
}

/// Other files that drawings take elements from, by reference.
pub(super) type Sprites = HashMap<String, Option<Rc<DrawnDocument<Html>>>>;

/// A drawing as markup, and the bytes that it counts as; none if it is too large.
pub(super) fn written(
    page: &DrawnDocument<&Html>,
    drawing: NodeId,
    sprites: &mut Sprites,
    files: &mut dyn DrawingFiles,
) -> Option<(String, usize)> {
    let node = page.html.tree.get(drawing)?;
    let element = node.value().as_element()?;
    let max_bytes = MAX_BYTES.min(files.room());
    let mut writer = DrawingWriter {
        files,
        space: element.name.ns.clone(),
        max_bytes,
        out: String::new(),
        left_out: 0,
        used: VecDeque::new(),
    };
    if !writer.is_kept(element) {
        return None;
    }
    writer.start(element);
    node.children().for_each(|child| writer.node(child));
    let of_drawing = node.descendants().filter_map(|node| node.value().as_element()?.id());
    let mut there: HashSet<String> = of_drawing.map(str::to_owned).collect();
    if !writer.used.is_empty() {
        writer.out.push_str("<defs>");
    }
    let has_definitions = !writer.used.is_empty();
    for _ in 0..MAX_USED {
        let Some((file, id)) = writer.used.pop_front() else { break };
        if !there.insert(id.clone()) {
            continue;
        }
        if file.is_empty() {
            page.by_id(&id).into_iter().for_each(|found| writer.node(found));
            continue;
        }
        let parsed = || {
            let (html, _) = html::parse(&writer.files.text(&file)?, Attributes::All);
            Some(Rc::new(DrawnDocument::new(html)))
        };
        if let Some(other) = sprites.entry(file.clone()).or_insert_with(parsed).clone() {
            other.by_id(&id).into_iter().for_each(|found| writer.node(found));
        }
    }
    if has_definitions {
        writer.out.push_str("</defs>");
    }
    writer.end(element);
    let bytes = writer.bytes();
    (bytes <= max_bytes).then_some((writer.out, bytes))
}

struct DrawingWriter<'f> {
    files: &'f mut dyn DrawingFiles,
    /// The namespace of all its elements.
    space: Namespace,
    max_bytes: usize,
    out: String,
    /// Elements and attributes that were looked at and left out.
    left_out: usize,
    /// File, or none for the page; and `id`.
    used: VecDeque<(String, String)>,
}

impl DrawingWriter<'_> {
    fn bytes(&self) -> usize {
        self.out.len() + LEFT_OUT * self.left_out
    }

    fn node(&mut self, node: NodeRef<'_, Node>) {
        match node.value() {
            // What is too large is thrown away at the end.
            _ if self.bytes() > self.max_bytes => {}
            Node::Text(text) => self.out.push_str(&escaped(text)),
            Node::Element(element) if self.is_kept(element) => {
                self.start(element);
                node.children().for_each(|child| self.node(child));
                self.end(element);
            }
            _ => self.left_out += 1,
        }
    }

    fn is_kept(&self, element: &Element) -> bool {
        let mut known = if self.space == ns!(svg) { OF_SVG } else { OF_MATHML }.split(' ');
        element.name.ns == self.space && known.any(|known| known == element.name())
    }

    fn start(&mut self, element: &Element) {
        self.out.extend(["<", element.name()]);
        let mut seen = HashSet::new();
        for (name, value) in &element.attrs {
            let name = &*name.local;
            let value = match name {
                "href" => self.target(element.name(), value),
                _ if value.contains('(') || name == "style" => Some(self.painted(value)),
                _ => Some(value.to_string()),
            };
            match value.filter(|_| is_harmless(name) && seen.insert(name)) {
                Some(value) => self.out.extend([" ", name, "=\"", &escaped(&value), "\""]),
                None => self.left_out += 1,
            }
        }
        self.out.push('>');
    }

    fn end(&mut self, element: &Element) {
        self.out.extend(["</", element.name(), ">"]);
    }

    /// A value that may name paints, filters and masks, as styles do.
    fn painted(&mut self, value: &str) -> String {
        scan(value, &mut |found| {
            if let CssTarget::Image(reference) = found.target {
                let id = reference.trim().strip_prefix('#').map(str::to_owned);
                self.used.extend(id.map(|id| (String::new(), id)));
            }
        });
        self.files.style(value)
    }

    /// Where a reference leads in a document.
    fn target(&mut self, element: &str, reference: &str) -> Option<String> {
        let reference = reference.trim();
        let is_drawing = self.space == ns!(svg);
        match (element, reference.split_once('#')) {
            _ if !is_drawing => None,
            ("image" | "feImage", _) if !reference.starts_with('#') => self.files.image(reference),
            (_, Some((file, id))) if element == "use" || file.is_empty() && element != "a" => {
                self.used.push_back((file.to_owned(), id.to_owned()));
                Some(format!("#{id}"))
            }
            _ => None,
        }
    }
}

/// Is it an attribute that says how something looks? Those with a colon belong to other namespaces.
fn is_harmless(name: &str) -> bool {
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    let acts = name.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("on"));
    let never = NEVER.iter().any(|never| name.eq_ignore_ascii_case(never));
    is_name && !acts && !never
}
