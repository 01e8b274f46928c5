//! The XML formats: under which root which elements are entries, and what their children say.

use super::HintsKind;

/// A format.
#[derive(Debug)]
pub(super) struct Format {
    pub kind: HintsKind,
    /// The root element's name. Prefixes and name spaces are passed over: half of the Web's are wrong, and
    /// the place of an element says enough.
    root: &'static str,
    /// An entry's name.
    pub entry: &'static str,
    /// What an entry's children mean. Only its children: an image's address inside an entry is no page's.
    fields: &'static [(&'static str, Field)],
}

/// What a child of an entry says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// The address, as text.
    Address,
    /// The address, in an attribute `href` of a link that leads to the page itself (RFC 4287 §4.2.7.2).
    Href,
    /// An identifier that is the address too, where there is no other, unless it says that it is not.
    Permalink,
    /// When the page was last modified.
    Modified,
    /// When it was published: where nothing better is said.
    Published,
}

const SITEMAP: &[(&str, Field)] = &[("loc", Field::Address), ("lastmod", Field::Modified)];

/// Every format there is.
static FORMATS: [Format; 5] = [
    Format { kind: HintsKind::Index, root: "sitemapindex", entry: "sitemap", fields: SITEMAP },
    Format { kind: HintsKind::Urlset, root: "urlset", entry: "url", fields: SITEMAP },
    Format {
        kind: HintsKind::Rss,
        root: "rss",
        entry: "item",
        fields: &[
            ("link", Field::Address),
            ("guid", Field::Permalink),
            ("pubDate", Field::Published),
            ("date", Field::Published),
            ("updated", Field::Modified),
        ],
    },
    Format {
        kind: HintsKind::Rdf,
        root: "RDF",
        entry: "item",
        fields: &[("link", Field::Address), ("date", Field::Published), ("modified", Field::Modified)],
    },
    Format {
        kind: HintsKind::Atom,
        root: "feed",
        entry: "entry",
        fields: &[("link", Field::Href), ("updated", Field::Modified), ("published", Field::Published)],
    },
];

impl Format {
    /// The format with this root element.
    pub fn of_root(root: &str) -> Option<&'static Format> {
        FORMATS.iter().find(|format| format.root == root)
    }

    /// What a child of an entry means.
    pub fn field(&self, name: &str) -> Option<Field> {
        self.fields.iter().find(|(known, _)| *known == name).map(|(_, field)| *field)
    }
}
