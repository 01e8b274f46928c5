//! Estimates of seeded crawls compared with the truth of the mock web: bias, and how often an
//! interval contains the truth.
//!
//! A crawl here is everything of a cycle but the sockets: the planner, the merge, the repository
//! and the report are the real ones. The mock web's laws define the content of a page, and chance
//! decides which page answers. `cargo test -p recrawl estimates -- --nocapture` prints the figures.

use super::*;
use crate::report::RoundReport;
use recrawl_fetcher::StoppedBy;
use recrawl_mockweb::ProceduralConfig;
use recrawl_mockweb::procedural::Procedural;
use recrawl_mockweb::web::Web;
use recrawl_repository::storage::{MemoryStorage, Storage};
use recrawl_repository::{BLOCK_PAGES, Repository};
use recrawl_scheduler::policy::formula::FormulaPolicy;
use recrawl_scheduler::shuffle::{Shuffle, ShufflePurpose};
use recrawl_scheduler::{Gate, PlanMemory, PlanRequest, Planner, Ties};
use recrawl_types::{
    CanonicalUrl, Content, Cycle, DatedRound, Failure, Fingerprint, Link, LogRecord, Share, Skip, UrlRules,
    Visit,
};
use recrawl_verifier::{Batch, BatchLimits, MergeReport, MergeRules, Waiting};
use std::collections::HashMap;
use std::sync::Arc;

const CRAWLS: u64 = 200;
const PAGES: u32 = 800;
const HOSTS: u32 = 24;
/// The first hosts are the largest; these change often, the others hardly ever.
const LIVELY: u32 = 2;
/// Cycles whose estimates count: in earlier ones, pages are found and visited for the first time.
const COUNTED: std::ops::RangeInclusive<u32> = 6..=8;
const WARMUP: u32 = 1;

/// Disturbances of a crawl.
#[derive(Clone, Copy)]
struct Disturbance {
    name: &'static str,
    /// Maximum pages per host and cycle.
    cap: u64,
    /// Probability that a visit fails.
    failures: f64,
    /// Probability that a whole host is down in a cycle.
    outages: f64,
    /// Share of the scheduled pages that is reached before the deadline, in a random order of
    /// hosts.
    reached: f64,
}

/// An estimate with its interval, and the truth.
struct JudgedEstimate {
    truth: f64,
    estimate: Estimate,
}

/// The estimates of one crawl, cycle by cycle.
#[derive(Default)]
struct CrawlEstimates {
    freshness: Vec<JudgedEstimate>,
    audit_change_rate: Vec<JudgedEstimate>,
    change_rate: Vec<JudgedEstimate>,
    /// Was the true freshness within the bounds?
    bounds: Vec<bool>,
    /// The share of unchanged pages in the unweighted sample, minus the truth.
    unweighted: Vec<f64>,
}

struct EstimateWorld {
    seed: u64,
    lively: Procedural,
    quiet: Procedural,
    pages: HashMap<CanonicalUrl, (u32, u32)>,
}

impl EstimateWorld {
    fn new(seed: u64) -> EstimateWorld {
        let web = |mix: &str| {
            let mix = mix.parse().unwrap();
            let config =
                ProceduralConfig { pages: PAGES, hosts: HOSTS, seed, skew: 1.2, mix, ..Default::default() };
            Procedural::new(config).unwrap()
        };
        let (lively, quiet) = (web("poisson=70,periodic=30"), web("static=80,poisson=20"));
        let pages = (0..PAGES).map(|page| {
            let address = quiet.address(page);
            let url = format!("http://h{:02}.test{}", address.host, address.target);
            (UrlRules::keep_all().canonicalize(&url).unwrap(), (page, address.host))
        });
        EstimateWorld { seed, pages: pages.collect(), lively, quiet }
    }

    /// The content of the page in a cycle, as a number.
    fn version(&self, url: &CanonicalUrl, cycle: Cycle) -> u32 {
        let (page, host) = self.pages[url];
        let web = if host < LIVELY { &self.lively } else { &self.quiet };
        web.version(page, cycle.0).unwrap()
    }

    /// A random number from 0 to 1, the same for the same crawl, cycle, purpose and thing.
    fn chance(&self, cycle: Cycle, purpose: u64, thing: u64) -> f64 {
        let shuffle = Shuffle::new(self.seed ^ purpose << 32, cycle, ShufflePurpose::Scores);
        shuffle.apply(thing) as f64 / u64::MAX as f64
    }
}

struct SampledCrawl {
    world: EstimateWorld,
    trouble: Disturbance,
    storage: Arc<dyn Storage>,
    repository: Repository,
}

/// The pages of a plan, and the true freshness of the population of the audit sample.
struct PlannedPages {
    facts: Facts,
    chosen: Vec<(CanonicalUrl, Share, Option<u64>)>,
    freshness: f64,
}

impl SampledCrawl {
    fn new(seed: u64, trouble: Disturbance) -> SampledCrawl {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
        let repository = Repository::open(storage.clone()).unwrap();
        SampledCrawl { world: EstimateWorld::new(seed), trouble, storage, repository }
    }

    /// Merges the records of a cycle's log, and commits.
    fn commit(&mut self, log: impl Iterator<Item = LogRecord>) -> MergeReport {
        let generation = self.repository.current();
        let round = generation.dated().in_next_cycle();
        let cycle = round.cycle;
        let mut batch = Batch::new(self.storage.clone(), round, BatchLimits::default());
        log.for_each(|record| batch.add(record).unwrap());
        let rules = MergeRules {
            max_hops: 5,
            max_pages_per_host: 1_000_000,
            waiting: Waiting { max_cycles: 0, has_turns: true, enough: 0 },
            block_pages: BLOCK_PAGES,
            threads: 1,
            ..MergeRules::unlimited(cycle, &|_, before, after| {
                before.content.fingerprint != after.fingerprint
            })
        };
        let mut next = self.repository.begin(&generation, self.repository.current().cycle().next()).unwrap();
        let report =
            recrawl_verifier::merge(&generation, batch.finish().unwrap(), &mut next, &rules).unwrap();
        self.repository.commit(next, b"").unwrap();
        report
    }

    fn visit(&self, url: &CanonicalUrl, share: Share, cycle: Cycle, seen: Option<u64>) -> Visit {
        let version = u64::from(self.world.version(url, cycle));
        let change = match seen {
            None => Change::First,
            Some(seen) if seen == version => Change::Unchanged,
            Some(_) => Change::Changed,
        };
        let fingerprint = Fingerprint { simhash: version, digest: version.into() };
        Visit {
            share,
            content: Some(Content { fingerprint, ..Content::default() }),
            ..Visit::new(url.clone(), Outcome::Fetched(change))
        }
    }

    /// The program's plan of the next cycle, and the true freshness of the population of the audit
    /// sample.
    fn plan(&self) -> PlannedPages {
        let generation = self.repository.current();
        let round = generation.dated().in_next_cycle();
        let cycle = round.cycle;
        let formula = recrawl_formula::Formula::from_expression("t * (X + 0.1) / (n + 1)").unwrap();
        let mut policy = FormulaPolicy::new(&formula);
        let request = PlanRequest {
            cycle,
            pages: 120,
            discovery_share: 0.0,
            announced_share: 0.0,
            audit_share: 0.4,
            discovery_min: 0,
            warmup: WARMUP,
            max_per_host: Some(self.trouble.cap),
            max_per_host_in_round: None,
            samples_siblings: false,
            sums_expected: false,
            explore: 0.0,
            round: 0,
            seed: self.world.seed,
            ties: Ties::Hash,
            policy: recrawl_scheduler::policy::PolicyKind::default(),
        };
        let (mut origins, mut runs) = (Vec::new(), generation.origin_runs());
        while let Some(run) = runs.next_run().unwrap() {
            origins.push(run.clone());
        }
        let hosts = origins.iter().map(|origin| origin.pages);
        let mut planner = Planner::new(request, &mut policy, hosts, PlanMemory::unlimited()).unwrap();
        let mut gates = Vec::new();
        generation
            .scan(false, |_, columns| -> Result<(), recrawl_repository::ReadError> {
                gates.extend((0..columns.len()).map(|row| Gate::of_row(columns, row, cycle, WARMUP)));
                planner.scan(columns).unwrap();
                Ok(())
            })
            .unwrap();
        let plan = planner.finish().unwrap();
        let facts = Facts {
            cutoff: plan.cutoff,
            scheduled: plan.counts.chosen(),
            random_seed: self.world.seed,
            by_score: Some(plan.counts.score),
            audit_eligible: Some(plan.counts.audit_eligible),
            ..Facts::without_plan(DatedRound::only_of(cycle), 0, &formula.name)
        };
        let shares: HashMap<u64, Share> =
            plan.chosen.map(|page| page.map(|page| (page.ordinal, page.share)).unwrap()).collect();
        let mut has_place = Vec::new();
        for origin in &origins {
            let pages = origin.first as usize..(origin.first + origin.pages) as usize;
            let warmup = gates[pages.clone()].iter().filter(|gate| **gate == Gate::Warmup).count() as u64;
            has_place.extend(pages.map(|_| warmup < self.trouble.cap));
        }
        let (mut chosen, mut eligible, mut fresh) = (Vec::new(), 0u64, 0u64);
        let mut pages = generation.gather(0..generation.pages());
        while let Some((ordinal, url, record)) = pages.next_page().unwrap() {
            let seen = record.visited.map(|visited| visited.content.fingerprint.simhash);
            if gates[ordinal as usize] == Gate::Revisit && has_place[ordinal as usize] {
                eligible += 1;
                fresh += u64::from(seen == Some(self.world.version(&url, cycle).into()));
            }
            if let Some(share) = shares.get(&ordinal) {
                chosen.push((url, *share, seen));
            }
        }
        assert_eq!(facts.audit_eligible, Some(eligible), "the population of the sample");
        PlannedPages { facts, chosen, freshness: fresh as f64 / eligible as f64 }
    }

    /// Outcomes of the scheduled pages.
    fn fetch(&self, planned: &PlannedPages) -> Vec<Visit> {
        let (cycle, trouble, world) = (planned.facts.cycle, self.trouble, &self.world);
        let mut order: Vec<usize> = (0..planned.chosen.len()).collect();
        let lot = |at: &usize| {
            let (page, host) = world.pages[&planned.chosen[*at].0];
            let [host, page] = [(1, host), (2, page)].map(|(what, of)| world.chance(cycle, what, of.into()));
            [host.to_bits(), page.to_bits()]
        };
        order.sort_by_key(lot);
        let reached = (trouble.reached * order.len() as f64).round() as usize;
        let one = |(place, at): (usize, usize)| {
            let (url, share, seen) = &planned.chosen[at];
            let (page, host) = world.pages[url];
            let is_down = world.chance(cycle, 3, host.into()) < trouble.outages;
            let visit = self.visit(url, *share, cycle, *seen);
            let brings_nothing = |outcome| Visit { share: *share, ..Visit::new(url.clone(), outcome) };
            if place >= reached {
                brings_nothing(Outcome::Skipped(Skip::Deadline))
            } else if is_down || world.chance(cycle, 4, page.into()) < trouble.failures {
                brings_nothing(Outcome::Failed(Failure::Timeout))
            } else {
                visit
            }
        };
        order.into_iter().enumerate().map(one).collect()
    }

    fn run(mut self) -> CrawlEstimates {
        let seeds: Vec<CanonicalUrl> = self.world.pages.keys().cloned().collect();
        let links = seeds.iter().map(|url| Link::to(url.clone(), 0)).collect();
        self.commit(std::iter::once(LogRecord::Seeds(links)));
        // All are visited twice at the start; with the cap this would take long.
        for start in 0..2 {
            let round = self.repository.current().dated().in_next_cycle();
            let cycle = round.cycle;
            let visit = |url: &CanonicalUrl| {
                let before = u64::from(self.world.version(url, Cycle(cycle.0 - 1)));
                self.visit(url, Share::Discovery, cycle, Some(before).filter(|_| start > 0))
            };
            let visits: Vec<Visit> = seeds.iter().map(visit).collect();
            self.commit(visits.into_iter().map(|visit| LogRecord::Visit(Box::new(visit))));
        }
        let mut told = CrawlEstimates::default();
        while self.repository.current().number().0 < *COUNTED.end() {
            let planned = self.plan();
            let visits = self.fetch(&planned);
            let (mut tally, mut responses) = (Tally::default(), PageResponses::default());
            for visit in &visits {
                tally.add(visit, 0);
                responses.add(visit, None, &PageRules::default());
            }
            let by_score: Vec<bool> = planned
                .chosen
                .iter()
                .filter(|(_, share, _)| *share == Share::Score)
                .map(|(url, _, seen)| *seen != Some(self.world.version(url, planned.facts.cycle).into()))
                .collect();
            let merged = self.commit(visits.into_iter().map(|visit| LogRecord::Visit(Box::new(visit))));
            if COUNTED.contains(&planned.facts.cycle.0) {
                let report = {
                    let sample = CycleSample::new(&tally, responses, &planned.facts);
                    RoundReport::new(&planned.facts, tally, &sample, &merged, StoppedBy::End, 0)
                };
                told.note(&report, planned.freshness, &by_score);
            }
        }
        told
    }
}

impl CrawlEstimates {
    fn note(&mut self, report: &RoundReport, freshness: f64, by_score: &[bool]) {
        let Estimates { freshness: fresh, audit_change_rate, change_rate, freshness_bounds, .. } =
            report.estimates;
        let changed = by_score.iter().filter(|changed| **changed).count() as f64 / by_score.len() as f64;
        let tally = &report.tally;
        if let (Some(estimate), Some([low, high])) = (fresh, freshness_bounds) {
            self.freshness.push(JudgedEstimate { truth: freshness, estimate });
            self.bounds.push((low..=high).contains(&freshness));
            let share = tally.audit_changed as f64 / tally.audit_visits as f64;
            self.unweighted.push(1.0 - share - freshness);
        }
        self.audit_change_rate
            .extend(audit_change_rate.map(|estimate| JudgedEstimate { truth: 1.0 - freshness, estimate }));
        self.change_rate.extend(change_rate.map(|estimate| JudgedEstimate { truth: changed, estimate }));
    }
}

/// Over all crawls: the mean error, its standard error, and the share of intervals that contain the
/// truth.
struct Quality {
    bias: f64,
    error: f64,
    coverage: f64,
    width: f64,
}

impl Quality {
    /// The cycles of one crawl are alike, so the standard error is over crawls.
    fn measure(crawls: &[CrawlEstimates], figure: fn(&CrawlEstimates) -> &Vec<JudgedEstimate>) -> Quality {
        let all = || crawls.iter().flat_map(figure);
        let count = all().count() as f64;
        let of_crawl = |told: &CrawlEstimates| {
            let errors: Vec<f64> = figure(told).iter().map(|j| j.estimate.share - j.truth).collect();
            errors.iter().sum::<f64>() / errors.len() as f64
        };
        let means: Vec<f64> = crawls.iter().map(of_crawl).collect();
        let n = means.len() as f64;
        let bias = means.iter().sum::<f64>() / n;
        let squares: f64 = means.iter().map(|mean| (mean - bias) * (mean - bias)).sum();
        // An ulp of tolerance for exact shares: their interval is a point.
        let holds =
            |j: &&JudgedEstimate| j.estimate.low - 1e-9 <= j.truth && j.truth <= j.estimate.high + 1e-9;
        Quality {
            bias,
            error: (squares / (n - 1.0) / n).sqrt(),
            coverage: all().filter(holds).count() as f64 / count,
            width: all().map(|j| j.estimate.high - j.estimate.low).sum::<f64>() / count,
        }
    }

    fn print(&self, name: &str) {
        println!(
            "  {name:18}  bias {:+.4} ± {:.4}, intervals of {:.3} hold the truth in {:.1} %",
            self.bias,
            self.error,
            self.width,
            100.0 * self.coverage
        );
    }
}

fn crawls(trouble: Disturbance) -> Vec<CrawlEstimates> {
    let told: Vec<CrawlEstimates> = (0..CRAWLS).map(|seed| SampledCrawl::new(seed, trouble).run()).collect();
    println!("{} ({CRAWLS} crawls, cycles {COUNTED:?})", trouble.name);
    let unweighted: Vec<f64> = told.iter().flat_map(|told| told.unweighted.iter().copied()).collect();
    let bounds: Vec<bool> = told.iter().flat_map(|told| told.bounds.iter().copied()).collect();
    for (name, figure) in FIGURES {
        Quality::measure(&told, figure).print(name);
    }
    println!(
        "  freshness unweighted would be off by {:+.4}; its bounds hold the truth in {:.1} %",
        unweighted.iter().sum::<f64>() / unweighted.len() as f64,
        100.0 * bounds.iter().filter(|held| **held).count() as f64 / bounds.len() as f64
    );
    told
}

/// A figure's name and its field.
type NamedFigure = (&'static str, fn(&CrawlEstimates) -> &Vec<JudgedEstimate>);

const FIGURES: [NamedFigure; 3] = [
    ("freshness", |told| &told.freshness),
    ("audit ChangeRate", |told| &told.audit_change_rate),
    ("ChangeRate", |told| &told.change_rate),
];

const CAPS: Disturbance = Disturbance { name: "caps", cap: 8, failures: 0.0, outages: 0.0, reached: 1.0 };

/// If pages fail by chance, every estimate is unbiased, and its interval contains the truth as
/// often as stated. A deadline misses whole hosts, drawn at random: that is unbiased too, and the
/// intervals allow for pages of a host being alike.
#[test]
fn estimates_of_two_hundred_crawls_are_without_bias_and_intervals_hold_the_truth() {
    for trouble in [
        CAPS,
        Disturbance { name: "caps, failures", failures: 0.15, ..CAPS },
        Disturbance { name: "caps, failures, deadlines", failures: 0.1, reached: 0.7, ..CAPS },
    ] {
        let told = crawls(trouble);
        let bounds: Vec<bool> = told.iter().flat_map(|told| told.bounds.iter().copied()).collect();
        let held = bounds.iter().filter(|held| **held).count() as f64 / bounds.len() as f64;
        assert!(held > 0.93, "{}: bounds hold the truth in {held}", trouble.name);
        for (name, figure) in FIGURES {
            let quality = Quality::measure(&told, figure);
            assert!(quality.bias.abs() < 4.0 * quality.error + 1e-9, "{}, {name}", trouble.name);
            assert!(quality.bias.abs() < 0.015 && quality.coverage > 0.93, "{}, {name}", trouble.name);
        }
        let errors = told.iter().flat_map(|told| &told.unweighted);
        let unweighted = errors.clone().sum::<f64>() / errors.count() as f64;
        assert!(unweighted > 0.03, "{}: the sample is such that weights matter", trouble.name);
    }
}

/// If whole hosts do not answer, the others are no fair sample of all. The bounds show that.
#[test]
fn where_hosts_are_down_the_bounds_hold() {
    let told = crawls(Disturbance { name: "caps, outages", outages: 0.2, ..CAPS });
    let bounds: Vec<bool> = told.iter().flat_map(|told| told.bounds.iter().copied()).collect();
    let held = bounds.iter().filter(|held| **held).count() as f64 / bounds.len() as f64;
    assert!(held > 0.95, "{held}");
    let freshness = Quality::measure(&told, |told| &told.freshness);
    assert!(freshness.bias.abs() < 0.03 && freshness.coverage > 0.92);
}

#[test]
fn an_unmeasured_sample_is_stored_as_before() {
    let stored = serde_json::to_value(CycleSample::default()).unwrap();
    assert!(
        stored["responses"]["beside_expected"].is_null() && stored.get("population").is_none(),
        "{stored}"
    );
}
