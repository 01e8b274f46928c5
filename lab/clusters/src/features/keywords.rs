//! Places of pages among the best ones for popular keywords (section 3.3, equation 7).

use super::{FeatureContent, FeaturePage, MAX_KEYWORDS};
use recrawl_formula::math::ln;
use serde::{Deserialize, Serialize};

/// Pages that count for a keyword.
const PLACES: usize = 10;

/// Keywords, each with the scores of its best pages in the sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Keywords(Vec<Keyword>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Keyword {
    word: u32,
    idf: f64,
    /// The best scores, falling, all above 0.
    best: Vec<f64>,
}

impl Keywords {
    pub(super) fn fit(words: &[u32], pages: &[FeaturePage<'_>]) -> Keywords {
        let keyword = |word: &u32| {
            let with_it = pages.iter().filter(|page| count(&page.content, *word) > 0).count();
            let idf = if with_it > 0 { ln(pages.len() as f64 / with_it as f64) } else { 0.0 };
            let mut keyword = Keyword { word: *word, idf, best: Vec::new() };
            let mut scores: Vec<f64> = pages.iter().map(|page| keyword.score(&page.content)).collect();
            scores.retain(|score| *score > 0.0);
            scores.sort_by(|a, b| b.total_cmp(a));
            scores.truncate(PLACES);
            keyword.best = scores;
            keyword
        };
        Keywords(words.iter().map(keyword).collect())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// (11 − place)/10 for each keyword, 0 from place 11 on and without the keyword. Pages with equal scores share a
    /// place.
    pub(super) fn values(&self, content: &FeatureContent<'_>) -> impl Iterator<Item = f64> {
        self.0.iter().map(|keyword| {
            let score = keyword.score(content);
            let better = keyword.best.iter().filter(|best| **best > score).count();
            if score > 0.0 { (PLACES - better) as f64 / PLACES as f64 } else { 0.0 }
        })
    }

    pub(super) fn is_sound(&self) -> bool {
        let is_sound = |keyword: &Keyword| {
            keyword.best.len() <= PLACES
                && keyword.idf.is_finite()
                && keyword.best.iter().all(|best| best.is_finite())
        };
        self.0.len() <= MAX_KEYWORDS && self.0.iter().all(is_sound)
    }
}

impl Keyword {
    /// TF·IDF. TF is a share of the words: a long text is not about everything.
    fn score(&self, content: &FeatureContent<'_>) -> f64 {
        f64::from(count(content, self.word)) / content.words_total.max(1) as f64 * self.idf
    }
}

fn count(content: &FeatureContent<'_>, word: u32) -> u32 {
    content.words.binary_search_by_key(&word, |(word, _)| *word).map_or(0, |place| content.words[place].1)
}
