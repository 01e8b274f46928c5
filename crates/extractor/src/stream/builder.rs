//! Follows the tree construction of WHATWG HTML §13.2.6, as html5ever does it, without a tree.
//!
//! Where the standard only appends to the current node, the order of the tree is the order of the
//! page, so elements and texts go to the walk at once. Where it would put something elsewhere, or
//! move what is there, the page is [`Slow`].

use super::Slow;
use super::stack::{Formatting, Open, StackScope};
use super::tokens::{ContentModel, HtmlToken, HtmlTokens, Tag, TextToken};
use crate::element::Element;
use crate::html::{self, Attributes};
use crate::names::Name::{self, *};
use crate::noscript::NoscriptReader;
use crate::shadow;
use crate::walk::Walk;
use scraper::Node;

mod end_tags;
mod formatting;
mod start_tags;
mod tables;

/// Maximum open and active formatting elements; below the number at which `html` closes some.
const MANY_OPEN: usize = 400;
/// Maximum elements that no start tag explains; below the number at which `html` stops.
const MANY_IMPLIED: u32 = 600;

/// The insertion mode.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Initial,
    BeforeHtml,
    BeforeHead,
    InHead,
    AfterHead,
    InBody,
    InTable,
    InCaption,
    InColumnGroup,
    InTableBody,
    InRow,
    InCell,
    InTemplate,
    AfterBody,
    AfterAfterBody,
}

/// Whether the page wants the quirks of old browsers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quirks {
    No,
    Yes,
    /// Its doctype decides, which is none of the usual.
    Unknown,
}

/// What became of a token.
enum TokenStep {
    Done,
    /// The new mode decides.
    Again,
}

pub(super) struct Builder<'d, 'w> {
    walk: &'w mut Walk<'d>,
    noscripts: NoscriptReader,
    tokens: HtmlTokens<'d>,
    mode: Mode,
    quirks: Quirks,
    open: Vec<Open<'d>>,
    /// Number of open `p` elements.
    paragraphs: u32,
    formatting: Vec<Formatting<'d>>,
    /// The mode in each open template. The walk reads nothing in them.
    templates: Vec<Mode>,
    /// Has the head ended? It stays open, since some elements behind it are still put into it.
    is_behind_head: bool,
    /// The element that the next controls belong to.
    form: Option<u32>,
    /// Elements so far.
    ids: u32,
    /// Elements so far that no start tag explains.
    implied: u32,
    /// An upper bound of the steps that the tree's builder takes for the page so far.
    steps: u64,
    budget: u64,
    /// Is a newline skipped if it comes next?
    skips_newline: bool,
    /// Are there carriage returns in the page?
    has_returns: bool,
}

impl<'d, 'w> Builder<'d, 'w> {
    /// `budget` are the steps that the tree's builder may take.
    pub(super) fn new(text: &'d str, budget: u64, walk: &'w mut Walk<'d>) -> Builder<'d, 'w> {
        Builder {
            walk,
            noscripts: NoscriptReader::default(),
            tokens: HtmlTokens::new(text),
            mode: Mode::Initial,
            quirks: Quirks::Yes,
            open: Vec::with_capacity(64),
            paragraphs: 0,
            formatting: Vec::with_capacity(16),
            templates: Vec::new(),
            is_behind_head: false,
            form: None,
            ids: 0,
            implied: 0,
            steps: 0,
            budget,
            skips_newline: false,
            has_returns: memchr::memchr(b'\r', text.as_bytes()).is_some(),
        }
    }

    /// Reads the page. True if something in it looks like a tag that is none.
    pub(super) fn run(mut self) -> Result<bool, Slow> {
        let mut element = Element::bare(Other);
        loop {
            let token = self.tokens.next(&mut element)?;
            let skips_newline = std::mem::take(&mut self.skips_newline);
            match token {
                HtmlToken::Text(part) => {
                    let text = part.as_str();
                    let is_written = matches!(part, TextToken::Text(_));
                    // The line break behind `<pre>` and its like is no text (§13.2.6.4.7). A carriage return
                    // may stand for one.
                    let rest = match text.strip_prefix('\r').filter(|_| is_written) {
                        Some(rest) => Some(rest.strip_prefix('\n').unwrap_or(rest)),
                        None => text.strip_prefix('\n'),
                    };
                    let text = rest.filter(|_| skips_newline).unwrap_or(text);
                    if !text.is_empty() {
                        self.text(text)?;
                    }
                }
                HtmlToken::Start(tag) => {
                    self.steps += 8;
                    let content = self.start(&mut element, &tag)?;
                    if content != ContentModel::Markup {
                        self.content(&tag, content)?;
                    }
                    // The tree's tokenizer pauses behind these, and drops a byte order mark after a pause.
                    if matches!(tag.name, Meta | Link | Base | Basefont | Bgsound | Script)
                        && self.tokens.is_at_mark()
                    {
                        return Err(Slow("byte order mark"));
                    }
                }
                HtmlToken::End(tag) => {
                    self.steps += 8;
                    self.end(&tag)?;
                    if tag.name == Script && self.tokens.is_at_mark() {
                        return Err(Slow("byte order mark"));
                    }
                }
                HtmlToken::Doctype(doctype) => self.doctype(doctype),
                HtmlToken::Eof => break,
            }
            // Here the bounds of the module `html` could apply, and then only the tree tells what is read.
            if self.steps > self.budget {
                return Err(Slow("many steps"));
            }
        }
        self.close_down_to(0);
        Ok(self.tokens.has_other_readings)
    }

    fn doctype(&mut self, doctype: &str) {
        if self.mode == Mode::Initial {
            let name = doctype.strip_prefix(|c: char| c.is_ascii_whitespace()).map(str::trim_ascii);
            self.quirks = match name {
                Some(name) if name.eq_ignore_ascii_case("html") => Quirks::No,
                _ => Quirks::Unknown,
            };
            self.mode = Mode::BeforeHtml;
        }
    }

    /// Reads the one text of the element that was just opened, and closes it.
    fn content(&mut self, tag: &Tag<'d>, kind: ContentModel) -> Result<(), Slow> {
        let content = self.tokens.content(tag, kind)?;
        self.steps += 8;
        if !matches!(tag.name, Script | Style) {
            let mut at = content.start;
            while let Some(part) = self.tokens.part(&mut at, content.end, kind)? {
                match tag.name {
                    Noscript => self.read_noscript(part.as_str())?,
                    _ => self.read_text(part.as_str()),
                }
            }
        }
        self.close_down_to(self.open.len() - 1);
        Ok(())
    }

    /// Reads the content of a `noscript` element. Without markup it is a text that nobody sees.
    fn read_noscript(&mut self, content: &str) -> Result<(), Slow> {
        if !self.templates.is_empty() {
            return Ok(());
        }
        let parse = |content: &str| html::parse_fragment(content, Attributes::Read);
        if let Some(html) = self.noscripts.read(content, parse) {
            let is_root =
                |node: &Node| node.as_element().is_some_and(|element| shadow::is_root(&element.name));
            if html.tree.values().any(is_root) {
                return Err(Slow("shadow tree"));
            }
            self.walk.fragment(&html);
        }
        Ok(())
    }

    fn top(&self) -> Option<&Open<'d>> {
        self.open.last()
    }

    fn top_is(&self, name: Name) -> bool {
        self.top().is_some_and(|open| open.is(name))
    }

    /// Opens an element as a child of the current node.
    fn insert(&mut self, element: &Element<'d>, tag: Option<&Tag<'d>>) -> Result<u32, Slow> {
        self.steps += 6;
        if self.form.is_some() {
            self.steps += self.open.len() as u64;
        }
        if self.open.len() + self.formatting.len() >= MANY_OPEN {
            return Err(Slow("deep"));
        }
        let id = self.ids;
        self.ids += 1;
        self.paragraphs += u32::from(element.is(P));
        self.open.push(Open::new(element, tag.map_or("", |tag| tag.spelling), id));
        if self.templates.is_empty() {
            self.walk.enter(element);
        }
        Ok(id)
    }

    /// Opens and closes an element.
    fn insert_void(&mut self, element: &Element<'d>) -> Result<(), Slow> {
        self.insert(element, None)?;
        self.close_down_to(self.open.len() - 1);
        Ok(())
    }

    /// Opens an element that no tag began.
    fn imply(&mut self, name: Name) -> Result<(), Slow> {
        self.implied += 1;
        if self.implied > MANY_IMPLIED {
            return Err(Slow("many implied elements"));
        }
        self.insert(&Element::bare(name), None).map(|_| ())
    }

    /// Closes open elements until so many are left.
    fn close_down_to(&mut self, count: usize) {
        while self.open.len() > count
            && let Some(open) = self.open.pop()
        {
            self.steps += 1;
            self.paragraphs -= u32::from(open.is(P));
            if open.is(Template) {
                self.templates.pop();
            }
            if self.templates.is_empty() {
                self.walk.leave();
            }
        }
    }

    /// The innermost open element with a property, if no bound of the scope is in between.
    fn in_scope(&mut self, scope: StackScope, has: impl Fn(&Open<'d>) -> bool) -> Option<usize> {
        let mut found = None;
        let mut seen = 1;
        for (at, open) in self.open.iter().enumerate().rev() {
            seen += 2;
            if has(open) {
                found = Some(at);
                break;
            }
            if open.bounds(scope) {
                break;
            }
        }
        self.steps += seen;
        found
    }

    fn is_in_scope(&mut self, scope: StackScope, name: Name) -> bool {
        self.in_scope(scope, |open| open.is(name)).is_some()
    }

    /// Closes the elements at the top that an end tag implies, except those of a name.
    fn close_implied(&mut self, except: Name) {
        self.steps += 1;
        while self.top().is_some_and(|open| open.has_implied_end() && open.name != except) {
            self.close_down_to(self.open.len() - 1);
        }
    }

    /// Closes elements until one with the property has been closed.
    fn close_through(&mut self, has: impl Fn(&Open<'d>) -> bool) {
        let at = self.open.iter().rposition(has).unwrap_or(0);
        self.close_down_to(at);
    }

    fn close_paragraph(&mut self) {
        // Most pages have no open `p` here, and the search would go down to the root.
        if self.paragraphs == 0 {
            self.steps += 2 * self.open.len() as u64;
        } else if self.is_in_scope(StackScope::Button, P) {
            self.close_implied(P);
            self.close_through(|open| open.is(P));
        }
    }

    fn text(&mut self, text: &str) -> Result<(), Slow> {
        let words = text.trim_ascii_start();
        self.steps += 8;
        if let Some(top) = self.top()
            && !top.is_html()
        {
            if top.is_integration_point() {
                if !matches!(self.mode, Mode::InBody | Mode::InCaption | Mode::InCell) {
                    return Err(Slow("text in foreign content"));
                }
                self.reconstruct()?;
            }
            self.read_text(text);
            return Ok(());
        }
        match self.mode {
            Mode::InBody | Mode::InCaption | Mode::InCell | Mode::InTemplate => self.reconstruct()?,
            Mode::AfterBody | Mode::AfterAfterBody => {
                if !words.is_empty() {
                    self.mode = Mode::InBody;
                }
                self.reconstruct()?;
            }
            Mode::InTable | Mode::InTableBody | Mode::InRow if !self.templates.is_empty() => {
                if !words.is_empty() || !self.top().is_some_and(Open::is_table_part) {
                    self.reconstruct()?;
                }
            }
            Mode::InTable | Mode::InTableBody | Mode::InRow | Mode::InColumnGroup => {
                // Text in a table moves in front of it (foster parenting, §13.2.6.1), where the walk has been
                // already.
                if !words.is_empty() {
                    return Err(Slow("before a table"));
                }
            }
            // White space is nothing before the body.
            _ if words.is_empty() => return Ok(()),
            _ => {
                while self.mode != Mode::InBody {
                    self.advance()?;
                }
                self.read_text(words);
                return Ok(());
            }
        }
        self.read_text(text);
        Ok(())
    }

    fn read_text(&mut self, text: &str) {
        if !self.templates.is_empty() {
            return;
        }
        if !self.has_returns {
            return self.walk.text(text);
        }
        // A line ends with one character in the tree, and the frame's characters are counted.
        let mut lines = text.split("\r\n");
        lines.next().into_iter().for_each(|line| self.walk.text(line));
        for line in lines {
            self.walk.text("\n");
            self.walk.text(line);
        }
    }

    /// The mode after one before the body, for a token that has no place in it.
    fn advance(&mut self) -> Result<(), Slow> {
        self.mode = match self.mode {
            Mode::Initial => {
                self.quirks = Quirks::Yes;
                Mode::BeforeHtml
            }
            Mode::BeforeHtml => {
                self.imply(Html)?;
                Mode::BeforeHead
            }
            Mode::BeforeHead => {
                self.imply(Head)?;
                Mode::InHead
            }
            Mode::InHead => self.end_head(),
            _ => {
                self.close_down_to(1);
                self.imply(Body)?;
                Mode::InBody
            }
        };
        Ok(())
    }

    fn end_head(&mut self) -> Mode {
        self.is_behind_head = true;
        Mode::AfterHead
    }
}
