//! Keeps copies of pages in step (`[[deliver]]`): compares what a target holds with the pages of a commit, makes the
//! documents of what differs from the archive, and sends them.

mod channel;
mod checks;
mod documents;
mod holding;
mod lines_file;
mod lines_objects;
#[cfg(test)]
mod lives;
pub mod local_index;
mod sender;
mod wanted;

pub use checks::{probe, verify};
pub use holding::{Holding, ParkedDocument};
pub use lines_file::release;
use lines_objects::LinesObjects;
pub use wanted::Committed;

use channel::Channel;
use documents::Documents;
use local_index::LocalIndex;
use recrawl_archive::{ArchiveReader, opener};
use recrawl_crawl::admission::pattern::Pattern;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::labels::{counted, thousands};
use recrawl_crawl::parts::deliver::DeliverTarget;
use recrawl_delivery::protocol::{TargetProtocol, kept};
use recrawl_delivery::{SentChanges, SkippedChanges, SyncError, TargetCopy, WaitingChanges};
use recrawl_types::CanonicalUrl;
use sender::{DeliverySender, Destination};
use std::fmt;
use std::time::Duration;
use tokio::runtime::Runtime;

/// The reason why a target is not up to date.
#[derive(Debug)]
pub struct NotDelivered {
    pub failure: Failure,
    /// Time that the target asks for.
    pub retry_after: Option<Duration>,
}

impl From<Failure> for NotDelivered {
    fn from(failure: Failure) -> NotDelivered {
        NotDelivered { failure, retry_after: None }
    }
}

impl fmt::Display for NotDelivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.failure.fmt(f)
    }
}

impl Committed<'_> {
    /// Brings the copy of a target up to date. `is_ended` is asked often: before each request, page and document.
    ///
    /// # Errors
    /// When the target takes no more, or something cannot be read or stored. What was taken stays so.
    pub fn deliver(
        &self,
        target: &DeliverTarget,
        runtime: &Runtime,
        is_ended: &dyn Fn() -> bool,
    ) -> Result<SentChanges, NotDelivered> {
        let named = |e: String| Failure::Work(format!("[[deliver]] {:?}: {e}", target.name));
        let copy = self.copy(target);
        let not_delivered = |e: SyncError<Failure>| NotDelivered {
            failure: named(e.to_string()),
            retry_after: match e {
                SyncError::Interrupted(interrupted) => interrupted.retry_after,
                _ => None,
            },
        };
        self.purge(target, &copy, is_ended).map_err(not_delivered)?;
        let destination = match target.place.protocol {
            TargetProtocol::Index => {
                let taken_down = self.settings.scope.taken_down();
                let data_dir = &self.settings.data_dir;
                Destination::Index(LocalIndex::new(data_dir, self.storage, taken_down, is_ended)?.into())
            }
            _ => Destination::Outside(Channel::new(target, &self.settings.fetch).map_err(named)?),
        };
        let mut sender = DeliverySender {
            target: &target.name,
            batch_bytes: target.batch_bytes,
            rate: target.rate.clone(),
            destination,
            documents: Documents {
                settings: self.settings,
                target,
                archive: opener::open(&self.settings.data_dir)
                    .and_then(ArchiveReader::open)
                    .map_err(Failure::from)?,
                pages: self.generation.lookup(),
            },
            runtime,
            is_ended,
            reasons: 0,
            taken: None,
            alike: Default::default(),
        };
        let pages = || wanted::pages(self, target, is_ended);
        let sent = copy.sync(self.now, &pages, &mut sender);
        if let Destination::Index(index) = &sender.destination {
            index.settle();
        }
        sent.map_err(not_delivered)
    }

    fn copy<'t>(&'t self, target: &'t DeliverTarget) -> TargetCopy<'t> {
        let lateness = match &target.place.protocol {
            TargetProtocol::Server(server) if !server.has_versions() => target.timeout,
            _ => Duration::ZERO,
        };
        let (address, batch) = (&target.place.address, target.batch);
        TargetCopy { storage: self.storage, target: address, batch, lateness }
    }

    /// Counts what the next delivery sends.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn waiting(&self, target: &DeliverTarget) -> Result<WaitingChanges, Failure> {
        self.copy(target).waiting(wanted::pages(self, target, &|| false)).map_err(Failure::work)
    }

    /// Gives up what a target refused or waits for, of all pages or of one.
    ///
    /// # Errors
    /// When something cannot be read or stored.
    pub fn skip(
        &self,
        target: &DeliverTarget,
        only: Option<&CanonicalUrl>,
    ) -> Result<SkippedChanges, Failure> {
        self.copy(target).skip(wanted::pages(self, target, &|| false), only).map_err(Failure::work)
    }

    /// Locks a file, and removes earlier lines of pages that were taken down, also of those that are known again, or had left the file before.
    fn purge(
        &self,
        target: &DeliverTarget,
        copy: &TargetCopy<'_>,
        is_ended: &dyn Fn() -> bool,
    ) -> Result<(), SyncError<Failure>> {
        match &target.place.protocol {
            TargetProtocol::Lines(path) => lines_file::hold(path).map_err(|e| {
                SyncError::Interrupted(format!("cannot write {}: {e}", path.display()).into())
            })?,
            TargetProtocol::Objects(_) => {}
            _ => return Ok(()),
        }
        let removed = match copy.purge()? {
            Some(noted) => noted
                .into_iter()
                .map(|text| Pattern::try_from(text).map_err(|why| SyncError::Pages(Failure::Work(why))))
                .collect::<Result<_, _>>()?,
            // Nobody knows who wrote a file that is there.
            None => self.settings.scope.taken_down().to_vec(),
        };
        if removed.is_empty() {
            return Ok(());
        }
        let is_removed = |url: &CanonicalUrl| removed.iter().any(|pattern| pattern.matches(url));
        rewrite_lines(target, &|line| kept(line, &is_removed), is_ended)
            .map_err(|why| SyncError::Interrupted(why.into()))?;
        copy.purged(&is_removed)
    }
}

/// Leaves only the lines of a target that are kept, if it has lines.
///
/// # Errors
/// Why they may all be there yet.
pub fn rewrite_lines(
    target: &DeliverTarget,
    is_kept: &dyn Fn(&[u8]) -> bool,
    is_ended: &dyn Fn() -> bool,
) -> Result<(), String> {
    match &target.place.protocol {
        TargetProtocol::Lines(path) => lines_file::rewrite(path, is_kept, is_ended)
            .map_err(|e| format!("cannot rewrite {}: {e}", path.display())),
        TargetProtocol::Objects(store) => {
            LinesObjects::open(store)?.rewrite(is_kept, is_ended).map_err(|e| e.to_string())
        }
        _ => Ok(()),
    }
}

/// A line for people of what was sent, of documents that cannot be made now, and of known pages that the scope leaves out.
pub fn told(target: &str, sent: SentChanges, outside: u64) -> String {
    let SentChanges { puts, deletes, refused, unread } = sent;
    let named = |count: u64, text: String| if count == 0 { String::new() } else { text };
    format!(
        "{target}: {} sent, {} removed{}{}{}",
        counted(puts, "document"),
        thousands(deletes),
        named(refused, format!(", {} refused", thousands(refused))),
        named(unread, format!(", {} unreadable now and tried again", thousands(unread))),
        named(outside, format!("; {} outside the scope", counted(outside, "known page"))),
    )
}
