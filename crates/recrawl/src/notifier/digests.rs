//! Digests: what changed in a period, in as few messages as it takes.

use super::not_taken::NotTaken;
use super::reading::BacklogRead;
use super::{TargetThread, Until, wait};
use recrawl_notifications::ChangeNotice;
use recrawl_notifications::backlog::Backlog;
use recrawl_notifications::delivery::DigestStep;
use recrawl_notifications::message::Message;
use recrawl_repository::Generation;
use tokio::task::yield_now;

/// Bytes of a text in a digest at most.
const MAX_DIGEST_TEXT: usize = 2 << 10;

impl TargetThread<'_> {
    /// Tells of all changes at the end of each period of so many milliseconds.
    pub(super) async fn digests(&self, period: u64) {
        let (mut backlog, mut read_to, mut seen) = (Backlog::default(), None, None);
        loop {
            let (now, committed) = (self.now(), self.notifier.crawled.generation());
            if seen.replace(committed.number()) != Some(committed.number()) {
                self.pass_removed(&mut backlog, &committed);
            }
            let next = {
                let mut delivery = self.delivery();
                let before = (delivery.digest_at, delivery.digest_to);
                let next = delivery.next_digest(now, period, committed.number(), read_to);
                if (delivery.digest_at, delivery.digest_to) != before {
                    self.notifier.is_changed.set(true);
                }
                next
            };
            match next {
                DigestStep::Wait(_) if self.notifier.until == Until::Told => return,
                DigestStep::Wait(until) => wait(now, until).await,
                DigestStep::Read(to) => {
                    if let BacklogRead::Nothing = self.read(&mut backlog, &committed, to) {
                        read_to = Some(to);
                    }
                    yield_now().await;
                }
                DigestStep::Store => {
                    self.notifier.is_changed.set(true);
                    match self.notifier.store() {
                        Ok(()) => self.delivery().stored(),
                        Err(failure) => {
                            tracing::error!("cannot store which changes were delivered: {failure}");
                            wait(now, u64::MAX).await;
                        }
                    }
                }
                DigestStep::Send(changes) => self.send_digest(&committed, changes).await,
            }
        }
    }

    async fn send_digest(&self, committed: &Generation, changes: Vec<ChangeNotice>) {
        let max = self.target.max_text.min(MAX_DIGEST_TEXT);
        let (mut archived, mut told) = (self.archived(committed), Vec::new());
        for change in changes {
            told.push(archived.told(change, max));
            // Other targets have a turn: each reads the archive.
            yield_now().await;
        }
        let message = Message::of_digest(&self.target.name, &told);
        let sent = self.send(&message).await;
        let now = self.now();
        match sent {
            Ok(()) => self.took(|delivery| delivery.took_digest(now)),
            Err(why) => self.failed(&message.id, &why, |delivery, error| {
                delivery.failed_digest(now, error, matches!(why, NotTaken::Refused(_)))
            }),
        }
    }
}
