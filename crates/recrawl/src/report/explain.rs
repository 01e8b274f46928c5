//! A page explained: its record, how its score is computed, and whether it is visited next.

mod canonical;
mod competition;
mod focus;
mod importance;
mod in_short;
mod lookup;
mod obstacle;
mod redirect;
mod siblings;
mod visits;

pub use lookup::{robots, unknown};
pub use obstacle::lift_robots;
pub use visits::reason;

use super::page::page_json;
use super::{counted, traps};
use canonical::CanonicalState;
use competition::Competition;
use focus::ShownByFocus;
use importance::ShownImportance;
use in_short::{Agreed, Outlook};
use lookup::{PageDecisions, PageLastmod, RobotsAnswer};
use obstacle::Obstacle;
use recrawl_archive::cap::Bodies;
use recrawl_archive::opener;
use recrawl_archive::timestamp;
use recrawl_crawl::admission::decisions::Decisions;
use recrawl_crawl::admission::gates::ClosedGate;
use recrawl_crawl::admission::scope::ScopeRefusal;
use recrawl_crawl::cycle::inputs::FormulaInputs;
use recrawl_crawl::cycle::plan;
use recrawl_crawl::cycle::ranks::Ranks;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read::Tables;
use recrawl_crawl::output::page_history::PageHistory;
use recrawl_crawl::parts::noise::page::PageNoise;
use recrawl_crawl::parts::trust;
use recrawl_crawl::report::RoundReport;
use recrawl_crawl::settings::Settings;
use recrawl_fetcher::{HostDelay, LeftAlone, Unavailable, system_clock};
use recrawl_formula::{Formula, RateEvidence, SiteRates, Term, estimator};
use recrawl_repository::{Generation, StoredVisit};
use recrawl_scheduler::policy::PolicyKind;
use recrawl_scheduler::{Gate, HostPlaces, HostPlacesCounter, Rank};
use recrawl_types::{
    CanonicalUrl, Cycle, History, HostTable, Origin, Outcome, PageRecord, Ping, Span, ValidatorTrust, Visited,
};
use redirect::RedirectTarget;
use serde_json::{Value, json};
use siblings::ShownBySiblings;
use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::time::Duration;

/// For a formula that does not use site rates.
const NO_RATES: SiteRates = SiteRates { global: 0.0, site: 0.0 };

/// When cycles started, in milliseconds since 1970.
pub type CycleStarts = BTreeMap<u32, u64>;

/// The starts of the cycles of these reports.
pub fn cycle_starts<'r>(reports: impl IntoIterator<Item = &'r RoundReport>) -> CycleStarts {
    reports.into_iter().map(|report| (report.cycle, report.cycle_started())).collect()
}

/// Everything that decides whether a page is visited next.
pub struct Explanation {
    url: CanonicalUrl,
    record: PageRecord,
    cycle: Cycle,
    policy: PolicyKind,
    formula: Formula,
    importance: ShownImportance,
    gate: Gate,
    /// Prior change rates, if the formula uses them.
    rates: Option<SiteRates>,
    /// The score, part by part; none of a page that was never visited.
    terms: Vec<Term>,
    /// The outlook by the formula; none of a page that was never visited, or that no formula ranks.
    outlook: Option<Outlook>,
    /// Visits that it gets whatever its score.
    agreed: Agreed,
    /// Rank among the pages that compete by score.
    rank: Option<Rank>,
    /// Are score and rank estimated by a sample of pages?
    is_estimated: bool,
    /// What its siblings show, if the formula reads siblings and it has any.
    siblings: Option<ShownBySiblings>,
    focus: Option<ShownByFocus>,
    /// The page's place under `schedule.max_per_host`; none without that limit, or if the page does
    /// not compete.
    places: Option<HostPlaces>,
    /// Pages that all shares of the next cycle select together.
    chosen: u64,
    /// How many of these the score share selects at least.
    score_places: u64,
    /// Do rounds before the last visit a sample of siblings only, so that ranks are not all?
    samples_siblings: bool,
    /// Known pages without any fetch attempt, after the last cycle.
    never_tried: Option<u64>,
    /// Are such pages visited at once (`cycle.fill`)?
    fills: bool,
    score: Option<f64>,
    cutoff: Option<f64>,
    robots: RobotsAnswer,
    left_alone: Option<LeftAlone>,
    /// When a seed that was never fetched is tried again, in milliseconds since 1970.
    seed_retry: Option<u64>,
    /// Consecutive failures of a host that is down: each cycle tries one page until it answers.
    host_failures: Option<u32>,
    /// Time between a response of its host and the next request.
    delay: Option<Duration>,
    /// The effect of its site's noise floor; none without a floor, or if that cannot be read.
    noise: Option<PageNoise>,
    /// Trust in the host's validators; none if it cannot be read, or the host is unknown.
    trust: Option<ValidatorTrust>,
    in_scope: Option<bool>,
    /// The gates that are closed to it, in order. While a crawl has the tables, only those of the
    /// configuration and of operators are known.
    closed: Vec<ClosedGate>,
    /// Evidence about the URL's trap patterns.
    trap: Option<traps::UrlTrap>,
    /// The list and line by which the host's owner opted out.
    opted_out: Option<String>,
    /// Operators' pauses and blocks.
    held: PageDecisions,
    /// State of the page's canonical claim.
    canonical: Option<CanonicalState>,
    redirect: Option<RedirectTarget>,
    lastmod: PageLastmod,
    /// Pings that no visit has answered, and the trust in them.
    ping: Option<(Ping, String)>,
    bodies: Bodies,
    history: PageHistory,
    cycle_starts: CycleStarts,
}

/// A page to explain, and what its explanation needs.
pub struct ExplainedPage<'r> {
    /// A known URL.
    pub url: CanonicalUrl,
    /// Position in the generation.
    pub ordinal: u64,
    pub record: PageRecord,
    /// Ranks the page.
    pub formula: Formula,
    /// Is this not the crawl's formula, but one to try? Then it ranks, whatever the crawl's policy.
    pub is_other_formula: bool,
    /// Report of the last cycle.
    pub last: Option<&'r RoundReport>,
    /// When cycles started, in milliseconds since 1970, as far as their reports are known.
    pub cycle_starts: CycleStarts,
    /// The crawl's `--random-seed`, which breaks ties.
    pub random_seed: u64,
    /// The page's stored visits.
    pub history: PageHistory,
    /// Ranks under `formula`, if they are kept.
    pub ranks: Option<&'r Ranks>,
    /// The operators' decisions.
    pub decided: &'r Decisions,
}

/// Is a page's score high enough to be selected?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SelectionChance {
    Sure,
    Likely,
    None,
}

impl SelectionChance {
    /// A rank within the score share suffices; one beyond all pages of a cycle does not. Between them it depends on what
    /// other shares leave, for which the last cycle's cut-off is the estimate.
    fn at(rank: Rank, is_above_cutoff: bool, score_places: u64, chosen: u64) -> SelectionChance {
        match rank {
            rank if rank.worst() <= score_places => SelectionChance::Sure,
            rank if rank.best() <= score_places || rank.best() <= chosen && is_above_cutoff => {
                SelectionChance::Likely
            }
            _ => SelectionChance::None,
        }
    }
}

/// The reason that decides about a page's next visit. All texts about that visit follow it, so that none contradicts another.
enum Decider<'o> {
    /// The first gate that stops it.
    Obstacle(&'o Obstacle),
    /// The same, if that is the score: too many pages rank higher.
    Outranked(&'o Obstacle),
    Discovery,
    /// An interval of its own.
    Rhythm(Span),
    Warmup,
    /// A trusted date says that it changed.
    Announced,
    /// The score; none for a page without one.
    Score(Option<SelectionChance>),
}

impl Explanation {
    /// Looks up everything about a page, the tables last.
    ///
    /// # Errors
    /// When pages or tables cannot be read.
    pub fn for_page(
        page: ExplainedPage<'_>,
        settings: &mut Settings,
        generation: &Generation,
        tables: impl FnOnce() -> Tables,
    ) -> Result<Explanation, Failure> {
        let ExplainedPage {
            url, ordinal, record, formula, is_other_formula, last, random_seed, history, ..
        } = page;
        let ExplainedPage { ranks, decided, cycle_starts, .. } = page;
        let cycle = generation.cycle().next();
        let warmup = settings.config.cycle.warmup;
        let gate =
            Gate::for_page(&record.known, record.visited.as_ref().map(|v| v.history.visits), cycle, warmup);
        // Opened as late as possible: a crawl cannot start while this process has them.
        let tables = LazyCell::new(tables);
        let mut request = plan::request(settings, cycle, generation.pages(), random_seed);
        // The question is how it would rank, so the policy of the crawl does not matter.
        if is_other_formula {
            request.policy = PolicyKind::default();
        }
        let open = || FormulaInputs::need_tables(&formula).then(|| tables.as_deref().ok()).flatten();
        let ranks = match ranks {
            Some(ranks) => ranks,
            None => &Ranks::gather(&request, &formula, generation, open(), settings)?,
        };
        let host = generation.pages_of_origin(&url)?;
        let near = ranks.inputs_near(generation, ordinal, &host, open(), settings)?;
        let inputs = near.as_ref().unwrap_or(&ranks.inputs);
        let rates = inputs.rates(ordinal);
        let ranked = record.visited.as_ref().filter(|_| request.policy.is_formula());
        let page = ranked.map(|_| inputs.page(generation, ordinal)).transpose().map_err(Failure::work)?;
        let terms: Option<Vec<Term>> = page.as_ref().map(|page| formula.explain_block(page, cycle));
        let among = Competition { request: &request, generation, formula: &formula, inputs, ranks };
        let score = match &record.visited {
            Some(_) if request.policy.is_formula() => terms.as_ref().map(|terms| terms[0].value),
            Some(_) => among.score(ordinal)?,
            None => None,
        };
        // Only a page that is due for a revisit competes by score.
        let competing = score.filter(|_| gate == Gate::Revisit);
        let rank = competing.map(|score| ranks.rank(ordinal, score));
        let siblings = match ranked {
            Some(_) => ShownBySiblings::for_page(ordinal, competing, &among)?,
            None => None,
        };
        let focus = match &settings.focus {
            Some(_) => {
                let tables = tables.as_deref().ok();
                ShownByFocus::for_page(ordinal, &record, settings, generation, tables)?
            }
            None => None,
        };
        let places = HostPlacesCounter::new(&request, host.clone(), ordinal, &record, score);
        let places = places.map(|counter| among.places(counter, &host)).transpose()?;
        let tables = &*tables;
        let refusal = lookup::scope(settings, decided, tables, &url)?;
        let in_scope = refusal.as_ref().map(Option::is_none);
        let left_alone = lookup::left_alone(settings, tables, &url)?;
        let state = tables.as_ref().map_or(Ok(None), |tables| tables.load(&Origin::from_url(&url)))?;
        let promise =
            state.as_ref().map(|state| HostDelay::from_state(state, &settings.fetch, system_clock()()));
        let unavailable =
            tables.as_ref().map_or(Ok(Unavailable::default()), |tables| plan::unavailable(tables))?;
        let is_tried = unavailable.at_most(&Origin::from_url(&url), system_clock()()) == Some(1);
        let host_failures = state.as_ref().filter(|_| is_tried).map(|state| state.failures);
        let trust = state.map(|state| state.trust);
        let noise = match (tables, &record.visited) {
            (Ok(tables), Some(visited)) => PageNoise::read(settings.noise_rules(), tables, &url, visited)?,
            _ => None,
        };
        let (lastmod, ping) =
            (lookup::lastmod(settings, tables, &url, &record)?, lookup::ping(settings, tables, &url)?);
        let held = lookup::held(decided, &url);
        let closed = lookup::closed(settings, decided, tables, &url, record.visited.is_some())?;
        // The cut-off of another formula is not comparable with this formula's scores.
        let name = if request.policy.is_formula() { &*formula.name } else { request.policy.name };
        let cutoff = last.filter(|r: &&RoundReport| r.formula == name).and_then(|r| r.cutoff);
        Ok(Explanation {
            outlook: page.map(|page| Outlook::by(&page, &formula, cycle)),
            agreed: Agreed::configured(settings, &url, &record),
            importance: ShownImportance::configured(settings, &url, &formula),
            opted_out: settings.scope.opt_out().because(&url.host()),
            seed_retry: lookup::seed_retry(tables, &url, &record, left_alone)?,
            trap: lookup::trap(settings, tables, &url)?,
            canonical: CanonicalState::follow(generation, &url, &record)?,
            robots: lookup::robots(settings, tables, &url)?,
            redirect: RedirectTarget::archived(&url, &record, settings),
            url,
            record,
            cycle,
            policy: request.policy,
            formula,
            gate,
            rates,
            terms: terms.unwrap_or_default(),
            rank,
            is_estimated: ranks.are_estimates(),
            siblings,
            focus,
            places,
            chosen: request.pages,
            score_places: request.score_places(),
            samples_siblings: settings.rounds.of_cycle(generation).count() > 1 && inputs.samples_siblings(),
            never_tried: last.map(|last| last.never_tried),
            fills: settings.config.cycle.fill,
            score,
            cutoff,
            left_alone,
            host_failures,
            delay: promise.map(|promise| promise.delay),
            noise,
            trust,
            in_scope,
            closed,
            held,
            lastmod,
            ping,
            bodies: Bodies::in_storage(&*opener::open(&settings.data_dir)?)?,
            history,
            cycle_starts,
        })
    }
}

/// A number for people; `--json` has all its digits.
fn rounded(value: f64) -> String {
    match value {
        whole if whole.fract() == 0.0 && whole.abs() < 1e15 => whole.to_string(),
        tiny if tiny.abs() < 1e-3 => format!("{tiny:.3e}"),
        value if value.is_finite() => format!("{value:.4}"),
        other => other.to_string(),
    }
}

impl Explanation {
    /// The first gate that stops the page, or else its share.
    fn decider<'o>(&self, obstacles: &'o [Obstacle]) -> Decider<'o> {
        if let (None, Some(every)) = (obstacles.first(), self.agreed.rhythm) {
            return Decider::Rhythm(every);
        }
        match (obstacles.first(), self.gate) {
            (Some(score), _) if score.gate == "score" => Decider::Outranked(score),
            (Some(obstacle), _) => Decider::Obstacle(obstacle),
            (None, Gate::Discovery) => Decider::Discovery,
            (None, Gate::Warmup) => Decider::Warmup,
            (None, Gate::Revisit) if self.lastmod.is_news => Decider::Announced,
            (None, Gate::Revisit | Gate::Visited | Gate::Gone | Gate::Refused | Gate::BackOff) => {
                Decider::Score(self.by_rank())
            }
        }
    }

    /// When the page is visited next, and why.
    fn next_visit(&self, obstacles: &[Obstacle]) -> String {
        match self.decider(obstacles) {
            Decider::Obstacle(Obstacle { when, evidence, .. }) => format!("{when}: {evidence}"),
            Decider::Outranked(Obstacle { when, evidence, .. }) => {
                let unless = self.agreed.promised;
                let unless =
                    unless.map(|within| format!(" or a promise of visits within {within} makes it due"));
                format!("{when}{}: {evidence}", unless.unwrap_or_default())
            }
            Decider::Discovery => {
                let when = match self.fills {
                    true => "in a fill round of this cycle",
                    false => "when the discovery share reaches it",
                };
                match self.last_attempt() {
                    Some((cycle, last)) => format!("{when}: it was tried in cycle {cycle}: {}", last.outcome),
                    None => format!("{when}: it was never fetched"),
                }
            }
            Decider::Rhythm(every) => {
                format!("{every} after the last one: its [[pages]] say so, with `every`")
            }
            Decider::Warmup => "in the next cycle: a warm-up visit, whatever its score".into(),
            Decider::Announced => {
                "when the announced share reaches it: a trusted date says that it changed".into()
            }
            Decider::Score(Some(SelectionChance::Sure)) => {
                format!("in the next cycle: {}", self.place_in_schedule())
            }
            Decider::Score(Some(SelectionChance::Likely)) => {
                format!("probably in the next cycle: {}", self.place_in_schedule())
            }
            Decider::Score(Some(SelectionChance::None) | None) => "depends on its score".into(),
        }
    }

    /// The first gate that stops the page and a remedy, or else when it is visited next.
    pub fn stopped_by(&self) -> String {
        let obstacles = self.obstacles();
        match obstacles.first() {
            Some(Obstacle { evidence, lifted, .. }) => format!("{evidence}; to fetch it, {lifted}"),
            None => self.next_visit(&obstacles),
        }
    }

    /// Why the page is outside the scope, if it is.
    fn refusal(&self) -> Option<&ScopeRefusal> {
        self.closed.iter().find_map(|gate| match gate {
            ClosedGate::Scope(refusal) => Some(refusal),
            _ => None,
        })
    }

    /// The last attempt that is kept, and its cycle.
    fn last_attempt(&self) -> Option<&(Cycle, StoredVisit)> {
        self.history.visits.iter().rev().find(|(_, visit)| visits::is_attempt(visit.outcome))
    }

    /// The cycle of the last attempt, if it ended so.
    fn ended_so_in(&self, outcome: Outcome) -> Option<Cycle> {
        let last = self.last_attempt();
        last.filter(|(_, visit)| visit.outcome == outcome).map(|(cycle, _)| *cycle)
    }

    /// Predicts whether the score suffices for the next cycle; none for a page without a score.
    fn by_rank(&self) -> Option<SelectionChance> {
        let (score, rank) = (self.score?, self.rank?);
        let is_above_cutoff = self.cutoff.is_none_or(|cutoff| score >= cutoff);
        Some(match SelectionChance::at(rank, is_above_cutoff, self.score_places, self.chosen) {
            // Of its siblings, another one may be the sample.
            SelectionChance::Sure if self.samples_siblings => SelectionChance::Likely,
            chance => chance,
        })
    }

    /// Rank and score, compared with the pages of a cycle.
    fn place_in_schedule(&self) -> String {
        let (rank, score) =
            (self.rank.map_or(String::new(), |rank| rank.to_string()), self.score.unwrap_or_default());
        let cutoff =
            self.cutoff.map(|score| format!("; lowest selected score in the last cycle: {score:.4}"));
        let sample =
            if self.samples_siblings { ", one of a group of siblings before the last round" } else { "" };
        format!(
            "rank {rank} with score {score:.4}; of {} per cycle, {} are selected by score{sample}, plus what \
             other shares leave{}",
            counted(self.chosen, "page"),
            self.score_places,
            cutoff.unwrap_or_default()
        )
    }

    /// An estimator and its value for this page, in the formula's basis.
    fn rate(&self, name: &str, history: &History) -> String {
        let terminal = Formula::from_expression(name).expect("every estimator is a terminal");
        let alone = Formula { basis: self.formula.basis, ..terminal };
        format!("{name} {:.4}", alone.explain(history, NO_RATES, self.cycle)[0].value)
    }

    fn gate_name(&self) -> &'static str {
        match self.gate {
            Gate::Gone => "gone",
            Gate::Refused => "refused",
            Gate::BackOff => "back_off",
            Gate::Visited => "visited",
            Gate::Discovery => "discovery",
            Gate::Warmup => "warmup",
            Gate::Revisit => "score",
        }
    }

    /// The document of `--json` and of the console.
    pub fn json(&self) -> Value {
        let obstacles = self.obstacles();
        let history = self.record.visited.as_ref().map(|v| v.history);
        let mut document = json!({
            "site_rate": self.rates.map(|r| r.site), "global_rate": self.rates.map(|r| r.global),
            "page": page_json(&self.url, &self.record, &self.bodies), "cycle": self.cycle, "gate": self.gate_name(),
            "importance": self.importance.value, "policy": self.policy.name, "formula": self.policy.is_formula().then(|| self.formula.expr.to_string()), "score": self.score, "rank": self.rank.map(|rank| rank.rank),
            "rank_error": self.rank.map(|rank| rank.error), "is_estimated": self.is_estimated,
            "cutoff": self.cutoff, "host_places": self.places.map(obstacle::places_json), "terms": history.map(|_| &self.terms),
            "siblings": self.siblings.as_ref().map(ShownBySiblings::json),
            "lastmod_trust": self.lastmod.trust, "announced": self.lastmod.is_news,
            "pings": self.ping.as_ref().map(|(ping, _)| ping.count), "ping_trust": self.ping.as_ref().map(|(_, trust)| trust),
            "robots": self.robots.words, "robots_rule": self.robots.rule, "robots_fetched": self.robots.fetched,
            "host_delay_ms": self.delay.map(|d| d.as_millis() as u64), "left_alone": self.left_alone.map(|l| l.name()),
            "validators": self.trust.map(|t| trust::name(t.belief)), "in_scope": self.in_scope,
            "noise": self.noise.as_ref().map(PageNoise::json),
            "refused_by": self.refusal().map(ScopeRefusal::to_string),
            "trap": self.trap.as_ref().map(traps::UrlTrap::json),
            "opted_out": self.opted_out, "canonical_standing": self.canonical.as_ref().map(CanonicalState::name),
            "redirect": self.redirect.as_ref().map(RedirectTarget::json),
            "visited_next": self.next_visit(&obstacles), "in_short": self.in_short(&obstacles),
            "stopped_by": obstacles.iter().map(Obstacle::json).collect::<Value>(),
            "would_be_fetched_if": obstacles.iter().map(|o| &o.lifted).collect::<Vec<_>>(),
            "dates": self.dates(), "times": visits::times(&self.history.visits, &self.record), "visits": visits::json(&self.history.visits),
            "visits_since": self.history.since.map(|cycle| cycle.0),
        });
        if let Some(focus) = &self.focus {
            document["focus"] = focus.json();
        }
        document
    }

    /// The starts of the cycles in its record, by the field that has the cycle, in milliseconds since 1970.
    fn dates(&self) -> Value {
        let (known, history) = (&self.record.known, self.record.visited.as_ref().map(|v| v.history));
        let cycles = [
            ("discovered", Some(known.discovered)),
            ("last_attempt", Some(known.last_attempt)),
            ("first", history.map(|h| h.first)),
            ("last", history.map(|h| h.last)),
            ("last_change", history.map(|h| h.last_change)),
        ];
        let start = |cycle: Cycle| self.cycle_starts.get(&cycle.0).copied();
        cycles.into_iter().filter_map(|(name, cycle)| Some((name, start(cycle?)?))).collect()
    }

    /// A cycle for people: its date, if that is known, then its number.
    fn dated(&self, cycle: Cycle) -> String {
        let date = self.cycle_starts.get(&cycle.0).map(|at| timestamp(*at));
        // The day: a visit is some time within the cycle.
        date.and_then(|at| Some(format!("{} in cycle {cycle}", at.get(..10)?)))
            .unwrap_or_else(|| format!("in cycle {cycle}"))
    }

    /// The page and what is known of its visits.
    pub fn page(&self) -> (&CanonicalUrl, Option<&Visited>) {
        (&self.url, self.record.visited.as_ref())
    }

    /// The text of the command.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut print = |line: String| lines.push(line);
        let known = &self.record.known;
        print(format!("url         {}", self.url));
        print(format!(
            "known       found {}, depth {}, linked from {}",
            self.dated(known.discovered),
            known.depth,
            counted(known.in_links.into(), "page")
        ));
        self.importance.line().into_iter().for_each(&mut print);
        if known.failures > 0 {
            let (failures, last) = (known.failures, known.last_attempt);
            print(format!("attempts    {failures} in a row without the page, the last in cycle {last}"));
        }
        // A visit has its own line below: only an attempt without one is told here.
        if let Some((cycle, last)) = self.last_attempt().filter(|(_, last)| !last.outcome.is_visit()) {
            print(format!("tried       {}, in cycle {cycle} at {}", last.outcome, timestamp(last.at * 1000)));
        }
        match &self.record.visited {
            None => print("visited     never".into()),
            Some(visited) => self.visited_lines(visited).into_iter().for_each(&mut print),
        }
        if let Some(body) = self.bodies.words(self.record.visited.as_ref().map(|v| &v.content)) {
            print(format!("body        {body}"));
        }
        self.redirect.iter().map(RedirectTarget::line).for_each(&mut print);
        for (what, text) in canonical::wishes(&self.url, &self.record, self.canonical.as_ref()) {
            print(format!("{what:<10}  {text}"));
        }
        if let Some((ping, trust)) = &self.ping {
            let (count, first) = (counted(ping.count.into(), "ping"), timestamp(ping.first));
            print(format!("pinged      {count} since the last visit, the first at {first}; {trust}"));
        }
        if let Some(trust) = &self.lastmod.trust {
            let at = timestamp(u64::from(known.lastmod) * 1000);
            let moved = if known.is_announced { "newer than" } else { "the same as" };
            print(format!("lastmod     {at}, {moved} at the last visit; {trust}"));
        }
        if let Some(rank) = self.rank {
            print(format!("rank        {rank} by score"));
        }
        if self.is_estimated && self.score.is_some() {
            print("            score and rank are estimates, by a sample of all pages".into());
        }
        self.siblings.iter().flat_map(ShownBySiblings::lines).for_each(&mut print);
        self.focus.iter().flat_map(ShownByFocus::lines).for_each(&mut print);
        print(format!("robots.txt  {}", self.robots.words));
        if let Some(delay) = self.delay {
            print(format!("host        delay {} after each response", Span(delay).rounded()));
        }
        if let Some(noise) = &self.noise {
            print(format!("noise       {}", noise.words()));
        }
        if let Some(trust) = &self.trust {
            print(format!("validators  {}", trust::words(trust)));
        }
        if let Some(trap) = &self.trap {
            print(format!("trap        {}", trap.words()));
        }
        print(format!("scope       {}", self.scope_words()));
        if let Some(why) = &self.opted_out {
            print(format!("opted out   {why}"));
        }
        if let Some(strip) = visits::strip(&self.history.visits) {
            print(format!("history     {strip}"));
        }
        for (what, by) in self.held.all() {
            print(format!("operator    {what} by {} since {}", by.who, timestamp(by.at)));
        }
        lines.extend(self.next_lines());
        lines
    }

    /// The counters of a visited page, its rates, and the terms of its score.
    fn visited_lines(&self, visited: &Visited) -> Vec<String> {
        let mut lines = Vec::new();
        let mut print = |line: String| lines.push(line);
        let h = &visited.history;
        let t = self.cycle.since(h.last);
        print(format!("visited     first {}, last {}", self.dated(h.first), self.dated(h.last)));
        print(format!("counters    n = {}, X = {}, t = {t} in cycle {}", h.visits, h.changes, self.cycle));
        let rates: Vec<String> = estimator::ALL.iter().map(|e| self.rate(e.name, h)).collect();
        print(format!("estimators  {} (by {})", rates.join(", "), self.formula.basis));
        // Without a comparison, the rates are a constant that says nothing of any page.
        let has_evidence = |rates: &SiteRates| rates.global != RateEvidence::default().rate();
        if let Some(rates) = self.rates.filter(has_evidence) {
            print(format!(
                "prior       {:.4} changes per cycle (site), {:.4} (all pages)",
                rates.site, rates.global
            ));
        }
        if self.policy.is_formula() {
            print(format!("formula     {}", self.formula.name));
        } else {
            let PolicyKind { name, help, .. } = self.policy;
            print(format!("policy      {name}: {help}; no formula ranks"));
        }
        for term in &self.terms {
            print(format!(
                "            {:indent$}{} = {}",
                "",
                term.text,
                rounded(term.value),
                indent = 2 * term.depth
            ));
        }
        lines
    }

    fn scope_words(&self) -> String {
        match (self.refusal(), self.in_scope) {
            (Some(refusal), _) => format!("outside: {refusal}"),
            (None, Some(_)) => "inside".into(),
            (None, None) => "unknown: the running crawl has the seed sites locked".into(),
        }
    }

    /// When the page is visited next, and all that is needed for it to be fetched.
    fn next_lines(&self) -> Vec<String> {
        let obstacles = self.obstacles();
        let mut lines = vec![
            format!("in short    {}", self.in_short(&obstacles).join(" ")),
            format!("next visit  {}", self.next_visit(&obstacles)),
        ];
        match &obstacles[..] {
            [] => {}
            [one] => lines.push(format!("            To fetch it: {}", one.lifted)),
            all => {
                lines.push("            To fetch it, all of these are needed:".into());
                lines.extend((1..).zip(all).map(|(at, one)| format!("            {at}. {}", one.lifted)));
            }
        }
        lines
    }
}
