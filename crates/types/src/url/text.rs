//! A URL in stored JSON as people write it: `#[serde(with = "recrawl_types::url::text")]`.

use crate::{CanonicalUrl, UrlRules};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

/// Writes the URL as text.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(url: &CanonicalUrl, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&url.as_text())
}

/// Reads a canonical URL.
///
/// # Errors
/// When the text is no URL.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<CanonicalUrl, D::Error> {
    let text = String::deserialize(from)?;
    UrlRules::keep_all().canonicalize(&text).map_err(|e| D::Error::custom(format!("{text:?}: {e}")))
}

/// The same, where there may be no URL.
pub mod option {
    use crate::CanonicalUrl;
    use serde::{Deserialize, Deserializer, Serializer};

    #[derive(Deserialize)]
    struct UrlText(#[serde(with = "super")] CanonicalUrl);

    /// Writes the URL as text, or null.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(url: &Option<CanonicalUrl>, to: S) -> Result<S::Ok, S::Error> {
        match url {
            Some(url) => super::serialize(url, to),
            None => to.serialize_none(),
        }
    }

    /// Reads a canonical URL, or null.
    ///
    /// # Errors
    /// Where the text is no URL.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<CanonicalUrl>, D::Error> {
        Ok(Option::<UrlText>::deserialize(from)?.map(|UrlText(url)| url))
    }
}
