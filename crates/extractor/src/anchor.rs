//! What a page says of its links: their anchors, and whether they stand in its frame.
//!
//! The anchor is the visible text of the link. A link without text gives its `aria-label`, or the `alt` of an image in it.
//! Anchors are collected only on demand ([`ExtractOptions::anchors`](crate::ExtractOptions::anchors)), and bounded for each link and page.

use crate::element::{Element, part};
use crate::names::{Attr, Name};
use crate::text::Collapsed;
use std::borrow::Cow;

/// Maximum bytes of an anchor; a longer one is cut.
pub const MAX_ANCHOR_BYTES: usize = 120;
/// Maximum bytes of all anchors of a page; links after that have none.
pub const MAX_ANCHORS_BYTES: usize = 256 * 1024;
/// Maximum bytes of a language tag; a longer one is ignored.
const MAX_TAG_BYTES: usize = 35;

/// What is said of a reference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Context {
    pub(crate) anchor: String,
    pub(crate) is_framed: bool,
}

/// Collects the contexts of the references of a page.
pub(crate) struct Contexts<'d> {
    /// In the order of references.
    found: Vec<Context>,
    /// The innermost link that is open.
    open: Option<OpenLink<'d>>,
    /// Bytes of anchors so far.
    bytes: usize,
    language: Option<Cow<'d, str>>,
}

/// A link whose content is being walked.
struct OpenLink<'d> {
    /// Its number among the references.
    reference: usize,
    /// Number of open elements around it.
    depth: usize,
    text: Collapsed,
    /// `aria-label`, else the first `alt` in it.
    label: Option<Cow<'d, str>>,
}

impl<'d> Contexts<'d> {
    pub(crate) fn new() -> Contexts<'d> {
        Contexts { found: Vec::new(), open: None, bytes: 0, language: None }
    }

    /// Notes the reference of an element, within `depth` open ones.
    pub(crate) fn reference(&mut self, element: &Element<'d>, depth: usize, is_framed: bool) {
        self.close();
        let label = element.get(Attr::AriaLabel).filter(|label| !label.trim().is_empty());
        let label = label.or_else(|| element.get(Attr::Alt)).cloned();
        let text = Collapsed::new(MAX_ANCHOR_BYTES);
        self.open = Some(OpenLink { reference: self.found.len(), depth, text, label });
        self.found.push(Context { anchor: String::new(), is_framed });
    }

    /// Reads an element that is no reference.
    pub(crate) fn enter(&mut self, element: &Element<'d>) {
        match element.name {
            Name::Html if self.language.is_none() => {
                let tag = element.get(Attr::Lang).and_then(|tag| part(tag, |tag| Some(tag.trim())));
                self.language = tag.filter(|tag| !tag.is_empty() && tag.len() <= MAX_TAG_BYTES);
            }
            Name::Img => {
                if let Some(open) = &mut self.open
                    && open.label.as_ref().is_none_or(|label| label.trim().is_empty())
                {
                    open.label = element.get(Attr::Alt).cloned();
                }
            }
            _ => {}
        }
    }

    /// Adds visible text.
    pub(crate) fn text(&mut self, text: &str) {
        if let Some(open) = &mut self.open {
            open.text.push(text);
        }
    }

    /// Ends an element within `depth` open ones.
    pub(crate) fn leave(&mut self, depth: usize) {
        if self.open.as_ref().is_some_and(|open| open.depth == depth) {
            self.close();
        }
    }

    /// Separates words, as the edge of a block does.
    pub(crate) fn block(&mut self) {
        self.open.iter_mut().for_each(|open| open.text.block());
    }

    fn close(&mut self) {
        let Some(OpenLink { reference, text, label, .. }) = self.open.take() else { return };
        let mut anchor = text.finish();
        if anchor.is_empty()
            && let Some(label) = label
        {
            let mut text = Collapsed::new(MAX_ANCHOR_BYTES);
            text.push(&label);
            anchor = text.finish();
        }
        if self.bytes + anchor.len() <= MAX_ANCHORS_BYTES {
            self.bytes += anchor.len();
            self.found[reference].anchor = anchor;
        }
    }

    /// The contexts in the order of references, and the language that the page declares.
    pub(crate) fn finish(mut self) -> (Vec<Context>, Option<String>) {
        self.close();
        (self.found, self.language.map(Cow::into_owned))
    }
}
