//! One walk over the tree: references, text, title, base, metas and canonical URLs together.
//!
//! Without recursion, since the page decides how deep its tree is.

use crate::MAX_TITLE_BYTES;
use crate::anchor::{Context, Contexts};
use crate::scope::{Reference, attribute, canonical, reference};
use crate::text::{Collapsed, Effect, effect, is_mostly_frame};
use html5ever::{local_name, ns};
use scraper::node::Element;
use scraper::{Html, Node};

/// The results of a walk.
pub(crate) struct Found<'d> {
    pub(crate) references: Vec<Reference<'d>>,
    /// What is said of each reference; empty unless anchors are read.
    pub(crate) contexts: Vec<Context>,
    /// The language that the page declares, likewise.
    pub(crate) language: Option<String>,
    pub(crate) text: String,
    pub(crate) title: Option<String>,
    /// The first `href` of a base element.
    pub(crate) base: Option<&'d str>,
    /// Name and content of each meta element that has both.
    pub(crate) metas: Vec<(&'d str, &'d str)>,
    /// Targets of the canonical links in the head. Those elsewhere do not count: a body may contain
    /// what users wrote.
    pub(crate) canonicals: Vec<&'d str>,
}

/// Walks the tree; a second time if the page is mostly frame.
pub(crate) fn walk(html: &Html, max_text: usize, reads_anchors: bool) -> Found<'_> {
    let mut walk = Walk::new(max_text, false);
    walk.contexts = reads_anchors.then(Contexts::new);
    walk.run(html);
    if is_mostly_frame(walk.text.len(), walk.frame_text) {
        let mut whole = Walk::new(max_text, true);
        whole.run(html);
        walk.text = whole.text;
    }
    let (contexts, language) = walk.contexts.map(Contexts::finish).unwrap_or_default();
    Found {
        contexts,
        language,
        references: walk.references,
        text: walk.text.finish(),
        title: walk.title,
        base: walk.base,
        metas: walk.metas,
        canonicals: walk.canonicals,
    }
}

struct Walk<'d> {
    references: Vec<Reference<'d>>,
    /// None unless anchors are read.
    contexts: Option<Contexts<'d>>,
    text: Collapsed,
    title: Option<String>,
    base: Option<&'d str>,
    metas: Vec<(&'d str, &'d str)>,
    canonicals: Vec<&'d str>,
    /// Number of open elements at the head element; `None` outside the head.
    head: Option<usize>,
    /// Whether the frame's text counts.
    keeps_frame: bool,
    /// Bytes of text in the frame, before collapsing and without blank nodes.
    frame_text: usize,
    /// Number of open elements that hide, are frame, or make sections.
    hiding: u32,
    framing: u32,
    sections: u32,
    /// The effects of the open elements.
    open: Vec<Effect>,
}

impl<'d> Walk<'d> {
    fn new(max_text: usize, keeps_frame: bool) -> Walk<'d> {
        Walk {
            references: Vec::new(),
            contexts: None,
            text: Collapsed::new(max_text),
            title: None,
            base: None,
            metas: Vec::new(),
            canonicals: Vec::new(),
            head: None,
            keeps_frame,
            frame_text: 0,
            hiding: 0,
            framing: 0,
            sections: 0,
            open: Vec::with_capacity(32),
        }
    }

    fn run(&mut self, html: &'d Html) {
        let mut node = html.tree.root();
        loop {
            let mut goes_down = true;
            match node.value() {
                Node::Element(element) => {
                    goes_down = !self.enter(element);
                    if element.name.local == local_name!("title")
                        && element.name.ns == ns!(html)
                        && self.title.is_none()
                    {
                        let texts = node.children().filter_map(|c| c.value().as_text().map(|t| &**t));
                        self.title = title(texts);
                    }
                }
                Node::Text(text) => self.text(text),
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

    /// Reads and opens an element. True if its children need no walk.
    fn enter(&mut self, element: &'d Element) -> bool {
        match element.name.local {
            local_name!("base") if self.base.is_none() => {
                self.base = attribute(element, &local_name!("href"))
            }
            local_name!("meta") => {
                let name = attribute(element, &local_name!("name"));
                self.metas.extend(name.zip(attribute(element, &local_name!("content"))));
            }
            local_name!("head") if self.head.is_none() && element.name.ns == ns!(html) => {
                self.head = Some(self.open.len())
            }
            local_name!("link") if self.head.is_some() => self.canonicals.extend(canonical(element)),
            _ => {}
        }
        let found = if element.attrs.is_empty() { None } else { reference(element) };
        let is_reference = found.is_some();
        self.references.extend(found);
        let effect = effect(element, self.sections > 0);
        self.hiding += u32::from(effect.hides);
        self.framing += u32::from(effect.is_frame);
        self.sections += u32::from(effect.is_section);
        if effect.is_block {
            self.text.block();
        }
        if let Some(contexts) = &mut self.contexts {
            match is_reference {
                true => contexts.reference(element, self.open.len(), self.framing > 0),
                false => contexts.enter(element),
            }
            if effect.is_block {
                contexts.block();
            }
        }
        self.open.push(effect);
        effect.is_closed
    }

    fn leave(&mut self) {
        let effect = self.open.pop().expect("what is left was entered");
        self.head = self.head.filter(|head| self.open.len() > *head);
        self.hiding -= u32::from(effect.hides);
        self.framing -= u32::from(effect.is_frame);
        self.sections -= u32::from(effect.is_section);
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

    fn text(&mut self, text: &str) {
        if self.hiding == 0
            && let Some(contexts) = &mut self.contexts
        {
            contexts.text(text);
        }
        match (self.hiding > 0, self.framing > 0 && !self.keeps_frame) {
            (true, _) => {}
            (false, true) => self.frame_text += text.trim_ascii().len(),
            (false, false) => self.text.push(text),
        }
    }
}

/// The title's text, collapsed and cut; `None` if blank.
fn title<'t>(texts: impl Iterator<Item = &'t str>) -> Option<String> {
    let mut title = Collapsed::new(MAX_TITLE_BYTES);
    for text in texts {
        title.push(text);
    }
    Some(title.finish()).filter(|t| !t.is_empty())
}
