//! What forecasts start from, and the forecasts, for commands and for the console of a daemon.

use super::counted;
use crate::cli::{OwnVisitsArgs, PagesACycle};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_crawl::parts::improve::rules::MIN_KEPT_CYCLES;
use recrawl_crawl::report::watch::{CrawlWatch, ENOUGH_AUDITED, Follower, Pooled};
use recrawl_crawl::settings::{Settings, formula_file};
use recrawl_estimation::Interval;
use recrawl_forecast::what_if::{BUDGETS, BudgetReplays, Forecast, RevisitSavings, savings};
use recrawl_forecast::{Completions, Histories, SampleRequest};
use recrawl_formula::Formula;
use recrawl_repository::{Generation, StoredRounds};
use serde::{Serialize, Serializer};
use std::fmt;

/// Pages and groups below which nothing is forecast.
const ENOUGH_PAGES: u64 = 200;
const ENOUGH_GROUPS: u64 = 5;
/// The formula of plain revisiting: the page that was not visited for the longest time comes first.
const PLAIN: &str = "t";
/// The largest budget that is replayed.
pub const LARGEST: f64 = BUDGETS[BUDGETS.len() - 1];

/// The sample, and whether it tells enough.
#[derive(Clone, Debug, Serialize)]
pub struct SampleBasis {
    /// Is there enough for a forecast?
    pub enough: bool,
    /// What is missing, and how much it takes.
    pub missing: Vec<Shortage>,
    /// The measured freshness before the visits of a cycle.
    pub freshness: Pooled,
    /// Revisits of a cycle.
    pub pages_a_cycle: f64,
    /// Pages of the sample, of how many.
    pub sample_pages: u64,
    pub population: u64,
    /// Cycles whose visits are used.
    pub first_cycle: u32,
    pub last_cycle: u32,
    /// Sites, or folders of few sites.
    pub groups: u64,
    /// Pages left out since record and visits disagree, and pages whose first gap was taken for usual.
    pub left_out: u64,
    pub censored: u64,
    /// Why older visits are not used.
    pub ends_at: Option<String>,
    /// Changes overwritten unseen, for each change that a visit found.
    pub missed_a_found: Option<f64>,
}

/// Too few of something; text in JSON.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shortage {
    pub what: Scarce,
    pub there: u64,
    pub needed: u64,
}

/// Of what there can be too few.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scarce {
    Audited,
    Pages,
    Groups,
    Cycles,
}

impl Scarce {
    /// Its name in the plural.
    pub fn name(self) -> &'static str {
        match self {
            Scarce::Audited => "audited pages",
            Scarce::Pages => "pages with a history",
            Scarce::Groups => "sites or folders",
            Scarce::Cycles => "cycles whose visits are kept",
        }
    }
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shortage { what, there, needed } = *self;
        let there = match what {
            Scarce::Audited => format!("{} audited", counted(there, "page")),
            Scarce::Pages => format!("{} with a history", counted(there, "page")),
            Scarce::Groups => counted(there, "site or folder"),
            Scarce::Cycles => format!("visits of {} kept", counted(there, "cycle")),
        };
        write!(f, "{there}, {needed} are needed")
    }
}

impl Serialize for Shortage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl SampleBasis {
    fn new(histories: &Histories, completions: Option<&Completions<'_>>, freshness: Pooled) -> SampleBasis {
        let cycles = u64::from(histories.last.since(histories.first)) + 1;
        let (pages, groups) =
            (histories.pages.len() as u64, completions.map_or(0, Completions::groups) as u64);
        let least = [
            (
                Scarce::Audited,
                if freshness.enough { ENOUGH_AUDITED } else { freshness.pages },
                ENOUGH_AUDITED,
            ),
            (Scarce::Pages, pages, ENOUGH_PAGES),
            // Without pages there are no groups either.
            (Scarce::Groups, if pages < ENOUGH_PAGES { ENOUGH_GROUPS } else { groups }, ENOUGH_GROUPS),
            (Scarce::Cycles, cycles, MIN_KEPT_CYCLES.into()),
        ];
        let missing: Vec<Shortage> = least
            .into_iter()
            .filter(|(_, there, needed)| there < needed)
            .map(|(what, there, needed)| Shortage { what, there, needed })
            .collect();
        SampleBasis {
            enough: missing.is_empty(),
            missing,
            freshness,
            pages_a_cycle: histories.visits_a_page() * histories.population as f64,
            sample_pages: pages,
            population: histories.population,
            first_cycle: histories.first.0,
            last_cycle: histories.last.0,
            groups,
            left_out: histories.left_out,
            censored: histories.censored,
            ends_at: histories.ends_at.clone(),
            missed_a_found: completions.and_then(Completions::missed_a_found),
        }
    }
}

/// Reads the reports of all cycles, one at a time.
///
/// # Errors
/// When they cannot be read.
pub fn watched(settings: &Settings) -> Result<CrawlWatch, Failure> {
    Ok(Follower::read(&open_read::repository(settings)?)?.watch())
}

/// What forecasts start from.
pub struct ForecastStart {
    /// The sample.
    pub histories: Histories,
    freshness: Pooled,
    /// The formula in force.
    pub formula: Formula,
}

/// The budget of plain revisiting, and the revisits of a cycle that the formula in force saves.
#[derive(Clone, Copy, Debug)]
pub struct PlainRevisiting {
    pub savings: RevisitSavings,
    /// At least these, if plain revisiting needs more than was replayed.
    pub pages_saved: f64,
}

impl ForecastStart {
    /// Reads the crawl that the arguments name.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(settings: &Settings, own: &OwnVisitsArgs) -> Result<ForecastStart, Failure> {
        let freshness = watched(settings)?.freshness;
        let (histories, formula) = (histories(settings, own)?, formula_file::in_force(settings)?);
        Ok(ForecastStart { histories, freshness, formula })
    }

    /// Reads an open crawl whose freshness is known.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn over(
        settings: &Settings,
        generation: &Generation,
        kept: &StoredRounds,
        request: SampleRequest,
        freshness: Pooled,
    ) -> Result<ForecastStart, Failure> {
        let formula = formula_file::in_force(settings)?;
        let histories = Histories::read(generation, kept, request).map_err(Failure::work)?;
        Ok(ForecastStart { histories, freshness, formula })
    }

    fn measured(&self) -> Option<Interval> {
        let (value, [low, high]) = (self.freshness.share?, self.freshness.interval?);
        let half = (high - low) / 2.0 / recrawl_estimation::interval::Z;
        Some(Interval { value, variance: half * half, sample: self.freshness.pages })
    }

    /// The completed histories; none without pages.
    fn completions(&self) -> Option<Completions<'_>> {
        (!self.histories.pages.is_empty()).then(|| Completions::new(&self.histories))
    }

    /// Freshness at these budgets, or those of [`BUDGETS`] if there are none; empty if there is not enough.
    pub fn what_if(&self, asked: &[PagesACycle]) -> (SampleBasis, Vec<Forecast>) {
        let completions = self.completions();
        let basis = SampleBasis::new(&self.histories, completions.as_ref(), self.freshness);
        let mut forecasts = Vec::new();
        if let (Some(completions), Some(measured), true) = (&completions, self.measured(), basis.enough) {
            let budget = |pages: &PagesACycle| match *pages {
                PagesACycle::Times(times) => times,
                PagesACycle::Number(pages) => pages as f64 / basis.pages_a_cycle,
            };
            let asked: Vec<f64> = asked.iter().map(budget).collect();
            let budgets = if asked.is_empty() { &BUDGETS[..] } else { &asked };
            let visits = self.histories.visits_a_page();
            forecasts = BudgetReplays::run(completions, &self.formula, visits, budgets).forecasts(measured);
        }
        (basis, forecasts)
    }

    /// What plain revisiting would need; none if there is not enough.
    ///
    /// # Errors
    /// If the formula of plain revisiting cannot be read, which is a bug.
    pub fn savings(&self) -> Result<(SampleBasis, Option<PlainRevisiting>), Failure> {
        let completions = self.completions();
        let basis = SampleBasis::new(&self.histories, completions.as_ref(), self.freshness);
        let Some(completions) = completions.filter(|_| basis.enough) else { return Ok((basis, None)) };
        let visits = self.histories.visits_a_page();
        let uniform = Formula::from_expression(PLAIN).map_err(Failure::work)?;
        let ours = BudgetReplays::run(&completions, &self.formula, visits, &[]);
        let savings = savings(&ours, &BudgetReplays::run(&completions, &uniform, visits, &BUDGETS));
        let pages_saved = (savings.budget.unwrap_or(LARGEST) - 1.0) * basis.pages_a_cycle;
        Ok((basis, Some(PlainRevisiting { savings, pages_saved })))
    }
}

/// Reads a sample of the crawl's own pages and visits.
///
/// # Errors
/// When they cannot be read.
pub fn histories(settings: &Settings, own: &OwnVisitsArgs) -> Result<Histories, Failure> {
    let repository = open_read::repository(settings)?;
    let request = request(settings, own.sample_pages, own.sample_cycles);
    let mut histories =
        Histories::read(&repository.current(), &repository.kept(), request).map_err(Failure::work)?;
    histories.weigh(|url| settings.pages.importance(url));
    Ok(histories)
}

/// A sample of at most this many pages, and of the last cycles.
pub fn request(settings: &Settings, pages: u32, cycles: u32) -> SampleRequest {
    SampleRequest { pages: pages as usize, cycles, warmup: settings.config.cycle.warmup, seed: 0 }
}
