//! Decisions made when a round was planned.

use crate::failure::Failure;
use crate::parts::focus::report::FocusFacts;
use crate::parts::improve::arms::ArmsFacts;
use crate::parts::improve::population::ScorePopulation;
use crate::parts::promises::account::PromiseAccount;
use crate::report::Bursts;
use crate::round::RoundKind;
use crate::stored::{keep, kept};
use recrawl_fetcher::KeptTypes;
use recrawl_repository::SledTables;
use recrawl_scheduler::Overlap;
use recrawl_types::{Cycle, DatedRound, Round};
use serde::{Deserialize, Serialize};

/// The name under which they are kept.
const FACTS: &str = "plan";

/// Decisions made when a round was planned; stored, so that a resumed round reports the same.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Facts {
    /// Its cycle.
    pub cycle: Cycle,
    /// Its number; none if it is that of the cycle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) round: Option<Round>,
    /// Its purpose.
    #[serde(default)]
    pub kind: RoundKind,
    /// Start time of the cycle, in milliseconds since 1970; none if the cycle starts with this round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycle_started: Option<u64>,
    /// Start time, in milliseconds since 1970.
    pub started: u64,
    /// Name of the formula, or of the policy that needs none.
    pub formula: String,
    /// Text of the formula; none for another policy, in cycles planned by an older version, and if nothing is ranked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub formula_toml: Option<String>,
    /// The lowest score that was selected; none without a score share.
    pub cutoff: Option<f64>,
    /// All pages, as the plan saw them; none unless it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub population: Option<ScorePopulation>,
    /// Accounts of promises when the cycle began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub promises: Vec<PromiseAccount>,
    /// Facts that the plan of a focused crawl knew; none of another, and of urgent rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub focus: Option<FocusFacts>,
    /// The arms of the sites, if they were planned apart or counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arms: Option<ArmsFacts>,
    /// How the choices of two formulas differ, if both were scored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Overlap>,
    /// The rate of all pages together, in changes a cycle, for the next plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_rate: Option<f64>,
    /// The media types in scope, if not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub types: Option<KeptTypes>,
    /// Bursts that the plan met.
    #[serde(default, skip_serializing_if = "Bursts::is_none")]
    pub bursts: Bursts,
    /// Scheduled pages, seeds included.
    pub scheduled: u64,
    /// Revisit rounds of the cycle that are still to come after this one.
    #[serde(default)]
    pub revisits_left: u32,
    /// Of the scheduled pages, those within k; 0 in rounds planned by an older version.
    #[serde(default)]
    pub of_k: u64,
    /// Random seed for ties and samples; 0 in cycles planned by an older version.
    #[serde(default)]
    pub random_seed: u64,
    /// Of the scheduled pages, those chosen by score; none if unknown.
    #[serde(default)]
    pub by_score: Option<u64>,
    /// Pages from which the audit sample was drawn; none if unknown.
    #[serde(default)]
    pub audit_eligible: Option<u64>,
    /// Digest of the operator's rules that refuse pages, which tells whether they have changed.
    #[serde(default)]
    pub rules: u64,
    /// When these rules were last applied to refused pages, in milliseconds since 1970; none if when
    /// this round was planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules_applied: Option<u64>,
}

impl Facts {
    /// Those of the round that was planned last.
    ///
    /// # Errors
    /// When the tables cannot be read.
    pub fn last(tables: &SledTables) -> Result<Option<Facts>, Failure> {
        kept(tables, FACTS)
    }

    /// Keeps them. Durable with the next flush of the tables.
    ///
    /// # Errors
    /// When the tables cannot be written.
    pub fn keep(&self, tables: &SledTables) -> Result<(), Failure> {
        keep(tables, FACTS, self)
    }

    /// Keeps of two crawls that are put together what holds for the pages of both: rules that differ, or were applied earlier, are
    /// applied again.
    ///
    /// # Errors
    /// When the tables cannot be read or written.
    pub fn join(tables: &SledTables, other: &SledTables) -> Result<(), Failure> {
        let (Some(own), Some(other)) = (Facts::last(tables)?, Facts::last(other)?) else { return Ok(()) };
        let rules = if own.rules == other.rules { own.rules } else { 0 };
        let applied = own.rules_applied().min(other.rules_applied());
        Facts { rules, rules_applied: Some(applied), ..own }.keep(tables)
    }

    /// For a round without a plan, which has a name in place of a formula's.
    pub fn without_plan(round: DatedRound, started: u64, name: &str) -> Facts {
        Facts {
            cycle: round.cycle,
            round: (!round.is_only()).then_some(round.round),
            kind: RoundKind::Revisit,
            cycle_started: None,
            started,
            formula: name.into(),
            formula_toml: None,
            cutoff: None,
            population: None,
            promises: Vec::new(),
            focus: None,
            arms: None,
            overlap: None,
            next_rate: None,
            types: None,
            bursts: Bursts::default(),
            scheduled: 0,
            revisits_left: 0,
            of_k: 0,
            random_seed: 0,
            by_score: None,
            audit_eligible: None,
            rules: 0,
            rules_applied: None,
        }
    }

    /// The rate of all pages together for a plan of this cycle that comes after these facts, or is made again.
    pub fn rate_before(&self, cycle: Cycle) -> Option<f64> {
        match &self.population {
            Some(population) if self.cycle == cycle => Some(population.rate),
            _ => self.next_rate,
        }
    }

    /// When the rules were last applied to refused pages, in milliseconds since 1970.
    pub fn rules_applied(&self) -> u64 {
        self.rules_applied.unwrap_or(self.started)
    }

    /// The round and its cycle.
    pub fn round(&self) -> DatedRound {
        let round = self.round.unwrap_or(DatedRound::only_of(self.cycle).round);
        DatedRound { round, cycle: self.cycle }
    }

    /// Start time of the cycle, in milliseconds since 1970.
    pub fn cycle_started(&self) -> u64 {
        self.cycle_started.unwrap_or(self.started)
    }
}
