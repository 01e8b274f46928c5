//! A web generated from a seed: sites, pages, links and texts are computed on request.
//!
//! No state is kept per page. Host sizes follow a power law. The pages of a host form a tree below
//! its index page, so that every page is reachable, plus random links. The text of a page is a
//! function of (seed, page, version), and its version is a function of (seed, page, cycle).

mod clock;
mod evolve;
mod layout;
mod page;
mod prose;
mod sitemap;
mod topic;

pub use sitemap::{LastmodMode, SitemapFormat};

pub use clock::{Habits, RateDrift};
pub use evolve::{Mix, Process};
pub(crate) use prose::Prose;

use crate::robots::HostRobots;
use crate::seed::mix;
use crate::web::{Authorities, PageAddress, Web};
use clock::HostClock;
use layout::WebLayout;
use std::time::{Duration, SystemTime};

/// Maximum pages of a procedural web; the server keeps 12 bytes of account per page.
pub const MAX_PAGES: u32 = 100_000_000;

/// 2001-01-01, the date of cycle 0; one cycle is one day.
const FIRST_DAY: u64 = 978_307_200;

/// Configuration of a procedural web.
#[derive(Clone, Debug)]
pub struct ProceduralConfig {
    /// Number of pages, without index pages.
    pub pages: u32,
    /// Number of hosts, at least one and at most one per page.
    pub hosts: u32,
    /// Random seed.
    pub seed: u64,
    /// Approximate size of a page in bytes, at least the size of its links and frame.
    pub page_bytes: u32,
    /// The exponent of the power law of host sizes; 0 makes them equal.
    pub skew: f64,
    /// Number of last hosts that have one page each.
    pub single_page_hosts: u32,
    /// Weights of the change laws.
    pub mix: Mix,
    /// How the habits of hosts differ and change.
    pub habits: Habits,
    /// A `Crawl-delay` in every robots.txt, in seconds.
    pub crawl_delay_seconds: Option<u32>,
    /// A sitemap on every host.
    pub sitemaps: bool,
    /// Formats of the sitemaps, assigned to hosts in turn; empty for [`SitemapFormat::Urlset`] everywhere.
    pub sitemap_formats: Vec<SitemapFormat>,
    /// Dates in sitemaps.
    pub lastmod: LastmodMode,
    /// URL of a WebSub hub, which the feeds name.
    pub hub: Option<String>,
    /// Share of the lists of pages that hold syllabi of courses on databases; 0 for none.
    pub syllabi: f64,
}

impl Default for ProceduralConfig {
    fn default() -> Self {
        ProceduralConfig {
            pages: 1_000,
            hosts: 16,
            seed: 1,
            page_bytes: 10_000,
            skew: 0.8,
            single_page_hosts: 0,
            mix: Mix::default(),
            habits: Habits::default(),
            crawl_delay_seconds: None,
            sitemaps: false,
            sitemap_formats: Vec::new(),
            lastmod: LastmodMode::True,
            hub: None,
            syllabi: 0.0,
        }
    }
}

/// Errors of a configuration.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProceduralError {
    /// No page, or more than [`MAX_PAGES`].
    #[error("{0} pages: use 1 to {MAX_PAGES}")]
    Pages(u32),
    /// No host, or more hosts than pages.
    #[error("{hosts} hosts for {pages} pages: use at least 1 host and at most one per page")]
    Hosts {
        /// Requested hosts.
        hosts: u32,
        /// Requested pages.
        pages: u32,
    },
    /// More hosts of one page than hosts, or no host for all other pages.
    #[error("{single} of {hosts} hosts with one page: leave a host for the other pages")]
    SinglePageHosts {
        /// Requested hosts with one page.
        single: u32,
        /// Requested hosts.
        hosts: u32,
    },
    /// A liveliness that is not a number from 1 to 1000.
    #[error("liveliness {0}: use a number from 1 to 1000")]
    Liveliness(f64),
    /// A share of syllabi that is not from 0 to 1.
    #[error("syllabi {0}: use a share from 0 to 1")]
    Syllabi(f64),
    /// An exponent that is negative or not a number.
    #[error("skew {0}: use a number from 0 on")]
    Skew(f64),
}

/// A procedural web.
pub struct Procedural {
    config: ProceduralConfig,
    layout: WebLayout,
    prose: Prose,
    robots: Vec<HostRobots>,
    /// By host; none if all have the time of the web.
    clocks: Option<Vec<HostClock>>,
}

impl Procedural {
    /// Prepares the vocabulary and the hosts, but no pages.
    ///
    /// # Errors
    /// [`ProceduralError`] if the configuration is invalid.
    pub fn new(config: ProceduralConfig) -> Result<Procedural, ProceduralError> {
        if config.pages == 0 || config.pages > MAX_PAGES {
            return Err(ProceduralError::Pages(config.pages));
        }
        if config.hosts == 0 || config.hosts > config.pages {
            return Err(ProceduralError::Hosts { hosts: config.hosts, pages: config.pages });
        }
        if !config.skew.is_finite() || config.skew < 0.0 {
            return Err(ProceduralError::Skew(config.skew));
        }
        if !(1.0..=1000.0).contains(&config.habits.liveliness) {
            return Err(ProceduralError::Liveliness(config.habits.liveliness));
        }
        if !(0.0..=1.0).contains(&config.syllabi) {
            return Err(ProceduralError::Syllabi(config.syllabi));
        }
        let single = config.single_page_hosts;
        if single > config.hosts || (single == config.hosts && config.pages > single) {
            return Err(ProceduralError::SinglePageHosts { single, hosts: config.hosts });
        }
        let layout = WebLayout::new(config.seed, config.pages, config.hosts, config.skew, single);
        let prose = Prose::new(config.seed);
        let robots =
            (0..config.hosts).map(|host| host_rules(config.seed, host, config.crawl_delay_seconds)).collect();
        let clocks = config.habits.clocks(config.seed, config.hosts);
        Ok(Procedural { config, layout, prose, robots, clocks })
    }

    /// The clock of the page's host, if it has one of its own.
    fn clock(&self, page: u32) -> Option<&HostClock> {
        self.clocks.as_ref().map(|clocks| &clocks[self.layout.host_of(page) as usize])
    }

    /// The change law of the page, in the time of its host.
    pub fn process(&self, page: u32) -> Process {
        self.config.mix.process(self.config.seed, page)
    }

    fn key(&self, page: u32) -> u64 {
        mix(&[self.config.seed, evolve::EVENTS, u64::from(page)])
    }
}

/// Path prefixes without pages. Every host forbids the first and one more.
const REFUSED: [&str; 5] = ["/private/", "/cgi-bin/", "/drafts/", "/tmp/", "/search?"];
/// An exception inside the first.
const OPEN: &str = "/private/open-";

fn host_rules(seed: u64, host: u32, crawl_delay_seconds: Option<u32>) -> HostRobots {
    HostRobots::new(&[REFUSED[0], refused_on(seed, host)], &[OPEN], crawl_delay_seconds)
}

fn refused_on(seed: u64, host: u32) -> &'static str {
    REFUSED[1 + (mix(&[seed, 0x726f_626f, u64::from(host)]) % (REFUSED.len() as u64 - 1)) as usize]
}

impl Web for Procedural {
    fn kind(&self) -> &'static str {
        "procedural"
    }

    fn hosts(&self) -> u32 {
        self.config.hosts
    }

    fn pages(&self) -> u32 {
        self.config.pages
    }

    fn last_cycle(&self) -> Option<u32> {
        None
    }

    fn find(&self, host: u32, target: &str) -> Option<u32> {
        self.layout.find(host, target)
    }

    fn address(&self, page: u32) -> PageAddress {
        let mut target = Vec::with_capacity(40);
        let host = self.layout.host_of(page);
        self.layout.push_target(page, &mut target);
        PageAddress { host, target: String::from_utf8(target).expect("targets are ASCII") }
    }

    fn lifetime(&self, _page: u32) -> (u32, Option<u32>) {
        (0, None)
    }

    fn version(&self, page: u32, cycle: u32) -> Option<u32> {
        Some(self.changed_at(page, cycle))
    }

    fn changes(&self, page: u32, from: u32, to: u32) -> Vec<(u32, u32)> {
        let (process, key) = (self.process(page), self.key(page));
        let mut cycles = match self.clock(page) {
            None => process.changes(key, from, to),
            Some(clock) => {
                let changes = process.changes(key, clock.local(from), clock.local(to)).into_iter();
                changes.map(|local| clock.cycle_of(local, to)).collect()
            }
        };
        // Of several changes in one cycle the web shows the last.
        cycles.dedup();
        cycles.into_iter().map(|cycle| (cycle, cycle)).collect()
    }

    fn changed_at(&self, page: u32, cycle: u32) -> u32 {
        let (process, key) = (self.process(page), self.key(page));
        match self.clock(page) {
            None => process.last_change(key, cycle),
            Some(clock) => match process.last_change(key, clock.local(cycle)) {
                0 => 0,
                local => clock.cycle_of(local, cycle),
            },
        }
    }

    fn date(&self, cycle: u32) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(FIRST_DAY + 86_400 * u64::from(cycle))
    }

    fn write_page(&self, page: u32, version: u32, notice: &str, names: &Authorities, out: &mut Vec<u8>) {
        page::PageWriter::new(self, page, names, out).page(version, notice);
    }

    fn write_index(&self, host: u32, _cycle: u32, names: &Authorities, out: &mut Vec<u8>) {
        page::write_index(self, host, names, out);
    }

    fn sitemap(&self, host: u32) -> Option<&'static str> {
        sitemap::named(self, host)
    }

    fn hints(
        &self,
        host: u32,
        target: &str,
        cycle: u32,
        names: &Authorities,
    ) -> Option<(&'static str, Vec<u8>)> {
        sitemap::document(self, host, target, cycle, names)
    }

    fn robots(&self, host: u32) -> &HostRobots {
        &self.robots[host as usize]
    }
}

#[cfg(test)]
mod tests;
