//! Policies of other crawlers and papers, which studies replay beside those of a crawl.
//!
//! [`policy::ALL`] is the list: Nutch, StormCrawler, Common Crawl, LambdaCrawl, samples of sites, directories, links and
//! clusters (Tan and Mitra 2010). [`page_clusters`] are clusters of recorded pages, and [`SearchJudge`] judges a replay as
//! a search engine would see it. People who compare methods use this crate; no crawl needs it.

pub mod link_graph;
pub mod page_clusters;
pub mod policy;
pub mod search;

pub use crate::link_graph::LinkGraph;
pub use crate::search::SearchJudge;

#[cfg(test)]
#[path = "../../../crates/simulation/src/testing.rs"]
mod testing;
