//! The configuration as typed: TOML, one table a stage, every key optional, unknown keys refused.
//!
//! This is the first of two steps. Here values are only read, with their units; what they mean
//! together, and whether they can be used, is decided once in [`crate::settings`].

use crate::secret::Secret;
use crate::units::{Amount, Share, Size, Span};
use recrawl_change::ChangeRules;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
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

table! {
    /// The whole file. The keys are explained in config/recrawl.toml.
    Config {
        /// Who we are.
        crawler: Crawler = Crawler::default(),
        /// The cycle and its budget.
        cycle: CycleConfig = CycleConfig::default(),
        /// What we promise to hosts.
        politeness: Politeness = Politeness::default(),
        /// Fetching and its limits.
        fetch: Fetch = Fetch::default(),
        /// What fetching may cost.
        budget: Budget = Budget::default(),
        /// What requests go through.
        proxy: ProxyTable = ProxyTable::default(),
        /// What is sent to single hosts besides.
        hosts: Vec<HostTable> = Vec::new(),
        /// Names.
        dns: Dns = Dns::default(),
        /// What makes two addresses one page.
        urls: Urls = Urls::default(),
        /// What belongs to the crawl.
        scope: Scope = Scope::default(),
        /// Addresses without end.
        traps: Traps = Traps::default(),
        /// Sitemaps and feeds.
        hints: Hints = Hints::default(),
        /// What of a page's wishes is obeyed.
        consent: Consent = Consent::default(),
        /// Extraction and its limits.
        extract: Extract = Extract::default(),
        /// What counts as a change.
        change: ChangeRules = ChangeRules::default(),
        /// How pages are ranked.
        schedule: Schedule = Schedule::default(),
        /// Where things are kept.
        storage: Storage = Storage::default(),
        /// How the crawl is looked at and steered while it runs.
        serve: Serve = Serve::default(),
        /// The file of events.
        events: Events = Events::default(),
        /// What is told of the work.
        log: Log = Log::default(),
    }
}

table! {
    /// `[crawler]`
    Crawler {
        /// Product token and version; what robots.txt groups are matched with.
        user_agent: String = concat!("recrawl/", env!("CARGO_PKG_VERSION")).into(),
        /// Where a site's owner can reach the operator.
        contact: String = String::new(),
    }
}

table! {
    /// `[cycle]`
    CycleConfig {
        /// From the start of one cycle to the start of the next.
        period: Span = Span::millis(24 * 3_600_000),
        /// No request is started later than this after the cycle's start.
        deadline: Option<Span> = None,
        /// k, the budget.
        pages: Amount = Amount::Share(0.05),
        /// k is at least this.
        pages_min: u64 = 100,
        /// Visits after the first that are due whatever the score.
        warmup: u32 = 2,
        /// Part of k for URLs never fetched.
        discovery_share: Share = Share(0.2),
        /// So many never-fetched URLs are visited even where that exceeds k.
        discovery_min: u64 = 0,
        /// Part of k for pages that a trusted date announces as changed.
        announced_share: Share = Share(0.1),
        /// Part of k for the uniform sample.
        audit_share: Share = Share(0.01),
    }
}

table! {
    /// `[politeness]`
    Politeness {
        /// Between two requests to one host.
        delay_per_host: Span = Span::millis(1000),
        /// Between two requests to one address, over all hosts there.
        delay_per_ip: Span = Span::millis(250),
        /// A host's delay is at least so many times what its answers take.
        delay_per_latency: f64 = 2.0,
        /// The longest delay that latency, 429 and 503 make.
        max_adaptive_delay: Span = Span::millis(30_000),
        /// Requests under way to one host at a time.
        connections_per_host: u32 = 1,
        /// A longer Crawl-delay than this leaves the host alone.
        max_crawl_delay: Span = Span::millis(30_000),
        /// A Retry-After up to this is waited for within the cycle.
        max_retry_after: Span = Span::millis(60_000),
        /// robots.txt is fetched again after this long.
        robots_cache: Span = Span::millis(24 * 3_600_000),
        /// Failures in a row after which a host is left alone for the rest of the cycle.
        host_failures: u32 = 5,
        /// Open hosts of one site, as long as hosts of other sites wait; 0 for any.
        hosts_per_site: u32 = 64,
        /// Open hosts at one address; 0 for any.
        hosts_per_address: u32 = 16,
    }
}

table! {
    /// `[fetch]`
    Fetch {
        /// Requests under way at a time, over all hosts.
        connections: u32 = 256,
        /// Hosts whose pages and robots rules are in memory at a time.
        open_hosts: u32 = 512,
        /// For a whole response.
        timeout: Span = Span::millis(30_000),
        /// For the connection alone.
        connect_timeout: Span = Span::millis(10_000),
        /// Bytes of a body that are kept, after decompression.
        max_body: Size = Size(2 << 20),
        /// Redirects in a row that are followed.
        max_redirects: u8 = 5,
        /// The share of 304s that are checked by asking again without validators.
        validator_checks: Share = Share(0.05),
        /// Files in PEM with authorities that are trusted besides those of the system.
        extra_ca: Vec<PathBuf> = Vec::new(),
        /// CIDR blocks exempt from the refusal of private and loopback addresses.
        allow_addresses: Vec<String> = Vec::new(),
    }
}

table! {
    /// `[budget]`
    Budget {
        /// Bytes a second over the network, over all hosts; 0 for any.
        bytes_per_second: Size = Size(0),
        /// Bytes that a host may cost in a cycle; 0 for any.
        bytes_per_host: Size = Size(0),
        /// Bytes that a cycle may cost; 0 for any.
        bytes_per_cycle: Size = Size(0),
    }
}

table! {
    /// `[proxy]`
    ProxyTable {
        /// Where it is; empty for none.
        url: String = String::new(),
        /// Who we are there; empty for nobody.
        user: String = String::new(),
        /// And how we show it.
        password: Secret = Secret::default(),
        /// Hosts that are asked without it.
        except: Vec<String> = Vec::new(),
    }
}

table! {
    /// `[[hosts]]`
    HostTable {
        /// Its name or address, with the port where it is not the scheme's own.
        host: String = String::new(),
        /// Are these things sent over plain HTTP too?
        over_http: bool = false,
        /// For Basic authentication.
        user: String = String::new(),
        /// For Basic authentication.
        password: Secret = Secret::default(),
        /// For Bearer authentication.
        bearer: Secret = Secret::default(),
        /// Header fields.
        headers: BTreeMap<String, Secret> = BTreeMap::new(),
        /// Cookies.
        cookies: BTreeMap<String, Secret> = BTreeMap::new(),
    }
}

table! {
    /// `[dns]`
    Dns {
        /// Name → address, asked before any resolver.
        overrides: BTreeMap<String, IpAddr> = BTreeMap::new(),
        /// Name servers, with their ports; empty for those of the system.
        servers: Vec<SocketAddr> = Vec::new(),
        /// Addresses are kept at least so long.
        min_ttl: Span = Span::millis(60_000),
        /// And at most so long.
        max_ttl: Span = Span::millis(24 * 3_600_000),
        /// That there are none, at most so long.
        max_negative_ttl: Span = Span::millis(300_000),
    }
}

table! {
    /// `[urls]`
    Urls {
        /// Query and path parameters that name no page.
        drop_parameters: Vec<String> = recrawl_types::UrlRules::default().drop_parameters,
    }
}

table! {
    /// `[scope]`
    Scope {
        /// Hosts that belong; empty for the sites of the seeds, `*` for all, `*.example.com` with subdomains.
        hosts: Vec<String> = Vec::new(),
        /// Hosts that do not, in the same spellings.
        refuse_hosts: Vec<String> = Vec::new(),
        /// URL prefixes that belong; empty for all.
        prefixes: Vec<String> = Vec::new(),
        /// URL prefixes that do not.
        refuse_prefixes: Vec<String> = Vec::new(),
        /// A file of hosts whose owners opted out; empty for none.
        opt_out: PathBuf = PathBuf::new(),
        /// Links from a seed.
        max_depth: u16 = 50,
        /// Known URLs of one host.
        max_pages_per_host: u64 = 1_000_000,
        /// The length of an address.
        max_url_bytes: u32 = 2000,
        /// Segments of a path.
        max_segments: u32 = 30,
        /// How often a path may have the same segment.
        max_repeats: u32 = 4,
        /// Parameters of a query.
        max_parameters: u32 = 16,
    }
}

table! {
    /// `[traps]`
    Traps {
        /// Are patterns cut off?
        enabled: bool = true,
        /// First visits that a verdict needs.
        min_pages: u32 = 100,
        /// The share of near-duplicates among them that makes a trap.
        near_duplicates: Share = Share(0.95),
        /// Bits in which the SimHashes of near-duplicates differ at most.
        max_distance: u8 = 3,
        /// Hosts of which nothing is cut off.
        allow_hosts: Vec<String> = Vec::new(),
    }
}

table! {
    /// `[hints]`
    Hints {
        /// Are sitemaps visited that robots.txt names?
        sitemaps: bool = true,
        /// Is /sitemap.xml tried where it names none?
        guess: bool = false,
        /// Are feeds visited that pages name as theirs?
        feeds: bool = true,
        /// Entries taken from one sitemap or feed.
        max_entries: u32 = 50_000,
        /// Bytes that are unpacked of one in gzip.
        max_unpacked: Size = Size(50 << 20),
        /// Indexes of sitemaps that lead from one to the next.
        max_nesting: u8 = 3,
        /// From this trust on a host's dates are acted upon.
        min_trust: Share = Share(0.5),
    }
}

table! {
    /// `[consent]`
    Consent {
        /// A page's `nofollow`: none of its links is taken.
        nofollow: bool = true,
        /// A link's `nofollow`, `ugc` or `sponsored`: it is not taken.
        link_nofollow: bool = true,
        /// A page's `noindex`, or `unavailable_after` once that is past: its body is not archived.
        noindex: bool = true,
        /// A page's `noarchive`: its body is not archived.
        noarchive: bool = true,
        /// A page's canonical address is taken as a link.
        canonical: bool = true,
    }
}

table! {
    /// `[extract]`
    Extract {
        /// Media types that are read.
        types: Vec<String> = ["text/html", "application/xhtml+xml", "text/*"].map(String::from).into(),
        /// Distinct links taken from one page.
        max_links: u32 = 10_000,
        /// Bytes of visible text compared.
        max_text: Size = Size(1 << 20),
    }
}

table! {
    /// `[schedule]`
    Schedule {
        /// A formula's name, its file, or an expression.
        formula: String = String::from("default"),
        /// Pages of one host in a cycle; 0 for no cap.
        max_per_host: u64 = 0,
        /// `hash` or `index`: who wins among equal scores.
        ties: String = String::from("hash"),
    }
}

table! {
    /// `[storage]`
    Storage {
        /// Where the repository is.
        data_dir: PathBuf = PathBuf::from("data"),
        /// Are page bodies kept, as WARC files?
        archive: bool = true,
        /// A WARC file is closed at this size.
        archive_file: Size = Size(1 << 30),
        /// All WARC files together: beyond this the oldest are removed between cycles; 0 for no cap.
        archive_max: Size = Size(0),
        /// How long what was fetched may be lost by a power cut.
        sync_every: Span = Span::millis(5_000),
        /// The visits of so many cycles are kept; 0 for none.
        keep_visits: u32 = 100,
        /// The crawl stops when fewer bytes than these are free on the data directory's disk; 0: it never looks.
        reserve: Size = Size(1 << 30),
        /// Memory of the plan of a cycle before it spills to disk.
        plan_memory: Size = Size(128 << 20),
        /// Memory of the batch before it spills to disk.
        batch_memory: Size = Size(64 << 20),
        /// A link to a block of pages that nothing else touches waits at most so many cycles; 0: none waits.
        link_wait: u32 = 3,
        /// So many URLs linked to in one block wait no longer.
        link_batch: usize = 32,
    }
}

table! {
    /// `[serve]`
    Serve {
        /// Where the console listens.
        listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 8420)),
        /// A file of lines `name token`; empty: nothing can be changed.
        tokens: PathBuf = PathBuf::new(),
        /// Names by which the console may be called besides addresses and localhost.
        names: Vec<String> = Vec::new(),
        /// Requests a second of one address.
        requests: u32 = 50,
        /// Connections at a time.
        connections: u32 = 256,
        /// After so long without a sign of life of the crawl it counts as stalled.
        stall: Span = Span::millis(600_000),
        /// The file of events; `-` prints them, empty: there is none.
        events: PathBuf = PathBuf::new(),
    }
}

table! {
    /// `[events]`
    Events {
        /// The file is put aside once it has so many bytes; 0: never.
        max_bytes: Size = Size(1 << 30),
        /// So many that were put aside are kept.
        keep: u32 = 9,
    }
}

table! {
    /// `[log]`
    Log {
        /// How lines are written.
        format: LogFormat = LogFormat::Human,
        /// What is logged; empty for what is usual.
        filter: String = String::new(),
        /// A collector of traces; empty for none.
        otlp: String = String::new(),
    }
}

/// How lines of the log are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Human,
    /// A JSON object a line.
    Json,
}

/// Why a configuration cannot be used. Nothing was touched.
#[derive(Debug)]
pub enum ConfigError {
    /// The file could not be read.
    Read(PathBuf, std::io::Error),
    /// It is no TOML, or a value is of the wrong kind.
    Parse(PathBuf, String),
    /// A key that does not exist.
    UnknownKey {
        /// The file.
        file: PathBuf,
        /// The key with its table.
        key: String,
        /// The key that is spelled most like it.
        nearest: Option<String>,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::Read(file, why) => write!(f, "configuration {}: {why}", file.display()),
            ConfigError::Parse(file, why) => write!(f, "configuration {}: {why}", file.display()),
            ConfigError::UnknownKey { file, key, nearest } => {
                write!(f, "configuration {}: there is no key `{key}`", file.display())?;
                match nearest {
                    Some(near) => write!(f, "; did you mean `{near}`?"),
                    None => write!(f, "; config/recrawl.toml lists them all"),
                }
            }
        }
    }
}

impl std::error::Error for ConfigError {}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// [`ConfigError`], naming the file, the line and, for an unknown key, the nearest one.
    pub fn read(file: &Path) -> Result<Config, ConfigError> {
        let text = std::fs::read_to_string(file).map_err(|e| ConfigError::Read(file.into(), e))?;
        Config::parse(&text, file)
    }

    /// Parses a text; `file` is only for messages.
    ///
    /// # Errors
    /// As [`Config::read`].
    pub fn parse(text: &str, file: &Path) -> Result<Config, ConfigError> {
        let parse_error = |e: toml::de::Error| ConfigError::Parse(file.into(), on_one_line(&e, text));
        let table: toml::Table = toml::from_str(text).map_err(parse_error)?;
        check_keys(&table, file)?;
        toml::from_str(text).map_err(parse_error)
    }
}

/// "line 3: message" in place of the parser's drawing over several lines.
fn on_one_line(error: &toml::de::Error, text: &str) -> String {
    let message = error.message().replace('\n', "; ");
    match error.span() {
        Some(span) => format!("line {}: {message}", text[..span.start].matches('\n').count() + 1),
        None => message,
    }
}

/// Every key must exist; the list of keys is the default configuration itself.
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
                let nearest = known
                    .iter()
                    .map(|k| (strsim::normalized_damerau_levenshtein(k, &key), k))
                    .max_by(|a, b| a.0.total_cmp(&b.0))
                    .filter(|(likeness, _)| *likeness > 0.4)
                    .map(|(_, k)| k.clone());
                return Err(ConfigError::UnknownKey { file: file.into(), key, nearest });
            }
        }
    }
    Ok(())
}

/// Every key as `table.key`.
pub fn all_keys() -> Vec<String> {
    let complete = Config {
        cycle: CycleConfig { deadline: Some(Span::millis(1000)), ..CycleConfig::default() },
        hosts: vec![HostTable::default()],
        ..Config::default()
    };
    let tables = toml::Table::try_from(complete).expect("the configuration is a table of tables");
    let keys_of = |(name, value): (String, toml::Value)| {
        let one = value.as_array().map_or(Some(&value), |all| all.first());
        let inner = one.and_then(toml::Value::as_table).cloned().unwrap_or_default();
        inner.into_iter().map(move |(key, _)| format!("{name}.{key}")).collect::<Vec<_>>()
    };
    tables.into_iter().flat_map(keys_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference: every key with its default, its unit and the reason.
    const REFERENCE: &str = include_str!("../../../config/recrawl.toml");

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(text, Path::new("f.toml")).map_err(|e| e.to_string())
    }

    #[test]
    fn the_reference_names_every_key_and_states_the_defaults() {
        assert_eq!(parse(REFERENCE).unwrap(), Config::default());
        for key in all_keys() {
            let (_, name) = key.split_once('.').unwrap();
            let stated = REFERENCE.lines().any(|l| {
                l.trim_start_matches("# ").split_once('=').is_some_and(|(left, _)| left.trim() == name)
            });
            assert!(
                stated,
                "config/recrawl.toml does not state `{key}`: add it with default, unit and reason"
            );
        }
    }

    #[test]
    fn an_unknown_key_names_the_nearest() {
        let error = parse("[politeness]\ndelay_per_hots = \"1 s\"").unwrap_err();
        assert!(error.contains("politeness.delay_per_hots"), "{error}");
        assert!(error.contains("did you mean `politeness.delay_per_host`"), "{error}");
        let error = parse("[polite]\ndelay_per_host = \"1 s\"").unwrap_err();
        assert!(error.contains("politeness.delay_per_host"), "{error}");
        assert!(parse("[nonsense]\n").unwrap_err().contains("nonsense"));
        assert!(parse("x = 1").unwrap_err().contains("no key `x`"));
    }

    #[test]
    fn a_wrong_value_names_its_line() {
        let error = parse("[cycle]\n\nperiod = 5\n").unwrap_err();
        assert!(error.contains("line 3") && error.contains("unit"), "{error}");
        assert!(parse("[cycle]\npages = \"101%\"").unwrap_err().contains("line 2"));
        assert!(parse("[cycle\n").unwrap_err().contains("line 1"));
    }

    #[test]
    fn names_may_hold_dots() {
        let config = parse("[dns.overrides]\n\"a.example\" = \"127.0.0.1\"\n").unwrap();
        assert_eq!(config.dns.overrides["a.example"], "127.0.0.1".parse::<IpAddr>().unwrap());
    }
}
