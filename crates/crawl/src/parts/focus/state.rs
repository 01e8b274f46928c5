//! The state of a focused crawl from round to round: the model, and the explored visits by which recall is estimated. Kept in
//! the tables, beside the model of the next change.

use super::FocusRules;
use crate::failure::Failure;
use crate::stored::{keep, kept};
use recrawl_focus::live::LiveModel;
use recrawl_focus::live::recall::{AllPending, Explored, Recall};
use recrawl_repository::SledTables;
use recrawl_types::DatedRound;
use serde::{Deserialize, Serialize};

/// The name under which it is kept.
const FOCUS: &str = "focus";
/// Change rate of all pages, in changes a cycle, before anything is known.
const FIRST_RATE: f64 = 0.05;

/// The state in the tables. A round that is merged again after a crash finds the state that it began with.
#[derive(Debug, Default, Serialize, Deserialize)]
struct StoredFocus {
    /// The round of the last lesson.
    round: u32,
    before: FocusState,
    now: FocusState,
}

/// The state after a round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FocusState {
    /// Digest of the terms that it was learned with.
    pub digest: String,
    /// Expected relevance of links.
    pub model: LiveModel,
    /// Explored visits, the newest last.
    #[serde(rename = "drawn")]
    pub explored: Vec<Explored>,
    /// Never-fetched URLs after the last round, by what was expected of them.
    #[serde(rename = "strata")]
    pub pending: AllPending,
    /// Recall after it.
    pub recall: Option<Recall>,
    /// Change rate of all pages, in changes a cycle.
    pub rate: f64,
    /// The discovery share of the last cycle, if it is `"auto"`.
    pub discovery_share: Option<f64>,
}

impl Default for FocusState {
    fn default() -> FocusState {
        FocusState {
            digest: String::new(),
            model: LiveModel::default(),
            explored: Vec::new(),
            pending: AllPending::default(),
            recall: None,
            rate: FIRST_RATE,
            discovery_share: None,
        }
    }
}

impl FocusState {
    /// The state that the last committed round left.
    ///
    /// # Errors
    /// When the tables cannot be read.
    pub fn read(tables: &SledTables) -> Result<FocusState, Failure> {
        Ok(kept::<StoredFocus>(tables, FOCUS)?.unwrap_or_default().now)
    }

    /// The state that this round begins with, also if it was merged before.
    ///
    /// # Errors
    /// When the tables cannot be read.
    pub fn before(tables: &SledTables, round: DatedRound) -> Result<FocusState, Failure> {
        let kept = kept::<StoredFocus>(tables, FOCUS)?.unwrap_or_default();
        Ok(if kept.round == round.round.0 { kept.before } else { kept.now })
    }

    /// The state for these rules: what was learned with other terms does not tell of these, but for the weights.
    #[must_use]
    pub fn with(self, rules: &FocusRules) -> FocusState {
        if self.digest == rules.digest {
            return self;
        }
        let FocusState { model, rate, discovery_share, .. } = self;
        FocusState { digest: rules.digest.clone(), model, rate, discovery_share, ..FocusState::default() }
    }

    /// Keeps the state before and after a round. Durable with the next flush of the tables.
    ///
    /// # Errors
    /// When the tables cannot be written.
    pub fn keep(self, before: FocusState, round: DatedRound, tables: &SledTables) -> Result<(), Failure> {
        keep(tables, FOCUS, &StoredFocus { round: round.round.0, before, now: self })
    }
}
