//! The checked configuration: converts every value for its stage, before anything is changed.

mod access;
pub mod formula_file;
#[cfg(test)]
mod host_spellings;
mod measured;
pub mod ranking;

use crate::admission::address_block::address_block;
use crate::admission::decisions::Decisions;
use crate::admission::scope::Scope;
use crate::config::secrets::Secret;
use crate::config::{Config, ConfigError, environment, operator_file};
use crate::failure::Failure;
use crate::forbidding::Forbidding;
use crate::labels;
use crate::page_rules::PageRules;
use crate::parts::deliver::DeliverTarget;
use crate::parts::focus::FocusRules;
use crate::parts::improve::rules::LoopRules;
use crate::parts::noise::page::NoiseRules;
use crate::parts::notify::NotifyTarget;
use crate::parts::pings::websub;
use crate::parts::promises::{SurveyRules, VisitPromise};
use crate::parts::traps::TrapRules;
use crate::parts::{convert, render, requisites};
use crate::settings::ranking::{CycleRounds, Objective, RankedBy};
use crate::stored::seed_sites;
use recrawl_archive::thin::MIN_AGE;
use recrawl_change::ChangeRules;
use recrawl_extractor::{ExtractLimits, ExtractOptions};
use recrawl_fetcher::FetchConfig;
use recrawl_formula::Formula;
use recrawl_repository::{Generation, SledTables};
use recrawl_scheduler::Ties;
use recrawl_scheduler::policy::{self, PolicyKind};
use recrawl_types::{CanonicalUrl, MediaTypes, PageRecord, Reads, Site, UrlRules};
use recrawl_verifier::Waiting;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum number of longest links that fit in a record of the visit log.
const MAX_LINKS: u32 = 30_000;

/// Maximum entries of a sitemap, by its protocol.
const MAX_ENTRIES: u32 = 50_000;

/// A page by its URL, with its place and record if it is known.
pub type KnownPage = (CanonicalUrl, Option<(u64, PageRecord)>);

/// A checked configuration.
#[derive(Clone, Debug)]
pub struct Settings {
    /// As read, with defaults.
    pub config: Config,
    /// The data directory.
    pub data_dir: PathBuf,
    /// Options of the fetcher.
    pub fetch: FetchConfig,
    /// The scope; the sites of the seeds are added when the crawl opens.
    pub scope: Scope,
    /// Rules for traps.
    pub traps: TrapRules,
    /// Rules for URLs.
    pub rules: UrlRules,
    /// Rules for comparing pages.
    pub change: ChangeRules,
    /// Options of the extractor.
    pub reading: ExtractOptions,
    /// The formula, unless the data directory has one of its own.
    pub formula: Formula,
    /// Was it given on the command line? Then it overrides that of the data directory.
    pub formula_is_given: bool,
    /// The reason why the data directory's objective is unknown, if it is.
    pub ranking_problem: Option<String>,
    /// The revisit rounds of a cycle.
    pub rounds: CycleRounds,
    /// The objective by which pages are ranked, if one names the formula.
    pub objective: Option<Objective>,
    /// Order of pages with equal scores.
    pub ties: Ties,
    /// Scores the pages.
    pub policy: PolicyKind,
    /// Does the crawl measure what its formula is worth (`improve.mode`)?
    pub is_measured: bool,
    /// The rules by which learned formulas come into force; none unless they may be tried.
    pub loop_rules: Option<LoopRules>,
    /// Rules of a focused crawl; none unless it is one.
    pub focus: Option<Arc<FocusRules>>,
    /// The parts of pages that count.
    pub pages: PageRules,
    /// Targets that are told of changes.
    pub notify: Vec<NotifyTarget>,
    /// Targets that get documents.
    pub deliver: Vec<DeliverTarget>,
    /// Promises to visit pages in time, by prefix.
    pub promises: Vec<VisitPromise>,
    /// Files named by the configuration or the command line, and the configuration itself: they may
    /// be in a new data directory.
    pub files: Vec<PathBuf>,
}

/// Are the secrets of a configuration read?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretUse {
    /// Yes.
    Read,
    /// No: nothing is requested or sent.
    LeftOut,
}

impl Settings {
    /// The rules by which differences of pages are judged.
    pub fn noise_rules(&self) -> NoiseRules<'_> {
        NoiseRules { change: &self.change, pages: &self.pages, notify: &self.notify }
    }

    /// Adds these seeds to all that were ever given, and admits their sites, unless the configuration names hosts.
    ///
    /// # Errors
    /// When they are too many, or the tables cannot be read or written.
    pub fn admit_seed_sites(&mut self, tables: &SledTables, seeds: &[CanonicalUrl]) -> Result<(), Failure> {
        if self.config.scope.hosts.is_empty() {
            self.scope.admit_sites(seed_sites(tables, seeds)?);
        }
        Ok(())
    }

    /// The page that a person names on the command line.
    ///
    /// # Errors
    /// [`Failure::Usage`], that it is no URL.
    pub fn named_page(&self, url: &str) -> Result<CanonicalUrl, Failure> {
        self.rules.canonicalize(url).map_err(|e| Failure::Usage(format!("invalid URL {url}: {e}")))
    }

    /// The page that a person names. A known page may be from before the rules
    /// dropped a parameter of its URL ([`UrlRules::earlier_defaults`]), so the URL as it is written comes first.
    ///
    /// # Errors
    /// [`Failure::Usage`], that it is no URL; [`Failure::Work`] when the generation cannot be read.
    pub fn known_page(&self, text: &str, generation: &Generation) -> Result<KnownPage, Failure> {
        let ruled = self.named_page(text)?;
        let written = UrlRules::keep_all().canonicalize(text).ok().filter(|written| *written != ruled);
        if let Some(written) = written
            && let Some(found) = generation.get(&written)?
        {
            return Ok((written, Some(found)));
        }
        let found = generation.get(&ruled)?;
        Ok((ruled, found))
    }

    /// The scope as it will be with this page as a seed.
    pub fn scope_with_seed(&self, seed: &CanonicalUrl) -> Scope {
        let mut scope = self.scope.clone();
        if self.config.scope.hosts.is_empty() {
            scope.admit_sites([Site::from_url(seed).to_string()]);
        }
        scope
    }

    /// The rules that keep pages from being fetched, with these decisions of operators.
    ///
    /// # Errors
    /// When the tables cannot be read.
    pub fn forbidding(&self, tables: &SledTables, decided: &Decisions) -> Result<Forbidding<'_>, Failure> {
        let mut scope = self.scope.clone();
        if self.config.scope.hosts.is_empty() {
            scope.admit_sites(seed_sites(tables, &[])?);
        }
        Ok(Forbidding::new(&self.fetch, &self.traps, scope, decided))
    }

    /// The rules for a survey of the promises. Without tables nothing is known of robots.txt and delays.
    ///
    /// # Errors
    /// When the tables cannot be read.
    pub fn promise_rules<'s>(
        &'s self,
        tables: Option<&'s SledTables>,
        decided: &'s Decisions,
    ) -> Result<SurveyRules<'s>, Failure> {
        let forbidding = tables.map(|tables| self.forbidding(tables, decided)).transpose()?;
        let (promises, config, fetch) = (&self.promises[..], &self.config, &self.fetch);
        Ok(SurveyRules { promises, config, fetch, forbidding, tables, decided })
    }

    /// Reads and checks a configuration file, or uses the defaults. Variables of the
    /// [`environment`] override both.
    ///
    /// # Errors
    /// [`Failure::Usage`], naming the file and the key, or the variable.
    pub fn load(
        file: Option<&Path>,
        data_dir: Option<&Path>,
        secrets: SecretUse,
    ) -> Result<Settings, Failure> {
        let variables = environment::variables()?;
        let mut config = Config::read(file, &variables)?;
        if secrets == SecretUse::LeftOut {
            config.leave_out_secrets();
        }
        let mut settings = Settings::check(config).map_err(|problem| {
            let names: Vec<String> = variables.iter().map(|(name, _)| name.clone()).collect();
            let with = match &names[..] {
                [] => String::new(),
                names => format!(" (with {} of the environment)", labels::some_of(names)),
            };
            match file {
                Some(file) => Failure::from(ConfigError::Parse(file.into(), problem + &with)),
                None => Failure::Usage(problem + &with),
            }
        })?;
        settings.files.extend(file.map(Path::to_owned));
        if let Some(folder) = data_dir {
            check_folder(folder).map_err(Failure::Usage)?;
            settings.data_dir = folder.into();
        }
        // Damage of the directory's file must not keep an operator from a takedown or a backup: only what ranks pages
        // needs the file, and says so.
        settings.ranking_problem = settings.follow_folder().err().map(|failure| failure.to_string());
        Ok(settings)
    }

    /// Ranks as the data directory began, if the configuration leaves it to that.
    ///
    /// # Errors
    /// When the directory's file cannot be read.
    pub fn follow_folder(&mut self) -> Result<(), Failure> {
        if !self.formula_is_given {
            self.rank_by(RankedBy::in_folder(&self.config, self.policy, &self.data_dir)?);
        }
        Ok(())
    }

    /// Ranks by a formula that the command line gives.
    pub fn use_formula(&mut self, formula: Formula) {
        self.rank_by(RankedBy::by(formula, &self.config));
        (self.formula_is_given, self.policy) = (true, PolicyKind::default());
    }

    fn rank_by(&mut self, RankedBy { formula, rounds, objective }: RankedBy) {
        self.objective = objective;
        (self.formula, self.rounds) = (formula, rounds);
    }

    /// Maximum hops from a linked URL, by redirects or nested sitemap indexes.
    pub fn max_hops(&self) -> u8 {
        self.fetch.max_redirects.max(self.config.hints.max_nesting)
    }

    /// Bytes of the longest body, or document made of it, that the crawl archives. Readers of the archive read
    /// up to as many.
    pub fn max_archived_body(&self) -> usize {
        let (render, convert) = (&self.config.render, &self.config.convert);
        self.fetch.max_body.max(render.max_document.0.max(convert.max_document.0) as usize)
    }

    /// Uses this contact, unless it is blank.
    ///
    /// # Errors
    /// That nobody can be reached by it.
    pub fn use_contact(&mut self, contact: Option<&str>) -> Result<(), Failure> {
        if let Some(contact) = contact.map(str::trim).filter(|contact| !contact.is_empty()) {
            check_contact(contact).map_err(|e| Failure::Usage(format!("--contact: {e}")))?;
            self.config.crawler.contact = contact.to_owned();
            self.fetch.contact = Some(contact.to_owned());
        }
        Ok(())
    }

    /// Why a formula has no effect, if it has none: a clause without a full stop.
    pub fn formula_is_idle(&self) -> Option<String> {
        let PolicyKind { name, help, .. } = self.policy;
        let is_idle = !self.policy.is_formula();
        is_idle.then(|| format!("schedule.policy is {name:?} ({help}), so no formula ranks"))
    }

    /// Why the importance of pages does not count in the schedule, if some have one: a clause without a full stop.
    pub fn importance_is_idle(&self, formula: &Formula) -> Option<String> {
        let rule = self.pages.weighing()?;
        let name = match self.policy.is_formula() {
            true if formula.compile().reads().contains(Reads::IMPORTANCE) => return None,
            true => format!("formula {}", formula.name),
            false => format!("policy {}", self.policy.name),
        };
        let (matches, importance) = (&rule.matches, rule.importance);
        Some(format!(
            "the {name} does not read importance, so that of [[pages]] {matches:?}, {importance}, has no effect on the \
             schedule; a formula that is multiplied by importance weighs by it"
        ))
    }

    /// Which links may wait for the merge of a later cycle.
    pub fn waiting(&self) -> Waiting {
        let storage = &self.config.storage;
        Waiting { max_cycles: storage.link_wait, has_turns: true, enough: storage.link_batch }
    }

    /// Checks values and their relations.
    ///
    /// # Errors
    /// The key, and what is wrong with it.
    pub fn check(config: Config) -> Result<Settings, String> {
        let focus = FocusRules::from_config(&config)?.map(Arc::new);
        check_values(&config)?;
        let (is_measured, loop_rules) = LoopRules::from_config(&config.improve)?;
        Objective::named("improve.objective", &config.improve.objective)?;
        if is_measured {
            measured::check(&config, loop_rules.is_some())?;
        }
        let ties = match config.schedule.ties.as_str() {
            "hash" => Ties::Hash,
            "index" => Ties::Index,
            other => return Err(format!("schedule.ties is {other:?}; write \"hash\" or \"index\"")),
        };
        let policy = PolicyKind::named(&config.schedule.policy).ok_or_else(|| {
            let names: Vec<&str> = policy::ALL.iter().map(|kind| kind.name).collect();
            format!("schedule.policy is {:?}; write one of: {}", config.schedule.policy, names.join(", "))
        })?;
        if loop_rules.is_some() && !policy.is_formula() {
            return Err("improve.mode \"propose\" and \"promote\" need schedule.policy = \"formula\"".into());
        }
        let RankedBy { formula, rounds, objective } = RankedBy::in_new_folder(&config, policy)?;
        let rules = UrlRules { drop_parameters: config.urls.drop_parameters.clone() };
        Ok(Settings {
            data_dir: config.storage.data_dir.clone(),
            fetch: fetch_config(&config)?,
            scope: Scope::new(&config.scope, &rules)?,
            traps: TrapRules::new(&config.traps)?,
            pages: PageRules::new(&config.pages, &rules)?,
            notify: NotifyTarget::all(&config, &rules)?,
            deliver: DeliverTarget::all(&config, &rules)?,
            promises: VisitPromise::all(&config, &rules)?,
            rules,
            change: config.change.clone(),
            reading: reading(&config)?,
            formula,
            formula_is_given: false,
            ranking_problem: None,
            rounds,
            objective,
            ties,
            is_measured,
            loop_rules,
            policy,
            focus,
            files: files(&config),
            config,
        })
    }
}

/// Checks keys by themselves and against each other.
fn check_values(config: &Config) -> Result<(), String> {
    let cycle = &config.cycle;
    // The score has the rest, which may be nothing, but not less.
    let shares = cycle.discovery_share.least() + cycle.announced_share.0 + cycle.audit_share.0;
    if shares > 1.0 {
        return Err(format!(
            "cycle.discovery_share, announced_share and audit_share add up to {shares}; the maximum is 1"
        ));
    }
    check_folder(&config.storage.data_dir)?;
    if cycle.period.0.is_zero() {
        return Err("cycle.period must not be 0".into());
    }
    if cycle.deadline.is_some_and(|d| d.0.is_zero()) {
        return Err("cycle.deadline must not be 0; omit it for no deadline".into());
    }
    if config.round.max.0.is_zero() || config.round.linger.0.is_zero() {
        return Err("round.max and round.linger must not be 0".into());
    }
    check_sizes(&config.storage)?;
    if config.vault.ship.0.is_zero() || config.vault.unshipped.0 == 0 {
        return Err("vault.ship and vault.unshipped must not be 0".into());
    }
    if config.extract.max_links == 0 || config.extract.max_text.0 == 0 {
        return Err("extract.max_links and extract.max_text must not be 0".into());
    }
    if config.extract.max_links > MAX_LINKS {
        return Err(format!("extract.max_links must be at most {MAX_LINKS} (a visit is one log record)"));
    }
    if config.hints.max_entries > MAX_ENTRIES {
        return Err(format!("hints.max_entries must be at most {MAX_ENTRIES}, the sitemap limit"));
    }
    render::check(&config.render)?;
    convert::check(&config.convert)?;
    requisites::check(config)?;
    websub::base(&config.pings.websub).map_err(|e| format!("pings.websub: {e}"))?;
    let serve = &config.serve;
    if serve.requests == 0 || serve.connections == 0 || serve.stall.0.is_zero() {
        return Err("serve.requests, serve.connections and serve.stall must not be 0".into());
    }
    if config.events.keep == 0 {
        return Err("events.keep must not be 0: a restart continues the last file".into());
    }
    if config.storage.keep_hosts && config.storage.keep_visits == 0 {
        return Err("storage.keep_hosts needs storage.keep_visits above 0, the number of cycles".into());
    }
    if config.change.max_distance > 64 {
        return Err("change.max_distance must be at most 64, the bits of a SimHash".into());
    }
    Ok(())
}

fn check_sizes(storage: &crate::config::Storage) -> Result<(), String> {
    let crate::config::Storage {
        data_dir,
        archive_file,
        archive_max,
        keep_versions,
        plan_memory,
        batch_memory,
        ..
    } = storage;
    if data_dir.as_os_str().is_empty() {
        return Err("storage.data_dir is empty; name a folder, or `.` for this one".into());
    }
    for (key, size) in
        [("archive_file", archive_file), ("plan_memory", plan_memory), ("batch_memory", batch_memory)]
    {
        if size.0 < 1 << 20 {
            return Err(format!("storage.{key} must be at least 1 MiB"));
        }
    }
    if archive_max.0 > 0 && archive_max.0 < archive_file.0 {
        return Err("storage.archive_max must be 0 or at least storage.archive_file".into());
    }
    if !keep_versions.0.is_zero() && keep_versions.0.as_millis() < u128::from(MIN_AGE) {
        return Err(
            "storage.keep_versions must be \"0 s\" or at least \"31 d\": a month is over by then".into()
        );
    }
    Ok(())
}

/// A shell makes the home folder of `~`; here it would be the name of a folder.
fn check_folder(data_dir: &Path) -> Result<(), String> {
    match data_dir.to_str().is_some_and(|text| text.starts_with('~')) {
        true => Err(format!(
            "storage.data_dir is {:?}, where ~ would be the name of a folder; write the whole path, or ./~ for such a name",
            data_dir.display().to_string()
        )),
        false => Ok(()),
    }
}

fn files(config: &Config) -> Vec<PathBuf> {
    let focus = &config.focus;
    let named =
        [&config.scope.opt_out, &config.serve.tokens, &config.serve.events, &focus.terms, &focus.model];
    let secrets = config.hosts.iter().flat_map(|host| {
        [&host.password, &host.bearer].into_iter().chain(host.headers.values()).chain(host.cookies.values())
    });
    let of_targets = config.notify.iter().flat_map(|target| {
        [&target.webhook.0, &target.password, &target.bearer].into_iter().chain(&target.secrets)
    });
    let of_copies = config.deliver.iter().flat_map(|target| [&target.password, &target.bearer]);
    let secrets = secrets.chain([&config.proxy.password]).chain(of_targets).chain(of_copies);
    let secrets = secrets.filter_map(Secret::file);
    // If this is a name or an expression, no such file exists.
    let formula = PathBuf::from(&config.schedule.formula);
    named.into_iter().chain(&config.fetch.extra_ca).cloned().chain(secrets).chain([formula]).collect()
}

fn authority(file: &Path) -> Result<Vec<u8>, String> {
    let name = file.display();
    let pem = operator_file::read(file, operator_file::MAX_CERTIFICATES)
        .map_err(|e| format!("fetch.extra_ca: cannot read {name}: {e}"))?;
    recrawl_fetcher::check_authorities(&pem).map_err(|e| format!("fetch.{e}: {name}"))?;
    Ok(pem)
}

fn reading(config: &Config) -> Result<ExtractOptions, String> {
    let extract = &config.extract;
    let types = MediaTypes::new(extract.types.iter().map(String::as_str));
    let limits = ExtractLimits {
        max_links: extract.max_links as usize,
        max_text: extract.max_text.0 as usize,
        max_entries: config.hints.max_entries as usize,
        max_unpacked: config.hints.max_unpacked.0 as usize,
    };
    let agent = recrawl_fetcher::limits::product_token(&config.crawler.user_agent).to_owned();
    let types = types.map_err(|e| format!("extract.types: {e}"))?;
    Ok(ExtractOptions { limits, types, agent, anchors: config.focus.enabled })
}

/// Checks that site owners can reach somebody by it. A name alone reaches nobody; addresses, URLs and numbers may.
fn check_contact(contact: &str) -> Result<(), String> {
    let may_reach = |c: char| matches!(c, '@' | '.' | ':' | '/') || c.is_ascii_digit();
    let rest = contact.split_once("://").map_or(contact, |(_, rest)| rest);
    let is_whole = rest.contains(char::is_alphanumeric) && !rest.ends_with('@');
    match contact.is_empty() || contact.contains(may_reach) && is_whole {
        true => Ok(()),
        false => Err(format!(
            "{contact:?} is neither an e-mail address nor a URL; write one that site owners can use"
        )),
    }
}

fn fetch_config(config: &Config) -> Result<FetchConfig, String> {
    check_contact(config.crawler.contact.trim()).map_err(|e| format!("crawler.contact: {e}"))?;
    let fields = [("user_agent", &config.crawler.user_agent), ("contact", &config.crawler.contact)];
    if let Some((key, text)) = fields.iter().find(|(_, text)| text.contains(char::is_control)) {
        return Err(format!(
            "crawler.{key}: {text:?} has a control character, which no header field may have"
        ));
    }
    let (fetch, politeness) = (&config.fetch, &config.politeness);
    let block = |text: &String| address_block(text).map_err(|e| format!("fetch.allow_addresses: {e}"));
    let checked = FetchConfig {
        user_agent: config.crawler.user_agent.clone(),
        // An empty contact is none: then the crawl may not go beyond loopback and the first look.
        contact: Some(config.crawler.contact.trim().to_owned()).filter(|c| !c.is_empty()),
        connections: fetch.connections as usize,
        connections_per_host: politeness.connections_per_host as usize,
        open_hosts: fetch.open_hosts as usize,
        hosts_per_site: politeness.hosts_per_site as usize,
        hosts_per_address: politeness.hosts_per_address as usize,
        delay_per_host: politeness.delay_per_host.0,
        delay_per_ip: politeness.delay_per_ip.0,
        delay_per_latency: politeness.delay_per_latency,
        max_adaptive_delay: politeness.max_adaptive_delay.0,
        max_crawl_delay: politeness.max_crawl_delay.0,
        max_retry_after: politeness.max_retry_after.0,
        host_failures: politeness.host_failures,
        timeout: fetch.timeout.0,
        connect_timeout: fetch.connect_timeout.0,
        max_body: fetch.max_body.0 as usize,
        body_memory: fetch.body_memory.0 as usize,
        max_redirects: fetch.max_redirects,
        // Only the archive needs the requests as they were sent.
        keep_requests: config.storage.archive && config.storage.archive_requests,
        bytes_per_second: config.budget.bytes_per_second.0,
        requests_per_second: config.budget.requests_per_second,
        bytes_per_host: config.budget.bytes_per_host.0,
        bytes_per_cycle: config.budget.bytes_per_cycle.0,
        validator_checks: fetch.validator_checks.0,
        allow_addresses: fetch.allow_addresses.iter().map(block).collect::<Result<_, _>>()?,
        dns_overrides: config.dns.overrides.clone(),
        dns_servers: config.dns.servers.clone(),
        dns_min_ttl: config.dns.min_ttl.0,
        dns_max_ttl: config.dns.max_ttl.0,
        dns_max_negative_ttl: config.dns.max_negative_ttl.0,
        access: access::of_hosts(&config.hosts)?,
        proxy: access::of_proxy(&config.proxy)?,
        extra_ca: fetch.extra_ca.iter().map(|file| authority(file)).collect::<Result<_, _>>()?,
        robots_cache: politeness.robots_cache.0,
    };
    match checked.problem() {
        Some(problem) => Err(problem),
        None => Ok(checked),
    }
}
