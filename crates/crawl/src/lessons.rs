//! What the crawl learns of hosts and sites: dates, trust in validators, noise, traps. And from all comparisons: when
//! pages change next.

pub mod cycle_cache;
pub mod dates;
pub mod next_change;
pub mod page_noise;
pub mod site_noise;
pub mod traps;
pub mod trust;
