//! A text as a reader sees it: composed (NFC), and without characters that show nothing, such as soft hyphens, joiners and
//! marks of direction.
//!
//! Servers put such characters into a text to recognise copies, and editors leave them behind. Nobody sees a change.

use std::borrow::Cow;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

const ZERO_WIDTH_JOINER: char = '\u{200d}';
const BLACK_FLAG: char = '\u{1f3f4}';

/// The text as a reader sees it. A text of ASCII, and most others, is as it was.
pub fn visible(text: &str) -> Cow<'_, str> {
    // All characters are below U+0300. A processor finds the largest of many bytes at once.
    let is_latin = || text.bytes().fold(0, u8::max) < 0xcc && !text.contains('\u{ad}');
    if text.is_ascii() || is_latin() || text.chars().all(is_plain) {
        return text.into();
    }
    if !text.contains(is_ignorable) {
        return match is_nfc_quick(text.chars()) {
            IsNormalized::Yes => text.into(),
            _ => text.nfc().collect::<String>().into(),
        };
    }
    let mut seen = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        // A family is one picture, and not three.
        let joins = c == ZERO_WIDTH_JOINER
            && seen.ends_with(is_picture)
            && characters.peek().is_some_and(|next| is_picture(*next));
        // England's flag is not Scotland's.
        let names_a_flag = is_tag(c) && seen.ends_with(|before| before == BLACK_FLAG || is_tag(before));
        if joins || names_a_flag || !is_ignorable(c) {
            seen.push(c);
        }
    }
    seen.nfc().collect::<String>().into()
}

/// Characters of which any text is as a reader sees it: Latin with its accents, Greek, Cyrillic, Hebrew, Arabic,
/// punctuation, Chinese, Japanese, Korean, pictures.
fn is_plain(c: char) -> bool {
    matches!(c,
        '\0'..='\u{ac}' | '\u{ae}'..='\u{2ff}' | '\u{388}'..='\u{482}' | '\u{48a}'..='\u{52f}'
        | '\u{5d0}'..='\u{5ea}' | '\u{620}'..='\u{64a}' | '\u{660}'..='\u{66f}' | '\u{671}'..='\u{6d5}'
        | '\u{2010}'..='\u{2027}' | '\u{202f}'..='\u{205f}' | '\u{20a0}'..='\u{20cf}' | '\u{3001}'..='\u{3029}'
        | '\u{3041}'..='\u{3096}' | '\u{309b}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{ff01}'..='\u{ff9f}' | '\u{1f300}'..='\u{1faff}')
}

/// Unicode's property Default_Ignorable_Code_Point.
fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Letters that only name a flag (UTS #51 §5.6).
fn is_tag(c: char) -> bool {
    matches!(c, '\u{e0020}'..='\u{e007f}')
}

/// Most characters of Unicode's property Extended_Pictographic, and what changes them.
fn is_picture(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use unicode_normalization::char::canonical_combining_class;

    #[test]
    fn a_difference_that_nobody_sees_is_none() {
        for (one, other) in [
            ("te\u{200b}\u{200c}xt", "te\u{200c}\u{200b}xt"),
            ("Unter\u{ad}nehmen", "Unternehmen"),
            ("\u{200e}1,299.00\u{200f}\u{2066}x\u{2069}", "1,299.00x"),
            ("cafe\u{301}", "caf\u{e9}"),
            ("\u{feff}\u{1112}\u{1161}", "\u{d558}"),
            ("a\u{200d}b", "ab"),
            ("\u{2764}\u{fe0f}", "\u{2764}"),
        ] {
            assert_eq!(visible(one), visible(other), "{one:?}");
        }
        let family = "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}";
        assert_eq!(visible(family), family);
        assert_eq!(visible("\u{2764}\u{fe0f}\u{200d}\u{1f525}"), "\u{2764}\u{200d}\u{1f525}");
        let scotland = "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}";
        assert_eq!(visible(&format!("a\u{e0067}{scotland}b\u{e0067}")), format!("a{scotland}b"));
    }

    /// Fingerprints of such texts stay what they were.
    #[test]
    fn plain_characters_are_normal_show_something_and_compose_with_nothing() {
        for c in ('\0'..=char::MAX).filter(|c| is_plain(*c)) {
            let is_normal = is_nfc_quick(std::iter::once(c)) == IsNormalized::Yes;
            assert!(is_normal && canonical_combining_class(c) == 0 && !is_ignorable(c), "{c:?}");
        }
    }

    proptest! {
        #[test]
        fn text_that_is_seen_as_it_is_stays(
            text in "[a-z \u{e4}\u{300}\u{301}\u{ad}\u{5d0}\u{5b0}\u{5b7}\u{1100}\u{1161}\u{11a8}\u{200b}-\u{200f}\u{fe0f}\u{1f300}-\u{1f303}]{0,20}|\\PC{0,20}"
        ) {
            let seen = visible(&text);
            prop_assert_eq!(visible(&seen), &*seen);
            prop_assert!(seen.chars().all(|c| c == ZERO_WIDTH_JOINER || is_tag(c) || !is_ignorable(c)));
            if !text.contains(is_ignorable) {
                prop_assert_eq!(&*seen, text.nfc().collect::<String>());
            }
        }
    }
}
