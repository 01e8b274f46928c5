//! Sitemaps in plain text: an address a line and nothing else (sitemaps.org, "Text file").

use super::Found;

/// Lines looked at to tell a list from a text.
const SNIFFED_LINES: usize = 20;

/// Bytes looked at for that.
const SNIFFED: usize = 4_096;

/// Is each of the first lines an address?
pub(super) fn is_list(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let is_end = |b: &u8| matches!(b, b'\n' | b'\r');
    let head = match bytes.get(..SNIFFED) {
        // Without the line that the cut goes through.
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

/// Reads all lines; of a text that was cut, not the one that the cut goes through: half an address is another's.
pub(super) fn read(text: &str, found: &mut Found<'_>) {
    let text = match found.hints.damage {
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
