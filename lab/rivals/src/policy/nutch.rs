//! `nutch`: Apache Nutch's adaptive interval.

use recrawl_simulation::Observed;
use recrawl_simulation::policy::{Make, PolicyVisit, ReplayPolicy, ReplayPolicyKind};

/// `AdaptiveFetchSchedule` of Apache Nutch with its defaults (inc_rate 0.4, dec_rate 0.2, first
/// interval 30 days, sync_delta_rate 0.3); a cycle is a day. An interval I grows by two fifths when
/// the page is unchanged and shrinks by a fifth when it changed. It is at least δ, the time since
/// the page's last known change, and at most a year. The next visit is due at last + I − 0.3·δ.
/// Nutch does not order due pages; here the score is t/(I − 0.3·δ), the age relative to the
/// interval.
pub(super) const KIND: ReplayPolicyKind = ReplayPolicyKind {
    name: "nutch",
    help: "Apache Nutch's adaptive interval: age by interval",
    make: Make::Honest(|_| Box::<Nutch>::default()),
};

#[derive(Default)]
struct Nutch {
    pages: Vec<PageInterval>,
}

/// Nutch's record of a page, in days.
#[derive(Clone, Copy)]
struct PageInterval {
    interval: f64,
    modified: f64,
    due: f64,
}

const FIRST: f64 = 30.0;
const SHORTEST: f64 = 60.0 / 86_400.0;
const LONGEST: f64 = 365.0;

impl PageInterval {
    fn visit(&mut self, now: f64, changed: Option<bool>) {
        match changed {
            None => *self = PageInterval { interval: FIRST, modified: now, due: 0.0 },
            Some(true) => (self.interval, self.modified) = (self.interval * 0.8, now),
            Some(false) => self.interval *= 1.4,
        }
        let delta = now - self.modified;
        self.interval = self.interval.max(delta).clamp(SHORTEST, LONGEST);
        self.due = now + self.interval - 0.3 * delta;
    }
}

impl ReplayPolicy for Nutch {
    fn name(&self) -> &str {
        KIND.name
    }

    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        let now = f64::from(observed.cycle().0);
        let waited =
            |(page, &last): (&PageInterval, &u32)| (now - f64::from(last)) / (page.due - f64::from(last));
        out.clear();
        out.extend(self.pages.iter().zip(&observed.columns().last).map(waited));
    }

    fn observe(&mut self, observed: &Observed, visits: &[PolicyVisit]) {
        let unknown = PageInterval { interval: FIRST, modified: 0.0, due: FIRST };
        self.pages.resize(observed.columns().len(), unknown);
        for visit in visits {
            self.pages[visit.page as usize].visit(f64::from(observed.cycle().0), visit.changed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_follow_what_is_found() {
        let mut page = PageInterval { interval: 0.0, modified: 0.0, due: 0.0 };
        page.visit(10.0, None);
        assert_eq!((page.interval, page.due), (30.0, 40.0));
        page.visit(12.0, Some(true));
        assert_eq!((page.interval, page.due), (24.0, 36.0));
        page.visit(22.0, Some(false));
        assert_eq!((page.interval, page.due), (24.0 * 1.4, 22.0 + 24.0 * 1.4 - 3.0));
        page.visit(312.0, Some(false));
        assert_eq!(
            (page.interval, page.due),
            (300.0, 312.0 + 300.0 - 90.0),
            "no shorter than the quiet before"
        );
        page.visit(400.0, Some(false));
        assert_eq!(page.interval, 365.0);
    }
}
