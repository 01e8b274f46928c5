//! Rounds and the loop of `improve`: a cycle's first plan moves the loop on, and each commit notes what was
//! found.

use crate::crawl::Crawl;
use crate::failure::Failure;
use crate::parts::improve::arms::{Division, MANY, TrialPlaces};
use crate::parts::improve::candidate::FormulaCandidate;
use crate::parts::improve::steps::{CycleStart, ImproveStep, PlanComparison};
use crate::report::RoundReport;
use crate::report::facts::Facts;
use crate::settings::formula_file;
use crate::site_rates::each_site;
use recrawl_estimation::drift::CycleFound;
use recrawl_formula::Formula;
use recrawl_repository::Generation;
use recrawl_types::{CanonicalUrl, Cycle};
use std::collections::HashSet;
use xxhash_rust::xxh3::xxh3_64;

/// The comparison that a plan of this cycle makes. When it begins the cycle, the loop moves on first, which may put another formula
/// in force.
///
/// # Errors
/// When the state, the candidate's formula or the generation cannot be read, or the state cannot be written.
pub fn compared(
    crawl: &Crawl,
    generation: &Generation,
    cycle: Cycle,
    begins_cycle: bool,
) -> Result<Option<PlanComparison>, Failure> {
    let Some(rules) = crawl.settings.loop_rules else { return Ok(None) };
    carry_out(crawl)?;
    if begins_cycle {
        let in_force = formula_file::in_force(&crawl.settings)?;
        let now = CycleStart {
            cycle,
            at: (crawl.clock)(),
            in_force: &in_force,
            candidate: FormulaCandidate::read(&crawl.settings.data_dir),
            places: places(generation, rules.min_places)?,
            seed: crawl.random_seed,
        };
        // Kept before it acts: what is to be written is part of it.
        crawl.improve.change(|state| state.advance(now, &rules))?;
        carry_out(crawl)?;
    }
    let k = crawl.settings.config.cycle.pages.out_of(generation.pages());
    crawl.improve.read()?.comparison(cycle, k, &rules)
}

/// Ends the attempt: a plan chose pages whose score is not a number, so the formula before plans the next cycle.
///
/// # Errors
/// When the state cannot be read or written.
pub fn fail(crawl: &Crawl, cycle: Cycle) -> Result<(), Failure> {
    let Some(rules) = crawl.settings.loop_rules else { return Ok(()) };
    let at = (crawl.clock)();
    crawl.improve.change(|state| {
        state.fail(cycle, at, &rules, "a plan chose pages whose score is not a number");
    })
}

/// Carries out what the loop has decided, also after a kill: writes the formula, unless an operator has chosen one since,
/// and removes the file of a candidate that was taken up or refused.
fn carry_out(crawl: &Crawl) -> Result<(), Failure> {
    let state = crawl.improve.read()?;
    if !state.has_to_write() && state.done_with.is_none() {
        return Ok(());
    }
    crawl.improve.change(|state| {
        if let Some(done_with) = &state.done_with {
            let data_dir = &crawl.settings.data_dir;
            let id =
                FormulaCandidate::read(data_dir).map(|read| read.map_or(String::new(), |file| file.id()));
            if id.as_ref() == Some(done_with) {
                FormulaCandidate::remove(data_dir)?;
            }
            state.done_with = None;
        }
        if let Some(toml) = state.to_write(&formula_file::in_force(&crawl.settings)?) {
            let formula = Formula::from_toml(toml).map_err(Failure::work)?;
            formula_file::keep_in_data_dir(&crawl.settings.data_dir, &formula)?;
        }
        state.has_written();
        Ok(())
    })?
}

/// Where a trial finds its arms: sites, or folders if there are fewer sites than a trial takes, and more folders.
fn places(generation: &Generation, min: u64) -> Result<TrialPlaces, Failure> {
    let mut sites = TrialPlaces::default();
    each_site(generation, |_, _| sites.count += 1)?;
    if sites.count >= min {
        return Ok(sites);
    }
    let mut states = generation.states_from(0).with_keys(true);
    let mut folders = HashSet::new();
    while let Some((_, columns)) = states.next_block()?.filter(|_| folders.len() < MANY as usize) {
        let of_row = |row| xxh3_64(CanonicalUrl::folder(columns.keys.get(row)));
        folders.extend((0..columns.len()).map(of_row));
    }
    let folders = TrialPlaces { count: (folders.len() as u64).min(MANY), are_folders: true };
    Ok(if folders.count > sites.count { folders } else { sites })
}

/// Notes what a round of a measured cycle found, again with each round of the cycle. `division` has the arms that its
/// estimates are of.
///
/// # Errors
/// When the state cannot be read or written.
pub fn note(
    crawl: &Crawl,
    facts: &Facts,
    report: &RoundReport,
    division: Option<Division>,
) -> Result<(), Failure> {
    let (Some(_), Some(found)) = (crawl.settings.loop_rules, &report.found) else { return Ok(()) };
    let expected = found.score.expected;
    crawl.improve.change(|state| {
        state.note(CycleFound {
            cycle: facts.cycle.0,
            changed: found.score.changed as f64,
            expected: expected.changes,
            variance: expected.variance,
        });
        if let ImproveStep::Shadow(attempt) = &mut state.step {
            attempt.note_shadow(facts.cycle, found);
        }
        if let (Some(division), Some(freshness)) = (division, report.estimates.arms_freshness) {
            state.note_arms(facts.cycle, division, freshness);
        }
    })
}
