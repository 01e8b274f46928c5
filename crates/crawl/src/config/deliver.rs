//! `[[deliver]]`: where copies of pages are kept in step.

use super::secrets::Secret;
use super::units::{Size, Span};
use serde::{Deserialize, Serialize};

table! {
    /// `[[deliver]]`
    DeliverTable {
        /// The target's name, in what the crawl remembers of it.
        name: String = String::new(),
        /// The pages, as patterns.
        pages: Vec<String> = vec!["*".into()],
        /// The target (`recrawl_delivery::protocol`).
        to: String = String::new(),
        /// Part of a document: `text`, the visible text; `none`.
        content: String = "text".into(),
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
        /// Time limit of one request.
        timeout: Span = Span::millis(60_000),
    }
}
