//! Popular keywords, which the features of ranking need.

use recrawl_clusters::features::MAX_KEYWORDS;
use recrawl_simulation::Dataset;
use std::collections::BTreeMap;

/// The words that are in most titles of these pages, at most [`MAX_KEYWORDS`]; of equally frequent ones the lower
/// numbers.
///
/// *Ours*: Tan & Mitra (2010, §3.3) take keywords of a query log. As there, stop words are left out: here those in over
/// half of the titles. Empty without contents.
pub fn popular_keywords(data: &Dataset, pages: &[u32]) -> Vec<u32> {
    let Some(contents) = &data.contents else { return Vec::new() };
    popular_words(pages.iter().map(|&page| contents.title_words(page as usize)))
}

/// The same of any titles, as the different words of each.
pub(crate) fn popular_words<'a>(titles: impl ExactSizeIterator<Item = &'a [u32]>) -> Vec<u32> {
    let pages = titles.len();
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    titles.flatten().for_each(|word| *counts.entry(*word).or_default() += 1);
    let mut words: Vec<(u32, usize)> = counts.into_iter().filter(|(_, titles)| 2 * titles <= pages).collect();
    words.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    words.into_iter().take(MAX_KEYWORDS).map(|(word, _)| word).collect()
}
