//! Arguments of `recrawl-lab dataset`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `recrawl-lab dataset`
#[derive(Subcommand)]
pub enum DataStudy {
    /// Generate a data set from a random seed
    #[command(
        after_help = "Example:\n  recrawl-lab dataset generate data/small --pages 5000 --cycles 60 --random-seed 7\n  \
                            recrawl-lab dataset generate brdc12.txt --preset brdc12 --format gp4c"
    )]
    Generate(GenerateArgs),
}

/// `recrawl-lab dataset generate`
#[derive(Args)]
pub struct GenerateArgs {
    /// Target path; must not exist
    pub to: PathBuf,
    /// Preset: default, brdc12, or radinsky and radinsky-each: pages with texts that follow each other, for `recrawl-lab
    /// predict`
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub preset: String,
    /// Number of pages; overrides the preset
    #[arg(long, value_name = "N")]
    pub pages: Option<u32>,
    /// Number of sites; overrides the preset. Default: the preset's ratio of sites to pages
    #[arg(long, value_name = "N")]
    pub sites: Option<u32>,
    /// Number of cycles after cycle 0; overrides the preset
    #[arg(long, value_name = "N")]
    pub cycles: Option<u32>,
    /// Let the pages of a folder change together: cycles with such a burst, as a share of all cycles, above 0
    #[arg(long, value_name = "SHARE")]
    pub folder_bursts: Option<f64>,
    /// Add signals of changes, such as moved dates in sitemaps: the share that tells of a change, above 0
    #[arg(long, value_name = "SHARE", requires = "signal_recall")]
    pub signal_precision: Option<f64>,
    /// The share of the changes that are signalled, above 0
    #[arg(long, value_name = "SHARE", requires = "signal_precision")]
    pub signal_recall: Option<f64>,
    /// Random seed; the same seed gives the same data
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub random_seed: u64,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "native")]
    pub format: String,
}
