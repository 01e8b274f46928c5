//! Bytes to text: which character encoding a body is in.
//!
//! In order: a byte order mark; the `charset` of the `Content-Type`; a `<meta>` in the first 1,024
//! bytes (WHATWG HTML §13.2.3.2); else UTF-8 where the bytes are valid UTF-8, else windows-1252,
//! which is what old pages without a label are in. Nothing fails: what cannot be decoded becomes U+FFFD.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};
use std::borrow::Cow;

/// How far a `<meta>` is looked for.
const PRESCAN: usize = 1_024;

/// The body as text.
pub(crate) fn decode<'b>(body: &'b [u8], declared: Option<&str>) -> Cow<'b, str> {
    if let Some((encoding, mark)) = Encoding::for_bom(body) {
        return encoding.decode_without_bom_handling(&body[mark..]).0;
    }
    let encoding = declared
        .and_then(|label| Encoding::for_label(label.as_bytes()))
        .or_else(|| prescan(&body[..body.len().min(PRESCAN)]))
        .unwrap_or_else(|| if is_utf8(body) { UTF_8 } else { WINDOWS_1252 });
    encoding.decode_without_bom_handling(body).0
}

/// Valid UTF-8, but for a last character that the body's size limit may have cut.
fn is_utf8(body: &[u8]) -> bool {
    match std::str::from_utf8(body) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    }
}

/// The encoding that a `<meta>` in `head` names.
fn prescan(head: &[u8]) -> Option<&'static Encoding> {
    let mut rest = head;
    while let Some(at) = rest.iter().position(|&b| b == b'<') {
        rest = &rest[at + 1..];
        if rest.starts_with(b"!--") {
            let end = rest.windows(3).position(|w| w == b"-->")?;
            rest = &rest[end..];
        } else if rest.len() > 4 && rest[..4].eq_ignore_ascii_case(b"meta") && is_tag_space(rest[4]) {
            let end = rest.iter().position(|&b| b == b'>').unwrap_or(rest.len());
            if let Some(encoding) = label(&rest[4..end]).and_then(Encoding::for_label) {
                // A text that could be read this far is neither UTF-16 nor private (same section).
                return Some(match encoding {
                    e if e == UTF_16BE || e == UTF_16LE => UTF_8,
                    e if e == X_USER_DEFINED => WINDOWS_1252,
                    e => e,
                });
            }
        }
    }
    None
}

fn is_tag_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == b'/'
}

/// The value behind `charset=` in a meta element's attributes: both `charset="x"` and
/// `content="text/html; charset=x"` have it.
fn label(attributes: &[u8]) -> Option<&[u8]> {
    const NAME: &[u8] = b"charset";
    let mut rest = attributes;
    loop {
        let at = rest.windows(NAME.len()).position(|w| w.eq_ignore_ascii_case(NAME))?;
        rest = &rest[at + NAME.len()..];
        if let Some(value) = rest.trim_ascii_start().strip_prefix(b"=") {
            let value = value.trim_ascii_start();
            let value = value.strip_prefix(b"\"").or(value.strip_prefix(b"'")).unwrap_or(value);
            let end = value
                .iter()
                .position(|&b| b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b';' | b'/' | b'>'))
                .unwrap_or(value.len());
            return Some(&value[..end]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_source_of_the_encoding_in_its_rank() {
        let cases: [(&[u8], Option<&str>, &str); 12] = [
            // A byte order mark outranks the header.
            (b"\xEF\xBB\xBFgr\xC3\xBC\xC3\x9Fe", Some("iso-8859-1"), "grüße"),
            (b"\xFF\xFEg\0r\0\xFC\0", None, "grü"),
            (b"\xFE\xFF\0g\0r\0\xFC", Some("utf-8"), "grü"),
            // The header outranks the meta element.
            (b"<meta charset=utf-8>gr\xFC", Some("ISO-8859-1"), "<meta charset=utf-8>grü"),
            (b"<meta charset='windows-1251'>\xEF", None, "<meta charset='windows-1251'>п"),
            (
                b"<META http-equiv=x content=\"text/html; Charset = shift_jis\">\x83\x65",
                None,
                "<META http-equiv=x content=\"text/html; Charset = shift_jis\">テ",
            ),
            // In a comment it does not count, and UTF-16 it cannot be.
            (b"<!-- <meta charset=koi8-r> -->\xC3\xBC", None, "<!-- <meta charset=koi8-r> -->ü"),
            (b"<meta charset=utf-16>\xC3\xBC", None, "<meta charset=utf-16>ü"),
            // A label that means nothing.
            (b"\xC3\xBC", Some("klingon"), "ü"),
            (b"na\xEFve", None, "naïve"),
            // Cut in the middle of a character.
            (b"\xC3\xBC\xC3", None, "ü\u{FFFD}"),
            (b"", None, ""),
        ];
        for (bytes, declared, text) in cases {
            assert_eq!(decode(bytes, declared), text, "{bytes:?} {declared:?}");
        }
    }
}
