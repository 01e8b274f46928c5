//! The lesson of a focused crawl, from links that were tried and URLs that were found.

use super::FocusRules;
use super::report::{Discovered, FocusFacts, FocusReport};
use super::state::FocusState;
use super::survey::{FocusSurvey, hash};
use crate::failure::Failure;
use crate::lesson::RoundLesson;
use recrawl_focus::live::UntriedUrl;
use recrawl_focus::live::recall::{Explored, MAX_EXPLORED, Pending, recall};
use recrawl_repository::SledTables;
use recrawl_types::{CanonicalUrl, DatedRound, Known, Share, Site};
use recrawl_verifier::Tried;
use std::cell::OnceCell;
use std::sync::Arc;

/// The lesson of a round, whose tried links are met in URL order.
pub struct FocusLesson {
    rules: Arc<FocusRules>,
    before: FocusState,
    now: FocusState,
    survey: Arc<FocusSurvey>,
    sites: Vec<(u64, usize)>,
    facts: FocusFacts,
    discovered: Discovered,
    /// The site of the last URL: its name, the hash of it, and its number.
    last: Option<(Site, u64, Option<usize>)>,
    /// The state after the round, once all its pages were met.
    after: OnceCell<FocusState>,
}

impl FocusLesson {
    /// Begins the lesson of a round.
    ///
    /// # Errors
    /// When the tables cannot be read.
    pub fn of_round(
        rules: Arc<FocusRules>,
        survey: Arc<FocusSurvey>,
        tables: &SledTables,
        round: DatedRound,
        facts: Option<&FocusFacts>,
    ) -> Result<FocusLesson, Failure> {
        let before = FocusState::before(tables, round)?;
        let now = before.clone().with(&rules);
        Ok(FocusLesson {
            sites: survey.index_of_sites(),
            facts: facts
                .cloned()
                .unwrap_or_else(|| FocusFacts { pending: now.pending, ..survey.facts().clone() }),
            discovered: Discovered::default(),
            last: None,
            after: OnceCell::new(),
            rules,
            before,
            now,
            survey,
        })
    }

    /// Hash of its site, what the plan knew of a URL, and its log odds as the plan counted them.
    fn expected(&mut self, url: &CanonicalUrl, known: &Known) -> (u64, UntriedUrl, f64) {
        let name = Site::from_url(url);
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

    /// The report of the round, once all its pages were met.
    pub fn report(&self) -> FocusReport {
        FocusReport::new(&self.facts, &self.discovered, self.relevant(), self.after().recall)
    }

    /// The state after the round, which report and tables share.
    fn after(&self) -> &FocusState {
        self.after.get_or_init(|| self.learned())
    }

    fn learned(&self) -> FocusState {
        let mut now = self.now.clone();
        let surplus = now.explored.len().saturating_sub(MAX_EXPLORED);
        now.explored.drain(..surplus);
        (now.pending, now.rate) = (self.facts.pending, self.survey.rate());
        now.recall = recall(self.relevant(), &now.pending, &now.explored);
        now.discovery_share = self.facts.discovery_share.or(now.discovery_share);
        now
    }

    fn relevant(&self) -> u64 {
        self.survey.facts().relevant + self.discovered.relevant
    }
}

impl RoundLesson for FocusLesson {
    fn tried(&mut self, url: &CanonicalUrl, tried: &Tried) {
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

    fn found(&mut self, key: &[u8], known: &Known) {
        if known.status.is_live()
            && let Ok(url) = CanonicalUrl::from_key(key)
        {
            let (.., odds) = self.expected(&url, known);
            Pending::add(&mut self.facts.pending, odds);
        }
    }

    fn store(&mut self, tables: &SledTables, round: DatedRound) -> Result<(), Failure> {
        self.after().clone().keep(self.before.clone(), round, tables)
    }
}
