//! How a crawl improves its formula: what it measures, and the steps by which a learned formula is tried, comes into
//! force and is taken back. With `improve.mode = "off"`, none of this is done or kept.

pub mod arms;
pub mod attempt;
pub mod candidate;
pub mod found;
pub mod panel;
pub mod population;
pub mod rules;
pub mod steps;
pub mod store;
