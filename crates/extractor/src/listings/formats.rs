//! The XML formats: root elements, their entry elements, and the meaning of the entries' children.

use super::ListingKind;

#[derive(Debug)]
pub(super) struct Format {
    pub kind: ListingKind,
    /// The root element's name. Prefixes and namespaces are ignored: many are wrong, and an
    /// element's position is enough.
    pub root: &'static str,
    /// The name of an entry element.
    pub entry: &'static str,
    /// The meaning of an entry's direct children. Deeper elements are ignored: an image's URL is
    /// not the page's.
    fields: &'static [(&'static str, Field)],
}

/// The meaning of a child of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
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

impl Field {
    /// Is it text for people, which may contain markup?
    pub fn is_text(self) -> bool {
        matches!(self, Field::Title | Field::Text)
    }
}

const SITEMAP: &[(&str, Field)] = &[("loc", Field::Address), ("lastmod", Field::Modified)];

const URLSET: &[(&str, Field)] =
    &[("loc", Field::Address), ("lastmod", Field::Modified), ("link", Field::Alternate)];

static FORMATS: [Format; 5] = [
    Format { kind: ListingKind::Index, root: "sitemapindex", entry: "sitemap", fields: SITEMAP },
    Format { kind: ListingKind::Urlset, root: "urlset", entry: "url", fields: URLSET },
    Format {
        kind: ListingKind::Rss,
        root: "rss",
        entry: "item",
        fields: &[
            ("link", Field::Address),
            ("guid", Field::Permalink),
            ("pubDate", Field::Published),
            ("date", Field::Published),
            ("updated", Field::Modified),
            ("title", Field::Title),
            ("description", Field::Text),
            ("encoded", Field::Text),
            ("summary", Field::Text),
        ],
    },
    Format {
        kind: ListingKind::Rdf,
        root: "RDF",
        entry: "item",
        fields: &[
            ("link", Field::Address),
            ("date", Field::Published),
            ("modified", Field::Modified),
            ("title", Field::Title),
            ("description", Field::Text),
            ("encoded", Field::Text),
        ],
    },
    Format {
        kind: ListingKind::Atom,
        root: "feed",
        entry: "entry",
        fields: &[
            ("link", Field::Href),
            ("updated", Field::Modified),
            ("published", Field::Published),
            ("title", Field::Title),
            ("summary", Field::Text),
            ("content", Field::Text),
        ],
    },
];

impl Format {
    /// The format with this root element.
    pub fn of_root(root: &str) -> Option<&'static Format> {
        FORMATS.iter().find(|format| format.root == root)
    }

    pub fn field(&self, name: &str) -> Option<Field> {
        self.fields.iter().find(|(known, _)| *known == name).map(|(_, field)| *field)
    }
}
