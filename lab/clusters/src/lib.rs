//! Clusters of pages that change alike, by their features (Tan and Mitra 2010).
//!
//! Clusters are fitted to a sample of pages: [`scaling`] makes unit vectors of their [`features`], repeated [`bisection`]
//! makes clusters, and [`choose_k`] says how many. The [`model`] assigns other pages. [`change_rate`] is what is sampled
//! of clusters.
//!
//! This crate knows nothing of disk, HTTP or the choice of pages.

pub mod bisection;
mod centroids;
pub mod change_rate;
pub mod choose_k;
pub mod features;
pub mod model;
mod rows;
pub mod scaling;

pub use crate::centroids::Centroids;
pub use crate::rows::{RowError, Rows};
