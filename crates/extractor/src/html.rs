//! Parses text to a tree: html5ever's parser builds scraper's tree, within bounds.
//!
//! The HTML standard's algorithm has no bound: each tag may search all open elements, and unclosed
//! formatting elements are reopened in every paragraph. A page of 1 MB can cost minutes and
//! gigabytes. Browsers cap the depth, and so does this module, with a filter of tokens before the
//! parser. The filter
//! - closes the innermost elements when more than [`MAX_OPEN`] are open, so that deeper elements
//!   become siblings and no link or text is lost;
//! - limits the tree builder's steps in proportion to the page's bytes ([`Filter::overspent`]):
//!   first by a lower cap on the depth, then by dropping the rest of the page;
//! - stops when the tree has far more nodes than the page has tags ([`Filter::is_exploding`]), or its attributes far more
//!   bytes than the page: reopened elements have those of their tags;
//! - drops comments and, unless selectors may ask for them, the attributes that nothing here reads.
//!
//! Steps are counted, not seconds, so a text gives the same tree on every machine and at every
//! visit. The tokenizer has a quadratic cost of its own, for tags with many attributes, which the
//! module `oversized_tags` bounds.

use crate::charset::{self, Decoded};
use crate::element::{Element, ElementSpace};
use crate::look::Look;
use crate::media::{BodyKind, MediaType};
use crate::names::{Attr, Name};
use crate::noscript;
use crate::oversized_tags;
use crate::sink::CountingSink;
use crate::xhtml;
use ego_tree::iter::Edge;
use html5ever::buffer_queue::BufferQueue;
use html5ever::interface::{ElementFlags, Tracer, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    EndTag, StartTag, Tag, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};
use html5ever::{Attribute, LocalName, QualName, TokenizerResult, local_name, ns};
use recrawl_types::CanonicalUrl;
use scraper::{Html, Node};
use std::cell::{Cell, RefCell};

type Handle = <CountingSink as TreeSink>::Handle;

/// Maximum open elements, including formatting elements to be reopened. Beyond it the innermost are
/// closed until half as many are open. Browsers' cap is 512.
const MAX_OPEN: usize = 512;
/// The same, once a page has spent its steps.
const FEW_OPEN: usize = 16;
/// Bytes of a text from which on its tags are counted to give the tree room.
const COUNTED: usize = 1 << 18;
/// Nodes of a tag, see [`room`].
const NODES_A_TAG: usize = 3;
/// Nodes that any tree may have, of some 130 bytes each, before the rest of the page is dropped.
const MIN_NODES: usize = 1 << 17;
/// Further nodes per 5 bytes of the page. Real pages take far fewer.
const NODES_A_FIVE_BYTES: usize = 2;
/// Number of start tags between two checks of the bounds.
const CHECK_INTERVAL: u32 = 64;
/// Steps of the tree builder that any page may take: [`CountingSink::steps`].
const MIN_STEPS: u64 = 1 << 17;
/// Further steps per byte of the page. Real pages take 1 to 2.
const STEPS_A_BYTE: u64 = 8;

/// Bytes of the page for each attribute, before its rest is dropped: a name and a space. Of some 40 bytes each.
const BYTES_AN_ATTRIBUTE: usize = 2;
/// Attributes that any page may have.
const MIN_ATTRIBUTES: usize = 1 << 14;
/// Bytes of all attributes per byte of the page, before the rest of the page is dropped. Real pages have less than one.
const ATTRIBUTE_BYTES_A_BYTE: usize = 2;
/// The same for small pages.
const MIN_ATTRIBUTE_BYTES: usize = 1 << 16;

/// Which attributes stay in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attributes {
    /// Those that the walk or the parser reads.
    Read,
    /// All: a selector may ask for any.
    All,
}

/// Decodes a body as HTML.
pub(crate) fn decode<'b>(body: &'b [u8], media: &MediaType, url: &CanonicalUrl) -> Decoded<'b> {
    let decoded = charset::decode(body, media.charset.as_deref(), media.syntax(), &url.host());
    match media.kind {
        BodyKind::Xhtml => Decoded { text: xhtml::to_html(&decoded.text).into(), ..decoded },
        _ => decoded,
    }
}

/// Parses a document and returns the cost: its bytes plus the tree builder's steps. Never fails:
/// the standard gives every text a tree.
pub(crate) fn parse(text: &str, attributes: Attributes) -> (Html, u64) {
    let (mut html, steps) = build(text, attributes);
    let work = noscript::expand(&mut html, |content| parse_fragment(content, attributes));
    (html, text.len() as u64 + steps + work)
}

/// Parses markup as a browser without scripts does in a block. The root of the tree has it as children.
pub(crate) fn parse_fragment(text: &str, attributes: Attributes) -> (Html, u64) {
    let text = oversized_tags::bound(text);
    let sink = CountingSink::with_room(room(&text));
    let block = QualName::new(None, ns!(html), local_name!("div"));
    let block = sink.create_element(block, Vec::new(), ElementFlags::default());
    let builder = TreeBuilder::new_for_fragment(sink, block, None, options(false));
    let (mut html, steps) = feed(builder, &text, attributes);
    let element = html.root_element().id();
    html.tree.root_mut().reparent_from_id_append(element);
    html.tree.get_mut(element).into_iter().for_each(|mut element| element.detach());
    (html, text.len() as u64 + steps)
}

/// The first `href` of a base element. Those in a template belong to no document, and those in `noscript` to one without
/// scripts.
pub(crate) fn base(html: &Html) -> Option<&str> {
    let mut apart = 0;
    html.tree.root().traverse().find_map(|edge| {
        let (Edge::Open(node) | Edge::Close(node)) = edge;
        let Node::Element(element) = node.value() else { return None };
        match (Name::lookup(element.name().as_bytes()), edge) {
            (Name::Template | Name::Noscript, Edge::Open(_)) => apart += 1,
            (Name::Template | Name::Noscript, Edge::Close(_)) => apart -= 1,
            (Name::Base, Edge::Open(_)) if apart == 0 => {
                let is_base = Element::of_node(element).space == ElementSpace::Html;
                return element.attr("href").filter(|_| is_base);
            }
            _ => {}
        }
        None
    })
}

/// The steps that the builder may take before bounds apply.
pub(crate) fn budget(text: &str) -> u64 {
    MIN_STEPS + STEPS_A_BYTE * text.len() as u64
}

/// The nodes that the tree may have before bounds apply.
fn max_nodes(text: &str) -> usize {
    MIN_NODES + NODES_A_FIVE_BYTES * text.len() / 5
}

/// Room for the nodes of a long text: of a tag, an element, a text and an implied element. Trees of others are copied
/// sooner than counted.
fn room(text: &str) -> usize {
    if text.len() < COUNTED {
        return 0;
    }
    let nodes = NODES_A_TAG * memchr::memchr_iter(b'<', text.as_bytes()).count();
    // The bound is checked now and then, so that the tree may grow a little beyond.
    nodes.min(max_nodes(text) + MIN_NODES / 8)
}

/// The tree and its steps.
fn build(text: &str, attributes: Attributes) -> (Html, u64) {
    let text = oversized_tags::bound(text);
    let builder = TreeBuilder::new(CountingSink::with_room(room(&text)), options(true));
    feed(builder, &text, attributes)
}

fn options(scripting_enabled: bool) -> TreeBuilderOpts {
    TreeBuilderOpts { scripting_enabled, drop_doctype: true, ..Default::default() }
}

fn feed(builder: TreeBuilder<Handle, CountingSink>, text: &str, attributes: Attributes) -> (Html, u64) {
    let budget = budget(text);
    let filter = Filter {
        builder,
        start_tags: Cell::new(0),
        budget,
        max_steps: Cell::new(budget),
        max_open: Cell::new(MAX_OPEN),
        max_nodes: max_nodes(text),
        max_attributes: MIN_ATTRIBUTES + text.len() / BYTES_AN_ATTRIBUTE,
        max_attribute_bytes: MIN_ATTRIBUTE_BYTES + ATTRIBUTE_BYTES_A_BYTE * text.len(),
        stopped: Cell::new(false),
        attributes,
    };
    let tokenizer = Tokenizer::new(filter, TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(text));
    // The tokenizer pauses after scripts and encoding labels; neither matters here.
    while !matches!(tokenizer.feed(&input), TokenizerResult::Done) {}
    tokenizer.end();
    let sink = tokenizer.sink.builder.sink;
    let steps = sink.steps();
    (sink.finish(), steps)
}

/// The filter of tokens in front of the tree builder.
struct Filter {
    builder: TreeBuilder<Handle, CountingSink>,
    start_tags: Cell<u32>,
    /// Steps at the full depth; twice as many follow at the lower one.
    budget: u64,
    /// Steps at which the next bound applies.
    max_steps: Cell<u64>,
    /// [`MAX_OPEN`] or [`FEW_OPEN`].
    max_open: Cell<usize>,
    /// Nodes at which the page ends.
    max_nodes: usize,
    /// Number of attributes at which the page ends.
    max_attributes: usize,
    /// Their bytes at which it ends.
    max_attribute_bytes: usize,
    /// Set when the tree explodes or has too many nodes or attributes, or the budget is spent at the lower depth too: drops the
    /// rest of the page.
    stopped: Cell<bool>,
    attributes: Attributes,
}

impl TokenSink for Filter {
    type Handle = Handle;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<Handle> {
        if self.builder.sink.steps() > self.max_steps.get() {
            self.overspent();
        }
        let sink = &self.builder.sink;
        if sink.attribute_bytes() > self.max_attribute_bytes || sink.attributes() > self.max_attributes {
            self.stopped.set(true);
        }
        match token {
            Token::CommentToken(_) | Token::ParseError(_) => TokenSinkResult::Continue,
            Token::EOFToken => self.builder.process_token(token, line),
            _ if self.stopped.get() => TokenSinkResult::Continue,
            Token::TagToken(mut tag) if tag.kind == StartTag => {
                if self.attributes == Attributes::Read {
                    keep_what_is_read(&mut tag);
                }
                // The builder knows the values of this attribute in lower case only.
                for mode in tag.attrs.iter_mut().filter(|a| a.name.local == local_name!("shadowrootmode")) {
                    mode.value.make_ascii_lowercase();
                }
                self.start_tags.set(self.start_tags.get().wrapping_add(1));
                let every = CHECK_INTERVAL.min(self.max_open.get() as u32 / 2);
                if self.start_tags.get().is_multiple_of(every) {
                    self.keep_bounds(line);
                }
                self.builder.process_token(Token::TagToken(tag), line)
            }
            token => self.builder.process_token(token, line),
        }
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

impl Filter {
    /// Called when the budget is spent. The first time, it lowers the depth cap, since the cost of
    /// a tag is proportional to the depth, and grants twice as many steps. Nested blocks then need
    /// 9 steps per byte, and rules 16. The second time, the page ends here.
    fn overspent(&self) {
        if self.max_open.replace(FEW_OPEN) == FEW_OPEN {
            self.stopped.set(true);
        }
        self.max_steps.set(self.max_steps.get() + 2 * self.budget);
    }

    fn keep_bounds(&self, line: u64) {
        let max_open = self.max_open.get();
        let open = self.open(max_open);
        if open.len() > max_open {
            for name in open[max_open / 2..].iter().rev() {
                let tag = Tag {
                    kind: EndTag,
                    name: name.clone(),
                    self_closing: false,
                    attrs: Vec::new(),
                    had_duplicate_attributes: false,
                };
                // For an end tag the only possible answer is a pause after a script.
                let _ = self.builder.process_token(Token::TagToken(tag), line);
            }
        }
        if self.is_exploding() || open.len() > MAX_OPEN && self.open(MAX_OPEN).len() > MAX_OPEN {
            self.stopped.set(true);
        }
    }

    /// Names of the builder's open elements, outermost first, then of its formatting elements; none
    /// if there are at most `enough`.
    fn open(&self, enough: usize) -> Vec<LocalName> {
        struct Handles(RefCell<Vec<Handle>>);
        impl Tracer for Handles {
            type Handle = Handle;
            fn trace_handle(&self, node: &Handle) {
                self.0.borrow_mut().push(*node);
            }
        }
        let handles = Handles(RefCell::new(Vec::with_capacity(64)));
        self.builder.trace_handles(&handles);
        let handles = handles.0.into_inner();
        if handles.len() <= enough {
            return Vec::new();
        }
        let html = self.builder.sink.html();
        let name =
            |h: Handle| html.tree.get(h)?.value().as_element().map(|e| e.name.local.to_ascii_lowercase());
        handles.into_iter().filter_map(name).collect()
    }

    /// Whether the tree has too many nodes, or far more than its tags explain. A start tag makes one element,
    /// one text and, on valid pages, at most a few implied or reopened elements.
    fn is_exploding(&self) -> bool {
        let nodes = self.builder.sink.html().tree.values().len();
        nodes > self.max_nodes || nodes > 2_000 + 6 * self.start_tags.get() as usize
    }
}

/// Drops the attributes that neither the walk nor the parser reads.
///
/// The tree builder compares a formatting element with all open ones of its name, attribute by
/// attribute, and keeps three equal ones. So the kept attributes get one canonical spelling each,
/// which leaves only a few different elements. The place of an element in a shadow tree is any name.
fn keep_what_is_read(tag: &mut Tag) {
    if tag.attrs.is_empty() {
        return;
    }
    let attr = |a: &Attribute| Attr::lookup(a.name.local.as_bytes());
    if !is_formatting(&tag.name) {
        return tag.attrs.retain(|a| attr(a) != Attr::Other);
    }
    let mut slot = std::mem::take(&mut tag.attrs);
    let look = Look::from_attributes(slot.iter().map(|a| (attr(a), &*a.value)), false);
    let breaks_out = slot.iter().any(|a| breaks_out(attr(a)));
    slot.retain(|a| attr(a) == Attr::Slot);
    let said = look.attributes().chain(breaks_out.then(|| (local_name!("color"), String::new())));
    tag.attrs = said
        .map(|(name, value)| Attribute { name: QualName::new(None, ns!(), name), value: value.into() })
        .chain(slot)
        .collect();
}

/// The formatting elements of the standard (§13.2.4.2) except `a`, which cannot be nested.
fn is_formatting(name: &LocalName) -> bool {
    matches!(
        *name,
        local_name!("b")
            | local_name!("big")
            | local_name!("code")
            | local_name!("em")
            | local_name!("font")
            | local_name!("i")
            | local_name!("nobr")
            | local_name!("s")
            | local_name!("small")
            | local_name!("strike")
            | local_name!("strong")
            | local_name!("tt")
            | local_name!("u")
    )
}

/// The attributes with which `<font>` ends foreign content.
fn breaks_out(attr: Attr) -> bool {
    matches!(attr, Attr::Color | Attr::Face | Attr::Size)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Markup whose cost in the standard's algorithm is open elements times tags: a prefix, and a
    /// repeated part (`#` is a number).
    fn hostile() -> Vec<(String, &'static str)> {
        let (blocks, spans) = ("<div>".repeat(500), "<span>".repeat(500));
        vec![
            (blocks.clone(), "<hr>"),
            (format!("{blocks}<select><option>"), "<hr>"),
            (format!("{blocks}<select>"), "<option>"),
            (blocks.clone(), "</p>"),
            (blocks.clone(), "<nobr>"),
            (format!("<form>{blocks}"), "<input>"),
            (format!("<b>{blocks}"), "x\0"),
            (format!("<b>{blocks}"), "&amp;"),
            (spans.clone(), "<li>"),
            (spans.clone(), "</x>"),
            (format!("<svg>{}", "<g>".repeat(500)), "</q>"),
            (String::new(), "<dd>"),
            (String::new(), "<div>"),
            (String::new(), "<font color=#>"),
            (String::new(), "<b style=#>"),
            (String::new(), "<b><div></b>"),
            (String::new(), "<a><div></a>"),
            (String::new(), "<a href=#><table><tr><td>"),
            (String::new(), "<b><table>x<tr>"),
            (String::new(), "<template>"),
            ("<table>".into(), "<b>x<tr>"),
        ]
    }

    fn steps(head: &str, piece: &str, bytes: usize, attributes: Attributes) -> (u64, usize) {
        let mut text = head.to_owned();
        for number in 0.. {
            if text.len() >= bytes {
                break;
            }
            text.push_str(&piece.replace('#', &format!("{number}")));
        }
        (build(&text, attributes).1, text.len())
    }

    #[test]
    fn a_long_hostile_page_has_room_for_its_tree() {
        let pages = [
            ("<div>".repeat(500), "<hr>"),
            ("<div>".repeat(500), "<b><i><p></b></i>x"),
            ("<table>".repeat(500), "<tr>x<td>y"),
            (String::new(), "<p><span><b>x"),
        ];
        for (head, piece) in pages {
            // As `fetch.max_body` has by default.
            let text = head + &piece.repeat((2 << 20) / piece.len());
            let nodes = build(&text, Attributes::Read).0.tree.values().len();
            assert!(nodes <= room(&text), "{piece}: {nodes} nodes, and room for {}", room(&text));
            assert!(room(&text) <= 1_000_000, "128 MB");
        }
        assert_eq!(room("<p>"), 0, "such a tree is copied sooner than counted");
    }

    #[test]
    fn the_work_is_linear_in_the_bytes_whatever_is_open() {
        let kinds = [Attributes::Read, Attributes::All];
        for ((head, piece), kind) in
            hostile().into_iter().flat_map(|page| kinds.map(|kind| (page.clone(), kind)))
        {
            let cost = |bytes| steps(&head, piece, bytes, kind);
            let ((small, _), (large, bytes)) = (cost(100_000), cost(200_000));
            // The budget at both depths, plus the maximum excess of one token or one check.
            let most = 3 * (MIN_STEPS + STEPS_A_BYTE * bytes as u64) + 20_000;
            assert!(large <= most, "{piece}: {large} steps for {bytes} bytes");
            assert!(large <= 2 * small + 20_000, "{piece}: {small} steps, and {large} for twice the bytes");
        }
    }

    #[test]
    fn real_markup_stays_far_from_its_budget() {
        let menu = "<ul class=menu><li><a href=/about>About <b>us</b></a><li><a href=/news>News</a></ul>";
        let row = "<tr><td><a href='/item?id=#'>Item #</a><td class=number>12.50<td><p>In <em>stock</em>";
        let post = "<article><h2><a href=/post/#>Post #</a></h2><p>Some words of a <i>text</i>, and<br>more.</p></article>";
        for (head, piece) in [
            (format!("<div><div><main>{menu}<table><tbody>"), row),
            (format!("<div><div>{menu}<main><section>"), post),
            // As deep as page builders go.
            (format!("{}{menu}", "<div class=wrap>".repeat(60)), post),
        ] {
            let (taken, bytes) = steps(&head, piece, 300_000, Attributes::All);
            assert!(taken < MIN_STEPS + STEPS_A_BYTE * bytes as u64 / 2, "{taken} steps for {bytes} bytes");
        }
    }

    #[test]
    fn what_stands_in_the_innermost_of_many_elements_is_found() {
        for name in ["div", "p", "li", "a", "b", "font", "span", "table", "svg", "ul"] {
            let html = format!("{}<a href=/innermost>link</a>", format!("<{name}>").repeat(100_000));
            let (html, taken) = build(&html, Attributes::Read);
            let is_link = |node: &scraper::Node| {
                node.as_element().is_some_and(|e| e.attr("href") == Some("/innermost"))
            };
            assert!(html.tree.values().any(is_link), "{name}: {taken} steps");
        }
    }

    /// Each further tag of the root or the body adds attributes to it. They are sorted in, asked for by selectors, and
    /// written into one tag of an archived page, so one element must not have all of a page.
    #[test]
    fn repeated_tags_of_root_and_body_add_no_more_attributes_than_a_tag_has() {
        for name in ["html", "body"] {
            let tags: String = (0..20_000).map(|i| format!("<{name} a{i}=1>")).collect();
            for kind in [Attributes::Read, Attributes::All] {
                let html = build(&format!("<{name} lang=de class=x><p>text{tags}<p>end"), kind).0;
                let of = |node: &scraper::Node| node.as_element().map_or(0, |element| element.attrs.len());
                let most = html.tree.values().map(of).max().unwrap_or(0);
                assert!(most <= oversized_tags::MAX_ATTRIBUTES, "{name}: {most} attributes");
                assert_eq!(most == oversized_tags::MAX_ATTRIBUTES, kind == Attributes::All, "{most}");
                let words: String = html.root_element().text().collect();
                assert_eq!(words, "textend", "and nothing else is lost");
            }
            // As browsers do, the first value of an attribute counts, and others are added.
            let html = build(&format!("<{name} id=a><p><{name} id=b lang=de>"), Attributes::All).0;
            let element =
                html.tree.values().filter_map(|node| node.as_element()).find(|e| e.name() == name).unwrap();
            assert_eq!((element.attr("id"), element.attr("lang")), (Some("a"), Some("de")));
        }
    }

    #[test]
    fn a_page_that_spent_its_steps_goes_on_at_a_lower_depth() {
        // 450 open elements at each tag: the budget is spent soon, but all links are found.
        let links: String = (0..9_000).map(|i| format!("<p><a href=/{i}>link</a></p>")).collect();
        let (html, taken) = build(&format!("{}{links}", "<div>".repeat(450)), Attributes::Read);
        let budget = MIN_STEPS + STEPS_A_BYTE * (links.len() as u64 + 450 * 5);
        assert!(budget < taken && taken < 2 * budget, "{taken} steps, {budget} at the full depth");
        let is_link =
            |node: &scraper::Node| node.as_element().is_some_and(|e| e.name.local == local_name!("a"));
        assert_eq!(html.tree.values().filter(|node| is_link(node)).count(), 9_000);
    }
}
