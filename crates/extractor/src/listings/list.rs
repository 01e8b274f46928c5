//! Plain-text sitemaps: one URL per line and nothing else (sitemaps.org, "Text file").

use super::EntryCollector;

/// Lines inspected to tell a list from other text.
const SNIFFED_LINES: usize = 20;

/// Bytes inspected for that.
const SNIFFED: usize = 4_096;

/// Whether each of the first lines is a URL.
pub(super) fn is_list(bytes: &[u8]) -> bool {
    let is_end = |b: &u8| matches!(b, b'\n' | b'\r');
    let head = match bytes.get(..SNIFFED) {
        // Drops the line that the cut went through.
        Some(head) => &head[..head.iter().rposition(is_end).unwrap_or(head.len())],
        None => bytes,
    };
    let lines = head.split(is_end).map(without_marks).filter(|line| !line.is_empty());
    let mut lines = lines.take(SNIFFED_LINES).peekable();
    lines.peek().is_some() && lines.all(is_address)
}

/// A line without blanks and byte order marks around it, as in a list that was put together from several.
fn without_marks(line: &[u8]) -> &[u8] {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    let line = line.trim_ascii();
    let line = line.strip_prefix(MARK).unwrap_or(line);
    line.strip_suffix(MARK).unwrap_or(line).trim_ascii()
}

fn is_address(line: &[u8]) -> bool {
    let begins =
        |scheme: &[u8]| line.len() > scheme.len() && line[..scheme.len()].eq_ignore_ascii_case(scheme);
    (begins(b"http://") || begins(b"https://"))
        && !line.iter().any(|b| b.is_ascii_whitespace() || b.is_ascii_control())
}

/// Reads all lines. If the text was cut, drops the incomplete last line: half a URL is another URL.
pub(super) fn read(text: &str, found: &mut EntryCollector<'_>) {
    let text = match found.listing.damage {
        Some(_) => &text[..text.rfind(['\n', '\r']).unwrap_or(0)],
        None => text,
    };
    for line in
        text.split(['\n', '\r']).map(|line| line.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}'))
    {
        match line {
            "" => {}
            line if is_address(line.as_bytes()) => found.entry(line, None),
            _ => found.refuse(),
        }
    }
}
