//! Keeps text from being read as markup.

/// The class of a character, which decides on marks beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Space,
    Punctuation,
    Letter,
    /// Readers differ.
    Odd,
}

pub(super) fn class(character: char) -> Class {
    match character {
        _ if character.is_whitespace() => Class::Space,
        _ if character.is_ascii_punctuation() => Class::Punctuation,
        // Letters in circles and squares are symbols.
        '\u{24b6}'..='\u{24e9}' | '\u{1f130}'..='\u{1f189}' => Class::Odd,
        _ if character.is_alphanumeric() => Class::Letter,
        _ => Class::Odd,
    }
}

/// Appends text. Bars are escaped where they could make a table.
pub(super) fn escape(out: &mut String, text: &str, is_tabular: bool) {
    let mut end = 0;
    for (at, found) in text.match_indices(['\\', '`', '*', '[', ']', '~', '_', '<', '&', '|']) {
        out.push_str(&text[end..at]);
        end = at;
        let rest = &text[at + 1..];
        let is_letter = |c: Option<char>| c.is_some_and(|c| class(c) == Class::Letter);
        let is_mark = match found {
            "_" => !is_letter(out.chars().next_back()) || !is_letter(rest.chars().next()),
            "<" => rest.chars().next().is_none_or(|c| c.is_ascii_alphabetic() || "/!?".contains(c)),
            "&" => may_be_reference(rest),
            "|" => is_tabular,
            _ => true,
        };
        if is_mark {
            out.push('\\');
        }
    }
    out.push_str(&text[end..]);
}

/// Could an ampersand before this text begin a character reference?
fn may_be_reference(rest: &str) -> bool {
    let name = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'#').count();
    rest.as_bytes().get(name).is_none_or(|end| *end == b';')
}

/// Keeps the line that begins at `begin` from beginning another block.
pub(super) fn guard(out: &mut String, begin: usize) {
    let line = &out[begin..];
    let Some(first) = line.chars().next() else { return };
    let ends = |at: usize| line[at..].chars().next().is_none_or(|next| " :-|".contains(next));
    let at = match first {
        '>' => 0,
        '#' | '+' | '-' | '=' | ':' if ends(line.len() - line.trim_start_matches(first).len()) => 0,
        '0'..='9' => match line.bytes().take_while(u8::is_ascii_digit).count() {
            digits if line[digits..].starts_with(['.', ')']) && ends(digits + 1) => digits,
            _ => return,
        },
        _ => return,
    };
    out.insert(begin + at, '\\');
}

/// A span of code, in more backticks than it has. In a table, bars are escaped even there.
pub(super) fn fenced(code: &str, is_in_table: bool) -> String {
    let fence = "`".repeat(longest_run(code) + 1);
    let pad = if code.starts_with('`') || code.ends_with('`') { " " } else { "" };
    let code = if is_in_table { code.replace('|', "\\|") } else { code.to_owned() };
    format!("{fence}{pad}{code}{pad}{fence}")
}

/// The most backticks in a row.
pub(in crate::markdown) fn longest_run(code: &str) -> usize {
    code.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Ends a link or an image with its target.
pub(super) fn push_destination(out: &mut String, url: &str) {
    let brackets = if url.contains(['(', ')']) { ["](<", ">)"] } else { ["](", ")"] };
    out.push_str(brackets[0]);
    for (at, character) in url.char_indices() {
        match character {
            ' ' => out.push_str("%20"),
            '\\' | '`' | '<' | '>' | '|' => out.extend(['\\', character]),
            '&' if may_be_reference(&url[at + 1..]) => out.push_str("\\&"),
            _ => out.push(character),
        }
    }
    out.push_str(brackets[1]);
}
