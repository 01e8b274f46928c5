//! The recorded pages: what each shows on each day, and on which days it changed significantly.

use crate::Significance;
use crate::draws;
use recrawl_simulation::Dataset;
use std::sync::Arc;

/// The pages that are present in every cycle. A page's index here is its index everywhere.
#[derive(Clone, Debug, PartialEq)]
pub struct FixedPages {
    /// The pages, in the order of the data set.
    pub pages: Vec<ExpertPage>,
    /// The last day; the first is 0.
    pub last: u32,
    /// Whether the pages have texts. Without, a page is known by its change bits alone.
    pub has_texts: bool,
}

/// A page of a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExpertPage {
    /// Its index in the data set.
    pub place: u32,
    /// Its URL or name.
    pub name: Box<str>,
    /// For each day whether the step from the day before is a significant change; false on day 0.
    pub changed: Vec<bool>,
    /// The same as a method sees it: with some bits flipped, if the experiment flips bits.
    pub observed: Vec<bool>,
    /// Its different contents.
    pub texts: Vec<PageBag>,
    /// For each day the index of its content; empty without texts.
    pub shown: Vec<u32>,
}

/// A content of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct PageBag {
    /// Words and their counts, ascending by word.
    pub words: Arc<[(u32, u32)]>,
    /// Number of words, with repetitions.
    pub total: f64,
    /// Pages of the recording that it links to.
    pub links: Box<[u32]>,
}

/// Number of pages after each filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct PagesLeft {
    /// Pages of the data set.
    pub all: usize,
    /// Present in every cycle.
    pub fixed: usize,
    /// With a text on every day, or all if texts are not used.
    pub with_texts: usize,
    /// With at least one recorded change.
    pub changing: usize,
    /// With at least one significant change.
    pub significant: usize,
}

impl PageBag {
    /// A content with these words, ascending, and links.
    pub fn new(words: Arc<[(u32, u32)]>, links: Box<[u32]>) -> PageBag {
        let total = words.iter().map(|&(_, count)| f64::from(count)).sum();
        PageBag { words, total, links }
    }

    /// The inner product of two word distributions; 0 if a text is empty.
    pub fn product(&self, other: &PageBag) -> f64 {
        if self.total == 0.0 || other.total == 0.0 {
            return 0.0;
        }
        products(&self.words, &other.words) / (self.total * other.total)
    }

    /// How often a word occurs.
    pub fn count(&self, word: u32) -> f64 {
        self.words
            .binary_search_by_key(&word, |&(word, _)| word)
            .map_or(0.0, |place| f64::from(self.words[place].1))
    }
}

/// Σ over common words of the product of the counts.
fn products(mut a: &[(u32, u32)], mut b: &[(u32, u32)]) -> f64 {
    let mut sum = 0.0;
    while let ([(word_a, count_a), rest_a @ ..], [(word_b, count_b), rest_b @ ..]) = (a, b) {
        if word_a == word_b {
            sum += f64::from(*count_a) * f64::from(*count_b);
        }
        (a, b) = (if word_a <= word_b { rest_a } else { a }, if word_b <= word_a { rest_b } else { b });
    }
    sum
}

impl FixedPages {
    /// The fixed pages of a data set, with texts if it has read them. If it has, pages that lack a text on some day are
    /// left out. The second result counts what is left.
    ///
    /// # Errors
    /// If the significance of a change needs texts and the data set has none.
    pub fn from_dataset(
        data: &Dataset,
        significance: Significance,
    ) -> Result<(FixedPages, PagesLeft), String> {
        let has_texts = data.contents.is_some();
        if significance.needs_words() && !has_texts {
            return Err(format!(
                "changes by {significance} need the texts of the pages, and {} has none",
                data.name
            ));
        }
        let all = data.pages.len();
        let fixed = data.fixed();
        let last = data.truth.cycles();
        let has_text = |&page: &u32| match &data.contents {
            Some(contents) => (0..=last).all(|day| contents.shown(page as usize, day).is_some()),
            None => true,
        };
        let kept: Vec<u32> = fixed.iter().copied().filter(has_text).collect();
        let data = data.part(&kept, 0..last + 1);
        let mut pages: Vec<ExpertPage> = data
            .pages
            .iter()
            .zip(0..)
            .map(|(page, place)| shown(&data, place, kept[place as usize], &page.url))
            .collect();
        for day in 1..=last {
            for &place in data.truth.changed_in(day) {
                let page = &mut pages[place as usize];
                page.changed[day as usize] = match has_texts {
                    true => {
                        let [before, after] = [day - 1, day].map(|day| &page.text(day).words);
                        significance.is_met(before, after)
                    }
                    false => true,
                };
            }
        }
        // Flips may change what is observed, and leave what happened.
        pages.iter_mut().for_each(|page| page.observed.clone_from(&page.changed));
        let left = PagesLeft {
            all,
            fixed: fixed.len(),
            with_texts: pages.len(),
            changing: data.truth.changes().iter().filter(|&&count| count > 0).count(),
            significant: pages.iter().filter(|page| page.changed.contains(&true)).count(),
        };
        Ok((FixedPages { pages, last, has_texts }, left))
    }

    /// Pairs of pages of the data set as pairs of this recording, ascending; those that are not in it are left out.
    pub fn places(&self, pairs: &[(u32, u32)]) -> Vec<(u32, u32)> {
        let place = |page: u32| self.pages.binary_search_by_key(&page, |page| page.place).ok();
        let pair = |&(a, b): &(u32, u32)| Some((place(a)? as u32, place(b)? as u32));
        let mut pairs: Vec<(u32, u32)> = pairs.iter().filter_map(pair).collect();
        pairs.sort_unstable();
        pairs
    }

    /// Flips each observed change bit with this probability, by a seeded draw for each page and day. What is predicted
    /// stays true to the record.
    pub fn flip(&mut self, probability: f64, seed: u64) {
        for (place, page) in self.pages.iter_mut().enumerate() {
            draws::flip(&mut page.observed[1..], probability, seed, place as u64);
        }
    }
}

/// A page with its contents, and no significant change yet.
fn shown(data: &Dataset, place: u32, in_set: u32, name: &str) -> ExpertPage {
    let days = data.truth.cycles() as usize + 1;
    let bits = vec![false; days];
    let mut page = ExpertPage {
        place: in_set,
        name: name.into(),
        changed: bits.clone(),
        observed: bits,
        ..ExpertPage::default()
    };
    let Some(contents) = &data.contents else { return page };
    let mut known: Vec<*const recrawl_simulation::contents::ReplayDocument> = Vec::new();
    for day in 0..days as u32 {
        let document = contents.shown(place as usize, day).expect("pages without a text were left out");
        let index = known.iter().position(|&seen| std::ptr::eq(seen, document)).unwrap_or_else(|| {
            known.push(document);
            page.texts.push(PageBag::new(document.words.clone(), document.links.clone()));
            known.len() - 1
        });
        page.shown.push(index as u32);
    }
    page
}

impl ExpertPage {
    /// The text it shows on a day.
    ///
    /// # Panics
    /// If the page has no texts, or no such day.
    pub fn text(&self, day: u32) -> &PageBag {
        &self.texts[self.shown[day as usize] as usize]
    }

    /// The distance of the word distributions of two days.
    pub fn moved(&self, from: u32, to: u32) -> f64 {
        let [a, b] = [from, to].map(|day| self.shown[day as usize]);
        if a == b {
            return 0.0;
        }
        let (a, b) = (&self.texts[a as usize], &self.texts[b as usize]);
        distance(a.product(a), b.product(b), a.product(b))
    }
}

/// The distance of two word distributions from the products of each with itself and of both.
pub fn distance(a: f64, b: f64, both: f64) -> f64 {
    (a + b - 2.0 * both).max(0.0).sqrt()
}
