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
    /// Subscriptions to feeds (WebSub); none while they are off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscriptions: Option<SubscriptionFigures>,
}

/// Figures of subscriptions to feeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct SubscriptionFigures {
    /// Those that hubs have not verified yet.
    pub wanted: u64,
    /// Those that hubs have verified.
    pub active: u64,
    /// Those that failed or were denied; they are tried again.
    pub failed: u64,
}

/// What a hub asks of a callback (WebSub §5.3): a verification of intent, or a denial.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Verification {
    /// `subscribe` or `denied`.
    #[serde(rename = "hub.mode")]
    pub mode: String,
    /// The feed.
    #[serde(rename = "hub.topic")]
    pub topic: String,
    /// Answered as it is.
    #[serde(rename = "hub.challenge", default)]
    pub challenge: String,
    /// Duration of the subscription.
    #[serde(rename = "hub.lease_seconds")]
    pub lease_seconds: Option<u64>,
}

/// What became of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PingDelivery {
    /// It was noted, or its signature is wrong, which its sender does not learn.
    Taken,
    /// There is no such subscription any more.
    Gone,
}
