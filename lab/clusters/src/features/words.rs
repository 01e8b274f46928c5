//! Words that count, weighted by TF·IDF (Salton 1991).

use recrawl_formula::math::ln;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::hash::Hash;

/// The words that count, rising, and their weights.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Vocabulary<W> {
    words: Vec<W>,
    /// ln of pages by pages with the word.
    idf: Vec<f64>,
}

impl<W: Ord + Hash + Clone> Vocabulary<W> {
    /// The most frequent words of pages, at most `count`. A word in over half of the pages is a stop word. Of equally
    /// frequent words, the first ones count.
    pub(super) fn fit(
        pages: impl Iterator<Item = impl Iterator<Item = (W, u32)>>,
        count: usize,
    ) -> Vocabulary<W> {
        let mut total = 0;
        // Occurrences, and pages with the word.
        let mut counts: HashMap<W, (u64, u64)> = HashMap::new();
        for page in pages {
            total += 1;
            for (word, occurrences) in page {
                let counted = counts.entry(word).or_default();
                *counted = (counted.0 + u64::from(occurrences), counted.1 + 1);
            }
        }
        let mut words: Vec<_> = counts.into_iter().filter(|(_, (_, pages))| 2 * pages <= total).collect();
        words.sort_unstable_by(|(a, (many, _)), (b, (few, _))| few.cmp(many).then_with(|| a.cmp(b)));
        words.truncate(count);
        words.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let idf = words.iter().map(|(_, (_, pages))| ln(total as f64 / *pages as f64)).collect();
        Vocabulary { words: words.into_iter().map(|(word, _)| word).collect(), idf }
    }

    /// Number of words.
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// The vector of a page, whose words rise: columns and weights.
    pub(super) fn vector(&self, page: impl Iterator<Item = (W, u32)>) -> Vec<(u32, f64)> {
        page.filter_map(|(word, count)| {
            let place = self.words.binary_search(&word).ok()?;
            Some((place as u32, f64::from(count) * self.idf[place]))
        })
        .collect()
    }

    pub(super) fn is_sound(&self) -> bool {
        self.words.is_sorted_by(|a, b| a < b)
            && self.idf.len() == self.words.len()
            && self.idf.iter().all(|idf| idf.is_finite())
    }
}

/// The cosine of two contents by the counts of their words: 1 if both have no words, 0 if one has none.
pub(super) fn cosine(a: &[(u32, u32)], b: &[(u32, u32)]) -> f64 {
    let squares =
        |words: &[(u32, u32)]| words.iter().map(|(_, n)| f64::from(*n) * f64::from(*n)).sum::<f64>();
    let (square_of_a, square_of_b) = (squares(a), squares(b));
    if square_of_a == 0.0 || square_of_b == 0.0 {
        return f64::from(u8::from(square_of_a == square_of_b));
    }
    let (mut product, mut rest) = (0.0, b);
    for (word, count) in a {
        let below = rest.partition_point(|(other, _)| other < word);
        rest = &rest[below..];
        if let Some((_, other)) = rest.first().filter(|(other, _)| other == word) {
            product += f64::from(*count) * f64::from(*other);
        }
    }
    product / (square_of_a.sqrt() * square_of_b.sqrt())
}
