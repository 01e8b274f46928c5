//! Features, scaling, number of clusters, clusters: one after the other.

use super::{PagesOfCycle, popular_keywords};
use recrawl_clusters::Rows;
use recrawl_clusters::bisection::{BisectionError, BisectionOptions, bisect};
use recrawl_clusters::choose_k::{ChoiceError, ChoiceOptions, ChosenK, choose_k};
use recrawl_clusters::features::{FeatureBlock, FeatureError, FeatureOptions, FeatureSpace};
use recrawl_clusters::model::{ClusterModel, ClusterModelError};
use recrawl_clusters::scaling::{Normalise, Scaling, ScalingError};
use recrawl_simulation::Dataset;
use std::collections::BTreeSet;

/// How to fit clusters.
#[derive(Clone, Debug, PartialEq)]
pub struct FitOptions {
    /// The features.
    pub blocks: BTreeSet<FeatureBlock>,
    /// Number of clusters; `None` to [choose](choose_k) it.
    pub clusters: Option<usize>,
    /// Seed of all that is drawn.
    pub seed: u64,
    /// Threads, at least 1. The result does not depend on it.
    pub threads: usize,
}

/// Fitted clusters.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The model.
    pub model: ClusterModel,
    /// The mean cosine of the pages of each cluster to its centroid.
    pub closeness: Vec<f64>,
    /// How the number of clusters was chosen, unless it was given.
    pub choice: Option<ChosenK>,
}

/// Pages or options of which no clusters can be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// No features can be made.
    #[error(transparent)]
    Features(#[from] FeatureError),
    /// They cannot be scaled.
    #[error(transparent)]
    Scaling(#[from] ScalingError),
    /// The number of clusters cannot be chosen.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    /// The number of clusters is out of range.
    #[error(transparent)]
    Bisection(#[from] BisectionError),
    /// The model is damaged.
    #[error(transparent)]
    Model(#[from] ClusterModelError),
}

impl FitOptions {
    /// Number of clusters; `None` chooses it by cross-validation.
    pub(super) fn bisection(&self, clusters: usize) -> BisectionOptions {
        BisectionOptions { seed: self.seed, threads: self.threads, ..BisectionOptions::new(clusters) }
    }

    /// The number of clusters, by 10-fold cross-validation over these rows.
    pub(super) fn choose(&self, rows: &Rows) -> Result<ChosenK, ChoiceError> {
        let default = ChoiceOptions::default();
        choose_k(rows, &ChoiceOptions { bisection: self.bisection(default.to), ..default })
    }
}

/// Fits clusters to pages of a data set.
///
/// # Errors
/// Without pages, and if the number of clusters is out of range.
pub fn fit(data: &Dataset, pages: &PagesOfCycle<'_>, options: &FitOptions) -> Result<Fitted, FitError> {
    let (space, scaling, rows) = scaled(data, pages, options)?;
    let choice = options.clusters.is_none().then(|| options.choose(&rows)).transpose()?;
    let clusters = choice.as_ref().map(|choice| choice.k).or(options.clusters).unwrap_or(1);
    let clustering = bisect(&rows, &options.bisection(clusters))?;
    let mut closeness = vec![0.0; clustering.centroids.len()];
    for (row, &cluster) in clustering.members.iter().enumerate() {
        closeness[cluster as usize] += rows.cosine(row, clustering.centroids.get(cluster as usize));
    }
    let model = ClusterModel::new(space, scaling, &clustering)?;
    closeness.iter_mut().zip(model.counts()).for_each(|(sum, pages)| *sum /= (*pages).max(1) as f64);
    Ok(Fitted { model, closeness, choice })
}

/// The features of pages, their scaling, and the scaled rows.
pub(super) fn scaled(
    data: &Dataset,
    pages: &PagesOfCycle<'_>,
    options: &FitOptions,
) -> Result<(FeatureSpace, Scaling, Rows), FitError> {
    let default = FeatureOptions::default();
    let by_words = default.bisection.clusters;
    let features = FeatureOptions {
        blocks: options.blocks.clone(),
        bisection: options.bisection(by_words),
        keywords: popular_keywords(data, &pages.numbers),
        ..default
    };
    let space = FeatureSpace::fit(&pages.pages, &features)?;
    let values = space.of_all(&pages.pages)?;
    let scaling = Scaling::fit(&space.features(), &values, Normalise::ZScore)?;
    let rows = scaling.rows(&values)?;
    Ok((space, scaling, rows))
}
