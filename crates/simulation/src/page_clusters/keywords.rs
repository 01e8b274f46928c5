//! Popular keywords, which the features of ranking need.

use crate::Dataset;
use recrawl_clusters::features::MAX_KEYWORDS;
use std::collections::BTreeMap;

/// The words that are in most titles of these pages, at most [`MAX_KEYWORDS`]; of equally frequent ones the lower
/// numbers.
///
/// *Ours*: Tan & Mitra (2010, §3.3) take keywords of a query log. As there, stop words are left out: here those in over
/// half of the titles. Empty without contents.
pub fn popular_keywords(data: &Dataset, pages: &[u32]) -> Vec<u32> {
    let Some(contents) = &data.contents else { return Vec::new() };
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for &page in pages {
        contents.title_words(page as usize).iter().for_each(|word| *counts.entry(*word).or_default() += 1);
    }
    let mut words: Vec<(u32, usize)> =
        counts.into_iter().filter(|(_, titles)| 2 * titles <= pages.len()).collect();
    words.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    words.into_iter().take(MAX_KEYWORDS).map(|(word, _)| word).collect()
}
