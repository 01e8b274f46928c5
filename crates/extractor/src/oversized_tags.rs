//! Ends tags that have too many attributes.
//!
//! The tokenizer compares each attribute's name with all earlier ones of its tag, so one tag of a
//! megabyte costs 10^10 comparisons. This pass over the text puts a `>` before the first attribute
//! beyond [`MAX_ATTRIBUTES`]; nothing else of the text changes.
//!
//! Whether a `<` begins a tag depends on the tree: in a script or a comment it does not. So the
//! pass reads every `<x` as a tag and follows all these readings at once. Readings in the same
//! state continue alike, so only the one with the most attributes is kept. There are never more
//! readings than the tokenizer has states inside a tag, and the true one is always among them.

use memchr::{memchr, memchr2};
use std::borrow::Cow;
use std::cmp::Reverse;

/// Maximum attributes of a tag. Real tags have a few dozen.
pub(crate) const MAX_ATTRIBUTES: usize = 256;

/// The tokenizer's states inside a tag (WHATWG HTML §13.2.5), merged where they agree on where an
/// attribute begins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TagState {
    /// After the `<`.
    TagOpen,
    TagName,
    /// Before an attribute's name, after a quoted value, or after a `/`.
    Between,
    Name,
    AfterName,
    BeforeValue,
    DoubleQuoted,
    SingleQuoted,
    Unquoted,
}

impl TagState {
    /// The state after this byte, and whether an attribute begins with it; `None` at the tag's end.
    fn after(self, byte: u8) -> Option<(TagState, bool)> {
        use TagState::*;
        let is_space = matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0C);
        let next = match (self, byte) {
            (TagOpen, _) => TagName,
            (DoubleQuoted, b'"') | (SingleQuoted, b'\'') => Between,
            (DoubleQuoted | SingleQuoted, _) => self,
            (_, b'>') => return None,
            (BeforeValue, _) if is_space => BeforeValue,
            (BeforeValue, b'"') => DoubleQuoted,
            (BeforeValue, b'\'') => SingleQuoted,
            (Name | AfterName, b'=') => BeforeValue,
            (Name | AfterName, _) if is_space => AfterName,
            (TagName | Between | Unquoted, _) if is_space => Between,
            (BeforeValue | Unquoted, _) => Unquoted,
            (_, b'/') => Between,
            (TagName | Name, _) => self,
            (Between | AfterName, _) => return Some((Name, true)),
        };
        Some((next, false))
    }
}

/// One reading of the text as a tag: its state and its number of attributes so far.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct TagReading {
    state: TagState,
    attributes: Reverse<usize>,
}

/// The readings that have not ended, one for each state.
struct Readings(Vec<TagReading>);

impl Readings {
    fn begin(&mut self) {
        self.0.push(TagReading { state: TagState::TagOpen, attributes: Reverse(0) });
        self.merge();
    }

    /// Whether an attribute over the limit begins with this byte.
    fn are_over_limit(&self, byte: u8) -> bool {
        let is_full = |reading: &TagReading| reading.attributes.0 == MAX_ATTRIBUTES;
        let begins = |reading: &TagReading| reading.state.after(byte).is_some_and(|(_, begins)| begins);
        self.0.iter().any(|reading| is_full(reading) && begins(reading))
    }

    fn read(&mut self, byte: u8) {
        self.0.retain_mut(|reading| {
            let next = reading.state.after(byte);
            if let Some((state, begins)) = next {
                reading.state = state;
                reading.attributes.0 += usize::from(begins);
            }
            next.is_some()
        });
        self.merge();
    }

    /// Keeps, of the readings in one state, the one with the most attributes.
    fn merge(&mut self) {
        if self.0.len() > 1 {
            self.0.sort_unstable();
            self.0.dedup_by_key(|reading| reading.state);
        }
    }

    /// Skips bytes whose effect is obvious, and returns their number. Outside of tags it skips to a
    /// `<`. In a single reading it skips to the reading's end, a `<`, or the attribute over the
    /// limit.
    fn advance(&mut self, bytes: &[u8]) -> usize {
        let next = |quote, bytes: &[u8]| memchr2(b'<', quote, bytes).unwrap_or(bytes.len());
        let [reading] = &mut self.0[..] else {
            return if self.0.is_empty() { memchr(b'<', bytes).unwrap_or(bytes.len()) } else { 0 };
        };
        let mut at = 0;
        loop {
            at += match reading.state {
                TagState::DoubleQuoted => next(b'"', &bytes[at..]),
                TagState::SingleQuoted => next(b'\'', &bytes[at..]),
                _ => 0,
            };
            let Some(&byte) = bytes.get(at).filter(|byte| **byte != b'<') else { return at };
            let Some((state, begins)) = reading.state.after(byte) else { return at };
            if begins && reading.attributes.0 == MAX_ATTRIBUTES {
                return at;
            }
            reading.state = state;
            reading.attributes.0 += usize::from(begins);
            at += 1;
        }
    }
}

/// The text with a `>` before each attribute over the limit.
pub(crate) fn bound(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut bounded = String::new();
    let mut copied = 0;
    let mut readings = Readings(Vec::new());
    let mut at = 0;
    loop {
        at += readings.advance(&bytes[at..]);
        let Some(&byte) = bytes.get(at) else { break };
        if readings.are_over_limit(byte) {
            // An attribute begins here, so this is a character boundary.
            bounded.push_str(&text[copied..at]);
            bounded.push('>');
            copied = at;
            readings.read(b'>');
        }
        readings.read(byte);
        if begins_tag(&bytes[at..]) {
            readings.begin();
        }
        at += 1;
    }
    if bounded.is_empty() {
        return text.into();
    }
    bounded.push_str(&text[copied..]);
    bounded.into()
}

fn begins_tag(bytes: &[u8]) -> bool {
    match bytes {
        [b'<', b'/', letter, ..] | [b'<', letter, ..] => letter.is_ascii_alphabetic(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use html5ever::TokenizerResult;
    use html5ever::buffer_queue::BufferQueue;
    use html5ever::tendril::StrTendril;
    use html5ever::tokenizer::{Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};
    use proptest::prelude::*;
    use std::cell::Cell;

    fn attributes(numbers: std::ops::Range<usize>) -> String {
        numbers.map(|i| format!(" a{i}")).collect()
    }

    #[test]
    fn a_tag_ends_with_its_last_permitted_attribute() {
        let most = MAX_ATTRIBUTES;
        let (many, rest) = (attributes(0..most), attributes(most..most + 9));
        let (first, more) = rest.split_at(1);
        for (text, bounded) in [
            (format!("<p>a<div{many}>b"), format!("<p>a<div{many}>b")),
            (format!("<p>a<div{many}{rest}>b"), format!("<p>a<div{many}{first}>{more}>b")),
            (format!("</div{many}{rest}>b"), format!("</div{many}{first}>{more}>b")),
            (format!("<div{many}{rest}"), format!("<div{many}{first}>{more}")),
            // Hidden after a value that is not quoted for the tokenizer.
            (
                format!("<script>a<b=\"</script><div{many}{rest}>\"c>d"),
                format!("<script>a<b=\"</script><div{many}{first}>{more}>\"c>d"),
            ),
            (format!("<div title=\">\"{many}>d"), {
                let (most, last) = many.rsplit_once(' ').unwrap();
                format!("<div title=\">\"{most} >{last}>d")
            }),
        ] {
            assert_eq!(bound(&text), bounded);
        }
    }

    #[test]
    fn long_values_and_long_texts_stay() {
        let words = "some words of a text / \"quoted\" ".repeat(10_000);
        let json = "{&quot;k&quot;: 1}, ".repeat(9_000);
        let data = "QUJD".repeat(50_000);
        for text in
            [format!("<pre>{words}</pre>"), format!("<i data-x='{json}'>t"), format!("<img src=\"{data}\">t")]
        {
            assert!(bound(&text) == text);
        }
    }

    #[test]
    fn what_only_looks_like_a_tag_ends_with_it() {
        let script = "for (i=0;i<n ;i++) { a = \"<b \" + c }\n".repeat(3_000);
        let behind = "--></script><p title='a>b'>text<a href=/x class=y>link</a>";
        for before in ["<script>", "<!-- "] {
            let text = format!("{before}{script}{behind}");
            let bounded = bound(&text);
            assert!(bounded.starts_with(before) && bounded.ends_with(behind));
            assert_eq!(bounded.replace(" >", " "), text, "nothing is lost");
        }
    }

    /// The most attributes of a tag, as the tokenizer sees it.
    fn most_attributes(text: &str) -> usize {
        struct Most(Cell<usize>);
        impl TokenSink for Most {
            type Handle = ();
            fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
                if let Token::TagToken(tag) = token {
                    self.0.set(self.0.get().max(tag.attrs.len()));
                }
                TokenSinkResult::Continue
            }
        }
        let tokenizer = Tokenizer::new(Most(Cell::new(0)), TokenizerOpts::default());
        let input = BufferQueue::default();
        input.push_back(StrTendril::from_slice(text));
        while !matches!(tokenizer.feed(&input), TokenizerResult::Done) {}
        tokenizer.end();
        tokenizer.sink.0.get()
    }

    proptest! {
        /// However a tag is written, the tokenizer finds at most the permitted number of
        /// attributes.
        #[test]
        fn the_tokenizer_never_sees_more(
            pieces in proptest::collection::vec(
                (prop_oneof![
                    Just("<a"), Just("</b"), Just("<"), Just(">"), Just(" "), Just("/"), Just("="), Just("\""),
                    Just("'"), Just(" #"), Just("/#"), Just(" #=#"), Just(" #='#' "), Just("#=\"#\""), Just(" = "),
                    Just("<!--"), Just("-->"), Just("\n#\t"), Just(" #é"), Just("\r"), Just("\0#"),
                ], 1usize..300),
                1..8,
            )
        ) {
            let mut number = 0;
            let mut text = "<a ".to_owned();
            for (piece, times) in pieces {
                for _ in 0..times {
                    number += 1;
                    text.push_str(&piece.replace('#', &format!("n{number}")));
                }
            }
            prop_assert!(most_attributes(&bound(&text)) <= MAX_ATTRIBUTES);
        }
    }
}
