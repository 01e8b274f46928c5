//! The data set of clusters, with contents where features need them.

use crate::cli::{ClusterCount, ClusterDataArgs};
use recrawl_contest::failure_of_data;
use recrawl_crawl::failure::Failure;
use recrawl_rivals::page_clusters::{FeatureSet, FitError, FitOptions};
use recrawl_simulation::{Dataset, DatasetError};
use std::thread;

/// A data set and how to cluster its pages.
pub struct ClusterData {
    pub data: Dataset,
    pub features: Vec<FeatureSet>,
    pub options: FitOptions,
}

impl ClusterData {
    /// Reads a data set, and its contents if features need them. By default the features are all but those of ranking, or
    /// the URL alone if there are no contents.
    ///
    /// # Errors
    /// When the data set cannot be read, or a feature was asked for that needs contents and there are none.
    pub fn read(args: &ClusterDataArgs, clusters: ClusterCount) -> Result<ClusterData, Failure> {
        let mut data =
            recrawl_simulation::open(&args.data, args.format.as_deref()).map_err(failure_of_data)?;
        let all = FeatureSet::ALL.into_iter();
        let mut features: Vec<FeatureSet> = match args.features.is_empty() {
            true => all.filter(|set| *set != FeatureSet::Ranking).collect(),
            false => all.filter(|set| args.features.contains(set)).collect(),
        };
        if features.iter().any(|set| set.needs_contents()) {
            match recrawl_contents::add(&mut data, &args.data) {
                Ok(()) => {}
                Err(error @ DatasetError::NoContents { .. }) if args.features.is_empty() => {
                    eprintln!("{error}; using features of URLs alone");
                    features = vec![FeatureSet::Url];
                }
                Err(error @ DatasetError::NoContents { .. }) => {
                    let needed: Vec<&str> =
                        features.iter().filter(|set| set.needs_contents()).map(|set| set.named().0).collect();
                    return Err(Failure::Usage(format!(
                        "{error}; needed for --features {} (use --features url)",
                        needed.join(",")
                    )));
                }
                Err(error) => return Err(failure_of_data(error)),
            }
        }
        let options = FitOptions {
            blocks: features.iter().flat_map(|set| set.blocks()).copied().collect(),
            clusters: clusters.0,
            seed: args.random_seed,
            threads: thread::available_parallelism().map_or(1, |threads| threads.get()),
        };
        Ok(ClusterData { data, features, options })
    }
}

/// A cycle of the data set.
///
/// # Errors
/// When there is no such cycle.
pub fn checked(data: &Dataset, cycle: u32) -> Result<u32, Failure> {
    let last = data.truth.cycles();
    if cycle <= last {
        return Ok(cycle);
    }
    Err(Failure::Usage(format!("--cycle {cycle}: the last cycle of {} is {last}", data.name)))
}

/// The error of a fit as one of the command.
pub fn failure(data: &Dataset, cycle: u32, error: FitError) -> Failure {
    Failure::Work(format!("{}, cycle {cycle}: {error}", data.name))
}
