//! The stored form of a model, and its checks.

use super::{ClusterModel, ClusterModelError, MODEL_VERSION};
use crate::bisection::MAX_CLUSTERS;
use crate::centroids::Centroids;
use crate::features::FeatureSpace;
use crate::scaling::Scaling;
use serde::Deserialize;

/// A model as it was read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stored {
    version: u32,
    features: Vec<String>,
    counts: Vec<u64>,
    tau_per_page: f64,
    space: FeatureSpace,
    scaling: Scaling,
    centroids: Centroids,
}

impl TryFrom<Stored> for ClusterModel {
    type Error = ClusterModelError;

    fn try_from(stored: Stored) -> Result<ClusterModel, ClusterModelError> {
        let Stored { version, features, counts, tau_per_page, space, scaling, centroids } = stored;
        let model = ClusterModel { version, features, counts, tau_per_page, space, scaling, centroids };
        model.check()?;
        Ok(model)
    }
}

impl ClusterModel {
    /// Whether all parts belong together.
    pub(super) fn check(&self) -> Result<(), ClusterModelError> {
        if self.version != MODEL_VERSION {
            return Err(ClusterModelError::Version(self.version));
        }
        let expected: Vec<String> = self.space.features().into_iter().map(|feature| feature.name).collect();
        same_features(&self.features, &expected)?;
        same_features(&self.scaling.names().map(str::to_owned).collect::<Vec<_>>(), &expected)?;
        let sound = [
            (!self.features.is_empty(), "it has no features"),
            (self.space.is_sound(), "the tables of features do not fit together"),
            (self.scaling.is_sound(), "a mean or deviation is not usable"),
            (self.centroids.is_sound(), "a centroid is not finite"),
            (self.centroids.dims() == self.scaling.kept().count(), "centroids have other features"),
            ((1..=MAX_CLUSTERS).contains(&self.clusters()), "the number of clusters is out of range"),
            (self.counts.len() == self.clusters(), "a cluster has no count"),
            (self.tau_per_page.is_finite(), "τ is not finite"),
        ];
        match sound.into_iter().find(|(is_sound, _)| !is_sound) {
            None => Ok(()),
            Some((_, what)) => Err(ClusterModelError::Damaged(what)),
        }
    }
}

fn same_features(found: &[String], expected: &[String]) -> Result<(), ClusterModelError> {
    let differs = |place: &usize| found.get(*place) != expected.get(*place);
    match (0..found.len().max(expected.len())).find(differs) {
        None => Ok(()),
        Some(place) => {
            let name = |names: &[String]| names.get(place).cloned().unwrap_or_default();
            Err(ClusterModelError::Features {
                place: place + 1,
                found: name(found),
                expected: name(expected),
            })
        }
    }
}
