//! A fitted model of clusters: it assigns new pages in a time that does not depend on the number of pages.

mod stored;

use crate::bisection::Clustering;
use crate::centroids::Centroids;
use crate::features::FeatureSpace;
use crate::scaling::{Scaling, ScalingError};
use serde::{Deserialize, Serialize};

/// Version of the stored form. Models of other versions are refused.
pub const MODEL_VERSION: u32 = 1;

/// Clusters of pages by features, with all that is needed to assign a page.
///
/// It is read back only in its own version and with the features that its options give.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "stored::Stored")]
pub struct ClusterModel {
    version: u32,
    /// Names of all features, in order.
    features: Vec<String>,
    /// Pages of the fit in each cluster.
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
pub enum ClusterModelError {
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

impl ClusterModel {
    /// Joins the features of a sample, their scaling, and the clusters of the scaled rows.
    pub fn new(
        space: FeatureSpace,
        scaling: Scaling,
        clustering: &Clustering,
    ) -> Result<ClusterModel, ClusterModelError> {
        let mut counts = vec![0; clustering.centroids.len()];
        clustering.members.iter().for_each(|cluster| counts[*cluster as usize] += 1);
        let features = space.features().into_iter().map(|feature| feature.name).collect();
        let tau_per_page = clustering.tau / clustering.members.len().max(1) as f64;
        let centroids = clustering.centroids.clone();
        let model = ClusterModel {
            version: MODEL_VERSION,
            features,
            counts,
            tau_per_page,
            space,
            scaling,
            centroids,
        };
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

    /// Pages of the fit in each cluster.
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
}

#[cfg(test)]
mod tests;
