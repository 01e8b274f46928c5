//! Documents: what a target gets of a page.

use data_encoding::BASE32_NOPAD;
use recrawl_types::CanonicalUrl;
use ring::digest::{SHA256, digest};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Bytes of SHA-256 in a name.
const NAME_BYTES: usize = 16;

/// The id of a page's document, the same in each target and forever.
pub fn id(url: &CanonicalUrl) -> String {
    name_of(&url.as_text())
}

/// A name of 26 letters and digits that only this text has.
pub fn name_of(text: &str) -> String {
    let digest = digest(&SHA256, text.as_bytes());
    BASE32_NOPAD.encode(&digest.as_ref()[..NAME_BYTES]).to_ascii_lowercase()
}

/// A page's document.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageDocument {
    /// [`id`] of the page.
    pub id: String,
    /// That of each change is higher than that of the last one. It falls only where a backup was restored and the clock is
    /// behind.
    pub version: u64,
    /// Canonical URL.
    pub url: String,
    /// Host name.
    pub host: String,
    /// Title, if there is one.
    pub title: Option<String>,
    /// Language that the page declares.
    pub language: Option<String>,
    /// Declared type.
    pub content_type: Option<String>,
    /// HTTP status.
    pub status: u16,
    /// End of the fetch of this body, in seconds since 1970.
    pub fetched_at: u64,
    /// Changes that visits found so far.
    pub changes: u32,
    /// The visible text or Markdown, as far as the page's rule lets it count; none if it is not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Further fields.
    #[serde(flatten)]
    pub fields: BTreeMap<String, Value>,
}

impl PageDocument {
    /// Names its content: the same for a document that was made of another body at another time. Never 0.
    pub fn digest(&self) -> u64 {
        let content = PageDocument { version: 0, fetched_at: 0, ..self.clone() };
        let json = serde_json::to_vec(&content).expect("a document is plain data");
        let digest = digest(&SHA256, &json);
        u64::from_le_bytes(*digest.as_ref().first_chunk().expect("it has 32 bytes")).max(1)
    }
}

/// The names of the other fields, and of what targets add.
pub const FIELDS: [&str; 12] = [
    "id",
    "op",
    "version",
    "url",
    "host",
    "title",
    "language",
    "content_type",
    "status",
    "fetched_at",
    "changes",
    "text",
];

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::UrlRules;

    #[test]
    fn an_id_is_one_word_and_that_of_one_page() {
        let id = |text: &str| id(&UrlRules::keep_all().canonicalize(text).unwrap());
        let first = id("https://example.com/a");
        assert_eq!(first, id("https://EXAMPLE.com:443/a"));
        assert_ne!(first, id("https://example.com/b"));
        assert!(
            first.len() == 26 && first.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()),
            "{first}"
        );
    }
}
