//! Arguments of `recrawl learn`.

use super::{OwnVisitsArgs, ReplayArgs};
use clap::{Args, ValueEnum};
use recrawl_crawl::config::units::Span;
use recrawl_scheduler::Parts;
use std::path::PathBuf;

/// `recrawl learn`
#[derive(Args)]
pub struct LearnArgs {
    /// Recorded history: a folder or a file (repeatable: fitness is then the mean gain over the best known formula of
    /// each)
    #[arg(long, value_name = "PATH", required_unless_present_any = ["config", "data_dir"])]
    pub data: Vec<PathBuf>,
    /// Learn from the visits of a crawl: its configuration, its data directory, or both
    #[command(flatten)]
    pub own: OwnVisitsArgs,
    /// Format. Default: detected
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// Parameter preset: thesis, journal, program, recrawl, or a file
    #[arg(long, value_name = "NAME|FILE", default_value = "recrawl")]
    pub preset: String,
    /// Split into training, validation and test data; overrides the preset
    #[arg(long, value_enum)]
    pub protocol: Option<SplitProtocol>,
    /// Terminals of formulas; overrides the preset
    #[arg(long, value_enum)]
    pub terminals: Option<Terminals>,
    /// Fitness to maximise: change_rate, ndcg, freshness, harmonic, age, or a weighted sum such as
    /// 0.5*change_rate+0.5*freshness
    #[arg(long, value_name = "NAME", default_value = "change_rate")]
    pub fitness: String,
    /// Individuals per generation; overrides the preset (built-in presets: 300)
    #[arg(long, value_name = "N")]
    pub population: Option<usize>,
    /// Generations; overrides the preset (built-in presets: 50)
    #[arg(long, value_name = "N")]
    pub generations: Option<u32>,
    /// Random seeds, one run each; overrides the preset (built-in presets: 111,222,333,444,555)
    #[arg(long, value_name = "N,N,…", value_delimiter = ',')]
    pub random_seeds: Option<Vec<u64>>,
    /// Start formula: expression, file, `rivals` for all built-in ones, or `none` (repeatable);
    /// overrides the preset
    #[arg(long = "start-from", value_name = "EXPR|FILE")]
    pub start_from: Vec<String>,
    /// Number of folds; each one is the test set once
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub folds: usize,
    /// Unit that a fold never splits [default: page; site for the visits of a crawl]
    #[arg(long, value_enum)]
    pub fold_by: Option<FoldUnit>,
    /// Run only this fold (counted from 1)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub only_fold: Option<u32>,
    /// Compare with every policy of a crawl in the report, not only with the best known formula; one data set only
    #[arg(long)]
    pub all_policies: bool,
    #[command(flatten)]
    pub replay: ReplayArgs,
    /// Rounds of a cycle, or the share of k of each, such as 0.4,0.6; with more than one, all formulas are replayed
    /// page by page
    #[arg(long, value_name = "N|SHARES", default_value = "1")]
    pub rounds: Parts,
    /// Processor time, such as "1 h": each run ends with what it has found when its part is spent. The result then depends
    /// on the machine
    #[arg(long, value_name = "DURATION", value_parser = Span::parse)]
    pub cpu: Option<Span>,
    /// Threads; does not change the result. Default: one per core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Output formula file; a report (.md) and, of one history, plots (.svg) are written next to it
    /// [default: learned-DATA.toml, of several learned-N-sets.toml]
    #[arg(long, value_name = "FILE.toml")]
    pub out: Option<PathBuf>,
    /// Resume an interrupted run
    #[arg(long)]
    pub resume: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Split into training, validation and test data.
#[derive(Clone, Copy, ValueEnum)]
pub enum SplitProtocol {
    /// 2/5 of the pages train, 2/5 validate, 1/5 tests; all cycles
    Thesis,
    /// 3/5 of the pages train in the first third of the cycles, 1/5 validates in the second, 1/5
    /// tests in the last
    Journal,
}

/// Terminals of formulas.
#[derive(Clone, Copy, ValueEnum)]
pub enum Terminals {
    /// n, X and t
    Basic,
    /// n, X, t and the five estimators of the papers
    All,
    /// All features of a page and its site
    Extended,
    /// These, what siblings showed, and the model of the next change; their formulas are replayed page by page, which is slow
    Related,
}

/// Unit that a fold never splits.
#[derive(Clone, Copy, ValueEnum)]
pub enum FoldUnit {
    /// Pages
    Page,
    /// Sites, so that the test sites are unseen in training
    Site,
}
