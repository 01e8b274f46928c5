//! Measurements of a plan, and what the next one needs of them (`improve.mode`).

use crate::crawl::Crawl;
use crate::cycle::inputs::FormulaInputs;
use crate::failure::Failure;
use crate::parts::improve::panel::AuditPanel;
use crate::parts::improve::population::{PopulationCounter, ScorePopulation};
use crate::report::facts::Facts;
use crate::site_rates::SitePriors;
use recrawl_formula::expected_change;
use recrawl_repository::Generation;
use recrawl_scheduler::{ChosenPage, DueFirst, ExpectedChanges, PlanCounts, PlanRequest, WhyFirst};
use recrawl_types::{CanonicalUrl, Cycle, Expected, PageRecord, Share, Standing, StateColumns};

/// Part of the audit share that goes to the panel.
const PANEL_PART: f64 = 0.25;

/// A plan that is measured.
pub(super) struct Measuring {
    cycle: Cycle,
    /// The rate of all pages together, in changes a cycle.
    rate: f64,
    counter: PopulationCounter,
    panel: AuditPanel,
    /// Pages that the panel has in the long run.
    panel_pages: f64,
}

/// How chosen pages stand in the plan.
pub(super) struct Standings {
    cycle: Cycle,
    rate: f64,
    /// By arm, as the next.
    cutoffs: Vec<Option<f64>>,
    panel: AuditPanel,
    /// Pages that enter the panel, and those of them met so far.
    entrants: Vec<u64>,
    entered: Vec<CanonicalUrl>,
}

/// Measurements of a plan.
pub(super) struct PlanMeasures {
    pub population: ScorePopulation,
    /// The rate of all pages together, for the next plan.
    pub next_rate: f64,
    pub standings: Standings,
}

impl Measuring {
    /// Begins to measure a plan. The rate comes from what the formula reads anyway, or from the last plan, or from a
    /// pass of its own if there was none.
    ///
    /// # Errors
    /// When the generation or the tables cannot be read.
    pub fn begin(
        crawl: &Crawl,
        generation: &Generation,
        inputs: &FormulaInputs,
        request: &PlanRequest,
        last: Option<&Facts>,
    ) -> Result<Measuring, Failure> {
        let known = inputs.global_rate().or_else(|| last.and_then(|last| last.rate_before(request.cycle)));
        let rate = match known {
            Some(rate) => rate,
            None => SitePriors::read(generation, &|_| crawl.live.moved())?.global(),
        };
        Ok(Measuring {
            cycle: request.cycle,
            rate,
            counter: PopulationCounter::new(request.cycle, request.warmup),
            panel: AuditPanel::for_cycle(&crawl.tables, request.cycle)?,
            panel_pages: PANEL_PART * request.audit_share * request.pages as f64,
        })
    }

    /// The request with the panel in place of a part of the audit sample.
    pub fn request(&self, request: PlanRequest) -> PlanRequest {
        let audit_share = request.audit_share * (1.0 - PANEL_PART);
        PlanRequest { audit_share, sums_expected: true, ..request }
    }

    /// The pages of the panel.
    ///
    /// # Errors
    /// When the generation cannot be read.
    pub fn first(&self, generation: &Generation) -> Result<Vec<DueFirst>, Failure> {
        let ordinals = generation.ordinals(&self.panel.urls()).map_err(Failure::work)?;
        Ok(ordinals.into_iter().map(|ordinal| DueFirst { ordinal, why: WhyFirst::Panel }).collect())
    }

    /// Adds a block, and fills in the rate that the expectation reads.
    pub fn add(&mut self, columns: &mut StateColumns) {
        columns.global_rate = self.rate;
        self.counter.add(columns);
    }

    /// The measurements, once all pages are chosen: of all arms, and the lowest score and the part of the pages of each.
    pub fn finish(
        self,
        counts: PlanCounts,
        expected: ExpectedChanges,
        cutoffs: Vec<Option<f64>>,
        parts: &[f64],
    ) -> PlanMeasures {
        let Measuring { cycle, rate, counter, panel, panel_pages } = self;
        let entrants = parts.iter().map(|part| AuditPanel::entrants(part * panel_pages, cycle)).collect();
        PlanMeasures {
            next_rate: counter.rate(),
            population: counter.finish(counts, expected, rate),
            standings: Standings { cycle, rate, cutoffs, panel, entrants, entered: Vec::new() },
        }
    }
}

impl Standings {
    /// How a chosen page stands; none if it was never visited. The first pages drawn for the audit enter the panel.
    pub fn standing(
        &mut self,
        page: &ChosenPage,
        url: &CanonicalUrl,
        record: &PageRecord,
    ) -> Option<Standing> {
        let history = &record.visited.as_ref()?.history;
        if matches!(page.share, Share::Audit(_)) && page.rank <= self.entrants[page.arm] {
            self.entered.push(url.clone());
        }
        Some(Standing {
            age: self.cycle.since(history.last),
            score: page.score,
            expected: Expected::from(expected_change(history, self.cycle, self.rate)),
            is_above_cutoff: self.cutoffs[page.arm].is_some_and(|cutoff| page.score >= cutoff as f32),
            is_only_in_force: page.is_only_in_force,
        })
    }

    /// Keeps the panel of the next cycle.
    ///
    /// # Errors
    /// When the tables cannot be written.
    pub fn keep_panel(self, crawl: &Crawl) -> Result<(), Failure> {
        self.panel.keep(&crawl.tables, self.entered, self.cycle)
    }
}
