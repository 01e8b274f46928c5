//! WebSub (<https://www.w3.org/TR/websub/>): hubs tell that feeds have changed.
//!
//! A visit of a feed that names a hub wants a subscription (`subscriptions`). The daemon sends the requests
//! ([`request`]), and takes verifications and notifications. A notification is a ping of the feed's page: its
//! content is read for its signature only.

pub mod request;
mod secret;
mod subscriptions;

pub use secret::KEY_BYTES;
pub use subscriptions::{MAX_SUBSCRIPTIONS, MAX_SUBSCRIPTIONS_PER_ORIGIN};

use crate::failure::Failure;
use crate::stored::{keep, kept};
use data_encoding::HEXLOWER;
use recrawl_extractor::Hub;
use recrawl_repository::SledTables;
use recrawl_types::{CanonicalUrl, ContentKind, Outcome, UrlRules, Visit};
use secret::{MasterKey, is_signed};
use std::sync::{Arc, Mutex, MutexGuard};
use subscriptions::{LEASE, SubscriptionRow, Subscriptions};

/// The setting with the random key.
const KEY: &str = "websub_key";
/// The setting with the table.
const TABLE: &str = "websub";

/// The canonical URL under which hubs reach the console; an empty one is off.
///
/// # Errors
/// What is wrong, and what to write.
pub fn base(base: &str) -> Result<String, String> {
    let wrong = |what: &str| {
        let todo = "write the public URL of the console, such as \"https://crawl.example.org\"";
        Err(format!("{base:?} {what}; {todo}"))
    };
    match UrlRules::keep_all().canonicalize(base) {
        _ if base.is_empty() => Ok(String::new()),
        Err(_) => wrong("is no URL of http or https"),
        Ok(_) if base.contains(['?', '#']) => wrong("has a query or a fragment"),
        Ok(_) if base.contains('@') || base.contains(char::is_whitespace) => {
            wrong("has a user name or white space")
        }
        Ok(url) => Ok(url.to_string()),
    }
}

/// The subscriptions of a crawl.
pub struct WebSub {
    tables: Arc<SledTables>,
    /// The public URL of the console, without a slash at its end.
    base: String,
    key: MasterKey,
    state: Mutex<WebSubState>,
}

struct WebSubState {
    table: Subscriptions,
    /// Since it was stored.
    has_changed: bool,
}

/// A request that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueRequest {
    /// The hub.
    pub hub: CanonicalUrl,
    /// The body, application/x-www-form-urlencoded.
    pub form: String,
    /// The name of the callback.
    pub id: String,
}

/// The question of a hub to a callback, by `hub.mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HubQuestion<'v> {
    /// `hub.mode`.
    pub mode: &'v str,
    /// `hub.topic`.
    pub topic: &'v str,
    /// `hub.lease_seconds`.
    pub lease: Option<u64>,
}

/// The sender of a notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PingSender {
    /// Someone who knows no callback, or the hub of a subscription that was dropped.
    Unknown,
    /// Someone who does not know the secret.
    Forger,
    /// The hub of this feed.
    HubOf(CanonicalUrl),
}

impl WebSub {
    /// Loads the subscriptions, for a URL of [`base`]. `new_key` makes the random key of a crawl that has no key yet.
    ///
    /// # Errors
    /// When the tables cannot be read or written.
    pub fn open(
        tables: Arc<SledTables>,
        base: &str,
        new_key: impl FnOnce() -> Result<[u8; KEY_BYTES], Failure>,
    ) -> Result<WebSub, Failure> {
        let stored: Option<String> = kept(&tables, KEY)?;
        let stored = stored.and_then(|text| HEXLOWER.decode(text.as_bytes()).ok()?.try_into().ok());
        let key: [u8; KEY_BYTES] = match stored {
            Some(key) => key,
            None => {
                let key = new_key()?;
                keep(&tables, KEY, &HEXLOWER.encode(&key))?;
                key
            }
        };
        let rows: Vec<SubscriptionRow> = kept(&tables, TABLE)?.unwrap_or_default();
        let state = WebSubState { table: Subscriptions::of_rows(rows), has_changed: false };
        let base = base.trim_end_matches('/').to_owned();
        Ok(WebSub { tables, base, key: MasterKey::new(&key), state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, WebSubState> {
        self.state.lock().expect("no panic under the lock")
    }

    /// Takes what a visit of a page told of its hub. A feed that is gone, or has none any more, is dropped.
    pub fn visited(&self, visit: &Visit, hub: Option<&Hub>) {
        let is_hints = visit.content.as_ref().is_some_and(|content| content.kind == ContentKind::Hints);
        let mut state = self.state();
        let changed = match (hub.filter(|_| is_hints), visit.outcome) {
            (Some(Hub { url, topic }), _) => {
                let id = self.key.id(&visit.url, url, topic);
                state.table.offer(&visit.url, url, topic, id, visit.at)
            }
            (None, Outcome::Fetched(_) | Outcome::Redirected(_) | Outcome::NotFound(_)) => {
                state.table.drop_feed(&visit.url)
            }
            (None, _) => false,
        };
        state.has_changed |= changed;
    }

    /// The next request that is due. Feeds that are not admitted any more are dropped.
    pub fn next_request(&self, admits: &dyn Fn(&CanonicalUrl) -> bool, now: u64) -> Option<DueRequest> {
        let mut state = self.state();
        loop {
            let feed = state.table.take_due(now)?;
            state.has_changed = true;
            if !admits(&feed) {
                state.table.drop_feed(&feed);
                continue;
            }
            let of = state.table.get(&feed).expect("it is due");
            let form = request::form(&[
                ("hub.callback", &format!("{}/websub/{}", self.base, of.id)),
                ("hub.mode", "subscribe"),
                ("hub.topic", &of.topic),
                ("hub.secret", &self.key.secret(&of.id)),
                ("hub.lease_seconds", &LEASE.as_secs().to_string()),
            ]);
            return Some(DueRequest { hub: of.hub.clone(), form, id: of.id.clone() });
        }
    }

    /// The request of this callback failed.
    pub fn failed(&self, id: &str, now: u64) {
        let mut state = self.state();
        state.table.failed(id, now);
        state.has_changed = true;
    }

    /// Takes a verification of intent, or a denial. True if it fits a request; then the challenge is answered.
    pub fn verify(&self, id: &str, HubQuestion { mode, topic, lease }: HubQuestion<'_>, now: u64) -> bool {
        let mut state = self.state();
        let fits = match mode {
            "subscribe" => state.table.verified(id, topic, lease, now),
            "denied" => state.table.denied(id, topic, now),
            _ => false,
        };
        state.has_changed |= fits;
        fits
    }

    /// The sender of this notification, by its `X-Hub-Signature`.
    pub fn sender(&self, id: &str, signature: Option<&str>, body: &[u8]) -> PingSender {
        let Some(feed) = self.state().table.feed(id).cloned() else { return PingSender::Unknown };
        let secret = self.key.secret(id);
        match signature.is_some_and(|signature| is_signed(&secret, signature, body)) {
            true => PingSender::HubOf(feed),
            false => PingSender::Forger,
        }
    }

    /// Drops a feed.
    pub fn drop_feed(&self, feed: &CanonicalUrl) {
        let mut state = self.state();
        state.has_changed |= state.table.drop_feed(feed);
    }

    /// Stores the table if it has changed.
    ///
    /// # Errors
    /// When the tables cannot be written; the next call tries again.
    pub fn keep(&self) -> Result<(), Failure> {
        let rows = {
            let mut state = self.state();
            if !std::mem::take(&mut state.has_changed) {
                return Ok(());
            }
            state.table.rows()
        };
        keep(&self.tables, TABLE, &rows).inspect_err(|_| self.state().has_changed = true)
    }

    /// Number of subscriptions: wanted or requested, active, and failed.
    pub fn sizes(&self, now: u64) -> [u64; 3] {
        self.state().table.sizes(now)
    }

    /// Keeps a subscription to this feed.
    #[cfg(test)]
    pub fn plant(tables: &SledTables, feed: &CanonicalUrl) {
        let mut table = Subscriptions::default();
        assert!(table.offer(feed, feed, &feed.as_text(), "name".into(), 1));
        keep(tables, TABLE, &table.rows()).unwrap();
    }

    /// Removes the subscriptions with a feed or hub that is meant from the tables of a stopped crawl, or only counts
    /// them.
    ///
    /// # Errors
    /// When the tables cannot be read or written.
    pub fn forget(
        tables: &SledTables,
        is_meant: &dyn Fn(&CanonicalUrl) -> bool,
        only_count: bool,
    ) -> Result<u64, Failure> {
        let rows: Vec<SubscriptionRow> = kept(tables, TABLE)?.unwrap_or_default();
        let (meant, rest): (Vec<SubscriptionRow>, Vec<SubscriptionRow>) =
            rows.into_iter().partition(|row| row.urls().any(|url| is_meant(&url)));
        if !only_count && !meant.is_empty() {
            keep(tables, TABLE, &rest)?;
        }
        Ok(meant.len() as u64)
    }
}

#[cfg(test)]
mod tests;
