//! The media type that a `Content-Type` declares (Fetch Standard, "extract a MIME type"; WHATWG MIME Sniffing §4.4).

/// A declared media type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContentType {
    /// `type/subtype` in lower case; empty if nothing is declared that can be read.
    pub essence: String,
    /// The `charset` parameter.
    pub charset: Option<String>,
}

impl ContentType {
    /// Is a type declared that says something?
    pub fn is_declared(&self) -> bool {
        !matches!(&*self.essence, "" | "unknown/unknown" | "application/unknown")
    }

    /// Of the values of all fields, with commas between them: the last that can be read. A `charset` before it counts
    /// if the type is the same.
    pub fn of_fields(fields: &str) -> ContentType {
        let mut found = ContentType::default();
        for ContentType { essence, charset } in values(fields).filter_map(parse) {
            if essence == "*/*" {
                continue;
            }
            let before = Some(found.charset).filter(|_| essence == found.essence).flatten();
            found = ContentType { essence, charset: charset.or(before) };
        }
        found
    }
}

/// Parses one value ("parse a MIME type").
fn parse(value: &str) -> Option<ContentType> {
    let (essence, mut rest) = value.split_once(';').unwrap_or((value, ""));
    let (kind, subtype) = essence.trim_matches(is_space).split_once('/')?;
    if !is_token(kind) || !is_token(subtype) {
        return None;
    }
    let mut charset = None;
    while let Some(end) = rest.find([';', '=']) {
        let name = rest[..end].trim_start_matches(is_space);
        let behind = &rest[end + 1..];
        if rest[end..].starts_with(';') {
            rest = behind;
            continue;
        }
        let value = match behind.strip_prefix('"') {
            Some(quoted) => {
                let (value, behind) = unquoted(quoted);
                rest = behind.split_once(';').map_or("", |(_, rest)| rest);
                Some(value)
            }
            None => {
                let (value, behind) = behind.split_once(';').unwrap_or((behind, ""));
                rest = behind;
                Some(value.trim_end_matches(is_space).to_owned()).filter(|value| !value.is_empty())
            }
        };
        if name.eq_ignore_ascii_case("charset") {
            charset = charset.or(value);
        }
    }
    Some(ContentType { essence: format!("{kind}/{subtype}").to_ascii_lowercase(), charset })
}

/// The values between commas that no quotes enclose.
fn values(text: &str) -> impl Iterator<Item = &str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    text.split(move |c: char| {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ => return c == ',' && !is_quoted,
        }
        false
    })
}

/// The text up to the closing quote, without the backslashes that escape, and what is behind it.
fn unquoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next().filter(|c| *c != '"') {
        value.extend(if c == '\\' { chars.next().or(Some(c)) } else { Some(c) });
    }
    (value, chars.as_str())
}

/// HTTP's white space.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

/// Whether these are one or more of HTTP's token characters.
pub(crate) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_as_servers_write_them() {
        for (values, essence, charset) in [
            ("text/html", "text/html", None),
            (" Text/HTML ; Charset=\"ISO-8859-1\"; x=y", "text/html", Some("ISO-8859-1")),
            ("text/html;charset=gbk", "text/html", Some("gbk")),
            ("text/html;charset=gbk;charset=koi8-r", "text/html", Some("gbk")),
            ("text/html;charset=;charset=koi8-r", "text/html", Some("koi8-r")),
            ("text/html;x=\";charset=gbk\";charset=koi8-r", "text/html", Some("koi8-r")),
            ("text/html;x=\"\\\";charset=gbk\"", "text/html", None),
            ("text/html;charset=\"g\\bk\"rest;x", "text/html", Some("gbk")),
            ("text/html;charset=\"\";charset=gbk", "text/html", Some("")),
            ("text/html;x=a\"b;charset=gbk", "text/html", Some("gbk")),
            ("text/html;charset=\"gbk", "text/html", Some("gbk")),
            ("text/html;;;; charset=gbk", "text/html", Some("gbk")),
            ("text/html;x-charset=gbk", "text/html", None),
            // No label has such quotes.
            ("text/html;charset='gbk'", "text/html", Some("'gbk'")),
            ("text/html;charset= gbk", "text/html", Some(" gbk")),
            ("text/html;charset =gbk", "text/html", None),
            // Several fields.
            ("text/plain, text/html;charset=gbk", "text/html", Some("gbk")),
            ("text/html;charset=gbk, text/html", "text/html", Some("gbk")),
            ("text/html;charset=gbk, text/plain", "text/plain", None),
            ("text/html;charset=gbk, text/html;charset=koi8-r", "text/html", Some("koi8-r")),
            ("text/html;charset=gbk, */*", "text/html", Some("gbk")),
            ("text/html;charset=gbk, nonsense", "text/html", Some("gbk")),
            ("text/html;x=\",\"", "text/html", None),
            // None.
            ("", "", None),
            ("text", "", None),
            ("/", "", None),
            ("text/", "", None),
            ("; charset=gbk", "", None),
            ("text/html charset=gbk", "", None),
            ("*/*", "", None),
        ] {
            let found = ContentType::of_fields(values);
            assert_eq!((&found.essence[..], found.charset.as_deref()), (essence, charset), "{values:?}");
        }
    }
}
