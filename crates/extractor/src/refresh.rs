//! The target of a refresh (WHATWG HTML, "shared declarative refresh steps"), in a `<meta>` or a `Refresh` field.

/// `5; url='next.html'` → `next.html`. `None` if it is no refresh, or only reloads the page.
pub(crate) fn target(value: &str) -> Option<&str> {
    let is_time = |c: char| c.is_ascii_digit() || c == '.';
    let rest = trim(value);
    let behind = rest.trim_start_matches(is_time);
    if behind.len() == rest.len() {
        return None;
    }
    // Something must separate time and target.
    let address = trim(behind);
    let address = match address.strip_prefix([';', ',']) {
        Some(address) => trim(address),
        None if address.len() < behind.len() => address,
        None => return None,
    };
    let target = match named(address) {
        Some(value) => unquoted(value),
        None if address.starts_with(['u', 'U']) => address,
        None => unquoted(address),
    };
    (!target.trim_matches(|c: char| c <= ' ').is_empty()).then_some(target)
}

/// What follows `url=`.
fn named(address: &str) -> Option<&str> {
    let word = address.get(..3).filter(|word| word.eq_ignore_ascii_case("url"))?;
    trim(&address[word.len()..]).strip_prefix('=').map(trim)
}

/// Up to the closing quote, if it begins with one.
fn unquoted(address: &str) -> &str {
    match address.chars().next() {
        Some(quote @ ('"' | '\'')) => address[1..].split(quote).next().unwrap_or_default(),
        _ => address,
    }
}

fn trim(text: &str) -> &str {
    text.trim_ascii_start()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_the_standard() {
        for (value, expected) in [
            ("5; url=next.html", Some("next.html")),
            ("0;URL='a b'x", Some("a b")),
            ("0;url=\"a'b\"", Some("a'b")),
            ("0;url='a", Some("a")),
            ("0, \"q\"", Some("q")),
            ("0;next", Some("next")),
            ("0 next", Some("next")),
            ("0 url=next", Some("next")),
            ("\t1.5 ; url = /x", Some("/x")),
            ("1.5.5,url=/x", Some("/x")),
            (".5;url=/x", Some("/x")),
            ("0; ;x", Some(";x")),
            ("0;url=a;b,c", Some("a;b,c")),
            ("0;ur=x", Some("ur=x")),
            ("0;urlx", Some("urlx")),
            ("0;url 'x'", Some("url 'x'")),
            ("0;url=ü", Some("ü")),
            ("0;ü", Some("ü")),
            ("0;uü", Some("uü")),
            ("30", None),
            ("30;", None),
            ("0;url=", None),
            ("0;url=''", None),
            ("", None),
            // A time, and something behind it.
            ("url=/x", None),
            ("; url=/x", None),
            ("-1; url=/x", None),
            ("5x; url=/x", None),
            ("ü", None),
        ] {
            assert_eq!(target(value), expected, "{value:?}");
        }
    }
}
