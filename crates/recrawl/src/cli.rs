//! The words of the command line.

mod learn;
mod replay;

pub use learn::{FoldBy, LearnArgs, Protocol, Terminals};
pub use replay::ReplayArgs;

use crate::failure::Failure;
use crate::settings::Settings;
use crate::units::Span;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// An incremental web crawler that learns what to revisit.
#[derive(Parser)]
#[command(name = "recrawl", version, about, max_term_width = 100)]
#[command(after_help = "Exit codes: 0 done; 1 it failed while working; 2 the words or the configuration \
                        are wrong, and nothing was touched; 130 a second signal ended it at once.\nLogs go to standard error; RECRAWL_LOG=debug \
                        (or a tracing filter) says more, as does log.filter of the configuration.")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    /// Crawl: plan, fetch, compare and commit, cycle after cycle
    #[command(
        after_help = "Example:\n  recrawl crawl --seed https://example.com/ --contact me@example.org --data-dir data/example --cycles 3"
    )]
    Crawl(CrawlArgs),
    /// Crawl as a daemon: look at it and steer it over HTTP
    #[command(after_help = "Example:\n  recrawl serve --config recrawl.toml --data-dir data/example")]
    Serve(ServeArgs),
    /// Show the repository, the last cycles and hosts, or one host
    #[command(
        after_help = "Example:\n  recrawl status --data-dir data/example\n  recrawl status --host example.com"
    )]
    Status(StatusArgs),
    /// Show what is known of one URL and why it is, or is not, visited next
    #[command(after_help = "Example:\n  recrawl explain https://example.com/ --data-dir data/example")]
    Explain(ExplainArgs),
    /// List, show, check and choose score formulas
    #[command(subcommand, after_help = "Example:\n  recrawl formula check 't * (X + 0.1) / (n + 1)'")]
    Formula(FormulaCommand),
    /// Read, convert and make up data sets of page changes
    #[command(
        subcommand,
        after_help = "Example:\n  recrawl dataset info data/changes\n  \
                                        recrawl dataset generate data/brdc12 --preset brdc12"
    )]
    Dataset(DatasetCommand),
    /// Look after the repository
    #[command(subcommand, after_help = "Example:\n  recrawl repository verify --data-dir data/example")]
    Repository(RepositoryCommand),
    /// Replay policies and formulas over a recorded history and compare them
    #[command(
        after_help = "Policies: rand age nad sad aad gad cg (those of the papers); p_mm p_gamma p_site u_fresh u_fresh_site \
                      u_harm u_harm_site u_age u_age_site lambda_crawl binary_lambda_crawl binary_lambda_crawl_04 nutch \
                      stormcrawler common_crawl thompson (their rivals); true_rate oracle (bounds).\n\nExamples:\n  \
                      recrawl simulate --data data/pages\n  recrawl simulate --data data/pages --policy age --policy p_gamma \
                      --formula 't * (X + 0.1) / (n + 1)' --plot curves.svg"
    )]
    Simulate(SimulateArgs),
    /// Learn a score formula from recorded page changes
    #[command(
        after_help = "Examples:\n  recrawl learn --data data/pages\n  recrawl learn --data data/pages --fitness freshness \
                      --fold-by site --out fresh.toml\nCtrl-C keeps what was done; --resume goes on."
    )]
    Learn(LearnArgs),
    /// Write what is known to files other programs read
    #[command(
        after_help = "Example:\n  recrawl export pages --out pages.parquet --data-dir data/example\n  recrawl export visits --out visits.jsonl --data-dir data/example\n  recrawl export cdxj --out data/example/warc/index.cdxj --data-dir data/example"
    )]
    Export(ExportArgs),
    /// Make URLs known from elsewhere, with dates, as a commit of their own
    #[command(
        subcommand,
        after_help = "Examples:\n  recrawl import list urls.tsv --data-dir data/example\n  \
                      recrawl import cdx example.cdx.gz --data-dir data/example"
    )]
    Import(ImportCommand),
    /// Remove what is known of a host's or a prefix's pages, and ask for them no more
    #[command(
        after_help = "Examples:\n  recrawl takedown --host example.com --dry-run --data-dir data/example\n  \
                      recrawl takedown --prefix https://example.com/private/ --data-dir data/example"
    )]
    Takedown(TakedownArgs),
    /// Check or show the configuration
    #[command(subcommand, after_help = "Example:\n  recrawl config check --config recrawl.toml")]
    Config(ConfigCommand),
    /// Print what a shell needs to complete the words of this program
    #[command(
        hide = true,
        after_help = "Example:\n  recrawl completions bash > ~/.local/share/bash-completion/completions/recrawl"
    )]
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages into a folder, one for each command
    #[command(hide = true, after_help = "Example:\n  recrawl man ~/.local/share/man/man1")]
    Man {
        /// Where to; made if it is not there
        out: PathBuf,
    },
}

/// Which crawl: a configuration, a data directory, or both.
#[derive(Args, Clone, Default)]
pub struct Where {
    /// Configuration file (TOML); config/recrawl.toml lists every key
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Data directory; overrides storage.data_dir
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
}

impl Where {
    /// The configuration that these words name, checked.
    ///
    /// # Errors
    /// When it cannot be used.
    pub fn settings(&self) -> Result<Settings, Failure> {
        Settings::load(self.config.as_deref(), self.data_dir.as_deref())
    }
}

/// `recrawl crawl`
#[derive(Args)]
pub struct CrawlArgs {
    /// Which crawl.
    #[command(flatten)]
    pub at: Where,
    /// A URL to start from; may be given again
    #[arg(long = "seed", value_name = "URL")]
    pub seeds: Vec<String>,
    /// A file of URLs to start from, one a line; `#` begins a comment
    #[arg(long = "seeds", value_name = "FILE")]
    pub seed_file: Option<PathBuf>,
    /// Run this many cycles and exit; without it, go on, one cycle each cycle.period
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub cycles: Option<u32>,
    /// What ranks the pages: a formula's name, its file, or an expression
    #[arg(long, value_name = "NAME|EXPR")]
    pub formula: Option<String>,
    /// Where the owners of what is crawled can reach you: an e-mail address or a page; overrides crawler.contact
    #[arg(long, value_name = "ADDRESS")]
    pub contact: Option<String>,
    /// Decides ties, the audit sample and jitter; the same seed repeats them
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub random_seed: u64,
    /// One JSON object a line per cycle on standard output
    #[arg(long)]
    pub json: bool,
    /// Append what came of each page to this file after each cycle, as JSON lines; `-` for standard output, in
    /// place of the reports
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,
}

/// `recrawl serve`
#[derive(Args)]
pub struct ServeArgs {
    /// Which crawl.
    #[command(flatten)]
    pub at: Where,
    /// Decides ties, the audit sample and jitter; the same seed repeats them
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub random_seed: u64,
}

/// `recrawl status`
#[derive(Args)]
pub struct StatusArgs {
    /// Which crawl.
    #[command(flatten)]
    pub at: Where,
    /// Only this host
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,
    /// One JSON document on standard output
    #[arg(long)]
    pub json: bool,
}

/// `recrawl explain`
#[derive(Args)]
pub struct ExplainArgs {
    /// The page
    pub url: String,
    /// Which crawl.
    #[command(flatten)]
    pub at: Where,
    /// Explain by this formula in place of the configured one
    #[arg(long, value_name = "NAME|EXPR")]
    pub formula: Option<String>,
    /// One JSON document on standard output
    #[arg(long)]
    pub json: bool,
}

/// `recrawl formula`
#[derive(Subcommand)]
pub enum FormulaCommand {
    /// List the formulas at hand
    List {
        /// Which crawl.
        #[command(flatten)]
        at: Where,
        /// One JSON document on standard output
        #[arg(long)]
        json: bool,
    },
    /// Show a formula file
    Show {
        /// Its name, or an expression
        formula: String,
    },
    /// Parse a formula and say what it costs and whether it can be trusted
    Check {
        /// A name, a file, or an expression
        formula: String,
        /// One JSON document on standard output
        #[arg(long)]
        json: bool,
    },
    /// Rank by this formula from the next cycle on
    Use {
        /// A name, a file, or an expression
        formula: String,
        /// Which crawl.
        #[command(flatten)]
        at: Where,
    },
}

/// `recrawl dataset`
#[derive(Subcommand)]
pub enum DatasetCommand {
    /// Show a data set in figures
    #[command(after_help = "Example:\n  recrawl dataset info data/changes\n  \
                            recrawl dataset info example.cdx.gz --cycle \"7 d\" --json")]
    Info {
        /// Its file or folder
        path: PathBuf,
        /// Its format; without it, the one that is recognised
        #[arg(long, value_name = "FORMAT")]
        format: Option<String>,
        /// The length of a cycle, in archives' indexes: "1 d" when not said
        #[arg(long, value_name = "DURATION", value_parser = Span::parse)]
        cycle: Option<Span>,
        /// One JSON document on standard output
        #[arg(long)]
        json: bool,
    },
    /// Write a data set in another format
    #[command(
        after_help = "Example:\n  recrawl dataset convert data/changes bits.txt --format gp4c --set fixed\n  \
                            recrawl dataset convert example.cdx.gz data/example --cycle \"7 d\""
    )]
    Convert {
        /// The data set: a file or folder
        from: PathBuf,
        /// Where to; nothing may be there
        to: PathBuf,
        /// The format to write
        #[arg(long, value_name = "FORMAT", default_value = "native")]
        format: String,
        /// The format to read; without it, the one that is recognised
        #[arg(long, value_name = "FORMAT")]
        from_format: Option<String>,
        /// The length of a cycle, in archives' indexes: "1 d" when not said
        #[arg(long, value_name = "DURATION", value_parser = Span::parse)]
        cycle: Option<Span>,
        /// Which pages: all, or those that are there from the first cycle to the last
        #[arg(long, value_enum, default_value = "all")]
        set: PageSet,
    },
    /// Make up a data set, from a seed
    #[command(
        after_help = "Example:\n  recrawl dataset generate data/small --pages 5000 --cycles 60 --random-seed 7\n  \
                            recrawl dataset generate brdc12.txt --preset brdc12 --format gp4c"
    )]
    Generate {
        /// Where to; nothing may be there
        to: PathBuf,
        /// What it is to be like: default or brdc12
        #[arg(long, value_name = "NAME", default_value = "default")]
        preset: String,
        /// Pages, in place of the preset's
        #[arg(long, value_name = "N")]
        pages: Option<u32>,
        /// Sites, in place of the preset's; without it, as many for the pages as the preset has
        #[arg(long, value_name = "N")]
        sites: Option<u32>,
        /// Cycles after cycle 0, in place of the preset's
        #[arg(long, value_name = "N")]
        cycles: Option<u32>,
        /// Decides all that is left to chance; the same seed gives the same data
        #[arg(long, value_name = "N", default_value_t = 0)]
        random_seed: u64,
        /// The format to write
        #[arg(long, value_name = "FORMAT", default_value = "native")]
        format: String,
    },
}

/// `recrawl repository`
#[derive(Subcommand)]
pub enum RepositoryCommand {
    /// Pages, sites, hosts, blocks, and bytes by part
    Stats {
        /// Which crawl.
        #[command(flatten)]
        at: Where,
        /// One JSON document on standard output
        #[arg(long)]
        json: bool,
    },
    /// Read everything and report damage
    #[command(after_help = "Examples:\n  recrawl repository verify --data-dir data/example\n  \
                            recrawl repository verify --data-dir data/example --salvage data/saved")]
    Verify {
        /// Also write what can still be read into this new data directory
        #[arg(long, value_name = "OUT")]
        salvage: Option<PathBuf>,
        /// Which crawl.
        #[command(flatten)]
        at: Where,
        /// One JSON document on standard output
        #[arg(long)]
        json: bool,
    },
    /// Copy what is committed into a new data directory, also while the crawl runs
    #[command(after_help = "Example:\n  recrawl repository snapshot data/backup --data-dir data/example")]
    Snapshot {
        /// Where to; a new folder. On the same file system nothing but the reports is copied
        out: PathBuf,
        /// Which crawl.
        #[command(flatten)]
        at: Where,
        /// One JSON document on standard output
        #[arg(long)]
        json: bool,
    },
}

/// `recrawl simulate`
#[derive(Args)]
pub struct SimulateArgs {
    /// The recorded history: a folder or a file
    #[arg(long, value_name = "PATH")]
    pub data: PathBuf,
    /// Its format; without it, recognised from what is there
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// A known policy; may be given again. Without it, all of them and the bounds
    #[arg(long = "policy", value_name = "NAME")]
    pub policies: Vec<String>,
    /// A formula, by its name, as an expression or a TOML file; may be given again
    #[arg(long = "formula", value_name = "NAME|EXPR|FILE")]
    pub formulas: Vec<String>,
    /// Budget, warm-up, ties.
    #[command(flatten)]
    pub replay: ReplayArgs,
    /// What rates are estimated over, where no formula file says it
    #[arg(long, value_enum, default_value_t = Estimators::Visits)]
    pub estimators: Estimators,
    /// Which pages: those that are there from the first cycle to the last, or all
    #[arg(long, value_enum, default_value_t = PageSet::Fixed)]
    pub set: PageSet,
    /// Visit at most this many pages of one site in a cycle
    #[arg(long, value_name = "N")]
    pub per_site: Option<u64>,
    /// Decides ties, random scores and the draws of sites; the same seed repeats them
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub random_seed: u64,
    /// Draw ChangeRate and freshness by cycle to this file
    #[arg(long, value_name = "OUT.svg")]
    pub plot: Option<PathBuf>,
    /// One JSON document on standard output
    #[arg(long)]
    pub json: bool,
}

/// What rates are estimated over.
#[derive(Clone, Copy, ValueEnum)]
pub enum Estimators {
    /// The visits of a page
    Visits,
    /// The cycles since its first visit
    Cycles,
}

/// Which pages take part.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PageSet {
    /// Those that are there from the first cycle to the last
    Fixed,
    /// All, each from its first cycle to its last
    All,
}

/// `recrawl export`
#[derive(Args)]
pub struct ExportArgs {
    /// What to write
    #[arg(value_enum)]
    pub what: Exported,
    /// Where to; `-` for standard output
    #[arg(long, value_name = "PATH")]
    pub out: PathBuf,
    /// Which kind of file; without it, the ending of PATH says it: `.jsonl` (or none), `.csv` or `.parquet`
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Which crawl.
    #[command(flatten)]
    pub at: Where,
}

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// JSON, a row a line
    Jsonl,
    /// Comma-separated values, under a line of names
    Csv,
    /// Apache Parquet
    Parquet,
}

/// What can be exported.
#[derive(Clone, Copy, ValueEnum)]
pub enum Exported {
    /// Every known URL with its record
    Pages,
    /// The crawl's log: every visit of the cycles that storage.keep_visits keeps
    Visits,
    /// The report of every cycle, as JSON lines
    Cycles,
    /// The index of the WARC files, sorted
    Cdxj,
}

/// `recrawl import`
#[derive(Subcommand)]
pub enum ImportCommand {
    /// A list: a URL a line and, behind a tab or a comma, when it was changed, if that is known
    List(ImportArgs),
    /// The index of a web archive, CDX or CDXJ: pages whose last capture shows them, with the date of the first capture
    /// that shows the same
    Cdx(ImportArgs),
}

/// What is imported.
#[derive(Args)]
pub struct ImportArgs {
    /// The file, in gzip or not; `-` for standard input
    pub file: PathBuf,
    /// Leave out lines that cannot be used; without it, one of them is enough to import nothing
    #[arg(long)]
    pub skip_bad: bool,
    /// Which crawl.
    #[command(flatten)]
    pub at: Where,
    /// One JSON document on standard output
    #[arg(long)]
    pub json: bool,
}

/// `recrawl takedown`
#[derive(Args)]
pub struct TakedownArgs {
    /// A host, or `*.example.com` for it and all below it
    #[arg(long, value_name = "HOST", conflicts_with = "prefix")]
    pub host: Option<String>,
    /// A URL with which the addresses begin
    #[arg(long, value_name = "URL")]
    pub prefix: Option<String>,
    /// Only count what would be removed
    #[arg(long)]
    pub dry_run: bool,
    /// Block nothing: the pages stay in the crawl, and are seen for the first time again
    #[arg(long)]
    pub keep_crawling: bool,
    /// Which crawl.
    #[command(flatten)]
    pub at: Where,
    /// One JSON document on standard output
    #[arg(long)]
    pub json: bool,
}

/// `recrawl config`
#[derive(Subcommand)]
pub enum ConfigCommand {
    /// Say whether a configuration can be used
    Check {
        /// The file; without it, the built-in defaults
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
    /// Print the configuration in force, defaults filled in
    Show {
        /// The file; without it, the built-in defaults
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        /// One JSON document on standard output
        #[arg(long)]
        json: bool,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_policies_of_a_simulation_are_listed() {
        let cli = Cli::command();
        let help = cli.find_subcommand("simulate").unwrap().get_after_help().unwrap().to_string();
        let listed: Vec<&str> = help.lines().next().unwrap().split([' ', ';', '.']).collect();
        for kind in recrawl_simulation::policy::ALL {
            assert!(listed.contains(&kind.name), "{} is not listed", kind.name);
        }
    }

    #[test]
    fn every_command_has_an_example() {
        let cli = Cli::command();
        cli.clone().debug_assert();
        for command in cli.get_subcommands() {
            let help = command.get_after_help().map(|h| h.to_string()).unwrap_or_default();
            assert!(help.contains("Example"), "recrawl {} --help shows no example", command.get_name());
        }
    }
}
