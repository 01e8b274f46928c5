//! What the crawl learns of hosts and sites: dates, trust in validators, noise, traps.

pub mod cycle_cache;
pub mod dates;
pub mod site_noise;
pub mod traps;
pub mod trust;
