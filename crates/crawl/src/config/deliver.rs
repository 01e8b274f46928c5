//! `[[deliver]]`: where copies of pages are kept in step.

use super::secrets::Secret;
use super::units::{Size, Span};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

table! {
    /// `[[deliver]]`
    DeliverTable {
        /// The target's name, in what the crawl remembers of it.
        name: String = String::new(),
        /// The pages, as patterns.
        pages: Vec<String> = vec!["*".into()],
        /// The target (`recrawl_delivery::protocol`).
        to: String = String::new(),
        /// The text of a document: `text`, `markdown` or `none`.
        content: String = "text".into(),
        /// Has Markdown all that is seen, and not only the main content?
        whole: bool = false,
        /// Pages that name another one as canonical: `keep`, or `fold` into that one.
        canonical: String = "keep".into(),
        /// Documents of pages that are not found: `keep` until the page is gone, or `delete` at once.
        missing: String = "keep".into(),
        /// Further fields of a document, by where their values are found (`recrawl_extractor::PageFields`).
        fields: BTreeMap<String, String> = BTreeMap::new(),
        /// For Basic authentication.
        user: String = String::new(),
        /// For the same.
        password: Secret = Secret::default(),
        /// For Bearer authentication.
        bearer: Secret = Secret::default(),
        /// Address blocks that the target may have although they are not on the public Internet.
        allow_addresses: Vec<String> = Vec::new(),
        /// Maximum documents of a request.
        batch: u32 = 500,
        /// Maximum bytes of the documents of a request.
        batch_bytes: Size = Size(5 << 20),
        /// Maximum requests with documents per time, as `10/s`; empty for no limit.
        rate: String = String::new(),
        /// Time limit of one request.
        timeout: Span = Span::millis(60_000),
    }
}
