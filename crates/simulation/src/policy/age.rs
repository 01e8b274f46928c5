//! `age`: longest time since the last visit first.

use super::crawler::CrawlerPolicy;
use super::{Kind, Make};
use recrawl_scheduler::policy::age::AgePolicy;

/// Visits all pages in turn: the baseline Age (Santos et al. 2015 §5.1).
pub(super) const KIND: Kind = Kind {
    name: "age",
    help: "longest time since the last visit first: t",
    make: Make::Honest(|_| Box::new(CrawlerPolicy(AgePolicy::default()))),
};
