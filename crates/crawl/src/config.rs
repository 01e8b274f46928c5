//! The configuration as typed: TOML, one table per stage, all keys optional, unknown keys refused.
//!
//! This is the first of two steps. It only parses values with their units; [`crate::settings`]
//! checks them together.

pub mod environment;
mod former_keys;
mod hosts;
pub mod operator_file;
pub mod secrets;
pub mod units;

use crate::config::secrets::Secret;
use crate::config::units::{Amount, DiscoveryShare, Proportion, Rounds, Size, Span};
use recrawl_change::ChangeRules;
use recrawl_scheduler::Parts;
use recrawl_scheduler::policy::PolicyKind;
use recrawl_types::Importance;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

/// Declares a table of the configuration with its defaults.
macro_rules! table {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident : $type:ty = $default:expr,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name { $($(#[$field_doc])* pub $field: $type,)* }
        impl Default for $name {
            fn default() -> Self { $name { $($field: $default,)* } }
        }
    };
}

mod deliver;
mod notify;
mod pages;
pub mod target;

pub use deliver::DeliverTable;
pub use notify::NotifyTable;
pub use pages::{ConvertTable, PagesTable};

table! {
    /// The whole file. config/recrawl.toml explains the keys.
    Config {
        /// User agent and contact.
        crawler: Crawler = Crawler::default(),
        /// The cycle and its budget.
        cycle: CycleConfig = CycleConfig::default(),
        /// The rounds of a cycle.
        round: Round = Round::default(),
        /// Request rates per host and address.
        politeness: Politeness = Politeness::default(),
        /// Requests and responses.
        fetch: Fetch = Fetch::default(),
        /// Byte limits.
        budget: Budget = Budget::default(),
        /// The HTTP proxy.
        proxy: ProxyTable = ProxyTable::default(),
        /// Credentials, headers and cookies for single hosts.
        hosts: Vec<HostTable> = Vec::new(),
        /// The parts of pages that count.
        pages: Vec<PagesTable> = Vec::new(),
        /// Targets that are told of changes.
        notify: Vec<NotifyTable> = Vec::new(),
        /// Targets that get documents.
        deliver: Vec<DeliverTable> = Vec::new(),
        /// The browser of pages that are rendered.
        render: RenderTable = RenderTable::default(),
        /// Documents that are converted.
        convert: ConvertTable = ConvertTable::default(),
        /// Requisites of archived pages.
        requisites: RequisitesTable = RequisitesTable::default(),
        /// Promises to visit pages in time.
        promises: Vec<PromiseTable> = Vec::new(),
        /// Name resolution.
        dns: Dns = Dns::default(),
        /// URL normalization.
        urls: Urls = Urls::default(),
        /// Hosts and URLs that belong to the crawl.
        scope: Scope = Scope::default(),
        /// Crawler traps.
        traps: Traps = Traps::default(),
        /// Sitemaps and feeds.
        hints: Hints = Hints::default(),
        /// Pings: site owners tell which pages have changed.
        pings: Pings = Pings::default(),
        /// Page directives that are obeyed.
        consent: Consent = Consent::default(),
        /// Extraction of text and links.
        extract: Extract = Extract::default(),
        /// Change detection.
        change: ChangeRules = ChangeRules::default(),
        /// Ranking of pages.
        schedule: Schedule = Schedule::default(),
        /// Looking for relevant pages first.
        focus: Focus = Focus::default(),
        /// Measuring and improving the formula.
        improve: Improve = Improve::default(),
        /// Data directory and archive.
        storage: Storage = Storage::default(),
        /// Shipping to the vault.
        vault: Vault = Vault::default(),
        /// The HTTP console.
        serve: Serve = Serve::default(),
        /// Rotation of the events file.
        events: Events = Events::default(),
        /// Logs and traces.
        log: Log = Log::default(),
    }
}

table! {
    /// `[crawler]`
    Crawler {
        /// Product token and version; the token selects the group of robots.txt.
        user_agent: String = concat!("recrawl/", env!("CARGO_PKG_VERSION")).into(),
        /// E-mail address or URL at which site owners reach the operator.
        contact: String = String::new(),
    }
}

table! {
    /// `[cycle]`
    CycleConfig {
        /// From the start of one cycle to the start of the next.
        period: Span = Span::millis(24 * 3_600_000),
        /// No request starts later than this after the start of the cycle.
        deadline: Option<Span> = None,
        /// The budget k.
        pages: Amount = Amount::Share(0.05),
        /// Lower limit of k.
        pages_min: u64 = 100,
        /// Visits after the first that are due regardless of the score.
        warmup: u32 = 2,
        /// Share of k for URLs never fetched.
        discovery_share: DiscoveryShare = DiscoveryShare::Fixed(Proportion(0.2)),
        /// Never-fetched URLs that the first round visits even if they exceed k.
        discovery_min: u64 = 0,
        /// Share of k for pages whose trusted date announces a change.
        announced_share: Proportion = Proportion(0.1),
        /// Share of k for the uniform audit sample.
        audit_share: Proportion = Proportion(0.01),
        /// Rounds that spend k: a number, or the share of each; none for those of the objective.
        rounds: Option<Rounds> = None,
        /// Are never-fetched URLs visited at once, beyond k, until the period is over?
        fill: bool = true,
        /// Maximum URLs per cycle that are visited this way; 0 for no limit.
        fill_pages: u64 = 0,
    }
}

table! {
    /// `[round]`
    Round {
        /// With `cycle.fill`: how long a round waits for the slower half of its hosts.
        linger: Span = Span::millis(60_000),
        /// With `cycle.fill`: maximum duration of a round.
        max: Span = Span::millis(600_000),
    }
}

table! {
    /// `[politeness]`
    Politeness {
        /// Minimum delay between two requests to one host.
        delay_per_host: Span = Span::millis(1000),
        /// Minimum delay between two requests to one IP address, over all its hosts.
        delay_per_ip: Span = Span::millis(250),
        /// A host's delay is at least this many times its response time.
        delay_per_latency: f64 = 2.0,
        /// Maximum of the adaptive delay, which latency, 429 and 503 raise.
        max_adaptive_delay: Span = Span::millis(30_000),
        /// Maximum requests in flight per host.
        connections_per_host: u32 = 1,
        /// A host with a longer Crawl-delay is skipped.
        max_crawl_delay: Span = Span::millis(30_000),
        /// Longest Retry-After that is waited for within the cycle.
        max_retry_after: Span = Span::millis(60_000),
        /// Time after which robots.txt is fetched again.
        robots_cache: Span = Span::millis(24 * 3_600_000),
        /// Consecutive failures after which a host is backed off for the rest of the cycle.
        host_failures: u32 = 5,
        /// Maximum open hosts per site while hosts of other sites wait; 0 for no limit.
        hosts_per_site: u32 = 64,
        /// Maximum open hosts per IP address; 0 for no limit.
        hosts_per_address: u32 = 16,
    }
}

table! {
    /// `[fetch]`
    Fetch {
        /// Maximum requests in flight, over all hosts.
        connections: u32 = 256,
        /// Maximum hosts whose pages and robots rules are in memory.
        open_hosts: u32 = 512,
        /// Timeout of a whole response.
        timeout: Span = Span::millis(30_000),
        /// Timeout of connecting.
        connect_timeout: Span = Span::millis(10_000),
        /// Maximum bytes of a body that are kept, after decompression.
        max_body: Size = Size(2 << 20),
        /// Memory of all bodies over 128 KiB together, until they are read.
        body_memory: Size = Size(64 << 20),
        /// Maximum redirects in a row.
        max_redirects: u8 = 5,
        /// Share of 304 responses that are verified by a request without validators.
        validator_checks: Proportion = Proportion(0.05),
        /// PEM files of certificate authorities that are trusted besides those of the system.
        extra_ca: Vec<PathBuf> = Vec::new(),
        /// CIDR blocks exempt from the refusal of private and loopback addresses.
        allow_addresses: Vec<String> = Vec::new(),
    }
}

table! {
    /// `[budget]`
    Budget {
        /// Maximum bytes per second, over all hosts; 0 for no limit.
        bytes_per_second: Size = Size(0),
        /// Maximum requests per second, over all hosts; 0 for no limit.
        requests_per_second: u32 = 0,
        /// Maximum bytes per host and cycle; 0 for no limit.
        bytes_per_host: Size = Size(0),
        /// Maximum bytes per cycle; 0 for no limit.
        bytes_per_cycle: Size = Size(0),
    }
}

table! {
    /// `[proxy]`
    ProxyTable {
        /// URL of the proxy; empty for none.
        url: String = String::new(),
        /// User name at the proxy; empty for none.
        user: String = String::new(),
        /// Password at the proxy.
        password: Secret = Secret::default(),
        /// Hosts that are contacted without the proxy.
        except: Vec<String> = Vec::new(),
    }
}

table! {
    /// `[[hosts]]`
    HostTable {
        /// Name or address, with the port unless it is the default of the scheme.
        host: String = String::new(),
        /// Are credentials, headers and cookies sent over plain HTTP too?
        over_http: bool = false,
        /// For Basic authentication.
        user: String = String::new(),
        /// For Basic authentication.
        password: Secret = Secret::default(),
        /// For Bearer authentication.
        bearer: Secret = Secret::default(),
        /// Header fields that are sent.
        headers: BTreeMap<String, Secret> = BTreeMap::new(),
        /// Cookies that are sent.
        cookies: BTreeMap<String, Secret> = BTreeMap::new(),
    }
}

table! {
    /// `[render]`
    RenderTable {
        /// The browser's program; empty for the first in PATH.
        browser: PathBuf = PathBuf::new(),
        /// Is Chromium's own sandbox used? The user root cannot have it.
        sandbox: bool = true,
        /// Pages that are rendered at a time.
        tabs: u32 = 4,
        /// Longest time of a page, with all that it loads.
        time: Span = Span::millis(60_000),
        /// Time that scripts have by the page's own clock, which stands still while something is loaded.
        settle: Span = Span::millis(5_000),
        /// Maximum memory of the browser with all its pages.
        memory: Size = Size(1 << 30),
        /// Maximum size of a rendered page.
        max_document: Size = Size(8 << 20),
        /// Maximum requests of a page.
        max_requests: u32 = 50,
        /// How often a page is scrolled to its end at most, while it grows; 0 leaves it at its top.
        scroll: u32 = 8,
        /// Scripts that are kept for other pages of the round; 0 keeps none.
        cache: Size = Size(64 << 20),
        /// Pages after which the browser is started anew.
        restart_after: u32 = 500,
    }
}

table! {
    /// `[requisites]`
    RequisitesTable {
        /// Maximum requisites of a page.
        max_per_page: u32 = 100,
        /// Maximum requests of a round.
        max_per_round: u32 = 100_000,
        /// Maximum size of one; a larger one is left out.
        max_body: Size = Size(2 << 20),
        /// Longest time for which one is not asked for again, whatever its server says.
        max_fresh: Span = Span::millis(30 * 86_400_000),
    }
}

table! {
    /// `[[promises]]`
    PromiseTable {
        /// The pages, as a pattern.
        #[serde(rename = "match")]
        matches: String = String::new(),
        /// Longest time between two visits of a page.
        within: Span = Span::millis(86_400_000),
        /// Share of the pages that is promised.
        share: Proportion = Proportion(0.95),
    }
}

table! {
    /// `[dns]`
    Dns {
        /// Name → address, used before any resolver. Names are canonical.
        #[serde(deserialize_with = "hosts::overrides")]
        overrides: BTreeMap<String, IpAddr> = BTreeMap::new(),
        /// Name servers with ports; empty for those of the system.
        #[serde(deserialize_with = "hosts::name_servers")]
        servers: Vec<SocketAddr> = Vec::new(),
        /// Minimum time that addresses are cached.
        min_ttl: Span = Span::millis(60_000),
        /// Maximum time that addresses are cached.
        max_ttl: Span = Span::millis(24 * 3_600_000),
        /// Maximum time that the absence of addresses is cached.
        max_negative_ttl: Span = Span::millis(300_000),
    }
}

table! {
    /// `[urls]`
    Urls {
        /// Query and path parameters that are removed from URLs.
        drop_parameters: Vec<String> = recrawl_types::UrlRules::default().drop_parameters,
    }
}

table! {
    /// `[scope]`
    Scope {
        /// Hosts in scope; empty for the sites of the seeds, `*` for all, `*.example.com` with subdomains.
        hosts: Vec<String> = Vec::new(),
        /// Hosts out of scope, in the same notation.
        refuse_hosts: Vec<String> = Vec::new(),
        /// URLs in scope, by glob; empty for all.
        include: Vec<String> = Vec::new(),
        /// URLs out of scope, by glob.
        exclude: Vec<String> = Vec::new(),
        /// Media types in scope, such as `text/html` and `image/*`; empty for all.
        types: Vec<String> = Vec::new(),
        /// File of hosts that opted out; empty for none.
        opt_out: PathBuf = PathBuf::new(),
        /// Maximum links from a seed.
        max_depth: u16 = 50,
        /// Maximum known URLs per host. URLs that only a sitemap, a feed or a redirect names: half of it.
        max_pages_per_host: u64 = 1_000_000,
        /// Maximum length of a URL.
        max_url_bytes: u32 = 2000,
        /// Maximum segments of a path.
        max_segments: u32 = 30,
        /// Maximum occurrences of the same segment in a path.
        max_repeats: u32 = 4,
        /// Maximum parameters of a query.
        max_parameters: u32 = 16,
    }
}

table! {
    /// `[traps]`
    Traps {
        /// Are trap patterns cut off?
        enabled: bool = true,
        /// First visits needed for a verdict.
        min_pages: u32 = 100,
        /// The share of near-duplicates among them that makes a trap.
        near_duplicates: Proportion = Proportion(0.95),
        /// Maximum bits in which the SimHashes of near-duplicates differ.
        max_distance: u8 = 3,
        /// Hosts on which no pattern is cut off.
        allow_hosts: Vec<String> = Vec::new(),
    }
}

table! {
    /// `[hints]`
    Hints {
        /// Are the sitemaps visited that robots.txt names?
        sitemaps: bool = true,
        /// Is /sitemap.xml tried if robots.txt names no sitemap?
        guess: bool = false,
        /// Are the feeds visited that pages link to?
        feeds: bool = true,
        /// Maximum entries taken from one sitemap or feed.
        max_entries: u32 = 50_000,
        /// Maximum unpacked bytes of one sitemap or feed in gzip.
        max_unpacked: Size = Size(50 << 20),
        /// Maximum nesting of sitemap indexes.
        max_nesting: u8 = 3,
        /// Minimum trust at which a host's dates are used.
        min_trust: Proportion = Proportion(0.5),
    }
}

table! {
    /// `[pings]`
    Pings {
        /// Does the console take IndexNow pings?
        indexnow: bool = false,
        /// The public URL under which hubs of WebSub reach the console; empty for none.
        websub: String = String::new(),
        /// Maximum pinged pages per host and hour.
        max_per_host: u32 = 1_000,
    }
}

table! {
    /// `[consent]`
    Consent {
        /// Obey a page's `nofollow`: follow none of its links.
        nofollow: bool = true,
        /// Obey a link's `nofollow`, `ugc` or `sponsored`: do not follow it.
        link_nofollow: bool = true,
        /// Obey a page's `noindex`, or its `unavailable_after` once past: do not archive the body.
        noindex: bool = true,
        /// Obey a page's `noarchive`: do not archive the body.
        noarchive: bool = true,
        /// Follow a page's canonical URL like a link.
        canonical: bool = true,
    }
}

table! {
    /// `[extract]`
    Extract {
        /// Media types that are parsed.
        types: Vec<String> = recrawl_types::MediaTypes::DEFAULT.map(String::from).into(),
        /// Maximum distinct links taken from one page.
        max_links: u32 = 10_000,
        /// Maximum bytes of visible text that are compared.
        max_text: Size = Size(1 << 20),
    }
}

table! {
    /// `[schedule]`
    Schedule {
        /// `formula`, or a policy that needs none.
        policy: String = PolicyKind::default().name.into(),
        /// `balanced`, `fresh` or `changes`; empty for that of the data directory.
        objective: String = String::new(),
        /// Name, file or expression of a formula in place of that of the objective.
        formula: String = String::new(),
        /// Maximum pages per host and cycle; 0 for no limit.
        max_per_host: u64 = 0,
        /// `hash` or `index`: how ties between equal scores are broken.
        ties: String = String::from("hash"),
    }
}

table! {
    /// `[focus]`
    Focus {
        /// Are pages judged, and never-fetched URLs visited in the order of their expected relevance?
        enabled: bool = false,
        /// Term file.
        terms: PathBuf = PathBuf::new(),
        /// Name of the classifier.
        classifier: String = String::from("terms"),
        /// File of the classifier's model, if it needs one.
        model: PathBuf = PathBuf::new(),
        /// Relevance from which on a page is relevant.
        threshold: Proportion = Proportion(0.47),
        /// Score from which on `fs-2` and `pfs-2` pass a score on.
        change_threshold: Proportion = Proportion(0.2),
        /// Order of discovery.
        order: String = String::from("learned"),
        /// Number of fill rounds a cycle that are planned from what earlier ones found.
        rounds: u32 = 8,
        /// Share of a round's discovery that is drawn uniformly.
        explore_share: Proportion = Proportion(0.1),
        /// Maximum irrelevant pages in a row that are crossed, but by exploration.
        tunnel: u8 = 3,
        /// Discovery visits of a site before it may be called exhausted.
        site_patience: u64 = 20,
        /// Lower bound of the recall at which discovery stops; 1 for never.
        target_recall: Proportion = Proportion(0.95),
        /// With `cycle.discovery_share = "auto"`: how many changes seen one relevant page found is worth.
        worth: f64 = 4.0,
        /// Maximum bytes of a page's text that are judged.
        max_text: Size = Size(64 << 10),
        /// Maximum groups of links whose yield is kept while a round is planned.
        groups: usize = 900_000,
    }
}

table! {
    /// `[improve]`
    Improve {
        /// `off`; `watch`: measure what the formula is worth, and keep what another could learn from; `propose`: learn
        /// others, compare them, and propose the better; `promote`: try these on some sites, and put them in force.
        mode: String = String::from("off"),
        /// `balanced`, `fresh` or `changes`: what a candidate must gain in; by default as `schedule.objective`, or balanced.
        objective: String = String::new(),
        /// Number of cycles between two times of learning (only `serve`); an alarm begins one as well.
        every: u32 = 7,
        /// Processor time of learning, each time.
        learn_cpu: Span = Span::millis(3_600_000),
        /// Gain in the back-test that a candidate must exceed, in what its objective counts.
        min_gain: f64 = 0.002,
        /// Loss of freshness that a trial must exclude.
        max_loss: f64 = 0.02,
        /// Number of sites that a trial takes, or of folders if there are fewer sites; with fewer, candidates are only
        /// proposed.
        trial_sites: u64 = 60,
        /// Number of cycles in which a candidate is only scored.
        shadow_cycles: u32 = 7,
        /// Number of cycles of a trial before the candidate visits its sites.
        before_cycles: u32 = 14,
        /// Number of cycles of a trial until the candidate's sites count.
        settling_cycles: u32 = 14,
        /// Number of cycles of a trial that are measured, at least.
        trial_cycles: u32 = 28,
        /// Number of cycles in which a promoted formula is guarded by some sites that keep the one before.
        guard_cycles: u32 = 28,
    }
}

table! {
    /// `[storage]`
    Storage {
        /// Folder of the repository.
        data_dir: PathBuf = PathBuf::from("data"),
        /// Are page bodies archived, as WARC files?
        archive: bool = true,
        /// Are requests archived too, each as a record behind its response?
        archive_requests: bool = false,
        /// Size at which a WARC file is closed.
        archive_file: Size = Size(1 << 30),
        /// Maximum size of all WARC files, beyond which the oldest are removed between cycles; 0 for no limit.
        archive_max: Size = Size(0),
        /// Age up to which all archived versions of a page stay; of older ones, the last of each month; 0: all stay.
        keep_versions: Span = Span::millis(0),
        /// Interval of syncs: a power cut loses at most the work of this long.
        sync_every: Span = Span::millis(5_000),
        /// Number of cycles whose visits are kept; 0 for none.
        keep_visits: u32 = 100,
        /// Is it kept what each host was asked in these cycles?
        keep_hosts: bool = false,
        /// Minimum free bytes on the disk of the data directory, below which the crawl stops; 0 for no check.
        reserve: Size = Size(1 << 30),
        /// Memory for the plan of a cycle before it spills to disk.
        plan_memory: Size = Size(64 << 20),
        /// Memory for the batch before it spills to disk.
        batch_memory: Size = Size(8 << 20),
        /// Maximum cycles that a link waits if nothing else touches its block of pages; 0 for none.
        link_wait: u32 = 3,
        /// URLs linked to in one block at which they no longer wait.
        link_batch: usize = 32,
        /// Address of the vault; empty for none.
        vault: String = String::new(),
    }
}

table! {
    /// `[vault]`
    Vault {
        /// Interval at which visits and bodies are shipped to the vault.
        ship: Span = Span::millis(10_000),
        /// Bytes of visits and bodies that may be unshipped before the crawl waits.
        unshipped: Size = Size(256 << 20),
    }
}

table! {
    /// `[serve]`
    Serve {
        /// Address at which the console listens.
        #[serde(deserialize_with = "hosts::listen")]
        listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 8420)),
        /// File of lines `name token`; if empty, nothing can be changed.
        tokens: PathBuf = PathBuf::new(),
        /// Canonical names accepted in the Host header besides addresses and localhost.
        #[serde(deserialize_with = "hosts::names")]
        names: Vec<String> = Vec::new(),
        /// Maximum requests per second of one address.
        requests: u32 = 50,
        /// Maximum simultaneous connections.
        connections: u32 = 256,
        /// Time without progress after which the crawl counts as stalled.
        stall: Span = Span::millis(600_000),
        /// Events file; `-` for standard output, empty for none.
        events: PathBuf = PathBuf::new(),
    }
}

table! {
    /// `[events]`
    Events {
        /// Size at which the file is rotated; 0 for never.
        max_bytes: Size = Size(1 << 30),
        /// Number of rotated files that are kept.
        keep: u32 = 9,
    }
}

table! {
    /// `[log]`
    Log {
        /// Format of log lines.
        format: LogFormat = LogFormat::Human,
        /// Log filter; empty for the default.
        filter: String = String::new(),
        /// URL of a trace collector; empty for none.
        otlp: String = String::new(),
    }
}

/// Format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Human,
    /// A JSON object a line.
    Json,
}

/// Why a configuration cannot be used. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read configuration {}: {}", .0.display(), .1)]
    Read(PathBuf, std::io::Error),
    /// Invalid TOML, or a value of the wrong type.
    #[error("configuration {}: {}", .0.display(), .1)]
    Parse(PathBuf, String),
    /// An environment variable, and what is wrong with it.
    #[error("environment variable {0}: {1}")]
    Variable(String, String),
    /// Unknown key.
    #[error("configuration {}: unknown key `{key}`; {}", .file.display(), hint(.key, .nearest.as_deref()))]
    UnknownKey {
        /// The file.
        file: PathBuf,
        /// The key with its table.
        key: String,
        /// The most similar key.
        nearest: Option<String>,
    },
}

/// The advice for an unknown key.
fn hint(key: &str, nearest: Option<&str>) -> String {
    match (former_keys::now(key), nearest) {
        (Some(now), _) => now.into(),
        (None, Some(near)) => format!("did you mean `{near}`?"),
        (None, None) => "config/recrawl.toml lists all keys".into(),
    }
}

impl Config {
    /// Reads a file, or takes the defaults, and sets the keys of [`environment`] variables.
    ///
    /// # Errors
    /// [`ConfigError`], naming the file, the line and, for an unknown key, the most similar one; or the variable.
    pub fn read(file: Option<&Path>, variables: &[(String, String)]) -> Result<Config, ConfigError> {
        let tables = match file {
            Some(file) => {
                let text = operator_file::read_text(file, operator_file::MAX_CONFIG);
                let text = text.map_err(|e| ConfigError::Read(file.into(), e))?;
                Config::tables(&text, file)?
            }
            None => toml::Table::new(),
        };
        environment::overlaid(tables, variables)
    }

    /// Leaves out secrets, and what is nothing without them. For commands that send nothing: they may run where nobody may
    /// read these.
    pub fn leave_out_secrets(&mut self) {
        self.notify.clear();
        self.hosts.clear();
        self.proxy = ProxyTable::default();
        for target in &mut self.deliver {
            target.password.leave_out();
            target.bearer.leave_out();
        }
    }

    /// The tables of a text that is a configuration; `file` is for messages.
    fn tables(text: &str, file: &Path) -> Result<toml::Table, ConfigError> {
        let parse_error = |e: toml::de::Error| ConfigError::Parse(file.into(), on_one_line(&e, text));
        let table: toml::Table = toml::from_str(text).map_err(parse_error)?;
        check_keys(&table, file)?;
        toml::from_str::<Config>(text).map_err(parse_error)?;
        Ok(table)
    }
}

/// "line 3: message" instead of the parser's multi-line drawing.
fn on_one_line(error: &toml::de::Error, text: &str) -> String {
    let message = error.message().replace('\n', "; ");
    match error.span() {
        Some(span) => format!("line {}: {message}", text[..span.start].matches('\n').count() + 1),
        None => message,
    }
}

/// Checks that every key exists, by the keys of the default configuration.
fn check_keys(table: &toml::Table, file: &Path) -> Result<(), ConfigError> {
    let known = all_keys();
    for (name, value) in table {
        let keys: Vec<String> = match value {
            toml::Value::Table(inner) if inner.is_empty() => vec![format!("{name}.")],
            toml::Value::Table(inner) => inner.keys().map(|k| format!("{name}.{k}")).collect(),
            toml::Value::Array(all) => {
                let tables = all.iter().filter_map(toml::Value::as_table);
                let keys = tables.flat_map(|t| t.keys().map(|k| format!("{name}.{k}"))).collect::<Vec<_>>();
                if keys.is_empty() { vec![name.clone()] } else { keys }
            }
            _ => vec![name.clone()],
        };
        for key in keys {
            let exists = known.iter().any(|k| *k == key || (key.ends_with('.') && k.starts_with(&key)));
            if !exists {
                let nearest = nearest(&known, &key);
                // A message is a line.
                let key = key.chars().take(MAX_MISSPELT).collect();
                return Err(ConfigError::UnknownKey { file: file.into(), key, nearest });
            }
        }
    }
    Ok(())
}

/// Bytes of the longest key that may be a known one, misspelt.
const MAX_MISSPELT: usize = 64;

/// The most similar of the known keys, if one is similar.
fn nearest(known: &[String], key: &str) -> Option<String> {
    if key.len() > MAX_MISSPELT {
        return None;
    }
    let alike = known.iter().map(|known| (strsim::normalized_damerau_levenshtein(known, key), known));
    let best = alike.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(likeness, _)| *likeness > 0.4);
    best.map(|(_, known)| known.clone())
}

/// The defaults, with a value for each key that has none.
fn complete() -> Config {
    Config {
        cycle: CycleConfig {
            deadline: Some(Span::millis(1000)),
            rounds: Some(Rounds(Parts::Equal(2))),
            ..CycleConfig::default()
        },
        hosts: vec![HostTable::default()],
        pages: vec![PagesTable {
            every: Some(Span::millis(3_600_000)),
            importance: Some(Importance::ONE),
            ..PagesTable::default()
        }],
        notify: vec![NotifyTable::default()],
        deliver: vec![DeliverTable::default()],
        promises: vec![PromiseTable::default()],
        ..Config::default()
    }
}

/// Every key as `table.key`.
pub fn all_keys() -> Vec<String> {
    let tables = toml::Table::try_from(complete()).expect("the configuration is a table of tables");
    let keys_of = |(name, value): (String, toml::Value)| {
        let one = value.as_array().map_or(Some(&value), |all| all.first());
        let inner = one.and_then(toml::Value::as_table).cloned().unwrap_or_default();
        inner.into_iter().map(move |(key, _)| format!("{name}.{key}")).collect::<Vec<_>>()
    };
    tables.into_iter().flat_map(keys_of).collect()
}

#[cfg(test)]
mod tests;
