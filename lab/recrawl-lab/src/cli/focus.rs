//! Arguments of `recrawl-lab focus`.

use clap::{Args, Subcommand, ValueEnum};
use recrawl_focus::policy;
use std::path::PathBuf;

/// `recrawl-lab focus`
#[derive(Subcommand)]
pub enum FocusStudy {
    /// Score pages by a term file: which terms they have, and what follows
    #[command(after_help = "Examples:\n  recrawl-lab focus score --terms topic.toml page.html\n  \
                            recrawl-lab focus score --terms topic.toml --model topic.bin --url https://example.com/a \
                            page.html --json")]
    Score(FocusScoreArgs),
    /// Propose terms from example pages
    #[command(
        after_help = "Example:\n  recrawl-lab focus terms --genre examples/syllabi --relevant examples/database-syllabi \
                            --by contrast --background examples/others > topic.toml"
    )]
    Terms(FocusTermsArgs),
    /// Train the linear classifier on a labelled corpus and measure it on sites that it has not seen
    #[command(
        after_help = "Example:\n  recrawl-lab focus train data/syllabi --terms syllabus-statistics.toml --out topic.bin"
    )]
    Train(FocusTrainArgs),
    /// Replay orders of a crawl over a labelled corpus: how soon each finds the relevant pages
    #[command(
        after_help = "Examples:\n  recrawl-lab focus replay data/syllabi --terms syllabus-statistics.toml --seeds 10\n  \
                            recrawl-lab focus replay data/syllabi --terms lab-statistics.toml --terms lab-programming.toml \
                            --policy fs-2,learned --hide-urls --anchors body --json"
    )]
    Replay(FocusReplayArgs),
}

/// `recrawl-lab focus score`
#[derive(Args)]
pub struct FocusScoreArgs {
    /// Term file
    #[arg(long, value_name = "FILE")]
    pub terms: PathBuf,
    /// Model of `recrawl-lab focus train`; the relevance is then that of the linear classifier
    #[arg(long, value_name = "FILE")]
    pub model: Option<PathBuf>,
    /// URL of the page; for one page only
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Language of the pages. Default: guessed
    #[arg(long, value_name = "TAG")]
    pub language: Option<String>,
    /// Relevance from which a page is relevant
    #[arg(long, value_name = "SHARE", default_value_t = 0.47, value_parser = share)]
    pub threshold: f64,
    /// Pages: files of HTML or plain text
    #[arg(required = true, value_name = "PAGE")]
    pub pages: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `recrawl-lab focus terms`
#[derive(Args)]
pub struct FocusTermsArgs {
    /// Pages of the genre: a file of HTML or text, or a folder of such (repeatable)
    #[arg(long, value_name = "PATH", required = true)]
    pub genre: Vec<PathBuf>,
    /// Relevant pages, of the genre and the content
    #[arg(long, value_name = "PATH", required = true)]
    pub relevant: Vec<PathBuf>,
    /// Other pages, which `--by contrast` compares with
    #[arg(long, value_name = "PATH")]
    pub background: Vec<PathBuf>,
    /// How terms are chosen
    #[arg(long, value_enum, default_value_t = GenerateBy::Frequency)]
    pub by: GenerateBy,
    /// Genre terms to propose
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=500))]
    pub genre_terms: u32,
    /// Content terms to propose
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=500))]
    pub content_terms: u32,
    /// Language of the pages. Default: guessed, page by page
    #[arg(long, value_name = "TAG")]
    pub language: Option<String>,
    /// Print JSON, with the score of each term, instead of a term file
    #[arg(long)]
    pub json: bool,
}

/// `--by`
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GenerateBy {
    /// The most frequent ones
    Frequency,
    /// Those that more examples have than other pages
    Contrast,
}

/// A labelled corpus and the topics that are looked for.
#[derive(Args)]
pub struct FocusCorpusArgs {
    /// Folder with sites.tsv, pages.tsv, links.tsv and text.jsonl, each plain, .gz or .zst
    #[arg(value_name = "CORPUS")]
    pub corpus: PathBuf,
    /// Term file (repeatable). Without --genre and --topic, its name says what is relevant: GENRE-TOPIC.toml
    #[arg(long, value_name = "FILE", required = true)]
    pub terms: Vec<PathBuf>,
    /// Genre of relevant pages, as labelled
    #[arg(long, value_name = "NAME", requires = "topic")]
    pub genre: Option<String>,
    /// Topic of the sites of relevant pages, as labelled
    #[arg(long, value_name = "NAME", requires = "genre")]
    pub topic: Option<String>,
    /// Replace paths of URLs by numbers: labels of genres come from paths
    #[arg(long)]
    pub hide_urls: bool,
    /// Weights of terms: 1, or their idf in the corpus
    #[arg(long, value_enum, default_value_t = Idf::One)]
    pub idf: Idf,
    /// Threads; does not change the result. Default: one per core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `--idf`
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Idf {
    One,
    Counted,
}

/// `recrawl-lab focus train`
#[derive(Args)]
pub struct FocusTrainArgs {
    #[command(flatten)]
    pub of: FocusCorpusArgs,
    /// Folds of sites
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=50))]
    pub folds: u32,
    /// Relevant pages that each training may see
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(2..))]
    pub positives: u32,
    /// Write the model, trained on all sites; for one term file only
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Overwrite the model file
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Random seed of the pages that are drawn for training
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub random_seed: u64,
}

/// `recrawl-lab focus replay`
#[derive(Args)]
pub struct FocusReplayArgs {
    #[command(flatten)]
    pub of: FocusCorpusArgs,
    /// Orders: ps, fs-1, fs-2, pfs-1, pfs-2, breadth, random, anchor, learned; or all
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', default_value = "all", value_parser = policies)]
    pub policy: Vec<String>,
    /// Random seeds: each order is replayed with 0 to N − 1
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub seeds: u32,
    /// Whose anchors are read: of links in the text and menus, or of assumed list links too
    #[arg(long, value_enum, default_value_t = Anchors::All)]
    pub anchors: Anchors,
    /// Score from which siblings or children get it, in fs-2 and pfs-2
    #[arg(long, value_name = "SHARE", default_value_t = 0.20, value_parser = share)]
    pub change_threshold: f64,
    /// Whether a lower score replaces a higher one
    #[arg(long, value_enum, default_value_t = Lower::Overwrites)]
    pub lower: Lower,
    /// Parents through which a page passes its score to siblings
    #[arg(long, value_enum, default_value_t = ParentsArg::All)]
    pub parents: ParentsArg,
    /// Order of equal scores: first found, or by a hash with the random seed
    #[arg(long, value_enum, default_value_t = TiesArg::Hash)]
    pub ties: TiesArg,
    /// Links from a home page to the farthest pages
    #[arg(long, value_name = "N", default_value_t = 7)]
    pub max_depth: u32,
    /// Different links of a page that are followed
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_links: u32,
    /// Folds of sites by which the learned order is fitted
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=50))]
    pub folds: u32,
    /// Share of visits that the learned order draws uniformly
    #[arg(long, value_name = "SHARE", default_value_t = 0.02, value_parser = share)]
    pub explore: f64,
    /// Step by which the learned order updates its weights; 0 keeps them
    #[arg(long, value_name = "STEP", default_value_t = recrawl_corpora::learned::RATE, value_parser = share)]
    pub rate: f64,
}

/// `--anchors`
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Anchors {
    Body,
    All,
}

/// `--lower`
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Lower {
    Overwrites,
    Stays,
}

/// `--parents`
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ParentsArg {
    All,
    First,
}

/// `--ties`
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TiesArg {
    Fifo,
    Hash,
}

fn share(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| "use a number from 0 to 1".into())
}

fn policies(text: &str) -> Result<String, String> {
    match text == "all" || policy::named(text).is_some() {
        true => Ok(text.to_owned()),
        false => {
            let names: Vec<&str> = policy::ALL.iter().map(|policy| policy.name).collect();
            Err(format!("use all or some of {}", names.join(", ")))
        }
    }
}
