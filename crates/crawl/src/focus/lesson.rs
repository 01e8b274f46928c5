//! What a focused crawl learns at each commit: the model, from links that were tried; and the explored visits by which recall
//! is estimated. Kept in the tables, beside the model of the next change.

use super::FocusRules;
use super::report::{Discovered, FocusFacts, FocusReport};
use super::survey::{Survey, hash};
use crate::crawl::Crawl;
use crate::failure::Failure;
use crate::stored::{keep, kept};
use recrawl_focus::live::recall::{AllPending, Explored, MAX_EXPLORED, Pending, Recall, recall};
use recrawl_focus::live::{Candidate, LiveModel};
use recrawl_repository::{Generation, SledTables};
use recrawl_types::{CanonicalUrl, DatedRound, Known, Share, Site, Status};
use recrawl_verifier::Tried;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The name under which it is kept.
const FOCUS: &str = "focus";
/// Change rate of all pages, in changes a cycle, before anything is known.
const FIRST_RATE: f64 = 0.05;
/// Part of k that `cycle.discovery_share = "auto"` moves at most in a cycle, and that each side keeps.
const MAX_MOVED: f64 = 0.1;
const LEAST_SHARE: f64 = 0.05;
/// Places whose worth is compared.
const NEXT_PLACES: u64 = 100;

/// The state in the tables. A round that is merged again after a crash finds the state that it began with.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    /// The round of the last lesson.
    round: u32,
    before: FocusState,
    now: FocusState,
}

/// What is learned from round to round.
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
    /// What the last committed round left.
    ///
    /// # Errors
    /// When the tables cannot be read.
    pub fn of(tables: &SledTables) -> Result<FocusState, Failure> {
        Ok(kept::<Kept>(tables, FOCUS)?.unwrap_or_default().now)
    }

    /// What this round begins with, also if it was merged before.
    ///
    /// # Errors
    /// When the tables cannot be read.
    pub fn before(tables: &SledTables, round: DatedRound) -> Result<FocusState, Failure> {
        let kept = kept::<Kept>(tables, FOCUS)?.unwrap_or_default();
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

    /// The discovery share of the next cycle: it moves to where the next places bring more. Relevant pages that are expected
    /// of `pending` URLs count `worth` each; revisits count relevance × P(change).
    pub fn next_share(
        &self,
        worth: f64,
        survey: &Survey,
        pending: &AllPending,
        k: u64,
        others: f64,
        start: f64,
    ) -> f64 {
        let share = self.discovery_share.unwrap_or(start);
        let places = |share: f64| (share * k as f64) as u64;
        let discovery = worth * expected(pending, places(share), NEXT_PLACES);
        let revisits = survey.worth_of_revisits(places((1.0 - others - share).max(0.0)), NEXT_PLACES);
        let sum = discovery + revisits;
        let moved = if sum > 0.0 { MAX_MOVED * (discovery - revisits) / sum } else { 0.0 };
        (share + moved).clamp(LEAST_SHARE, (1.0 - others - LEAST_SHARE).max(LEAST_SHARE))
    }
}

/// Relevant pages expected in places from a rank on.
fn expected(pending: &AllPending, mut from: u64, mut places: u64) -> f64 {
    let mut sum = 0.0;
    for stratum in pending.iter().rev() {
        let passed = from.min(stratum.urls);
        from -= passed;
        let taken = places.min(stratum.urls - passed);
        places -= taken;
        sum += stratum.expected * taken as f64 / stratum.urls.max(1) as f64;
    }
    sum
}

/// The lesson of a round, whose tried links are met in URL order.
pub struct FocusLesson {
    rules: Arc<FocusRules>,
    round: DatedRound,
    before: FocusState,
    now: FocusState,
    survey: Arc<Survey>,
    sites: Vec<(u64, usize)>,
    facts: FocusFacts,
    discovered: Discovered,
    /// The site of the last URL: its name, the hash of it, and its number.
    last: Option<(Site, u64, Option<usize>)>,
}

impl FocusLesson {
    /// Begins the lesson of a round; none unless the crawl is focused.
    ///
    /// # Errors
    /// When the generation or the tables cannot be read.
    pub fn of_round(
        crawl: &Crawl,
        generation: &Generation,
        round: DatedRound,
        facts: Option<&FocusFacts>,
    ) -> Result<Option<FocusLesson>, Failure> {
        let Some(rules) = crawl.settings.focus.clone() else { return Ok(None) };
        let before = FocusState::before(&crawl.tables, round)?;
        let survey = crawl.survey(generation, round)?;
        let now = before.clone().with(&rules);
        Ok(Some(FocusLesson {
            sites: survey.index_of_sites(),
            facts: facts
                .cloned()
                .unwrap_or_else(|| FocusFacts { pending: now.pending, ..survey.facts().clone() }),
            discovered: Discovered::default(),
            last: None,
            rules,
            round,
            before,
            now,
            survey,
        }))
    }

    /// Adds a URL that was tried: judged for the first time, or found to be no page.
    pub fn tried(&mut self, url: &CanonicalUrl, tried: &Tried) {
        let (hash, candidate, odds) = self.expected(url, &tried.known);
        if tried.was_pending {
            Pending::remove(&mut self.facts.pending, odds);
        }
        let is_relevant = tried.verdict.is_some_and(|verdict| self.rules.is_relevant(verdict.relevance()));
        let propensity = match tried.share {
            Share::Explored(probability) => {
                self.discovered.explored += 1;
                self.discovered.explored_relevant += u64::from(is_relevant);
                self.now.explored.push(Explored { site: hash as u32, odds: odds as f32, is_relevant });
                probability
            }
            _ => 1.0,
        };
        if tried.verdict.is_none() {
            return;
        }
        self.discovered.pages += 1;
        self.discovered.relevant += u64::from(is_relevant);
        if !self.rules.order.is_of_thesis() && tried.known.expectation.is_some() {
            self.now.model.learn(&candidate, is_relevant, propensity);
        }
    }

    /// Adds a URL that was found and not visited.
    pub fn found(&mut self, key: &[u8], known: &Known) {
        if known.status == Status::Live
            && let Ok(url) = CanonicalUrl::from_key(key)
        {
            let (.., odds) = self.expected(&url, known);
            Pending::add(&mut self.facts.pending, odds);
        }
    }

    /// Hash of its site, what the plan knew of a URL, and its log odds as the plan counted them.
    fn expected(&mut self, url: &CanonicalUrl, known: &Known) -> (u64, Candidate, f64) {
        let name = Site::of(url);
        // URLs come in the order of sites.
        let (hash, site) = match &self.last {
            Some((last, hash, site)) if *last == name => (*hash, *site),
            _ => {
                let hash = hash(&name);
                let at = self.sites.partition_point(|(other, _)| *other < hash);
                let site = self.sites.get(at).filter(|(other, _)| *other == hash).map(|(_, site)| *site);
                self.last = Some((name, hash, site));
                (hash, site)
            }
        };
        let candidate = self.survey.candidate(known, site);
        (hash, candidate, self.rules.order.planned(self.survey.model(), &candidate))
    }

    /// Keeps what was learned; gives the report of the round.
    ///
    /// # Errors
    /// When the tables cannot be written.
    pub fn keep(self, tables: &SledTables) -> Result<FocusReport, Failure> {
        let FocusLesson { rules: _, round, before, mut now, survey, facts, discovered, .. } = self;
        let surplus = now.explored.len().saturating_sub(MAX_EXPLORED);
        now.explored.drain(..surplus);
        let relevant = survey.facts().relevant + discovered.relevant;
        (now.pending, now.rate) = (facts.pending, survey.rate());
        now.recall = recall(relevant, &now.pending, &now.explored);
        now.discovery_share = facts.discovery_share.or(now.discovery_share);
        let report = FocusReport::new(&facts, &discovered, relevant, now.recall);
        keep(tables, FOCUS, &Kept { round: round.round.0, before, now })?;
        Ok(report)
    }
}
