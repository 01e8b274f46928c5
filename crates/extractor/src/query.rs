//! Queries in the encoding of their page (URL Standard, "percent-encode after encoding").
//!
//! A link of a page in windows-1251 asks for `?q=%F2`, not for the bytes of UTF-8: its server reads what the
//! page's forms send. Paths and fragments are always in UTF-8.

use encoding_rs::{Encoder, EncoderResult, Encoding, UTF_8};
use std::borrow::Cow;

/// Gives the bytes of a query in an encoding, for the URL parser.
pub(crate) fn encoder(encoding: &'static Encoding) -> impl Fn(&str) -> Cow<'_, [u8]> {
    move |query| encode(query, encoding)
}

/// The bytes of a query, to be percent-encoded. A character that the encoding lacks becomes `&#N;`, percent-encoded
/// already.
fn encode<'q>(query: &'q str, encoding: &'static Encoding) -> Cow<'q, [u8]> {
    if query.is_ascii() && encoding.is_ascii_compatible() || encoding.output_encoding() == UTF_8 {
        return Cow::Borrowed(query.as_bytes());
    }
    // That of UTF-16 is UTF-8.
    let mut encoder: Encoder = encoding.new_encoder();
    let mut bytes = Vec::new();
    let mut rest = query;
    loop {
        let most = encoder.max_buffer_length_from_utf8_without_replacement(rest.len());
        bytes.reserve(most.expect("a query is short"));
        let (result, read) = encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut bytes, true);
        rest = &rest[read..];
        match result {
            EncoderResult::Unmappable(lacking) => {
                bytes.extend_from_slice(format!("%26%23{}%3B", u32::from(lacking)).as_bytes());
            }
            EncoderResult::InputEmpty => return Cow::Owned(bytes),
            EncoderResult::OutputFull => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ReferenceResolver;
    use recrawl_types::UrlRules;

    /// Queries as browsers send them from a page in an encoding.
    #[test]
    fn queries_are_in_the_encoding_of_their_page_and_paths_are_not() {
        let rules = UrlRules::default();
        let page = rules.canonicalize("https://a.example/dir/").unwrap();
        for (label, href, expected) in [
            ("utf-8", "?q=тест", "/dir/?q=%D1%82%D0%B5%D1%81%D1%82"),
            ("windows-1251", "?q=тест", "/dir/?q=%F2%E5%F1%F2"),
            ("windows-1251", "/путь?q=т#т", "/%D0%BF%D1%83%D1%82%D1%8C?q=%F2"),
            ("windows-1251", "//b.example/x?т=1", "//b.example/x?%F2=1"),
            ("windows-1251", "?q=%D1%82&x=т", "/dir/?q=%D1%82&x=%F2"),
            ("windows-1251", "?q=a'b \"<>|", "/dir/?q=a%27b%20%22%3C%3E|"),
            // What the encoding lacks.
            ("windows-1251", "?q=ü&x=т", "/dir/?q=%26%23252%3B&x=%F2"),
            ("windows-1252", "?q=日", "/dir/?q=%26%2326085%3B"),
            ("windows-1252", "?q=\u{1F600}é", "/dir/?q=%26%23128512%3B%E9"),
            ("koi8-r", "?q=тест", "/dir/?q=%D4%C5%D3%D4"),
            ("iso-8859-2", "?q=ž", "/dir/?q=%BE"),
            ("iso-8859-1", "?q=€", "/dir/?q=%80"),
            ("shift_jis", "?q=日本", "/dir/?q=%93%FA%96{"),
            ("euc-jp", "?q=日本", "/dir/?q=%C6%FC%CB%DC"),
            ("iso-2022-jp", "?q=日é", "/dir/?q=%1B$BF|%1B(B%26%23233%3B"),
            ("gbk", "?q=中", "/dir/?q=%D6%D0"),
            ("gb18030", "?q=é", "/dir/?q=%A8%A6"),
            ("big5", "?q=中", "/dir/?q=%A4%A4"),
            ("euc-kr", "?q=한", "/dir/?q=%C7%D1"),
            // Forms and links of such pages are in UTF-8.
            ("utf-16le", "?q=т", "/dir/?q=%D1%82"),
            ("utf-16be", "?q=т", "/dir/?q=%D1%82"),
            ("hz-gb-2312", "?q=т", "/dir/?q=%D1%82"),
            ("x-user-defined", "?q=т", "/dir/?q=%26%231090%3B"),
        ] {
            let encoding = Encoding::for_label(label.as_bytes()).unwrap();
            let expected = match expected.strip_prefix("//") {
                Some(other) => format!("https://{other}"),
                None => format!("https://a.example{expected}"),
            };
            let resolver = ReferenceResolver::of_page(&page, None, &rules, encoding);
            assert_eq!(resolver.resolve(href).unwrap().as_text(), expected, "{label} {href}");
            // The base may have a query of its own.
            let resolver = ReferenceResolver::of_page(&page, Some(href), &rules, encoding);
            assert_eq!(
                rules.canonicalize_url(resolver.base()).unwrap().as_text(),
                expected,
                "{label} {href}"
            );
        }
    }

    #[test]
    fn every_encoding_encodes_any_text() {
        let text: String =
            ('\0'..='\u{2FFF}').chain(['\u{4E2D}', '\u{D55C}', '\u{1F600}', '\u{10FFFF}']).collect();
        for label in include_str!("charset/labels.txt").lines().filter_map(|line| line.split_once(": ")) {
            let encoding = Encoding::for_label(label.1.split(' ').next().unwrap().as_bytes()).unwrap();
            let bytes = encode(&text, encoding);
            let (decoded, _) = encoding.output_encoding().decode_without_bom_handling(&bytes);
            assert!(decoded.contains("abc"), "{label:?}");
        }
    }
}
