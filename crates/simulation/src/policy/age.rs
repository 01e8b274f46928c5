//! `age`: the page that was not visited for longest.

use super::crawler::CrawlerPolicy;
use super::{Kind, Make};
use recrawl_scheduler::policy::age::AgePolicy;

/// Visits all pages in turn: the baseline Age (Santos et al. 2015 §5.1).
pub(super) const KIND: Kind = Kind {
    name: "age",
    help: "the page that was not visited for longest: t",
    make: Make::Honest(|_| Box::new(CrawlerPolicy(AgePolicy::default()))),
};
