//! The difference of two texts: by lines, and by words within replaced lines.

use super::{DIFF_TIME, Text};
use recrawl_archive::timestamp;
use serde::Serialize;
use similar::{ChangeTag, DiffTag, TextDiff, TextDiffConfig};
use std::time::Instant;

/// Maximum bytes of a text that are compared.
const MAX_DIFF_TEXT: usize = 256 << 10;
/// Maximum bytes of text in a difference.
const MAX_DIFF_BYTES: usize = 64 << 10;
/// Maximum parts of a difference.
const MAX_DIFF_PARTS: usize = 1000;
/// Bytes of unchanged text shown on either side of a difference.
const CONTEXT: usize = 160;
/// Lines that share a smaller part of their words are shown as replaced: words in common by chance
/// mean nothing.
const RELATED: f32 = 0.3;

/// The difference of two texts.
#[derive(Debug, PartialEq)]
pub struct Difference {
    /// In the order of the texts. If nothing is skipped or cut, `same` and `removed` give the older
    /// text, `same` and `added` the newer.
    pub parts: Vec<Part>,
    /// Words that only the newer text has.
    pub added: usize,
    /// Words that only the older text has.
    pub removed: usize,
    /// Some is missing: the texts or their difference exceed a limit.
    pub is_cut: bool,
}

/// The difference of two texts by lines, as `diff -u` prints it.
pub fn unified(older: &Text, newer: &Text) -> String {
    // A last line without its end would differ from the same one with more behind it.
    let ended = |text: &Text| {
        let text = beginning(&text.text, MAX_DIFF_TEXT);
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        format!("{text}{end}")
    };
    let (old, new) = (ended(older), ended(newer));
    let diff = TextDiff::configure().timeout(DIFF_TIME).diff_lines(&old, &new);
    let time = |text: &Text| timestamp(text.time * 1000);
    diff.unified_diff().missing_newline_hint(false).header(&time(older), &time(newer)).to_string()
}

/// A part of the difference.
#[derive(Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Part {
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

impl Difference {
    /// Compares two texts. After the deadline the rest is compared more coarsely, but still
    /// correctly.
    pub fn of(older: &str, newer: &str, deadline: Instant) -> Difference {
        let (old, new) = (beginning(older, MAX_DIFF_TEXT), beginning(newer, MAX_DIFF_TEXT));
        let is_cut = old.len() < older.len() || new.len() < newer.len();
        let runs = runs(old, new, deadline);
        let count = |tag| runs.iter().filter(|run| run.0 == tag).map(|run| words(&run.1)).sum();
        let (added, removed) = (count(ChangeTag::Insert), count(ChangeTag::Delete));
        let (parts, parts_are_cut) = shown(&runs);
        Difference { parts, added, removed, is_cut: is_cut || parts_are_cut }
    }
}

type Run = (ChangeTag, String);

/// The whole of both texts as runs of the same kind.
fn runs(old: &str, new: &str, deadline: Instant) -> Vec<Run> {
    let config = |deadline| {
        let mut config = TextDiffConfig::default();
        config.deadline(deadline);
        config
    };
    let mut runs = Vec::new();
    let lines: [Vec<&str>; 2] = [old, new].map(|text| text.split_inclusive('\n').collect());
    let by_lines = config(deadline).diff_slices(&lines[0], &lines[1]);
    for operation in by_lines.ops() {
        let (before, after) = (&lines[0][operation.old_range()], &lines[1][operation.new_range()]);
        if operation.tag() != DiffTag::Replace {
            collect(&mut runs, by_lines.iter_changes(operation).map(|change| (change.tag(), change.value())));
            continue;
        }
        let [before_words, after_words]: [Vec<&str>; 2] = [before, after]
            .map(|lines| lines.iter().flat_map(|line| line.split_inclusive(char::is_whitespace)).collect());
        let by_words: TextDiff<'_, '_, str> = config(deadline).diff_slices(&before_words, &after_words);
        if by_words.ratio() < RELATED {
            collect(&mut runs, before.iter().map(|line| (ChangeTag::Delete, *line)));
            collect(&mut runs, after.iter().map(|line| (ChangeTag::Insert, *line)));
        } else {
            collect(&mut runs, by_words.iter_all_changes().map(|change| (change.tag(), change.value())));
        }
    }
    runs
}

fn collect<'t>(runs: &mut Vec<Run>, changes: impl Iterator<Item = (ChangeTag, &'t str)>) {
    for (tag, text) in changes {
        match runs.last_mut() {
            Some((last, run)) if *last == tag => run.push_str(text),
            _ => runs.push((tag, text.to_owned())),
        }
    }
}

/// The parts to show, and whether some are missing.
fn shown(runs: &[Run]) -> (Vec<Part>, bool) {
    let (mut parts, mut room) = (Vec::new(), MAX_DIFF_BYTES);
    for (at, (tag, text)) in runs.iter().enumerate() {
        let some = match tag {
            ChangeTag::Equal => same(text, at == 0, at + 1 == runs.len()),
            ChangeTag::Insert => vec![Part::Added { text: text.clone() }],
            ChangeTag::Delete => vec![Part::Removed { text: text.clone() }],
        };
        for mut part in some {
            if parts.len() == MAX_DIFF_PARTS || room == 0 {
                return (parts, true);
            }
            let mut is_cut = false;
            if let Part::Same { text } | Part::Added { text } | Part::Removed { text } = &mut part {
                is_cut = text.len() > room;
                text.truncate(beginning(text, room).len());
                room -= text.len();
            }
            parts.push(part);
            if is_cut {
                return (parts, true);
            }
        }
    }
    (parts, false)
}

/// The unchanged text next to a difference.
fn same(text: &str, is_first: bool, is_last: bool) -> Vec<Part> {
    let head = if is_first { "" } else { beginning(text, CONTEXT) };
    let tail = if is_last { "" } else { end(text, CONTEXT) };
    let skipped = text.get(head.len()..text.len().saturating_sub(tail.len())).map_or(0, words);
    if skipped == 0 {
        return vec![Part::Same { text: text.to_owned() }];
    }
    let told = |text: &str| (!text.is_empty()).then(|| Part::Same { text: text.to_owned() });
    [told(head), Some(Part::Skipped { words: skipped }), told(tail)].into_iter().flatten().collect()
}

/// The first bytes of a text, up to the end of a word if possible.
fn beginning(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let border = (0..=bytes).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let cut = &text[..border];
    cut.rfind(char::is_whitespace).map_or(cut, |at| &cut[..at])
}

/// The last bytes of a text, from the start of a word if possible.
fn end(text: &str, bytes: usize) -> &str {
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
