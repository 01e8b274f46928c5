//! How far the dates of modification in a host's sitemaps and feeds can be trusted: measured, not believed.

/// Counts of an origin, over the comparisons of pages to which a sitemap or feed gave a date (lastmod). A
/// date is *newer* when it moved forward since the page's last visit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LastmodCounts {
    /// The date was newer, and the visit met a change.
    pub newer_changed: u32,
    /// The date was newer, and nothing had changed.
    pub newer_unchanged: u32,
    /// The date was not newer, and hid a change.
    pub same_changed: u32,
    /// The date was not newer, and nothing had changed.
    pub same_unchanged: u32,
}

impl LastmodCounts {
    /// Beyond so many comparisons all counts are halved: a host that mends its ways is believed again, and
    /// one that begins to lie is found out, within about as many.
    pub const MEMORY: u32 = 1_000;

    /// Counts one comparison.
    pub fn observe(&mut self, newer: bool, changed: bool) {
        let count = match (newer, changed) {
            (true, true) => &mut self.newer_changed,
            (true, false) => &mut self.newer_unchanged,
            (false, true) => &mut self.same_changed,
            (false, false) => &mut self.same_unchanged,
        };
        *count = count.saturating_add(1);
    }

    /// These counts and then those of a cycle.
    pub fn and(self, cycle: LastmodCounts) -> LastmodCounts {
        let mut sum = LastmodCounts {
            newer_changed: self.newer_changed.saturating_add(cycle.newer_changed),
            newer_unchanged: self.newer_unchanged.saturating_add(cycle.newer_unchanged),
            same_changed: self.same_changed.saturating_add(cycle.same_changed),
            same_unchanged: self.same_unchanged.saturating_add(cycle.same_unchanged),
        };
        while sum.total() > u64::from(Self::MEMORY) {
            sum.newer_changed /= 2;
            sum.newer_unchanged /= 2;
            sum.same_changed /= 2;
            sum.same_unchanged /= 2;
        }
        sum
    }

    /// Comparisons in all.
    pub fn total(&self) -> u64 {
        [self.newer_changed, self.newer_unchanged, self.same_changed, self.same_unchanged]
            .map(u64::from)
            .iter()
            .sum()
    }

    /// What a newer date adds to the chance of a change, 0 to 1: P(changed | newer) − P(changed | not newer),
    /// the contingency ΔP (Jenkins & Ward 1965), each by Laplace's rule of succession. 0 where nothing was
    /// compared, where all dates move whatever happens, and where pages change whatever the dates say; 1 is
    /// approached when dates move with every change and with nothing else.
    pub fn trust(&self) -> f64 {
        let succession = |changed: u32, unchanged: u32| {
            (f64::from(changed) + 1.0) / (f64::from(changed) + f64::from(unchanged) + 2.0)
        };
        let newer = succession(self.newer_changed, self.newer_unchanged);
        (newer - succession(self.same_changed, self.same_unchanged)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts(
        newer_changed: u32,
        newer_unchanged: u32,
        same_changed: u32,
        same_unchanged: u32,
    ) -> LastmodCounts {
        LastmodCounts { newer_changed, newer_unchanged, same_changed, same_unchanged }
    }

    #[test]
    fn trust_is_what_the_date_adds() {
        assert_eq!(LastmodCounts::default().trust(), 0.0, "nothing is known");
        assert!(counts(30, 0, 0, 60).trust() > 0.9, "honest");
        assert!(counts(3, 0, 0, 3).trust() > 0.5, "a few comparisons are enough");
        assert!(counts(5, 95, 0, 0).trust() == 0.0, "a date that moves at every look");
        assert!(counts(0, 0, 20, 80).trust() <= 0.5, "a date that never moves says nothing");
        assert!(counts(90, 10, 90, 10).trust() < 0.05, "pages that change whatever the date says");
        assert_eq!(counts(0, 50, 50, 0).trust(), 0.0, "worse than nothing");
    }

    #[test]
    fn a_host_that_begins_to_lie_is_found_out_within_the_memory() {
        let mut kept = counts(300, 0, 0, 600);
        for _ in 0..5 {
            kept = kept.and(counts(0, 100, 100, 0));
        }
        assert!(kept.trust() < 0.2, "{kept:?}: {}", kept.trust());
    }

    proptest! {
        #[test]
        fn trust_is_a_share_and_memory_is_bounded(
            a in any::<(u32, u32, u32, u32)>(), b in any::<(u32, u32, u32, u32)>()
        ) {
            let sum = counts(a.0, a.1, a.2, a.3).and(counts(b.0, b.1, b.2, b.3));
            prop_assert!((0.0..=1.0).contains(&sum.trust()));
            prop_assert!(sum.total() <= u64::from(LastmodCounts::MEMORY));
        }
    }
}
