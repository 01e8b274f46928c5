//! Keeps copies of pages in step (`[[deliver]]`): compares what a target holds with the pages of a commit, makes the
//! documents of what differs from the archive, and sends them.

mod channel;
mod wanted;

pub use wanted::Committed;

use crate::texts::{Missing, Version, Versions, extracted};
use channel::{Channel, NotSent};
use recrawl_archive::{ArchiveReader, opener};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::labels::{counted, thousands};
use recrawl_crawl::parts::deliver::DeliverTarget;
use recrawl_delivery::protocol::CopyItem;
use recrawl_delivery::{CopyChange, Document, Interrupted, ItemAnswer, Sent, SyncError, TargetCopy, id};
use recrawl_extractor::{Extracted, PageContent};
use recrawl_repository::Lookup;
use recrawl_types::{CanonicalUrl, Visited};
use std::time::Duration;
use tokio::runtime::Runtime;

/// Interval at which a request that is on its way looks whether the program ends.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Reasons of refusals that are logged for one call.
const MAX_REASONS: u64 = 5;

impl Committed<'_> {
    /// Brings the copy of a target up to date. `is_ended` is asked before each request.
    ///
    /// # Errors
    /// When the target takes no more, or something cannot be read or stored. What was taken stays so.
    pub fn deliver(
        &self,
        target: &DeliverTarget,
        runtime: &Runtime,
        is_ended: &dyn Fn() -> bool,
    ) -> Result<Sent, Failure> {
        let named = |e: String| Failure::Work(format!("[[deliver]] {:?}: {e}", target.name));
        let channel = Channel::new(target, &self.settings.fetch).map_err(named)?;
        let archive = opener::open(&self.settings.data_dir).and_then(ArchiveReader::open)?;
        let mut sender = Sender {
            committed: self,
            target,
            channel,
            archive,
            pages: self.generation.lookup(),
            runtime,
            is_ended,
            reasons: 0,
        };
        let copy = TargetCopy { storage: self.storage, target: &target.name, batch: target.batch };
        let pages = || wanted::pages(self, target);
        let sent =
            copy.sync(self.now, &pages, &mut |version, changes: &[CopyChange]| sender.send(version, changes));
        sent.map_err(|e: SyncError<Failure>| named(e.to_string()))
    }
}

/// Sends to one target.
struct Sender<'s> {
    committed: &'s Committed<'s>,
    target: &'s DeliverTarget,
    channel: Channel,
    archive: ArchiveReader,
    pages: Lookup<'s>,
    runtime: &'s Runtime,
    is_ended: &'s dyn Fn() -> bool,
    reasons: u64,
}

impl Sender<'_> {
    /// Sends changes in requests of bounded size, and gives the answers to those that were sent.
    fn send(&mut self, version: u64, changes: &[CopyChange]) -> Result<Vec<ItemAnswer>, Interrupted> {
        let mut answers = Vec::new();
        let (mut items, mut bytes) = (Vec::new(), 0);
        for change in changes {
            match self.item(version, change) {
                Ok(item) => {
                    bytes += size(&item);
                    items.push(item);
                }
                Err(Missing { none, why }) => {
                    let (CopyChange::Put(url, _) | CopyChange::Delete(url)) = change;
                    // Those before it are answered first.
                    self.flush(version, &mut items, &mut answers)?;
                    bytes = 0;
                    self.note(url, &why);
                    // What cannot be read now may be read later.
                    let is_passing = none == "unreadable";
                    answers.push(if is_passing { ItemAnswer::Unknown } else { ItemAnswer::Refused });
                }
            }
            if bytes >= self.target.batch_bytes {
                self.flush(version, &mut items, &mut answers)?;
                bytes = 0;
            }
        }
        self.flush(version, &mut items, &mut answers)?;
        Ok(answers)
    }

    fn flush(
        &mut self,
        version: u64,
        items: &mut Vec<CopyItem>,
        answers: &mut Vec<ItemAnswer>,
    ) -> Result<(), Interrupted> {
        if items.is_empty() {
            return Ok(());
        }
        let sent = std::mem::take(items);
        self.send_items(version, &sent, answers)
    }

    /// Sends items, in halves where the target asks for it.
    fn send_items(
        &mut self,
        version: u64,
        items: &[CopyItem],
        answers: &mut Vec<ItemAnswer>,
    ) -> Result<(), Interrupted> {
        if (self.is_ended)() {
            return Err(Interrupted("the program ends".into()));
        }
        let settings = self.committed.settings;
        let is_taken_down =
            |url: &CanonicalUrl| settings.scope.taken_down().iter().any(|pattern| pattern.matches(url));
        // Nobody waits for a slow target: what is on its way is sent again later.
        let is_ended = self.is_ended;
        let ended = async {
            while !is_ended() {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        let sent = self.runtime.block_on(async {
            tokio::select! {
                sent = self.channel.send(version, items, &is_taken_down) => sent,
                () = ended => Err(NotSent::Interrupted("the program ends".into())),
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
            Err(NotSent::Interrupted(why)) => Err(Interrupted(why)),
        }
    }

    /// Logs why a document is not there, of a few.
    fn note(&mut self, page: &impl std::fmt::Display, why: &str) {
        self.reasons += 1;
        if self.reasons <= MAX_REASONS {
            tracing::warn!(target = %self.target.name, "{page}: not delivered: {why}");
        }
    }

    fn item(&mut self, version: u64, change: &CopyChange) -> Result<CopyItem, Missing> {
        match change {
            CopyChange::Delete(url) => Ok(CopyItem::Delete(url.clone())),
            CopyChange::Put(url, _) => {
                self.document(version, url).map(|document| CopyItem::Put(Box::new(document)))
            }
        }
    }

    /// The document of a page, from its last archived body.
    fn document(&mut self, version: u64, url: &CanonicalUrl) -> Result<Document, Missing> {
        let missing = |why: String| Missing { none: "unreadable", why };
        let no_text = |why: &str| Missing { none: "no_text", why: why.into() };
        let visited = self.pages.visited(url).map_err(|e| missing(e.to_string()))?;
        let Some(Visited { history, content }) = visited else {
            return Err(no_text("nothing of it is archived"));
        };
        let settings = self.committed.settings;
        let mut versions = Versions::of(&self.archive, url, content.archive, settings.max_archived_body());
        let Version { answer, .. } =
            versions.next().unwrap_or_else(|| Err(no_text("nothing of it is archived")))?;
        let part = settings.pages.of(url).map(|rule| &rule.part);
        let Extracted::Page(PageContent { title, language, text, .. }) =
            extracted(&answer, url, settings, part)
        else {
            return Err(no_text("its last archived body is no text"));
        };
        Ok(Document {
            id: id(url),
            version,
            url: url.to_string(),
            host: url.host().to_string(),
            title,
            language,
            content_type: answer.content_type(),
            status: answer.status(),
            fetched_at: answer.time(),
            changes: history.changes,
            text: self.target.has_text.then_some(text),
        })
    }
}

fn size(item: &CopyItem) -> usize {
    match item {
        CopyItem::Put(document) => 500 + document.text.as_ref().map_or(0, String::len),
        CopyItem::Delete(_) => 100,
    }
}

fn url_of(item: &CopyItem) -> String {
    match item {
        CopyItem::Put(document) => document.url.clone(),
        CopyItem::Delete(url) => url.to_string(),
    }
}

/// A line for people of what was sent.
pub fn told(target: &str, Sent { puts, deletes, refused }: Sent) -> String {
    let refused = match refused {
        0 => String::new(),
        refused => format!(", {} refused", thousands(refused)),
    };
    format!("{target}: {} sent, {} removed{refused}", counted(puts, "document"), thousands(deletes))
}
