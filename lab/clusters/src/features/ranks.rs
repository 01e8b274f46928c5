//! Clusters of pages by words, and their distances as a few numbers.

use super::words::Vocabulary;
use super::{FeatureError, FeatureOptions};
use crate::bisection::{MAX_CLUSTERS, bisect};
use crate::centroids::Centroids;
use crate::rows::Rows;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::hash::Hash;

/// Clusters of pages by words. The largest ones are dimensions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct WordRanks<W> {
    /// For each dimension and cluster its place among the clusters nearest to the cluster of the dimension, which has 0.
    /// With fewer clusters than dimensions, the last dimensions are 0.
    pub places: Vec<Vec<u16>>,
    vocabulary: Vocabulary<W>,
    centroids: Centroids,
}

impl<W: Ord + Hash + Clone> WordRanks<W> {
    /// Clusters pages by their words, which rise.
    pub(super) fn fit(
        vocabulary: Vocabulary<W>,
        pages: impl Iterator<Item = impl Iterator<Item = (W, u32)>>,
        ranks: usize,
        options: &FeatureOptions,
    ) -> Result<WordRanks<W>, FeatureError> {
        let mut rows = Rows::new(vocabulary.len());
        for page in pages {
            rows.push(&vocabulary.vector(page)).expect("places in a vocabulary rise, and weights are finite");
        }
        let clustering = bisect(&rows, &options.bisection)?;
        let mut sizes = vec![0u64; clustering.centroids.len()];
        clustering.members.iter().for_each(|cluster| sizes[*cluster as usize] += 1);
        let mut largest: Vec<usize> = (0..sizes.len()).collect();
        largest.sort_by_key(|cluster| Reverse(sizes[*cluster]));
        let mut places: Vec<_> =
            largest.iter().take(ranks).map(|cluster| places(&clustering.centroids, *cluster)).collect();
        places.resize(ranks, vec![0; sizes.len()]);
        Ok(WordRanks { places, vocabulary, centroids: clustering.centroids })
    }

    /// The cluster of a page by its words, which rise; 0 if none of them counts.
    pub(super) fn cluster(&self, words: impl Iterator<Item = (W, u32)>) -> u16 {
        let mut rows = Rows::new(self.vocabulary.len());
        rows.push(&self.vocabulary.vector(words))
            .expect("places in a vocabulary rise, and weights are finite");
        self.centroids.nearest_to_row(&rows, 0).0 as u16
    }

    pub(super) fn is_sound(&self) -> bool {
        let clusters = self.centroids.len();
        (1..=MAX_CLUSTERS).contains(&clusters)
            && self.places.iter().all(|places| places.len() == clusters)
            && self.vocabulary.is_sound()
            && self.centroids.is_sound()
            && self.centroids.dims() == self.vocabulary.len()
    }
}

/// The place of each cluster among those nearest to `to`, by the cosine of centroids. Ties go to the lower number.
fn places(centroids: &Centroids, to: usize) -> Vec<u16> {
    let cosine = |cluster: usize| crate::rows::dot(centroids.get(to), centroids.get(cluster));
    let mut others: Vec<_> = (0..centroids.len()).filter(|c| *c != to).map(|c| (cosine(c), c)).collect();
    others.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut places = vec![0; centroids.len()];
    (1..).zip(others).for_each(|(place, (_, cluster))| places[cluster] = place);
    places
}
