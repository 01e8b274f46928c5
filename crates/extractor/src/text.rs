//! The visible text of a page.
//!
//! What a reader sees counts. Left out:
//! - never shown: `head`, `script`, `style`, `template`, `noscript`, `iframe` (but for its `srcdoc`), media, bars and their
//!   fallbacks, data lists, closed dialogs and popovers; of SVG all but `text` and `foreignObject`; annotations of MathML;
//! - hidden: the attribute `hidden` (except `until-found`), and what an inline style hides (module `look`), but for `html`
//!   and `body`;
//! - attributes: an `alt` stands for an image that did not load, and a `title` or `placeholder` says what to do. Only the
//!   labels of buttons count: the `value` of `input` with `type` `submit`, `button` or `reset`;
//! - the page's frame, which is the same all over a site and changes for other reasons: `nav`;
//!   `header`, `footer` and `aside` outside `main`, `article` and `section`, where they have the
//!   roles banner, content information and complement (HTML-AAM 1.0); and any element whose `role` is
//!   `navigation`, `banner` or `contentinfo`.
//!
//! `aria-hidden` and `inert` hide nothing from a reader, and a page behind a cookie dialog has both. Closed `details` count
//! as `until-found` does: a reader opens them, and a search in the page finds them.
//!
//! If almost all text is in the frame ([`is_mostly_frame`]), the frame is the content and is kept.

use crate::element::{Element, ElementSpace};
use crate::look::Look;
use crate::names::{Attr, Name};
use std::borrow::Cow;

/// The effect of an element on the text inside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextEffect {
    /// Nothing inside is shown.
    pub(crate) hides: bool,
    /// It hides its text, or shows it again.
    pub(crate) is_visible: Option<bool>,
    /// Is it a drawing, whose texts are not shown unless they stand in an element for text?
    pub(crate) is_drawing: Option<bool>,
    /// Do line breaks in its text count?
    pub(crate) keeps_lines: Option<bool>,
    pub(crate) parts: ElementParts,
    /// Does its text stand above the line, or below it?
    pub(crate) is_above: Option<bool>,
    /// It is part of the page's frame.
    pub(crate) is_frame: bool,
    /// It is `main`, `article` or `section`.
    pub(crate) is_section: bool,
    /// It starts and ends a line.
    pub(crate) is_block: bool,
    /// Nothing inside can be a link either, so its children need no walk.
    pub(crate) is_closed: bool,
    /// The part of the page that counts includes it.
    pub(crate) is_included: bool,
    /// The part of the page that counts leaves it out.
    pub(crate) is_ignored: bool,
}

/// How the elements right in another one stand there, with the number of those that were met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ElementParts {
    #[default]
    Plain,
    /// Each in a box of its own.
    Items,
    /// One above the other, with a line that browsers draw.
    Fraction(u8),
    /// The second and the third: above the line, or below it?
    Scripts(u8, [Option<bool>; 2]),
    /// Beside each other, with space between them: the cells of a row, and a root with its index.
    Cells(u8),
}

impl ElementParts {
    /// Of an element of MathML.
    fn of_formula(name: Name) -> ElementParts {
        use Name::*;
        match name {
            Mfrac => ElementParts::Fraction(0),
            Msup | Mover => ElementParts::Scripts(0, [Some(true), None]),
            Msub | Munder => ElementParts::Scripts(0, [Some(false), None]),
            Msubsup | Munderover => ElementParts::Scripts(0, [Some(false), Some(true)]),
            Mroot | Mtr | Mlabeledtr => ElementParts::Cells(0),
            _ => ElementParts::Plain,
        }
    }

    /// Meets an element, and changes its effect. The text that stands before it.
    pub(crate) fn meet(&mut self, effect: &mut TextEffect) -> Option<&'static str> {
        match self {
            ElementParts::Plain => return None,
            ElementParts::Items => {
                effect.is_block = true;
                return None;
            }
            ElementParts::Fraction(met) | ElementParts::Scripts(met, _) | ElementParts::Cells(met) => {
                *met = met.saturating_add(1);
            }
        }
        match self {
            ElementParts::Fraction(2) => Some("/"),
            ElementParts::Cells(2..) => Some(" "),
            ElementParts::Scripts(met @ (2 | 3), are_above) => {
                effect.is_above = are_above[usize::from(*met - 2)];
                None
            }
            _ => None,
        }
    }
}

/// What a text is shown as: the effects of the elements around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShownText {
    is_hidden: bool,
    is_invisible: bool,
    is_in_drawing: bool,
    pub(crate) keeps_lines: bool,
    is_above: Option<bool>,
}

impl ShownText {
    /// Inside of an element.
    pub(crate) fn within(self, effect: &TextEffect) -> ShownText {
        ShownText {
            is_hidden: self.is_hidden || effect.hides,
            is_invisible: effect.is_visible.map_or(self.is_invisible, |is_visible| !is_visible),
            is_in_drawing: effect.is_drawing.unwrap_or(self.is_in_drawing),
            keeps_lines: effect.keeps_lines.unwrap_or(self.keeps_lines),
            is_above: effect.is_above.or(self.is_above),
        }
    }

    /// A text as it is shown here, if this is the character right before it. Digits above or below the line that follow a
    /// digit stay apart from it: 10⁶ is no 106, and 19⁹⁹ no 1999.
    pub(crate) fn set<'t>(self, text: &'t str, before: impl FnOnce() -> Option<char>) -> Cow<'t, str> {
        let Some(is_above) = self.is_above else { return text.into() };
        const ABOVE: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹";
        const BELOW: &str = "₀₁₂₃₄₅₆₇₈₉";
        let zero_to_nine = if is_above { ABOVE } else { BELOW };
        let is_digit = |c: char| c.is_ascii_digit() || ABOVE.contains(c) || BELOW.contains(c);
        let count = text.bytes().take_while(u8::is_ascii_digit).count();
        if count == 0 || !before().is_some_and(is_digit) {
            return text.into();
        }
        let (digits, rest) = text.split_at(count);
        let set = digits.bytes().filter_map(|digit| zero_to_nine.chars().nth(usize::from(digit - b'0')));
        set.chain(rest.chars()).collect::<String>().into()
    }

    /// Inside of an embedded document, which inherits no properties.
    pub(crate) fn in_document(self) -> ShownText {
        ShownText { is_hidden: !self.is_seen(), ..ShownText::default() }
    }

    /// Does a reader see a text here?
    pub(crate) fn is_seen(self) -> bool {
        !(self.is_hidden || self.is_invisible || self.is_in_drawing)
    }
}

/// The effect of an element; `in_section` tells whether an ancestor is a section.
pub(crate) fn effect(element: &Element<'_>, in_section: bool) -> TextEffect {
    use Name::*;
    let mut effect = TextEffect::default();
    // Hidden unless a style says otherwise.
    let mut is_off = false;
    match element.name {
        _ if element.space == ElementSpace::Svg && drawing(element, &mut effect) => {}
        Script | Style | Template => {
            effect.hides = true;
            effect.is_closed = true;
        }
        // A title outside the head is still not text.
        Title | Unassigned => effect.hides = true,
        // One with a document of its own shows that.
        Iframe => effect.hides = element.get(Attr::Srcdoc).is_none(),
        // Browsers that show ruby annotations hide the parentheses for those that do not.
        Head | Noscript | Video | Audio | Canvas | Object | Datalist | Noframes | Noembed | Rp | Progress
        | Meter => effect.hides = true,
        Annotation | AnnotationXml if element.space == ElementSpace::MathMl => effect.hides = true,
        Dialog => {
            effect.is_block = true;
            is_off = element.get(Attr::Open).is_none();
        }
        Nav => {
            effect.is_block = true;
            effect.is_frame = true;
        }
        Header | Footer | Aside => {
            effect.is_block = true;
            effect.is_frame = !in_section;
        }
        Main | Article | Section => {
            effect.is_block = true;
            effect.is_section = true;
        }
        Pre | Listing | Plaintext | Xmp | Textarea => {
            effect.is_block = true;
            effect.keeps_lines = Some(true);
        }
        Sub | Sup => effect.is_above = Some(element.name == Sup),
        A | Abbr | B | Bdi | Bdo | Big | Cite | Code | Data | Del | Dfn | Em | Font | I | Ins | Kbd
        | Label | Mark | Nobr | Q | Ruby | Rb | Rt | S | Samp | Small | Span | Strike | Strong | Time
        | Tt | U | Var | Wbr | Img | Picture | Source | Slot | ShadowRoot => {}
        _ if element.space == ElementSpace::MathMl => {
            effect.is_block = matches!(element.name, Mtr | Mlabeledtr);
            effect.parts = ElementParts::of_formula(element.name);
        }
        // Everything else separates words: blocks, cells, list items, `br`, controls, unknown names.
        _ => effect.is_block = true,
    }
    if !effect.hides && (is_off || !element.attributes.is_empty()) {
        let attributes = element.attributes.iter().map(|(name, value)| (*name, &**value));
        let look = Look::from_attributes(attributes, element.space == ElementSpace::Svg);
        // A page that hides all of itself shows it again by a script.
        let is_page = matches!(element.name, Html | Body);
        effect.hides = look.hides(is_off) && !is_page;
        effect.is_frame |= look.is_frame && !effect.hides;
        // A style may make a line of an element, but two menu entries are two words, whatever puts them side by side.
        effect.is_block |= look.is_block();
        if look.has_items() {
            effect.parts = ElementParts::Items;
        }
        effect.is_visible = look.is_visible.filter(|_| !is_page);
        effect.keeps_lines = look.keeps_lines.or(effect.keeps_lines);
    }
    effect
}

/// The effect of an element of SVG, if it is one of those that decide what is shown.
fn drawing(element: &Element<'_>, effect: &mut TextEffect) -> bool {
    use Name::*;
    match element.name {
        Svg => effect.is_drawing = Some(true),
        Text | ForeignObject => {
            effect.is_block = true;
            effect.is_drawing = Some(false);
        }
        // With a place of its own, it is a line of its own.
        Tspan => effect.is_block = element.get(Attr::X).is_some(),
        TextPath => {}
        // Shown where something else refers to them, if at all.
        ClipPath | Defs | Desc | Filter | LinearGradient | Marker | Mask | Metadata | Pattern
        | RadialGradient | Symbol => effect.hides = true,
        _ => return false,
    }
    true
}

/// The label of a button that has no content, if this is one.
pub(crate) fn label<'e>(element: &'e Element<'_>) -> Option<&'e str> {
    let kind = element.get(Attr::Type).filter(|_| element.is(Name::Input))?;
    let is_button = ["submit", "button", "reset"].iter().any(|button| kind.eq_ignore_ascii_case(button));
    element.get(Attr::Value).filter(|_| is_button).map(|value| &**value)
}

/// Whether so little text is outside the frame that the frame must be the content. Both bounds
/// matter: a short article under a long menu is a page of its own, and a page of menus is not
/// empty.
pub(crate) fn is_mostly_frame(kept: usize, frame: usize) -> bool {
    kept < 200 && kept * 20 < kept + frame
}

/// The lines of a plain text, white space collapsed, cut at a limit.
pub(crate) fn of_lines(text: &str, limit: usize) -> String {
    let mut collapsed = Collapsed::new(limit);
    collapsed.push_lines(text);
    collapsed.finish()
}

/// Text with collapsed white space: one space between words, one newline between blocks, none at
/// either end. Cut at a limit.
pub(crate) struct Collapsed {
    text: String,
    limit: usize,
    gap: TextGap,
}

/// The separator between the text so far and the next word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TextGap {
    None,
    Space,
    Block,
}

impl Collapsed {
    pub(crate) fn new(limit: usize) -> Collapsed {
        Collapsed { text: String::new(), limit, gap: TextGap::None }
    }

    /// Begins or ends a block.
    pub(crate) fn block(&mut self) {
        self.gap = TextGap::Block;
    }

    /// Adds text as written in a document.
    pub(crate) fn push(&mut self, text: &str) {
        self.push_with(text, TextGap::Space);
    }

    /// Adds preformatted text: each of its lines is a block.
    pub(crate) fn push_lines(&mut self, text: &str) {
        self.push_with(text, TextGap::Block);
    }

    /// Adds text, with this gap for white space that has a line break.
    fn push_with(&mut self, text: &str, line_break: TextGap) {
        let bytes = text.as_bytes();
        let mut at = 0;
        loop {
            let spaces = spaces(bytes, at);
            if spaces > 0 {
                let has_break = |spaces: &[u8]| memchr::memchr2(b'\n', b'\r', spaces).is_some();
                let is_line = line_break == TextGap::Block && has_break(&bytes[at..at + spaces]);
                self.gap = self.gap.max(if is_line { TextGap::Block } else { TextGap::Space });
                at += spaces;
            }
            if at == bytes.len() {
                return;
            }
            let end = run_end(bytes, at);
            self.run(&text[at..end]);
            at = end;
        }
    }

    /// Appends words with one space between them.
    fn run(&mut self, words: &str) {
        if self.text.len() >= self.limit {
            return;
        }
        match std::mem::replace(&mut self.gap, TextGap::None) {
            _ if self.text.is_empty() => {}
            TextGap::None => {}
            TextGap::Space => self.text.push(' '),
            TextGap::Block => self.text.push('\n'),
        }
        self.text.push_str(words);
        if self.text.len() > self.limit {
            let end = (0..=self.limit).rev().find(|&at| self.text.is_char_boundary(at)).unwrap_or(0);
            self.text.truncate(end);
            // Later words must not fill the gap that cutting at a character left.
            self.limit = self.text.len();
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// The last character, if the next word follows right behind it.
    pub(crate) fn last(&self) -> Option<char> {
        self.text.chars().next_back().filter(|_| self.gap == TextGap::None)
    }

    pub(crate) fn finish(mut self) -> String {
        let end = self.text.trim_end().len(); // a cut can leave a gap at the end
        self.text.truncate(end);
        self.text
    }
}

/// Length of the white space (Unicode property White_Space) at `at`.
fn spaces(bytes: &[u8], at: usize) -> usize {
    let mut end = at;
    while let Some(&byte) = bytes.get(end) {
        end += match byte {
            b' ' | b'\t'..=b'\r' => 1,
            0x00..0x80 => break,
            _ => match wide_space(&bytes[end..]) {
                0 => break,
                n => n,
            },
        };
    }
    end - at
}

/// End of the run of words that begins at `at`: the end of the text, or the first white space that
/// is not a single plain space between two words.
fn run_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at;
    loop {
        while let Some([block @ .., _]) = bytes.get(end..end + 9)
            && are_plain(block, &bytes[end + 1..end + 9])
        {
            end += 8;
        }
        // One of the next eight bytes, or their number, needs a closer look.
        for _ in 0..8 {
            let Some(&byte) = bytes.get(end) else { return end };
            let ends = match byte {
                b' ' => bytes.get(end + 1).is_none_or(|&next| next <= b' ' || next >= 0x80),
                b'\t'..=b'\r' => true,
                0xC2 | 0xE1..=0xE3 => wide_space(&bytes[end..]) > 0,
                _ => false,
            };
            if ends {
                return end;
            }
            end += 1;
        }
    }
}

/// Are eight bytes visible ASCII, and spaces before visible ASCII? `next` are their successors.
fn are_plain(bytes: &[u8], next: &[u8]) -> bool {
    const ONES: u64 = u64::MAX / 0xFF;
    const HIGH: u64 = ONES * 0x80;
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    // The high bit of each byte whose other bits are below a limit; no sum crosses a byte.
    let below = |word: u64, limit: u64| !((word & !HIGH) + ONES * (0x80 - limit)) & HIGH;
    let (word, next) = (word(bytes), word(next));
    let before_odd = below(word, 0x21) & (below(next, 0x21) | next);
    (before_odd | below(word, 0x20) | word) & HIGH == 0
}

/// Length of the non-ASCII space at the start of `bytes`, 0 for none.
fn wide_space(bytes: &[u8]) -> usize {
    match bytes {
        [0xC2, 0x85 | 0xA0, ..] => 2,
        [0xE1, 0x9A, 0x80, ..] => 3,
        [0xE2, 0x80, 0x80..=0x8A | 0xA8 | 0xA9 | 0xAF, ..] => 3,
        [0xE2, 0x81, 0x9F, ..] => 3,
        [0xE3, 0x80, 0x80, ..] => 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_preformatted_line_is_a_block() {
        for (text, expected) in [
            ("one two\n  three\n\nfour\n", "one two\nthree\nfour"),
            ("a\r\nb\rc", "a\nb\nc"),
            ("a \t b\u{a0}\nc", "a b\nc"),
            (" ", ""),
        ] {
            let mut lines = Collapsed::new(100);
            lines.push_lines(text);
            assert_eq!(lines.finish(), expected, "{text:?}");
        }
        let mut parts = Collapsed::new(100);
        for part in ["a", "\n", "b", " ", "c"] {
            parts.push_lines(part);
        }
        assert_eq!(parts.finish(), "a\nb c");
    }

    #[test]
    fn text_is_cut_at_a_character_and_never_refilled() {
        let mut text = Collapsed::new(6);
        text.push("grüß");
        text.push("e a b");
        assert_eq!(text.finish(), "grüß");
        let mut text = Collapsed::new(5);
        text.push("abcd");
        text.block();
        text.push("ü");
        assert_eq!(text.finish(), "abcd");
    }

    proptest! {
        #[test]
        fn collapsing_equals_splitting_at_white_space(
            pieces in proptest::collection::vec("[ab\u{85}\u{a0}\u{1680}\u{2003}\u{2028}\u{202f}\u{205f}\u{3000}\u{200b}ß€\t\n ]{0,8}|[a-d ]{0,40}|[a-d\u{1}\u{7f} é\n]{0,40}", 0..6)
        ) {
            let mut text = Collapsed::new(1 << 20);
            for piece in &pieces {
                text.push(piece);
            }
            let whole = pieces.concat();
            let expected: Vec<&str> = whole.split_whitespace().collect();
            prop_assert_eq!(text.finish(), expected.join(" "));
        }
    }
}
