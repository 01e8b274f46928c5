//! Digests: what changed in a period, in as few messages as it takes.

use super::{Telling, Until, wait};
use recrawl_notifications::Change;
use recrawl_notifications::backlog::{Backlog, Found};
use recrawl_notifications::delivery::{Digest, Place};
use recrawl_notifications::message::{Message, Told};
use recrawl_repository::{Generation, ReadError};
use recrawl_types::Round;

/// Changes in one message at most.
const MAX_DIGEST: usize = 100;
/// Bytes of a text in a digest at most.
const MAX_DIGEST_TEXT: usize = 2 << 10;

impl Telling<'_> {
    /// Tells of all changes at the end of each period of so many milliseconds.
    pub(super) async fn digests(&self, period: u64) {
        loop {
            let (now, committed) = (self.now(), self.notifier.crawled.generation());
            let (before, next) = {
                let mut delivery = self.delivery();
                (delivery.digest_at, delivery.next_digest(now, period, committed.number()))
            };
            if self.delivery().digest_at != before {
                self.notifier.is_changed.set(true);
            }
            match next {
                Digest::Wait(_) if self.notifier.until == Until::Told => return,
                Digest::Wait(until) => wait(now, until).await,
                Digest::Begin(to) | Digest::Tell(to) => {
                    // It must be cut in the same way after a restart.
                    if matches!(next, Digest::Begin(_))
                        && let Err(failure) = self.notifier.store()
                    {
                        tracing::error!("cannot store what was told of changes: {failure}");
                        wait(now, u64::MAX).await;
                        continue;
                    }
                    self.tell_digest(&committed, to).await;
                }
            }
        }
    }

    /// Tells the next part of the digest that ends with this round.
    async fn tell_digest(&self, committed: &Generation, to: Round) {
        let mut place = self.delivery().place.clone();
        let changes = match self.next_changes(&mut place, committed, to) {
            Ok(changes) => changes,
            Err(error) => {
                let error = format!("cannot read what is to be told: {error}");
                self.log_failure(&error);
                return self.changed().failed_once(self.now(), error);
            }
        };
        if changes.is_empty() {
            return self.changed().end_digest(place);
        }
        let max = self.target.max_text.min(MAX_DIGEST_TEXT);
        let told = changes.into_iter().map(|change| self.told(committed, change, max));
        let message = Message::of_digest(&self.target.name, &told.collect::<Vec<Told>>());
        let sent = self.send(&message).await;
        let now = self.now();
        match sent {
            Ok(()) => self.changed().took_digest(place, now),
            Err(error) => {
                self.log_failure(&error);
                self.changed().failed_once(now, error);
            }
        }
    }

    /// The next changes; moves the place behind them.
    fn next_changes(
        &self,
        place: &mut Place,
        committed: &Generation,
        to: Round,
    ) -> Result<Vec<Change>, ReadError> {
        let (mut backlog, kept) = (Backlog::default(), self.kept(committed));
        let mut changes = Vec::new();
        while changes.len() < MAX_DIGEST {
            match backlog.next(place, &kept, to, &self.asked())? {
                Found::Changes(some) => changes.extend(some),
                Found::Passed => {}
                Found::Nothing => break,
            }
        }
        Ok(changes)
    }
}
