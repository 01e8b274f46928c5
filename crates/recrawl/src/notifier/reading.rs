//! Reads the backlog of a target into its pending messages.

use super::TargetThread;
use recrawl_notifications::Delivery;
use recrawl_notifications::backlog::{Backlog, BacklogFound};
use recrawl_repository::{Generation, StoredPosition};
use recrawl_types::Round;

/// Bytes of each text that a condition reads, however long those of a message are.
const MAX_CONDITION_TEXT: usize = 64 << 10;

/// What was read of the backlog.
#[derive(Debug, PartialEq)]
pub enum BacklogRead {
    /// Changes, which are pending now, or none so far.
    Some,
    /// Nothing is left before the next commit.
    Nothing,
    /// It cannot be read at present.
    Failed,
}

impl TargetThread<'_> {
    /// Reads the next changes up to a round. They are pending then.
    pub(super) fn read(&self, backlog: &mut Backlog, committed: &Generation, to: Round) -> BacklogRead {
        let mut delivery = self.delivery();
        let (kept, before) = (self.kept(committed), delivery.place.clone());
        let found = backlog.next(&mut delivery.place, &kept, to, &self.asked());
        self.note(&mut delivery, &before);
        match found {
            Ok(BacklogFound::Changes(mut changes)) => {
                if let Some(when) = &self.target.when {
                    let mut archived = self.archived(committed);
                    changes.retain(|change| when.holds(&archived.told(change.clone(), MAX_CONDITION_TEXT)));
                }
                delivery.hold(changes);
                BacklogRead::Some
            }
            Ok(BacklogFound::Passed) => BacklogRead::Some,
            Ok(BacklogFound::Nothing) => BacklogRead::Nothing,
            Err(error) => {
                let error = format!("cannot read which pages changed: {error}");
                tracing::error!(target = %self.target.name, "{error}");
                // Damaged visits were passed.
                if delivery.place != before {
                    return BacklogRead::Some;
                }
                delivery.failed_once(self.now(), error);
                BacklogRead::Failed
            }
        }
    }

    /// Passes what is not kept any more, at each commit: it must not come to light only when the target takes messages
    /// again.
    pub(super) fn pass_removed(&self, backlog: &mut Backlog, committed: &Generation) {
        let mut delivery = self.delivery();
        let before = delivery.place.clone();
        if let Err(error) = backlog.pass_removed(&mut delivery.place, &self.kept(committed)) {
            tracing::error!(target = %self.target.name, "cannot list which visits are kept: {error}");
        }
        self.note(&mut delivery, &before);
    }

    /// Notes that the place has moved, and logs what was lost.
    fn note(&self, delivery: &mut Delivery, before: &StoredPosition) {
        if delivery.place == *before {
            return;
        }
        self.notifier.is_changed.set(true);
        let rounds = delivery.place.lost - before.lost;
        if rounds > 0 {
            delivery.lost_at = self.now();
            tracing::error!(
                target = %self.target.name, rounds,
                "changes are lost: the visits of rounds were removed before they were delivered (raise                  storage.keep_visits), or are damaged"
            );
        }
    }
}
