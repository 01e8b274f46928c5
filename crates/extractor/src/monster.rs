//! Cuts tags with thousands of attributes out of a page.
//!
//! The tokenizer compares each attribute's name with all earlier ones of its tag, so one tag of a
//! megabyte costs 10^11 comparisons. No real tag comes near the limits below, except that a single
//! quoted value may be long (a `data:` address, a page's state as JSON). A tag that is over them is
//! dropped; what stands behind it stays.

use std::borrow::Cow;

/// Separators between attributes that one tag may have.
const MAX_BARE: usize = 4_000;
/// The same, with those inside quoted values: whoever hides attributes in what looks like a quoted
/// value gets no further.
const MAX_ALL: usize = 40_000;
/// Texts up to this size cannot hold a tag that costs much; they are not searched.
const SMALL: usize = 64 * 1_024;

/// Separators seen since the last `>`.
#[derive(Clone, Copy, Default)]
struct Count {
    bare: usize,
    all: usize,
}

impl Count {
    fn is_monster(self) -> bool {
        self.bare > MAX_BARE || self.all > MAX_ALL
    }
}

/// A stretch that the tokenizer may take for a tag or a part of one.
struct Open {
    start: usize,
    /// The count before it.
    before: Count,
}

/// The text without monster tags. Linear: each byte is looked at once.
pub(crate) fn cut(text: &str) -> Cow<'_, str> {
    if text.len() <= SMALL {
        return text.into();
    }
    let bytes = text.as_bytes();
    let mut kept = String::new();
    let mut kept_to = 0;
    let mut count = Count::default();
    let mut open: Option<Open> = None;
    let mut no_more_of = [false; 256]; // quotes that are known not to be closed any more
    let mut at = 0;
    while at < bytes.len() {
        let Some(tag) = &open else {
            let Some(next) = bytes[at..].iter().position(|&b| b == b'<') else { break };
            at += next;
            if starts_tag(&bytes[at..]) {
                open = Some(Open { start: at, before: count });
            }
            at += 1;
            continue;
        };
        let byte = bytes[at];
        let ends = byte == b'>' || byte == b'<' && bytes.get(at + 1) == Some(&b'/');
        if ends {
            let end = if byte == b'>' { at + 1 } else { at };
            if count.is_monster() {
                kept.push_str(&text[kept_to..tag.start]);
                kept_to = end;
                // What was cut no longer counts; what came before it still does, unless this ends it.
                count = tag.before;
            }
            if byte == b'>' {
                count = Count::default();
            }
            open = None;
            at = end;
            continue;
        }
        let is_quote = byte == b'"' || byte == b'\'';
        if is_quote && bytes[at - 1] == b'=' && !no_more_of[usize::from(byte)] {
            match bytes[at + 1..].iter().position(|&b| b == byte) {
                Some(length) => {
                    let value = &bytes[at + 1..at + 1 + length];
                    count.all += value.iter().filter(|&&b| is_separator(b)).count() + 1;
                    count.bare += 1;
                    at += length + 2;
                    continue;
                }
                None => no_more_of[usize::from(byte)] = true,
            }
        }
        if is_separator(byte) {
            count.bare += 1;
            count.all += 1;
        }
        at += 1;
    }
    if let Some(tag) = open
        && count.is_monster()
    {
        kept.push_str(&text[kept_to..tag.start]);
        kept_to = text.len();
    }
    if kept_to == 0 {
        return text.into();
    }
    kept.push_str(&text[kept_to..]);
    kept.into()
}

fn is_separator(byte: u8) -> bool {
    byte <= b' ' || matches!(byte, b'/' | b'"' | b'\'')
}

fn starts_tag(bytes: &[u8]) -> bool {
    match bytes {
        [b'<', b'/', letter, ..] | [b'<', letter, ..] => letter.is_ascii_alphabetic(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes(n: usize) -> String {
        (0..n).map(|i| format!(" a{i}")).collect()
    }

    #[test]
    fn monsters_go_and_their_neighbours_stay() {
        let many = attributes(30_000);
        let quoted = "x ".repeat(60_000);
        for (monster, left) in [
            (format!("<p>a</p><div{many}>b<p>c"), "<p>a</p>b<p>c"),
            (format!("a<div{many}</script>c"), "a</script>c"),
            (format!("a</div{many}>c"), "ac"),
            (format!("a<div{many}"), "a"),
            // Hidden behind what is no quoted value for the tokenizer.
            (format!("<script>a<b=\"</script><div {quoted}>\"c>d"), "<script>ad"),
            (format!("<div title=\">\"{many}>d"), "d"),
        ] {
            assert_eq!(cut(&monster), left);
        }
    }

    #[test]
    fn pieces_of_one_tag_are_counted_together() {
        let piece = format!("<a{}", attributes(3_000));
        let text = format!("{}</x>z", format!("{piece}</").repeat(40));
        let left = cut(&text);
        assert!(left.len() < 2 * piece.len(), "{} bytes left", left.len());
        assert!(left.ends_with("</x>z"));
    }

    #[test]
    fn long_values_and_long_texts_are_no_monsters() {
        let words = "some words of a text / \"quoted\" ".repeat(10_000);
        let json = "{&quot;k&quot;: 1}, ".repeat(9_000);
        let data = "QUJD".repeat(50_000);
        for text in
            [format!("<pre>{words}</pre>"), format!("<i data-x='{json}'>t"), format!("<img src=\"{data}\">t")]
        {
            assert_eq!(cut(&text), text);
        }
    }
}
