//! A crawl that is a partition of a fleet: which links leave at a merge and which come in, and how a plan is made with others.

use crate::clock::RoundToPlan;
use crate::crawl::Crawl;
use crate::failure::Failure;
use crate::parts::traps::{LateTraps, Traps};
use crate::round::RoundKind;
use crate::settings::Settings;
use crate::stored::{keep, kept};
use recrawl_fleet::{ExchangeError, Partition, PlanExchange, RunMarks};
use recrawl_repository::SledTables;
use recrawl_repository::codec::LinkRef;
use recrawl_types::{CanonicalUrl, DatedRound, Round};
use recrawl_vault::VaultError;
use recrawl_verifier::{Batch, BatchError, BatchLimits, FoundLinks, OutgoingLinks, TrapSign, TrapSigns};
use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind};
use std::sync::Arc;

impl From<VaultError> for Failure {
    fn from(error: VaultError) -> Failure {
        Failure::Work(format!("fleet: {error}"))
    }
}

/// Refuses a configuration by which a partition would do other than its part of one crawl.
///
/// # Errors
/// [`Failure::Usage`] with the key.
pub fn check(settings: &Settings) -> Result<(), Failure> {
    let config = &settings.config;
    let key = match config {
        _ if settings.focus.is_some() => "focus.enabled",
        _ if settings.is_measured => "improve.mode",
        _ if !settings.promises.is_empty() => "promises",
        _ if settings.rounds.most() > 1 => "cycle.rounds",
        _ => return Ok(()),
    };
    Err(Failure::Usage(format!(
        "{key}: a crawl of a fleet cannot do this yet; remove it from the configuration"
    )))
}

/// The links of a round that leave the partition.
pub struct Leaving<'c> {
    partition: &'c Partition,
    links: OutgoingLinks,
    failed: Option<BatchError>,
}

impl<'c> Leaving<'c> {
    /// None of a crawl that is alone.
    pub fn begin(crawl: &'c Crawl, round: DatedRound, limits: BatchLimits) -> Option<Leaving<'c>> {
        let partition = crawl.partition.as_deref()?;
        Some(Leaving {
            partition,
            links: OutgoingLinks::new(crawl.storage.clone(), round, limits),
            failed: None,
        })
    }

    /// Takes a link that leaves; false for one that stays.
    pub fn take(&mut self, link: &LinkRef<'_>) -> bool {
        if self.partition.owns(link.key) {
            return false;
        }
        if let Err(error) = self.links.add(link) {
            self.failed.get_or_insert(error);
        }
        true
    }

    /// Sends them as the run of the round. From then on others may use them, whatever becomes of the round: so the log that
    /// they come from must be as durable.
    ///
    /// # Errors
    /// When they cannot be read, or the store does not take them.
    pub fn send(self, round: Round) -> Result<u64, Failure> {
        self.failed.map_or(Ok(()), Err).map_err(Failure::work)?;
        let mut links = self.links.finish().map_err(Failure::work)?;
        let mut next = |key: &mut Vec<u8>, value: &mut Vec<u8>| links.next(key, value).map_err(Failure::work);
        let sent = self.partition.send(round.0, 0, &mut next)?;
        links.remove().map_err(Failure::work)?;
        Ok(sent)
    }
}

/// Adds the links that other partitions found to the batch of a round. `dropped` is told of each that this partition's traps
/// leave out. Gives the marks that the commit must keep; none of a crawl that is alone.
///
/// # Errors
/// When a run cannot be read, or the batch cannot spill.
pub fn take_in(
    crawl: &Crawl,
    round: DatedRound,
    batch: &mut Batch,
    (traps, late): (&Traps, &mut LateTraps<'_>),
    dropped: &mut dyn FnMut(&[u8], bool),
) -> Result<Option<RunMarks>, Failure> {
    let Some(partition) = crawl.partition.as_deref() else { return Ok(None) };
    let marks = marks_before(&crawl.tables, round.round)?;
    // Links come in the order of their URLs: one look serves all of an origin.
    let mut signs: (Vec<u8>, Option<TrapSigns>) = Default::default();
    let mut each = |key: &[u8], value: &[u8]| -> Result<bool, Failure> {
        let Ok(found) = FoundLinks::read(value) else { return Ok(false) };
        let origin = CanonicalUrl::origin_of(key);
        if signs.0 != origin {
            signs = (origin.to_vec(), traps.signs_of(origin));
        }
        // The sender knows no traps of other partitions.
        let is_cut_off = signs.1.as_ref().is_some_and(|sign| sign(key) == TrapSign::CutOff);
        if is_cut_off || late.leave_out(key) {
            dropped(key, found.hops() == 0 && !found.is_only_listed());
            return Ok(true);
        }
        batch.add_found(key, found).map_err(Failure::work)?;
        crawl.live.moved();
        Ok(true)
    };
    let received = partition.receive(&marks, round.round.0, &mut each)?;
    for (sender, refused) in &received.refused {
        tracing::warn!(
            sender,
            links = refused.links,
            blocks = refused.blocks,
            "refused links of a partition: damaged"
        );
    }
    Ok(Some(received.marks))
}

/// Marks as of a round.
#[derive(Serialize, Deserialize)]
struct StoredMarks {
    round: Round,
    marks: RunMarks,
}

fn name(slot: u32) -> String {
    format!("fleet_marks_{slot}")
}

/// The marks that the rounds before this one left. A round that was not committed may have left some as well.
fn marks_before(tables: &SledTables, round: Round) -> Result<RunMarks, Failure> {
    Ok(newest_before(tables, round)?.map(|(_, stored)| stored.marks).unwrap_or_default())
}

fn newest_before(tables: &SledTables, round: Round) -> Result<Option<(u32, StoredMarks)>, Failure> {
    let mut newest: Option<(u32, StoredMarks)> = None;
    for slot in 0..2 {
        let Some(stored) = kept::<StoredMarks>(tables, &name(slot))?.filter(|stored| stored.round < round)
        else {
            continue;
        };
        if newest.as_ref().is_none_or(|(_, other)| other.round < stored.round) {
            newest = Some((slot, stored));
        }
    }
    Ok(newest)
}

/// Keeps the marks that a round leaves, in place of those that are not of the rounds before it. They count once the round is
/// committed: a crash before that merges it again, from the marks before.
///
/// # Errors
/// When the tables cannot be read or written.
pub fn keep_marks(tables: &SledTables, round: Round, marks: Option<RunMarks>) -> Result<(), Failure> {
    let Some(marks) = marks else { return Ok(()) };
    let slot = newest_before(tables, round)?.map_or(0, |(slot, _)| 1 - slot);
    keep(tables, &name(slot), &StoredMarks { round, marks })
}

/// A plan that is made with the other partitions.
pub struct SharedPlan<'c> {
    exchange: PlanExchange<'c>,
    /// Pages of partitions that come before.
    pub before: u64,
    /// Pages of all, with their new seeds.
    pub known: u64,
    /// New seeds of all.
    pub news: u64,
    /// Of these, those of partitions that come before, and the partition's own.
    news_before: u64,
    own_news: u64,
    is_alone: bool,
}

impl<'c> SharedPlan<'c> {
    /// Begins the plan of a cycle; none of a crawl or round that plans alone, or [`Planning::Alone`] if the others are not
    /// heard.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn begin(
        crawl: &'c Crawl,
        to_plan: &RoundToPlan,
        pages: u64,
        news: u64,
    ) -> Result<Planning<'c>, Failure> {
        let begins_cycle = to_plan.begins_cycle() && to_plan.kind == RoundKind::Revisit;
        let Some(partition) = crawl.partition.as_deref().filter(|_| begins_cycle) else {
            return Ok(Planning::Own);
        };
        let mut exchange = partition.exchange(to_plan.round.cycle.0);
        let told = match exchange.gather(&[pages.to_le_bytes(), news.to_le_bytes()].concat()) {
            Ok(told) => told,
            Err(ExchangeError::Alone(what)) => {
                tracing::warn!("this partition plans its last share alone: {what}");
                return Ok(Planning::Alone);
            }
            Err(ExchangeError::Store(error)) => return Err(error.into()),
        };
        let mut plan = SharedPlan {
            exchange,
            before: 0,
            known: 0,
            news: 0,
            news_before: 0,
            own_news: news,
            is_alone: false,
        };
        let own = plan.exchange.members().iter().position(|id| *id == partition.id()).unwrap_or_default();
        for (place, told) in told.iter().enumerate() {
            let numbers = told.as_chunks::<8>().0;
            let [pages, news] = numbers else {
                return Err(Failure::Work(format!(
                    "fleet: partition at place {place} tells no numbers of pages"
                )));
            };
            let [pages, news] = [pages, news].map(|number| u64::from_le_bytes(*number));
            plan.before += if place < own { pages } else { 0 };
            plan.news_before += if place < own { news } else { 0 };
            plan.known = plan.known.saturating_add(pages).saturating_add(news);
            plan.news = plan.news.saturating_add(news);
        }
        Ok(Planning::Shared(Box::new(plan)))
    }

    /// Of the first so many new seeds of all, those of this partition.
    pub fn own_seeds(&self, of_all: u64) -> u64 {
        of_all.saturating_sub(self.news_before).min(self.own_news)
    }

    /// An exchange of what planners tell each other.
    ///
    /// # Errors
    /// When others are not heard in time, or the store does not answer.
    pub fn gather(&mut self, told: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.exchange.gather(told).map_err(|error| {
            self.is_alone |= matches!(error, ExchangeError::Alone(_));
            io::Error::new(ErrorKind::TimedOut, error)
        })
    }
}

/// How a plan is made.
pub enum Planning<'c> {
    /// By a crawl that is alone, or a round that spends nothing of k.
    Own,
    /// With the others.
    Shared(Box<SharedPlan<'c>>),
    /// Without the others, who are not heard.
    Alone,
}

impl Planning<'_> {
    /// Did others fall silent while it was made?
    pub fn has_lost_others(&self) -> bool {
        matches!(self, Planning::Shared(plan) if plan.is_alone)
    }
}

impl Crawl {
    /// Makes the crawl a partition of a fleet.
    ///
    /// # Errors
    /// [`Failure::Usage`] if it is configured to do what a fleet cannot do yet.
    pub fn join(&mut self, partition: Partition) -> Result<(), Failure> {
        check(&self.settings)?;
        self.partition = Some(Arc::new(partition));
        Ok(())
    }

    /// Has this crawl the URL?
    pub fn owns(&self, url: &CanonicalUrl) -> bool {
        self.partition.as_deref().is_none_or(|partition| partition.owns(url.key()))
    }
}
