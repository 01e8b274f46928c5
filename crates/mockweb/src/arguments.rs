//! The words of the command line, and the configurations they mean.

use clap::{Args, Parser, Subcommand};
use recrawl_mockweb::fault::Rule;
use recrawl_mockweb::procedural::{Format, Lastmod, Mix};
use recrawl_mockweb::recording::{CutConfig, Source};
use recrawl_mockweb::{Config, ExternalLinks, ProceduralConfig, ReplayConfig, Validators, WebConfig};
use std::path::PathBuf;

/// A web of our own on loopback, for trying a crawler.
#[derive(Parser)]
#[command(version, about, after_help = "Example: recrawl-mockweb procedural --pages 100000 --hosts 64")]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Subcommand)]
pub enum Command {
    /// Serve a web made from a seed
    Procedural(ProceduralArguments),
    /// Serve a recorded web; without PATH the one that comes with the program
    Replay(ReplayArguments),
    /// Cut a small recording out of large ones
    Cut(CutArguments),
}

/// How to serve.
#[derive(Args)]
pub struct ServingArguments {
    /// Port of all hosts; 0 finds one that is free on every address
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Port of the control interface on 127.0.0.1; 0 finds a free one
    #[arg(long, default_value_t = 0)]
    control_port: u16,
    /// Threads that serve
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Domain of the hosts' names: with mock.test they are h1.mock.test and so on
    #[arg(long, value_name = "DOMAIN")]
    names: Option<String>,
    /// Addresses to deal the hosts to, when not one each; needs --names
    #[arg(long)]
    addresses: Option<u32>,
    /// Hosts, the last ones, that share the last address and have it for themselves; needs --names
    #[arg(long, default_value_t = 0)]
    crowd: u32,
    /// The clock at the start
    #[arg(long, default_value_t = 0)]
    cycle: u32,
    /// Share of hosts whose every response differs a little; without a value all
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, num_args = 0..=1, default_missing_value = "1")]
    noise: f64,
    /// How to speak of versions: none, strong, lying (304 even after a change), restless (never 304)
    #[arg(long, default_value = "strong")]
    validators: Validators,
    /// Compress with gzip when asked
    #[arg(long)]
    gzip: bool,
    /// A fault, as [HOST]PREFIX=KIND[@SHARE][:VALUE]; may be given several times. With a share it spares
    /// /robots.txt unless PREFIX is just that
    #[arg(long = "fault", value_name = "RULE")]
    faults: Vec<Rule>,
    /// File for the access log; one that is there is continued, and what it tells is known again
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Lines of the access log kept in memory where there is no file
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
            faults: self.faults.clone(),
            log: self.log.clone(),
            max_log_lines: self.max_log_lines,
        }
    }
}

/// A web made from a seed.
#[derive(Args)]
pub struct ProceduralArguments {
    /// Pages in all, the hosts' index pages not counted
    #[arg(long, default_value_t = 1_000)]
    pages: u32,
    /// Hosts
    #[arg(long, default_value_t = 16)]
    hosts: u32,
    /// The seed of everything
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Size of a page in bytes, about
    #[arg(long, default_value_t = 10_000)]
    page_bytes: u32,
    /// Exponent of the power law of host sizes; 0 makes them equal
    #[arg(long, default_value_t = 0.8)]
    skew: f64,
    /// Hosts, the last ones, that have one page each
    #[arg(long, default_value_t = 0)]
    single_page_hosts: u32,
    /// How pages change, by weight
    #[arg(long, value_name = "WEIGHTS", default_value = "static=45,poisson=35,periodic=8,bursty=12")]
    mix: Mix,
    /// A Crawl-delay in every robots.txt, in seconds
    #[arg(long, value_name = "SECONDS")]
    crawl_delay: Option<u32>,
    /// A sitemap on every host
    #[arg(long)]
    sitemaps: bool,
    /// Their formats, dealt to the hosts in turn: urlset, index, gzip, text, rss, atom, feed (named by the index
    /// page alone), hidden (named by nothing)
    #[arg(long, value_name = "FORMAT,…", value_delimiter = ',', requires = "sitemaps")]
    sitemap_formats: Vec<Format>,
    /// What their dates say: true, today (always), never (the first day, always)
    #[arg(long, value_name = "WHAT", default_value = "true")]
    lastmod: Lastmod,
    #[command(flatten)]
    pub serving: ServingArguments,
}

impl ProceduralArguments {
    /// The configuration they mean.
    pub fn config(&self) -> Config {
        self.serving.config(WebConfig::Procedural(ProceduralConfig {
            pages: self.pages,
            hosts: self.hosts,
            seed: self.seed,
            page_bytes: self.page_bytes,
            skew: self.skew,
            single_page_hosts: self.single_page_hosts,
            mix: self.mix,
            crawl_delay_seconds: self.crawl_delay,
            sitemaps: self.sitemaps,
            sitemap_formats: self.sitemap_formats.clone(),
            lastmod: self.lastmod,
        }))
    }
}

/// A recorded web.
#[derive(Args)]
pub struct ReplayArguments {
    /// Folders with recordings; several are joined over the dates they share
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Hosts to deal the groups to
    #[arg(long, default_value_t = 16)]
    hosts: u32,
    /// Show links that lead out of the recording; otherwise only their text is shown
    #[arg(long)]
    external_links: bool,
    #[command(flatten)]
    pub serving: ServingArguments,
}

impl ReplayArguments {
    /// The configuration they mean.
    pub fn config(&self) -> Config {
        let sources = if self.paths.is_empty() {
            vec![Source::Bundled]
        } else {
            self.paths.iter().cloned().map(Source::Folder).collect()
        };
        let external_links = if self.external_links { ExternalLinks::Keep } else { ExternalLinks::Drop };
        self.serving.config(WebConfig::Replay(ReplayConfig { sources, hosts: self.hosts, external_links }))
    }
}

/// A smaller recording.
#[derive(Args)]
pub struct CutArguments {
    /// Folders with recordings; the same number of pages is taken from each
    #[arg(value_name = "IN", required = true)]
    paths: Vec<PathBuf>,
    /// Pages to take in all
    #[arg(long, default_value_t = 400)]
    pages: u32,
    /// The seed of the choice
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Take no page with a text longer than this, in bytes
    #[arg(long, default_value_t = 60_000)]
    max_text_bytes: usize,
    /// Folder for the result
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

impl CutArguments {
    /// The configuration they mean.
    pub fn config(&self) -> CutConfig {
        CutConfig {
            sources: self.paths.iter().cloned().map(Source::Folder).collect(),
            pages: self.pages,
            seed: self.seed,
            max_text_bytes: self.max_text_bytes,
            out: self.out.clone(),
        }
    }
}
