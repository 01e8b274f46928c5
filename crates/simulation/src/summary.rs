//! Figures of a data set, for `recrawl dataset info`.

use crate::{Dataset, RecordedPage};
use serde::Serialize;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::ops::Range;

/// How a data set changes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DatasetSummary {
    /// Number of pages.
    pub pages: u64,
    /// Pages that exist from the first cycle to the last.
    pub fixed: u64,
    /// Sites that have a page.
    pub sites: u64,
    /// Groups that have a page.
    pub groups: u64,
    /// The number of the last cycle.
    pub cycles: u32,
    /// The days of the first and the last cycle, if known.
    pub dates: Option<(String, String)>,
    /// The pages of all figures below: "fixed", or "all" if the fixed set is empty.
    pub over: &'static str,
    /// Number of changes.
    pub changes: u64,
    /// Number of signals of changes, of all pages and cycles.
    pub signals: u64,
    /// Changes that return to an earlier content of the page.
    pub back: u64,
    /// Changes per page and cycle, over the cycles in which pages exist, without each page's first; none without such cycles.
    pub change_rate: Option<f64>,
    /// Pages that never change.
    pub never: u64,
    /// Changes per page.
    pub per_page: Quantiles,
    /// Changed pages per cycle.
    pub per_cycle: Quantiles,
    /// The share of all changes on the 5 % most changing pages; none if there is no change.
    pub top_share: Option<f64>,
    /// Number of pages in each class of change rate.
    pub rates: Vec<RateClass>,
    /// Memory of the history and the names in bytes.
    pub bytes: u64,
    /// Form of the history: "words" or "versions".
    pub form: &'static str,
    /// [`Dataset::digest`].
    pub digest: String,
}

/// Quantiles of a list of counts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "each is called what it is")]
pub struct Quantiles {
    pub min: u32,
    pub p50: u32,
    pub p75: u32,
    pub p90: u32,
    pub p99: u32,
    pub max: u32,
    pub mean: f64,
}

/// Pages whose change rate is above `above` and at most `up_to`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RateClass {
    /// Changes per cycle, exclusive.
    pub above: f64,
    /// Changes per cycle, inclusive.
    pub up_to: f64,
    /// Number of pages.
    pub pages: u64,
}

/// The bounds of the classes of change rate. Pages that never change are in no class.
const RATES: [f64; 9] = [0.0, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 0.9, 1.0];

impl DatasetSummary {
    /// Computes the figures of a data set.
    pub fn compute(data: &Dataset) -> DatasetSummary {
        let last = data.truth.cycles();
        let fixed = data.fixed();
        let is_counted = |page: usize| fixed.is_empty() || fixed.binary_search(&(page as u32)).is_ok();
        let (mut per_page, mut per_cycle) = (Vec::new(), vec![0; last as usize + 1]);
        let (mut back, mut seen) = (0, 0);
        let mut rates: Vec<RateClass> =
            RATES.windows(2).map(|b| RateClass { above: b[0], up_to: b[1], pages: 0 }).collect();
        let each = |page: usize, changes: &[(u32, u16)]| {
            if !is_counted(page) {
                return Ok::<(), Infallible>(());
            }
            let Range { start, end } = data.pages[page].first..data.pages[page].last;
            let mut known = 0;
            for &(cycle, version) in changes {
                per_cycle[cycle as usize] += 1;
                back += u64::from(version <= known);
                known = known.max(version);
            }
            seen += u64::from(end - start);
            per_page.push(changes.len() as u32);
            let rate = changes.len() as f64 / f64::from((end - start).max(1));
            if let Some(class) = rates.iter_mut().find(|class| rate > class.above && rate <= class.up_to) {
                class.pages += 1;
            }
            Ok(())
        };
        let Ok(()) = data.truth.try_each_page(each);
        per_page.sort_unstable();
        let changes: u64 = per_page.iter().map(|&changes| u64::from(changes)).sum();
        let top = &per_page[per_page.len() - per_page.len() / 20..];
        let top: u64 = top.iter().map(|&changes| u64::from(changes)).sum();
        // Cycle 0 is the first that was seen: nothing can have changed in it.
        let mut per_cycle = per_cycle.split_off(1);
        per_cycle.sort_unstable();
        let different = |of: fn(&RecordedPage) -> u32| {
            let all: BTreeSet<u32> = data.pages.iter().map(of).collect();
            all.len() as u64
        };
        DatasetSummary {
            pages: data.pages.len() as u64,
            fixed: fixed.len() as u64,
            sites: different(|page| page.site),
            groups: different(|page| page.group),
            cycles: last,
            dates: data.dates.first().cloned().zip(data.dates.last().cloned()),
            signals: data.signals.count(),
            over: if fixed.is_empty() { "all" } else { "fixed" },
            changes,
            back,
            change_rate: share(changes, seen),
            never: per_page.iter().take_while(|&&changes| changes == 0).count() as u64,
            per_page: Quantiles::from_sorted(&per_page),
            per_cycle: Quantiles::from_sorted(&per_cycle),
            top_share: share(top, changes),
            rates,
            bytes: data.bytes(),
            form: data.truth.form(),
            digest: data.digest(),
        }
    }
}

/// A part of a whole; none of nothing.
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

impl Quantiles {
    /// Of counts in ascending order; all 0 for an empty list.
    fn from_sorted(counts: &[u32]) -> Quantiles {
        let at = |share: f64| match counts.len() {
            0 => 0,
            count => counts[((count - 1) as f64 * share).round() as usize],
        };
        let sum: u64 = counts.iter().map(|&count| u64::from(count)).sum();
        let mean = sum as f64 / counts.len().max(1) as f64;
        Quantiles {
            min: at(0.0),
            p50: at(0.5),
            p75: at(0.75),
            p90: at(0.9),
            p99: at(0.99),
            max: at(1.0),
            mean,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RecordedPage, Truth};

    fn data(lives: &[(u32, u32)], changes: &[&[(u32, u16)]]) -> Dataset {
        let page = |&(first, last): &(u32, u32)| RecordedPage {
            url: "x".into(),
            site: first,
            group: first,
            first,
            last,
            ..RecordedPage::default()
        };
        Dataset {
            name: "d".into(),
            dates: Vec::new(),
            pages: lives.iter().map(page).collect(),
            sites: vec!["a".into(); 9],
            groups: vec!["a".into(); 9],
            truth: Truth::from_changes(4, changes.iter().copied()),
            signals: Default::default(),
            contents: None,
            beginning: None,
        }
    }

    #[test]
    fn figures_speak_of_the_fixed_set() {
        let changes: [&[(u32, u16)]; 4] = [&[(1, 1), (2, 0), (3, 1), (4, 2)], &[], &[(3, 1)], &[(4, 1)]];
        let summary = DatasetSummary::compute(&data(&[(0, 4), (0, 4), (2, 4), (0, 4)], &changes));
        assert_eq!((summary.pages, summary.fixed, summary.sites, summary.over), (4, 3, 2, "fixed"));
        assert_eq!((summary.changes, summary.back, summary.never), (5, 2, 1));
        assert_eq!(summary.change_rate, Some(5.0 / 12.0));
        let Quantiles { min, p50, max, .. } = summary.per_page;
        assert_eq!((min, p50, max), (0, 1, 4));
        let Quantiles { min, p50, max, mean, .. } = summary.per_cycle;
        assert_eq!((min, p50, max, mean), (1, 1, 2, 1.25));
        let classes: Vec<u64> = summary.rates.iter().map(|class| class.pages).collect();
        assert_eq!(classes, [0, 0, 0, 0, 1, 0, 0, 1], "one of four cycles, and all of them");
        assert_eq!((summary.form, summary.dates), ("versions", None));
    }

    #[test]
    fn without_a_fixed_set_figures_speak_of_all_pages() {
        let summary = DatasetSummary::compute(&data(&[(1, 3), (2, 2)], &[&[(2, 1)], &[]]));
        assert_eq!((summary.fixed, summary.over, summary.changes), (0, "all", 1));
        assert_eq!((summary.change_rate, summary.form), (Some(0.5), "words"));
    }

    #[test]
    fn one_twentieth_of_the_pages_has_its_share_of_the_changes() {
        let many: &[(u32, u16)] = &[(1, 1), (2, 2), (3, 3)];
        let mut changes = vec![[(4, 1)].as_slice(); 39];
        changes.push(many);
        let summary = DatasetSummary::compute(&data(&[(0, 4); 40], &changes));
        assert_eq!(summary.top_share, Some(4.0 / 42.0), "the two that change most");
        let still = DatasetSummary::compute(&data(&[(0, 4); 3], &[&[], &[], &[]]));
        assert_eq!((still.top_share, still.change_rate, still.never), (None, Some(0.0), 3));
    }
}
