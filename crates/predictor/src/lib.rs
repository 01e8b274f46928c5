//! Learns from visits when pages change.
//!
//! [`NextChangeModel`] holds the weights of the terminals `p_next`, `u_fresh_next` and `u_harm_next` (crate
//! `formula`, module `next_change`), learned from the visits of a crawl or a replay.
//!
//! This crate knows nothing of disk, HTTP or the choice of pages.

mod cholesky;
pub mod next_change;

pub use crate::next_change::{Lesson, NextChangeModel};
