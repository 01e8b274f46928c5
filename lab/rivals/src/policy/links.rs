//! `lb`: pages that changed samples link to.

use super::sample::{PolicySample, of_all};
use crate::LinkGraph;
use recrawl_simulation::Observed;
use recrawl_simulation::policy::{Make, PolicyVisit, ReplayPolicy, ReplayPolicyKind};

/// The baseline LB of Tan & Mitra (2010, §6.3.5; Tan et al. 2007): samples pages at random, then visits all pages
/// within three links of those that had changed. *Ours*: links are those that the last visit of each page met, nearer
/// pages come first, it samples as much as `sls`, and the rest is random.
pub(super) const KIND: ReplayPolicyKind = ReplayPolicyKind {
    name: "lb",
    help: "samples pages, then visits those within 3 links of one that changed (needs contents)",
    make: Make::WithContents(|_| Box::new(LinkPolicy::default())),
};

/// Maximum links from a changed sample.
const LINKS: u32 = 3;

#[derive(Default)]
struct LinkPolicy {
    sample: PolicySample,
}

impl ReplayPolicy for LinkPolicy {
    fn name(&self) -> &str {
        KIND.name
    }

    fn reads_contents(&self) -> bool {
        true
    }

    fn wants(&mut self, observed: &Observed, left: u64) -> u64 {
        self.sample.wants(observed, left, of_all)
    }

    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        self.sample.score(out, |sample| {
            let near = LinkGraph::seen(observed).distances(&sample.changed(), LINKS);
            near.into_iter().map(|distance| distance.map_or(0, |distance| LINKS + 1 - distance)).collect()
        });
    }

    fn observe(&mut self, observed: &Observed, visits: &[PolicyVisit]) {
        self.sample.observe(observed, visits);
    }
}
