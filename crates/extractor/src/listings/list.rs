//! Plain-text sitemaps: one URL per line and nothing else (sitemaps.org, "Text file").

use super::{EntryCollector, address};

/// Lines inspected to tell a list from other text.
const SNIFFED_LINES: usize = 20;
/// Lines with a URL for each other line among them: a list may have a bad line, but a text is no list.
const URLS_FOR_ANOTHER: usize = 10;

/// URLs of a list that is sent as HTML, at least. A page may have a URL for its whole text.
const FEWEST_AS_HTML: usize = 3;

/// Are the first lines URLs? The last one may be cut.
pub(super) fn is_list(head: &str, is_cut: bool, is_html: bool) -> bool {
    let end = if is_cut { head.rfind(['\n', '\r']).unwrap_or(head.len()) } else { head.len() };
    let (urls, others): (Vec<_>, Vec<_>) = lines(&head[..end]).take(SNIFFED_LINES).partition(is_address);
    urls.len() >= if is_html { FEWEST_AS_HTML } else { 1 } && others.len() * URLS_FOR_ANOTHER <= urls.len()
}

/// The lines with text, but for comments. Each may have a byte order mark, as in a list that was put together from several.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let lines = text
        .split(['\n', '\r'])
        .map(|line| line.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}'));
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn is_address(line: &&str) -> bool {
    let host = address::is_whole(line).then(|| line.split_once("//")).flatten();
    host.is_some_and(|(_, host)| !host.is_empty())
        && !line.bytes().any(|b| b.is_ascii_whitespace() || b.is_ascii_control())
}

/// Reads all lines. If the text was cut, drops the incomplete last line: half a URL is another URL.
pub(super) fn read(text: &str, found: &mut EntryCollector<'_>) {
    let text = match found.listing.damage {
        Some(_) => &text[..text.rfind(['\n', '\r']).unwrap_or(0)],
        None => text,
    };
    for line in lines(text) {
        let address = Some(line).filter(is_address);
        found.entry(address.into_iter(), std::iter::empty());
    }
}
