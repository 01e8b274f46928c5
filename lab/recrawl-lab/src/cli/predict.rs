//! Arguments of `recrawl-lab predict`.

use clap::{Args, ValueEnum};
use recrawl_experts::report::{Combination, Setting};
use recrawl_experts::series::Alpha;
use recrawl_experts::similarity::Delays;
use recrawl_experts::{Relation, Significance};
use std::path::PathBuf;

/// `recrawl-lab predict`
#[derive(Args)]
pub struct PredictArgs {
    /// Recorded history: a folder with contents, or change bits alone
    #[arg(long, value_name = "FOLDER")]
    pub data: PathBuf,
    /// What a prediction reads: the page's changes (1d), its features (2d), related pages (3d)
    #[arg(long, value_enum, value_name = "SETTING,…", value_delimiter = ',', default_value = "all")]
    pub setting: Vec<SettingName>,
    /// How related pages are combined
    #[arg(long, value_enum, value_name = "NAME,…", value_delimiter = ',', default_value = "all")]
    pub experts: Vec<CombinationName>,
    /// How related pages are found: graph, content, correlation, dtw. Default: all that the data allow
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub related: Vec<Relation>,
    /// Which change counts: any, words:N (at least N words moved) or chi2
    #[arg(long, value_name = "NAME", default_value = "any")]
    pub change: Significance,
    /// Least share of steps at which a page's change bit differs from the one before; or pages:N, the greatest share
    /// that leaves N pages
    #[arg(long, value_name = "SHARE|pages:N", default_value = "0.3")]
    pub alpha: Alpha,
    /// Training days of a window
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(5..=1000))]
    pub days: u32,
    /// Maximum related pages of a page
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub count: u32,
    /// Days between two searches for related pages and the SVMs' C
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub refresh: u32,
    /// Delays of the cross-correlation: 0 to a quarter of the training days, or 1 to all as printed in the paper
    #[arg(long, value_enum, default_value_t = DelayRange::Quarter)]
    pub delays: DelayRange,
    /// Predict only this number of pages, drawn by the seed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub pages: Option<u32>,
    /// Predict from every N-th day only
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub every: u32,
    /// Flip each change bit that the methods see with this probability; predictions are compared with the true bits
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = probability)]
    pub flips: f64,
    /// Also measure accuracy by training days and by number of experts, and the freshness of crawls by predictions
    #[arg(long)]
    pub figures: bool,
    /// Random seed for coins, samples, random experts, flips and drawn pages
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub random_seed: u64,
    /// Threads; does not change the result. Default: one per core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

fn probability(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..=0.5).contains(number));
    number.ok_or_else(|| "use a probability from 0 to 0.5".into())
}

/// `--setting`
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SettingName {
    All,
    #[value(name = "1d")]
    OneD,
    #[value(name = "2d")]
    TwoD,
    #[value(name = "3d")]
    ThreeD,
}

/// `--experts`
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CombinationName {
    All,
    /// One SVM a page, votes weighted by the relation
    Experts,
    /// One SVM on the features of all
    Union,
    /// SVMs on samples of the days
    Bagging,
    /// AdaBoost
    Boosting,
}

/// `--delays`
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DelayRange {
    Quarter,
    Printed,
}

impl PredictArgs {
    /// The settings; `all` is every one.
    pub fn settings(&self) -> Vec<Setting> {
        [
            (SettingName::OneD, Setting::OneD),
            (SettingName::TwoD, Setting::TwoD),
            (SettingName::ThreeD, Setting::ThreeD),
        ]
        .into_iter()
        .filter(|(name, _)| self.setting.contains(name) || self.setting.contains(&SettingName::All))
        .map(|(_, setting)| setting)
        .collect()
    }

    /// The combinations; `all` is every one.
    pub fn combinations(&self) -> Vec<Combination> {
        [
            (CombinationName::Experts, Combination::Experts),
            (CombinationName::Bagging, Combination::Bagging),
            (CombinationName::Boosting, Combination::Boosting),
            (CombinationName::Union, Combination::Union),
        ]
        .into_iter()
        .filter(|(name, _)| self.experts.contains(name) || self.experts.contains(&CombinationName::All))
        .map(|(_, combination)| combination)
        .collect()
    }

    /// The relations: those given, each once, or all that pages with or without texts have.
    pub fn relations(&self, has_texts: bool) -> Vec<Relation> {
        let given = |relation: &Relation| match self.related.is_empty() {
            true => has_texts || !relation.needs_texts(),
            false => self.related.contains(relation),
        };
        Relation::ALL.into_iter().filter(given).collect()
    }
}

impl From<DelayRange> for Delays {
    fn from(range: DelayRange) -> Delays {
        match range {
            DelayRange::Quarter => Delays::Quarter,
            DelayRange::Printed => Delays::Printed,
        }
    }
}
