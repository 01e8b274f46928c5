//! Arguments of a simulation.

use crate::ReplayArgs;
use clap::{Args, ValueEnum};
use recrawl_formula::Basis;
use recrawl_scheduler::Parts;
use std::path::PathBuf;

/// Options of a simulation in both programs.
#[derive(Args)]
pub struct SimulateArgs {
    /// Recorded history: a folder or a file
    #[arg(long, value_name = "PATH")]
    pub data: PathBuf,
    /// Format. Default: detected
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// Built-in policy (repeatable). Default: all policies and bounds that need no contents
    #[arg(long = "policy", value_name = "NAME")]
    pub policies: Vec<String>,
    /// Formula: name, expression or TOML file (repeatable)
    #[arg(long = "formula", value_name = "NAME|EXPR|FILE")]
    pub formulas: Vec<String>,
    /// Rules of the replay
    #[command(flatten)]
    pub replay: ReplayArgs,
    /// Basis of rate estimates, unless a formula file sets it
    #[arg(long, value_enum, default_value_t = Estimators::Visits)]
    pub estimators: Estimators,
    /// Pages to use: those present in every cycle, or all
    #[arg(long, value_enum, default_value_t = PageSet::Fixed)]
    pub set: PageSet,
    /// Maximum visits per site and cycle
    #[arg(long, value_name = "N")]
    pub per_site: Option<u64>,
    /// Rounds of a cycle, or the share of k of each, such as 0.4,0.6: a round is planned from what the earlier
    /// ones found
    #[arg(long, value_name = "N|SHARES", default_value = "1")]
    pub rounds: Parts,
    /// Random seed for ties, random scores and site samples
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub random_seed: u64,
    /// Write a plot (SVG) of ChangeRate and freshness per cycle
    #[arg(long, value_name = "OUT.svg")]
    pub plot: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Basis of rate estimates.
#[derive(Clone, Copy, ValueEnum)]
pub enum Estimators {
    /// The visits of a page
    Visits,
    /// The cycles since its first visit
    Cycles,
}

/// Pages to use.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PageSet {
    /// Pages present in every cycle
    Fixed,
    /// All pages, each from its first cycle to its last
    All,
}

impl From<Estimators> for Basis {
    fn from(estimators: Estimators) -> Basis {
        match estimators {
            Estimators::Visits => Basis::Visits,
            Estimators::Cycles => Basis::Cycles,
        }
    }
}
