//! Digests: changes are read and held until the end of a period, then told in as few messages as it takes.
//!
//! The changes of a message are marked, and that is stored before the message is sent. So the message is the same
//! whenever it is sent again.

use super::{Delivery, FAILING_AFTER, HeldChange, MAX_HELD};
use crate::message::ChangeNotice;
use recrawl_types::Round;

/// Changes in a message at most.
pub const MAX_DIGEST: usize = 100;

/// What to do for a digest.
#[derive(Clone, Debug, PartialEq)]
pub enum DigestStep {
    /// Nothing before this time, in milliseconds since 1970.
    Wait(u64),
    /// Read the next changes up to this round from the backlog and hold them.
    Read(Round),
    /// Store the delivery, and then say so by [`Delivery::stored`].
    Store,
    /// Send these changes as one message.
    Send(Vec<ChangeNotice>),
}

impl Delivery {
    /// What to do for a digest at the end of each `period` of milliseconds since 1970. `read_to`: the round up to which
    /// the backlog was read, if it was.
    pub fn next_digest(
        &mut self,
        now: u64,
        period: u64,
        committed: Round,
        read_to: Option<Round>,
    ) -> DigestStep {
        let retry_at = self.failing.as_ref().map_or(0, |failing| failing.retry_at).max(self.rests_until);
        let max = self.max_digest.unwrap_or(MAX_DIGEST);
        if now < retry_at {
            return DigestStep::Wait(retry_at);
        }
        let marked: Vec<ChangeNotice> = self.marked().map(|held| held.change.clone()).collect();
        if !marked.is_empty() {
            return if self.is_stored { DigestStep::Send(marked) } else { DigestStep::Store };
        }
        self.is_stored = false;
        let end = (now / period + 1) * period;
        if self.digest_to.is_none() {
            // It is not known yet, or the clock was set back, or the period made shorter.
            self.digest_at = if self.digest_at == 0 { end } else { self.digest_at.min(end) };
        }
        let is_told = self.digest_to.is_some() || now >= self.digest_at;
        // What the target refused is tried alone, so that it cannot make the target refuse others. A failing target is
        // first tried with others.
        let refused = self.held.iter_mut().filter(|held| held.tries > 0).min_by_key(|held| held.due);
        let due = refused.as_ref().map_or(u64::MAX, |held| held.due);
        if let Some(held) = refused.filter(|held| held.due <= now && (self.failing.is_none() || !is_told)) {
            held.is_marked = true;
            return DigestStep::Store;
        }
        if !is_told {
            return DigestStep::Wait(self.digest_at.min(due));
        }
        if self.digest_to.is_none() {
            (self.digest_to, self.digest_at) = (Some(committed), end);
        }
        let untried = || self.held.iter().filter(|held| held.tries == 0);
        match self.digest_to {
            Some(to) if read_to != Some(to) && untried().count() < max && self.held.len() < MAX_HELD => {
                DigestStep::Read(to)
            }
            _ if untried().next().is_some() => {
                let untried = self.held.iter_mut().filter(|held| held.tries == 0);
                untried.take(max).for_each(|held| held.is_marked = true);
                DigestStep::Store
            }
            _ => {
                self.digest_to = None;
                DigestStep::Wait(self.digest_at.min(due))
            }
        }
    }

    fn marked(&self) -> impl Iterator<Item = &HeldChange> {
        self.held.iter().filter(|held| held.is_marked)
    }

    /// The delivery is stored as it is.
    pub fn stored(&mut self) {
        self.is_stored = true;
    }

    /// The target took the message.
    pub fn took_digest(&mut self, now: u64) {
        self.held.retain(|held| !held.is_marked);
        let max = self.max_digest.map(|max| max * 2);
        self.max_digest = max.filter(|max| *max < MAX_DIGEST);
        self.took_one(now);
    }

    /// The target did not take the message. `is_refused`: it may take a smaller one. Then the next message has half of
    /// the changes, after some tries; a change that is refused alone waits, and the others go on. True if that is given up,
    /// as by [`Delivery::failed`].
    pub fn failed_digest(&mut self, now: u64, error: String, is_refused: bool) -> bool {
        let ids: Vec<String> = self.marked().map(|held| held.change.id.clone()).collect();
        match &ids[..] {
            [id] if is_refused => {
                self.unmark();
                return self.failed(id, now, error);
            }
            _ => self.failed_once(now, error),
        }
        if is_refused && self.failing.as_ref().is_some_and(|failing| failing.failures >= FAILING_AFTER) {
            self.unmark();
            self.max_digest = Some((ids.len() / 2).max(1));
        }
        false
    }

    pub(super) fn unmark(&mut self) {
        self.held.iter_mut().for_each(|held| held.is_marked = false);
    }
}

#[cfg(test)]
mod tests;
