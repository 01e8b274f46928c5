//! A message for each change.

use super::{Telling, Until, wait};
use futures_util::stream::{FuturesUnordered, StreamExt};
use recrawl_notifications::backlog::{Backlog, Found};
use recrawl_notifications::delivery::Next;
use recrawl_notifications::message::Message;
use recrawl_repository::Generation;
use recrawl_types::CanonicalUrl;

/// What was read of the backlog.
enum Read {
    /// Changes, which are held now.
    Some,
    /// None so far.
    Passed,
    /// Nothing is left before the next commit.
    Nothing,
}

impl Telling<'_> {
    /// Tells of each change, until all is told if asked to.
    pub(super) async fn each(&self) {
        let mut backlog = Backlog::default();
        let mut sends = FuturesUnordered::new();
        let (mut read_to, mut has_more) = (None, true);
        loop {
            let (now, committed) = (self.now(), self.notifier.crawled.generation());
            if read_to != Some(committed.number()) {
                (read_to, has_more) = (Some(committed.number()), true);
            }
            let next = self.delivery().next(now, self.sender.window(), has_more);
            match next {
                Next::Read => match self.read(&mut backlog, &committed) {
                    Read::Some => {}
                    Read::Passed => tokio::task::yield_now().await,
                    Read::Nothing => has_more = false,
                },
                Next::Send(change) if self.is_taken_down(&change.url) => self.changed().forget(&change.id),
                Next::Send(change) => {
                    let told = self.told(&committed, change, self.target.max_text);
                    let message = Message::of_change(&self.target.name, &told);
                    sends.push(async move { (self.send(&message).await, message.id) });
                }
                Next::Wait(until) => {
                    // A target that fails has messages left, which wait for the next time.
                    if self.notifier.until == Until::Told && sends.is_empty() {
                        return;
                    }
                    tokio::select! {
                        Some((sent, id)) = sends.next(), if !sends.is_empty() => self.answered(&id, sent),
                        () = wait(now, until) => {}
                    }
                }
            }
        }
    }

    /// Reads the next changes and holds them.
    fn read(&self, backlog: &mut Backlog, committed: &Generation) -> Read {
        let mut delivery = self.delivery();
        let (kept, before) = (self.kept(committed), delivery.place.clone());
        let found = backlog.next(&mut delivery.place, &kept, committed.number(), &self.asked());
        if delivery.place != before {
            self.notifier.is_changed.set(true);
        }
        match found {
            Ok(Found::Changes(changes)) => {
                delivery.hold(changes);
                Read::Some
            }
            Ok(Found::Passed) => Read::Passed,
            Ok(Found::Nothing) => Read::Nothing,
            Err(error) => {
                tracing::error!(target = %self.target.name, "cannot read what is to be told: {error}");
                Read::Nothing
            }
        }
    }

    fn answered(&self, id: &str, sent: Result<(), String>) {
        let now = self.now();
        match sent {
            Ok(()) => self.changed().took(id, now),
            Err(error) => {
                self.log_failure(&error);
                if self.changed().failed(id, now, error) {
                    let name = &self.target.name;
                    tracing::warn!(target = %name, id, "a message is given up: the target refused it for a day");
                }
            }
        }
    }

    /// Kept visits have none of its pages, but a message may be held.
    fn is_taken_down(&self, url: &CanonicalUrl) -> bool {
        self.notifier.settings.scope.taken_down().iter().any(|pattern| pattern.matches(url))
    }
}
