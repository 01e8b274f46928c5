//! A crawl of a recorded web in memory, and the histories that its visits leave: to compare forecasts with what other
//! crawls of the same web really meet.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use recrawl_forecast::histories::{Histories, SeenPage};
use recrawl_simulation::policy::PolicyVisit;
use recrawl_simulation::{Dataset, Observed, ReplayPolicy, Rules, RulesError, Trace, replay};
use recrawl_types::{Cycle, History, Importance, Reads, UrlRules};

/// Part of the budget that is drawn at random.
pub const AUDIT_SHARE: f64 = 0.02;

/// A policy, an audit sample beside it, and what its visits found.
struct RehearsedCrawl<'p> {
    policy: &'p mut dyn ReplayPolicy,
    random: ChaCha8Rng,
    since: u32,
    before: Vec<History>,
    visits: Vec<Vec<(Cycle, bool)>>,
}

impl ReplayPolicy for RehearsedCrawl<'_> {
    fn name(&self) -> &str {
        self.policy.name()
    }

    fn reads(&self) -> Reads {
        self.policy.reads()
    }

    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        let cycle = observed.cycle().0;
        let columns = observed.columns();
        if cycle == self.since {
            self.before = (0..columns.len()).map(|row| columns.history(row).unwrap_or_default()).collect();
        }
        self.policy.score(observed, out);
        let chance = AUDIT_SHARE * observed.k() as f64 / out.len().max(1) as f64;
        for score in out {
            if self.random.random::<f64>() < chance {
                *score = f64::INFINITY;
            }
        }
    }

    fn observe(&mut self, observed: &Observed, visits: &[PolicyVisit]) {
        self.policy.observe(observed, visits);
        if observed.cycle().0 < self.since {
            return;
        }
        for visit in visits {
            if let Some(changed) = visit.changed {
                self.visits[visit.page as usize].push((observed.cycle(), changed));
            }
        }
    }
}

/// Crawls a recorded web by a policy and its audit sample, and returns what the visits of the cycles from `since` on left,
/// and what was really so.
///
/// # Errors
/// If the history cannot be replayed under these rules.
pub fn crawl(
    data: &Dataset,
    rules: &Rules,
    policy: &mut dyn ReplayPolicy,
    since: u32,
    seed: u64,
) -> Result<(Histories, Trace), RulesError> {
    let random = ChaCha8Rng::seed_from_u64(seed);
    let visits = vec![Vec::new(); data.pages.len()];
    let mut crawl = RehearsedCrawl { policy, random, since, before: Vec::new(), visits };
    let trace = replay::run(data, rules, &mut crawl)?;
    let url = |number: usize, text: &str| {
        let given = UrlRules::keep_all().canonicalize(text);
        given.or_else(|_| UrlRules::keep_all().canonicalize(&format!("http://pages.example/{number}")))
    };
    let page = |(number, (before, visits)): (usize, (History, Vec<(Cycle, bool)>))| {
        let url = url(number, &data.pages[number].url).expect("a made-up address is one");
        SeenPage { url, before, visits, importance: Importance::ONE }
    };
    let seen = crawl.before.into_iter().zip(crawl.visits).enumerate();
    let pages: Vec<SeenPage> = seen.map(page).collect();
    let histories = Histories {
        first: Cycle(since),
        last: Cycle(data.truth.cycles()),
        population: pages.len() as u64,
        pages,
        ..Histories::default()
    };
    Ok((histories, trace))
}
