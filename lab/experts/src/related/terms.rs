//! The tf·idf series of the words of pages over some days.

use super::MAX_TERMS;
use crate::recording::{ExpertPage, FixedPages, PageBag};
use crate::similarity::standardised;
use recrawl_formula::math::ln;
use std::collections::HashMap;
use std::ops::RangeInclusive;

/// Words with weights.
type Terms = Vec<(u32, f64)>;

/// The series of the words of all pages.
///
/// tf is the count of a word. idf is ln(pages / pages with the word) on the last day, and what words that none shows
/// then would have on one page. All days of a page are divided by the root mean square length of its vectors, so that
/// pages of all sizes compare and a word that does not move stays level.
pub struct Dynamics {
    days: usize,
    pages: Vec<PageDynamics>,
}

#[derive(Default)]
struct PageDynamics {
    /// tf·idf of the last day, ascending by word.
    levels: Terms,
    /// The words of the greatest of these.
    terms: Terms,
    /// Words whose series is not constant, ascending: values by day, and the same standardised.
    varying: Vec<(u32, Vec<f64>, Vec<f64>)>,
}

impl Dynamics {
    /// Of the words of all pages.
    pub fn of_words(recording: &FixedPages, days: RangeInclusive<u32>) -> Dynamics {
        let today = *days.end();
        let mut documents: HashMap<u32, u32> = HashMap::new();
        for page in &recording.pages {
            page.text(today).words.iter().for_each(|&(word, _)| *documents.entry(word).or_default() += 1);
        }
        let count = recording.pages.len() as f64;
        let idf = |word: u32| ln(count / f64::from(documents.get(&word).copied().unwrap_or(1)));
        let mut pages: Vec<PageDynamics> = Vec::new();
        for page in &recording.pages {
            let mut levels: Terms =
                page.text(today).words.iter().map(|&(word, n)| (word, f64::from(n) * idf(word))).collect();
            let square = |text: &PageBag| {
                text.words
                    .iter()
                    .map(|&(word, n)| f64::from(n) * idf(word))
                    .map(|level| level * level)
                    .sum::<f64>()
            };
            // Most days show the text of the day before, whose sum is known.
            let mut squares: HashMap<u32, f64> = HashMap::new();
            let of_day = |day: u32| {
                let shown = page.shown[day as usize];
                *squares.entry(shown).or_insert_with(|| square(&page.texts[shown as usize]))
            };
            let sum: f64 = days.clone().map(of_day).sum();
            let scale = if sum > 0.0 { (days.clone().count() as f64 / sum).sqrt() } else { 0.0 };
            levels.iter_mut().for_each(|(_, level)| *level *= scale);
            let shows = |day: u32| page.shown[day as usize];
            let is_still = days.clone().all(|day| shows(day) == shows(today));
            let mut varying = Vec::new();
            if !is_still {
                for word in moving_words(page, days.clone()) {
                    let factor = idf(word) * scale;
                    let series: Vec<f64> =
                        days.clone().map(|day| page.text(day).count(word) * factor).collect();
                    if let Some(standard) = standardised(&series) {
                        varying.push((word, series, standard));
                    }
                }
            }
            let mut terms = levels.clone();
            // Ties by word, so that the same pages always have the same terms.
            terms.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            terms.retain(|&(_, level)| level > 0.0);
            terms.truncate(MAX_TERMS);
            pages.push(PageDynamics { levels, terms, varying });
        }
        Dynamics { days: days.count(), pages }
    }

    /// Of the observed change bits, as if each page had one word, the same for all, on the days it changes.
    pub fn of_bits(recording: &FixedPages, days: RangeInclusive<u32>) -> Dynamics {
        let page = |page: &ExpertPage| {
            let bit = |day: u32| f64::from(u8::from(page.observed[day as usize]));
            let series: Vec<f64> = days.clone().map(bit).collect();
            let level = series.last().copied().unwrap_or(0.0);
            let varying = standardised(&series).map(|standard| (0, series, standard));
            PageDynamics {
                levels: vec![(0, level)],
                terms: vec![(0, 1.0)],
                varying: varying.into_iter().collect(),
            }
        };
        Dynamics { days: days.clone().count(), pages: recording.pages.iter().map(page).collect() }
    }

    /// Number of days.
    pub fn days(&self) -> usize {
        self.days
    }

    /// The terms of a page and their weights ω: tf·idf on the last day.
    pub fn terms(&self, page: u32) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.pages[page as usize].terms.iter().copied()
    }

    /// tf·idf of a word on the last day.
    pub fn level(&self, page: u32, word: u32) -> f64 {
        let levels = &self.pages[page as usize].levels;
        levels.binary_search_by_key(&word, |&(word, _)| word).map_or(0.0, |place| levels[place].1)
    }

    /// The series of a word, if it is not constant.
    pub fn varying(&self, page: u32, word: u32) -> Option<&[f64]> {
        self.series(page, word).map(|(_, series, _)| series.as_slice())
    }

    /// The same, standardised.
    pub fn standard(&self, page: u32, word: u32) -> Option<&[f64]> {
        self.series(page, word).map(|(_, _, standard)| standard.as_slice())
    }

    fn series(&self, page: u32, word: u32) -> Option<&(u32, Vec<f64>, Vec<f64>)> {
        let varying = &self.pages[page as usize].varying;
        varying.binary_search_by_key(&word, |&(word, ..)| word).ok().map(|place| &varying[place])
    }
}

/// Words whose count is not the same on all days, ascending.
fn moving_words(page: &ExpertPage, days: RangeInclusive<u32>) -> Vec<u32> {
    let mut moved = Vec::new();
    for day in *days.start() + 1..=*days.end() {
        if page.shown[day as usize] == page.shown[day as usize - 1] {
            continue;
        }
        let (before, after) = (page.text(day - 1), page.text(day));
        let differs = |a: &PageBag, b: &PageBag| -> Vec<u32> {
            a.words
                .iter()
                .filter(|&&(word, n)| b.count(word) != f64::from(n))
                .map(|&(word, _)| word)
                .collect()
        };
        moved.extend(differs(before, after));
        moved.extend(differs(after, before));
    }
    moved.sort_unstable();
    moved.dedup();
    moved
}
