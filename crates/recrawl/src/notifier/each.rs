//! A message for each change.

use super::reading::BacklogRead;
use super::{TargetThread, Until, wait};
use futures_util::stream::{FuturesUnordered, StreamExt};
use recrawl_notifications::backlog::Backlog;
use recrawl_notifications::delivery::DeliveryStep;
use recrawl_notifications::message::Message;
use tokio::task::yield_now;

impl TargetThread<'_> {
    /// Tells of each change, until all is told if asked to.
    pub(super) async fn each(&self) {
        let (mut backlog, mut sends, mut read_at) = (Backlog::default(), FuturesUnordered::new(), 0);
        loop {
            let committed = self.notifier.crawled.generation();
            self.pass_removed(&mut backlog, &committed);
            let (mut archived, mut has_more) = (self.archived(&committed), true);
            while self.notifier.crawled.generation().number() == committed.number() {
                let now = self.now();
                let next = self.delivery().next(now, self.sender.window(), has_more && now >= read_at);
                let pause = match next {
                    DeliveryStep::Read => {
                        match self.read(&mut backlog, &committed, committed.number()) {
                            BacklogRead::Some => {}
                            BacklogRead::Nothing => has_more = false,
                            BacklogRead::Failed => {
                                read_at =
                                    self.delivery().failing.as_ref().map_or(now, |failing| failing.retry_at);
                            }
                        }
                        None
                    }
                    DeliveryStep::Send(change) => {
                        let told = archived.told(change, self.target.max_text);
                        let message = Message::of_change(&self.target.name, &told);
                        sends.push(async move { (self.send(&message).await, message.id) });
                        None
                    }
                    // A target that fails has messages left, which wait for the next time.
                    DeliveryStep::Wait(_) if self.notifier.until == Until::Told && sends.is_empty() => return,
                    DeliveryStep::Wait(until) => Some(until),
                };
                // Messages in flight go on while others are read and made.
                tokio::select! {
                    biased;
                    Some((sent, id)) = sends.next(), if !sends.is_empty() => match sent {
                        Ok(()) => self.took(|delivery| delivery.took(&id, self.now())),
                        Err(why) => {
                            let now = self.now();
                            self.failed(&id, &why, |delivery, error| delivery.failed(&id, now, error));
                        }
                    },
                    () = async {
                        match pause {
                            Some(until) => wait(now, until).await,
                            None => yield_now().await,
                        }
                    } => {}
                }
            }
        }
    }
}
