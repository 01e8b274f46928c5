//! Arguments of `recrawl-lab simulate`.

use clap::{Args, ValueEnum};
use recrawl_clusters::bisection::MAX_CLUSTERS;
use recrawl_contest::SimulateArgs;
use recrawl_rivals::page_clusters::FeatureSet;
use recrawl_rivals::policy::{ClusterOptions, FirstOfCluster};
use recrawl_terminal::arguments::one_of;

/// `recrawl-lab simulate`
#[derive(Args)]
pub struct ContestArgs {
    #[command(flatten)]
    pub simulate: SimulateArgs,
    /// Further metric, of the contents of pages (repeatable): weighted_change_rate, weight_of_changed,
    /// freshness_at_10, mp_at_10 or ap_at_10
    #[arg(long = "metric", value_name = "NAME")]
    pub metrics: Vec<String>,
    #[command(flatten)]
    pub clusters: SimulateClusterArgs,
}

/// How policies `cls_…` cluster pages.
#[derive(Args)]
#[command(next_help_heading = "Clusters (policies cls_…)")]
pub struct SimulateClusterArgs {
    /// Features of clusters. Default: all but ranking
    #[arg(long, value_parser = one_of(&FeatureSet::ALL, FeatureSet::named), value_name = "NAME,NAME,…", value_delimiter = ',')]
    pub cluster_features: Vec<FeatureSet>,
    /// Number of clusters. Default: 100, at most a tenth of the visits per cycle
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_CLUSTERS as i64))]
    pub clusters: Option<u32>,
    /// Dimensions of the words of a page [default: 10]
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=ClusterOptions::MAX_RANKS as i64)
    )]
    pub content_ranks: Option<u32>,
    /// Cycles from one fit of clusters to the next [default: 28]
    #[arg(long, value_name = "CYCLES", value_parser = clap::value_parser!(u32).range(1..))]
    pub recluster: Option<u32>,
    /// Pages of a cluster that are sampled and visited first [default: nearest]
    #[arg(long, value_enum, value_name = "ORDER")]
    pub cluster_order: Option<ClusterOrder>,
}

/// `--cluster-order`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClusterOrder {
    /// Nearest to the centroid
    Nearest,
    /// With the oldest last visit
    LongestUnvisited,
}

impl SimulateClusterArgs {
    /// The first of these options that was given.
    pub fn given(&self) -> Option<&'static str> {
        let options = [
            ("--cluster-features", !self.cluster_features.is_empty()),
            ("--clusters", self.clusters.is_some()),
            ("--content-ranks", self.content_ranks.is_some()),
            ("--recluster", self.recluster.is_some()),
            ("--cluster-order", self.cluster_order.is_some()),
        ];
        options.iter().find(|(_, is_given)| *is_given).map(|(name, _)| *name)
    }

    /// The clusters of the policies.
    pub fn options(&self) -> ClusterOptions {
        let default = ClusterOptions::default();
        let blocks = self.cluster_features.iter().flat_map(|set| set.blocks()).copied();
        ClusterOptions {
            blocks: if self.cluster_features.is_empty() { default.blocks } else { blocks.collect() },
            clusters: self.clusters.map(|clusters| clusters as usize),
            content_ranks: self.content_ranks.map_or(default.content_ranks, |ranks| ranks as usize),
            recluster: self.recluster.unwrap_or(default.recluster),
            first: match self.cluster_order {
                None | Some(ClusterOrder::Nearest) => FirstOfCluster::Nearest,
                Some(ClusterOrder::LongestUnvisited) => FirstOfCluster::LongestUnvisited,
            },
        }
    }
}
