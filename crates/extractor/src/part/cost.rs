//! What selectors cost on a page, before they are applied.

use ego_tree::NodeRef;
use ego_tree::iter::Edge;
use scraper::{Html, Node};

/// Attributes that are passed over in a step.
const ATTRIBUTES_A_STEP: u64 = 8;

/// What a list of selectors may ask of an element.
#[derive(Clone, Debug, Default)]
pub(crate) struct SelectorCost {
    /// Number of selectors.
    selectors: u64,
    /// Of these, the selectors that may ask all siblings of an element.
    of_siblings: u64,
    /// Of these, the selectors that may ask all siblings of each ancestor.
    of_levels: u64,
    /// For each selector in a selector that may itself ask ancestors, how deep it is nested, and whether it may ask
    /// siblings.
    nested: Vec<(u32, bool)>,
    /// Attributes whose values are searched, once for each search.
    searches: Vec<ValueSearch>,
}

/// A search in the value of an attribute.
#[derive(Clone, Debug)]
struct ValueSearch {
    attribute: String,
    /// Bytes of a value for each step.
    bytes_a_step: u64,
}

impl SelectorCost {
    /// Of entries that were found to be selectors.
    pub(crate) fn estimate<'a>(entries: impl Iterator<Item = &'a String>) -> SelectorCost {
        let mut cost = SelectorCost::default();
        for entry in entries {
            let entry = compact(entry);
            // A comma begins another selector.
            let count = 1 + entry.matches(',').count() as u64;
            cost.selectors += count;
            // `~=` compares an attribute.
            let combinators = entry.replace("~=", "=");
            let sibling = combinators.find('~').or(combinators.find("-of-type"));
            if let Some(at) = sibling {
                cost.of_siblings += count;
                cost.of_levels += if combinators[at..].contains([' ', '>']) { count } else { 0 };
            }
            cost.nested.extend(nested(&combinators).map(|depth| (depth, sibling.is_some())));
            cost.searches.extend(entry.split('[').skip(1).filter_map(ValueSearch::parse));
        }
        cost
    }

    /// The steps that the selectors need at most, counted until they are more than `most`. A descendant selector
    /// asks each ancestor; `~` and `:nth-of-type` ask each sibling, and `a ~ b c` those of each ancestor.
    pub(crate) fn steps(&self, html: &Html, most: u64) -> u64 {
        let mut steps = 0u64;
        // Steps to ask the open elements, and the children of each node around them.
        let mut of_line = 0u64;
        let mut levels: Vec<u64> = Vec::new();
        let mut of_levels = 0u64;
        // A frameset takes the body out of the document, but selectors still ask it.
        for edge in html.tree.nodes().filter(|node| node.parent().is_none()).flat_map(|root| root.traverse())
        {
            match edge {
                Edge::Open(node) => {
                    let own = self.of_node(node.value());
                    of_line += own;
                    if own > 0 {
                        let of_level = levels.last().copied().unwrap_or(0);
                        let again = |(depth, asks_siblings): &(u32, bool)| {
                            let around =
                                of_line / self.selectors + if *asks_siblings { of_levels } else { 0 };
                            around.saturating_pow(depth + 1)
                        };
                        let asked = of_line + self.of_siblings * of_level + self.of_levels * of_levels;
                        steps = self.nested.iter().map(again).fold(steps + asked, u64::saturating_add);
                    }
                    levels.push(self.of_children(node));
                    of_levels += levels.last().copied().unwrap_or(0);
                }
                Edge::Close(node) => {
                    of_line -= self.of_node(node.value());
                    of_levels -= levels.pop().unwrap_or(0);
                }
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
        let of_search = |search: &ValueSearch| {
            let value = element.attr(&search.attribute).map_or(0, str::len) as u64;
            value / search.bytes_a_step
        };
        self.selectors * (1 + attributes / ATTRIBUTES_A_STEP)
            + self.searches.iter().map(of_search).sum::<u64>()
    }

    /// The steps in which one selector asks all children of a node.
    fn of_children(&self, node: NodeRef<'_, Node>) -> u64 {
        if self.of_siblings == 0 {
            return 0;
        }
        let all: u64 = node.children().map(|child| self.of_node(child.value())).sum();
        all.div_ceil(self.selectors)
    }
}

/// A list of selectors in lower case, in which a space is a descendant combinator (or stands in a string).
fn compact(entry: &str) -> String {
    let mut compact = String::with_capacity(entry.len());
    for (at, char) in entry.char_indices() {
        let before = compact.chars().next_back().unwrap_or(',');
        let after = entry[at..].trim_start().chars().next().unwrap_or(',');
        let is_needless = "~+>,(=[".contains(before) || before == ' ' || "~+>,)=]".contains(after);
        if !char.is_whitespace() {
            compact.extend(char.to_lowercase());
        } else if !is_needless {
            compact.push(' ');
        }
    }
    compact
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
                let asks_around = |selector: &str| selector.contains([' ', '>', '+', '~']);
                if entry[begin..at].split(',').any(asks_around) {
                    depths.push(depth);
                }
            }
            _ => {}
        }
    }
    depths.into_iter()
}

impl ValueSearch {
    /// Of the text behind a `[`, in lower case; none if the value is at most compared.
    fn parse(text: &str) -> Option<ValueSearch> {
        let text = text.split(']').next().unwrap_or(text);
        let (name, value) = text.split_once('=')?;
        let is_folded = value.strip_suffix('i').is_some_and(|rest| rest.ends_with([' ', '"', '\'']));
        let bytes_a_step = match name.chars().next_back()? {
            '~' => 2,
            '*' if is_folded => 2,
            '*' => 8,
            _ => return None,
        };
        let name = name.trim_end_matches(['~', '*', ' ']);
        let attribute = name.rsplit('|').next().unwrap_or(name).to_owned();
        Some(ValueSearch { attribute, bytes_a_step })
    }
}
