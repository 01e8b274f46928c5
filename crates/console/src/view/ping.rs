//! Pings: site owners tell which pages have changed.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::{IntoParams, ToSchema};

/// A notice as sent to `/indexnow` (<https://www.indexnow.org/documentation>).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct IndexNow {
    /// Host of the URLs.
    pub host: Option<String>,
    /// The changed pages, 1 to 10000, all of one host.
    #[schema(min_items = 1, max_items = 10000)]
    pub url_list: Vec<String>,
    /// The key that the host has in its key file.
    #[schema(min_length = 8, max_length = 128, pattern = "^[A-Za-z0-9-]*$")]
    pub key: String,
    /// URL of the key file; `/KEY.txt` if missing.
    pub key_location: Option<String>,
}

/// The same for one page, as a query.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct IndexNowParams {
    /// The changed page.
    pub url: String,
    /// The key that the host has in its key file.
    #[param(min_length = 8, max_length = 128, pattern = "^[A-Za-z0-9-]*$")]
    pub key: String,
    /// URL of the key file; `/KEY.txt` if missing.
    pub key_location: Option<String>,
}

/// The answer to a ping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Pinged {
    /// Pages of the crawl that were noted, or will be when the key is checked.
    pub pages: u64,
    /// Is the key file fetched first?
    pub checking: bool,
}

/// Figures of pings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct PingFigures {
    /// Pages whose pings no visit has answered yet.
    pub waiting: u64,
    /// Keys that are being checked.
    pub checking: u64,
    /// Origins whose pings are trusted.
    pub trusted: u64,
    /// Pinged pages since the start, by result.
    pub results: BTreeMap<String, u64>,
}
