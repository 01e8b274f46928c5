//! A recorded web in memory: its pages and their changes.

use crate::format::calendar::parse_date;
use crate::{Contents, Rules, Signals, Truth};
use recrawl_types::{History, Importance};
use std::ops::Range;
use std::sync::Arc;

/// The recorded history of many pages.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// The name of its folder or file.
    pub name: String,
    /// The day of each cycle as YYYY-MM-DD, from cycle 0 to the last; empty if the format has no
    /// dates.
    pub dates: Vec<String>,
    /// The pages, in file order. A page's index here is its index everywhere.
    pub pages: Vec<RecordedPage>,
    /// The sites; a page refers to its site by index.
    pub sites: Vec<String>,
    /// The groups, a column of the files; a page refers to its group by index.
    pub groups: Vec<String>,
    /// The changes of the pages.
    pub truth: Truth,
    /// Signals of changes; none in most data sets.
    pub signals: Signals,
    /// The contents of the pages, where the laboratory read them.
    pub contents: Option<Arc<Contents>>,
    /// What a crawl knew when the history begins; none if a replay begins with the first visits.
    pub beginning: Option<Arc<Beginning>>,
}

/// What a crawl knew of the pages after a cycle. A replay goes on from there; all its pages were visited before.
#[derive(Clone, Debug, PartialEq)]
pub struct Beginning {
    /// The cycle.
    pub cycle: u32,
    /// The history of each page up to it.
    pub histories: Vec<History>,
}

/// A page of a data set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedPage {
    /// The URL or, if unknown, the name in the source; may be empty.
    pub url: Box<str>,
    /// The index of its site in [`Dataset::sites`]: the registrable domain of its URL, as in a crawl; its group
    /// if the URL is unknown.
    pub site: u32,
    /// The index of its group in [`Dataset::groups`], such as a service or a section of a site. Tests draw whole
    /// groups, because pages of a group change alike. A page of an unknown group has one of its own.
    pub group: u32,
    /// The first cycle in which it exists.
    pub first: u32,
    /// The last cycle in which it exists.
    pub last: u32,
    /// As how many ordinary pages it counts; 1 unless the [page was weighed](Dataset::weigh).
    pub importance: Importance,
}

impl Dataset {
    /// Maximum pages: a page's index has 32 bits.
    pub const MAX_PAGES: usize = 50_000_000;
    /// Maximum cycles: pages times cycles must fit in memory, and a year of hours is 8,760.
    pub const MAX_CYCLES: u32 = 20_000;
    /// Maximum changes of all pages together, and maximum signals: 12 bytes each while reading.
    pub const MAX_CHANGES: usize = 2_000_000_000;
    /// Maximum pages times cycles if contents return or cycles exceed 63: 2 bytes each.
    pub const MAX_CONTENTS: u64 = 4_000_000_000;

    /// The pages that exist from the first cycle to the last.
    pub fn fixed(&self) -> Vec<u32> {
        let whole = |page: &RecordedPage| page.first == 0 && page.last == self.truth.cycles();
        (0..self.pages.len() as u32).filter(|&p| whole(&self.pages[p as usize])).collect()
    }

    /// Gives each page an importance, by its URL or name.
    pub fn weigh(&mut self, importance: impl Fn(&str) -> Importance) {
        self.pages.iter_mut().for_each(|page| page.importance = importance(&page.url));
    }

    /// Does some page have an importance other than 1?
    pub fn is_weighed(&self) -> bool {
        self.pages.iter().any(|page| page.importance != Importance::ONE)
    }

    /// The usual length of a cycle: the median of the days from one date to the next; `None` without dates.
    pub fn days_of_a_cycle(&self) -> Option<i64> {
        let days: Vec<i64> = self.dates.iter().map(|date| parse_date(date)).collect::<Option<_>>()?;
        let mut steps: Vec<i64> = days.windows(2).map(|pair| pair[1] - pair[0]).collect();
        steps.sort_unstable();
        steps.get(steps.len() / 2).copied()
    }

    /// The cycle after which a replay spends its budget: that of the beginning, or else the last of the warm-up.
    pub fn begun(&self, rules: &Rules) -> u32 {
        self.beginning.as_ref().map_or(rules.warmup, |beginning| beginning.cycle)
    }

    /// Changes that visits by budget can find: of each page after its first visit and the warm-up.
    pub fn changes_after_warmup(&self, rules: &Rules) -> u64 {
        let begun = |page: &RecordedPage| self.begun(rules).max(page.first + rules.warmup);
        let of_cycle = |cycle: u32| {
            let pages = self.truth.changed_in(cycle).iter();
            pages.filter(|&&page| cycle > begun(&self.pages[page as usize])).count() as u64
        };
        (1..=self.truth.cycles()).map(of_cycle).sum()
    }

    /// Only the [fixed](Dataset::fixed) pages.
    pub fn fixed_part(&self) -> Dataset {
        self.part(&self.fixed(), 0..self.truth.cycles() + 1)
    }

    /// The first cycle with at least nine tenths of the final pages. A replay that begins there has
    /// most pages throughout. 0 without pages.
    pub fn settled(&self) -> u32 {
        let at_the_end = self.pages.iter().filter(|page| page.last == self.truth.cycles());
        let mut firsts: Vec<u32> = at_the_end.map(|page| page.first).collect();
        firsts.sort_unstable();
        let nine_in_ten = (firsts.len() * 9).div_ceil(10);
        nine_in_ten.checked_sub(1).map_or(0, |place| firsts[place])
    }

    /// Memory in bytes, without the allocator's overhead and spare capacity.
    pub fn bytes(&self) -> u64 {
        let texts = self
            .dates
            .iter()
            .chain(&self.sites)
            .chain(&self.groups)
            .map(|text| size_of::<String>() + text.len());
        let pages = self.pages.iter().map(|page| size_of::<RecordedPage>() + page.url.len());
        let contents = self.contents.as_ref().map_or(0, |contents| contents.bytes());
        let beginning = self.beginning.as_ref().map_or(0, |b| size_of_val(b.histories.as_slice()));
        let own = texts.chain(pages).sum::<usize>() + beginning;
        own as u64 + self.truth.bytes() + self.signals.bytes() + contents
    }

    /// Some pages, in the given order, over `cycles`; `cycles.start` becomes cycle 0. Sites and groups
    /// keep their indexes. A part from a later cycle than 0 begins with the first visits.
    ///
    /// # Panics
    /// If a page or the range is outside the data, or the range is empty.
    pub fn part(&self, pages: &[u32], cycles: Range<u32>) -> Dataset {
        let last = cycles.end - 1 - cycles.start;
        let cut = |cycle: u32| cycle.saturating_sub(cycles.start).min(last);
        let page = |&p: &u32| {
            let page = &self.pages[p as usize];
            RecordedPage { first: cut(page.first), last: cut(page.last), ..page.clone() }
        };
        let beginning = self.beginning.as_ref().filter(|_| cycles.start == 0).map(|beginning| {
            let histories = pages.iter().map(|&p| beginning.histories[p as usize]).collect();
            Arc::new(Beginning { histories, ..**beginning })
        });
        let dates = self.dates.get(cycles.start as usize..cycles.end as usize).unwrap_or_default();
        Dataset {
            name: self.name.clone(),
            dates: dates.to_vec(),
            pages: pages.iter().map(page).collect(),
            sites: self.sites.clone(),
            groups: self.groups.clone(),
            signals: self.signals.part(pages, cycles.clone()),
            contents: self.contents.as_ref().map(|contents| Arc::new(contents.part(pages, cycles.clone()))),
            truth: self.truth.part(pages, cycles),
            beginning,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Data sets with importances, some of them 0.
    pub(crate) fn weighed(data: impl Strategy<Value = Dataset>) -> impl Strategy<Value = Dataset> {
        (data, prop::collection::vec(0..4u32, 30)).prop_map(|(mut data, importances)| {
            for (page, importance) in data.pages.iter_mut().zip(importances) {
                page.importance = Importance::new(f64::from(importance) * 1.5).expect("few decimals");
            }
            data
        })
    }

    #[test]
    fn a_part_keeps_what_belongs_to_its_pages() {
        let page = |url: &str, site, first, last| RecordedPage {
            url: url.into(),
            site,
            group: site,
            first,
            last,
            ..RecordedPage::default()
        };
        let data = Dataset {
            name: "three".into(),
            dates: (1..=6).map(|day| format!("2026-01-0{day}")).collect(),
            pages: vec![page("a", 0, 0, 5), page("b", 1, 2, 5), page("c", 0, 0, 5)],
            sites: vec!["x".into(), "y".into()],
            groups: vec!["p".into(), "q".into()],
            truth: Truth::from_words(5, vec![0b110, 0b10_0000, 0b1000]),
            signals: Default::default(),
            contents: None,
            beginning: None,
        };
        assert_eq!(data.fixed(), [0, 2]);
        assert_eq!(data.days_of_a_cycle(), Some(1));
        let weekly = ["2026-01-01", "2026-01-08", "2026-01-15", "2026-02-20"].map(str::to_owned).to_vec();
        assert_eq!(Dataset { dates: weekly, ..data.clone() }.days_of_a_cycle(), Some(7));
        assert_eq!(Dataset { dates: Vec::new(), ..data.clone() }.days_of_a_cycle(), None);
        assert_eq!(data.fixed_part().pages, [data.pages[0].clone(), data.pages[2].clone()]);
        assert_eq!(data.settled(), 2, "the third of three is needed");
        let many: Vec<RecordedPage> =
            (0..20).map(|n| page("d", 0, if n < 2 { 4 } else { n / 9 }, 5)).collect();
        assert_eq!(Dataset { pages: many, ..data.clone() }.settled(), 2);
        assert_eq!(Dataset { pages: Vec::new(), ..data.clone() }.settled(), 0);
        let part = data.part(&[2, 1], 1..5);
        assert_eq!(part.dates, ["2026-01-02", "2026-01-03", "2026-01-04", "2026-01-05"]);
        assert_eq!(part.pages, [page("c", 0, 0, 3), page("b", 1, 1, 3)]);
        assert_eq!(part.truth, Truth::from_words(3, vec![0b100, 0]));
    }
}
