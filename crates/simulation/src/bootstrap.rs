//! Bootstrap over sites: how much figures would vary with other recorded sites.

use crate::{ReplayMetric, SiteFigures, Trace};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Resampled replays: each draw takes as many sites as there are, with replacement, the same for
/// all replays (Efron 1979). It resamples sites, not pages, since pages of a site change together.
#[derive(Clone, Debug)]
pub struct Bootstrap {
    /// Number of resampled units with a page: sites, or groups of sites.
    sites: usize,
    /// For each draw, the sums over its sites, one per replay.
    draws: Vec<Vec<SiteFigures>>,
}

impl Bootstrap {
    /// Number of draws.
    pub const DRAWS: u64 = 1000;

    /// Above this number of sites, [groups](Bootstrap::groups) of sites are resampled.
    pub const MAX_SITES: usize = 4096;

    /// Minimum number of sites for a statement about other sites. Even at five sites, all
    /// differences have one sign in 1 of 16 cases by chance.
    pub const FEWEST: usize = 6;

    /// The figures of sites or, above [`Bootstrap::MAX_SITES`], of that many groups of sites. Draws
    /// of groups vary as much, and a history of many pages without known sites stays within time
    /// and memory.
    pub fn groups(sites: Vec<SiteFigures>) -> Vec<SiteFigures> {
        if sites.len() <= Self::MAX_SITES {
            return sites;
        }
        let mut groups = vec![SiteFigures::default(); Self::MAX_SITES];
        sites.iter().enumerate().for_each(|(place, site)| groups[place % Self::MAX_SITES].add(site));
        groups
    }

    /// Makes [`Bootstrap::DRAWS`] draws from the sites of replays of one history.
    pub fn new(replays: &[&Trace], seed: u64) -> Bootstrap {
        let groups: Vec<Vec<SiteFigures>> =
            replays.iter().map(|trace| Self::groups(trace.sites.clone())).collect();
        let sites = groups.first().map_or(0, Vec::len);
        // Sites without pages in the replay are not resampled.
        let nonempty: Vec<usize> = (0..sites).filter(|&site| groups[0][site].pages > 0).collect();
        let draw = |number: u64| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(number);
            let mut sums = vec![SiteFigures::default(); replays.len()];
            for _ in 0..nonempty.len() {
                let site = nonempty[rng.random_range(0..nonempty.len())];
                sums.iter_mut().zip(&groups).for_each(|(sum, sites)| sum.add(&sites[site]));
            }
            sums
        };
        Bootstrap { sites: nonempty.len(), draws: (0..Self::DRAWS).map(draw).collect() }
    }

    /// Whether there are enough sites for a statement about other sites.
    pub fn has_power(&self) -> bool {
        self.sites >= Self::FEWEST
    }

    /// The interval from the 2.5th to the 97.5th percentile of a metric of one replay. `None` for
    /// metrics that are not a quotient of sums over sites, and below [`Bootstrap::FEWEST`] sites.
    pub fn interval(&self, replay: usize, metric: &ReplayMetric) -> Option<[f64; 2]> {
        let of_sites = metric.of_sites.filter(|_| self.has_power())?;
        let mut values: Vec<f64> = self.draws.iter().map(|sums| of_sites(&sums[replay])).collect();
        values.sort_unstable_by(f64::total_cmp);
        let cut = values.len() / 40;
        Some([values[cut], values[values.len() - 1 - cut]])
    }

    /// The difference of two replays in a metric over draws of sites. `None` for metrics that are
    /// not a quotient of sums over sites.
    pub fn difference(&self, a: usize, b: usize, metric: &ReplayMetric) -> Option<SiteDifference> {
        let of_sites = metric.of_sites?;
        if !self.has_power() {
            return Some(SiteDifference { p: 1.0, error: f64::INFINITY });
        }
        let differences: Vec<f64> =
            self.draws.iter().map(|sums| of_sites(&sums[a]) - of_sites(&sums[b])).collect();
        let draws = differences.len() as f64;
        // Add one to each, since the observation is a draw too (Davison & Hinkley 1997): p is never
        // 0.
        let share = |turned: &dyn Fn(&&f64) -> bool| {
            (differences.iter().filter(turned).count() as f64 + 1.0) / (draws + 1.0)
        };
        let mean = differences.iter().sum::<f64>() / draws;
        let squares: f64 = differences.iter().map(|d| (d - mean) * (d - mean)).sum();
        Some(SiteDifference {
            p: (2.0 * share(&|d| **d <= 0.0).min(share(&|d| **d >= 0.0))).min(1.0),
            error: (squares / (draws - 1.0)).sqrt(),
        })
    }
}

/// The variation of the difference of two replays over draws of sites.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SiteDifference {
    /// The two-sided p-value: twice the share of draws in which the difference is zero or has the
    /// other sign. 1 if both are equal in every draw, and below [`Bootstrap::FEWEST`] sites.
    pub p: f64,
    /// The standard error of the difference: its standard deviation over the draws; infinite with
    /// too few sites.
    pub error: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::{self, CHANGE_RATE, FRESHNESS};

    fn trace(sites: &[(u64, u64)]) -> Trace {
        let site = |&(changed, visited): &(u64, u64)| SiteFigures {
            changed,
            visited,
            pages: 100,
            stale: changed,
            ..SiteFigures::default()
        };
        Trace { sites: sites.iter().map(site).collect(), ..Trace::default() }
    }

    #[test]
    fn intervals_hold_the_value_and_tell_clear_differences_from_chance() {
        let busy: Vec<(u64, u64)> = (0..40).map(|site| (5 + site % 7, 20)).collect();
        let calm: Vec<(u64, u64)> = (0..40).map(|site| (3 + site % 6, 20)).collect();
        let same: Vec<(u64, u64)> = (0..40).map(|site| (5 + (site + 3) % 7, 20)).collect();
        let traces = [trace(&busy), trace(&calm), trace(&same)];
        let bootstrap = Bootstrap::new(&traces.each_ref(), 1);
        let [low, high] = bootstrap.interval(0, &CHANGE_RATE).unwrap();
        let value = busy.iter().map(|site| site.0).sum::<u64>() as f64 / 800.0;
        assert!(low < value && value < high && high - low < 0.1, "{low} {value} {high}");
        let difference = |a, b| bootstrap.difference(a, b, &CHANGE_RATE).unwrap();
        assert!(difference(0, 1).p < 0.01 && difference(0, 2).p > 0.05);
        // 40 sites with 20 visits each, whose counts deviate by 2 to 3.
        assert!((0.015..0.03).contains(&difference(0, 1).error), "{:?}", difference(0, 1));
        let none = SiteDifference { p: 1.0, error: 0.0 };
        assert_eq!(bootstrap.difference(0, 0, &FRESHNESS), Some(none));
        assert!(bootstrap.interval(0, metric::ReplayMetric::named("ndcg_log2").unwrap()).is_none());
    }

    #[test]
    fn of_very_many_sites_lots_are_drawn() {
        let many: Vec<(u64, u64)> = (0..10_000).map(|site| (site % 2, 1)).collect();
        let groups = Bootstrap::groups(trace(&many).sites);
        assert_eq!(groups.len(), Bootstrap::MAX_SITES);
        assert_eq!(groups.iter().map(|lot| lot.changed).sum::<u64>(), 5000);
        assert_eq!(Bootstrap::groups(trace(&many[..9]).sites).len(), 9);
    }

    #[test]
    fn the_same_seed_draws_the_same() {
        let traces = [trace(&[(1, 9), (5, 9), (9, 9), (2, 9), (3, 9), (8, 9)])];
        let interval = |seed| Bootstrap::new(&traces.each_ref(), seed).interval(0, &CHANGE_RATE);
        assert_eq!(interval(3), interval(3));
        assert!(interval(3).is_some());
    }

    #[test]
    fn a_few_sites_say_nothing_of_others() {
        let (good, poor) = (trace(&[(8, 9); 5]), trace(&[(1, 9); 5]));
        let bootstrap = Bootstrap::new(&[&good, &poor], 0);
        assert_eq!(bootstrap.interval(0, &CHANGE_RATE), None);
        let difference = bootstrap.difference(0, 1, &CHANGE_RATE).unwrap();
        assert!(difference.p == 1.0 && difference.error.is_infinite());
    }
}
