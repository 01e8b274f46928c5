//! The truth of a web: when each page changes, and which hosts are down.

use crate::Failure;
use recrawl_mockweb::ProceduralConfig;
use recrawl_mockweb::procedural::Procedural;
use recrawl_mockweb::web::Web;
use recrawl_scheduler::shuffle::{Shuffle, ShufflePurpose};
use recrawl_types::{CanonicalUrl, Cycle, UrlRules};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Cycles after which a host that is down is drawn again.
const OUTAGE: u32 = 3;

/// Pages that change, on hosts that may be down.
pub struct World {
    /// Its name in tables.
    pub name: String,
    /// The pages, with their hosts.
    pub pages: Vec<(CanonicalUrl, u32)>,
    /// Of each page, the cycles of its changes.
    changes: Vec<Vec<u32>>,
    numbers: HashMap<CanonicalUrl, u32>,
    seed: u64,
    /// Part of the hosts that are down, others every few cycles.
    pub outages: f64,
}

impl World {
    /// A procedural web over this many cycles.
    ///
    /// # Errors
    /// If the configuration is out of range.
    pub fn procedural(config: ProceduralConfig, cycles: u32) -> Result<World, Failure> {
        let address = |_, host, target: &str| format!("http://h{host:04}.test{target}");
        World::procedural_at(config, cycles, address)
    }

    /// The same, with these URLs, of page, host and target.
    ///
    /// # Errors
    /// If the configuration is out of range.
    pub fn procedural_at(
        config: ProceduralConfig,
        cycles: u32,
        url: impl Fn(u32, u32, &str) -> String,
    ) -> Result<World, Failure> {
        let seed = config.seed;
        let web = Procedural::new(config)?;
        let page = |page| -> Result<_, Failure> {
            let address = web.address(page);
            let url = url(page, address.host, &address.target);
            Ok((UrlRules::keep_all().canonicalize(&url)?, address.host))
        };
        let pages = (0..web.pages()).map(page).collect::<Result<Vec<_>, _>>()?;
        let of = |page| web.changes(page, 0, cycles).into_iter().map(|(cycle, _)| cycle).collect();
        let changes = (0..web.pages()).map(of).collect();
        Ok(World::new("procedural".into(), pages, changes, seed))
    }

    /// The pages of a data set that were there throughout. Its history is repeated until there are enough cycles.
    ///
    /// # Errors
    /// If the data set cannot be read.
    pub fn recorded(folder: &Path, cycles: u32, seed: u64) -> Result<World, Failure> {
        let data = recrawl_simulation::open(folder, None)?.fixed_part();
        let length = data.truth.cycles();
        let (mut pages, mut changes) = (Vec::new(), Vec::new());
        let mut taken = HashSet::new();
        data.truth.try_each_page(|page, of_page| -> Result<(), Failure> {
            let recorded = &data.pages[page];
            let rules = UrlRules::keep_all();
            // A page without an address of its own gets one at its site.
            let site = &data.sites[recorded.site as usize];
            let made_up = || format!("http://s{}.test/{page}", xxhash_rust::xxh3::xxh3_64(site.as_bytes()));
            let url = match rules.canonicalize(&recorded.url) {
                Ok(url) if !taken.contains(&url) => url,
                _ => rules.canonicalize(&made_up())?,
            };
            taken.insert(url.clone());
            let again =
                (0..=cycles / length).flat_map(|turn| of_page.iter().map(move |(at, _)| turn * length + at));
            pages.push((url, recorded.site));
            changes.push(again.take_while(|at| *at <= cycles).collect());
            Ok(())
        })?;
        Ok(World::new(data.name, pages, changes, seed))
    }

    /// Pages with their hosts, and of each the cycles of its changes.
    pub fn new(name: String, pages: Vec<(CanonicalUrl, u32)>, changes: Vec<Vec<u32>>, seed: u64) -> World {
        let numbers = (0..).zip(&pages).map(|(number, (url, _))| (url.clone(), number)).collect();
        World { name, pages, changes, numbers, seed, outages: 0.0 }
    }

    /// The cycles in which each page changes.
    pub fn changes(&self) -> &[Vec<u32>] {
        &self.changes
    }

    /// The number of a page.
    pub fn number(&self, url: &CanonicalUrl) -> u32 {
        self.numbers[url]
    }

    /// The version of a page in a cycle: how often it has changed.
    pub fn version(&self, page: u32, cycle: Cycle) -> u32 {
        self.changes[page as usize].partition_point(|at| *at <= cycle.0) as u32
    }

    /// Is the host of the page down in a cycle?
    pub fn is_down(&self, page: u32, cycle: Cycle) -> bool {
        let host = self.pages[page as usize].1;
        let shuffle = Shuffle::new(self.seed, Cycle(cycle.0 / OUTAGE), ShufflePurpose::Scores);
        self.outages > 0.0 && shuffle.apply(host.into()) as f64 / (u64::MAX as f64) < self.outages
    }
}
