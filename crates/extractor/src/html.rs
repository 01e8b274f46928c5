//! Text to tree: html5ever's parser writing into scraper's tree, with bounds.
//!
//! The parser follows the HTML standard, and the standard's algorithm has no bound of its own: each
//! tag may look through all open elements, and unclosed formatting elements are opened again in every
//! paragraph, so a page of 1 MB can cost minutes and gigabytes. Browsers cap the depth; so does this:
//! the parser sits behind a filter of tokens that
//! - closes elements from the inside when more than [`MAX_OPEN`] are open, so that what is deeper
//!   becomes a sibling, and none of its links or text is lost;
//! - stops when the tree has far more nodes than the page has tags ([`Filter::is_exploding`]);
//! - drops comments and the attributes that nothing here reads.
//!
//! A tag with thousands of attributes costs their square in the tokenizer, before any token; such a
//! tag is cut out of the text beforehand (module `monster`).

use crate::monster;
use html5ever::buffer_queue::BufferQueue;
use html5ever::interface::{Tracer, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    EndTag, StartTag, Tag, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};
use html5ever::{LocalName, TokenizerResult, local_name};
use scraper::{Html, HtmlTreeSink};
use std::cell::{Cell, RefCell};

type Handle = <HtmlTreeSink as TreeSink>::Handle;

/// Open elements (and formatting elements to be opened again) beyond which the innermost are closed.
/// Browsers' cap is 512.
const MAX_OPEN: usize = 512;
/// How many stay open then.
const KEPT_OPEN: usize = 256;
/// How many start tags go by between two looks at the bounds.
const LOOK_EVERY: u32 = 64;

/// Parses a document. Never fails: the standard gives every text a tree.
pub(crate) fn parse(text: &str) -> Html {
    let text = monster::cut(text);
    // Without scripting, the content of <noscript> is elements, so its links can be read.
    let options = TreeBuilderOpts { scripting_enabled: false, drop_doctype: true, ..Default::default() };
    let builder = TreeBuilder::new(HtmlTreeSink::new(Html::new_document()), options);
    let filter = Filter { builder, start_tags: Cell::new(0), stopped: Cell::new(false) };
    let tokenizer = Tokenizer::new(filter, TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(&text));
    // The tokenizer pauses behind scripts and encoding labels, of which neither matters here.
    while !matches!(tokenizer.feed(&input), TokenizerResult::Done) {}
    tokenizer.end();
    tokenizer.sink.builder.sink.finish()
}

/// The filter of tokens in front of the tree builder.
struct Filter {
    builder: TreeBuilder<Handle, HtmlTreeSink>,
    start_tags: Cell<u32>,
    /// The page explodes: nothing more is taken from it.
    stopped: Cell<bool>,
}

impl TokenSink for Filter {
    type Handle = Handle;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<Handle> {
        match token {
            Token::CommentToken(_) | Token::ParseError(_) => TokenSinkResult::Continue,
            Token::EOFToken => self.builder.process_token(token, line),
            _ if self.stopped.get() => TokenSinkResult::Continue,
            Token::TagToken(mut tag) if tag.kind == StartTag => {
                tag.attrs.retain(|a| is_read(&a.name.local));
                self.start_tags.set(self.start_tags.get().wrapping_add(1));
                if self.start_tags.get().is_multiple_of(LOOK_EVERY) {
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
    fn keep_bounds(&self, line: u64) {
        let open = self.open();
        if open.len() > MAX_OPEN {
            for name in open[KEPT_OPEN..].iter().rev() {
                let tag = Tag {
                    kind: EndTag,
                    name: name.clone(),
                    self_closing: false,
                    attrs: Vec::new(),
                    had_duplicate_attributes: false,
                };
                // An end tag never asks the tokenizer for anything but a pause behind a script.
                let _ = self.builder.process_token(Token::TagToken(tag), line);
            }
        }
        if self.is_exploding() || open.len() > MAX_OPEN && self.open().len() > MAX_OPEN {
            self.stopped.set(true);
        }
    }

    /// Names of the elements that the builder holds, outermost first, then the formatting elements.
    fn open(&self) -> Vec<LocalName> {
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
        if handles.len() <= MAX_OPEN {
            return Vec::new();
        }
        let html = self.builder.sink.0.borrow();
        let name =
            |h: Handle| html.tree.get(h)?.value().as_element().map(|e| e.name.local.to_ascii_lowercase());
        handles.into_iter().filter_map(name).collect()
    }

    /// Has the tree far more nodes than the tags seen account for? A start tag makes one element, one
    /// text and, at worst in sound pages, a few implied or reopened elements.
    fn is_exploding(&self) -> bool {
        let nodes = self.builder.sink.0.borrow().tree.values().len();
        nodes > 2_000 + 6 * self.start_tags.get() as usize
    }
}

/// The attributes that the walk reads, and the three that decide how the parser treats `<font>` and
/// `<annotation-xml>` in foreign content.
fn is_read(name: &LocalName) -> bool {
    matches!(
        *name,
        local_name!("href")
            | local_name!("src")
            | local_name!("rel")
            | local_name!("name")
            | local_name!("content")
            | local_name!("http-equiv")
            | local_name!("hreflang")
            | local_name!("role")
            | local_name!("hidden")
            | local_name!("aria-hidden")
            | local_name!("style")
            | local_name!("open")
            | local_name!("type")
            | local_name!("encoding")
            | local_name!("color")
            | local_name!("face")
            | local_name!("size")
            | local_name!("xlink:href")
    )
}
