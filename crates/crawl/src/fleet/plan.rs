//! One plan of a cycle, made by all partitions together.

use crate::clock::RoundToPlan;
use crate::crawl::Crawl;
use crate::failure::Failure;
use crate::fleet::range;
use crate::round::RoundKind;
use recrawl_fleet::{ExchangeError, MemberFigures, PlanExchange, PlanMembers};
use recrawl_formula::Formula;
use recrawl_scheduler::PlanError;
use std::io::{self, ErrorKind};
use xxhash_rust::xxh3::xxh3_64;

/// A plan that is made with the other partitions.
pub struct SharedPlan<'c> {
    exchange: PlanExchange<'c>,
    /// Pages of partitions that come before.
    pub before: u64,
    /// Pages of all, with their new seeds, also of those that are not heard.
    pub known: u64,
    /// New seeds of all.
    pub news: u64,
    /// Of these, those of partitions that come before, and the partition's own.
    news_before: u64,
    own_news: u64,
    /// Of the budget, what is left to those that are not heard.
    pub reserved: u64,
    /// Why the others are lost.
    lost: Option<String>,
}

impl<'c> SharedPlan<'c> {
    /// Begins the plan of a cycle; [`Planning::Own`] of a crawl or round that plans by itself, or [`Planning::Alone`] if the
    /// others are not heard.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn begin(
        crawl: &'c Crawl,
        to_plan: &RoundToPlan,
        (pages, news): (u64, u64),
        formula: &Formula,
    ) -> Result<Planning<'c>, Failure> {
        let begins_cycle = to_plan.begins_cycle() && to_plan.kind == RoundKind::Revisit;
        let Some(partition) = crawl.partition.as_deref().filter(|_| begins_cycle) else {
            return Ok(Planning::Own);
        };
        let mut exchange = partition.exchange(to_plan.round.cycle.0);
        let spent = range::part_of(&crawl.tables, crawl.so_far.cycle, crawl.so_far.of_k)?;
        // Those that do not know of a division yet would plan its pages as another's.
        let rules = rules_in_common(crawl, formula, partition.map().number());
        let own = MemberFigures { pages, news, spent, rules };
        let PlanMembers { present, absent } = match exchange.meet(own) {
            Ok(members) => members,
            Err(ExchangeError::Alone(why)) => return alone(crawl, &exchange, &why),
            Err(ExchangeError::Store(error)) => return Err(error.into()),
        };
        let sum = |of: &dyn Fn(&MemberFigures) -> u64, members: &[(u32, MemberFigures)]| {
            members.iter().fold(0u64, |sum, (_, figures)| sum.saturating_add(of(figures)))
        };
        let place = present.iter().position(|(id, _)| *id == partition.id()).unwrap_or_default();
        let news_of_all = sum(&|one| one.news, &present);
        Ok(Planning::Shared(Box::new(SharedPlan {
            exchange,
            before: sum(&|one| one.pages, &present[..place]),
            known: sum(&|one| one.pages, &present).saturating_add(news_of_all).saturating_add(absent.pages),
            news: news_of_all,
            news_before: sum(&|one| one.news, &present[..place]),
            own_news: news,
            reserved: absent.spent,
            lost: None,
        })))
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
        self.exchange.gather(told).map_err(|error| match error {
            ExchangeError::Alone(why) => io::Error::new(ErrorKind::TimedOut, why),
            ExchangeError::Store(error) => io::Error::other(error),
        })
    }

    /// Notes whether others are to blame that the planner failed: they fell silent, or told what cannot be.
    pub fn failed(&mut self, error: PlanError) -> PlanError {
        if let PlanError::Spill(error) = &error {
            let is_of_others = matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::InvalidData);
            self.lost = is_of_others.then(|| error.to_string());
        }
        error
    }
}

/// A digest of what all plans of a cycle must have in common.
fn rules_in_common(crawl: &Crawl, formula: &Formula, map: u64) -> u64 {
    let config = &crawl.settings.config;
    let parts = (&config.cycle, &config.schedule, crawl.random_seed, formula.to_toml().ok());
    let text = serde_json::to_string(&(env!("CARGO_PKG_VERSION"), map, parts)).unwrap_or_default();
    xxh3_64(text.as_bytes())
}

/// How a plan is made.
pub enum Planning<'c> {
    /// By a crawl that is alone, or a round that spends nothing of k.
    Own,
    /// With the others.
    Shared(Box<SharedPlan<'c>>),
    /// Without the others, who are not heard: within this part of k, which they leave.
    Alone(u64),
}

/// The plan of a partition that has no part in that of the others.
fn alone(crawl: &Crawl, exchange: &PlanExchange<'_>, why: &str) -> Result<Planning<'static>, Failure> {
    if crawl.shutdown.requested() {
        // The next start makes it with the others.
        return Err(Failure::Work("stopped while the fleet made its plan".into()));
    }
    let most = exchange.left_to_own()?;
    tracing::warn!(pages = most, "this partition plans alone what it spent last: {why}");
    Ok(Planning::Alone(most))
}

impl Planning<'_> {
    /// The plan after one that failed, if the others are to blame: they fell silent, or tell what cannot be.
    ///
    /// # Errors
    /// The failure, if they are not; or when the store does not answer.
    pub fn without_others(&self, crawl: &Crawl, failure: Failure) -> Result<Planning<'static>, Failure> {
        match self {
            Planning::Shared(plan) => match &plan.lost {
                Some(why) => alone(crawl, &plan.exchange, why),
                None => Err(failure),
            },
            Planning::Own | Planning::Alone(_) => Err(failure),
        }
    }
}
