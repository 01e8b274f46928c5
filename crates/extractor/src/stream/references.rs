//! Decodes character references (WHATWG HTML §13.2.5.72 to 80) in texts and attribute values.

use super::Slow;
use html5ever::data::{C1_REPLACEMENTS, NAMED_ENTITIES};
use memchr::memchr2;
use std::borrow::Cow;

/// Longest name that may lack its semicolon.
const LONGEST_LEGACY: usize = 6;

/// A decoded reference: one or two characters.
#[derive(Clone, Copy)]
pub(super) struct CharReference {
    bytes: [u8; 8],
    len: usize,
}

impl CharReference {
    fn from_chars(chars: [u32; 2]) -> CharReference {
        let mut reference = CharReference { bytes: [0; 8], len: 0 };
        let count = if chars[1] == 0 { 1 } else { 2 };
        for char in chars.into_iter().take(count) {
            let char = char::from_u32(char).unwrap_or(char::REPLACEMENT_CHARACTER);
            reference.len += char.encode_utf8(&mut reference.bytes[reference.len..]).len();
        }
        reference
    }

    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).expect("encoded characters")
    }
}

/// Reads the reference that `text` begins with, and its length; `None` if its `&` stands for
/// itself.
///
/// # Errors
/// If the reference ends with the text, or lacks its semicolon where that matters.
pub(super) fn reference(text: &str, in_attribute: bool) -> Result<Option<(CharReference, usize)>, Slow> {
    let bytes = text.as_bytes();
    match bytes.get(1) {
        None => Err(Slow("reference at the end")),
        Some(b'#') => numeric(bytes),
        Some(byte) if byte.is_ascii_alphanumeric() => named(text, in_attribute),
        Some(_) => Ok(None),
    }
}

fn numeric(bytes: &[u8]) -> Result<Option<(CharReference, usize)>, Slow> {
    let (base, start) = match bytes.get(2) {
        Some(b'x' | b'X') => (16, 3),
        _ => (10, 2),
    };
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(base));
    let mut number = 0u32;
    let mut at = start;
    while let Some(digit) = digit(at) {
        number = number.saturating_mul(base).saturating_add(digit);
        at += 1;
    }
    match bytes.get(at) {
        None => return Err(Slow("reference at the end")),
        Some(_) if at == start => return Ok(None),
        Some(b';') => at += 1,
        Some(_) => {}
    }
    let char = match number {
        0 => u32::from(char::REPLACEMENT_CHARACTER),
        0x80..=0x9F => C1_REPLACEMENTS[(number - 0x80) as usize].map_or(number, u32::from),
        number => number,
    };
    Ok(Some((CharReference::from_chars([char, 0]), at)))
}

fn named(text: &str, in_attribute: bool) -> Result<Option<(CharReference, usize)>, Slow> {
    let name = &text[1..];
    let len = name.bytes().position(|byte| !byte.is_ascii_alphanumeric());
    let len = len.ok_or(Slow("reference at the end"))?;
    let known = |name: &str| NAMED_ENTITIES.get(name).copied().filter(|chars| chars.0 != 0);
    let next = name.as_bytes()[len];
    if next == b';'
        && let Some((one, two)) = known(&name[..=len])
    {
        return Ok(Some((CharReference::from_chars([one, two]), len + 2)));
    }
    let Some((end, (one, two))) =
        (1..=len.min(LONGEST_LEGACY)).rev().find_map(|end| Some((end, known(&name[..end])?)))
    else {
        return Ok(None);
    };
    if in_attribute && (end < len || next == b'=') {
        return Ok(None);
    }
    Ok(Some((CharReference::from_chars([one, two]), end + 1)))
}

/// The attribute value that stands at these places of a text.
///
/// # Errors
/// Those of [`reference()`].
pub(crate) fn value(text: &str, start: usize, end: usize) -> Result<Cow<'_, str>, Slow> {
    let next = |at: usize| memchr2(b'&', b'\r', &text.as_bytes()[at..end]).map(|len| at + len);
    let Some(mut at) = next(start) else { return Ok(Cow::Borrowed(&text[start..end])) };
    let mut value = String::with_capacity(end - start);
    let mut copied = start;
    loop {
        value.push_str(&text[copied..at]);
        copied = at + 1;
        if text.as_bytes()[at] == b'\r' {
            value.push('\n');
            copied += usize::from(text[copied..end].starts_with('\n'));
        } else if let Some((reference, len)) = reference(&text[at..], true)? {
            value.push_str(reference.as_str());
            copied = at + len;
        } else {
            value.push('&');
        }
        match next(copied) {
            Some(found) => at = found,
            None => break,
        }
    }
    value.push_str(&text[copied..end]);
    Ok(Cow::Owned(value))
}
