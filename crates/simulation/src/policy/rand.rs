//! `rand`: random order.

use super::crawler::CrawlerPolicy;
use super::{Kind, Make};
use recrawl_scheduler::policy::random::RandomPolicy;

/// Every cycle anew, whatever was observed: the baseline Rand (Santos et al. 2015 §5.1).
pub(super) const KIND: Kind = Kind {
    name: "rand",
    help: "random order",
    make: Make::Honest(|_| Box::new(CrawlerPolicy(RandomPolicy::default()))),
};
