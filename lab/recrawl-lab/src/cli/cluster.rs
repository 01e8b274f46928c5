//! Arguments of `recrawl-lab cluster`.

use clap::{Args, Subcommand};
use recrawl_clusters::bisection::MAX_CLUSTERS;
use recrawl_rivals::page_clusters::FeatureSet;
use recrawl_terminal::arguments::one_of;
use std::path::PathBuf;

/// `recrawl-lab cluster`
#[derive(Subcommand)]
pub enum ClusterStudy {
    /// Fit clusters to the pages of a data set and write the model
    #[command(after_help = "Examples:\n  recrawl-lab cluster fit --data data/pages --out clusters.toml\n  \
                            recrawl-lab cluster fit --data data/pages --out urls.toml --features url --clusters 50")]
    Fit(ClusterFitArgs),
    /// Show the clusters of a model
    #[command(after_help = "Example:\n  recrawl-lab cluster show clusters.toml")]
    Show {
        /// Model file
        model: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Compare clusters with sites and groups: sizes, closeness, change rates within them
    #[command(after_help = "Examples:\n  recrawl-lab cluster report --data data/pages\n  \
                            recrawl-lab cluster report --data data/pages --model clusters.toml --json")]
    Report(ClusterReportArgs),
}

/// The pages and features of clusters.
#[derive(Args)]
pub struct ClusterDataArgs {
    /// Recorded history: a folder or a file
    #[arg(long, value_name = "PATH")]
    pub data: PathBuf,
    /// Format. Default: detected
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// Features. Default: all but ranking; url alone if the data set has no contents
    #[arg(long, value_parser = one_of(&FeatureSet::ALL, FeatureSet::named), value_name = "NAME,NAME,…", value_delimiter = ',')]
    pub features: Vec<FeatureSet>,
    /// Random seed of the clusters
    #[arg(
        long,
        visible_alias = "seed",
        value_name = "N",
        default_value_t = 0,
        value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64)
    )]
    pub random_seed: u64,
}

/// `recrawl-lab cluster fit`
#[derive(Args)]
pub struct ClusterFitArgs {
    #[command(flatten)]
    pub of: ClusterDataArgs,
    /// Model file to write
    #[arg(long, value_name = "MODEL.toml")]
    pub out: PathBuf,
    /// Number of clusters; auto chooses it by cross-validation
    #[arg(long, value_name = "N|auto", default_value = "auto", value_parser = clusters)]
    pub clusters: ClusterCount,
    /// Cycle whose pages are clustered. Default: the last
    #[arg(long, value_name = "N")]
    pub cycle: Option<u32>,
    /// Overwrite the model file
    #[arg(long)]
    pub force: bool,
}

/// `recrawl-lab cluster report`
#[derive(Args)]
pub struct ClusterReportArgs {
    #[command(flatten)]
    pub of: ClusterDataArgs,
    /// Show the sizes of the clusters of this model, at its own cycle
    #[arg(long, value_name = "MODEL.toml", conflicts_with = "clusters")]
    pub model: Option<PathBuf>,
    /// Number of clusters whose sizes are shown; auto chooses it by cross-validation
    #[arg(long, value_name = "N|auto", default_value = "auto", value_parser = clusters)]
    pub clusters: ClusterCount,
    /// Cycle whose pages are clustered; change rates are those of later cycles. Default: the middle one
    #[arg(long, value_name = "N")]
    pub cycle: Option<u32>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// A number of clusters, or `None` to choose it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterCount(pub Option<usize>);

fn clusters(text: &str) -> Result<ClusterCount, String> {
    if text == "auto" {
        return Ok(ClusterCount(None));
    }
    let count = text.parse().ok().filter(|count| (1..=MAX_CLUSTERS).contains(count));
    count
        .map(|count| ClusterCount(Some(count)))
        .ok_or_else(|| format!("must be auto, or 1 to {MAX_CLUSTERS}"))
}
