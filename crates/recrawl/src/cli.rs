//! Command-line arguments.

mod act;
mod backup;
mod changes;
mod configuration;
mod deliver;
mod export;
mod fleet_args;
mod focus;
mod forecast;
mod groups;
mod improve;
mod learn;
mod notify;
mod page;
mod past_time;
mod search;
mod vault;
mod watch;
mod web_address;

pub use act::{AddArgs, FetchArgs};
pub use backup::{BackupArgs, RestoreArgs};
pub use changes::ChangesArgs;
pub use configuration::{Configuration, HERE, load};
pub use deliver::DeliverCommand;
pub use export::{ExportArgs, ExportFormat, Exported};
pub use fleet_args::{
    FleetBeginArgs, FleetCommand, FleetDrainArgs, FleetLeaveArgs, FleetMergeArgs, FleetMoveArgs,
    FleetSplitArgs, FleetStatusArgs,
};
pub use focus::{FocusCheckArgs, FocusCommand, FocusLabelArgs, FocusSampleArgs};
pub use forecast::{OwnVisitsArgs, PagesACycle, SavingsArgs, WhatIfArgs};
pub use groups::grouped;
pub use improve::{ImproveCommand, ImproveRunArgs};
pub use learn::{FoldUnit, LearnArgs, SplitProtocol, Terminals};
pub use notify::NotifyCommand;
pub use page::{PageCommand, PageTestArgs, ShowArgs};
pub use past_time::PastTime;
pub use recrawl_contest::{PageSet, ReplayArgs, SimulateArgs};
pub use search::{SearchArgs, with_words};
pub use vault::{VaultArgs, VaultCommand};
pub use watch::WatchArgs;
pub use web_address::web_address;

use crate::daemon::Daemon;
use crate::fleet::{self, FleetWatch};
use clap::{Args, Parser, Subcommand};
use recrawl_crawl::config::operator_file;
use recrawl_crawl::config::units::Span;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::operator::seeds;
use recrawl_crawl::settings::{SecretUse, Settings};
use recrawl_terminal::OutputArgs;
use recrawl_types::{CanonicalUrl, UrlRules};
use std::path::PathBuf;
use std::sync::Arc;

/// An incremental web crawler that learns what to revisit.
#[derive(Parser)]
#[command(name = "recrawl", version, about, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 success; 1 failure while working; 2 wrong arguments or configuration, \
                        nothing was changed; 130 interrupted by a second signal.\nLogs go to standard error; \
                        RECRAWL_LOG and log.filter set a filter by part of the program.\nRECRAWL__TABLE__KEY=VALUE \
                        in the environment sets a key of the configuration.\nFirst steps: recrawl crawl \
                        https://example.com, then recrawl config init and recrawl serve."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Subcommands.
#[derive(Subcommand)]
pub enum Command {
    /// Crawl: plan, fetch, compare and commit, cycle after cycle
    #[command(
        after_help = "Examples:\n  recrawl crawl https://example.com --data-dir data/example --cycles 1\n  recrawl crawl example.com --contact me@example.org --until filled"
    )]
    Crawl(CrawlArgs),
    /// Crawl as a daemon with an HTTP console
    #[command(after_help = "Example:\n  recrawl serve --config recrawl.toml --data-dir data/example")]
    Serve(ServeArgs),
    /// Watch pages: see what they say, and be told when it changes
    #[command(
        after_help = "Examples:\n  recrawl watch https://example.com/news --to ntfy://ntfy.sh/my-topic\n  \
                      recrawl watch shop.example/shoe --select .price --below 15 --every '30 min' --to mailto:me@example.org"
    )]
    Watch(WatchArgs),
    /// Show the repository, the last cycles and hosts, or one host
    #[command(
        after_help = "Example:\n  recrawl status --data-dir data/example\n  recrawl status --host example.com"
    )]
    Status(StatusArgs),
    /// Show a site owner what a host was asked, and how to opt out
    #[command(
        after_help = "Example:\n  recrawl report example.com --data-dir data/example\n  recrawl report example.com --cycles 30 --json"
    )]
    Report(ReportArgs),
    /// Show whether pages are visited as promised, now and in the last cycles
    #[command(after_help = "Example:\n  recrawl promises --data-dir data/example")]
    Promises(OnCrawl),
    /// Show the record of a URL and why it is or is not visited next
    #[command(after_help = "Example:\n  recrawl explain https://example.com/ --data-dir data/example")]
    Explain(ExplainArgs),
    /// Show what changed, newest first
    #[command(after_help = "Examples:\n  recrawl changes --since '1 d' --diff --data-dir data/example\n  \
                      recrawl changes --pages '*.example.com' --changes changed,gone --json")]
    Changes(ChangesArgs),
    /// Search the texts of the pages
    #[command(after_help = "Examples:\n  recrawl search 'garden tools' --data-dir data/example\n  \
                      recrawl search '\"opening hours\" -winter' --host '*.example.com' --changed-since '7 d' --json\n\
                      Needs a target to = \"index\" of [[deliver]].")]
    Search(SearchArgs),
    /// Let a model search and read the pages, by the Model Context Protocol
    #[command(after_help = "Example, as the command of a server in a client's configuration:\n  \
                      recrawl mcp --config /etc/recrawl/recrawl.toml")]
    Mcp(Where),
    /// Show what the archive holds of a page: text, body, headers, versions and their differences
    #[command(
        after_help = "Examples:\n  recrawl show https://example.com/ --data-dir data/example\n  recrawl show https://example.com/ --markdown\n  recrawl show https://example.com/ --diff\n  recrawl show https://example.com/ --list"
    )]
    Show(ShowArgs),
    /// Test what part of a page counts
    #[command(
        subcommand,
        after_help = "Example:\n  recrawl page test https://example.com/ --include 'main article' --data-dir data/example"
    )]
    Page(PageCommand),
    /// Test the targets of notifications, deliver to them and show what is pending
    #[command(
        subcommand,
        after_help = "Examples:\n  recrawl notify test desk --config recrawl.toml\n  recrawl notify status"
    )]
    Notify(NotifyCommand),
    /// Keep copies of pages in step elsewhere: send documents to the targets, and show what they hold
    #[command(
        subcommand,
        after_help = "Examples:\n  recrawl deliver send --config recrawl.toml\n  recrawl deliver status"
    )]
    Deliver(DeliverCommand),
    /// Start, check or show a configuration
    #[command(
        subcommand,
        after_help = "Examples:\n  recrawl config init\n  recrawl config check --config recrawl.toml"
    )]
    Config(ConfigCommand),
    /// Add seed URLs to the running daemon, or for the next crawl
    #[command(after_help = "Example:\n  recrawl add https://example.com example.org/news")]
    Add(AddArgs),
    /// Fetch a page now
    #[command(
        after_help = "Examples:\n  recrawl fetch https://example.com/news --wait\n  recrawl fetch example.com --data-dir data/example"
    )]
    Fetch(FetchArgs),
    /// Let the running daemon read its configuration again
    #[command(after_help = "Example:\n  recrawl reload --data-dir data/example")]
    Reload(OnCrawl),
    /// Pause the crawl or a host: no new requests
    #[command(after_help = "Examples:\n  recrawl pause --data-dir data/example\n  recrawl pause example.com")]
    Pause(PauseArgs),
    /// Resume the crawl or a host
    #[command(after_help = "Example:\n  recrawl resume --data-dir data/example")]
    Resume(PauseArgs),
    /// Block pages: a host, a domain, a URL or a prefix
    #[command(
        after_help = "Examples:\n  recrawl block example.com --data-dir data/example\n  recrawl block 'https://example.com/private/*'"
    )]
    Block(BlockArgs),
    /// Remove a block
    #[command(after_help = "Example:\n  recrawl unblock example.com --data-dir data/example")]
    Unblock(BlockArgs),
    /// Remove the data of a host, URL prefix or page and stop fetching it
    #[command(
        after_help = "Examples:\n  recrawl takedown --host example.com --dry-run --data-dir data/example\n  \
                      recrawl takedown --prefix https://example.com/private/ --data-dir data/example"
    )]
    Takedown(TakedownArgs),
    /// Copy all of a crawl to a new folder; a daemon steps aside for a moment
    #[command(after_help = "Example:\n  recrawl backup backups/monday --data-dir data/example")]
    Backup(BackupArgs),
    /// Put a backup in place of a lost data directory
    #[command(after_help = "Example:\n  recrawl restore backups/monday --data-dir data/example")]
    Restore(RestoreArgs),
    /// Import URLs and their dates in a commit of their own
    #[command(
        subcommand,
        after_help = "Examples:\n  recrawl import list urls.tsv --data-dir data/example\n  \
                      recrawl import cdx example.cdx.gz --data-dir data/example"
    )]
    Import(ImportCommand),
    /// Export pages, visits, hosts, cycle reports or the WARC index
    #[command(
        after_help = "Example:\n  recrawl export pages --out pages.parquet --data-dir data/example\n  recrawl export visits --out visits.jsonl --data-dir data/example\n  recrawl export cdxj --out data/example/warc/index.cdxj --data-dir data/example"
    )]
    Export(ExportArgs),
    /// Inspect, verify and copy the repository
    #[command(subcommand, after_help = "Example:\n  recrawl repository verify --data-dir data/example")]
    Repository(RepositoryCommand),
    /// Crawl on many machines: begin a fleet, change it, show it and end it
    #[command(
        subcommand,
        after_help = "Example:\n  recrawl fleet begin s3://bucket/fleet --cut h.com --cut p.com"
    )]
    Fleet(FleetCommand),
    /// Show and verify the vault of a crawl
    #[command(subcommand, after_help = "Example:\n  recrawl vault status --config recrawl.toml")]
    Vault(VaultCommand),
    /// List, show, check and select score formulas
    #[command(subcommand, after_help = "Example:\n  recrawl formula check 't * (X + 0.1) / (n + 1)'")]
    Formula(FormulaCommand),
    /// Show what the crawl knows of its formula and its pages
    #[command(subcommand, after_help = "Example:\n  recrawl improve status --data-dir data/example")]
    Improve(ImproveCommand),
    /// Forecast how fresh the pages would be with more or fewer revisits
    #[command(name = "whatif", after_help = "Example:\n  recrawl whatif --pages 2x --data-dir data/example")]
    WhatIf(WhatIfArgs),
    /// Tell how many revisits plain revisiting would need for the same freshness
    #[command(after_help = "Example:\n  recrawl savings --data-dir data/example")]
    Savings(SavingsArgs),
    /// Learn a score formula from recorded page changes
    #[command(
        after_help = "Examples:\n  recrawl learn --data data/pages\n  recrawl learn --data data/pages --fitness freshness \
                      --fold-by site --out fresh.toml\n  recrawl learn --data data/one --data data/other --terminals \
                      related\nCtrl-C saves the progress; --resume continues."
    )]
    Learn(LearnArgs),
    /// Replay policies and formulas over a recorded history and compare them
    #[command(
        after_help = "Policies: rand age nad sad aad gad cg (from the papers); p_mm p_gamma p_site u_fresh u_fresh_site \
                      u_fresh_signal announced_u_fresh_site u_harm u_harm_site u_age u_age_site (gains of a visit); p_sib \
                      p_burst u_fresh_sib u_harm_sib p_next u_fresh_next u_harm_next (siblings); true_rate oracle (bounds). \
                      Those of other crawlers are in recrawl-lab simulate.\n\nExamples:\n  \
                      recrawl simulate --data data/pages\n  recrawl simulate --data data/pages --policy age --policy p_gamma \
                      --formula 't * (X + 0.1) / (n + 1)' --plot curves.svg"
    )]
    Simulate(SimulateArgs),
    /// Describe and convert data sets of page changes
    #[command(
        subcommand,
        after_help = "Example:\n  recrawl dataset info data/changes\n  \
                      recrawl dataset convert example.cdx.gz data/example --cycle \"7 d\""
    )]
    Dataset(DatasetCommand),
    /// Check term files of a focused crawl, and its verdicts by a sample
    #[command(
        subcommand,
        after_help = "Examples:\n  recrawl focus check topic.toml\n  \
                      recrawl focus sample --config recrawl.toml > labels.tsv"
    )]
    Focus(FocusCommand),
    /// Print a shell completion script
    #[command(
        after_help = "Example:\n  recrawl completions bash > ~/.local/share/bash-completion/completions/recrawl"
    )]
    Completions {
        /// Shell
        shell: clap_complete::Shell,
    },
    /// Write manual pages, one per command, into a folder
    #[command(after_help = "Example:\n  recrawl man ~/.local/share/man/man1")]
    Man {
        /// Target folder; created if missing
        out: PathBuf,
    },
}

/// Selects a crawl: a configuration, a data directory, or both.
#[derive(Args, Clone, Default)]
pub struct Where {
    #[command(flatten)]
    pub config: Configuration,
    /// Data directory; overrides storage.data_dir
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Of a partition of a fleet: the address of its vault, and the number of partitions.
    #[arg(skip)]
    pub partition: Option<(String, u64)>,
    /// The fleet of that, as this process sees it.
    #[arg(skip)]
    pub fleet: Option<Arc<FleetWatch>>,
}

impl Where {
    /// Loads and checks the configuration.
    ///
    /// # Errors
    /// When the configuration is invalid.
    pub fn settings(&self) -> Result<Settings, Failure> {
        self.loaded(SecretUse::Read)
    }

    /// The same for a command that only reads, and needs no secrets.
    ///
    /// # Errors
    /// When the configuration is invalid.
    pub fn settings_to_read(&self) -> Result<Settings, Failure> {
        self.loaded(SecretUse::LeftOut)
    }

    fn loaded(&self, secrets: SecretUse) -> Result<Settings, Failure> {
        let settings = load(self.config.file().as_deref(), self.data_dir.as_deref(), secrets)?;
        match &self.partition {
            Some((vault, partitions)) => settings.of_partition(vault.clone(), *partitions),
            // So a command ships what it changes, and only where no other process owns the partition.
            None => match fleet::partition_in(&settings.data_dir) {
                Some((address, id)) => settings.of_partition(fleet::vault_of(&address, id), 1),
                None => Ok(settings),
            },
        }
    }
}

impl Where {
    /// As [`Where::settings_to_read`], of a command that a running daemon answers. The daemon goes on while its file has a mistake, and so
    /// must who pauses it or looks at it: then these are the defaults.
    ///
    /// # Errors
    /// When the configuration is invalid, and no daemon runs.
    pub fn settings_or_daemon(&self) -> Result<Settings, Failure> {
        self.settings_to_read().or_else(|failure| {
            let Some(folder) = self.folder().filter(|folder| matches!(Daemon::find(folder), Ok(Some(_))))
            else {
                return Err(failure);
            };
            tracing::warn!("{failure}; the running daemon keeps what it read before");
            Settings::load(None, Some(&folder), SecretUse::LeftOut)
        })
    }

    /// The data directory, also where another key is wrong.
    fn folder(&self) -> Option<PathBuf> {
        let written = || {
            let text = operator_file::read_text(&self.config.file()?, operator_file::MAX_CONFIG).ok()?;
            let table: toml::Table = text.parse().ok()?;
            Some(PathBuf::from(table.get("storage")?.get("data_dir")?.as_str()?))
        };
        self.data_dir.clone().or_else(written)
    }
}

/// Selects a crawl, and how what is said of it is printed.
#[derive(Args)]
pub struct OnCrawl {
    #[command(flatten)]
    pub at: Where,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The first pages of a crawl.
#[derive(Args, Clone)]
pub struct SeedArgs {
    /// Seed URLs; https is assumed
    #[arg(value_name = "URL", value_parser = web_address)]
    pub urls: Vec<String>,
    /// The same (repeatable)
    #[arg(long = "seed", value_name = "URL", value_parser = web_address)]
    pub seeds: Vec<String>,
    /// File of seed URLs, one per line; `#` starts a comment; `-` is standard input
    #[arg(long = "seeds", value_name = "FILE")]
    pub file: Option<PathBuf>,
}

impl SeedArgs {
    /// The seeds, sorted and without duplicates.
    ///
    /// # Errors
    /// As [`seeds::read`].
    pub fn read(&self, rules: &UrlRules) -> Result<Vec<CanonicalUrl>, Failure> {
        seeds::read(&[&self.urls[..], &self.seeds].concat(), self.file.as_deref(), rules)
    }
}

/// `recrawl crawl`
#[derive(Args)]
pub struct CrawlArgs {
    #[command(flatten)]
    pub at: Where,
    #[command(flatten)]
    pub seeds: SeedArgs,
    /// End this many cycles and exit, beginning with one that was left unfinished. Default: run one every cycle.period until
    /// stopped
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub cycles: Option<u32>,
    /// Run this many rounds and exit
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: Option<u32>,
    /// Exit when this is reached; needs cycle.fill
    #[arg(long, value_name = "STATE")]
    pub until: Option<UntilArg>,
    /// Score formula: a name, a file or an expression
    #[arg(long, value_name = "NAME|EXPR")]
    pub formula: Option<String>,
    /// Contact for site owners, an e-mail address or a URL; overrides crawler.contact
    #[arg(long, value_name = "ADDRESS")]
    pub contact: Option<String>,
    /// Random seed for ties, the audit sample and jitter
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub random_seed: u64,
    /// Print one JSON object per round
    #[arg(long)]
    pub json: bool,
    /// Append the outcome of each page to this file after each round, as JSON lines; `-` prints
    /// them instead of the reports
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,
}

/// `--until`
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum UntilArg {
    /// No URL is left that is due and was never fetched
    Filled,
}

/// `recrawl serve`
#[derive(Args, Clone)]
pub struct ServeArgs {
    #[command(flatten)]
    pub at: Where,
    /// Take a partition of the fleet at this address, or stand by until one is free
    #[arg(long, value_name = "URL", requires = "name")]
    pub fleet: Option<String>,
    /// Name of this process in the fleet, which no other one has
    #[arg(long, value_name = "NAME", requires = "fleet")]
    pub name: Option<String>,
    #[command(flatten)]
    pub seeds: SeedArgs,
    /// Contact for site owners, an e-mail address or a URL; overrides crawler.contact
    #[arg(long, value_name = "ADDRESS")]
    pub contact: Option<String>,
    /// Random seed for ties, the audit sample and jitter
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub random_seed: u64,
}

/// `recrawl status`
#[derive(Args)]
pub struct StatusArgs {
    #[command(flatten)]
    pub at: Where,
    /// Show only this host
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,
    /// The room that the archive takes, by month, and what `storage.keep_versions` would free. Reads all of it
    #[arg(long, conflicts_with = "host")]
    pub room: bool,
    /// With --room: tell what an age for `storage.keep_versions` would free
    #[arg(long, value_name = "AGE", requires = "room", value_parser = Span::parse)]
    pub older_than: Option<Span>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `recrawl report`
#[derive(Args)]
pub struct ReportArgs {
    /// Host name; all schemes and ports
    pub host: String,
    #[command(flatten)]
    pub at: Where,
    /// The last cycles in which the host was asked
    #[arg(long, value_name = "N", default_value_t = 14, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub cycles: u32,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `recrawl pause`, `recrawl resume`
#[derive(Args)]
pub struct PauseArgs {
    /// Host name; all schemes and ports. Default: the whole crawl
    pub host: Option<String>,
    #[command(flatten)]
    pub on: OnCrawl,
}

/// `recrawl block`, `recrawl unblock`
#[derive(Args)]
pub struct BlockArgs {
    /// `example.com`, `*.example.com` with subdomains, `https://example.com/page`, or
    /// `https://example.com/a/*` for all URLs that begin so
    #[arg(value_name = "PATTERN")]
    pub pattern: String,
    #[command(flatten)]
    pub on: OnCrawl,
}

/// `recrawl explain`
#[derive(Args)]
pub struct ExplainArgs {
    /// URL of the page; https is assumed
    #[arg(value_parser = web_address)]
    pub url: String,
    #[command(flatten)]
    pub at: Where,
    /// Use this formula instead of the configured one
    #[arg(long, value_name = "NAME|EXPR")]
    pub formula: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `recrawl formula`
#[derive(Subcommand)]
pub enum FormulaCommand {
    /// List the available formulas
    List(OnCrawl),
    /// Show a formula file
    Show {
        /// Name or expression
        formula: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Parse a formula; report its cost and warnings
    Check {
        /// Name, file or expression
        formula: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Use this formula from the next cycle on
    Use {
        /// Name, file or expression
        formula: String,
        #[command(flatten)]
        on: OnCrawl,
    },
    /// Roll back to the formula that was in force before
    Rollback(OnCrawl),
}

/// `recrawl dataset`
#[derive(Subcommand)]
pub enum DatasetCommand {
    /// Print statistics of a data set
    #[command(after_help = "Example:\n  recrawl dataset info data/changes\n  \
                            recrawl dataset info example.cdx.gz --cycle \"7 d\" --json")]
    Info {
        /// File or folder
        path: PathBuf,
        /// Format. Default: detected
        #[arg(long, value_name = "FORMAT")]
        format: Option<String>,
        /// Cycle length for archive indexes. Default: "1 d"
        #[arg(long, value_name = "DURATION", value_parser = Span::parse)]
        cycle: Option<Span>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Write a data set in another format
    #[command(
        after_help = "Example:\n  recrawl dataset convert data/changes bits.txt --format gp4c --set fixed\n  \
                            recrawl dataset convert example.cdx.gz data/example --cycle \"7 d\""
    )]
    Convert {
        /// Input data set: a file or folder
        from: PathBuf,
        /// Target path; must not exist
        to: PathBuf,
        /// Output format
        #[arg(long, value_name = "FORMAT", default_value = "native")]
        format: String,
        /// Input format. Default: detected
        #[arg(long, value_name = "FORMAT")]
        from_format: Option<String>,
        /// Cycle length for archive indexes. Default: "1 d"
        #[arg(long, value_name = "DURATION", value_parser = Span::parse)]
        cycle: Option<Span>,
        /// Pages to keep: all, or only those present in every cycle
        #[arg(long, value_enum, default_value = "all")]
        set: PageSet,
    },
}

/// `recrawl repository`
#[derive(Subcommand)]
pub enum RepositoryCommand {
    /// Print counts of pages, sites, hosts and blocks, and bytes per part
    Stats(OnCrawl),
    /// Read everything and report damage
    #[command(after_help = "Examples:\n  recrawl repository verify --data-dir data/example\n  \
                            recrawl repository verify --data-dir data/example --salvage data/saved")]
    Verify {
        /// Also save readable data to this new data directory
        #[arg(long, value_name = "OUT")]
        salvage: Option<PathBuf>,
        #[command(flatten)]
        on: OnCrawl,
    },
    /// The same as `recrawl backup --last-commit`
    #[command(after_help = "Example:\n  recrawl backup data/backup --last-commit --data-dir data/example")]
    Snapshot {
        /// Target folder; must be new. On the same file system, recrawl copies only the reports and
        /// hard-links all other files
        out: PathBuf,
        #[command(flatten)]
        on: OnCrawl,
    },
}

/// `recrawl import`
#[derive(Subcommand)]
pub enum ImportCommand {
    /// A list: one URL per line, optionally followed by a tab or comma and the date of its last
    /// change
    List(ImportArgs),
    /// A web archive index (CDX or CDXJ): pages whose last capture succeeded, dated by the first
    /// capture with the same content
    Cdx(ImportArgs),
}

/// Arguments of `recrawl import`.
#[derive(Args)]
pub struct ImportArgs {
    /// Input file, plain or gzip; `-` for standard input
    pub file: PathBuf,
    /// Skip bad lines. Default: one bad line aborts the import
    #[arg(long)]
    pub skip_bad: bool,
    #[command(flatten)]
    pub on: OnCrawl,
}

/// `recrawl takedown`
#[derive(Args)]
pub struct TakedownArgs {
    /// Host, or `*.example.com` for a domain and all its subdomains
    #[arg(long, value_name = "HOST", conflicts_with_all = ["prefix", "page"])]
    pub host: Option<String>,
    /// URL prefix: every page whose URL starts with it, so `/a` includes `/ab`
    #[arg(long, value_name = "URL", conflicts_with = "page")]
    pub prefix: Option<String>,
    /// One page, and no other page whose URL starts with its URL
    #[arg(long, value_name = "URL")]
    pub page: Option<String>,
    /// Only count what would be removed, and list the first pages
    #[arg(long)]
    pub dry_run: bool,
    /// Remove the data but keep crawling the pages, as if newly discovered
    #[arg(long)]
    pub keep_crawling: bool,
    /// Only end an earlier takedown of this host, prefix or page; removes no data
    #[arg(long, conflicts_with = "keep_crawling")]
    pub end: bool,
    #[command(flatten)]
    pub on: OnCrawl,
}

/// `recrawl config`
#[derive(Subcommand)]
pub enum ConfigCommand {
    /// Write a commented configuration to start from
    #[command(after_help = "Example:\n  recrawl config init recrawl.toml")]
    Init {
        /// New file
        #[arg(default_value = "recrawl.toml")]
        file: PathBuf,
    },
    /// Check a configuration, and name the formula in force
    Check(OnCrawl),
    /// Print the effective configuration with all defaults
    Show {
        #[command(flatten)]
        config: Configuration,
        /// Print JSON
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
    fn every_command_has_an_example_completions_and_a_manual_page() {
        assert_eq!(recrawl_terminal::help::gaps(&Cli::command()), [] as [&str; 0]);
    }
}
