//! Which pages and which days an experiment predicts.

use crate::FixedPages;
use crate::draws::{Purpose, stream};
use rand::seq::SliceRandom;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// The least share of steps at which a kept page's change bit differs from the one before (Radinsky and Bennett 2013,
/// section 7.1: α).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Alpha {
    /// This share, from 0 to 1.
    Share(f64),
    /// The greatest share that leaves at least this number of pages.
    Pages(usize),
}

impl FromStr for Alpha {
    type Err = String;

    fn from_str(text: &str) -> Result<Alpha, String> {
        let alpha = match text.strip_prefix("pages:") {
            Some(pages) => pages.parse().ok().filter(|&pages| pages > 0).map(Alpha::Pages),
            None => text.parse().ok().filter(|share| (0.0..=1.0).contains(share)).map(Alpha::Share),
        };
        alpha.ok_or_else(|| "use a share from 0 to 1, such as 0.3, or pages:N".into())
    }
}

/// Share of the days from 1 to the last but one on which the change bit differs from the next day's.
pub fn irregularity(changed: &[bool]) -> f64 {
    let steps = changed[1..].windows(2);
    let count = steps.len();
    steps.filter(|pair| pair[0] != pair[1]).count() as f64 / count.max(1) as f64
}

/// The kept pages, ascending, and the share that keeps them.
pub fn kept(recording: &FixedPages, alpha: Alpha) -> (Vec<u32>, f64) {
    let shares: Vec<f64> = recording.pages.iter().map(|page| irregularity(&page.changed)).collect();
    let least = match alpha {
        Alpha::Share(share) => share,
        Alpha::Pages(pages) => {
            let mut sorted = shares.clone();
            sorted.sort_by(|a, b| b.total_cmp(a));
            sorted.get(pages - 1).or(sorted.last()).copied().unwrap_or(0.0)
        }
    };
    // A page that is always alike is no case, whatever the share.
    let is_kept = |&page: &u32| shares[page as usize] >= least && shares[page as usize] > 0.0;
    ((0..shares.len() as u32).filter(is_kept).collect(), least)
}

/// A seeded sample of the pages, ascending; all if there are no more than `count`.
pub fn thinned(pages: &[u32], count: Option<usize>, seed: u64) -> Vec<u32> {
    let mut drawn = pages.to_vec();
    if let Some(count) = count.filter(|&count| count < pages.len()) {
        drawn.shuffle(&mut stream(seed, Purpose::Pages, 0, 0));
        drawn.truncate(count);
        drawn.sort_unstable();
    }
    drawn
}

/// A prediction of the step from `today` to the next day, from examples of the days before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The last day that is known.
    pub today: u32,
    /// Number of examples. The last one is of the step to today.
    pub days: u32,
}

impl Window {
    /// Days before the first example that its features read.
    pub const LEAD: u32 = 2;

    /// The day of each example's features and, last, today: their number is days + 1.
    pub fn example_days(self) -> RangeInclusive<u32> {
        self.today - self.days..=self.today
    }

    /// The class of each example: the observed change bit of the day after its features.
    pub fn classes(self, observed: &[bool]) -> &[bool] {
        &observed[(self.today - self.days) as usize + 1..=self.today as usize]
    }
}

/// The days to predict from: every `every`-th from the first that has `days` examples, up to the last but one.
pub fn todays(last: u32, days: u32, every: u32) -> impl Iterator<Item = u32> {
    (days + Window::LEAD..last).step_by(every as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::threes;

    #[test]
    fn pages_are_kept_by_the_share_of_turns() {
        let bits = [false, true, true, false, false, true];
        assert_eq!(irregularity(&bits), 0.5, "two turns at four steps; day 0 has no bit");
        let mut recording = threes(9, 40, 3);
        recording.pages[4].changed.fill(true);
        recording.pages[4].changed[0] = false;
        let share = |page: u32| irregularity(&recording.pages[page as usize].changed);
        let (pages, least) = kept(&recording, Alpha::Share(0.4));
        assert_eq!(least, 0.4);
        assert_eq!(pages, (0..9).filter(|&page| share(page) >= 0.4).collect::<Vec<u32>>());
        let (all, _) = kept(&recording, Alpha::Share(0.0));
        assert_eq!(all, [0, 1, 2, 3, 5, 6, 7, 8], "a page that changes every day is no case");
        let (three, least) = kept(&recording, Alpha::Pages(3));
        assert!(three.len() >= 3 && three.iter().all(|&page| share(page) >= least));
        assert_eq!(three.iter().map(|&page| share(page)).fold(1.0, f64::min), least);
        let drawn = thinned(&all, Some(4), 7);
        assert!(drawn.len() == 4 && drawn.is_sorted() && drawn.iter().all(|page| all.contains(page)));
        assert_eq!((thinned(&all, Some(4), 7), thinned(&all, None, 7)), (drawn, all));
    }

    #[test]
    fn a_window_ends_today() {
        let window = Window { today: 12, days: 4 };
        assert_eq!(window.example_days().collect::<Vec<u32>>(), [8, 9, 10, 11, 12]);
        let bits: Vec<bool> = (0..20).map(|day| [9, 12, 13].contains(&day)).collect();
        assert_eq!(window.classes(&bits), [true, false, false, true]);
        assert_eq!(todays(20, 10, 3).collect::<Vec<u32>>(), [12, 15, 18]);
        assert_eq!(todays(12, 10, 1).count(), 0);
    }

    #[test]
    fn thresholds_parse() {
        assert_eq!(("0.3".parse(), "pages:50".parse()), (Ok(Alpha::Share(0.3)), Ok(Alpha::Pages(50))));
        for text in ["1.5", "-1", "NaN", "pages:0", "pages:", "half"] {
            assert!(text.parse::<Alpha>().is_err(), "{text:?}");
        }
    }
}
