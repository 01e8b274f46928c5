//! Walks a page and writes what a reader sees of it.

use super::blocks::BlockWriter;
use super::line::{InlineMark, LinePlace, LineWriter, render, strip};
use super::table::DataTable;
use super::{MAX_LINK_BYTES, PageExtent};
use crate::base::ReferenceResolver;
use crate::element::{Element, ElementSpace};
use crate::html::{self, Attributes};
use crate::names::{Attr, Name};
use crate::part::Selected;
use crate::requisites::{LAZY_SRC, LAZY_SRCSET, candidates};
use crate::shadow;
use crate::text::{ElementParts, ShownText, TextEffect, effect, label};
use crate::walk::{MAX_EMBEDDED, MAX_NESTED};
use ego_tree::NodeRef;
use ego_tree::iter::Edge;
use regex::Regex;
use scraper::{Html, Node, node};
use std::rc::Rc;

/// Maximum bytes of the name of a code block's language.
const MAX_LANGUAGE_BYTES: usize = 30;

/// Nodes of a link that is a sign at most.
const MAX_SIGN_NODES: usize = 16;

/// Begins what an element closes when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ElementRole {
    Plain,
    InlineMark,
    /// A term of a list of definitions.
    Term,
    Container,
    List,
    /// A list that stands in the last item of another.
    InnerList,
    Heading,
    Code,
    Table,
    Cell,
}

/// Inherited from the elements around a text.
#[derive(Clone, Copy, Default)]
struct Around {
    shown: ShownText,
    /// Is it in the part of the page that counts?
    is_included: bool,
    is_ignored: bool,
    /// Is it no part of the page, as in a template?
    is_closed: bool,
}

/// An open element.
struct OpenElement {
    before: Around,
    role: ElementRole,
    is_block: bool,
    /// Does it separate words in a line?
    is_custom: bool,
    parts: ElementParts,
}

/// Is the text of a link a sign, such as `¶` or `#`?
fn is_sign(link: NodeRef<'_, Node>) -> bool {
    let mut nodes = link.descendants();
    let has_word = |node: NodeRef<'_, Node>| {
        node.value().as_text().is_some_and(|text| text.chars().any(char::is_alphanumeric))
    };
    !nodes.by_ref().take(MAX_SIGN_NODES).any(has_word) && nodes.next().is_none()
}

/// Writes the Markdown of a page.
pub(super) struct MarkdownWriter<'r> {
    extent: PageExtent,
    patterns: &'r [Regex],
    blocks: BlockWriter,
    line: LineWriter,
    /// The level of the heading that is open, or 0.
    heading: u8,
    /// Language and text of the code block that is open.
    code: Option<(String, String)>,
    table: Option<DataTable>,
    /// Columns and rows that the open cell spans.
    cell: Option<(usize, usize)>,
    around: Around,
    open: Vec<OpenElement>,
    /// Documents in the page so far, and those that are open.
    embedded: usize,
    nested: usize,
    /// Bytes of URLs that may still be resolved, and written.
    resolved: usize,
    links: usize,
}

impl<'r> MarkdownWriter<'r> {
    pub(super) fn new(extent: PageExtent, patterns: &'r [Regex]) -> MarkdownWriter<'r> {
        MarkdownWriter {
            extent,
            patterns,
            blocks: BlockWriter::default(),
            line: LineWriter::default(),
            heading: 0,
            code: None,
            table: None,
            cell: None,
            around: Around::default(),
            open: Vec::new(),
            embedded: 0,
            nested: 0,
            resolved: MAX_LINK_BYTES,
            links: MAX_LINK_BYTES,
        }
    }

    /// Writes the selected part of a page.
    pub(super) fn page(
        mut self,
        html: &Html,
        resolver: &ReferenceResolver<'_>,
        part: &Selected,
    ) -> (String, bool) {
        self.around.is_included = part.included.is_none();
        self.tree(html, resolver, Some(part));
        self.flush();
        self.blocks.finish()
    }

    fn tree(&mut self, html: &Html, resolver: &ReferenceResolver<'_>, part: Option<&Selected>) {
        for edge in html.tree.root().traverse() {
            match edge {
                Edge::Open(node) => match node.value() {
                    Node::Element(element) => {
                        let included = part.and_then(|part| part.included.as_ref());
                        let is_included = included.is_some_and(|of| of.contains(&node.id()));
                        let is_ignored = part.is_some_and(|part| part.ignored.contains(&node.id()));
                        self.enter(node, element, resolver, [is_included, is_ignored]);
                    }
                    Node::Text(text) => self.text(text),
                    _ => {}
                },
                Edge::Close(node) if node.value().is_element() => self.leave(),
                Edge::Close(_) => {}
            }
        }
    }

    /// Does a text here count?
    fn counts(&self) -> bool {
        let Around { shown, is_included, is_ignored, .. } = self.around;
        shown.is_seen() && is_included && !is_ignored
    }

    fn enter(
        &mut self,
        node: NodeRef<'_, Node>,
        of_node: &node::Element,
        resolver: &ReferenceResolver<'_>,
        [is_included, is_ignored]: [bool; 2],
    ) {
        let element = Element::of_node(of_node);
        let mut effect = effect(&element, false);
        let sign = self.open.last_mut().and_then(|around| around.parts.meet(&mut effect));
        let before = self.around;
        // Custom elements may stand in a line.
        let is_custom = element.space == ElementSpace::Html && element.name == Name::Other;
        let is_block =
            (effect.is_block && !is_custom && !element.is(Name::Br) || is_included) && !before.is_closed;
        let is_custom = is_custom && effect.is_block && !before.is_closed;
        if is_block {
            self.end_line();
        } else if is_custom {
            self.separate();
        }
        if let Some(sign) = sign {
            self.text(sign);
        }
        let parts = effect.parts;
        self.open.push(OpenElement { before, role: ElementRole::Plain, is_block, is_custom, parts });
        self.around = Around {
            shown: before.shown.within(&effect),
            is_included: before.is_included || is_included,
            is_ignored: before.is_ignored || is_ignored,
            is_closed: before.is_closed || effect.is_closed,
        };
        if self.counts() {
            let role = match element.space {
                ElementSpace::Html => self.begin(node, of_node, &element, resolver),
                _ if element.name == Name::A => self.link(&element, resolver),
                _ => ElementRole::Plain,
            };
            self.open.last_mut().expect("it was pushed").role = role;
            if let Some(label) = label(&element) {
                self.text(label);
            }
        }
        self.embed(&element, resolver);
    }

    /// Begins what an element is in Markdown.
    fn begin(
        &mut self,
        node: NodeRef<'_, Node>,
        of_node: &node::Element,
        element: &Element<'_>,
        resolver: &ReferenceResolver<'_>,
    ) -> ElementRole {
        use Name::{
            A, B, Blockquote, Br, Code, Del, Dir, Em, H1, H2, H3, H4, H5, H6, Hr, I, Img, Kbd, Li, Listing,
        };
        use Name::{Menu, Ol, Plaintext, Pre, S, Samp, Strike, Strong, Td, Textarea, Th, Tr, Tt, Ul, Xmp};
        let number = |name: &str| of_node.attr(name).and_then(|number| number.trim().parse::<i64>().ok());
        let is_in_table = self.table.is_some();
        match element.name {
            // A heading's link to itself, often a sign.
            A if self.heading > 0 && element.get(Attr::Href).is_some_and(|href| href.starts_with('#')) => {
                self.around.is_ignored |= is_sign(node);
            }
            A => return self.link(element, resolver),
            B | Strong => return self.mark(InlineMark::Strong),
            Em | I => return self.mark(InlineMark::Emphasis),
            Del | S | Strike => return self.mark(InlineMark::Strike),
            Code | Kbd | Samp | Tt => return self.mark(InlineMark::Code),
            Img => self.image(of_node, resolver),
            Br if self.code.is_some() => self.text("\n"),
            // Two breaks are a paragraph.
            Br if self.line.ends_with_break() && self.cell.is_none() => self.flush(),
            Br => self.line.line_break(),
            Hr if !is_in_table && self.code.is_none() && !self.blocks.is_empty() => self.blocks.push("***"),
            Td | Th if is_in_table && self.cell.is_none() => {
                self.end_line();
                let span = |name| number(name).map_or(1, |span| span.clamp(1, 65_534) as usize);
                self.cell = Some((span("colspan"), span("rowspan")));
                return ElementRole::Cell;
            }
            // A table in a cell is its text.
            Tr if self.cell.is_none() => self.table.iter_mut().for_each(DataTable::begin_row),
            Pre | Listing | Xmp if is_in_table && self.around.shown.keeps_lines => {
                return self.mark(InlineMark::Code);
            }
            _ if is_in_table || self.code.is_some() => {}
            H1 | H2 | H3 | H4 | H5 | H6 => {
                self.heading = of_node.name().as_bytes()[1] - b'0';
                return ElementRole::Heading;
            }
            Pre | Listing | Plaintext | Xmp | Textarea if self.around.shown.keeps_lines => {
                self.code = Some((language(node), String::new()));
                return ElementRole::Code;
            }
            Ul | Menu | Dir => return self.list(node, None),
            Ol => return self.list(node, Some(number("start").unwrap_or(1))),
            Li if self.blocks.begin_item(number("value")) => return ElementRole::Container,
            Blockquote if self.blocks.begin_quote() => return ElementRole::Container,
            // CommonMark has no lists of definitions.
            Name::Dt if self.line.enter(InlineMark::Strong) => return ElementRole::Term,
            Name::Table => {
                self.table = DataTable::of_data(node);
                return if self.table.is_some() { ElementRole::Table } else { ElementRole::Plain };
            }
            _ => {}
        }
        ElementRole::Plain
    }

    /// Begins a list. One that stands right in another belongs to the item before it.
    fn list(&mut self, node: NodeRef<'_, Node>, first: Option<i64>) -> ElementRole {
        let parent = node.parent().and_then(|parent| parent.value().as_element());
        let is_in_list = parent.is_some_and(|parent| matches!(parent.name(), "ul" | "ol" | "menu" | "dir"));
        let is_inner = is_in_list && self.blocks.reopen_item();
        self.blocks.begin_list(first);
        if is_inner { ElementRole::InnerList } else { ElementRole::List }
    }

    fn mark(&mut self, mark: InlineMark) -> ElementRole {
        if self.code.is_none() && self.line.enter(mark) {
            ElementRole::InlineMark
        } else {
            ElementRole::Plain
        }
    }

    fn link(&mut self, element: &Element<'_>, resolver: &ReferenceResolver<'_>) -> ElementRole {
        let xlink = || element.get(Attr::XlinkHref).filter(|_| element.space != ElementSpace::Html);
        let target = element.get(Attr::Href).or_else(xlink);
        let url = target.and_then(|href| self.resolve(href, resolver, &["http", "https", "mailto", "tel"]));
        url.map_or(ElementRole::Plain, |url| self.mark(InlineMark::Link(url)))
    }

    /// Writes an image, unless it says that it is decoration. Scripts load many images from another attribute.
    fn image(&mut self, image: &node::Element, resolver: &ReferenceResolver<'_>) {
        let alt = image.attr("alt");
        if alt.is_some_and(|alt| alt.trim().is_empty()) || self.code.is_some() {
            return;
        }
        let sources = ["src"].into_iter().chain(LAZY_SRC).filter_map(|name| image.attr(name));
        let lists = ["srcset"].into_iter().chain(LAZY_SRCSET).filter_map(|name| image.attr(name));
        let mut sources = sources.chain(lists.flat_map(candidates));
        let url = sources.find_map(|src| self.resolve(src, resolver, &["http", "https"]));
        if let Some(src) = url {
            self.line.image(alt.unwrap_or_default(), src);
        }
    }

    fn resolve(&mut self, href: &str, resolver: &ReferenceResolver<'_>, schemes: &[&str]) -> Option<Rc<str>> {
        let url = if self.resolved > 0 { resolver.absolute(href)? } else { return None };
        self.resolved = self.resolved.saturating_sub(url.as_str().len());
        schemes.contains(&url.scheme()).then(|| Rc::from(url.as_str()))
    }

    /// Writes the document in an `iframe` that was just opened.
    fn embed(&mut self, element: &Element<'_>, resolver: &ReferenceResolver<'_>) {
        let Some(document) = element.get(Attr::Srcdoc).filter(|_| element.is(Name::Iframe)) else { return };
        if self.nested < MAX_NESTED && self.embedded < MAX_EMBEDDED {
            let (mut html, _) = html::parse(document, Attributes::All);
            shadow::flatten(&mut html);
            (self.nested, self.embedded) = (self.nested + 1, self.embedded + 1);
            let shown = self.around.shown;
            self.around.shown = shown.in_document();
            self.tree(&html, &resolver.embedded(html::base(&html)), None);
            self.end_line();
            self.around.shown = shown;
            self.nested -= 1;
        }
        self.around.shown = self.around.shown.within(&TextEffect { hides: true, ..TextEffect::default() });
    }

    fn leave(&mut self) {
        let Some(OpenElement { before, role, is_block, is_custom, .. }) = self.open.pop() else { return };
        match role {
            ElementRole::InlineMark => self.line.leave(),
            ElementRole::Term => {
                self.line.leave();
                self.end_line();
            }
            ElementRole::Code => self.end_code(),
            ElementRole::Cell => self.end_cell(),
            _ if is_block => self.end_line(),
            _ if is_custom => self.separate(),
            _ => {}
        }
        match role {
            ElementRole::Container => self.blocks.leave(),
            ElementRole::List => self.blocks.end_list(),
            ElementRole::InnerList => {
                self.blocks.end_list();
                self.blocks.leave();
            }
            ElementRole::Heading => self.heading = 0,
            ElementRole::Table => {
                let table = self.table.take().and_then(DataTable::finish);
                table.iter().for_each(|table| self.blocks.push(table));
            }
            _ => {}
        }
        self.around = before;
    }

    fn text(&mut self, text: &str) {
        if !self.counts() {
            return;
        }
        let before = || match &self.code {
            Some((_, code)) => code.chars().next_back(),
            None => self.line.end(),
        };
        let text = &*self.around.shown.set(text, before);
        match &mut self.code {
            Some((_, code)) => code.push_str(text),
            None if self.around.shown.keeps_lines => self.line.lines(text),
            None => self.line.text(text),
        }
    }

    fn separate(&mut self) {
        match &mut self.code {
            Some((_, code)) => code.push(' '),
            None => self.line.separate(),
        }
    }

    /// Ends a line of text, at the edge of a block.
    fn end_line(&mut self) {
        match &mut self.code {
            Some((_, code)) if code.is_empty() || code.ends_with('\n') => {}
            Some((_, code)) => code.push('\n'),
            None if self.cell.is_some() => self.line.line_break(),
            None => self.flush(),
        }
    }

    /// Writes the line as a block.
    fn flush(&mut self) {
        let pieces = strip(self.line.take(), self.patterns);
        let place = if self.heading > 0 { LinePlace::Heading } else { LinePlace::Paragraph };
        let text = render(&pieces, place, &mut self.links);
        match self.heading {
            _ if text.is_empty() => {}
            0 => self.blocks.push(&text),
            level => {
                let text = closed(&text);
                self.blocks.heading(level, &text, self.extent == PageExtent::Main);
            }
        }
    }

    fn end_cell(&mut self) {
        let pieces = strip(self.line.take(), self.patterns);
        let text = render(&pieces, LinePlace::Cell, &mut self.links);
        if let (Some(table), Some((columns, rows))) = (&mut self.table, self.cell.take()) {
            table.cell(text, columns, rows);
        }
    }

    fn end_code(&mut self) {
        let Some((language, code)) = self.code.take() else { return };
        let mut code = code.replace("\r\n", "\n").replace('\r', "\n");
        for pattern in self.patterns {
            code = pattern.replace_all(&code, "").into_owned();
        }
        self.blocks.push_code(&language, &code);
    }
}

/// A heading whose last signs are not taken for its end.
fn closed(text: &str) -> String {
    let rest = text.trim_end_matches('#');
    match rest.len() < text.len() && (rest.is_empty() || rest.ends_with(' ')) {
        true => format!("{rest}\\{}", &text[rest.len()..]),
        false => text.to_owned(),
    }
}

/// The language of a code block, by the classes that highlighters read or write: of the element, of the one in it, or of
/// the two around it.
fn language(code: NodeRef<'_, Node>) -> String {
    let inner = code.children().find(|child| child.value().is_element());
    let near = [Some(code), inner].into_iter().flatten().chain(code.ancestors().take(2));
    let classes = near.filter_map(|node| node.value().as_element()?.attr("class"));
    let names = classes.flat_map(str::split_ascii_whitespace).filter_map(|class| {
        let prefixes = ["language-", "lang-", "highlight-source-", "highlight-"];
        prefixes.iter().find_map(|prefix| class.strip_prefix(prefix))
    });
    let is_name = |name: &&str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+#-_.".contains(&byte);
        name.len() <= MAX_LANGUAGE_BYTES && name.bytes().all(is_plain) && !["default", "none"].contains(name)
    };
    names.into_iter().find(is_name).unwrap_or_default().to_owned()
}
