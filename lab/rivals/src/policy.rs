//! The list of rivals, one file each.

mod bayes_greedy;
mod binary_lambda_crawl;
mod chance;
mod clusters;
mod common_crawl;
mod directories;
mod frequency;
mod lambda_crawl;
mod links;
mod nutch;
mod rates;
mod round_robin;
mod sample;
mod sites;
mod stormcrawler;
mod thompson;

pub use clusters::{ClusterOptions, FirstOfCluster};

use recrawl_simulation::policy::{ReplayPolicy, ReplayPolicyKind};

/// The rivals, in display order: of papers and crawlers, those that Tan and Mitra compare with and theirs, a bound.
pub const ALL: &[ReplayPolicyKind] = &[
    lambda_crawl::KIND,
    binary_lambda_crawl::KIND,
    binary_lambda_crawl::WITH_FLOOR,
    nutch::KIND,
    stormcrawler::KIND,
    common_crawl::KIND,
    thompson::KIND,
    round_robin::KIND,
    frequency::KIND,
    sites::KIND,
    directories::KIND,
    links::KIND,
    clusters::NAD,
    clusters::SAD,
    clusters::AAD,
    clusters::GAD,
    clusters::THRESHOLD,
    bayes_greedy::KIND,
];

/// The policies of a crawl, and the rivals.
pub fn with_rivals() -> Vec<ReplayPolicyKind> {
    recrawl_simulation::policy::ALL.iter().chain(ALL).copied().collect()
}

/// The policy of this name with these clusters; none if it has no clusters.
pub fn with_clusters(name: &str, options: &ClusterOptions) -> Option<Box<dyn ReplayPolicy>> {
    clusters::with_options(name, options)
}

#[cfg(test)]
mod tests;
