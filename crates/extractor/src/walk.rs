//! Reads references, text, title, base, metas and canonical URLs from the elements and texts of a
//! page in the order of its tree, whether there is a tree or not.
//!
//! The document in the `srcdoc` of an `iframe` is read in its place: visitors see its text and its links as part of
//! the page. Its title, metas and canonical URL are its own.

use crate::MAX_TITLE_BYTES;
use crate::anchor::{Context, Contexts};
use crate::element::{Element, ElementSpace};
use crate::html::{self, Attributes};
use crate::names::{Attr, Name};
use crate::part::Selected;
use crate::scope::{PageReference, canonical, reference};
use crate::shadow;
use crate::text::{Collapsed, ShownText, TextEffect, effect, is_mostly_frame, label};
use scraper::{Html, Node, node};
use std::borrow::Cow;
use std::convert::Infallible;

/// Maximum documents in each other, besides the page.
pub(crate) const MAX_NESTED: usize = 3;
/// Maximum embedded documents of a page.
pub(crate) const MAX_EMBEDDED: usize = 200;

/// A document in a page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Embedded<'d> {
    /// The number of the embedded document around it; none in the page itself.
    pub(crate) outer: Option<usize>,
    /// The first `href` of a base element.
    pub(crate) base: Option<Cow<'d, str>>,
}

/// The results of a walk.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct WalkResult<'d> {
    pub(crate) references: Vec<PageReference<'d>>,
    /// What is said of each reference; empty unless anchors are read.
    pub(crate) contexts: Vec<Context>,
    /// The language that the page declares, likewise.
    pub(crate) language: Option<String>,
    pub(crate) text: String,
    pub(crate) title: Option<String>,
    /// The first `href` of a base element.
    pub(crate) base: Option<Cow<'d, str>>,
    /// The documents in the page, in order.
    pub(crate) embedded: Vec<Embedded<'d>>,
    /// What it cost to read them.
    pub(crate) work: u64,
    /// Name and content of each meta element that has both.
    pub(crate) metas: Vec<(Cow<'d, str>, Cow<'d, str>)>,
    /// Targets of the canonical links in the head. Those elsewhere do not count: a body may contain
    /// what users wrote.
    pub(crate) canonicals: Vec<Cow<'d, str>>,
}

impl<'d> WalkResult<'d> {
    /// Reads a page with a way to walk it; twice if the page is mostly frame.
    ///
    /// # Errors
    /// Those of the way.
    pub(crate) fn by<E>(
        max_text: usize,
        reads_anchors: bool,
        way: impl Fn(&mut Walk<'d>) -> Result<(), E>,
    ) -> Result<WalkResult<'d>, E> {
        let mut walk = Walk::new(max_text, false);
        walk.contexts = reads_anchors.then(Contexts::new);
        way(&mut walk)?;
        if is_mostly_frame(walk.text.len(), walk.frame.bytes) {
            let mut whole = Walk::new(max_text, true);
            way(&mut whole)?;
            walk.text = whole.text;
        }
        let (contexts, language) = walk.contexts.map(Contexts::finish).unwrap_or_default();
        Ok(WalkResult {
            contexts,
            language,
            references: walk.references,
            text: walk.text.finish(),
            title: walk.title,
            base: walk.base,
            embedded: walk.embedded,
            work: walk.work,
            metas: walk.metas,
            canonicals: walk.canonicals,
        })
    }

    /// Reads a tree.
    pub(crate) fn of_tree(html: &'d Html, max_text: usize, reads_anchors: bool) -> WalkResult<'d> {
        WalkResult::of_part(html, None, max_text, reads_anchors)
    }

    /// Reads a tree, and the text of the selected part only. An included element counts even in the frame: its
    /// selector names it.
    pub(crate) fn of_part(
        html: &'d Html,
        part: Option<&Selected>,
        max_text: usize,
        reads_anchors: bool,
    ) -> WalkResult<'d> {
        let way = |walk: &mut Walk<'d>| -> Result<(), Infallible> {
            if part.is_some_and(|part| part.included.is_some()) {
                (walk.keeps_frame, walk.including) = (true, Some(0));
            }
            walk.tree(html, part, Element::of_node);
            Ok(())
        };
        match WalkResult::by(max_text, reads_anchors, way) {
            Ok(found) => found,
            Err(never) => match never {},
        }
    }
}

/// What is read on the way.
pub(crate) struct Walk<'d> {
    references: Vec<PageReference<'d>>,
    /// None unless anchors are read.
    contexts: Option<Contexts<'d>>,
    text: Collapsed,
    title: Option<String>,
    /// The title that is being read, and the number of open elements in it.
    open_title: Option<(usize, Collapsed)>,
    base: Option<Cow<'d, str>>,
    embedded: Vec<Embedded<'d>>,
    /// The open embedded documents, by their numbers.
    within: Vec<usize>,
    work: u64,
    metas: Vec<(Cow<'d, str>, Cow<'d, str>)>,
    canonicals: Vec<Cow<'d, str>>,
    /// Number of open elements at the head element; `None` outside the head.
    head: Option<usize>,
    /// The same of a `noscript` element.
    noscript: Option<usize>,
    /// Whether the frame's text counts.
    keeps_frame: bool,
    frame: FrameText,
    /// How a text at this place is shown.
    shown: ShownText,
    /// Number of open elements that are frame, or make sections.
    framing: u32,
    sections: u32,
    /// Number of open elements that the part of the page ignores, and that it includes; none if it is the whole page.
    ignoring: u32,
    including: Option<u32>,
    /// The effects of the open elements, and how a text before each is shown.
    open: Vec<(TextEffect, ShownText)>,
}

impl<'d> Walk<'d> {
    fn new(max_text: usize, keeps_frame: bool) -> Walk<'d> {
        Walk {
            references: Vec::new(),
            contexts: None,
            text: Collapsed::new(max_text),
            title: None,
            open_title: None,
            base: None,
            embedded: Vec::new(),
            within: Vec::new(),
            work: 0,
            metas: Vec::new(),
            canonicals: Vec::new(),
            head: None,
            noscript: None,
            keeps_frame,
            frame: FrameText::default(),
            shown: ShownText::default(),
            framing: 0,
            sections: 0,
            ignoring: 0,
            including: None,
            open: Vec::with_capacity(32),
        }
    }

    /// Walks a tree, without recursion, since the page decides how deep it is.
    fn tree<'h>(
        &mut self,
        html: &'h Html,
        part: Option<&Selected>,
        element_of: impl Fn(&'h node::Element) -> Element<'d>,
    ) {
        let mut node = html.tree.root();
        loop {
            let mut goes_down = true;
            match node.value() {
                Node::Element(element) => {
                    let included = part.and_then(|part| part.included.as_ref());
                    let is_included = included.is_some_and(|of| of.contains(&node.id()));
                    let is_ignored = part.is_some_and(|part| part.ignored.contains(&node.id()));
                    goes_down = !self.begin(&element_of(element), is_included, is_ignored);
                }
                Node::Text(text) => {
                    self.frame.end_node();
                    self.text(text);
                }
                _ => {}
            }
            if goes_down && let Some(child) = node.first_child() {
                node = child;
                continue;
            }
            loop {
                if node.value().is_element() {
                    self.leave();
                }
                if let Some(sibling) = node.next_sibling() {
                    node = sibling;
                    break;
                }
                match node.parent() {
                    Some(parent) => node = parent,
                    None => return,
                }
            }
        }
    }

    /// Reads an element and what is embedded in it, and opens it. True if its children need no walk.
    pub(crate) fn enter(&mut self, element: &Element<'d>) -> bool {
        self.begin(element, false, false)
    }

    /// The same, with whether the part of the page that counts names the element.
    fn begin(&mut self, element: &Element<'d>, is_included: bool, is_ignored: bool) -> bool {
        let is_closed = self.open(element, is_included, is_ignored);
        self.embed(element);
        is_closed
    }

    /// Reads the document in an `iframe` that was just opened. Its other content is for browsers without frames.
    fn embed(&mut self, element: &Element<'d>) {
        let Some(document) = element.get(Attr::Srcdoc).filter(|_| element.is(Name::Iframe)) else { return };
        if self.within.len() < MAX_NESTED && self.embedded.len() < MAX_EMBEDDED {
            let (mut html, work) = html::parse(document, Attributes::Read);
            shadow::flatten(&mut html);
            self.work += work;
            self.within.push(self.embedded.len());
            self.embedded.push(Embedded { outer: self.within.iter().rev().nth(1).copied(), base: None });
            let (shown, noscript) = (self.shown, self.noscript.take());
            self.shown = shown.in_document();
            self.text.block();
            self.tree(&html, None, |node| Element::of_node(node).into_owned());
            self.text.block();
            (self.shown, self.noscript) = (shown, noscript);
            self.within.pop();
        }
        self.shown = self.shown.within(&TextEffect { hides: true, ..TextEffect::default() });
    }

    /// Reads a part of the page that was parsed apart.
    pub(crate) fn fragment(&mut self, html: &Html) {
        self.tree(html, None, |node| Element::of_node(node).into_owned());
    }

    /// Reads what counts of a page alone, or of each document.
    fn note(&mut self, element: &Element<'d>) {
        match element.name {
            Name::Noscript if self.noscript.is_none() => self.noscript = Some(self.open.len()),
            // A document with scripts has neither.
            Name::Base | Name::Title if self.noscript.is_some() => {}
            Name::Base => {
                let base = match self.within.last() {
                    Some(document) => &mut self.embedded[*document].base,
                    None => &mut self.base,
                };
                *base = base.take().or_else(|| element.get(Attr::Href).cloned());
            }
            _ if !self.within.is_empty() => {}
            Name::Meta => {
                let name = element.get(Attr::Name).cloned();
                self.metas.extend(name.zip(element.get(Attr::Content).cloned()));
            }
            Name::Head if self.head.is_none() => self.head = Some(self.open.len()),
            Name::Link if self.head.is_some() => self.canonicals.extend(canonical(element)),
            Name::Title if self.title.is_none() && self.open_title.is_none() => {
                self.open_title = Some((self.open.len() + 1, Collapsed::new(MAX_TITLE_BYTES)));
            }
            _ => {}
        }
    }

    /// Reads and opens an element. True if its children need no walk.
    fn open(&mut self, element: &Element<'d>, is_included: bool, is_ignored: bool) -> bool {
        self.frame.end_node();
        if element.space == ElementSpace::Html {
            self.note(element);
        }
        let found = if element.attributes.is_empty() { None } else { reference(element) };
        let is_reference = found.is_some();
        self.references
            .extend(found.map(|found| PageReference { within: self.within.last().copied(), ..found }));
        let mut effect = effect(element, self.sections > 0);
        if let Some(sign) = self.open.last_mut().and_then(|(around, _)| around.parts.meet(&mut effect)) {
            self.text(sign);
        }
        self.framing += u32::from(effect.is_frame);
        self.sections += u32::from(effect.is_section);
        if effect.is_block {
            self.text.block();
        }
        if let Some(contexts) = &mut self.contexts {
            match is_reference {
                true => contexts.reference(element, self.open.len(), self.framing > 0),
                // The language is that of the page.
                false if element.name == Name::Html && !self.within.is_empty() => {}
                false => contexts.enter(element),
            }
            if effect.is_block {
                contexts.block();
            }
        }
        self.open.push((TextEffect { is_included, is_ignored, ..effect }, self.shown));
        self.shown = self.shown.within(&effect);
        self.ignoring += u32::from(is_ignored);
        if let Some(including) = self.including.as_mut().filter(|_| is_included) {
            *including += 1;
            // Its text does not continue what was included before.
            self.text.block();
        }
        if let Some(label) = label(element) {
            self.text(label);
        }
        effect.is_closed
    }

    /// Closes the innermost open element.
    pub(crate) fn leave(&mut self) {
        self.frame.end_node();
        let depth = self.open.len();
        if let Some((_, title)) = self.open_title.take_if(|(at, _)| *at == depth) {
            self.title = Some(title.finish()).filter(|title| !title.is_empty());
        }
        let (effect, shown) = self.open.pop().expect("what is left was entered");
        self.shown = shown;
        self.head = self.head.filter(|head| self.open.len() > *head);
        self.noscript = self.noscript.filter(|noscript| self.open.len() > *noscript);
        self.framing -= u32::from(effect.is_frame);
        self.sections -= u32::from(effect.is_section);
        self.ignoring -= u32::from(effect.is_ignored);
        if let Some(including) = self.including.as_mut().filter(|_| effect.is_included) {
            *including -= 1;
            self.text.block();
        }
        if effect.is_block {
            self.text.block();
        }
        if let Some(contexts) = &mut self.contexts {
            contexts.leave(self.open.len());
            if effect.is_block {
                contexts.block();
            }
        }
    }

    /// Reads a text, or a further part of it.
    pub(crate) fn text(&mut self, text: &str) {
        let depth = self.open.len();
        if let Some((_, title)) = self.open_title.as_mut().filter(|(at, _)| *at == depth) {
            title.push(text);
        }
        if !self.shown.is_seen() {
            return;
        }
        if let Some(contexts) = &mut self.contexts {
            contexts.text(text);
        }
        if self.ignoring > 0 || self.including == Some(0) {
            return;
        }
        if self.framing > 0 && !self.keeps_frame {
            self.frame.add(text);
            return;
        }
        let text = &*self.shown.set(text, || self.text.last());
        match self.shown.keeps_lines {
            true => self.text.push_lines(text),
            false => self.text.push(text),
        }
    }
}

/// The size of the text in the frame: bytes before collapsing, without white space at either end
/// of a text node.
#[derive(Default)]
struct FrameText {
    bytes: usize,
    /// White space at the end of the present text node; `None` before its first word.
    trailing: Option<usize>,
}

impl FrameText {
    fn add(&mut self, text: &str) {
        let (text, trailing) = match self.trailing {
            Some(trailing) => (text, trailing),
            None => (text.trim_ascii_start(), 0),
        };
        match text.trim_ascii_end().len() {
            0 if self.trailing.is_none() => {}
            0 => self.trailing = Some(trailing + text.len()),
            words => {
                self.bytes += trailing + words;
                self.trailing = Some(text.len() - words);
            }
        }
    }

    fn end_node(&mut self) {
        self.trailing = None;
    }
}
