//! Change rates of sites and of all pages together: the prior for a page with little history of its
//! own.

use recrawl_types::{History, StateColumns};

/// The combined observations of some pages. Sums of integers, so the order of pages does not
/// matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateEvidence {
    /// Observed changes: ΣX.
    pub changes: u64,
    /// Cycles between first fetch and last visit: ΣT.
    pub cycles: u64,
    /// Of these, cycles between a visit that found a change and the previous one: ΣS1.
    pub changed_cycles: u64,
}

impl RateEvidence {
    /// The evidence of one page.
    pub fn from_history(history: &History) -> RateEvidence {
        RateEvidence {
            changes: history.changes.into(),
            cycles: history.last.since(history.first).into(),
            changed_cycles: history.changed_cycles.into(),
        }
    }

    /// The evidence of the page in a row; empty if it was never visited.
    pub fn of_row(columns: &StateColumns, row: usize) -> RateEvidence {
        RateEvidence {
            changes: columns.changes[row].into(),
            cycles: columns.last[row].saturating_sub(columns.first[row]).into(),
            changed_cycles: columns.changed_cycles[row].into(),
        }
    }

    /// Adds the evidence of other pages.
    pub fn add(&mut self, other: RateEvidence) {
        self.changes += other.changes;
        self.cycles += other.cycles;
        self.changed_cycles += other.changed_cycles;
    }

    /// Subtracts evidence that was added before.
    pub fn remove(&mut self, other: RateEvidence) {
        self.changes -= other.changes;
        self.cycles -= other.cycles;
        self.changed_cycles -= other.changed_cycles;
    }

    /// X/T as if the pages had shown half a change in one cycle more: above 0 even before the first change.
    pub fn rate(&self) -> f64 {
        (self.changes as f64 + 0.5) / (self.cycles as f64 + 1.0)
    }

    /// X/T, shrunk towards a rate that counts like this many cycles.
    pub fn rate_shrunk(&self, rate: f64, weight: f64) -> f64 {
        (self.changes as f64 + weight * rate) / (self.cycles as f64 + weight)
    }

    /// S0 + S1/2 in cycles: the observed time up to the first change in each interval, which on
    /// average is in its middle.
    pub fn exposure(&self) -> f64 {
        (2 * self.cycles - self.changed_cycles) as f64 / 2.0
    }
}

/// The rates of one cycle.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Priors {
    /// The rate of all pages together, in changes per cycle: (X + ½) / (T + 1), above 0 even before
    /// the first change.
    pub global: f64,
    /// The rate of each site, in changes per cycle, shrunk towards the global rate: (X + c·global)
    /// / (T + c) with c = [`Priors::SITE_WEIGHT`].
    pub sites: Vec<f64>,
}

impl Priors {
    /// a: the shape of the Gamma distribution of page rates. Below 1, most pages change less than
    /// the mean, and a few far more often.
    pub const SHAPE: f64 = 0.5;
    /// After this many observed cycles of its pages, a site has the same weight as the global rate.
    pub const SITE_WEIGHT: f64 = 100.0;

    /// From the evidence of each site.
    pub fn new(sites: &[RateEvidence]) -> Priors {
        let mut all = RateEvidence::default();
        sites.iter().for_each(|site| all.add(*site));
        let global = all.rate();
        let shrunk = |site: &RateEvidence| site.rate_shrunk(global, Self::SITE_WEIGHT);
        Priors { global, sites: sites.iter().map(shrunk).collect() }
    }

    /// The rates for the pages of one site.
    pub fn for_site(&self, site: usize) -> SiteRates {
        SiteRates { global: self.global, site: self.sites[site] }
    }

    /// Fills in the rates of a block; `sites` has the site of each row.
    pub fn fill(&self, columns: &mut StateColumns, sites: impl Iterator<Item = usize>) {
        columns.global_rate = self.global;
        columns.site_rate.clear();
        columns.site_rate.extend(sites.map(|site| self.sites[site]));
    }
}

/// The rates for a page: of all pages and of its site, in changes per cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SiteRates {
    /// The rate of all pages together.
    pub global: f64,
    /// The rate of the page's site.
    pub site: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::{Cycle, Known};

    #[test]
    fn a_site_is_taken_for_what_it_showed_and_for_all_sites_before() {
        let mut busy = History::first_fetch(Cycle(2));
        busy.record(Cycle(4), true);
        busy.record(Cycle(10), true);
        busy.record(Cycle(12), false);
        let shown = RateEvidence::from_history(&busy);
        assert_eq!(shown, RateEvidence { changes: 2, cycles: 10, changed_cycles: 8 });
        assert_eq!(shown.exposure(), 6.0);
        let mut columns = StateColumns::default();
        columns.push(Known::default(), Some(&busy));
        columns.push(Known::default(), None);
        assert_eq!(RateEvidence::of_row(&columns, 0), shown);
        assert_eq!(RateEvidence::of_row(&columns, 1), RateEvidence::default());

        let priors = Priors::new(&[shown, RateEvidence::default()]);
        assert_eq!(priors.global, 2.5 / 11.0);
        assert_eq!(priors.sites[1], priors.global);
        assert_eq!(priors.sites[0], (2.0 + 100.0 * priors.global) / 110.0);
        assert_eq!(priors.for_site(0), SiteRates { global: priors.global, site: priors.sites[0] });
        priors.fill(&mut columns, [1, 0].into_iter());
        assert_eq!(columns.site_rate, [priors.sites[1], priors.sites[0]]);

        let mut twice = shown;
        twice.add(shown);
        twice.remove(shown);
        assert_eq!(twice, shown);
    }
}
