//! Groups of pages that change alike, and what they show of each other.
//!
//! [`siblings`] are neighbours in URL order. They are found in one pass over the records, and all that they show
//! follows from the records, so nothing is stored for them. The change rate of a group is a prior for its pages (Tan
//! and Mitra 2010 cluster by features; the URL is the cheapest of these). The last visits of a page's siblings tell of
//! changes that the page has not shown yet (Radinsky and Bennett 2013, related pages).
//!
//! This crate knows nothing of disk, HTTP or the choice of pages.

mod shown;
pub mod siblings;
