//! A message for each change.

use super::{Telling, Until, wait};
use futures_util::stream::{FuturesUnordered, StreamExt};
use recrawl_notifications::backlog::{Backlog, Found};
use recrawl_notifications::delivery::Next;
use recrawl_notifications::message::Message;
use recrawl_types::CanonicalUrl;

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
                Next::Read => {
                    let mut delivery = self.delivery();
                    let (kept, before) = (self.kept(&committed), delivery.place.clone());
                    let found = backlog.next(&mut delivery.place, &kept, committed.number(), &self.asked());
                    if delivery.place != before {
                        self.notifier.is_changed.set(true);
                    }
                    match found {
                        Ok(Found::Changes(changes)) => delivery.hold(changes),
                        Ok(Found::Passed) => {
                            drop(delivery);
                            tokio::task::yield_now().await;
                        }
                        Ok(Found::Nothing) => has_more = false,
                        Err(error) => {
                            tracing::error!(target = %self.target.name, "cannot read what is to be told: {error}");
                            has_more = false;
                        }
                    }
                }
                Next::Send(change) if self.is_taken_down(&change.url) => self.changed().forget(&change.id),
                Next::Send(change) => {
                    let told = self.told(&committed, change, self.target.max_text);
                    let message = Message::of_change(&self.target.name, &told);
                    sends.push(async move { (self.send(&message).await, message.id) });
                }
                Next::Wait(until) => {
                    let is_told = sends.is_empty() && !has_more;
                    if self.notifier.until == Until::Told && is_told {
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
