//! Plain-text sitemaps: one URL per line and nothing else (sitemaps.org, "Text file").

use super::{EntryCollector, address};
use crate::date;

/// Lines inspected to tell a list from other text.
const SNIFFED_LINES: usize = 20;
/// Lines with a URL for each other line among them: a list may have a bad line, but a text is no list.
const URLS_FOR_ANOTHER: usize = 10;

/// URLs of a list that is sent as HTML, or whose URLs are quoted, at least. A page may have a URL for its whole text, and a
/// string of JSON may be one.
const FEWEST_IN_DOUBT: usize = 3;

/// Are the first lines URLs? The last one may be cut.
pub(super) fn is_list(head: &str, is_cut: bool, is_html: bool) -> bool {
    let end = if is_cut { head.rfind(['\n', '\r']).unwrap_or(head.len()) } else { head.len() };
    let (urls, others): (Vec<_>, Vec<_>) =
        lines(&head[..end]).take(SNIFFED_LINES).partition(|line| entry(line).is_some());
    let is_in_doubt = is_html || head.trim_start().starts_with('"');
    urls.len() >= if is_in_doubt { FEWEST_IN_DOUBT } else { 1 }
        && others.len() * URLS_FOR_ANOTHER <= urls.len()
}

/// The lines with text, but for comments. Each may have a byte order mark, as in a list that was put together from several.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let lines = text
        .split(['\n', '\r', '\u{2028}'])
        .map(|line| line.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}'));
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The URL of a line, which may be quoted, and the date that may stand behind it.
fn entry(line: &str) -> Option<(&str, &str)> {
    let (address, date) =
        line.split_once('\t').map_or((line, ""), |(url, date)| (url.trim_end(), date.trim()));
    let unquoted = address.strip_prefix('"').and_then(|address| address.strip_suffix('"'));
    let address = unquoted.unwrap_or(address);
    let host = address.split_once("//").filter(|_| address::is_whole(address)).map(|(_, host)| host);
    let is_address = host.is_some_and(|host| !host.is_empty())
        && !address.bytes().any(|b| b.is_ascii_whitespace() || b.is_ascii_control());
    (is_address && (date.is_empty() || date::seconds(date).is_some())).then_some((address, date))
}

/// Reads all lines. If the text was cut, drops the incomplete last line: half a URL is another URL.
pub(super) fn read(text: &str, found: &mut EntryCollector<'_>) {
    let text = match found.listing.damage {
        Some(_) => &text[..text.rfind(['\n', '\r']).unwrap_or(0)],
        None => text,
    };
    for line in lines(text) {
        let (address, date) = entry(line).unzip();
        found.entry(address.into_iter(), date.into_iter());
    }
}
