//! The XML formats: root elements, their entry elements, and the meaning of the entries' children.

use super::ListingKind;

#[derive(Debug)]
pub(super) struct ListingFormat {
    pub kind: ListingKind,
    /// The root element's name. Namespaces are ignored: many are wrong, and an element's position is enough.
    pub root: &'static str,
    /// The names of entry elements. Sitemaps and their indexes are often mistaken for each other.
    entries: &'static [&'static str],
    /// The meaning of an entry's direct children. Deeper elements are ignored: an image's URL is
    /// not the page's.
    fields: &'static [(&'static str, EntryField)],
}

/// The meaning of a child of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryField {
    /// The URL, as text or in the attribute `href` of a link to the page itself (RFC 4287 §4.2.7.2).
    Address,
    /// The text of a link that has a `href`: the URL if it is a whole one.
    BesideHref,
    /// An identifier that serves as the URL if there is no other, unless it says that it is not
    /// one.
    Permalink,
    /// A page beside that of the entry, in the attribute `href`: another language.
    Alternate,
    /// A file that belongs to the entry, in the attribute `url`: its URL if there is no other.
    Attached,
    /// The modification date.
    Modified,
    /// The publication date, used if there is no modification date.
    Published,
    /// The title of a feed's item.
    Title,
    /// Words of the item. They may stand elsewhere, in `src`.
    Text,
    /// Not a field: its children are read as if they were the entry's.
    Group,
}

impl EntryField {
    /// Is it text for people, which may contain markup?
    pub fn is_text(self) -> bool {
        matches!(self, EntryField::Title | EntryField::Text)
    }
}

const SITEMAPS: &[&str] = &["url", "sitemap"];

const SITEMAP: &[(&str, EntryField)] = &[
    ("loc", EntryField::Address),
    ("lastmod", EntryField::Modified),
    ("link", EntryField::Alternate),
    ("news", EntryField::Group),
    ("publication_date", EntryField::Published),
];

const RSS: &[(&str, EntryField)] = &[
    ("link", EntryField::Address),
    ("guid", EntryField::Permalink),
    ("enclosure", EntryField::Attached),
    ("pubDate", EntryField::Published),
    ("date", EntryField::Published),
    ("published", EntryField::Published),
    ("updated", EntryField::Modified),
    ("modified", EntryField::Modified),
    ("title", EntryField::Title),
    ("description", EntryField::Text),
    ("encoded", EntryField::Text),
    ("summary", EntryField::Text),
    ("group", EntryField::Group),
];

const ATOM: &[(&str, EntryField)] = &[
    ("link", EntryField::Address),
    ("id", EntryField::Permalink),
    ("updated", EntryField::Modified),
    ("modified", EntryField::Modified),
    ("published", EntryField::Published),
    ("issued", EntryField::Published),
    ("created", EntryField::Published),
    ("title", EntryField::Title),
    ("summary", EntryField::Text),
    ("content", EntryField::Text),
    // A video's words, of Media RSS.
    ("group", EntryField::Group),
    ("description", EntryField::Text),
];

static FORMATS: [ListingFormat; 5] = [
    ListingFormat { kind: ListingKind::Index, root: "sitemapindex", entries: SITEMAPS, fields: SITEMAP },
    ListingFormat { kind: ListingKind::Urlset, root: "urlset", entries: SITEMAPS, fields: SITEMAP },
    ListingFormat { kind: ListingKind::Rss, root: "rss", entries: &["item"], fields: RSS },
    ListingFormat { kind: ListingKind::Rdf, root: "RDF", entries: &["item"], fields: RSS },
    ListingFormat { kind: ListingKind::Atom, root: "feed", entries: &["entry"], fields: ATOM },
];

/// Names are compared without case: feeds of the last century shout.
impl ListingFormat {
    /// The format with this root element.
    pub fn of_root(root: &str) -> Option<&'static ListingFormat> {
        FORMATS.iter().find(|format| format.is_root(root))
    }

    pub fn is_root(&self, name: &str) -> bool {
        self.root.eq_ignore_ascii_case(name)
    }

    pub fn is_entry(&self, name: &str) -> bool {
        self.entries.iter().any(|known| known.eq_ignore_ascii_case(name))
    }

    pub fn field(&self, name: &str) -> Option<EntryField> {
        self.fields.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, field)| *field)
    }
}
