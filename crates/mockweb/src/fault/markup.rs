//! Pages whose bytes are hard to parse.

use super::{Fault, FaultKind, html, page};

/// Byte sequences that are not UTF-8: stray and missing continuations, overlong forms, surrogates,
/// code points beyond Unicode, bytes that never occur.
const NO_UTF8: [&[u8]; 12] = [
    b"\x80",
    b"\xbf\xbf",
    b"\xc3",
    b"\xe2\x82",
    b"\xf0\x9f\x98",
    b"\xc0\xaf",
    b"\xe0\x80\xaf",
    b"\xf0\x80\x80\xaf",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xfe\xff",
    b"\xff\xfe\xff",
];

/// Elements within elements.
pub const NESTED: FaultKind = FaultKind {
    name: "nested",
    help: "nested elements, none of them closed, with a link in the innermost; value: number, then /NAME for an \
           element other than div, default 100000",
    parse: |value| {
        let (count, name) = value.map_or(("100000", "div"), |v| v.split_once('/').unwrap_or((v, "div")));
        let count: usize = count.parse().map_err(|_| format!("{count:?} is not a number"))?;
        let name = name.to_string();
        Ok(Box::new(move |_| {
            let inside = format!("<{name}>").repeat(count);
            html(page("Nested", &format!("{inside}<a href=\"/private/open-nested\">the innermost</a>")))
        }))
    },
};

/// NUL bytes.
pub const NUL: FaultKind = FaultKind {
    name: "nul",
    help: "a page with NUL bytes everywhere; no value",
    parse: |value| scattered(value, &[b"\0"]),
};

/// Invalid UTF-8.
pub const NO_UTF_8: FaultKind = FaultKind {
    name: "no-utf-8",
    help: "a page with invalid UTF-8 everywhere, declared as UTF-8; no value",
    parse: |value| scattered(value, &NO_UTF8),
};

/// A page with these bytes in text, tags, attributes and links, and one valid link.
fn scattered(value: Option<&str>, bytes: &'static [&'static [u8]]) -> Result<Fault, String> {
    if let Some(value) = value {
        return Err(format!("unexpected value {value:?}; this kind takes none"));
    }
    let parts = [
        "<p>some te",
        "xt <b",
        " title='a",
        "b'>and more</b> <a href='/private/open-",
        "'>a link</a> <!-- ",
        "--> &am",
        "p; </p>\n",
    ];
    let mut inside = b"<a href=\"/private/open-sound\">sound</a>\n".to_vec();
    for bytes in bytes {
        for part in parts {
            inside.extend_from_slice(part.as_bytes());
            inside.extend_from_slice(bytes);
        }
    }
    let frame = page("Scattered", "|");
    let (before, after) = frame.split_once('|').expect("it was put there");
    let body = [before.as_bytes(), &inside, after.as_bytes()].concat();
    Ok(Box::new(move |_| html(body.clone())))
}
