//! Command-line arguments and the configurations that they give.

use clap::{Args, Parser, Subcommand};
use recrawl_mockweb::fault::FaultRule;
use recrawl_mockweb::procedural::{Habits, LastmodMode, Mix, RateDrift, SitemapFormat};
use recrawl_mockweb::recording::{CutConfig, RecordingSource};
use recrawl_mockweb::{Config, ExternalLinks, ProceduralConfig, ReplayConfig, Validators, WebConfig};
use std::path::PathBuf;

/// Test web server on loopback
#[derive(Parser)]
#[command(version, about, after_help = "Example: recrawl-mockweb procedural --pages 100000 --hosts 64")]
pub struct Arguments {
    #[command(subcommand)]
    pub command: MockwebCommand,
}

/// Command.
#[derive(Subcommand)]
pub enum MockwebCommand {
    /// Serve a web generated from a seed
    Procedural(ProceduralArguments),
    /// Serve a recorded web (default: the bundled recording)
    Replay(ReplayArguments),
    /// Extract a small recording from large ones
    Cut(CutArguments),
}

/// Options of the server.
#[derive(Args)]
pub struct ServingArguments {
    /// Port of all hosts; 0 finds a port that is free on every address
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Port of the control interface on 127.0.0.1; 0 finds a free port
    #[arg(long, default_value_t = 0)]
    control_port: u16,
    /// Server threads
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Domain of the host names: mock.test gives h1.mock.test, h2.mock.test and so on
    #[arg(long, value_name = "DOMAIN")]
    names: Option<String>,
    /// Number of addresses to share among hosts (default: one per host); needs --names
    #[arg(long)]
    addresses: Option<u32>,
    /// Number of last hosts that share the last address, without other hosts on it; needs --names
    #[arg(long, default_value_t = 0)]
    crowd: u32,
    /// Cycle of the clock at the start
    #[arg(long, default_value_t = 0)]
    cycle: u32,
    /// Share of hosts whose responses differ slightly each time; without a value: all hosts
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, num_args = 0..=1, default_missing_value = "1")]
    noise: f64,
    /// Validators to send: none, strong, lying (304 even after a change), restless (never 304)
    #[arg(long, default_value = "strong")]
    validators: Validators,
    /// Compress with gzip on request
    #[arg(long)]
    gzip: bool,
    /// Send pages as shells, whose script loads text and links
    #[arg(long)]
    scripted: bool,
    /// Give pages style sheets and images, some of them shared, one forbidden by robots.txt
    #[arg(long)]
    requisites: bool,
    /// Key of IndexNow: every host has it in the file /KEY.txt
    #[arg(long, value_name = "KEY")]
    ping_key: Option<String>,
    /// Fault rule [HOST]PREFIX=KIND[@SHARE][:VALUE] (repeatable). A rule with a share spares
    /// /robots.txt unless that is its PREFIX
    #[arg(long = "fault", value_name = "RULE")]
    faults: Vec<FaultRule>,
    /// File for the access log; an existing file is continued, and held versions and counts are
    /// restored from it
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Lines of the access log kept in memory without --log
    #[arg(long, default_value_t = 200_000)]
    max_log_lines: usize,
    /// Stop when standard input closes
    #[arg(long)]
    pub with_parent: bool,
}

impl ServingArguments {
    fn config(&self, web: WebConfig) -> Config {
        Config {
            web,
            port: self.port,
            control_port: self.control_port,
            threads: self.threads,
            domain: self.names.clone(),
            addresses: self.addresses,
            crowd: self.crowd,
            cycle: self.cycle,
            noise: self.noise,
            validators: self.validators,
            gzip: self.gzip,
            scripted: self.scripted,
            requisites: self.requisites,
            ping_key: self.ping_key.clone(),
            faults: self.faults.clone(),
            log: self.log.clone(),
            max_log_lines: self.max_log_lines,
        }
    }
}

/// Options of a generated web.
#[derive(Args)]
pub struct ProceduralArguments {
    /// Number of pages, without the index pages of hosts
    #[arg(long, default_value_t = 1_000)]
    pages: u32,
    /// Number of hosts
    #[arg(long, default_value_t = 16)]
    hosts: u32,
    /// Random seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Approximate size of a page in bytes
    #[arg(long, default_value_t = 10_000)]
    page_bytes: u32,
    /// Exponent of the power law of host sizes; 0: equal sizes
    #[arg(long, default_value_t = 0.8)]
    skew: f64,
    /// Number of last hosts that have one page each
    #[arg(long, default_value_t = 0)]
    single_page_hosts: u32,
    /// Weights of the change laws
    #[arg(long, value_name = "WEIGHTS", default_value = "static=45,poisson=35,periodic=8,bursty=12")]
    mix: Mix,
    /// The liveliest host changes this many times as often as the mean, the quietest as many times less
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    liveliness: f64,
    /// From a cycle on, hosts change FACTOR times as often: CYCLE:FACTOR[@SHARE] of the hosts (repeatable)
    #[arg(long, value_name = "DRIFT")]
    drift: Vec<RateDrift>,
    /// Cycle at which quiet and lively hosts trade places (repeatable); needs --liveliness
    #[arg(long, value_name = "CYCLE", requires = "liveliness")]
    swap: Vec<u32>,
    /// Change less often on the last two days of every seven
    #[arg(long)]
    week: bool,
    /// Crawl-delay in every robots.txt, in seconds
    #[arg(long, value_name = "SECONDS")]
    crawl_delay: Option<u32>,
    /// Add a sitemap to every host
    #[arg(long)]
    sitemaps: bool,
    /// Formats of the sitemaps, assigned to hosts in turn: urlset, index, gzip, text, rss, atom,
    /// feed (linked only from the index page), hidden (linked from nowhere)
    #[arg(long, value_name = "FORMAT,…", value_delimiter = ',', requires = "sitemaps")]
    sitemap_formats: Vec<SitemapFormat>,
    /// Dates in sitemaps: true, late (as five cycles ago), today (always the current cycle), never (always cycle 0)
    #[arg(long, value_name = "WHAT", default_value = "true")]
    lastmod: LastmodMode,
    /// URL of a WebSub hub, which the feeds name
    #[arg(long, value_name = "URL", requires = "sitemaps")]
    hub: Option<String>,
    /// Share of the lists of pages that hold syllabi of courses on databases, for focused crawls
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    syllabi: f64,
    #[command(flatten)]
    pub serving: ServingArguments,
}

impl ProceduralArguments {
    /// The configuration.
    pub fn config(&self) -> Config {
        self.serving.config(WebConfig::Procedural(ProceduralConfig {
            pages: self.pages,
            hosts: self.hosts,
            seed: self.seed,
            page_bytes: self.page_bytes,
            skew: self.skew,
            single_page_hosts: self.single_page_hosts,
            mix: self.mix,
            habits: Habits {
                liveliness: self.liveliness,
                drifts: self.drift.clone(),
                swaps: self.swap.clone(),
                week: self.week,
            },
            crawl_delay_seconds: self.crawl_delay,
            sitemaps: self.sitemaps,
            sitemap_formats: self.sitemap_formats.clone(),
            lastmod: self.lastmod,
            hub: self.hub.clone(),
            syllabi: self.syllabi,
        }))
    }
}

/// Options of a recorded web.
#[derive(Args)]
pub struct ReplayArguments {
    /// Folders with recordings; several are joined over their common dates
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Number of hosts for the page groups
    #[arg(long, default_value_t = 16)]
    hosts: u32,
    /// Keep links that lead out of the recording; by default only their text is shown
    #[arg(long)]
    external_links: bool,
    #[command(flatten)]
    pub serving: ServingArguments,
}

impl ReplayArguments {
    /// The configuration.
    pub fn config(&self) -> Config {
        let sources = if self.paths.is_empty() {
            vec![RecordingSource::Bundled]
        } else {
            self.paths.iter().cloned().map(RecordingSource::Folder).collect()
        };
        let external_links = if self.external_links { ExternalLinks::Keep } else { ExternalLinks::Drop };
        self.serving.config(WebConfig::Replay(ReplayConfig { sources, hosts: self.hosts, external_links }))
    }
}

/// Options of `cut`.
#[derive(Args)]
pub struct CutArguments {
    /// Folders with recordings; each gives the same number of pages
    #[arg(value_name = "IN", required = true)]
    paths: Vec<PathBuf>,
    /// Total number of pages
    #[arg(long, default_value_t = 400)]
    pages: u32,
    /// Random seed of the selection
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Maximum text size of a page in bytes
    #[arg(long, default_value_t = 60_000)]
    max_text_bytes: usize,
    /// Output folder
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

impl CutArguments {
    /// The configuration.
    pub fn config(&self) -> CutConfig {
        CutConfig {
            sources: self.paths.iter().cloned().map(RecordingSource::Folder).collect(),
            pages: self.pages,
            seed: self.seed,
            max_text_bytes: self.max_text_bytes,
            out: self.out.clone(),
        }
    }
}
