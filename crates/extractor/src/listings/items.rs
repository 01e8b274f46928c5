//! What the items of a feed say, as text: it is compared, matched by patterns and shown.

use super::values::{EntryValues, cut};
use super::{EntryCollector, ListingEntry};
use crate::html::{self, Attributes};
use crate::stream;
use crate::walk;
use jiff::Timestamp;

impl EntryCollector<'_> {
    /// Adds what an item of a feed says. Its entry is the one behind the first `before`, if it has one.
    pub(super) fn item(&mut self, before: usize, values: &EntryValues) {
        let room = self.max_text.saturating_sub(self.listing.text.len());
        if !self.listing.kind.is_feed() || self.listing.over_limit > 0 || room == 0 {
            return;
        }
        let mut item = self.listing.entries.get(before).map(line).unwrap_or_default();
        for text in values.titles.iter().take(1).chain(values.texts.iter().map(String::as_str)) {
            let text = visible(text, room);
            if !text.is_empty() {
                item += &text;
                item.push('\n');
            }
        }
        self.listing.text.push_str(cut(&item, room));
    }
}

/// URL and date of an entry.
fn line(entry: &ListingEntry) -> String {
    match Timestamp::from_second(entry.lastmod.into()) {
        Ok(date) if entry.lastmod > 0 => format!("{} {date}\n", entry.url),
        _ => format!("{}\n", entry.url),
    }
}

/// The visible text of a fragment of HTML.
fn visible(markup: &str, max: usize) -> String {
    stream::read(markup, max, false).map(|found| found.text).unwrap_or_else(|_| {
        let (html, _) = html::parse(markup, Attributes::Read);
        walk::WalkResult::of_tree(&html, max, false).text
    })
}
