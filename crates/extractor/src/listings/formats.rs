//! The XML formats: root elements, their entry elements, and the meaning of the entries' children.

use super::ListingKind;

#[derive(Debug)]
pub(super) struct ListingFormat {
    pub kind: ListingKind,
    /// The root element's name. Prefixes and namespaces are ignored: many are wrong, and an
    /// element's position is enough.
    pub root: &'static str,
    /// The name of an entry element.
    pub entry: &'static str,
    /// The meaning of an entry's direct children. Deeper elements are ignored: an image's URL is
    /// not the page's.
    fields: &'static [(&'static str, EntryField)],
}

/// The meaning of a child of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryField {
    /// The URL, as text.
    Address,
    /// The URL, in the attribute `href` of a link to the page itself (RFC 4287 §4.2.7.2).
    Href,
    /// An identifier that serves as the URL if there is no other, unless it says that it is not
    /// one.
    Permalink,
    /// A page beside that of the entry, in the attribute `href`: another language.
    Alternate,
    /// The modification date.
    Modified,
    /// The publication date, used if there is no modification date.
    Published,
    /// The title of a feed's item.
    Title,
    /// What the item says.
    Text,
}

impl EntryField {
    /// Is it text for people, which may contain markup?
    pub fn is_text(self) -> bool {
        matches!(self, EntryField::Title | EntryField::Text)
    }
}

const SITEMAP: &[(&str, EntryField)] = &[("loc", EntryField::Address), ("lastmod", EntryField::Modified)];

const URLSET: &[(&str, EntryField)] =
    &[("loc", EntryField::Address), ("lastmod", EntryField::Modified), ("link", EntryField::Alternate)];

static FORMATS: [ListingFormat; 5] = [
    ListingFormat { kind: ListingKind::Index, root: "sitemapindex", entry: "sitemap", fields: SITEMAP },
    ListingFormat { kind: ListingKind::Urlset, root: "urlset", entry: "url", fields: URLSET },
    ListingFormat {
        kind: ListingKind::Rss,
        root: "rss",
        entry: "item",
        fields: &[
            ("link", EntryField::Address),
            ("guid", EntryField::Permalink),
            ("pubDate", EntryField::Published),
            ("date", EntryField::Published),
            ("updated", EntryField::Modified),
            ("title", EntryField::Title),
            ("description", EntryField::Text),
            ("encoded", EntryField::Text),
            ("summary", EntryField::Text),
        ],
    },
    ListingFormat {
        kind: ListingKind::Rdf,
        root: "RDF",
        entry: "item",
        fields: &[
            ("link", EntryField::Address),
            ("date", EntryField::Published),
            ("modified", EntryField::Modified),
            ("title", EntryField::Title),
            ("description", EntryField::Text),
            ("encoded", EntryField::Text),
        ],
    },
    ListingFormat {
        kind: ListingKind::Atom,
        root: "feed",
        entry: "entry",
        fields: &[
            ("link", EntryField::Href),
            ("updated", EntryField::Modified),
            ("published", EntryField::Published),
            ("title", EntryField::Title),
            ("summary", EntryField::Text),
            ("content", EntryField::Text),
        ],
    },
];

impl ListingFormat {
    /// The format with this root element.
    pub fn of_root(root: &str) -> Option<&'static ListingFormat> {
        FORMATS.iter().find(|format| format.root == root)
    }

    pub fn field(&self, name: &str) -> Option<EntryField> {
        self.fields.iter().find(|(known, _)| *known == name).map(|(_, field)| *field)
    }
}
