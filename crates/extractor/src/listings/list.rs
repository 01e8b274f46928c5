//! Plain-text sitemaps: one URL per line and nothing else (sitemaps.org, "Text file").

use super::Found;

/// Lines inspected to tell a list from other text.
const SNIFFED_LINES: usize = 20;

/// Bytes inspected for that.
const SNIFFED: usize = 4_096;

/// Whether each of the first lines is a URL.
pub(super) fn is_list(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let is_end = |b: &u8| matches!(b, b'\n' | b'\r');
    let head = match bytes.get(..SNIFFED) {
        // Drops the line that the cut went through.
        Some(head) => &head[..head.iter().rposition(is_end).unwrap_or(head.len())],
        None => bytes,
    };
    let lines = head.split(is_end).map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    let mut lines = lines.take(SNIFFED_LINES).peekable();
    lines.peek().is_some() && lines.all(is_address)
}

fn is_address(line: &[u8]) -> bool {
    let begins =
        |scheme: &[u8]| line.len() > scheme.len() && line[..scheme.len()].eq_ignore_ascii_case(scheme);
    (begins(b"http://") || begins(b"https://"))
        && !line.iter().any(|b| b.is_ascii_whitespace() || b.is_ascii_control())
}

/// Reads all lines. If the text was cut, drops the incomplete last line: half a URL is another URL.
pub(super) fn read(text: &str, found: &mut Found<'_>) {
    let text = match found.listing.damage {
        Some(_) => &text[..text.rfind(['\n', '\r']).unwrap_or(0)],
        None => text,
    };
    for line in text.split(['\n', '\r']).map(|line| line.trim().trim_start_matches('\u{feff}')) {
        match line {
            "" => {}
            line if is_address(line.as_bytes()) => found.entry(line, None),
            _ => found.refuse(),
        }
    }
}
