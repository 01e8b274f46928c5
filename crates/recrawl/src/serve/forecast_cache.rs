//! Both forecasts of the last cycle that was asked for.

use recrawl_console::view::{Savings, WhatIf};
use std::sync::{Arc, Mutex, MutexGuard};

#[derive(Default)]
pub struct Forecasts(Mutex<Option<OfCycle>>);

/// The forecasts of one cycle.
pub struct OfCycle {
    pub cycle: u32,
    pub state: ForecastState,
}

pub enum ForecastState {
    /// Since this time.
    Computing(u64),
    Ready(Arc<Result<CachedForecast, String>>),
}

#[derive(Clone)]
pub struct CachedForecast {
    pub what_if: WhatIf,
    pub savings: Savings,
}

impl Forecasts {
    pub fn of_cycle(&self) -> MutexGuard<'_, Option<OfCycle>> {
        self.0.lock().expect("no panic under the lock")
    }
}
