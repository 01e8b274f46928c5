//! The media types that a crawl keeps (`scope.types`), and which bodies are read to tell.
//!
//! The field Content-Type decides, before the body. A sitemap or feed is always kept, but only its body tells that it is
//! one. So a body of a type that these have is read, and the reader of pages decides.

use recrawl_types::media_types::format_of;
use recrawl_types::{ContentType, Cycle, MediaTypes};
use serde::{Deserialize, Serialize};

/// See the module documentation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptTypes {
    /// The list.
    pub types: MediaTypes,
    /// The first cycle with it. Pages seen before may have another type, which a 304 does not tell.
    pub since: Cycle,
}

/// Types of sitemaps and feeds, beside those of XML.
const OF_LISTINGS: [&str; 9] = [
    "text/plain",
    "text/xml",
    "text/rss+xml",
    "text/atom+xml",
    "application/rss",
    "application/xml+rss",
    "application/feed+json",
    "application/gzip",
    "application/x-gzip",
];

impl KeptTypes {
    /// Is a body read whose fields Content-Type have these values? One without a type is: its first bytes tell.
    pub(crate) fn reads(&self, content_type: Option<&str>) -> bool {
        let declared = ContentType::of_fields(content_type.unwrap_or_default());
        let essence = declared.essence.as_str();
        !declared.is_declared()
            || self.types.admits(essence)
            || OF_LISTINGS.contains(&essence)
            || format_of(essence) == "application/xml"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_decides_unless_the_body_may_be_a_sitemap_or_feed() {
        let kept = KeptTypes { types: MediaTypes::new(["text/html", "image/*"]).unwrap(), since: Cycle(1) };
        for (content_type, is_read) in [
            (Some("text/html; charset=utf-8"), true),
            (Some("image/png"), true),
            (Some("application/pdf"), false),
            (Some("application/json"), false),
            (Some("application/octet-stream"), false),
            (Some("application/xhtml+xml"), false),
            (Some("application/pdf, text/html"), true),
            (Some("application/rss+xml"), true),
            (Some("application/feed+json"), true),
            (Some("application/xml"), true),
            (Some("text/xml"), true),
            (Some("text/plain"), true),
            (Some("application/x-gzip"), true),
            (Some("unknown/unknown"), true),
            (Some("nonsense"), true),
            (None, true),
        ] {
            assert_eq!(kept.reads(content_type), is_read, "{content_type:?}");
        }
    }
}
