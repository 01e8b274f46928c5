//! Sends changes to a target, in requests of bounded size.

use super::channel::{Channel, NotSent};
use super::documents::Documents;
use crate::texts::Missing;
use recrawl_delivery::protocol::CopyItem;
use recrawl_delivery::{BatchAnswers, CopyChange, Interrupted, ItemAnswer};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use tokio::runtime::Runtime;

/// Interval at which a request that is on its way looks whether the program ends.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Reasons of refusals that are logged for one call.
const MAX_REASONS: u64 = 5;

/// Sends to one target.
pub struct Sender<'s> {
    /// Its name.
    pub target: &'s str,
    pub batch_bytes: usize,
    pub channel: Channel<'s>,
    pub documents: Documents<'s>,
    pub runtime: &'s Runtime,
    pub is_ended: &'s dyn Fn() -> bool,
    /// Reasons of refusals so far.
    pub reasons: u64,
}

impl Sender<'_> {
    /// Sends changes, and gives the answers to those that were sent.
    pub fn send(&mut self, version: u64, changes: &[CopyChange]) -> BatchAnswers {
        let mut answers = Vec::new();
        let interrupted = self.send_all(version, changes, &mut answers).err();
        BatchAnswers { answers, interrupted }
    }

    fn send_all(
        &mut self,
        version: u64,
        changes: &[CopyChange],
        answers: &mut Vec<ItemAnswer>,
    ) -> Result<(), Interrupted> {
        let (mut items, mut bytes) = (Vec::new(), 0);
        for change in changes {
            self.go_on()?;
            match self.item(version, change) {
                Ok(item) => {
                    bytes += size(&item);
                    items.push(item);
                }
                Err(Missing { none, why }) => {
                    let (CopyChange::Put(url, _) | CopyChange::Delete(url)) = change;
                    // Those before it are answered first.
                    self.send_items(version, &std::mem::take(&mut items), answers)?;
                    bytes = 0;
                    self.note(url, &why);
                    // What cannot be read now may be read later.
                    let is_passing = none == "unreadable";
                    answers.push(if is_passing { ItemAnswer::Unread } else { ItemAnswer::Refused });
                }
            }
            if bytes >= self.batch_bytes {
                self.send_items(version, &std::mem::take(&mut items), answers)?;
                bytes = 0;
            }
        }
        self.send_items(version, &items, answers)
    }

    fn go_on(&self) -> Result<(), Interrupted> {
        if (self.is_ended)() { Err("the program ends, or has another configuration".into()) } else { Ok(()) }
    }

    /// Sends items, in halves where the target asks for it.
    fn send_items(
        &mut self,
        version: u64,
        items: &[CopyItem],
        answers: &mut Vec<ItemAnswer>,
    ) -> Result<(), Interrupted> {
        if items.is_empty() {
            return Ok(());
        }
        self.go_on()?;
        // Nobody waits for a slow target: what is on its way is sent again later.
        let ended = async {
            loop {
                tokio::time::sleep(LOOK_EVERY).await;
                if let Err(ended) = self.go_on() {
                    break ended;
                }
            }
        };
        let sent = self.runtime.block_on(async {
            tokio::select! {
                sent = self.channel.send(version, items) => sent,
                ended = ended => Err(NotSent::Interrupted(ended)),
            }
        });
        match sent {
            Ok(found) => {
                for (item, (answer, why)) in items.iter().zip(found) {
                    if let Some(why) = why {
                        self.note(&url_of(item), &why);
                    }
                    answers.push(answer);
                }
                Ok(())
            }
            Err(NotSent::TooMany) => {
                let (first, second) = items.split_at(items.len() / 2);
                self.send_items(version, first, answers)?;
                self.send_items(version, second, answers)
            }
            Err(NotSent::Interrupted(interrupted)) => Err(interrupted),
        }
    }

    /// Logs why a document is not there, of a few.
    fn note(&mut self, page: &impl std::fmt::Display, why: &str) {
        self.reasons += 1;
        if self.reasons <= MAX_REASONS {
            tracing::warn!(target = %self.target, "{page}: not delivered: {why}");
        }
    }

    fn item(&mut self, version: u64, change: &CopyChange) -> Result<CopyItem, Missing> {
        match change {
            CopyChange::Delete(url) => Ok(CopyItem::Delete(url.clone())),
            CopyChange::Put(url, _) => {
                // A page on which the extractor panics concerns no other.
                let make = AssertUnwindSafe(|| self.documents.make(version, url));
                let why = "internal error while its document was made; please report it";
                let made = catch_unwind(make);
                let made = made.unwrap_or_else(|_| Err(Missing { none: "no_text", why: why.into() }));
                made.map(|document| CopyItem::Put(Box::new(document)))
            }
        }
    }
}

fn size(item: &CopyItem) -> usize {
    match item {
        CopyItem::Put(document) => {
            let fields: usize = document.fields.values().map(|value| value.to_string().len()).sum();
            500 + document.text.as_ref().map_or(0, String::len) + fields
        }
        CopyItem::Delete(_) => 100,
    }
}

fn url_of(item: &CopyItem) -> String {
    match item {
        CopyItem::Put(document) => document.url.clone(),
        CopyItem::Delete(url) => url.to_string(),
    }
}
