//! The values of an entry: several for each of its fields, of which the best that can be read counts.

use super::address;

/// Maximum bytes of a text for people, with its markup; the rest is left out.
pub(super) const MAX_TEXT: usize = 256 << 10;
/// Maximum candidates of one field; the worst are left out.
const MAX_CANDIDATES: usize = 8;

/// Where a value stands. The first is the best; of equals, the first in the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ValueRank {
    /// The field itself: text, or a date of modification.
    Own,
    /// The `href` of a link to a page for people.
    Page,
    /// The `href` of a link to another form of the page, such as JSON.
    OtherForm,
    /// The place of the content.
    Content,
    /// A date of publication.
    Published,
    /// An identifier.
    Identifier,
    /// The page that the entry is about, or a file attached to it.
    Elsewhere,
}

/// Texts that may be the value of a field, the best first.
#[derive(Default)]
pub(super) struct Candidates(Vec<((ValueRank, bool), String)>);

impl Candidates {
    /// Adds a text. One that stands under a foreign prefix, as the title of an image, is worse than others of its rank.
    pub fn add(&mut self, rank: ValueRank, is_foreign: bool, text: String) {
        let rank = (rank, is_foreign);
        let at = self.0.partition_point(|(known, _)| *known <= rank);
        if !text.is_empty() && at < MAX_CANDIDATES {
            self.0.truncate(MAX_CANDIDATES - 1);
            self.0.insert(at, (rank, text));
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(_, text)| text.as_str())
    }

    /// Has it the field itself, under no foreign prefix?
    pub fn has_own(&self) -> bool {
        self.0.first().is_some_and(|(rank, _)| *rank == (ValueRank::Own, false))
    }
}

/// The values of an entry so far.
#[derive(Default)]
pub(super) struct EntryValues {
    pub addresses: Candidates,
    pub dates: Candidates,
    pub titles: Candidates,
    /// All that the item says, as HTML: a summary, then the whole.
    pub texts: Vec<String>,
}

impl EntryValues {
    /// Adds an identifier. One without a scheme of the Web is no URL, whatever it says.
    pub fn identifier(&mut self, is_foreign: bool, text: &str) {
        let text = address::clean(text);
        if address::is_whole(&text) {
            self.addresses.add(ValueRank::Identifier, is_foreign, text.into());
        }
    }
}

/// A plain text as HTML, with its lines.
pub(super) fn as_html(text: &str) -> String {
    cut(text, MAX_TEXT).replace('&', "&amp;").replace('<', "&lt;").replace('\n', "<br>")
}

/// The first `max` bytes of a text, cut between characters.
pub(super) fn cut(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or_default()]
}
