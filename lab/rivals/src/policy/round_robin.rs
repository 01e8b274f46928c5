//! `rr`: the pages in turn.

use recrawl_simulation::Observed;
use recrawl_simulation::policy::{Make, PolicyVisit, ReplayPolicy, ReplayPolicyKind};

/// The baseline RR of Tan & Mitra (2010, §6.3.5): visits the pages one after the other in a fixed order, and begins
/// again after the last one.
pub(super) const KIND: ReplayPolicyKind = ReplayPolicyKind {
    name: "rr",
    help: "round robin: all pages in turn, in one fixed order",
    make: Make::Honest(|_| Box::new(RoundRobin::default())),
};

#[derive(Default)]
struct RoundRobin {
    /// The page after the last one that was visited in turn.
    next: usize,
    /// Which pages competed when scores were asked for.
    competed: Vec<bool>,
}

impl RoundRobin {
    /// How many pages come before this one.
    fn wait(&self, page: usize, pages: usize) -> usize {
        (page + pages - self.next) % pages
    }
}

impl ReplayPolicy for RoundRobin {
    fn name(&self) -> &str {
        KIND.name
    }

    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        let pages = observed.columns().len();
        self.competed = (0..pages).map(|page| observed.competes(page)).collect();
        out.clear();
        out.extend((0..pages).map(|page| -(self.wait(page, pages) as f64)));
    }

    fn observe(&mut self, observed: &Observed, visits: &[PolicyVisit]) {
        let pages = observed.columns().len();
        // Visits beside the budget do not move the turn.
        let in_turn = visits
            .iter()
            .map(|visit| visit.page as usize)
            .filter(|&page| self.competed.get(page) == Some(&true));
        if let Some(last) = in_turn.max_by_key(|&page| self.wait(page, pages)) {
            self.next = (last + 1) % pages;
        }
        self.competed.clear();
    }
}
