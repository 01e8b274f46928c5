//! Sends changes to a target, in requests of bounded size.

mod alike;

use super::channel::{Channel, NotSent, ReasonedAnswer};
use super::documents::Documents;
use super::local_index::LocalIndex;
use crate::texts::MissingText;
use alike::RefusedAlike;
use recrawl_delivery::protocol::CopyItem;
use recrawl_delivery::{BatchAnswers, CopyChange, Interrupted, ItemAnswer, PageDocument, SendChanges, id};
use recrawl_fetcher::{RequestRate, system_clock};
use recrawl_types::CanonicalUrl;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;

/// Interval at which a request that is on its way looks whether the program ends.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Reasons of refusals that are logged for one call.
const MAX_REASONS: u64 = 5;

/// Where documents go.
pub enum Destination<'s> {
    Outside(Channel),
    Index(Box<LocalIndex<'s>>),
}

impl Destination<'_> {
    async fn send(&self, version: u64, items: &[CopyItem]) -> Result<Vec<ReasonedAnswer>, NotSent> {
        match self {
            Destination::Outside(channel) => channel.send(version, items).await,
            Destination::Index(index) => {
                index.send(items)?;
                Ok(vec![(ItemAnswer::Taken, None); items.len()])
            }
        }
    }
}

/// Sends to one target.
pub struct DeliverySender<'s> {
    /// Its name.
    pub target: &'s str,
    pub batch_bytes: usize,
    pub rate: Option<Arc<RequestRate>>,
    pub destination: Destination<'s>,
    pub documents: Documents<'s>,
    pub runtime: &'s Runtime,
    pub is_ended: &'s dyn Fn() -> bool,
    /// Reasons of refusals so far.
    pub reasons: u64,
    /// A document that the target has, with its version.
    pub taken: Option<(CanonicalUrl, u64)>,
    pub alike: RefusedAlike,
}

/// The answers to changes of one call.
#[derive(Default)]
struct CallAnswers {
    answers: Vec<ItemAnswer>,
    digests: Vec<u64>,
    /// Why documents are refused, by their place.
    reasons: BTreeMap<usize, String>,
    /// The answers that the target gave, with why it refuses the document.
    verdicts: Vec<(usize, Option<String>)>,
}

impl SendChanges for DeliverySender<'_> {
    /// Sends changes, and gives the answers to those that were sent.
    fn send(&mut self, version: u64, changes: &[CopyChange]) -> BatchAnswers {
        if self.alike.is_open() {
            return self.sample(version, changes);
        }
        let mut answered = CallAnswers::default();
        let interrupted = self.send_all(version, changes, &mut answered).err();
        let may_ask = interrupted.is_none() && matches!(changes.first(), Some(CopyChange::Put(..)));
        let alike = self.judge(&mut answered, may_ask);
        self.note_taken(version, changes, &answered.answers);
        let CallAnswers { answers, digests, reasons, .. } = answered;
        BatchAnswers { answers, digests, reasons, interrupted: interrupted.or(alike) }
    }

    fn digest(&mut self, page: &CanonicalUrl) -> Option<u64> {
        Some(self.document(0, page).ok()?.digest())
    }

    fn holds(&mut self, page: &CanonicalUrl, version: u64) {
        // The newest one: its body is the likeliest to be archived still.
        if self.taken.as_ref().is_none_or(|(_, held)| *held < version) {
            self.taken = Some((page.clone(), version));
        }
    }

    fn waits(&mut self) -> Option<Interrupted> {
        self.alike.waits()
    }
}

impl DeliverySender<'_> {
    fn send_all(
        &mut self,
        version: u64,
        changes: &[CopyChange],
        answers: &mut CallAnswers,
    ) -> Result<(), Interrupted> {
        let (mut items, mut bytes) = (Vec::new(), 0);
        for change in changes {
            self.go_on()?;
            let item = self.item(version, change);
            answers.digests.push(match &item {
                Ok(CopyItem::Put(document)) => document.digest(),
                Ok(CopyItem::Delete(_)) | Err(_) => 0,
            });
            match item {
                Ok(item) => {
                    bytes += size(&item);
                    items.push(item);
                }
                Err(MissingText { none, why }) => {
                    let (CopyChange::Put(url, _) | CopyChange::Delete(url)) = change;
                    // Those before it are answered first.
                    self.send_items(version, &std::mem::take(&mut items), answers)?;
                    bytes = 0;
                    self.note(url, &why);
                    // What cannot be read now may be read later.
                    let is_passing = none == "unreadable";
                    answers.reasons.insert(answers.answers.len(), why);
                    answers.answers.push(if is_passing { ItemAnswer::Unread } else { ItemAnswer::Refused });
                }
            }
            if bytes >= self.batch_bytes {
                self.send_items(version, &std::mem::take(&mut items), answers)?;
                bytes = 0;
            }
        }
        self.send_items(version, &items, answers)
    }

    fn note_taken(&mut self, version: u64, changes: &[CopyChange], answers: &[ItemAnswer]) {
        let taken = changes.iter().zip(answers).rev().find_map(|(change, answer)| match (change, answer) {
            (CopyChange::Put(url, _), ItemAnswer::Taken) => Some((url.clone(), version)),
            _ => None,
        });
        self.taken = taken.or(self.taken.take());
    }

    fn go_on(&self) -> Result<(), Interrupted> {
        if (self.is_ended)() { Err("the program ends, or has another configuration".into()) } else { Ok(()) }
    }

    /// Sends items, in halves where the target asks for it.
    fn send_items(
        &mut self,
        version: u64,
        items: &[CopyItem],
        answers: &mut CallAnswers,
    ) -> Result<(), Interrupted> {
        if items.is_empty() {
            return Ok(());
        }
        match self.request(version, items) {
            Ok(found) => {
                for (item, (answer, why)) in items.iter().zip(found) {
                    if let Some(why) = &why {
                        self.note(&url_of(item), why);
                        answers.reasons.insert(answers.answers.len(), why.clone());
                    }
                    let refused = why.filter(|_| answer == ItemAnswer::Refused);
                    let refused =
                        refused.map(|why| why.replace(&id_of(item), "…").replace(&url_of(item), "…"));
                    answers.verdicts.push((answers.answers.len(), refused));
                    answers.answers.push(answer);
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

    /// Makes one request, unless the program ends.
    fn request(&self, version: u64, items: &[CopyItem]) -> Result<Vec<ReasonedAnswer>, NotSent> {
        self.go_on().map_err(NotSent::Interrupted)?;
        // Nobody waits for a slow target: what is on its way is sent again later.
        let given_up = |ended| Interrupted { given_up: Some(system_clock()()), ..ended };
        let ended = || async {
            loop {
                tokio::time::sleep(LOOK_EVERY).await;
                if let Err(ended) = self.go_on() {
                    break ended;
                }
            }
        };
        self.runtime.block_on(async {
            if let Some(rate) = &self.rate {
                tokio::select! {
                    () = rate.turn() => {}
                    ended = ended() => return Err(NotSent::Interrupted(ended)),
                }
            }
            tokio::select! {
                sent = self.destination.send(version, items) => sent,
                ended = ended() => Err(NotSent::Interrupted(given_up(ended))),
            }
        })
    }

    /// Logs why a document is not there, of a few.
    fn note(&mut self, page: &impl std::fmt::Display, why: &str) {
        self.reasons += 1;
        if self.reasons <= MAX_REASONS {
            tracing::warn!(target = %self.target, "{page}: not delivered: {why}");
        }
    }

    fn item(&mut self, version: u64, change: &CopyChange) -> Result<CopyItem, MissingText> {
        match change {
            CopyChange::Delete(url) => Ok(CopyItem::Delete(url.clone())),
            CopyChange::Put(url, _) => {
                self.document(version, url).map(|document| CopyItem::Put(Box::new(document)))
            }
        }
    }

    /// A page on which the extractor panics concerns no other.
    fn document(&mut self, version: u64, url: &CanonicalUrl) -> Result<PageDocument, MissingText> {
        let made = catch_unwind(AssertUnwindSafe(|| self.documents.make(version, url)));
        let why = "internal error while its document was made; please report it";
        made.unwrap_or_else(|_| Err(MissingText { none: "no_text", why: why.into() }))
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

fn id_of(item: &CopyItem) -> String {
    match item {
        CopyItem::Put(document) => document.id.clone(),
        CopyItem::Delete(url) => id(url),
    }
}

fn url_of(item: &CopyItem) -> String {
    match item {
        CopyItem::Put(document) => document.url.clone(),
        CopyItem::Delete(url) => url.to_string(),
    }
}
