//! Decodes bytes to text: finds the character encoding of a body.
//!
//! In this order: a byte order mark; the `charset` of the `Content-Type`; a `<meta>` in the first
//! 1,024 bytes (WHATWG HTML §13.2.3.2); UTF-8 if the bytes are valid; else a guess by the letters
//! and the host's top-level domain (chardetng, as in Firefox). Nothing fails: undecodable bytes
//! become U+FFFD.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};
use std::borrow::Cow;

/// Maximum bytes searched for a `<meta>`.
const PRESCAN: usize = 1_024;
/// Maximum bytes of an unlabelled body used for the guess.
const GUESSED: usize = 256 << 10;

/// The body as text; `host` served it.
pub(crate) fn decode<'b>(body: &'b [u8], declared: Option<&str>, host: &str) -> Cow<'b, str> {
    if let Some((encoding, mark)) = Encoding::for_bom(body) {
        return encoding.decode_without_bom_handling(&body[mark..]).0;
    }
    let encoding = declared
        .and_then(|label| Encoding::for_label(label.as_bytes()))
        .or_else(|| prescan(&body[..body.len().min(PRESCAN)]))
        .unwrap_or_else(|| guess(body, host));
    encoding.decode_without_bom_handling(body).0
}

/// Whether it is valid UTF-8, except a last character that the body's size limit may have cut.
fn is_utf8(body: &[u8]) -> bool {
    match std::str::from_utf8(body) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    }
}

/// The most likely encoding of an unlabelled body. ISO-2022-JP is ASCII except for its escapes.
/// Browsers do not guess it because scripts can hide in it; recrawl runs no scripts.
fn guess(body: &[u8], host: &str) -> &'static Encoding {
    const ESCAPE: u8 = 0x1B;
    let is_utf8 = is_utf8(body);
    if is_utf8 && !body.contains(&ESCAPE) {
        return UTF_8;
    }
    let head = &body[..body.len().min(GUESSED)];
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    // Not the last chunk: the body's size limit may have cut a character.
    detector.feed(head, false);
    let domain = host.rsplit('.').next().unwrap_or("");
    // An IP address has no top-level domain.
    let is_name = domain.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && domain.bytes().any(|b| b.is_ascii_lowercase());
    let utf8 = if is_utf8 { Utf8Detection::Allow } else { Utf8Detection::Deny };
    detector.guess(is_name.then_some(domain.as_bytes()), utf8)
}

/// The encoding named by a `<meta>` in `head`.
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
                // Text that could be read this far is neither UTF-16 nor private (same section).
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

/// The value after `charset=` in a meta element's attributes: in `charset="x"` and in
/// `content="text/html; charset=x"`.
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
            // A comment does not count, and the encoding cannot be UTF-16.
            (b"<!-- <meta charset=koi8-r> -->\xC3\xBC", None, "<!-- <meta charset=koi8-r> -->ü"),
            (b"<meta charset=utf-16>\xC3\xBC", None, "<meta charset=utf-16>ü"),
            // An unknown label.
            (b"\xC3\xBC", Some("klingon"), "ü"),
            (b"Gr\xFC\xDFe f\xFCr alle, sch\xF6ne B\xFCcher", None, "Grüße für alle, schöne Bücher"),
            // Cut in the middle of a character.
            (b"\xC3\xBC\xC3", None, "ü\u{FFFD}"),
            (b"", None, ""),
        ];
        for (bytes, declared, text) in cases {
            assert_eq!(decode(bytes, declared, "a.example"), text, "{bytes:?} {declared:?}");
        }
    }

    #[test]
    fn a_text_without_a_label_is_guessed() {
        for (label, host, text) in [
            ("windows-1251", "a.example", "Съешь ещё этих мягких французских булок, да выпей чаю"),
            ("koi8-u", "a.example", "Съешь ещё этих мягких французских булок, да выпей чаю"),
            ("windows-1253", "a.example", "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία του κόσμου"),
            ("windows-1250", "a.pl", "Zażółć gęślą jaźń, bo tak się uczy polskich znaków"),
            ("windows-1252", "127.0.0.1", "Größere Übungen für müde Füße, naïve façade"),
            ("shift_jis", "a.jp", "日本語の文字コードを当てる試験です。よろしくお願いします"),
            ("euc-jp", "a.example", "日本語の文字コードを当てる試験です。よろしくお願いします"),
            ("iso-2022-jp", "[::1]", "日本語の文字コードを当てる試験です。"),
            ("gbk", "a.cn", "这是一个用来猜测编码的中文句子，没有任何标签"),
            ("big5", "a.tw", "這是一個用來猜測編碼的中文句子，沒有任何標籤"),
            ("euc-kr", "a.kr", "이것은 문자 부호화를 알아맞히기 위한 한국어 문장입니다"),
        ] {
            let encoding = Encoding::for_label(label.as_bytes()).unwrap();
            let (bytes, _, is_lossy) = encoding.encode(text);
            assert!(!is_lossy, "{label}");
            assert_eq!(decode(&bytes, None, host), text, "{label} at {host}");
        }
    }

    /// For each label of the Encoding Standard (§4.2), header and markup select the encoding that
    /// it names. None refuses any bytes.
    #[test]
    fn every_label_of_the_encoding_standard() {
        let every_byte: Vec<u8> = (0..=255).collect();
        let table: Vec<(&str, &str)> =
            include_str!("charset/labels.txt").lines().filter_map(|line| line.split_once(": ")).collect();
        assert_eq!(table.len(), 40, "39 and replacement");
        let rows = table.iter().flat_map(|(name, labels)| labels.split(' ').map(move |label| (*name, label)));
        assert_eq!(rows.clone().count(), 228);
        for (name, label) in rows {
            let encoding = Encoding::for_label(label.as_bytes()).unwrap_or_else(|| panic!("{label}"));
            assert_eq!(encoding.name(), name, "{label}");
            let expected = encoding.decode_without_bom_handling(&every_byte).0;
            for spelling in [label.to_owned(), label.to_ascii_uppercase(), format!(" {label} ")] {
                assert_eq!(decode(&every_byte, Some(&spelling), "h"), expected, "{spelling:?}");
            }
            let told = match encoding {
                e if e == UTF_16BE || e == UTF_16LE => UTF_8,
                e if e == X_USER_DEFINED => WINDOWS_1252,
                e => e,
            };
            let page = [format!("<meta charset={label}>").as_bytes(), &every_byte].concat();
            assert_eq!(decode(&page, None, "h"), told.decode_without_bom_handling(&page).0, "{label}");
        }
    }
}
