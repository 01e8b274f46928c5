//! The table of subscriptions: which are wanted, requested and active. It reads no clock and sends nothing.
//! Times are in milliseconds since 1970.

use recrawl_types::{CanonicalUrl, UrlRules};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// Maximum number of subscriptions.
pub const MAX_SUBSCRIPTIONS: usize = 10_000;
/// Maximum number of subscriptions to feeds of one origin.
pub const MAX_SUBSCRIPTIONS_PER_ORIGIN: usize = 100;
/// Maximum wait after a request that failed.
const MAX_HUB_BACK_OFF: Duration = Duration::from_secs(24 * 3600);
/// Wait after the first such request; doubled after each further one.
const FIRST_HUB_BACK_OFF: Duration = Duration::from_secs(3600);
/// Maximum wait for the verification of a request.
const MAX_VERIFICATION_WAIT: Duration = Duration::from_secs(3600);
/// Lease that is asked for.
pub const LEASE: Duration = Duration::from_secs(10 * 24 * 3600);
/// Maximum lease, whatever a hub says.
const MAX_LEASE: Duration = Duration::from_secs(30 * 24 * 3600);
/// Minimum lease.
const MIN_LEASE: Duration = Duration::from_secs(60);

/// A subscription to a feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    pub hub: CanonicalUrl,
    /// The feed's URL as the hub knows it.
    pub topic: String,
    /// The name of the callback.
    pub id: String,
    /// When the hub stops; none if it has not verified a request, or has denied it.
    lease_end: Option<u64>,
    /// When the request was sent that the hub has not verified.
    requested: Option<u64>,
    /// When the next request is due.
    next: u64,
    /// Failed requests in a row.
    failures: u32,
}

impl Subscription {
    fn is_active(&self, now: u64) -> bool {
        self.lease_end.is_some_and(|end| now < end)
    }

    fn fail(&mut self, now: u64) {
        let wait = FIRST_HUB_BACK_OFF.saturating_mul(1 << self.failures.min(16)).min(MAX_HUB_BACK_OFF);
        self.requested = None;
        self.failures = self.failures.saturating_add(1);
        self.next = now.saturating_add(millis(wait));
    }
}

fn canonical(text: &str) -> Option<CanonicalUrl> {
    UrlRules::keep_all().canonicalize(text).ok()
}

fn millis(time: Duration) -> u64 {
    time.as_millis() as u64
}

/// The subscriptions of a crawl.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Subscriptions {
    by_feed: BTreeMap<CanonicalUrl, Subscription>,
    by_id: HashMap<String, CanonicalUrl>,
}

/// A subscription as stored.
#[derive(Serialize, Deserialize)]
pub struct SubscriptionRow {
    feed: String,
    hub: String,
    topic: String,
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lease_end: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    requested: Option<u64>,
    next: u64,
    failures: u32,
}

impl SubscriptionRow {
    /// The URLs of feed, hub and topic.
    pub fn urls(&self) -> impl Iterator<Item = CanonicalUrl> {
        [&self.feed, &self.hub, &self.topic].into_iter().filter_map(|text| canonical(text))
    }
}

impl Subscriptions {
    /// The table with these rows. Those that no longer parse are left out: the feed's next visit brings them
    /// back.
    pub fn of_rows(rows: Vec<SubscriptionRow>) -> Subscriptions {
        let mut table = Subscriptions::default();
        for row in rows.into_iter().take(MAX_SUBSCRIPTIONS) {
            let (Some(feed), Some(hub)) = (canonical(&row.feed), canonical(&row.hub)) else {
                continue;
            };
            let SubscriptionRow { topic, id, lease_end, requested, next, failures, .. } = row;
            table.by_id.insert(id.clone(), feed.clone());
            let subscription = Subscription { hub, topic, id, lease_end, requested, next, failures };
            table.by_feed.insert(feed, subscription);
        }
        table
    }

    pub fn rows(&self) -> Vec<SubscriptionRow> {
        let row = |(feed, of): (&CanonicalUrl, &Subscription)| SubscriptionRow {
            feed: feed.as_text(),
            hub: of.hub.as_text(),
            topic: of.topic.clone(),
            id: of.id.clone(),
            lease_end: of.lease_end,
            requested: of.requested,
            next: of.next,
            failures: of.failures,
        };
        self.by_feed.iter().map(row).collect()
    }

    pub fn get(&self, feed: &CanonicalUrl) -> Option<&Subscription> {
        self.by_feed.get(feed)
    }

    /// The feed with this callback.
    pub fn feed(&self, id: &str) -> Option<&CanonicalUrl> {
        self.by_id.get(id)
    }

    /// Wants a subscription, in place of one of the feed to another hub or topic. Returns whether the table
    /// changed.
    pub fn offer(
        &mut self,
        feed: &CanonicalUrl,
        hub: &CanonicalUrl,
        topic: &str,
        id: String,
        now: u64,
    ) -> bool {
        if self.by_id.contains_key(&id) {
            return false;
        }
        let was_there = self.drop_feed(feed);
        let of_origin =
            self.by_feed.range(feed.at_origin("/")..).take_while(|(url, _)| url.same_origin(feed));
        if self.by_feed.len() >= MAX_SUBSCRIPTIONS || of_origin.count() >= MAX_SUBSCRIPTIONS_PER_ORIGIN {
            return was_there;
        }
        self.by_id.insert(id.clone(), feed.clone());
        let (hub, topic) = (hub.clone(), topic.to_owned());
        let new = Subscription { hub, topic, id, lease_end: None, requested: None, next: now, failures: 0 };
        self.by_feed.insert(feed.clone(), new);
        true
    }

    /// Forgets a feed; its callback is gone. Returns whether it was there.
    pub fn drop_feed(&mut self, feed: &CanonicalUrl) -> bool {
        let dropped = self.by_feed.remove(feed);
        dropped.is_some_and(|of| self.by_id.remove(&of.id).is_some())
    }

    /// The feed whose request has been due for longest. It counts as requested from now on, since the hub may
    /// verify it before it answers it. Requests that nobody verified fail.
    pub fn take_due(&mut self, now: u64) -> Option<CanonicalUrl> {
        let is_late = |at: u64| now >= at.saturating_add(millis(MAX_VERIFICATION_WAIT));
        self.by_feed.values_mut().filter(|of| of.requested.is_some_and(is_late)).for_each(|of| of.fail(now));
        let due = self.by_feed.iter_mut().filter(|(_, of)| of.requested.is_none() && of.next <= now);
        let (feed, of) = due.min_by_key(|(_, of)| of.next)?;
        of.requested = Some(now);
        Some(feed.clone())
    }

    /// The request of this callback failed. If the hub has verified it already, it did not.
    pub fn failed(&mut self, id: &str, now: u64) {
        if let Some(of) = self.get_mut(id).filter(|of| of.requested.is_some()) {
            of.fail(now);
        }
    }

    /// The hub verifies a subscription; `lease`: in seconds. True if it was requested.
    pub fn verified(&mut self, id: &str, topic: &str, lease: Option<u64>, now: u64) -> bool {
        let Some(of) = self.get_mut(id).filter(|of| of.requested.is_some() && of.topic == topic) else {
            return false;
        };
        let lease = lease.map_or(LEASE, Duration::from_secs).clamp(MIN_LEASE, MAX_LEASE);
        of.lease_end = Some(now.saturating_add(millis(lease)));
        of.next = now.saturating_add(millis(lease) * 2 / 3);
        (of.requested, of.failures) = (None, 0);
        true
    }

    /// The hub denies a subscription, or ends it. True if there is one.
    pub fn denied(&mut self, id: &str, topic: &str, now: u64) -> bool {
        let Some(of) = self.get_mut(id).filter(|of| of.topic == topic) else { return false };
        of.lease_end = None;
        of.fail(now);
        true
    }

    fn get_mut(&mut self, id: &str) -> Option<&mut Subscription> {
        self.by_feed.get_mut(self.by_id.get(id)?)
    }

    /// Number of subscriptions: wanted or requested, active, and failed.
    pub fn sizes(&self, now: u64) -> [u64; 3] {
        let mut sizes = [0; 3];
        for of in self.by_feed.values() {
            let place = if of.is_active(now) { 1 } else { 2 * usize::from(of.failures > 0) };
            sizes[place] += 1;
        }
        sizes
    }
}
