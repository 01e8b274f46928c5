//! The schedule: which pages a cycle visits, and why each.

use crate::{CanonicalUrl, PageRecord};
use serde::{Deserialize, Serialize};
use std::io;

/// Why a page is in the schedule. `change_rate` counts [`Share::Score`] alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Share {
    /// Its score is among the best.
    Score,
    /// It was never fetched.
    Discovery,
    /// It has been fetched, but fewer than `warmup` times since: due whatever its score.
    Warmup,
    /// It is part of the audit sample. The number is the probability p with which it was drawn, given how many pages of
    /// its host were drawn: equal for all pages but where `max_per_host` binds. Sums over the sample weigh each page by
    /// 1/p.
    Audit(f64),
    /// A redirect led here for the first time and was followed at once; not scheduled.
    Followed,
    /// A sitemap or feed that is trusted says that it changed.
    Announced,
    /// Somebody asked for it while the cycle ran; not scheduled.
    Asked,
    /// It is in the panel: drawn once with equal probabilities, then visited in every cycle for a while.
    Panel,
    /// Only one of two compared formulas chooses it, and it was drawn from these pages with this probability.
    Contested(f64),
    /// A promise to visit it in time would be broken in the next cycle.
    Promised,
    /// It was never fetched, and was drawn with this probability from all such URLs that were due. What a focused crawl
    /// chooses does not show what it avoids; these visits do.
    Explored(f64),
}

/// How a page stood when its visit was planned. A crawl that learns from its visits keeps it with them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// t: cycles since the page's last visit.
    pub age: u32,
    /// Its score. NaN if it has none.
    pub score: f32,
    /// P: the probability of a change that its own history and the rate of all pages gave it.
    pub expected: Expected,
    /// Is its score at least the lowest that was chosen by score?
    pub is_above_cutoff: bool,
    /// Is it chosen by score, but would not be by the candidate that is compared?
    pub is_only_in_force: bool,
}

/// A probability in steps of 1/65,535, since one is kept with every visit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expected(pub u16);

impl From<f64> for Expected {
    /// The nearest step; 0 for NaN.
    fn from(probability: f64) -> Expected {
        Expected((probability.clamp(0.0, 1.0) * f64::from(u16::MAX)).round() as u16)
    }
}

impl From<Expected> for f64 {
    fn from(expected: Expected) -> f64 {
        f64::from(expected.0) / f64::from(u16::MAX)
    }
}

/// One page to visit. It carries its record, so that nothing is looked up at random later.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduleEntry {
    /// The page.
    pub url: CanonicalUrl,
    /// Why it is scheduled.
    pub share: Share,
    /// Its record in the generation that the schedule was made from.
    pub record: PageRecord,
    /// How it stood in the plan; none where the crawl does not learn from its visits, and for a page that no score
    /// concerns.
    pub standing: Option<Standing>,
}

impl ScheduleEntry {
    /// A page without a standing.
    pub fn new(url: CanonicalUrl, share: Share, record: PageRecord) -> ScheduleEntry {
        ScheduleEntry { url, share, record, standing: None }
    }
}

/// The consecutive entries of one host (host, port and scheme) in a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRun {
    /// The URL of the run's first entry; its origin is the origin of all.
    pub first: CanonicalUrl,
    /// Index of that entry in the schedule.
    pub start: u64,
    /// Number of entries.
    pub count: u64,
}

/// A schedule that may be larger than memory, read host by host. Hosts are in the order of their URLs; the entries of each
/// are in the order in which it is asked for them.
pub trait ScheduleSource: Send + Sync {
    /// The hosts, in order. Their runs cover `0..len` without gaps.
    fn hosts(&self) -> &[HostRun];

    /// Number of entries.
    fn len(&self) -> u64;

    /// Is there nothing to visit?
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads up to `max` entries from index `start` on, all of one host. Entries that an earlier,
    /// interrupted run of the cycle already visited are read too; the caller knows which.
    fn read(&self, host: &HostRun, start: u64, max: usize) -> io::Result<Vec<ScheduleEntry>>;

    /// Finds a page: its place among the hosts, its index, and its entry.
    ///
    /// # Errors
    /// When an entry cannot be read.
    fn find(&self, url: &CanonicalUrl) -> io::Result<Option<SchedulePlace>>;
}

/// Where a page stands in a schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct SchedulePlace {
    /// The place of its host's run in [`ScheduleSource::hosts`].
    pub host: usize,
    /// Its index.
    pub index: u64,
    /// Its entry.
    pub entry: ScheduleEntry,
}

/// A schedule in memory: for tests and small crawls.
#[derive(Clone, Debug, Default)]
pub struct MemorySchedule {
    entries: Vec<ScheduleEntry>,
    hosts: Vec<HostRun>,
}

impl MemorySchedule {
    /// Sorts the entries by URL and finds the host runs.
    pub fn new(mut entries: Vec<ScheduleEntry>) -> MemorySchedule {
        entries.sort_by(|a, b| a.url.cmp(&b.url));
        MemorySchedule::in_order(entries)
    }

    /// The same, but for the order of each host's entries, which stays.
    pub fn in_order(mut entries: Vec<ScheduleEntry>) -> MemorySchedule {
        entries.sort_by(|a, b| a.url.origin_key().cmp(b.url.origin_key()));
        let mut hosts: Vec<HostRun> = Vec::new();
        for (i, e) in entries.iter().enumerate() {
            match hosts.last_mut() {
                Some(run) if run.first.same_origin(&e.url) => run.count += 1,
                _ => hosts.push(HostRun { first: e.url.clone(), start: i as u64, count: 1 }),
            }
        }
        MemorySchedule { entries, hosts }
    }
}

impl ScheduleSource for MemorySchedule {
    fn hosts(&self) -> &[HostRun] {
        &self.hosts
    }

    fn len(&self) -> u64 {
        self.entries.len() as u64
    }

    fn read(&self, host: &HostRun, start: u64, max: usize) -> io::Result<Vec<ScheduleEntry>> {
        let end = (host.start + host.count).min(start + max as u64);
        Ok(self.entries[start as usize..end as usize].to_vec())
    }

    fn find(&self, url: &CanonicalUrl) -> io::Result<Option<SchedulePlace>> {
        let found = self.hosts.binary_search_by(|run| run.first.origin_key().cmp(url.origin_key()));
        let Ok(host) = found else { return Ok(None) };
        let run = &self.hosts[host];
        let mut indexes = run.start..run.start + run.count;
        let index = indexes.find(|index| self.entries[*index as usize].url == *url);
        Ok(index.map(|index| SchedulePlace { host, index, entry: self.entries[index as usize].clone() }))
    }
}
