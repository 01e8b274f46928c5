//! What kind of body this is: by its `Content-Type`, or by its first bytes where there is none.

/// How a body is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Links and text.
    Html,
    /// Text without links.
    Plain,
    /// Not read.
    Opaque,
}

/// The part of a media type that matters here.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MediaType {
    pub(crate) kind: Kind,
    /// The `charset` parameter.
    pub(crate) charset: Option<String>,
}

/// How many bytes are looked at to tell a kind (WHATWG MIME Sniffing §5.2 reads 1,445).
const SNIFFED: usize = 1_445;

impl MediaType {
    pub(crate) fn of(content_type: Option<&str>, body: &[u8]) -> MediaType {
        let mut parts = content_type.unwrap_or("").split(';');
        let essence = parts.next().unwrap_or("").trim().to_ascii_lowercase();
        let kind = match essence.as_str() {
            "text/html" | "application/xhtml+xml" => Kind::Html,
            _ if essence.starts_with("text/") => Kind::Plain,
            _ if essence.contains('/') => Kind::Opaque,
            // Missing or malformed.
            _ => sniff(body),
        };
        let charset = parts.find_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            let value = value.trim().trim_matches(['"', '\'']);
            (name.trim().eq_ignore_ascii_case("charset") && !value.is_empty()).then(|| value.to_owned())
        });
        MediaType { kind, charset }
    }
}

/// Bytes that no text has are an opaque body; a tag in front is HTML; the rest is plain text.
fn sniff(body: &[u8]) -> Kind {
    let head = &body[..body.len().min(SNIFFED)];
    let is_utf16 = head.starts_with(&[0xFE, 0xFF]) || head.starts_with(&[0xFF, 0xFE]);
    let is_binary = |&b: &u8| matches!(b, 0x00..=0x08 | 0x0B | 0x0E..=0x1A | 0x1C..=0x1F);
    if !is_utf16 && head.iter().any(is_binary) {
        return Kind::Opaque;
    }
    let head = head.strip_prefix(&[0xEF, 0xBB, 0xBF]).unwrap_or(head).trim_ascii_start();
    match head {
        [b'<', next, ..] if next.is_ascii_alphabetic() || *next == b'!' || *next == b'?' => Kind::Html,
        _ => Kind::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_decides_and_the_bytes_where_there_is_none() {
        for (header, body, kind, charset) in [
            (Some("text/html"), "", Kind::Html, None),
            (Some("Text/HTML ; Charset=\"ISO-8859-1\"; x=y"), "", Kind::Html, Some("ISO-8859-1")),
            (Some("application/xhtml+xml;charset=utf-8"), "", Kind::Html, Some("utf-8")),
            (Some("text/plain"), "<html>", Kind::Plain, None),
            (Some("text/markdown"), "", Kind::Plain, None),
            (Some("application/json"), "{}", Kind::Opaque, None),
            (Some("image/png"), "<html>", Kind::Opaque, None),
            (None, " \n<!doctype html>", Kind::Html, None),
            (None, "\u{feff}<p>x", Kind::Html, None),
            (Some("; charset=x"), "plain words", Kind::Plain, Some("x")),
            (Some("nonsense"), "\u{1}\u{2}", Kind::Opaque, None),
            (None, "", Kind::Plain, None),
        ] {
            let media = MediaType::of(header, body.as_bytes());
            assert_eq!((media.kind, media.charset.as_deref()), (kind, charset), "{header:?} {body:?}");
        }
    }
}
