//! Features of a page on a day (Radinsky and Bennett 2013, section 4.2), as inner products over a window of days.
//!
//! With a window of one day (l = 1, σ = 1) the features of page A on day t are: whether it changed in the step to t and
//! in the step before, ‖A(t) − A(t−1)‖, ‖A(t−1) − A(t−2)‖, and its word distribution. The frequency in a window of one
//! day is the first of these. Of a related page B they are the same and cos(A, B), cos(δB, A), cos(δB, δA).
//!
//! The paper says nothing of scales. Here each single feature is scaled to 0..1 by the training days; a later value
//! beyond these counts as their end. A word distribution is taken from its mean over the training days and scaled to a
//! mean square length of 1, so it weighs as much as one feature. A later one has at most their greatest length.

use crate::recording::{ExpertPage, FixedPages, distance};
use crate::series::Window;
use crate::svm::Gram;
use std::collections::HashMap;

/// Single features of a page, and the products of its word distributions.
#[derive(Clone, Debug, PartialEq)]
pub struct PageFeatures {
    /// Values by day.
    columns: Vec<Vec<f64>>,
    words: Option<Band>,
}

/// Inner products of a page's word distributions on days at most `width` apart.
#[derive(Clone, Debug, PartialEq)]
struct Band {
    width: usize,
    /// width + 1 numbers a day: with itself, the day before, and so on.
    products: Vec<f64>,
}

impl Band {
    fn new(page: &ExpertPage, width: usize) -> Band {
        let mut known = HashMap::new();
        let mut products = Vec::with_capacity(page.shown.len() * (width + 1));
        for (day, &shown) in page.shown.iter().enumerate() {
            for back in 0..=width {
                let earlier = day.checked_sub(back).map_or(shown, |day| page.shown[day]);
                let pair = (shown.min(earlier), shown.max(earlier));
                let product = || page.texts[pair.0 as usize].product(&page.texts[pair.1 as usize]);
                products.push(*known.entry(pair).or_insert_with(product));
            }
        }
        Band { width, products }
    }

    fn product(&self, a: u32, b: u32) -> f64 {
        let (later, back) = (a.max(b) as usize, a.abs_diff(b) as usize);
        self.products[later * (self.width + 1) + back]
    }
}

impl PageFeatures {
    /// The features of a page on all days, for windows of at most `days` examples. Each day's features read no later
    /// day.
    pub fn compute(page: &ExpertPage, days: u32) -> PageFeatures {
        let count = page.observed.len();
        let bits = |back: usize| -> Vec<f64> {
            (0..count).map(|day| f64::from(u8::from(day >= back && page.observed[day - back]))).collect()
        };
        let mut columns = vec![bits(0), bits(1)];
        let words = (!page.texts.is_empty()).then(|| {
            let steps: Vec<f64> =
                (0..count as u32).map(|day| if day == 0 { 0.0 } else { page.moved(day - 1, day) }).collect();
            let before = [0.0].into_iter().chain(steps[..count - 1].iter().copied()).collect();
            columns.extend([steps, before]);
            Band::new(page, days as usize)
        });
        PageFeatures { columns, words }
    }

    /// The products of the features over a window.
    pub fn gram(&self, window: Window) -> Gram {
        let mut gram = Gram::new(window.days as usize);
        self.columns.iter().for_each(|column| add_column(&mut gram, window, column));
        if let Some(band) = &self.words {
            add_words(&mut gram, window, band);
        }
        gram
    }
}

/// Adds a feature by its values of all days.
pub fn add_column(gram: &mut Gram, window: Window, column: &[f64]) {
    let days = window.example_days();
    gram.add_feature(&column[*days.start() as usize..=*days.end() as usize]);
}

/// Adds the word distributions as a feature of mean square length 1 around their mean.
fn add_words(gram: &mut Gram, window: Window, band: &Band) {
    let examples = gram.examples;
    let days: Vec<u32> = window.example_days().collect();
    let raw: Vec<f64> =
        days.iter().flat_map(|&a| days[..examples].iter().map(move |&b| band.product(a, b))).collect();
    let count = examples as f64;
    let means: Vec<f64> = raw.chunks_exact(examples).map(|row| row.iter().sum::<f64>() / count).collect();
    let mean = means[..examples].iter().sum::<f64>() / count;
    let centred = |i: usize, j: usize| raw[i * examples + j] - means[i] - means[j] + mean;
    let squares: Vec<f64> = (0..examples).map(|i| centred(i, i).max(0.0)).collect();
    let square = squares.iter().sum::<f64>() / count;
    // Below, all days show one text, and what is left is rounding.
    if square <= 1e-12 * mean.max(f64::MIN_POSITIVE) {
        return;
    }
    let greatest = squares.iter().copied().fold(0.0, f64::max);
    let today = band.product(window.today, window.today) - 2.0 * means[examples] + mean;
    let shortened = if today > greatest { (greatest / today).sqrt() } else { 1.0 };
    for i in 0..=examples {
        let scale = if i == examples { shortened / square } else { 1.0 / square };
        for j in 0..examples {
            gram.products[i * examples + j] += scale * centred(i, j);
        }
    }
    gram.features += 1;
}

/// The features of a pair by day: cos(A, B), cos(δB, A), cos(δB, δA). Empty without texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairFeatures {
    columns: Vec<Vec<f64>>,
}

impl PairFeatures {
    /// Of target A and related page B over the days of `windows`, each from its two days before; 0 on other days.
    pub fn compute(
        recording: &FixedPages,
        target: u32,
        related: u32,
        days: std::ops::RangeInclusive<u32>,
    ) -> PairFeatures {
        if !recording.has_texts {
            return PairFeatures::default();
        }
        let [a, b] = [target, related].map(|page| &recording.pages[page as usize]);
        let [mut cross, mut own_a, mut own_b] = [[a, b], [a, a], [b, b]].map(Products::between);
        let mut columns = vec![vec![0.0; recording.last as usize + 1]; 3];
        for day in days {
            let [now_a, now_b] = [a, b].map(|page| page.shown[day as usize]);
            let [old_a, old_b] = [a, b].map(|page| page.shown[day.saturating_sub(1) as usize]);
            let (now_now, now_old) = (cross.get(now_a, now_b), cross.get(now_a, old_b));
            let (old_now, old_old) = (cross.get(old_a, now_b), cross.get(old_a, old_b));
            let (length_a, length_b) = (own_a.get(now_a, now_a).sqrt(), own_b.get(now_b, now_b).sqrt());
            let (step_a, step_b) = (own_a.distance(old_a, now_a), own_b.distance(old_b, now_b));
            let values = [
                (now_now, length_a * length_b),
                (now_now - now_old, step_b * length_a),
                (now_now - now_old - old_now + old_old, step_b * step_a),
            ];
            for (column, (product, lengths)) in columns.iter_mut().zip(values) {
                column[day as usize] = if lengths > 0.0 { product / lengths } else { 0.0 };
            }
        }
        PairFeatures { columns }
    }

    /// Adds the pair's features over a window.
    pub fn add(&self, gram: &mut Gram, window: Window) {
        self.columns.iter().for_each(|column| add_column(gram, window, column));
    }
}

/// Products of the contents of two pages, or of one page, each computed once.
struct Products<'p> {
    pages: [&'p ExpertPage; 2],
    known: HashMap<(u32, u32), f64>,
}

impl<'p> Products<'p> {
    fn between(pages: [&'p ExpertPage; 2]) -> Products<'p> {
        Products { pages, known: HashMap::new() }
    }

    fn get(&mut self, i: u32, j: u32) -> f64 {
        let [a, b] = self.pages;
        *self.known.entry((i, j)).or_insert_with(|| a.texts[i as usize].product(&b.texts[j as usize]))
    }

    /// The distance of two contents of one page.
    fn distance(&mut self, i: u32, j: u32) -> f64 {
        match i == j {
            true => 0.0,
            false => distance(self.get(i, i), self.get(j, j), self.get(i, j)),
        }
    }
}

#[cfg(test)]
mod tests;
