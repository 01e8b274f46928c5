//! What was delivered to a target, and what is pending: a state machine without clock, disk or network.
//!
//! Up to [`Delivery::place`] the visits were read. What was read and is not yet taken by the target is held. So any
//! copy of this state is a valid one to go on from: an older copy only sends some changes again, with their ids.
//!
//! Whether the target or a message is at fault shows by the others: a message that fails, while the target took another
//! one since it failed first, is refused, and says nothing of the target.

use crate::message::ChangeNotice;
use recrawl_repository::StoredPosition;
use recrawl_types::{CanonicalUrl, Round};
use serde::{Deserialize, Serialize};
use std::time::Duration;

mod digest;

pub use digest::{DigestStep, MAX_DIGEST};

/// Messages of a target in flight at most.
pub const MAX_IN_FLIGHT: usize = 16;
/// Messages that a target has not taken and that are tried again, at most; then no more are read.
pub const MAX_HELD: usize = 1000;
/// Failures in a row after which a target counts as failing.
const FAILING_AFTER: u32 = 3;
/// Delay of the first new try; doubled after each further failure, up to [`MAX_DELAY`]. That of a target is the time
/// since its first failure, within the same bounds.
const FIRST_DELAY: Duration = Duration::from_secs(5);
/// See [`FIRST_DELAY`].
const MAX_DELAY: Duration = Duration::from_secs(3600);
/// How long a message is tried that the target refuses while it takes others.
pub const GIVE_UP_AFTER: Duration = Duration::from_secs(24 * 3600);

/// A change that was read, until the target has taken it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldChange {
    /// The change.
    #[serde(flatten)]
    pub change: ChangeNotice,
    /// Failures so far.
    #[serde(default)]
    tries: u32,
    /// When it is tried again, in milliseconds since 1970.
    #[serde(default)]
    due: u64,
    /// When it failed first, likewise; 0 if it did not.
    #[serde(default)]
    since: u64,
    /// When it failed last, likewise.
    #[serde(default)]
    last: u64,
    #[serde(skip)]
    is_in_flight: bool,
    /// Is it part of the message of a digest that is being told?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_marked: bool,
}

impl HeldChange {
    /// Did the target refuse it, and take another one after that?
    fn is_refused(&self, delivered_at: u64) -> bool {
        self.since > 0 && delivered_at > self.since
    }
}

/// Why a target takes nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failing {
    /// The first failure after the last success, in milliseconds since 1970.
    pub since: u64,
    /// Failures in a row.
    pub failures: u32,
    /// When it is tried next, likewise.
    pub retry_at: u64,
    /// The last error.
    pub error: String,
}

/// How far one target was told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    /// Up to where visits were read.
    #[serde(flatten)]
    pub place: StoredPosition,
    /// What was read and is not taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<HeldChange>,
    /// The last round of the digest that is being told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest_to: Option<Round>,
    /// When the next digest is due, in milliseconds since 1970; 0 if that is not known yet.
    #[serde(default)]
    pub digest_at: u64,
    /// Changes in a message of a digest at most, after the target refused larger ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_digest: Option<usize>,
    /// Was it stored since changes of a digest were marked?
    #[serde(skip)]
    is_stored: bool,
    /// When rounds were last found lost, in milliseconds since 1970; 0 for never.
    #[serde(default)]
    pub lost_at: u64,
    /// Messages taken.
    #[serde(default)]
    pub delivered: u64,
    /// When the last one was, in milliseconds since 1970; 0 for never.
    #[serde(default)]
    pub delivered_at: u64,
    /// Messages given up.
    #[serde(default)]
    pub given_up: u64,
    /// Failures since the last success, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing: Option<Failing>,
    /// Until when the target asked to be left alone (Retry-After), in milliseconds since 1970. Like failures it ends with
    /// a new configuration, which may name another receiver.
    #[serde(skip)]
    rests_until: u64,
}

/// What to do for a target.
#[derive(Clone, Debug, PartialEq)]
pub enum DeliveryStep {
    /// Send this change, which is held.
    Send(ChangeNotice),
    /// Read the next change from the backlog and hold it.
    Read,
    /// Nothing before this time, in milliseconds since 1970, unless an answer or a commit comes.
    Wait(u64),
}

impl Delivery {
    /// Of a target that is told from this round on.
    pub fn from(round: Round) -> Delivery {
        Delivery {
            place: StoredPosition::before(round),
            held: Vec::new(),
            digest_to: None,
            digest_at: 0,
            max_digest: None,
            is_stored: false,
            lost_at: 0,
            delivered: 0,
            delivered_at: 0,
            given_up: 0,
            failing: None,
            rests_until: 0,
        }
    }

    /// Does the target take nothing?
    pub fn is_failing(&self) -> bool {
        self.failing.as_ref().is_some_and(|failing| failing.failures >= FAILING_AFTER)
    }

    /// What to do at `now`, with at most `window` messages in flight; `has_more`: may the backlog have changes?
    ///
    /// A failing target is tried with one message at a time once a window of them failed, first with one that was
    /// never tried: that the target refuses some messages must not keep the others from it.
    pub fn next(&mut self, now: u64, window: usize, has_more: bool) -> DeliveryStep {
        let in_flight = self.held.iter().filter(|held| held.is_in_flight).count();
        if in_flight >= window {
            return DeliveryStep::Wait(u64::MAX);
        }
        let can_read = has_more && self.held.len() < MAX_HELD;
        if now < self.rests_until {
            return if can_read { DeliveryStep::Read } else { DeliveryStep::Wait(self.rests_until) };
        }
        let delivered_at = self.delivered_at;
        let counts = |held: &HeldChange| held.tries > 0 && !held.is_refused(delivered_at);
        let is_blocked = self.is_failing() && self.held.iter().filter(|held| counts(held)).count() >= window;
        let retry_at = self.failing.as_ref().map_or(0, |failing| failing.retry_at);
        if is_blocked && (in_flight > 0 || now < retry_at) {
            return DeliveryStep::Wait(if in_flight > 0 { u64::MAX } else { retry_at });
        }
        // A refused message would show nothing of a target that takes none.
        let can_send =
            |held: &HeldChange| !(held.is_in_flight || is_blocked && held.is_refused(delivered_at));
        let earliest = self.held.iter_mut().filter(|held| can_send(held)).min_by_key(|held| held.due);
        let due = earliest.as_ref().map_or(u64::MAX, |held| held.due);
        let is_due = |held: &HeldChange| if is_blocked { held.tries == 0 || !can_read } else { due <= now };
        match earliest {
            Some(held) if is_due(held) => {
                held.is_in_flight = true;
                DeliveryStep::Send(held.change.clone())
            }
            _ if can_read => DeliveryStep::Read,
            _ => DeliveryStep::Wait(due),
        }
    }

    /// Holds changes that were read.
    pub fn hold(&mut self, changes: Vec<ChangeNotice>) {
        let held = |change| HeldChange {
            change,
            tries: 0,
            due: 0,
            since: 0,
            last: 0,
            is_in_flight: false,
            is_marked: false,
        };
        self.held.extend(changes.into_iter().map(held));
    }

    /// The target took a message.
    pub fn took(&mut self, id: &str, now: u64) {
        self.held.retain(|held| held.change.id != id);
        self.took_one(now);
    }

    fn took_one(&mut self, now: u64) {
        self.delivered += 1;
        self.delivered_at = now;
        if let Some(failing) = self.failing.take().filter(|failing| failing.failures >= FAILING_AFTER) {
            // What first failed since then waits no longer. What failed before may be refused.
            let failed = self.held.iter_mut().filter(|held| held.since >= failing.since);
            failed.for_each(|held| (held.tries, held.due) = (0, held.due.min(now)));
        }
    }

    /// The target did not take a message. True if it is given up: the target has refused it for [`GIVE_UP_AFTER`], and
    /// taken another since it refused it last, or as many are refused as can be held.
    pub fn failed(&mut self, id: &str, now: u64, error: String) -> bool {
        let Some(at) = self.held.iter().position(|held| held.change.id == id) else {
            self.failed_once(now, error);
            return false;
        };
        // Then the fault is the message's, not the target's.
        if !self.held[at].is_refused(self.delivered_at) {
            self.failed_once(now, error);
        }
        let held = &mut self.held[at];
        held.is_in_flight = false;
        held.tries = held.tries.saturating_add(1);
        held.due = now.saturating_add(delay(held.tries));
        held.since = if held.since == 0 { now } else { held.since };
        let last = std::mem::replace(&mut held.last, now);
        let is_old = now.saturating_sub(held.since) >= GIVE_UP_AFTER.as_millis() as u64;
        // While none can be read, none can be taken.
        let shows = self.delivered_at >= last || self.held.len() >= MAX_HELD;
        let gives_up = is_old && self.held[at].is_refused(self.delivered_at) && shows;
        if gives_up {
            self.held.remove(at);
            self.given_up += 1;
        }
        gives_up
    }

    /// The target asks for no message before this time, in milliseconds since 1970.
    pub fn rest(&mut self, until: u64) {
        self.rests_until = self.rests_until.max(until);
    }

    /// The target did not take something.
    pub fn failed_once(&mut self, now: u64, error: String) {
        let (since, failures) =
            self.failing.as_ref().map_or((now, 0), |failing| (failing.since, failing.failures));
        let failures = failures.saturating_add(1);
        // By time, not by failures: several messages may fail at once.
        let (first, max) = (FIRST_DELAY.as_millis() as u64, MAX_DELAY.as_millis() as u64);
        let delay = now.saturating_sub(since).clamp(first, max);
        let retry_at = now.saturating_add(delay).max(self.rests_until);
        self.failing = Some(Failing { since, failures, retry_at, error });
    }

    /// Goes on after a start or a new configuration, by which the receiver may be mended, or the target may have digests
    /// now, or have none any more.
    pub fn restart(&mut self, has_digests: bool) {
        // Without a message, nothing would show that it is mended.
        self.failing = self.failing.take().filter(|_| !self.held.is_empty());
        self.failing.iter_mut().for_each(|failing| failing.retry_at = 0);
        self.rests_until = 0;
        if !has_digests {
            (self.digest_to, self.digest_at, self.max_digest) = (None, 0, None);
            self.unmark();
        }
        let is_begun = self.held.iter().any(|held| held.is_marked);
        for held in &mut self.held {
            held.due = 0;
            if has_digests && !is_begun {
                held.tries = 0;
            }
        }
    }

    /// Removes the messages of these pages; gives their number.
    pub fn remove(&mut self, is_meant: &dyn Fn(&CanonicalUrl) -> bool) -> u64 {
        let before = self.held.len();
        self.held.retain(|held| !is_meant(&held.change.url));
        let removed = (before - self.held.len()) as u64;
        // What failed is gone: nothing shows whether the target takes others.
        if removed > 0 && self.held.is_empty() {
            self.failing = None;
        }
        removed
    }

    /// The target cannot be set up, so it takes nothing.
    pub fn cannot_start(&mut self, now: u64, error: String) {
        let since = self.failing.as_ref().map_or(now, |failing| failing.since);
        self.failing = Some(Failing { since, failures: FAILING_AFTER, retry_at: now, error });
    }

    /// Tells nothing of what was committed up to `round`.
    pub fn skip_to(&mut self, round: Round) {
        (self.place.round, self.place.after, self.digest_to) = (round.next(), None, None);
        self.held.clear();
        self.failing = None;
    }
}

/// Milliseconds after so many failures.
fn delay(failures: u32) -> u64 {
    let delay = FIRST_DELAY.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(MAX_DELAY);
    delay.as_millis() as u64
}

#[cfg(test)]
mod tests;
