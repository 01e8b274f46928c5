//! Totals that a round hands on to the next one of its cycle: the sample that carried pages belong to, and the bytes that the
//! cycle has spent.

use super::CycleSample;
use super::facts::Facts;
use crate::failure::Failure;
use crate::stored::{keep, kept};
use recrawl_repository::SledTables;
use recrawl_types::{DatedRound, Origin, Round};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The sample and the bytes of a cycle up to a round. Empty unless pages are carried, k has parts to come, or
/// bytes are limited.
#[derive(Default, Serialize, Deserialize)]
pub struct CycleTotals {
    #[serde(default)]
    round: Round,
    /// The sample of the cycle, while later rounds add to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<CycleSample>,
    /// Bytes by origin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    spent: Vec<(Origin, u64)>,
}

/// Two names in turn: what a round leaves that is not committed does not replace what it began with.
fn name(round: Round) -> String {
    format!("cycle_totals_{}", round.0 % 2)
}

impl CycleTotals {
    /// Those of the rounds before this one, of its cycle.
    ///
    /// # Errors
    /// When the tables cannot be read.
    pub fn before(tables: &SledTables, facts: &Facts) -> Result<CycleTotals, Failure> {
        let round = facts.round().round;
        let is_first = facts.cycle_started.is_none();
        let Some(last) = round.0.checked_sub(1).map(Round).filter(|_| !is_first) else {
            return Ok(CycleTotals::default());
        };
        let left: Option<CycleTotals> = kept(tables, &name(last))?;
        Ok(left.filter(|left| left.round == last).unwrap_or_default())
    }

    /// Removes those of all rounds, which name hosts.
    ///
    /// # Errors
    /// When the tables cannot be written.
    pub fn forget(tables: &SledTables) -> Result<(), Failure> {
        [Round(0), Round(1)].into_iter().try_for_each(|round| match tables.setting(&name(round))? {
            Some(_) => keep(tables, &name(round), &CycleTotals::default()),
            None => Ok(()),
        })
    }

    /// Keeps what a round left of some origins for the round behind the next one: the next commit visits nothing. The sample
    /// is of pages that are gone, too.
    ///
    /// # Errors
    /// When the tables cannot be read or written.
    pub fn hand_on(
        tables: &SledTables,
        last: Round,
        is_kept: &dyn Fn(&Origin) -> bool,
    ) -> Result<(), Failure> {
        let left: Option<CycleTotals> = kept(tables, &name(last))?;
        let Some(CycleTotals { mut spent, .. }) = left.filter(|left| left.round == last) else {
            return Ok(());
        };
        spent.retain(|(origin, _)| is_kept(origin));
        keep(tables, &name(last.next()), &CycleTotals { round: last.next(), sample: None, spent })
    }

    /// Keeps what the last rounds of several crawls left, which are put together, for the round behind this one: as
    /// [`CycleTotals::hand_on`].
    ///
    /// # Errors
    /// When the tables cannot be read or written.
    pub fn hand_on_joined<'t>(
        parts: impl Iterator<Item = (&'t SledTables, &'t DatedRound)>,
        into: &SledTables,
        round: DatedRound,
    ) -> Result<(), Failure> {
        let mut spent = Vec::new();
        for (tables, last) in parts.filter(|(_, last)| last.cycle == round.cycle) {
            let left: Option<CycleTotals> = kept(tables, &name(last.round))?;
            spent
                .extend(left.filter(|left| left.round == last.round).into_iter().flat_map(|left| left.spent));
        }
        keep(into, &name(round.round), &CycleTotals { round: round.round, sample: None, spent })
    }

    /// Bytes by origin, with those of this round.
    pub fn spent(&self, of_round: &BTreeMap<Origin, u64>) -> BTreeMap<Origin, u64> {
        let mut spent = of_round.clone();
        for (origin, bytes) in &self.spent {
            let sum = spent.entry(origin.clone()).or_default();
            *sum = sum.saturating_add(*bytes);
        }
        spent
    }

    /// Keeps what this round leaves to the next ones of its cycle, if it may go on. Durable with the next flush of the tables.
    ///
    /// # Errors
    /// When the tables cannot be written.
    pub fn leave(
        tables: &SledTables,
        goes_on: bool,
        round: Round,
        sample: Option<CycleSample>,
        spent: BTreeMap<Origin, u64>,
    ) -> Result<(), Failure> {
        if !goes_on {
            return Ok(());
        }
        let spent = spent.into_iter().collect();
        keep(tables, &name(round), &CycleTotals { round, sample, spent })
    }
}
