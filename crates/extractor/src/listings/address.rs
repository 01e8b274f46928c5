//! The URL of an entry as its author meant it.

pub(super) use recrawl_types::site::with_scheme;
pub(super) use recrawl_types::url::is_whole;
use std::borrow::Cow;

/// A URL without what is around it: blanks of all kinds, and line breaks with what indents the next line.
pub(super) fn clean(text: &str) -> Cow<'_, str> {
    let text = text.trim_matches(is_blank);
    match text.contains(['\n', '\r']) {
        true => text.split(['\n', '\r']).map(|line| line.trim_matches(is_blank)).collect::<String>().into(),
        false => text.into(),
    }
}

/// Is it rather a sentence than a URL?
pub(super) fn is_words(address: &str) -> bool {
    !is_whole(address) && !address.starts_with(['/', '\\']) && address.contains(char::is_whitespace)
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{2060}')
}
