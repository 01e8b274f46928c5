//! Tells targets of changes (`[[notify]]`): reads the backlog of each, makes the messages and sends them.
//!
//! All of it is one future on a thread of its own, so a slow target or disk never makes the crawl wait. Where each
//! target stands is stored soon after a message was taken, and before a digest is sent.

mod bounded;
mod command;
mod digests;
mod each;
mod file;
mod mail;
mod not_taken;
mod reading;
mod sender;
mod webhook;

use crate::texts::Archived;
pub use command::NotifierProgram;
pub use webhook::words;

use futures_util::future::join_all;
use not_taken::NotTaken;
use recrawl_archive::{ArchiveReader, opener};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::parts::notify::{NotifyPace, NotifyTarget, warning};
use recrawl_crawl::settings::Settings;
use recrawl_notifications::backlog::TargetFilter;
use recrawl_notifications::delivery::Delivery;
use recrawl_notifications::message::Message;
use recrawl_notifications::store::{self, Deliveries};
use recrawl_repository::storage::Storage;
use recrawl_repository::{Generation, StoredRounds};
use recrawl_types::Round;
use sender::NoticeSender;
use std::cell::{Cell, RefCell, RefMut};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

/// Interval at which it is stored up to where visits were read. What is read again after a kill is not sent again.
const STORE_EVERY: Duration = Duration::from_secs(1);
/// Messages that are taken before it is stored, at most. After a kill, these are sent again, with their ids, and those in
/// flight.
const MAX_NOT_STORED: usize = 16;
/// The pause after storing, in times that it took: the disk has others to serve, and the file may be large.
const PAUSE: u32 = 3;
/// Interval at which a commit, a new configuration and the clock are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// What the notifier needs of a crawl.
pub trait Crawled: Send + Sync {
    /// The configuration in force, with the takedowns.
    fn settings(&self) -> Arc<Settings>;
    /// How often the configuration was loaded again. Raised after [`Crawled::settings`] has it.
    fn reloads(&self) -> u64;
    /// The last commit.
    fn generation(&self) -> Arc<Generation>;
    /// The data directory.
    fn storage(&self) -> &Arc<dyn Storage>;
    /// The time in milliseconds since 1970.
    fn now(&self) -> u64;
    /// Takes where the targets stand, for people.
    fn publish(&self, deliveries: &Deliveries);
}

/// When telling ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// When it is cancelled.
    Cancelled,
    /// When each target took all, or failed.
    Told,
}

/// Checks that each target can be set up and its templates work; blocks.
///
/// # Errors
/// The target and the key, and what is wrong.
pub fn check(settings: &Settings) -> Result<(), Failure> {
    let check = |target| NoticeSender::new(target, &settings.fetch)?.check_templates(target);
    settings.notify.iter().try_for_each(check)
}

/// Tells all targets until `end`, or until all is told.
///
/// # Errors
/// When it cannot be read or stored where they stand.
pub async fn run(crawled: &dyn Crawled, end: &CancellationToken, until: Until) -> Result<(), Failure> {
    while !end.is_cancelled() {
        let reloads = crawled.reloads();
        let notifier = Notifier::new(crawled, crawled.settings(), until)?;
        let is_other = async {
            // Also secrets that were read anew, and how the crawl makes requests.
            while crawled.reloads() == reloads {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        let told = tokio::select! {
            () = end.cancelled() => false,
            () = is_other => false,
            () = notifier.tell_all() => true,
        };
        notifier.store()?;
        if told {
            break;
        }
    }
    Ok(())
}

/// Sends a message that only shows whether the target takes messages.
///
/// # Errors
/// Why it does not.
pub async fn test(settings: &Settings, target: &NotifyTarget, now: u64) -> Result<(), Failure> {
    let sender = NoticeSender::new(target, &settings.fetch)?;
    let message = Message::of_test(&target.name, now / 1000, target.pace != NotifyPace::Each);
    let sent = sender.send(target, &message, || now / 1000).await;
    sent.map_err(|why| Failure::Work(format!("cannot deliver to target {:?}: {why}", target.name)))
}

/// The targets of one configuration.
struct Notifier<'c> {
    crawled: &'c dyn Crawled,
    settings: Arc<Settings>,
    until: Until,
    /// None of a target that cannot be set up.
    senders: Vec<Option<NoticeSender>>,
    deliveries: RefCell<Deliveries>,
    /// The archive's files at a commit: a folder of thousands is not listed for each message.
    archive: RefCell<Option<(Round, Rc<ArchiveReader>)>>,
    /// Is something not stored yet?
    is_changed: Cell<bool>,
    /// Messages that were taken since it was stored.
    taken: Cell<usize>,
    /// Woken for each of them.
    took: Notify,
}

impl<'c> Notifier<'c> {
    fn new(crawled: &'c dyn Crawled, settings: Arc<Settings>, until: Until) -> Result<Notifier<'c>, Failure> {
        let names = settings.notify.iter().map(|target| target.name.as_str());
        let (committed, now) = (crawled.generation().number(), crawled.now());
        let (mut deliveries, removed) =
            store::of_targets(&**crawled.storage(), names, committed).map_err(Failure::work)?;
        for (name, delivery) in removed.iter().filter(|(_, delivery)| !delivery.held.is_empty()) {
            let pending = delivery.held.len();
            tracing::warn!(target = %name, pending, "dropped the messages of a target that is no longer configured");
        }
        if let Some(warning) = warning(&settings.config) {
            tracing::warn!("{warning}");
        }
        let mut senders = Vec::new();
        for target in &settings.notify {
            let delivery = deliveries.get_mut(&target.name).expect("each target has one");
            delivery.restart(target.pace != NotifyPace::Each);
            delivery.remove(&|url| settings.scope.taken_down().iter().any(|pattern| pattern.matches(url)));
            let made = NoticeSender::new(target, &settings.fetch);
            if let Err(failure) = &made {
                tracing::error!("cannot deliver any change: {failure}");
                delivery.cannot_start(now, failure.to_string());
            }
            senders.push(made.ok());
        }
        crawled.publish(&deliveries);
        let (deliveries, archive) = (RefCell::new(deliveries), RefCell::default());
        let (is_changed, taken, took) = Default::default();
        Ok(Notifier { crawled, settings, until, senders, deliveries, archive, is_changed, taken, took })
    }

    async fn tell_all(&self) {
        let targets = self.settings.notify.iter().zip(&self.senders);
        let each = join_all(targets.filter_map(|(target, sender)| Some(self.tell(target, sender.as_ref()?))));
        tokio::select! {
            _ = each => {}
            () = self.keep_stored() => {}
        }
        if self.until == Until::Cancelled {
            // Without targets, only a new configuration gives something to do.
            std::future::pending::<()>().await;
        }
    }

    /// Stores again and again where the targets stand. A message is sent, taken, and then stored as taken, in this order: a
    /// kill between them sends it again, and never loses it.
    async fn keep_stored(&self) {
        let mut rested = Instant::now();
        loop {
            self.until_due(rested).await;
            let begun = Instant::now();
            self.store_or_log();
            rested = Instant::now() + (begun.elapsed() * PAUSE).min(STORE_EVERY);
        }
    }

    /// Waits until a message was taken and the pause is over, or nothing was taken for [`STORE_EVERY`].
    async fn until_due(&self, rested: Instant) {
        let last = Instant::now() + STORE_EVERY;
        loop {
            let due = if self.taken.get() > 0 { rested } else { last };
            if timeout_at(due, self.took.notified()).await.is_err() {
                return;
            }
        }
    }

    /// A message was taken. Of those that were not stored, it may be one too many.
    fn took_one(&self) {
        self.taken.set(self.taken.get() + 1);
        if self.taken.get() >= MAX_NOT_STORED {
            self.store_or_log();
        }
        self.took.notify_one();
    }

    fn store_or_log(&self) {
        if let Err(failure) = self.store() {
            tracing::error!("cannot store which changes were delivered: {failure}");
        }
    }

    async fn tell(&self, target: &NotifyTarget, sender: &NoticeSender) {
        let told = TargetThread { notifier: self, target, sender };
        match target.pace {
            NotifyPace::Each => told.each().await,
            NotifyPace::Digest(period) => told.digests(period).await,
        }
    }

    fn archive_of(&self, committed: &Generation) -> io::Result<Rc<ArchiveReader>> {
        let mut archive = self.archive.borrow_mut();
        if archive.as_ref().is_none_or(|(number, _)| *number != committed.number()) {
            let opened = ArchiveReader::open(opener::open(&self.settings.data_dir)?)?;
            *archive = Some((committed.number(), Rc::new(opened)));
        }
        Ok(archive.as_ref().expect("it was opened").1.clone())
    }

    /// Stores where the targets stand.
    fn store(&self) -> Result<(), Failure> {
        self.taken.set(0);
        if !self.is_changed.replace(false) {
            return Ok(());
        }
        let deliveries = self.deliveries.borrow();
        self.crawled.publish(&deliveries);
        let stored = store::write(&**self.crawled.storage(), &deliveries).map_err(Failure::work);
        stored.inspect_err(|_| self.is_changed.set(true))
    }
}

/// One target that is told.
struct TargetThread<'n> {
    notifier: &'n Notifier<'n>,
    target: &'n NotifyTarget,
    sender: &'n NoticeSender,
}

impl TargetThread<'_> {
    /// Where the target stands, to be changed and stored.
    fn changed(&self) -> RefMut<'_, Delivery> {
        self.notifier.is_changed.set(true);
        self.delivery()
    }

    /// The target took a message, which `note` notes.
    fn took(&self, note: impl FnOnce(&mut Delivery)) {
        note(&mut self.changed());
        self.notifier.took_one();
    }

    /// Where the target stands; what is changed is not stored for that.
    fn delivery(&self) -> RefMut<'_, Delivery> {
        let deliveries = self.notifier.deliveries.borrow_mut();
        RefMut::map(deliveries, |all| all.get_mut(&self.target.name).expect("each target has one"))
    }

    fn now(&self) -> u64 {
        self.notifier.crawled.now()
    }

    fn asked(&self) -> TargetFilter<'_> {
        TargetFilter {
            name: &self.target.name,
            kinds: &self.target.kinds,
            wants: Box::new(|url| self.target.wants(url)),
        }
    }

    fn kept(&self, committed: &Generation) -> StoredRounds {
        StoredRounds::new(self.notifier.crawled.storage().clone(), committed.number())
    }

    /// The archive as of a commit.
    fn archived<'a>(&'a self, committed: &'a Generation) -> Archived<'a> {
        let archive = Box::new(|| self.notifier.archive_of(committed));
        Archived { settings: &self.notifier.settings, pages: committed.lookup(), archive }
    }

    async fn send(&self, message: &Message) -> Result<(), NotTaken> {
        self.sender.send(self.target, message, || self.now() / 1000).await
    }

    /// Notes that a message was not taken, by `note`, which says whether it is given up; and logs the first failure.
    fn failed(&self, id: &str, why: &NotTaken, note: impl FnOnce(&mut Delivery, String) -> bool) {
        let name = &self.target.name;
        let mut delivery = self.changed();
        let was_failing = delivery.failing.is_some();
        if let NotTaken::Resting(_, time) = why {
            delivery.rest(self.now().saturating_add(time.as_millis() as u64));
        }
        let is_given_up = note(&mut delivery, why.to_string());
        if !was_failing && delivery.failing.is_some() {
            tracing::warn!(target = %name, id, "a message failed and will be retried: {why}");
        } else {
            tracing::debug!(target = %name, id, "a message failed: {why}");
        }
        if is_given_up {
            tracing::error!(target = %name, id, "a message is dropped: the target refused it for a day: {why}");
        }
    }
}

/// Waits until this time, in milliseconds since 1970, or until it is time to look again.
async fn wait(now: u64, until: u64) {
    let left = Duration::from_millis(until.saturating_sub(now));
    tokio::time::sleep(left.min(LOOK_EVERY)).await;
}

#[cfg(test)]
mod tests;
