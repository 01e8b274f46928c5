//! `common_crawl`: Common Crawl's order of due pages.

use super::chance::PageChance;
use recrawl_simulation::Observed;
use recrawl_simulation::policy::{Make, ReplayPolicy, ReplayPolicyKind};
use recrawl_types::Cycle;

/// `AdaptiveScoringFilter` of Common Crawl's variant of Apache Nutch, as far as a recorded history
/// allows. The score is the days a page is overdue, times 1 + r·N(0, 1), which mixes pages of
/// similar age. Bonuses for status and type, links and failures are equal for all pages here. A
/// cycle is a day, every page is due again after one, and r, a configuration value, is 0.1.
pub(super) const KIND: ReplayPolicyKind = ReplayPolicyKind {
    name: "common_crawl",
    help: "Common Crawl's order: days overdue, mixed randomly",
    make: Make::Honest(|_| Box::new(CommonCrawl)),
};

const CHANCE: f64 = 0.1;

struct CommonCrawl;

impl ReplayPolicy for CommonCrawl {
    fn name(&self) -> &str {
        KIND.name
    }

    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        let now = observed.cycle();
        let chance = PageChance::new(observed.seed(), now);
        let overdue = |last: u32| f64::from(now.since(Cycle(last))) - 1.0;
        let score =
            |(page, &last): (usize, &u32)| overdue(last) * (1.0 + CHANCE * chance.for_page(page).normal());
        out.clear();
        out.extend(observed.columns().last.iter().enumerate().map(score));
    }
}
