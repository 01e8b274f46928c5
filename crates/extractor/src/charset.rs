//! Decodes bytes to text: finds the character encoding of a body (WHATWG HTML §13.2.3.2).
//!
//! In this order: a byte order mark; the `charset` of the `Content-Type`; what the document itself declares
//! (module `declared`); UTF-8 if the bytes are valid; else a guess by the letters and the host's
//! top-level domain (chardetng, as in Firefox). Nothing fails: undecodable bytes become U+FFFD.

mod declared;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8};
use std::borrow::Cow;

/// Maximum bytes of an unlabelled body used for the guess.
const GUESSED: usize = 256 << 10;

/// How a document declares its encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// By a `<meta>`, or else by an XML declaration.
    Html,
    /// By an XML declaration.
    Xml,
    /// Not at all.
    Plain,
}

/// A body as text.
pub(crate) struct Decoded<'b> {
    pub(crate) text: Cow<'b, str>,
    /// The encoding that the bytes had. Links of the page have their queries in it.
    pub(crate) encoding: &'static Encoding,
}

/// The body as text. `label` is that of its `Content-Type`; `host` served it.
pub(crate) fn decode<'b>(body: &'b [u8], label: Option<&str>, syntax: Syntax, host: &str) -> Decoded<'b> {
    let encoding = encoding(body, label, syntax, host);
    let mark = Encoding::for_bom(body).map_or(0, |(_, mark)| mark);
    Decoded { text: encoding.decode_without_bom_handling(&body[mark..]).0, encoding }
}

/// The encoding of a body.
pub(crate) fn encoding(body: &[u8], label: Option<&str>, syntax: Syntax, host: &str) -> &'static Encoding {
    let marked = Encoding::for_bom(body).map(|(encoding, _)| encoding);
    marked
        .or_else(|| Encoding::for_label(label?.as_bytes()))
        .or_else(|| declared(body, syntax))
        .unwrap_or_else(|| guess(body, host))
}

/// The encoding that the document declares. XML without a declaration is in UTF-8; if it cannot be, it
/// may still say in HTML's way what it is in.
fn declared(body: &[u8], syntax: Syntax) -> Option<&'static Encoding> {
    match syntax {
        Syntax::Html => declared::in_html(body),
        Syntax::Xml => declared::in_xml(body.trim_ascii_start())
            .or_else(|| declared::in_html(body).filter(|_| !is_utf8(body))),
        Syntax::Plain => None,
    }
}

/// Whether it is valid UTF-8. Its size limit may have cut the last character, if others show that it was UTF-8: a last
/// byte alone is more often a letter of another encoding.
fn is_utf8(body: &[u8]) -> bool {
    match std::str::from_utf8(body) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && !body[..error.valid_up_to()].is_ascii(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use encoding_rs::{UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

    fn text(bytes: &[u8], label: Option<&str>, host: &str) -> String {
        decode(bytes, label, Syntax::Html, host).text.into_owned()
    }

    #[test]
    fn each_source_of_the_encoding_in_its_rank() {
        let cases: [(&[u8], Option<&str>, &str); 14] = [
            // A byte order mark outranks the header.
            (b"\xEF\xBB\xBFgr\xC3\xBC\xC3\x9Fe", Some("iso-8859-1"), "grüße"),
            (b"\xFF\xFEg\0r\0\xFC\0", None, "grü"),
            (b"\xFE\xFF\0g\0r\0\xFC", Some("utf-8"), "grü"),
            // The header outranks the meta element.
            (b"<meta charset=utf-8>gr\xFC", Some("ISO-8859-1"), "<meta charset=utf-8>grü"),
            (b"<meta charset='windows-1251'>\xEF", None, "<meta charset='windows-1251'>п"),
            (
                b"<META http-equiv=content-type content=\"text/html; Charset = shift_jis\">\x83\x65",
                None,
                "<META http-equiv=content-type content=\"text/html; Charset = shift_jis\">テ",
            ),
            // A comment does not count, and the encoding cannot be UTF-16.
            (b"<!-- <meta charset=koi8-r> -->\xC3\xBC", None, "<!-- <meta charset=koi8-r> -->ü"),
            (b"<meta charset=utf-16>\xC3\xBC", None, "<meta charset=utf-16>ü"),
            // An unknown label.
            (b"\xC3\xBC", Some("klingon"), "ü"),
            (b"Gr\xFC\xDFe f\xFCr alle, sch\xF6ne B\xFCcher", None, "Grüße für alle, schöne Bücher"),
            // Cut in the middle of a character.
            (b"\xC3\xBC\xC3", None, "ü\u{FFFD}"),
            // A last letter that is the only one of its kind is none that was cut.
            (b"Caf\xE9", None, "Café"),
            (b"Men\xFA del d\xEDa: Caf\xE9", None, "Menú del día: Café"),
            (b"", None, ""),
        ];
        for (bytes, label, expected) in cases {
            assert_eq!(text(bytes, label, "a.example"), expected, "{bytes:?} {label:?}");
        }
    }

    #[test]
    fn a_text_without_a_label_is_guessed() {
        for (label, host, expected) in [
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
            let (bytes, _, is_lossy) = encoding.encode(expected);
            assert!(!is_lossy, "{label}");
            assert_eq!(text(&bytes, None, host), expected, "{label} at {host}");
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
                assert_eq!(text(&every_byte, Some(&spelling), "h"), expected, "{spelling:?}");
            }
            let told = match encoding {
                e if e == UTF_16BE || e == UTF_16LE => UTF_8,
                e if e == X_USER_DEFINED => WINDOWS_1252,
                e => e,
            };
            let page = [format!("<meta charset={label}>").as_bytes(), &every_byte].concat();
            assert_eq!(text(&page, None, "h"), told.decode_without_bom_handling(&page).0, "{label}");
        }
    }

    #[test]
    fn each_syntax_declares_in_its_own_way() {
        let meta = "<meta charset=windows-1251>Съешь ещё";
        let xml = "<?xml version='1.0' encoding='windows-1251'?><p>Съешь ещё";
        let bytes = |page: &str| Encoding::for_label(b"windows-1251").unwrap().encode(page).0.into_owned();
        for (page, syntax, expected) in [
            (bytes(meta), Syntax::Html, "windows-1251"),
            (bytes(xml), Syntax::Html, "windows-1251"),
            (bytes(xml), Syntax::Xml, "windows-1251"),
            ([b"\n", &bytes(xml)[..]].concat(), Syntax::Xml, "windows-1251"),
            // XML without a declaration is in UTF-8, unless it cannot be.
            (meta.into(), Syntax::Xml, "UTF-8"),
            (bytes(meta), Syntax::Xml, "windows-1251"),
            // A text speaks of markup, and declares nothing.
            (meta.into(), Syntax::Plain, "UTF-8"),
            (xml.into(), Syntax::Plain, "UTF-8"),
        ] {
            let decoded = decode(&page, None, syntax, "a.example");
            assert_eq!(decoded.encoding.name(), expected, "{:?} {syntax:?}", decoded.text);
        }
    }
}
