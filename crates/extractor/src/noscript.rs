//! Reads the content of `noscript` elements.
//!
//! Where scripts run, the content is one text up to the next `</noscript>` (WHATWG HTML §13.2.6.4.4 and .7), so a tag that
//! is never closed in it changes nothing of the page around it. A browser without scripts shows the text as markup. It is
//! parsed as a fragment of its own and put into its element: its links lead to pages that visitors can reach.

use crate::sink::Handle;
use html5ever::{LocalName, local_name, ns};
use scraper::{Html, Node};

/// Work for all fragments of a page together. Contents behind it stay texts. Each byte costs a few steps.
const MAX_WORK: u64 = 1 << 24;
/// Nodes of all fragments of a page together, likewise: as many as any page may have. The last fragment may add as many.
const MAX_NODES: usize = 1 << 17;
/// Work for a fragment without content.
const LEAST_WORK: u64 = 1 << 10;

/// Parses the contents of a page, in the order of its elements.
#[derive(Default)]
pub(crate) struct NoscriptReader {
    work: u64,
    nodes: usize,
}

impl NoscriptReader {
    /// A tree with the content below its root; none if it has no markup, or if the page has spent its work. `parse` makes
    /// a tree of a fragment, and tells its work.
    pub(crate) fn read(&mut self, content: &str, parse: impl Fn(&str) -> (Html, u64)) -> Option<Html> {
        if self.work > MAX_WORK
            || self.nodes > MAX_NODES
            || memchr::memchr2(b'<', b'&', content.as_bytes()).is_none()
        {
            return None;
        }
        let (fragment, work) = parse(content);
        self.work += LEAST_WORK + work;
        self.nodes += fragment.tree.values().len();
        Some(fragment)
    }
}

/// Parses the contents in a tree, and returns the work.
pub(crate) fn expand(html: &mut Html, parse: impl Fn(&str) -> (Html, u64)) -> u64 {
    let is = |node: &Node, name: LocalName| {
        node.as_element().is_some_and(|element| element.name.local == name && element.name.ns == ns!(html))
    };
    let nodes = html.tree.nodes().filter(|node| is(node.value(), local_name!("noscript")));
    // No document has what stands in a template.
    let nodes = nodes.filter(|node| !node.ancestors().any(|up| is(up.value(), local_name!("template"))));
    let elements: Vec<Handle> = nodes.map(|node| node.id()).collect();
    let mut reader = NoscriptReader::default();
    for id in elements {
        let Some(element) = html.tree.get(id) else { continue };
        let texts: Vec<Handle> = element.children().map(|text| text.id()).collect();
        let content: String =
            element.children().filter_map(|text| text.value().as_text().map(|t| &**t)).collect();
        let Some(fragment) = reader.read(&content, &parse) else { continue };
        for text in texts {
            html.tree.get_mut(text).into_iter().for_each(|mut text| text.detach());
        }
        let root = html.tree.extend_tree(fragment.tree).id();
        html.tree.get_mut(id).into_iter().for_each(|mut element| element.reparent_from_id_append(root));
    }
    reader.work
}
