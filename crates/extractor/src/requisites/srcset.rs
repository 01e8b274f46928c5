//! The list of an image's candidates (WHATWG HTML §4.8.4.2.1).

/// The URLs of a `srcset`, in their order.
pub(crate) fn candidates(list: &str) -> impl Iterator<Item = &str> {
    described(list).map(|(reference, _)| reference)
}

/// The same, each with its descriptors.
pub(crate) fn described(list: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = list;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
        let end = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
        let (reference, after) = rest.split_at(end);
        let trimmed = reference.trim_end_matches(',');
        // Behind a URL without a comma stand its descriptors.
        let descriptors = if trimmed.len() < reference.len() { 0 } else { top_level(after) };
        rest = &after[descriptors..];
        Some((trimmed, after[..descriptors].trim())).filter(|(reference, _)| !reference.is_empty())
    })
}

/// Bytes up to a comma. One in parentheses ends nothing.
pub(crate) fn top_level(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => return at,
            _ => {}
        }
    }
    text.len()
}
