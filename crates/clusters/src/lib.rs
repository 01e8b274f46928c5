//! Groups of pages that change alike, and what they show of each other.
//!
//! [`siblings`] are neighbours in URL order. They are found in one pass over the records, and all that they show
//! follows from the records, so nothing is stored for them. The change rate of a group is a prior for its pages (Tan
//! and Mitra 2010 cluster by features; the URL is the cheapest of these). The last visits of a page's siblings tell of
//! changes that the page has not shown yet (Radinsky and Bennett 2013, related pages).
//!
//! Clusters by [`features`] (Tan and Mitra 2010) are fitted to a sample of pages: [`scaling`] makes unit vectors of their
//! features, repeated [`bisection`] makes clusters, and [`choose_k`] says how many. The [`model`] assigns other pages. [`change_rate`] is what is
//! sampled of clusters.
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
mod shown;
pub mod siblings;

pub use crate::centroids::Centroids;
pub use crate::rows::{RowError, Rows};
pub use crate::shown::Met;
