//! What selectors cost on a page, before they are applied.

use ego_tree::NodeRef;
use ego_tree::iter::Edge;
use scraper::{Html, Node};

/// Attributes that are passed over in a step.
const ATTRIBUTES_A_STEP: u64 = 8;

/// What a list of selectors may ask of an element.
#[derive(Clone, Debug, Default)]
pub(super) struct Cost {
    /// Number of selectors.
    selectors: u64,
    /// Of these, the selectors that may ask all siblings of an element.
    of_siblings: u64,
    /// For each selector in a selector that may itself ask ancestors or siblings, how deep it is nested.
    nested: Vec<u32>,
    /// Attributes whose values are searched, once for each search.
    searches: Vec<Search>,
}

/// A search in the value of an attribute.
#[derive(Clone, Debug)]
struct Search {
    attribute: String,
    /// Bytes of a value for each step.
    bytes_a_step: u64,
}

impl Cost {
    /// Of entries that were found to be selectors.
    pub(super) fn of<'a>(entries: impl Iterator<Item = &'a String>) -> Cost {
        let mut cost = Cost::default();
        for entry in entries {
            // A comma begins another selector.
            let count = 1 + entry.matches(',').count() as u64;
            let lower = entry.to_ascii_lowercase();
            cost.selectors += count;
            // `~=` compares an attribute.
            if lower.replace("~=", "").contains('~') || lower.contains("-of-type") {
                cost.of_siblings += count;
            }
            cost.nested.extend(nested(&lower));
            cost.searches.extend(lower.split('[').skip(1).filter_map(Search::of));
        }
        cost
    }

    /// The steps that the selectors need at most, counted until they are more than `most`. A descendant selector
    /// asks each ancestor; `~` and `:nth-of-type` ask each sibling, also of an ancestor.
    pub(super) fn steps(&self, html: &Html, most: u64) -> u64 {
        let mut steps = 0u64;
        // Steps of the open elements, and of all children of each node around them.
        let (mut of_line, mut of_levels) = (0u64, 0u64);
        // A frameset takes the body out of the document, but selectors still ask it.
        for edge in html.tree.nodes().filter(|node| node.parent().is_none()).flat_map(|root| root.traverse())
        {
            let (Edge::Open(node) | Edge::Close(node)) = edge;
            let (own, children) = (self.of_node(node.value()), self.of_children(node));
            if let Edge::Open(_) = edge {
                of_line += own;
                if own > 0 {
                    let asked = of_line + of_levels;
                    let again = |depth: &u32| (asked / self.selectors).saturating_pow(depth + 1);
                    steps = self.nested.iter().map(again).fold(steps + asked, u64::saturating_add);
                }
                of_levels += children;
            } else {
                (of_line, of_levels) = (of_line - own, of_levels - children);
            }
            if steps > most {
                break;
            }
        }
        steps
    }

    /// The steps that all selectors take to ask an element about itself.
    fn of_node(&self, node: &Node) -> u64 {
        let Node::Element(element) = node else { return 0 };
        let attributes = element.attrs.len() as u64;
        let of_search = |search: &Search| {
            let value = element.attr(&search.attribute).map_or(0, str::len) as u64;
            value / search.bytes_a_step
        };
        self.selectors * (1 + attributes / ATTRIBUTES_A_STEP)
            + self.searches.iter().map(of_search).sum::<u64>()
    }

    /// The steps to ask all children of a node.
    fn of_children(&self, node: NodeRef<'_, Node>) -> u64 {
        if self.of_siblings == 0 {
            return 0;
        }
        let all: u64 = node.children().map(|child| self.of_node(child.value())).sum();
        all.div_ceil(self.selectors) * self.of_siblings
    }
}

/// How deep each selector with a combinator is nested in other selectors: `:not(.a .b)` and `:is(p > :not(.a .b))` ask
/// around each element that is asked about.
fn nested(entry: &str) -> impl Iterator<Item = u32> {
    let mut depths = Vec::new();
    // Whether an argument is a list of selectors, and where its text begins.
    let mut open: Vec<(bool, usize)> = Vec::new();
    for (at, byte) in entry.bytes().enumerate() {
        match byte {
            b'(' => {
                let holds_selectors =
                    ["is", "where", "not"].iter().any(|name| entry[..at].ends_with(&format!(":{name}")));
                open.push((holds_selectors, at + 1));
            }
            b')' => {
                let depth = open.iter().filter(|(holds_selectors, _)| *holds_selectors).count() as u32;
                let Some((true, begin)) = open.pop() else { continue };
                let asks_around = |selector: &str| selector.trim().contains([' ', '>', '+', '~']);
                if entry[begin..at].split(',').any(asks_around) {
                    depths.push(depth);
                }
            }
            _ => {}
        }
    }
    depths.into_iter()
}

impl Search {
    /// Of the text behind a `[`, in lower case; none if the value is at most compared.
    fn of(text: &str) -> Option<Search> {
        let text = text.split(']').next().unwrap_or(text);
        let (name, value) = text.split_once('=')?;
        let is_folded =
            value.trim_end().strip_suffix('i').is_some_and(|rest| rest.ends_with([' ', '"', '\'']));
        let bytes_a_step = match name.trim_end().chars().next_back()? {
            '~' => 2,
            '*' if is_folded => 2,
            '*' => 8,
            _ => return None,
        };
        let name = name.trim_end().trim_end_matches(['~', '*']).trim();
        let attribute = name.rsplit('|').next().unwrap_or(name).to_owned();
        Some(Search { attribute, bytes_a_step })
    }
}
