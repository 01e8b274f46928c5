//! Forecasts for the console, computed in the background at the lowest priority, at most once a cycle.

use crate::report::forecast::{self, ForecastStart, LARGEST, SampleBasis, Scarce};
use crate::serve::forecast_cache::{CachedForecast, ForecastState, OfCycle};
use crate::serve::improving::freshness_of;
use crate::serve::shared_state::SharedState;
use recrawl_console::view::{
    BudgetForecast, Computing, ComputingState, ForecastBasis, Forecasted, Missing, PlainBudget, ReadyState,
    Refusal, Savings, WhatIf,
};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::report::watch::ENOUGH_AUDITED;
use recrawl_forecast::what_if::BUDGETS;
use recrawl_repository::StoredRounds;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Pages of the sample, and cycles, as those of the commands.
const SAMPLE: (u32, u32) = (50_000, 100);

/// What other budgets would bring.
pub fn what_if(shared: &Arc<SharedState>) -> Result<Forecasted<WhatIf>, Refusal> {
    both(shared, |both| both.what_if)
}

/// What plain revisiting would need.
pub fn savings(shared: &Arc<SharedState>) -> Result<Forecasted<Savings>, Refusal> {
    both(shared, |both| both.savings)
}

/// The forecasts of the last committed cycle. The first question of a cycle begins to compute them, unless those of an
/// earlier one still are.
fn both<T>(shared: &Arc<SharedState>, part: fn(CachedForecast) -> T) -> Result<Forecasted<T>, Refusal> {
    let cycle = shared.generation().cycle().0;
    if !shared.settings().is_measured {
        return Ok(Forecasted::Ready(part(unmeasured(shared, cycle))));
    }
    let mut known = shared.forecasts.of_cycle();
    match &*known {
        Some(OfCycle { state: ForecastState::Computing(since), cycle }) => {
            return Ok(Forecasted::Computing(computing(*cycle, *since)));
        }
        Some(OfCycle { state: ForecastState::Ready(ready), cycle: of }) if *of == cycle => {
            let ready = Result::clone(ready);
            return ready.map(|both| Forecasted::Ready(part(both))).map_err(Refusal::failed);
        }
        _ => {}
    }
    let since = shared.now();
    begin(shared, cycle)?;
    *known = Some(OfCycle { cycle, state: ForecastState::Computing(since) });
    Ok(Forecasted::Computing(computing(cycle, since)))
}

fn computing(cycle: u32, since: u64) -> Computing {
    Computing { state: ComputingState::Computing, cycle: cycle.into(), since }
}

/// What is known of a crawl that is not measured: nothing is read for it.
fn unmeasured(shared: &SharedState, cycle: u32) -> CachedForecast {
    let basis = ForecastBasis {
        cycle: cycle.into(),
        missing: vec![Missing { what: Scarce::Audited.name().into(), there: 0, needed: ENOUGH_AUDITED }],
        formula: shared.formula().name.clone(),
        ..ForecastBasis::default()
    };
    CachedForecast {
        what_if: WhatIf { basis: basis.clone(), forecasts: Vec::new() },
        savings: Savings { basis, plain: None, bytes_a_visit: None },
    }
}

/// Computes in a thread of its own, which gives way to all others.
fn begin(shared: &Arc<SharedState>, cycle: u32) -> Result<(), Refusal> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .thread_name(|_| "forecasts".into())
        .start_handler(|_| {
            // On Linux this is of the thread alone.
            if let Err(error) = rustix::process::nice(19) {
                tracing::warn!("forecasts are computed at the priority of the crawl: {error}");
            }
        })
        .build()
        .map_err(Refusal::failed)?;
    let shared = shared.clone();
    pool.spawn(move || {
        // A panic in a pool would end the daemon.
        let computed = catch_unwind(AssertUnwindSafe(|| compute(&shared, cycle)));
        let computed = match computed {
            Ok(computed) => computed.map_err(|failure| failure.to_string()),
            Err(_) => Err("the forecast failed with an internal error; see the log".into()),
        };
        let state = ForecastState::Ready(Arc::new(computed));
        *shared.forecasts.of_cycle() = Some(OfCycle { cycle, state });
    });
    Ok(())
}

fn compute(shared: &SharedState, cycle: u32) -> Result<CachedForecast, Failure> {
    let (settings, generation) = (shared.settings(), shared.generation());
    let kept = StoredRounds::new(shared.storage.clone(), generation.number());
    let request = forecast::request(&settings, SAMPLE.0, SAMPLE.1);
    let freshness = shared.improving.watch().unwrap_or_default().freshness;
    let start = ForecastStart::over(&settings, &generation, &kept, request, freshness)?;
    let (basis, forecasts) = start.what_if(&[]);
    let (_, plain) = start.savings()?;
    let told = told(&basis, cycle, &start.formula.name);
    let forecasts = forecasts.iter().map(|forecast| BudgetForecast {
        budget: forecast.budget,
        pages_a_cycle: forecast.budget * basis.pages_a_cycle,
        share: forecast.share,
        low: forecast.interval[0],
        high: forecast.interval[1],
    });
    let plain = plain.map(|plain| PlainBudget {
        budget: plain.savings.budget,
        low: plain.savings.interval[0],
        high: plain.savings.interval[1],
        smallest: BUDGETS[0],
        largest: LARGEST,
        pages_saved: plain.pages_saved,
    });
    Ok(CachedForecast {
        what_if: WhatIf { basis: told.clone(), forecasts: forecasts.collect() },
        savings: Savings { basis: told, plain, bytes_a_visit: start.histories.bytes_a_visit },
    })
}

fn told(basis: &SampleBasis, cycle: u32, formula: &str) -> ForecastBasis {
    ForecastBasis {
        state: ReadyState::Ready,
        cycle: cycle.into(),
        enough: basis.enough,
        missing: basis
            .missing
            .iter()
            .map(|missing| Missing {
                what: missing.what.name().into(),
                there: missing.there,
                needed: missing.needed,
            })
            .collect(),
        formula: formula.into(),
        freshness: freshness_of(&basis.freshness),
        pages_a_cycle: basis.pages_a_cycle,
        sample_pages: basis.sample_pages,
        population: basis.population,
        groups: basis.groups,
        first_cycle: basis.first_cycle.into(),
        last_cycle: basis.last_cycle.into(),
    }
}
