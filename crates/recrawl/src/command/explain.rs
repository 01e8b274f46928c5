//! `recrawl explain`: what is known of a URL, how its score comes about, and whether it is visited next.

mod canonical;
mod competition;
mod lookup;
mod obstacle;
mod visits;

pub use lookup::unknown;

use super::export::page_json;
use super::{print, print_json, traps};
use crate::cli::ExplainArgs;
use crate::crawl::WARC;
use crate::decisions::Decisions;
use crate::failure::Failure;
use crate::formula_file;
use crate::page_history::PageHistory;
use crate::plan;
use crate::priors::SitePriors;
use crate::ranks::Ranks;
use crate::reading::{self, Tables};
use crate::report::CycleReport;
use crate::scope::Refusal;
use crate::settings::Settings;
use crate::trust;
use canonical::Standing;
use competition::Competition;
use lookup::{Held, Lastmod, Robots};
use obstacle::Obstacle;
use recrawl_archive::cap::Bodies;
use recrawl_archive::timestamp;
use recrawl_fetcher::promise::{LeftAlone, Promise};
use recrawl_fetcher::system_clock;
use recrawl_fetcher::unavailable::fails;
use recrawl_formula::{Formula, SiteRates, Term, estimator};
use recrawl_repository::{Generation, OriginRun};
use recrawl_scheduler::{Gate, HostPlaces, HostPlacesCounter};
use recrawl_types::{CanonicalUrl, Cycle, History, HostTable, Origin, PageRecord, ValidatorTrust};
use serde_json::{Value, json};
use std::time::Duration;

/// For a formula that does not look at them.
const NO_RATES: SiteRates = SiteRates { global: 0.0, site: 0.0 };
/// Reports in which the last cycle that crawled is looked for: imports and takedowns have reports too.
const RECENT: usize = 100;

/// What decides about a page, in the order in which it is asked.
pub struct Explanation {
    url: CanonicalUrl,
    record: PageRecord,
    cycle: Cycle,
    formula: Formula,
    gate: Gate,
    /// What the page is taken for, where the formula asks.
    rates: Option<SiteRates>,
    /// Among the pages that compete by score; from 1.
    rank: Option<u64>,
    /// What `schedule.max_per_host` leaves for it; none where there is no such limit, or it competes for nothing.
    places: Option<HostPlaces>,
    /// Pages that the next cycle chooses by all shares together.
    chosen: u64,
    /// Of these, the places that go by score whatever the others leave.
    score_places: u64,
    /// Pages that no fetch was ever tried of, after the last cycle.
    never_tried: Option<u64>,
    score: Option<f64>,
    cutoff: Option<f64>,
    robots: Robots,
    left_alone: Option<LeftAlone>,
    /// Failures in a row of its host, where one page of it is tried in a cycle until it answers.
    host_failures: Option<u32>,
    /// What its host may expect between an answer and the next request.
    delay: Option<Duration>,
    /// Are the host's validators believed? None where that cannot be looked up, or nothing is known.
    trust: Option<ValidatorTrust>,
    in_scope: Option<bool>,
    /// Why it is outside the scope, if it is.
    refusal: Option<Refusal>,
    /// What is known of the patterns of its address.
    trap: Option<traps::Standing>,
    /// Where it is said that the host's owner opted out.
    opted_out: Option<String>,
    /// What operators decided.
    held: Held,
    /// What is known of the page that this one names as canonical.
    canonical: Option<Standing>,
    lastmod: Lastmod,
    bodies: Bodies,
    history: PageHistory,
}

pub fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let mut settings = args.at.settings()?;
    let url =
        settings.rules.canonicalize(&args.url).map_err(|e| Failure::Usage(format!("{}: {e}", args.url)))?;
    let formula = match &args.formula {
        Some(text) => formula_file::find(text).map_err(|e| Failure::Usage(format!("--formula: {e}")))?,
        None => formula_file::in_force(&settings)?,
    };
    let repository = reading::repository(&settings)?;
    let generation = repository.current();
    let data_dir = settings.data_dir.clone();
    let Some((ordinal, record)) = generation.get(&url).map_err(Failure::work)? else {
        let tables = reading::tables(&data_dir);
        let decided = reading::decisions(&data_dir, || tables.clone())?;
        return Err(unknown(&mut settings, &decided, &tables, &url)?);
    };
    let mut reports = reading::last_reports(&repository, RECENT)?;
    let random_seed =
        reports.iter().rev().find(|report| report.is_of_crawl()).map(|report| report.random_seed);
    let last = reports.pop();
    let history = PageHistory::read(&repository.kept(), &url)?;
    // Opened last and for a moment: the tables are one process's, and a crawl may be about to start.
    let tables = || reading::tables(&data_dir);
    let decided = reading::decisions(&data_dir, tables)?;
    let origins = generation.origins().map_err(Failure::work)?;
    let page = Page {
        url,
        ordinal,
        record,
        formula,
        last: last.as_ref(),
        random_seed: random_seed.unwrap_or_default(),
        history,
        origins: &origins,
        ranks: None,
        decided: &decided,
    };
    let explanation = Explanation::of(page, &mut settings, &generation, tables)?;
    if args.json { print_json(&explanation.json()) } else { explanation.print() }
}

/// A page to be explained.
pub struct Page<'r> {
    /// Its address. It is known.
    pub url: CanonicalUrl,
    /// Its place in the generation.
    pub ordinal: u64,
    /// What the generation knows of it.
    pub record: PageRecord,
    /// What is to rank it.
    pub formula: Formula,
    /// The report of the last cycle.
    pub last: Option<&'r CycleReport>,
    /// The crawl's `--random-seed`: it breaks ties.
    pub random_seed: u64,
    /// Its visits in the cycles whose visits are kept.
    pub history: PageHistory,
    /// The origins of the generation.
    pub origins: &'r [OriginRun],
    /// How the generation's pages are ranked by the formula; else the page is counted among them.
    pub ranks: Option<&'r Ranks>,
    /// What operators decided.
    pub decided: &'r Decisions,
}

/// Whether a score suffices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chance {
    Sure,
    Likely,
    None,
}

impl Explanation {
    /// Looks up all that decides about a page; the tables last.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn of(
        page: Page<'_>,
        settings: &mut Settings,
        generation: &Generation,
        tables: impl FnOnce() -> Tables,
    ) -> Result<Explanation, Failure> {
        let Page { url, ordinal, record, formula, last, random_seed, history, origins, ranks, decided } =
            page;
        let cycle = generation.number().next();
        let warmup = settings.config.cycle.warmup;
        let gate = Gate::of(&record.known, record.visited.as_ref().map(|v| v.history.visits), cycle, warmup);
        let read;
        let priors = match ranks {
            Some(ranks) => &ranks.priors,
            None => {
                read = SitePriors::wanted_by(&formula, generation, origins, &|_| {})?;
                &read
            }
        };
        let rates = priors.as_ref().map(|priors| priors.of(ordinal));
        let terms = |history| formula.explain(history, rates.unwrap_or(NO_RATES), cycle);
        let score = record.visited.as_ref().map(|v| terms(&v.history)[0].value);
        let request = plan::request(settings, cycle, generation.pages(), random_seed);
        let mut hosts = origins.iter().map(|origin| origin.first..origin.first + origin.pages);
        let host = hosts.find(|host| host.contains(&ordinal)).unwrap_or_default();
        let competing = score.filter(|_| gate == Gate::Revisit);
        let among = Competition { request: &request, generation, formula: &formula, priors: priors.as_ref() };
        let rank = match (competing, ranks) {
            (Some(score), Some(ranks)) => Some(ranks.ranking.rank(ordinal, score)),
            (Some(score), None) => Some(among.rank(ordinal, score)?),
            (None, _) => None,
        };
        let places = HostPlacesCounter::new(&request, host.clone(), ordinal, &record, score);
        let places = places.map(|counter| among.places(counter, &host)).transpose()?;
        let tables = tables();
        let standing = lookup::scope(settings, decided, &tables, &url)?;
        let (in_scope, refusal) = (standing.as_ref().map(Option::is_none), standing.flatten());
        let trap = lookup::trap(settings, &tables, &url)?;
        let opted_out = settings.scope.opt_out().because(&url.host());
        let canonical = Standing::of(generation, &url, &record)?;
        let robots = lookup::robots(settings, &tables, &url)?;
        let left_alone = lookup::left_alone(settings, &tables, &url)?;
        let state = tables.as_ref().map_or(Ok(None), |tables| tables.load(&Origin::of(&url)))?;
        let promise = state.as_ref().map(|state| Promise::of(state, &settings.fetch, system_clock()()));
        let host_failures = state.as_ref().filter(|state| fails(state, &settings.fetch)).map(|s| s.failures);
        let trust = state.map(|state| state.trust);
        let lastmod = lookup::lastmod(settings, &tables, &url, &record)?;
        let held = lookup::held(decided, &url);
        // The cut-off of another formula says nothing of this one's scores.
        let cutoff = last.filter(|r: &&CycleReport| r.formula == formula.name).and_then(|r| r.cutoff);
        Ok(Explanation {
            url,
            record,
            cycle,
            formula,
            gate,
            rates,
            rank,
            places,
            chosen: request.pages,
            score_places: request.score_places(),
            never_tried: last.map(|last| last.never_tried),
            score,
            cutoff,
            robots,
            left_alone,
            host_failures,
            delay: promise.map(|promise| promise.delay),
            trust,
            in_scope,
            refusal,
            trap,
            opted_out,
            held,
            canonical,
            lastmod,
            bodies: Bodies::of(&settings.data_dir.join(WARC))?,
            history,
        })
    }
}

impl Explanation {
    fn verdict(&self) -> String {
        let known = &self.record.known;
        if let Some(why) = &self.opted_out {
            return format!("never: {why}");
        }
        if let Some(refusal) = &self.refusal {
            return format!("no: it is outside the scope: {refusal}");
        }
        let trap = self.trap.as_ref().filter(|_| self.record.visited.is_none());
        if let Some(refusal) = trap.and_then(traps::Standing::refusal) {
            return format!("no: {refusal}");
        }
        if let Some((what, by)) = self.held.first() {
            return format!("no: {what} by {} since {}", by.who, timestamp(by.at));
        }
        if self.robots.is_forbidden {
            return match self.robots.rule {
                Some(_) => "no: robots.txt forbids it".into(),
                None => format!("not now: robots.txt {}", self.robots.words),
            };
        }
        if let Some(left_alone) = self.left_alone {
            let until = left_alone.until().map(|at| format!(" before {}", timestamp(at)));
            return format!("not{}: its host is left alone, since {left_alone}", until.unwrap_or_default());
        }
        if let Some(failures) = self.host_failures {
            return format!(
                "only if it is the best page of its host: {failures} requests in a row failed there, so one page is tried in a cycle until it answers"
            );
        }
        if let Some(places) = self.places.filter(HostPlaces::are_taken) {
            let HostPlaces { limit, before, .. } = places;
            return format!(
                "not in the next cycle, unless the sample draws it: its host has {limit} places, and {before} of its pages go before it"
            );
        }
        match self.gate {
            Gate::Gone => "never: it is gone, confirmed three times; a seed that names it revives it".into(),
            Gate::Refused => format!(
                "no: a rule refused it in cycle {}; the cycle after the rule lets it in, or {} later, it competes again",
                known.last_attempt,
                crate::readmission::RECHECK_EVERY
            ),
            Gate::BackOff => {
                let due = known.last_attempt.0 + known.back_off();
                format!("not before cycle {due}: its last {} attempts failed", known.failures)
            }
            Gate::Discovery => "as the discovery share comes to it: it was never fetched".into(),
            Gate::Warmup => "in the next cycle: its warm-up visits are due whatever its score".into(),
            Gate::Revisit if self.lastmod.is_news => {
                "as the share of what is announced comes to it: a trusted date says that it changed".into()
            }
            Gate::Revisit => {
                let when = match self.by_rank() {
                    Some(Chance::Sure) => "in the next cycle",
                    Some(Chance::Likely) => "probably in the next cycle",
                    Some(Chance::None) => "not in the next cycle, unless the sample draws it",
                    None => return "by its score".into(),
                };
                format!("{when}: {}", self.standing())
            }
        }
    }

    /// Whether its score suffices for the next cycle, as far as that can be told before; none of a page without one.
    ///
    /// A rank within the score's own places does, one beyond all places does not. What is between hangs on what other shares
    /// leave, as they did or did not in the last cycle.
    fn by_rank(&self) -> Option<Chance> {
        let (score, rank) = (self.score?, self.rank?);
        let would_have = self.cutoff.is_none_or(|cutoff| score >= cutoff);
        Some(match rank {
            rank if rank <= self.score_places => Chance::Sure,
            rank if rank <= self.chosen && would_have => Chance::Likely,
            _ => Chance::None,
        })
    }

    /// Its rank beside the places there are.
    fn standing(&self) -> String {
        let (rank, score) = (self.rank.unwrap_or_default(), self.score.unwrap_or_default());
        let cutoff = self.cutoff.map(|cutoff| format!(", and the lowest chosen last was {cutoff:.4}"));
        format!(
            "rank {rank} by its score {score:.4}; of {} places {} go by score, and what others leave{}",
            self.chosen,
            self.score_places,
            cutoff.unwrap_or_default()
        )
    }

    fn terms(&self, history: &History) -> Vec<Term> {
        self.formula.explain(history, self.rates.unwrap_or(NO_RATES), self.cycle)
    }

    /// An estimator's value for this page, in the formula's basis: the terminal of its name, alone.
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
            Gate::Discovery => "discovery",
            Gate::Warmup => "warmup",
            Gate::Revisit => "score",
        }
    }

    /// For machines.
    pub fn json(&self) -> Value {
        let obstacles = self.obstacles();
        let history = self.record.visited.as_ref().map(|v| v.history);
        json!({
            "site_rate": self.rates.map(|r| r.site), "global_rate": self.rates.map(|r| r.global),
            "page": page_json(&self.url, &self.record, &self.bodies), "cycle": self.cycle, "gate": self.gate_name(),
            "formula": self.formula.expr.to_string(), "score": self.score, "rank": self.rank,
            "cutoff": self.cutoff, "host_places": self.places.map(obstacle::places_json), "terms": history.map(|h| self.terms(&h)),
            "lastmod_trust": self.lastmod.trust, "announced": self.lastmod.is_news,
            "robots": self.robots.words, "robots_rule": self.robots.rule, "robots_fetched": self.robots.fetched,
            "host_delay_ms": self.delay.map(|d| d.as_millis() as u64), "left_alone": self.left_alone.map(|l| l.name()),
            "validators": self.trust.map(|t| trust::name(t.belief)), "in_scope": self.in_scope,
            "refused_by": self.refusal.as_ref().map(Refusal::to_string),
            "trap": self.trap.as_ref().map(traps::Standing::json),
            "opted_out": self.opted_out, "canonical_standing": self.canonical.as_ref().map(Standing::name),
            "visited_next": self.verdict(),
            "stopped_by": obstacles.iter().map(Obstacle::json).collect::<Value>(),
            "would_be_fetched_if": obstacles.iter().map(|o| &o.lifted).collect::<Vec<_>>(),
            "visits": visits::json(&self.history.visits),
            "visits_since": self.history.since.map(|cycle| cycle.0),
        })
    }

    fn print(&self) -> Result<(), Failure> {
        let known = &self.record.known;
        print(format!("url         {}", self.url))?;
        print(format!(
            "known       since cycle {}, {} links from a seed, linked from {} pages",
            known.discovered, known.depth, known.in_links
        ))?;
        if known.failures > 0 {
            let (failures, last) = (known.failures, known.last_attempt);
            print(format!(
                "attempts    {failures} in a row failed or were denied, the last in cycle {last}"
            ))?;
        }
        match &self.record.visited {
            None => print("visited     never")?,
            Some(visited) => {
                let h = &visited.history;
                let t = self.cycle.since(h.last);
                print(format!("visited     first in cycle {}, last in cycle {}", h.first, h.last))?;
                print(format!(
                    "counters    n = {}, X = {}, t = {t} in cycle {}",
                    h.visits, h.changes, self.cycle
                ))?;
                let rates: Vec<String> = estimator::ALL.iter().map(|e| self.rate(e.name, h)).collect();
                print(format!("estimators  {} (by {})", rates.join(", "), self.formula.basis))?;
                if let Some(rates) = self.rates {
                    print(format!(
                        "taken for   {:.4} changes a cycle by its site, {:.4} by all pages",
                        rates.site, rates.global
                    ))?;
                }
                print(format!("formula     {}", self.formula.name))?;
                for term in self.terms(h) {
                    print(format!(
                        "            {:indent$}{} = {}",
                        "",
                        term.text,
                        term.value,
                        indent = 2 * term.depth
                    ))?;
                }
            }
        }
        if let Some(body) = self.bodies.words(self.record.visited.as_ref().map(|v| &v.content)) {
            print(format!("body        {body}"))?;
        }
        for (what, text) in canonical::wishes(&self.url, &self.record, self.canonical.as_ref()) {
            print(format!("{what:<10}  {text}"))?;
        }
        if let Some(trust) = &self.lastmod.trust {
            let at = timestamp(u64::from(known.lastmod) * 1000);
            let moved = if known.is_announced { "moved" } else { "not moved" };
            print(format!("lastmod     {at}, {moved} since the last visit; {trust}"))?;
        }
        if let Some(rank) = self.rank {
            print(format!("rank        {rank} by score"))?;
        }
        print(format!("robots.txt  {}", self.robots.words))?;
        if let Some(delay) = self.delay {
            print(format!("host        asked {delay:?} after each answer"))?;
        }
        if let Some(trust) = &self.trust {
            print(format!("validators  {}", trust::words(trust)))?;
        }
        if let Some(trap) = &self.trap {
            print(format!("trap        {}", trap.words()))?;
        }
        let scope = match (&self.refusal, self.in_scope) {
            (Some(refusal), _) => format!("outside: {refusal}"),
            (None, Some(_)) => "inside".into(),
            (None, None) => "not looked up: the running crawl keeps the sites of its seeds to itself".into(),
        };
        print(format!("scope       {scope}"))?;
        if let Some(why) = &self.opted_out {
            print(format!("opted out   {why}"))?;
        }
        if let Some(strip) = visits::strip(&self.history.visits) {
            print(format!("history     {strip}"))?;
        }
        for (what, by) in self.held.all() {
            print(format!("operator    {what} by {} since {}", by.who, timestamp(by.at)))?;
        }
        print(format!("visited     {}", self.verdict()))?;
        self.obstacles()
            .iter()
            .try_for_each(|obstacle| print(format!("            would be fetched if {}", obstacle.lifted)))
    }
}
