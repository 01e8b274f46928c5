//! A fitted model of clusters: it assigns new pages in a time that does not depend on the number of pages.

mod stored;

use crate::bisection::Clustering;
use crate::centroids::Centroids;
use crate::features::FeatureSpace;
use crate::rows::{dot, to_unit};
use crate::scaling::{Scaling, ScalingError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Version of the stored form. Models of other versions are refused.
pub const MODEL_VERSION: u32 = 1;

/// Clusters of pages by features, with all that is needed to assign a page.
///
/// It is read back only in its own version and with the features that its options give.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "stored::Stored")]
pub struct Model {
    version: u32,
    /// Names of all features, in order.
    features: Vec<String>,
    /// Pages that each cluster has had: those of the fit and of all updates.
    counts: Vec<u64>,
    /// τ of the fit by its pages.
    tau_per_page: f64,
    space: FeatureSpace,
    scaling: Scaling,
    centroids: Centroids,
}

/// Parts that make no model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// Another version wrote it.
    #[error("model of version {0}, but this is version {MODEL_VERSION}: fit it again")]
    Version(u32),
    /// Its features are others.
    #[error("feature {place} of the model is `{found}`, not `{expected}`: fit it again")]
    Features {
        /// The first place where they differ, from 1.
        place: usize,
        /// The name in the model; empty if it has fewer features.
        found: String,
        /// The name that belongs there; empty if it has more.
        expected: String,
    },
    /// Tables do not fit together, or numbers are not finite.
    #[error("damaged model: {0}; fit it again")]
    Damaged(&'static str),
}

impl Model {
    /// Joins the features of a sample, their scaling, and the clusters of the scaled rows.
    pub fn new(space: FeatureSpace, scaling: Scaling, clustering: &Clustering) -> Result<Model, ModelError> {
        let mut counts = vec![0; clustering.centroids.len()];
        clustering.members.iter().for_each(|cluster| counts[*cluster as usize] += 1);
        let features = space.features().into_iter().map(|feature| feature.name).collect();
        let tau_per_page = clustering.tau / clustering.members.len().max(1) as f64;
        let centroids = clustering.centroids.clone();
        let model =
            Model { version: MODEL_VERSION, features, counts, tau_per_page, space, scaling, centroids };
        model.check()?;
        Ok(model)
    }

    /// The features of pages.
    pub fn space(&self) -> &FeatureSpace {
        &self.space
    }

    /// The scaling of features.
    pub fn scaling(&self) -> &Scaling {
        &self.scaling
    }

    /// The directions of the clusters, over the [kept](Scaling::kept) features.
    pub fn centroids(&self) -> &Centroids {
        &self.centroids
    }

    /// Number of clusters, at least 1.
    pub fn clusters(&self) -> usize {
        self.centroids.len()
    }

    /// Pages that each cluster has had: those of the fit, and of all updates.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The mean cosine of the pages of the fit to their centroids.
    pub fn tau_per_page(&self) -> f64 {
        self.tau_per_page
    }

    /// The cluster of a page by its features, and the closeness: the cosine to the centroid. A page that is like the mean
    /// of all has no direction; its cluster is 0 and its closeness is 0.
    pub fn assign(&self, features: &[f64]) -> Result<(u16, f64), ScalingError> {
        let (cluster, closeness) = self.centroids.nearest(&self.scaling.vector(features)?);
        Ok((cluster as u16, closeness))
    }

    /// Moves the centroids toward the pages of a batch: mini-batch k-means on the sphere (Sculley 2010). `features` has
    /// the values of all pages, page after page.
    ///
    /// Pages are assigned by the centroids before the batch. Then in their order each pulls its centroid by 1/n of the
    /// way, for the n-th page of the cluster. Returns the mean closeness before the move, to compare with
    /// [`tau_per_page`](Model::tau_per_page), or `None` for an empty batch. Nothing moves if a page is refused.
    pub fn update(&mut self, features: &[f64]) -> Result<Option<f64>, ScalingError> {
        let width = self.scaling.width();
        if !features.len().is_multiple_of(width) {
            return Err(ScalingError::Length { values: features.len(), features: width });
        }
        let pages: Vec<_> = features
            .chunks_exact(width)
            .enumerate()
            .map(|(page, values)| {
                let vector = self.scaling.vector(values).map_err(|error| error.of_page(page))?;
                let (cluster, closeness) = self.centroids.nearest(&vector);
                Ok((cluster, closeness, vector))
            })
            .collect::<Result<_, ScalingError>>()?;
        let sum = pages.iter().map(|(_, closeness, _)| closeness).sum::<f64>();
        for (cluster, _, vector) in &pages {
            self.counts[*cluster] += 1;
            if vector.iter().any(|value| *value != 0.0) {
                self.centroids.pull(*cluster, vector, 1.0 / self.counts[*cluster] as f64);
            }
        }
        Ok((!pages.is_empty()).then(|| sum / pages.len() as f64))
    }

    /// The same clusters under the numbers of the previous model, so that a number lasts from fit to fit.
    ///
    /// Pairs of an old and a new cluster are matched by their cosine over the features that both keep, greatest first; ties
    /// go to the lower old, then to the lower new number. A pair without a positive cosine is not matched. Clusters left over
    /// take the free numbers in their order. With fewer clusters than before, the highest old numbers are dropped.
    pub fn matched(self, previous: &Model) -> Model {
        let clusters = self.clusters();
        let (old, new) = (previous.over_features_of(&self), self.over_features_of(previous));
        let mut pairs = Vec::new();
        for (old_number, old) in old.iter().take(clusters).enumerate() {
            let cosines = new.iter().map(|new| dot(old, new)).enumerate();
            pairs.extend(
                cosines.filter(|(_, cosine)| *cosine > 0.0).map(|(new, cosine)| (cosine, old_number, new)),
            );
        }
        pairs.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        let mut source = vec![None; clusters];
        let mut is_taken = vec![false; clusters];
        for (_, old, new) in pairs {
            if source[old].is_none() && !is_taken[new] {
                source[old] = Some(new);
                is_taken[new] = true;
            }
        }
        let mut left = (0..clusters).filter(|new| !is_taken[*new]);
        let source: Vec<usize> =
            source.into_iter().map(|new| new.or_else(|| left.next()).expect("as many as numbers")).collect();
        let centroids = self.centroids.select(&source);
        let counts = source.iter().map(|new| self.counts[*new]).collect();
        Model { centroids, counts, ..self }
    }

    /// The directions of the clusters over the features that both models keep, by name.
    fn over_features_of(&self, other: &Model) -> Vec<Vec<f64>> {
        let mut places: Vec<(&str, usize)> = self.scaling.kept().zip(0..).collect();
        let others: BTreeSet<&str> = other.scaling.kept().collect();
        places.retain(|(name, _)| others.contains(name));
        places.sort_unstable();
        let directions = self.centroids.iter().map(|centroid| {
            let mut direction: Vec<f64> = places.iter().map(|(_, place)| centroid[*place]).collect();
            to_unit(&mut direction);
            direction
        });
        directions.collect()
    }
}

impl ScalingError {
    /// The same error at another page.
    fn of_page(self, page: usize) -> ScalingError {
        match self {
            ScalingError::NotFinite { feature, .. } => ScalingError::NotFinite { feature, page },
            other => other,
        }
    }
}

#[cfg(test)]
mod tests;
