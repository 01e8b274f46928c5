//! The difference of two texts: by lines, and by words within replaced lines.

use serde::Serialize;
use similar::{ChangeTag, DiffTag, TextDiff, TextDiffConfig};
use std::time::Instant;

/// Maximum bytes of text in a difference.
const MAX_DIFF_BYTES: usize = 64 << 10;
/// Maximum parts of a difference.
const MAX_DIFF_PARTS: usize = 1000;
/// Maximum bytes of one part that was added or removed: its other half has room too.
const MAX_PART_BYTES: usize = 16 << 10;
/// Bytes of unchanged text shown on either side of a difference.
pub(super) const CONTEXT: usize = 160;
/// A longer word is divided: Chinese has no spaces, and minified data none for pages.
const LONG_WORD: usize = 64;
/// A still longer piece without punctuation stays whole.
const MAX_CHARACTERS: usize = 64 << 10;
/// Lines that share a smaller part of their words are shown as replaced: words in common by chance
/// mean nothing.
const RELATED: f32 = 0.3;

/// The difference of two texts.
#[derive(Debug, PartialEq)]
pub struct TextDifference {
    /// In the order of the texts. If nothing is skipped or cut, `same` and `removed` give the older
    /// text, `same` and `added` the newer.
    pub parts: Vec<DifferencePart>,
    /// Words that only the newer text has.
    pub added: usize,
    /// Words that only the older text has.
    pub removed: usize,
    /// Some is missing: the difference exceeds a limit.
    pub is_cut: bool,
}

/// A part of the difference.
#[derive(Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DifferencePart {
    /// In both texts.
    Same { text: String },
    /// Only in the newer.
    Added { text: String },
    /// Only in the older.
    Removed { text: String },
    /// In both texts, but far from any difference.
    Skipped {
        /// Number of words.
        words: usize,
    },
}

impl TextDifference {
    /// Compares two texts. After the deadline the rest is compared more coarsely, but still
    /// correctly.
    pub fn between(older: &str, newer: &str, deadline: Instant) -> TextDifference {
        let runs = runs(older, newer, deadline);
        let count = |tag| runs.iter().filter(|run| run.0 == tag).map(|run| words(&run.1)).sum();
        let (added, removed) = (count(ChangeTag::Insert), count(ChangeTag::Delete));
        let (parts, is_cut) = shown(&runs);
        TextDifference { parts, added, removed, is_cut }
    }
}

/// Text of one kind.
pub(super) type DifferenceRun = (ChangeTag, String);

fn config(deadline: Instant) -> TextDiffConfig {
    let mut config = TextDiffConfig::default();
    config.deadline(deadline);
    config
}

/// The lines of a text.
pub(super) fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Compares lines.
pub(super) fn by_lines<'t>(old: &[&'t str], new: &[&'t str], deadline: Instant) -> TextDiff<'t, 't, str> {
    config(deadline).diff_slices(old, new)
}

/// The whole of both texts as runs of the same kind. What both begin and end with costs nothing, however long it is.
fn runs(old: &str, new: &str, deadline: Instant) -> Vec<DifferenceRun> {
    let mut runs = Vec::new();
    let [old, new] = [old, new].map(lines);
    let diff = by_lines(&old, &new, deadline);
    for operation in diff.ops() {
        if operation.tag() == DiffTag::Replace {
            runs.extend(replaced(&old[operation.old_range()], &new[operation.new_range()], deadline));
        } else {
            collect(&mut runs, diff.iter_changes(operation).map(|change| (change.tag(), change.value())));
        }
    }
    runs
}

/// Lines and those that replace them, as runs: by words if they share some.
pub(super) fn replaced(before: &[&str], after: &[&str], deadline: Instant) -> Vec<DifferenceRun> {
    let mut runs = Vec::new();
    let [old, new] =
        [before, after].map(|lines| lines.iter().flat_map(|line| pieces(line)).collect::<Vec<_>>());
    let by_words: TextDiff<'_, '_, str> = config(deadline).diff_slices(&old, &new);
    if by_words.ratio() < RELATED {
        collect(&mut runs, before.iter().map(|line| (ChangeTag::Delete, *line)));
        collect(&mut runs, after.iter().map(|line| (ChangeTag::Insert, *line)));
    } else {
        collect(&mut runs, by_words.iter_all_changes().map(|change| (change.tag(), change.value())));
    }
    runs
}

/// The words of a line. A long one is divided behind all but letters and digits of ASCII, and where that leaves a
/// long piece, into characters.
fn pieces(line: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    for word in line.split_inclusive(char::is_whitespace) {
        if word.len() <= LONG_WORD {
            pieces.push(word);
            continue;
        }
        for piece in word.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
            match piece.len() {
                LONG_WORD..=MAX_CHARACTERS => pieces.extend(piece.split_inclusive(|_| true)),
                _ => pieces.push(piece),
            }
        }
    }
    pieces
}

fn collect<'t>(runs: &mut Vec<DifferenceRun>, changes: impl Iterator<Item = (ChangeTag, &'t str)>) {
    for (tag, text) in changes {
        match runs.last_mut() {
            Some((last, run)) if *last == tag => run.push_str(text),
            _ => runs.push((tag, text.to_owned())),
        }
    }
}

/// The parts to show, and whether some are missing.
fn shown(runs: &[DifferenceRun]) -> (Vec<DifferencePart>, bool) {
    let (mut parts, mut room, mut is_cut) = (Vec::new(), MAX_DIFF_BYTES, false);
    for (at, (tag, text)) in runs.iter().enumerate() {
        let some = match tag {
            ChangeTag::Equal => same(text, at == 0, at + 1 == runs.len()),
            ChangeTag::Insert => vec![DifferencePart::Added { text: text.clone() }],
            ChangeTag::Delete => vec![DifferencePart::Removed { text: text.clone() }],
        };
        for mut part in some {
            if parts.len() == MAX_DIFF_PARTS || room == 0 {
                return (parts, true);
            }
            if let DifferencePart::Same { text }
            | DifferencePart::Added { text }
            | DifferencePart::Removed { text } = &mut part
            {
                let most = room.min(MAX_PART_BYTES);
                is_cut |= text.len() > most;
                text.truncate(beginning(text, most).len());
                room -= text.len();
            }
            parts.push(part);
        }
    }
    (parts, is_cut)
}

/// The unchanged text next to a difference.
fn same(text: &str, is_first: bool, is_last: bool) -> Vec<DifferencePart> {
    let head = if is_first { "" } else { beginning(text, CONTEXT) };
    let tail = if is_last { "" } else { end(text, CONTEXT) };
    let skipped = text.get(head.len()..text.len().saturating_sub(tail.len())).map_or(0, words);
    if skipped == 0 {
        return vec![DifferencePart::Same { text: text.to_owned() }];
    }
    let told = |text: &str| (!text.is_empty()).then(|| DifferencePart::Same { text: text.to_owned() });
    [told(head), Some(DifferencePart::Skipped { words: skipped }), told(tail)].into_iter().flatten().collect()
}

/// The first bytes of a text, up to the end of a word if possible.
pub(super) fn beginning(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let border = (0..=bytes).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let cut = &text[..border];
    cut.rfind(char::is_whitespace).map_or(cut, |at| &cut[..at])
}

/// The last bytes of a text, from the start of a word if possible.
pub(super) fn end(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let border = (text.len() - bytes..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let cut = &text[border..];
    cut.find(char::is_whitespace).map_or(cut, |at| cut[at..].trim_start())
}

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

#[cfg(test)]
mod tests;
