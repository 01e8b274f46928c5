//! The difference of two texts as `diff -u` prints it, short enough for a message.
//!
//! Of a long line it shows what differs and the words around it. Where lines replace others, both have room.

use super::difference::{CONTEXT, DifferenceRun, beginning, by_lines, end, lines, replaced};
use super::{ArchivedText, DIFF_TIME};
use recrawl_archive::timestamp;
use recrawl_notifications::message::cut;
use similar::udiff::UnifiedHunkHeader;
use similar::{ChangeTag, DiffTag};
use std::fmt::Write as _;
use std::time::Instant;

/// Bytes of a line that is shown whole.
const LONG_LINE: usize = 1000;
/// Unchanged lines around a difference.
const CONTEXT_LINES: usize = 3;
/// In place of text that is left out.
const LEFT_OUT: &str = "…";

/// A difference as text.
#[derive(Debug, PartialEq)]
pub struct Unified {
    pub text: String,
    /// Is some of what differs missing?
    pub is_cut: bool,
}

/// The difference of two texts by lines, of at most `max` bytes. Nothing if they are the same.
pub fn unified(older: &ArchivedText, newer: &ArchivedText, max: usize) -> Unified {
    let deadline = Instant::now() + DIFF_TIME;
    let [old, new] = [older, newer].map(|text| ended(&text.text));
    let [old, new] = [&old, &new].map(|text| lines(text));
    let mut out = Unified { text: String::new(), is_cut: false };
    for operations in by_lines(&old, &new, deadline).grouped_ops(CONTEXT_LINES) {
        if out.text.is_empty() {
            let [from, to] = [older, newer].map(|text| timestamp(text.time * 1000));
            let _ = write!(out.text, "--- {from}\n+++ {to}\n");
        }
        let _ = writeln!(out.text, "{}", UnifiedHunkHeader::new(&operations));
        for operation in operations {
            let (before, after) = (&old[operation.old_range()], &new[operation.new_range()]);
            if operation.tag() == DiffTag::Equal {
                before.iter().for_each(|line| out.put(' ', &shortened(line, true, false)));
            } else {
                out.changed(before, after, max, deadline);
            }
        }
    }
    out.is_cut |= cut(&mut out.text, max);
    out
}

/// A last line without its end would differ from the same one with more behind it.
fn ended(text: &str) -> String {
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{end}")
}

impl Unified {
    /// Adds lines with a sign before each.
    fn put(&mut self, sign: char, text: &str) {
        for line in lines(text) {
            let end = if line.ends_with('\n') { "" } else { "\n" };
            let _ = write!(self.text, "{sign}{line}{end}");
        }
    }

    /// Adds lines and those that replace them.
    fn changed(&mut self, before: &[&str], after: &[&str], max: usize, deadline: Instant) {
        let is_long = before.iter().chain(after).any(|line| line.len() > LONG_LINE);
        let halves = match is_long && !before.is_empty() && !after.is_empty() {
            true => halves(&replaced(before, after, deadline)),
            false => [before.concat(), after.concat()],
        };
        for (sign, half, other) in [('-', &halves[0], &halves[1]), ('+', &halves[1], &halves[0])] {
            // A half of the room for context and header.
            let room = (max / 2).saturating_sub(other.len()).max(max / 4);
            let shown = beginning(half, room);
            self.put(sign, shown);
            if shown.len() < half.len() {
                self.is_cut = true;
                self.put(sign, LEFT_OUT);
            }
        }
    }
}

/// The older and the newer text of runs, without most of what they share.
fn halves(runs: &[DifferenceRun]) -> [String; 2] {
    let mut halves = [String::new(), String::new()];
    for (at, (tag, text)) in runs.iter().enumerate() {
        if *tag == ChangeTag::Equal {
            let same = shortened(text, at > 0, at + 1 < runs.len());
            halves.iter_mut().for_each(|half| half.push_str(&same));
        } else {
            halves[usize::from(*tag == ChangeTag::Insert)].push_str(text);
        }
    }
    halves
}

/// The ends of unchanged text: its head if a difference comes before it, its tail if one follows.
fn shortened(text: &str, has_head: bool, has_tail: bool) -> String {
    if text.len() <= 2 * CONTEXT {
        return text.to_owned();
    }
    let head = if has_head { format!("{} ", beginning(text, CONTEXT)) } else { String::new() };
    let tail = if has_tail { format!(" {}", end(text, CONTEXT)) } else { String::new() };
    format!("{head}{LEFT_OUT}{tail}")
}

#[cfg(test)]
mod tests;
