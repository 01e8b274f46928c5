//! The words of `recrawl learn`.

use super::ReplayArgs;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `recrawl learn`
#[derive(Args)]
pub struct LearnArgs {
    /// The recorded history: a folder or a file
    #[arg(long, value_name = "PATH")]
    pub data: PathBuf,
    /// Its format; without it, recognised from what is there
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// All parameters of the learner: thesis, journal, program, recrawl, or a file
    #[arg(long, value_name = "NAME|FILE", default_value = "recrawl")]
    pub preset: String,
    /// Which pages and cycles train, validate and test; overrides the preset
    #[arg(long, value_enum)]
    pub protocol: Option<Protocol>,
    /// What formulas are made of; overrides the preset
    #[arg(long, value_enum)]
    pub terminals: Option<Terminals>,
    /// What is maximised: change_rate, ndcg, freshness, harmonic, age, or a sum as 0.5*change_rate+0.5*freshness
    #[arg(long, value_name = "NAME", default_value = "change_rate")]
    pub fitness: String,
    /// Individuals in a generation; overrides the preset (300 in those of the program)
    #[arg(long, value_name = "N")]
    pub population: Option<usize>,
    /// Generations; overrides the preset (50 in those of the program)
    #[arg(long, value_name = "N")]
    pub generations: Option<u32>,
    /// One run for each of these seeds; overrides the preset (111,222,333,444,555 in those of the program)
    #[arg(long, value_name = "N,N,…", value_delimiter = ',')]
    pub random_seeds: Option<Vec<u64>>,
    /// A formula to start from: an expression, a file, `rivals` for all known ones, or `none`; may be given
    /// again; overrides the preset
    #[arg(long = "start-from", value_name = "EXPR|FILE")]
    pub start_from: Vec<String>,
    /// Number of folds; each is the test once
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub folds: usize,
    /// What is never divided between folds
    #[arg(long, value_enum, default_value_t = FoldBy::Page)]
    pub fold_by: FoldBy,
    /// Only this fold, from 1 on
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub only_fold: Option<u32>,
    /// Budget, warm-up, ties.
    #[command(flatten)]
    pub replay: ReplayArgs,
    /// Threads; without it, one for each core. The result is the same
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// The formula file to write; a report (.md) and curves (.svg) go beside it [default: learned-DATA.toml]
    #[arg(long, value_name = "FILE.toml")]
    pub out: Option<PathBuf>,
    /// Go on from where this learning was interrupted
    #[arg(long)]
    pub resume: bool,
    /// One JSON document on standard output
    #[arg(long)]
    pub json: bool,
}

/// Which pages and cycles train, validate and test.
#[derive(Clone, Copy, ValueEnum)]
pub enum Protocol {
    /// Two fifths of the pages train, two validate, one is the test; all cycles
    Thesis,
    /// Three fifths train in the first third of the time, one validates in the second, one is the test in the last
    Journal,
}

/// What formulas are made of.
#[derive(Clone, Copy, ValueEnum)]
pub enum Terminals {
    /// n, X and t
    Basic,
    /// These and the five estimators of the papers
    All,
    /// Everything that is known of a page and its site
    Extended,
}

/// What is never divided between folds.
#[derive(Clone, Copy, ValueEnum)]
pub enum FoldBy {
    /// Pages
    Page,
    /// Sites: what is learned is tested on sites never seen
    Site,
}
