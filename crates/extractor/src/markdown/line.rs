//! A line of Markdown: the text of one block, with marks such as links and emphasis.
//!
//! Whatever the text contains, a reader of CommonMark with GitHub's tables and strikethrough gets it back. A mark that the
//! syntax cannot express at its place, such as `**` between a bracket and a letter, is left out.

use regex::Regex;
use std::rc::Rc;

mod escape;

use escape::{Class, class, escape, fenced, guard, push_destination};

pub(super) use escape::longest_run;

/// A mark around a part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InlineMark {
    Emphasis,
    Strong,
    Strike,
    Code,
    Link(Rc<str>),
}

/// A piece of a line. White space is collapsed, and never stands right inside a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LinePiece {
    Text(String),
    Code(String),
    Image {
        alt: String,
        src: Rc<str>,
    },
    Break,
    Open(InlineMark),
    /// Closes the innermost open mark.
    Close,
}

/// Where a line stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinePlace {
    Paragraph,
    Heading,
    Cell,
}

/// Collects the pieces of a line.
#[derive(Default)]
pub(super) struct LineWriter {
    pieces: Vec<LinePiece>,
    /// The open marks, outermost first. They go on in the next line.
    open: Vec<InlineMark>,
    /// Is there white space since the last word?
    gap: bool,
}

impl LineWriter {
    /// Opens a mark; false if it would mean nothing here: within its like, or within code unless it is a link.
    pub(super) fn enter(&mut self, mark: InlineMark) -> bool {
        let is_like = |open: &InlineMark| std::mem::discriminant(open) == std::mem::discriminant(&mark);
        let is_link = matches!(mark, InlineMark::Link(_));
        if self.open.iter().any(is_like) || !is_link && self.open.contains(&InlineMark::Code) {
            return false;
        }
        self.open.push(mark.clone());
        self.pieces.push(LinePiece::Open(mark));
        true
    }

    /// Closes the innermost mark. One without content leaves nothing.
    pub(super) fn leave(&mut self) {
        self.open.pop();
        match self.pieces.last() {
            Some(LinePiece::Open(_)) => _ = self.pieces.pop(),
            Some(LinePiece::Break) => self.pieces.insert(self.pieces.len() - 1, LinePiece::Close),
            _ => self.pieces.push(LinePiece::Close),
        }
    }

    /// Adds text as written in a document.
    pub(super) fn text(&mut self, text: &str) {
        self.gap |= text.starts_with(char::is_whitespace);
        for word in text.split_whitespace() {
            if self.gap {
                self.space(true);
            }
            self.word(word);
            self.gap = true;
        }
        self.gap &= text.is_empty() || text.ends_with(char::is_whitespace);
    }

    /// Adds text whose line breaks count.
    pub(super) fn lines(&mut self, text: &str) {
        for (number, line) in text.split(['\n', '\r']).enumerate() {
            if number > 0 {
                self.line_break();
            }
            self.text(line);
        }
    }

    pub(super) fn image(&mut self, alt: &str, src: Rc<str>) {
        if self.gap {
            self.space(false);
        }
        let alt = alt.split_whitespace().collect::<Vec<_>>().join(" ");
        self.pieces.push(LinePiece::Image { alt, src });
    }

    /// The last character, if the next word follows right behind it.
    pub(super) fn end(&self) -> Option<char> {
        let is_mark = |piece: &&LinePiece| matches!(piece, LinePiece::Open(_) | LinePiece::Close);
        match self.pieces.iter().rev().find(|piece| !is_mark(piece)) {
            Some(LinePiece::Text(text) | LinePiece::Code(text)) if !self.gap => text.chars().next_back(),
            _ => None,
        }
    }

    /// Separates words.
    pub(super) fn separate(&mut self) {
        self.gap = true;
    }

    /// Breaks the line behind its first word.
    pub(super) fn line_break(&mut self) {
        self.gap = false;
        if let Some(last) = self.last().filter(|_| !self.ends_with_break()) {
            self.pieces.insert(last + 1, LinePiece::Break);
        }
    }

    pub(super) fn ends_with_break(&self) -> bool {
        self.last().is_some_and(|last| self.pieces[last] == LinePiece::Break)
    }

    /// The place of the last piece, but for marks without content.
    fn last(&self) -> Option<usize> {
        self.pieces.iter().rposition(|piece| !matches!(piece, LinePiece::Open(_)))
    }

    /// Ends the line. The next one begins with the marks that are open.
    pub(super) fn take(&mut self) -> Vec<LinePiece> {
        self.gap = false;
        let Some(last) = self.last() else { return Vec::new() };
        let reopened = self.open.iter().cloned().map(LinePiece::Open).collect();
        let mut pieces = std::mem::replace(&mut self.pieces, reopened);
        let without_content = pieces.len() - last - 1;
        pieces.truncate(if pieces[last] == LinePiece::Break { last } else { last + 1 });
        pieces.extend(self.open[without_content..].iter().map(|_| LinePiece::Close));
        pieces
    }

    /// Puts a space before the next word or image, outside of the marks that begin with it.
    fn space(&mut self, is_word: bool) {
        self.gap = false;
        let end = self.pieces.len();
        match self.last().map(|last| (last, &mut self.pieces[last])) {
            None | Some((_, LinePiece::Break)) => {}
            Some((_, LinePiece::Text(text))) => text.push(' '),
            Some((last, LinePiece::Code(text))) if is_word && last + 1 == end => text.push(' '),
            Some((last, _)) => self.pieces.insert(last + 1, LinePiece::Text(" ".into())),
        }
    }

    fn word(&mut self, word: &str) {
        let is_code = self.open.contains(&InlineMark::Code);
        match self.pieces.last_mut() {
            Some(LinePiece::Text(text)) if !is_code => text.push_str(word),
            Some(LinePiece::Code(text)) if is_code => text.push_str(word),
            _ if is_code => self.pieces.push(LinePiece::Code(word.into())),
            _ => self.pieces.push(LinePiece::Text(word.into())),
        }
    }
}

/// A line without what the patterns match.
pub(super) fn strip(mut pieces: Vec<LinePiece>, patterns: &[Regex]) -> Vec<LinePiece> {
    for pattern in patterns {
        let text: String = pieces.iter().filter_map(words).collect();
        let found: Vec<_> = pattern.find_iter(&text).map(|found| found.range()).collect();
        if found.is_empty() {
            continue;
        }
        let (mut line, mut end) = (LineWriter::default(), 0);
        for piece in pieces {
            let start = end;
            end += words(&piece).map_or(0, str::len);
            match piece {
                LinePiece::Text(text) | LinePiece::Code(text) => {
                    let from = found.partition_point(|found| found.end <= start);
                    let to = found.partition_point(|found| found.start < end);
                    let mut at = 0;
                    for found in &found[from.min(to)..to] {
                        line.text(&text[at..found.start.max(start) - start]);
                        at = found.end.min(end) - start;
                    }
                    line.text(&text[at..]);
                }
                LinePiece::Image { alt, src } => line.image(&alt, src),
                LinePiece::Break => line.line_break(),
                LinePiece::Open(mark) => _ = line.enter(mark),
                LinePiece::Close => line.leave(),
            }
        }
        pieces = line.take();
    }
    pieces
}

/// The text of a piece, as a reader sees it.
fn words(piece: &LinePiece) -> Option<&str> {
    match piece {
        LinePiece::Text(text) | LinePiece::Code(text) => Some(text),
        LinePiece::Break => Some("\n"),
        _ => None,
    }
}

/// Writes a line. `links` are the bytes of URLs that may still be written; without them, links are their texts.
pub(super) fn render(pieces: &[LinePiece], place: LinePlace, links: &mut usize) -> String {
    let is_tabular = place == LinePlace::Cell || pieces.contains(&LinePiece::Break);
    let partners = partners(pieces);
    let mut written = vec![false; pieces.len()];
    let (mut out, mut begin, mut open, mut last_sign) = (String::new(), 0, 0, None);
    for (at, piece) in pieces.iter().enumerate() {
        let before_sign = last_sign.take();
        match piece {
            LinePiece::Text(text) => escape(&mut out, text, is_tabular),
            LinePiece::Code(text) => {
                // Two spans side by side would be read as one, and `[`]: …` as the definition of a link.
                match out.ends_with('`') || out[begin..].starts_with('[') && text.contains("]:") {
                    true => escape(&mut out, text, is_tabular),
                    false => out.push_str(&fenced(text, place == LinePlace::Cell)),
                }
            }
            LinePiece::Image { alt, src } if *links >= src.len() => {
                *links -= src.len();
                out.push_str("![");
                escape(&mut out, alt, is_tabular);
                push_destination(&mut out, src);
            }
            LinePiece::Image { .. } => {}
            LinePiece::Break if place == LinePlace::Paragraph => {
                guard(&mut out, begin);
                out.push_str("\\\n");
                begin = out.len();
            }
            LinePiece::Break => out.push_str(if place == LinePlace::Cell { "<br>" } else { " " }),
            LinePiece::Open(InlineMark::Link(url)) if *links >= url.len() => {
                *links -= url.len();
                written[at] = true;
                // Otherwise it would be an image.
                if out.ends_with('!') {
                    out.insert(out.len() - 1, '\\');
                }
                out.push('[');
            }
            LinePiece::Open(mark) => {
                let outer = out.chars().next_back().map_or(Class::Space, class);
                let (inner, end) = (first(&pieces[at + 1..]), partners[at]);
                // Between letters, or signs, it could also end a mark that is open.
                let is_clear = match before_sign {
                    Some(is_opening) => is_opening,
                    None => open == 0 || outer == Class::Space || outer != inner && inner == Class::Letter,
                };
                let may_close = may_open(next(pieces, &partners, end + 1), last(pieces, &partners, end));
                if let Some(sign) = sign(mark).filter(|_| is_clear && may_open(outer, inner) && may_close) {
                    (written[at], open, last_sign) = (true, open + 1, Some(true));
                    out.push_str(sign);
                } else {
                    last_sign = before_sign;
                }
            }
            LinePiece::Close if written[partners[at]] => match &pieces[partners[at]] {
                LinePiece::Open(InlineMark::Link(url)) => push_destination(&mut out, url),
                LinePiece::Open(mark) => {
                    (open, last_sign) = (open - 1, Some(false));
                    out.push_str(sign(mark).unwrap_or_default());
                }
                _ => {}
            },
            LinePiece::Close => last_sign = before_sign,
        }
    }
    if place == LinePlace::Paragraph {
        guard(&mut out, begin);
    }
    out
}

/// For each piece that opens or closes a mark, the place of the other.
fn partners(pieces: &[LinePiece]) -> Vec<usize> {
    let (mut partners, mut open) = (vec![0; pieces.len()], Vec::new());
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            LinePiece::Open(_) => open.push(at),
            LinePiece::Close => {
                let begin = open.pop().unwrap_or(at);
                (partners[at], partners[begin]) = (begin, at);
            }
            _ => {}
        }
    }
    partners
}

/// How a mark is written on both sides, if it needs space or punctuation around it.
fn sign(mark: &InlineMark) -> Option<&'static str> {
    match mark {
        InlineMark::Emphasis => Some("*"),
        InlineMark::Strong => Some("**"),
        InlineMark::Strike => Some("~~"),
        InlineMark::Code | InlineMark::Link(_) => None,
    }
}

/// Does a mark begin between these characters, outer and inner? Read backwards, whether it ends there ("flanking" in
/// CommonMark).
fn may_open(outer: Class, inner: Class) -> bool {
    match inner {
        Class::Space => false,
        Class::Letter => outer != Class::Odd,
        Class::Punctuation | Class::Odd => matches!(outer, Class::Space | Class::Punctuation),
    }
}

/// The first character of pieces.
fn first(pieces: &[LinePiece]) -> Class {
    let class_of = |piece: &LinePiece| match piece {
        LinePiece::Text(text) => text.chars().next().map(class),
        LinePiece::Code(_) | LinePiece::Image { .. } | LinePiece::Open(InlineMark::Link(_)) => {
            Some(Class::Punctuation)
        }
        LinePiece::Break => Some(Class::Space),
        LinePiece::Open(_) | LinePiece::Close => None,
    };
    pieces.iter().find_map(class_of).unwrap_or(Class::Space)
}

/// The character at a place behind a mark.
fn next(pieces: &[LinePiece], partners: &[usize], at: usize) -> Class {
    let is_link = |close: usize| matches!(pieces[partners[close]], LinePiece::Open(InlineMark::Link(_)));
    let closes = pieces[at..].iter().take_while(|piece| **piece == LinePiece::Close).count();
    if (at..at + closes).any(is_link) {
        return Class::Punctuation;
    }
    first(&pieces[at + closes..])
}

/// The last character before a place.
fn last(pieces: &[LinePiece], partners: &[usize], at: usize) -> Class {
    let class_of = |at: usize| match &pieces[at] {
        LinePiece::Text(text) => text.chars().next_back().map(class),
        LinePiece::Code(_) | LinePiece::Image { .. } => Some(Class::Punctuation),
        LinePiece::Close if matches!(pieces[partners[at]], LinePiece::Open(InlineMark::Link(_))) => {
            Some(Class::Punctuation)
        }
        LinePiece::Break => Some(Class::Space),
        LinePiece::Open(_) | LinePiece::Close => None,
    };
    (0..at).rev().find_map(class_of).unwrap_or(Class::Space)
}
