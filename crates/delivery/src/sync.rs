//! Brings the copy of a target up to date.

use crate::document::name_of;
use recrawl_repository::storage::Storage;
use recrawl_repository::{
    CopyHead, CopyReader, CopyWriter, Damage, DocumentState, Held, ReadError, WriteError, copies, copy_file,
};
use recrawl_types::{CanonicalUrl, Span};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::time::Duration;

/// Pages that wait at most for the answer to a change among them: the file is written in their order.
const MAX_WAITING: usize = 10_000;

/// Characters of a reason that are kept.
const MAX_REASON: usize = 300;

/// A change of the copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyChange {
    /// The page's document is to be there, in this state.
    Put(CanonicalUrl, DocumentState),
    /// It is to go.
    Delete(CanonicalUrl),
}

/// The outcome of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemAnswer {
    /// It was made.
    Taken,
    /// The target refuses this document. It is sent again when its state is another.
    Refused,
    /// Nobody knows: the change is sent again next time.
    Unknown,
    /// The document cannot be made now, so nothing was sent: it is tried again next time. That stops no other.
    Unread,
    /// Perhaps for a fault of its own, the target did not take it: it is sent again next time. That stops no other.
    Later,
}

/// The target takes nothing at present.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interrupted {
    /// The reason.
    pub why: String,
    /// Time that the target asks for.
    pub retry_after: Option<Duration>,
    /// When a request was given up whose outcome nobody knows, in milliseconds since 1970.
    pub given_up: Option<u64>,
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)?;
        self.retry_after.map_or(Ok(()), |wait| write!(f, "; it asks for {}", Span(wait)))
    }
}

impl<S: Into<String>> From<S> for Interrupted {
    fn from(why: S) -> Interrupted {
        Interrupted { why: why.into(), ..Interrupted::default() }
    }
}

/// The answers to changes, in their order. After an interruption, the last ones have none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchAnswers {
    /// The answers.
    pub answers: Vec<ItemAnswer>,
    /// The digests of the documents that were made, in the same order; 0 of none.
    pub digests: Vec<u64>,
    /// Why the target refuses documents, by the place of the change.
    pub reasons: BTreeMap<usize, String>,
    /// Nothing more is to be sent at present.
    pub interrupted: Option<Interrupted>,
}

/// The reason why a copy is not up to date.
#[derive(Debug, thiserror::Error)]
pub enum SyncError<E> {
    /// The pages cannot be read.
    #[error("{0}")]
    Pages(E),
    /// The file of what the target holds cannot be read.
    #[error("{}", unread(.0))]
    Read(#[from] ReadError),
    /// It cannot be stored.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The target took only a part.
    #[error("{0}")]
    Interrupted(Interrupted),
}

/// Only damage is a reason to send all again: a disk that cannot be read now may have the file whole.
fn unread(error: &ReadError) -> String {
    match error {
        ReadError::Damaged(damage) => format!("{damage}; `recrawl deliver rebuild` sends all again"),
        other => other.to_string(),
    }
}

/// The reason why a copy is not in doubt.
#[derive(Debug, thiserror::Error)]
pub enum DoubtError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It cannot be stored.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The data directory cannot be listed.
    #[error("cannot list the data directory: {0}")]
    List(std::io::Error),
    /// A damaged one cannot be removed.
    #[error("cannot remove a damaged file of what a target holds: {0}")]
    Remove(std::io::Error),
}

/// Changes that a target took or refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentChanges {
    /// Documents that it took.
    pub puts: u64,
    /// Documents that it removed.
    pub deletes: u64,
    /// Documents that it refused.
    pub refused: u64,
    /// Documents that could not be made now: they are tried again.
    pub unread: u64,
}

/// Changes that nothing was sent of yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct WaitingChanges {
    /// New or changed documents. One whose body alone is another may be as it was, and does not count.
    pub puts: u64,
    /// Documents that the target is to delete.
    pub deletes: u64,
}

/// Documents that an operator gave up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct SkippedChanges {
    /// Those that the target had refused.
    pub refused: u64,
    /// Those that waited for it.
    pub waiting: u64,
    /// Documents that it is to delete still.
    pub deletes: u64,
}

/// Pages that a target should hold, in the order of URLs, each with what its document is made of.
pub trait WantedPages<E>: Iterator<Item = Result<(CanonicalUrl, DocumentState), E>> {}

impl<E, I: Iterator<Item = Result<(CanonicalUrl, DocumentState), E>>> WantedPages<E> for I {}

/// Makes documents and sends them.
pub trait SendChanges {
    /// Sends changes with a version, and gives an answer to each.
    fn send(&mut self, version: u64, changes: &[CopyChange]) -> BatchAnswers;

    /// The digest of the document that a page has now; none if it cannot be made.
    fn digest(&mut self, page: &CanonicalUrl) -> Option<u64>;

    /// Hears that the target holds the document of a page as it should, with a version.
    fn holds(&mut self, _page: &CanonicalUrl, _version: u64) {}

    /// At the end: why documents wait that were answered by [`ItemAnswer::Later`].
    fn waits(&mut self) -> Option<Interrupted> {
        None
    }
}

/// Where it does not matter that a document is the same.
#[cfg(test)]
impl<F: FnMut(u64, &[CopyChange]) -> BatchAnswers> SendChanges for F {
    fn send(&mut self, version: u64, changes: &[CopyChange]) -> BatchAnswers {
        self(version, changes)
    }

    fn digest(&mut self, _page: &CanonicalUrl) -> Option<u64> {
        None
    }
}

/// The copy of one target.
pub struct TargetCopy<'s> {
    /// The data directory.
    pub storage: &'s dyn Storage,
    /// The target's address: a target that moves gets all.
    pub target: &'s str,
    /// Changes that are sent at once at most.
    pub batch: usize,
    /// Time for which a request that was given up may still be taken; 0 if versions keep it from doing harm.
    pub lateness: Duration,
}

/// A page that the target should hold or may hold.
struct ComparedPage {
    url: CanonicalUrl,
    held: Option<Held>,
    wanted: Option<DocumentState>,
    /// False behind the place where the pages could not be read: what is held there stays as it is.
    is_compared: bool,
}

impl ComparedPage {
    /// The state to put; none as long as a takedown is to be confirmed first.
    fn put(&self) -> Option<DocumentState> {
        self.wanted.filter(|_| self.held != Some(Held::TakenDown))
    }

    /// The change that makes the copy right, if any.
    fn change(&self) -> Option<CopyChange> {
        match (&self.held, self.put()) {
            _ if !self.is_compared => None,
            (Some(held), Some(wanted)) if held.settled().is_some_and(|(state, _)| state == wanted) => None,
            (_, Some(wanted)) => Some(CopyChange::Put(self.url.clone(), wanted)),
            (Some(_), None) => Some(CopyChange::Delete(self.url.clone())),
            (None, None) => None,
        }
    }

    /// Many a body is another at each visit, in numbers that no document has: then the target holds what it should.
    fn renew(&mut self, send: &mut dyn SendChanges) {
        let Some((wanted, digest)) = self.recaptured() else { return };
        if digest != 0 && send.digest(&self.url) == Some(digest) {
            self.held = self.held.take().map(|held| held.recaptured(wanted.capture));
        }
    }

    /// The state to be and the digest that was, if nothing but the body is another.
    fn recaptured(&self) -> Option<(DocumentState, u64)> {
        let ((state, digest), wanted) = self.held.as_ref()?.settled().zip(self.wanted)?;
        let is_recaptured = state.page == wanted.page && state.capture != wanted.capture;
        is_recaptured.then_some((wanted, digest))
    }

    /// The page where nobody knows what the target has of it.
    fn doubted(&self) -> Held {
        self.held.as_ref().map_or(Held::Unsure, Held::doubted)
    }
}

/// One pass over all pages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SyncPass {
    /// Notes which documents are about to change, and sends nothing.
    Note,
    Deletes,
    Puts,
}

impl SyncPass {
    fn sends(self, change: &CopyChange) -> bool {
        match self {
            SyncPass::Note => false,
            SyncPass::Deletes => matches!(change, CopyChange::Delete(_)),
            SyncPass::Puts => matches!(change, CopyChange::Put(..)),
        }
    }
}

impl TargetCopy<'_> {
    /// Sends what differs: first deletes, then puts. `now`, in milliseconds since 1970, is the version, and raised where the
    /// last one was as high.
    ///
    /// The order of writes: before a change is sent, the file says that nobody knows what the target has of the page. A
    /// kill behind that leaves a page that is sent or deleted again, whatever it has become meanwhile. So there is never a
    /// document that nobody knows of, nor one that is taken for what it is not.
    ///
    /// # Errors
    /// When the target is interrupted, or a file cannot be read or written. What was taken is stored, and the next call
    /// goes on behind it.
    pub fn sync<E, P: WantedPages<E>>(
        &self,
        now: u64,
        pages: &dyn Fn() -> P,
        send: &mut dyn SendChanges,
    ) -> Result<SentChanges, SyncError<E>> {
        let mut sent = SentChanges::default();
        let head = self.head()?;
        let version = now.max(head.version.saturating_add(1));
        let (mut has_deletes, mut has_puts) = (false, false);
        let mut join = Join::new(self, pages())?;
        while let Some(page) = join.next()? {
            if let Some(change) = page.change() {
                has_deletes |= matches!(change, CopyChange::Delete(_));
                has_puts |= page.wanted.is_some();
            }
            if has_deletes && has_puts {
                break;
            }
        }
        join.failed.map_or(Ok(()), |failed| Err(SyncError::Pages(failed)))?;
        if !has_deletes && !has_puts {
            return Ok(sent);
        }
        self.rest(head, now)?;
        let mut pass = |pass| self.pass(pass, version, pages(), send, &mut sent);
        has_puts = pass(SyncPass::Note)?;
        if has_deletes {
            pass(SyncPass::Deletes)?;
        }
        if has_puts {
            pass(SyncPass::Puts)?;
        }
        if !self.lateness.is_zero() {
            self.write_head(&CopyHead { given_up: 0, ..self.head()? }, &|_, held| held)?;
        }
        send.waits().map_or(Ok(sent), |waits| Err(SyncError::Interrupted(waits)))
    }

    /// Compares the copy with pages, and sends nothing. What was sent and is not confirmed does not count.
    ///
    /// # Errors
    /// When the pages or the copy cannot be read.
    pub fn waiting<E>(&self, pages: impl WantedPages<E>) -> Result<WaitingChanges, SyncError<E>> {
        let (mut waiting, mut join) = (WaitingChanges::default(), Join::new(self, pages)?);
        while let Some(page) = join.next()? {
            match page.change() {
                Some(CopyChange::Delete(_)) => waiting.deletes += u64::from(page.held != Some(Held::Unsure)),
                Some(CopyChange::Put(..)) => {
                    waiting.puts += u64::from(page.held != Some(Held::Unsure) && page.recaptured().is_none());
                }
                None => {}
            }
        }
        join.failed.map_or(Ok(waiting), |failed| Err(SyncError::Pages(failed)))
    }

    /// Gives up what cannot be delivered, of all pages or of one: documents that the target refused, and those that wait for
    /// it. Each is sent again when its page has another body. Deletes stay due, above all those of pages that were taken
    /// down: such a page is put only behind its delete, so its put is not given up yet.
    ///
    /// The order of writes: nothing is sent, and the file is replaced whole. A kill before that leaves all as it was.
    ///
    /// # Errors
    /// When the pages or the copy cannot be read, or the copy not be written.
    pub fn skip<E>(
        &self,
        pages: impl WantedPages<E>,
        only: Option<&CanonicalUrl>,
    ) -> Result<SkippedChanges, SyncError<E>> {
        let (mut skipped, mut join) = (SkippedChanges::default(), Join::new(self, pages)?);
        let mut file = CopyWriter::create(self.storage, &name_of(self.target), &self.head()?)?;
        while let Some(page) = join.next()? {
            let change = page.change();
            skipped.deletes += u64::from(matches!(change, Some(CopyChange::Delete(_))));
            let given_up = page.put().filter(|_| only.is_none_or(|only| *only == page.url));
            let held = match (page.held, given_up) {
                (Some(Held::Refused { state, digest, .. }), Some(put)) if state == put => {
                    skipped.refused += 1;
                    Some(Held::Skipped { state, digest })
                }
                (_, Some(state)) if change.is_some() => {
                    skipped.waiting += 1;
                    Some(Held::Skipped { state, digest: 0 })
                }
                (held, _) => held,
            };
            held.map_or(Ok(()), |held| file.push(&page.url, &held))?;
        }
        join.failed.map_or(Ok(()), |failed| Err(SyncError::Pages(failed)))?;
        file.finish(self.storage)?;
        Ok(skipped)
    }

    /// Refuses to send while a request that was given up may still be taken: behind ours it would undo them.
    fn rest<E>(&self, head: CopyHead, now: u64) -> Result<(), SyncError<E>> {
        if self.lateness.is_zero() || head.given_up == 0 {
            return Ok(());
        }
        // After a kill nobody knows when it was sent; nor does a clock that was put back.
        let given_up = head.given_up.min(now);
        if given_up != head.given_up {
            self.write_head(&CopyHead { given_up, ..head }, &|_, held| held)?;
        }
        let left = self.lateness.saturating_sub(Duration::from_millis(now - given_up));
        if left.is_zero() {
            return Ok(());
        }
        let why = "a request without an answer may still be taken, so nothing is sent now".into();
        Err(SyncError::Interrupted(Interrupted { why, retry_after: Some(left), given_up: None }))
    }

    fn open(&self) -> Result<Option<CopyReader>, ReadError> {
        CopyReader::open(self.storage, &name_of(self.target))
    }

    /// The first frame of the copy; that of a new one, if there is none.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn head(&self) -> Result<CopyHead, ReadError> {
        let of_new = || CopyHead { target: self.target.to_owned(), ..CopyHead::default() };
        Ok(self.open()?.map_or_else(of_new, |copy| copy.head().clone()))
    }

    /// Patterns of pages whose earlier lines are to leave a file; none if nothing is known of it.
    ///
    /// # Errors
    /// When the copy cannot be read.
    pub fn purge(&self) -> Result<Option<Vec<String>>, ReadError> {
        Ok(self.open()?.map(|copy| copy.head().purge.clone()))
    }

    /// Notes that the target has no line of these pages any more.
    ///
    /// # Errors
    /// When the copy cannot be read or written.
    pub fn purged<E>(&self, is_removed: &dyn Fn(&CanonicalUrl) -> bool) -> Result<(), SyncError<E>> {
        let held = |url: &CanonicalUrl, held: Held| if is_removed(url) { held.doubted() } else { held };
        self.write_head(&CopyHead { purge: Vec::new(), ..self.head()? }, &held)
    }

    /// Writes another first frame, and the pages as `then` leaves them.
    fn write_head<E>(
        &self,
        head: &CopyHead,
        then: &dyn Fn(&CanonicalUrl, Held) -> Held,
    ) -> Result<(), SyncError<E>> {
        let mut file = CopyWriter::create(self.storage, &name_of(self.target), head)?;
        if let Some(mut copy) = self.open()? {
            while let Some((url, held)) = copy.next_page()? {
                let held = then(&url, held);
                file.push(&url, &held)?;
            }
        }
        Ok(file.finish(self.storage)?)
    }

    /// Sends the changes of a pass, and stores what the target holds then. Says whether there were documents to put.
    fn pass<E>(
        &self,
        pass: SyncPass,
        version: u64,
        pages: impl WantedPages<E>,
        send: &mut dyn SendChanges,
        sent: &mut SentChanges,
    ) -> Result<bool, SyncError<E>> {
        let mut join = Join::new(self, pages)?;
        let given_up = if self.lateness.is_zero() { 0 } else { CopyHead::SENDING };
        let mut head = CopyHead { version, given_up, ..self.head()? };
        let mut has_puts = false;
        let mut file = CopyWriter::create(self.storage, &name_of(self.target), &head)?;
        let mut waiting = UnansweredPages { pages: Vec::new(), changes: Vec::new() };
        let mut interrupted: Option<Interrupted> = None;
        while let Some(mut page) = join.next()? {
            if pass == SyncPass::Note {
                page.renew(send);
            }
            let change = page.change();
            if let (SyncPass::Note, None, Some(Held::Taken { version, .. }), Some(_)) =
                (pass, &change, &page.held, page.wanted)
            {
                send.holds(&page.url, *version);
            }
            has_puts |= change.is_some() && page.wanted.is_some();
            let change = change.filter(|change| interrupted.is_none() && pass.sends(change));
            waiting.changes.extend(change.clone());
            waiting.pages.push((page, change.is_some()));
            if waiting.changes.len() >= self.batch || waiting.pages.len() >= MAX_WAITING {
                interrupted = interrupted.or(waiting.settle(version, send, &mut file, sent)?);
            }
        }
        interrupted = interrupted.or(waiting.settle(version, send, &mut file, sent)?);
        // Also where the pages could not be read to their end: the answers count that came before.
        file.finish(self.storage)?;
        if (interrupted.is_some() || join.failed.is_some()) && given_up != 0 {
            head.given_up = interrupted.as_ref().and_then(|interrupted| interrupted.given_up).unwrap_or(0);
            self.write_head(&head, &|_, held| held)?;
        }
        match (join.failed, interrupted) {
            (Some(failed), _) => Err(SyncError::Pages(failed)),
            (None, Some(interrupted)) => Err(SyncError::Interrupted(interrupted)),
            (None, None) => Ok(has_puts),
        }
    }
}

/// Notes a takedown in each copy, so that it counts whatever becomes of the pages before the next delivery: the target
/// deletes them first, and their lines are to leave a file (`is_file` of the target's address). A damaged copy is
/// left as it is: its file begins anew.
///
/// # Errors
/// When a copy cannot be read or written.
pub fn note_takedown(
    storage: &dyn Storage,
    pattern: &str,
    is_meant: &dyn Fn(&CanonicalUrl) -> bool,
    is_file: &dyn Fn(&str) -> bool,
) -> Result<(), DoubtError> {
    for name in copies(storage).map_err(DoubtError::List)? {
        let head = match CopyReader::open(storage, &name) {
            Ok(Some(copy)) => copy.head().clone(),
            Ok(None) | Err(ReadError::Damaged(_)) => continue,
            Err(e) => return Err(e.into()),
        };
        let copy = TargetCopy { storage, target: &head.target, batch: 1, lateness: Duration::ZERO };
        let mut next = head.clone();
        if is_file(&head.target) && !head.purge.iter().any(|noted| noted == pattern) {
            next.purge.push(pattern.to_owned());
        }
        let held = |url: &CanonicalUrl, held| if is_meant(url) { Held::TakenDown } else { held };
        match copy.write_head::<Infallible>(&next, &held) {
            Ok(()) | Err(SyncError::Read(ReadError::Damaged(_))) => {}
            Err(SyncError::Read(e)) => return Err(e.into()),
            Err(SyncError::Write(e)) => return Err(e.into()),
            Err(SyncError::Interrupted(_) | SyncError::Pages(_)) => unreachable!("nothing is sent"),
        }
    }
    Ok(())
}

/// Notes that the documents of a copy may be in any state, so that the next call of [`TargetCopy::sync`] sends them again.
/// Gives the damage of a file that has any: some pages are lost, so their documents stay at the target unless they are sent
/// again. A copy whose first frame is damaged is that of `target`, if it is known.
///
/// # Errors
/// When the file cannot be read or written.
pub fn doubt(storage: &dyn Storage, name: &str, target: Option<&str>) -> Result<Option<Damage>, DoubtError> {
    let lost = CopyHead { target: target.unwrap_or_default().to_owned(), ..CopyHead::default() };
    let damaged = match CopyReader::salvage(storage, name, &lost) {
        Ok(None) => return Ok(None),
        Ok(Some(copy)) if copy.head().target.is_empty() => copy.damage().cloned(),
        Ok(Some(mut copy)) => {
            let mut doubted = CopyWriter::create(storage, name, copy.head())?;
            while let Some((url, held)) = copy.next_page()? {
                doubted.push(&url, &held.doubted())?;
            }
            doubted.finish(storage)?;
            return Ok(copy.damage().cloned());
        }
        Err(ReadError::Damaged(damage)) => Some(damage),
        Err(e) => return Err(e.into()),
    };
    // Without a copy, the target gets all.
    storage.remove(&copy_file(name)).and_then(|()| storage.sync_dir()).map_err(DoubtError::Remove)?;
    Ok(damaged)
}

/// Pages that are not written yet, as an answer is missing; those with a change have `true`.
struct UnansweredPages {
    pages: Vec<(ComparedPage, bool)>,
    changes: Vec<CopyChange>,
}

impl UnansweredPages {
    /// Sends the changes, and writes the pages as the answers leave them.
    fn settle(
        &mut self,
        version: u64,
        send: &mut dyn SendChanges,
        file: &mut CopyWriter,
        sent: &mut SentChanges,
    ) -> Result<Option<Interrupted>, WriteError> {
        let is_none = self.changes.is_empty();
        let BatchAnswers { answers, digests, mut reasons, interrupted } =
            if is_none { BatchAnswers::default() } else { send.send(version, &self.changes) };
        let (sent_now, mut confirmed) = (self.changes.len(), 0);
        self.changes.clear();
        let (mut answers, mut digests) = (answers.into_iter().enumerate(), digests.into_iter());
        for (page, is_sent) in self.pages.drain(..) {
            let answer = is_sent.then(|| answers.next().unwrap_or((usize::MAX, ItemAnswer::Unknown)));
            let (at, answer) = answer.unzip();
            let digest = if is_sent { digests.next().unwrap_or(0) } else { 0 };
            confirmed += usize::from(answer.as_ref().is_some_and(|answer| *answer != ItemAnswer::Unknown));
            let held = match (answer, page.put()) {
                (Some(ItemAnswer::Taken), Some(wanted)) => {
                    sent.puts += 1;
                    Some(Held::Taken { state: wanted, digest, version })
                }
                (Some(ItemAnswer::Taken), None) => {
                    sent.deletes += 1;
                    None
                }
                (Some(ItemAnswer::Refused), Some(wanted)) => {
                    sent.refused += 1;
                    let why = at.and_then(|at| reasons.remove(&at)).unwrap_or_default();
                    let why = why.chars().take(MAX_REASON).collect();
                    // The version is the time, unless the clock was put back.
                    Some(Held::Refused { state: wanted, digest, since: version, why })
                }
                (Some(ItemAnswer::Unread), _) => {
                    sent.unread += 1;
                    Some(page.doubted())
                }
                // A delete that was refused or got lost is sent again, and so is a put that got lost.
                (Some(_), _) => Some(page.doubted()),
                // It is not sent yet.
                (None, _) if page.change().is_some() => Some(page.doubted()),
                (None, _) => page.held,
            };
            if let Some(held) = held {
                file.push(&page.url, &held)?;
            }
        }
        // A target that is busy gets a pause, not the next changes.
        let unsure = sent_now - confirmed;
        let busy = || format!("{unsure} of {sent_now} changes were not confirmed").into();
        Ok(interrupted.or_else(|| (unsure > 0).then(busy)))
    }
}

/// Both sides of a comparison, in the order of URLs.
struct Join<P, E> {
    copy: Option<CopyReader>,
    held: Option<(CanonicalUrl, Held)>,
    pages: P,
    wanted: Option<(CanonicalUrl, DocumentState)>,
    /// The pages cannot be read any further.
    failed: Option<E>,
}

impl<E, P: WantedPages<E>> Join<P, E> {
    fn new(copy: &TargetCopy<'_>, pages: P) -> Result<Join<P, E>, ReadError> {
        let copy = copy.open()?;
        let mut join = Join { copy, held: None, pages, wanted: None, failed: None };
        join.read_held()?;
        join.read_wanted();
        Ok(join)
    }

    fn read_held(&mut self) -> Result<(), ReadError> {
        self.held = match &mut self.copy {
            Some(copy) => copy.next_page()?,
            None => None,
        };
        Ok(())
    }

    fn read_wanted(&mut self) {
        match self.pages.next() {
            Some(Err(failed)) => self.failed = Some(failed),
            Some(Ok(page)) => self.wanted = Some(page),
            None => {}
        }
    }

    fn next(&mut self) -> Result<Option<ComparedPage>, ReadError> {
        let order = match (&self.held, &self.wanted) {
            (None, None) => return Ok(None),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((held, _)), Some((wanted, _))) => held.cmp(wanted),
        };
        let held = if order.is_le() { self.held.take() } else { None };
        let wanted = if order.is_ge() { self.wanted.take() } else { None };
        let is_compared = wanted.is_some() || self.failed.is_none();
        if order.is_le() {
            self.read_held()?;
        }
        if order.is_ge() {
            self.read_wanted();
        }
        let (held, of_held) = held.map(|(url, held)| (held, url)).unzip();
        let (wanted, of_wanted) = wanted.map(|(url, state)| (state, url)).unzip();
        let url = of_held.or(of_wanted).expect("one of both has it");
        Ok(Some(ComparedPage { url, held, wanted, is_compared }))
    }
}

#[cfg(test)]
mod tests;
