//! Reads a page in one pass over its text, without a tree.
//!
//! Ten times as fast as the tree, and with the same result: the pass follows the same rules and
//! gives up on a page where it cannot ([`Slow`]): where the standard moves parts of the tree, where
//! the bounds of the module `html` could apply, and on rare syntax. A property test compares both.

mod builder;
mod references;
mod stack;
mod tokens;

pub(crate) use references::value as attribute_value;

use crate::html::{self, Attributes};
use crate::oversized_tags;
use crate::walk::WalkResult;
use builder::Builder;
use std::borrow::Cow;

/// Why a page needs the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slow(pub(crate) &'static str);

/// Reads a page.
///
/// # Errors
/// If only the tree tells what the page contains.
pub(crate) fn read(text: &str, max_text: usize, reads_anchors: bool) -> Result<WalkResult<'_>, Slow> {
    if memchr::memchr(0, text.as_bytes()).is_some() {
        return Err(Slow("null character"));
    }
    if text.starts_with('\u{feff}') {
        return Err(Slow("byte order mark"));
    }
    WalkResult::by(max_text, reads_anchors, |walk| {
        let has_other_readings = Builder::new(text, html::budget(text), walk).run()?;
        match has_other_readings && matches!(oversized_tags::bound(text), Cow::Owned(_)) {
            true => Err(Slow("many attributes")),
            false => Ok(()),
        }
    })
}

/// Reads a page with and without a tree, for tests, fuzzing and measurements.
///
/// # Errors
/// Why the page needs the tree.
///
/// # Panics
/// If the two ways find different things.
pub fn assert_both_ways(text: &str) -> Result<(), &'static str> {
    let mut result = Ok(());
    for (max_text, reads_anchors) in [(1 << 20, true), (40, false)] {
        match read(text, max_text, reads_anchors) {
            Ok(found) => {
                let (html, _) = html::parse(text, Attributes::Read);
                assert_eq!(found, WalkResult::of_tree(&html, max_text, reads_anchors), "{text}");
            }
            Err(Slow(why)) => result = Err(why),
        }
    }
    result
}

#[cfg(test)]
mod tests;
