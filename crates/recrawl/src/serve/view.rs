//! Implements the console's view of the crawl.

use super::hosts::unknown_host;
use super::improve::forecasts;
use super::shared_state::SharedState;
use super::{
    changes, errors, fleet_changes, fleet_questions, formulas, hosts, meters, pages, pings, promises,
    reports, status, versions, websub,
};
use crate::action::{self, named_host};
use crate::report::{host, loop_events, page_changes, search};
use recrawl_console::CrawlView;
use recrawl_console::view::Refusal;
use recrawl_console::view::{
    Accepted, Actor, CandidateDocument, Change, Controls, Decision, Errors, EventList, FleetAnswer,
    FleetQuestion, Forecasted, FormulaCheck, Formulas, HistoryQuery, HostList, HostQuery, Improve, IndexNow,
    MementoList, Meters, OnePage, OneVersion, PageChangeList, PageChangeQuery, PageList, PageQuery,
    PingDelivery, Pinged, RankChanges, RawVersion, Recent, Savings, SearchList, SearchQuery, SoughtPages,
    Status, Verification, VersionContent, VersionList, VersionQuery, WhatIf,
};
use recrawl_crawl::admission::pattern::Pattern;
use recrawl_crawl::operator::control::Mark;
use recrawl_crawl::parts::improve::candidate::FormulaCandidate;
use recrawl_repository::StoredRounds;
use recrawl_terminal::escape;
use serde_json::Value;
use std::sync::Arc;

/// The console's view of the shared state.
pub struct View(Arc<SharedState>);

impl View {
    pub fn new(shared: Arc<SharedState>) -> View {
        View(shared)
    }
}

impl CrawlView for View {
    fn status(&self) -> Status {
        status::read(&self.0)
    }

    fn recent(&self, since: u64) -> Recent {
        self.0.recent.after(since)
    }

    fn meters(&self) -> Meters {
        meters::meters(&self.0)
    }

    fn cycles(&self, last: usize) -> Result<Vec<Value>, Refusal> {
        status::reports(&self.0, last).map_err(Refusal::failed)
    }

    fn errors(&self) -> Errors {
        errors::list(&self.0)
    }

    fn hosts(&self, ask: &HostQuery) -> Result<HostList, Refusal> {
        hosts::list(&self.0, ask)
    }

    fn host(&self, name: &str) -> Result<Vec<Value>, Refusal> {
        let shared = &self.0;
        let (named, decided) = (named_host(name)?, shared.control.decided());
        let found =
            host::document(&shared.settings(), &shared.tables, &shared.generation(), &decided, &named);
        found.map_err(Refusal::failed)?.ok_or_else(|| unknown_host(shared, &named))
    }

    fn host_text(&self, name: &str) -> Result<String, Refusal> {
        let shared = &self.0;
        let (named, decided) = (named_host(name)?, shared.control.decided());
        let generation = shared.generation();
        let kept = StoredRounds::new(shared.storage.clone(), generation.number());
        let found = host::text(&shared.settings(), &shared.tables, &generation, &kept, &decided, &named);
        let text = found.map_err(Refusal::failed)?.ok_or_else(|| unknown_host(shared, &named))?;
        Ok(escape::lines(&text).into_owned())
    }

    fn host_report(&self, host: &str, cycles: usize) -> Result<Value, Refusal> {
        Ok(reports::host(&self.0, host, cycles)?.json())
    }

    fn host_report_text(&self, host: &str, cycles: usize) -> Result<String, Refusal> {
        let text = reports::host(&self.0, host, cycles)?.text();
        Ok(escape::lines(&text).into_owned())
    }

    fn promises(&self) -> Result<Value, Refusal> {
        Ok(promises::now(&self.0)?.json())
    }

    fn promises_text(&self) -> Result<String, Refusal> {
        let text = promises::now(&self.0)?.text();
        Ok(escape::lines(&text).into_owned())
    }

    fn pages(&self, ask: &PageQuery) -> Result<PageList, Refusal> {
        pages::list(&self.0, ask)
    }

    fn page(&self, page: &OnePage) -> Result<Value, Refusal> {
        pages::document(&self.0, page)
    }

    fn page_text(&self, page: &OnePage) -> Result<String, Refusal> {
        let text = pages::explained(&self.0, page)?.lines().join("\n");
        Ok(escape::lines(&text).into_owned())
    }

    fn page_changes(&self, ask: &PageChangeQuery) -> Result<PageChangeList, Refusal> {
        let _scan = self.0.begin_changes()?;
        let generation = self.0.generation();
        page_changes::list(&self.0.settings(), &generation, &self.0.storage, ask)
    }

    fn search(&self, ask: &SearchQuery) -> Result<SearchList, Refusal> {
        let _scan = self.0.begin_search()?;
        search::answer(&self.0.settings(), &self.0.generation(), ask)
    }

    fn versions(&self, ask: &VersionQuery) -> Result<VersionList, Refusal> {
        versions::list(&self.0, ask)
    }

    fn version(&self, version: &OneVersion) -> Result<VersionContent, Refusal> {
        versions::one(&self.0, version)
    }

    fn archived(&self, version: &OneVersion) -> Result<String, Refusal> {
        versions::document(&self.0, version)
    }

    fn mementos(&self, url: &str) -> Result<MementoList, Refusal> {
        versions::times(&self.0, url)
    }

    fn raw(&self, version: &OneVersion) -> Result<RawVersion, Refusal> {
        versions::raw(&self.0, version)
    }

    fn elsewhere(&self, sought: &SoughtPages) -> Result<Option<u32>, Refusal> {
        fleet_questions::elsewhere(&self.0, sought)
    }

    fn ask_elsewhere(&self, partition: u32, question: &FleetQuestion) -> Result<FleetAnswer, Refusal> {
        fleet_questions::ask(&self.0, partition, question)
    }

    fn controls(&self) -> Result<Controls, Refusal> {
        let control = &self.0.control;
        let decision = |(what, Mark { who, at }): (String, Mark)| Decision { what, who, at };
        let [paused_hosts, blocks] = control.lists();
        let [_, _, seeds_waiting, recrawls_waiting] = control.counts();
        Ok(Controls {
            paused: control.paused().map(|mark| decision((String::new(), mark))),
            paused_hosts: paused_hosts.into_iter().map(decision).collect(),
            blocks: blocks.into_iter().map(decision).collect(),
            taken_down: self.0.settings().scope.taken_down().iter().map(Pattern::to_string).collect(),
            seeds_waiting,
            recrawls_waiting,
            waiting: changes::waiting(&self.0)?,
        })
    }

    fn formulas(&self) -> Result<Formulas, Refusal> {
        formulas::list(&self.0)
    }

    fn check_formula(&self, text: &str) -> Result<FormulaCheck, Refusal> {
        action::formula::check(text)
    }

    fn rank_changes(&self, text: &str) -> Result<RankChanges, Refusal> {
        formulas::rank_changes(&self.0, text)
    }

    fn improve(&self) -> Improve {
        self.0.improving.answer(&self.0.learner)
    }

    fn improve_history(&self, ask: &HistoryQuery) -> Result<EventList, Refusal> {
        let state = self.0.store.read().map_err(Refusal::failed)?;
        loop_events::list(&state, ask)
    }

    fn candidate(&self, id: &str) -> Result<CandidateDocument, Refusal> {
        let state = self.0.store.read().map_err(Refusal::failed)?;
        // A file that is refused has no candidate.
        let waiting = FormulaCandidate::read(&self.0.data_dir).and_then(Result::ok);
        let unknown =
            || Refusal::NotFound(format!("{id}: unknown candidate; /api/v1/improve/history has ids"));
        loop_events::document(&state, waiting, id).ok_or_else(unknown)
    }

    fn what_if(&self) -> Result<Forecasted<WhatIf>, Refusal> {
        forecasts::what_if(&self.0)
    }

    fn savings(&self) -> Result<Forecasted<Savings>, Refusal> {
        forecasts::savings(&self.0)
    }

    fn ping(&self, ping: &IndexNow) -> Result<Pinged, Refusal> {
        pings::take(&self.0, ping)
    }

    fn verify_subscription(&self, id: &str, verification: &Verification) -> Result<(), Refusal> {
        websub::verify(&self.0, id, verification)
    }

    fn notify(&self, id: &str, signature: Option<&str>, body: &[u8]) -> Result<PingDelivery, Refusal> {
        websub::notify(&self.0, id, signature, body)
    }

    fn change(&self, change: &Change, who: &Actor) -> Result<Accepted, Refusal> {
        match &self.0.partition {
            Some(partition) => fleet_changes::make(&self.0, partition, change, who),
            None => changes::make(&self.0, change, who),
        }
    }
}
