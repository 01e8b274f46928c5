//! Coverage by kind of host, from the web's log.

use super::kinds::{self, HostileHost, is_flood};
use crate::crawl::error::CrawlError;
use crate::hazards::cycle::HazardCycle;
use crate::hazards::verdict::{EXCUSES_NOTHING, MannersVerdict};
use crate::truth::json_lines;
use serde::Deserialize;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;

/// A line of the web's log.
#[derive(Deserialize)]
struct HostileAccess {
    host: String,
    host_id: Option<usize>,
    path: String,
    page_id: Option<usize>,
    holds: Option<u32>,
    fault: Option<String>,
}

/// A line of `/truth`.
#[derive(Deserialize)]
struct HostileTruth {
    url: String,
    page_id: usize,
}

/// The account so far.
pub struct HostileAccount {
    /// The kind of each host.
    kinds: Vec<usize>,
    /// The kind of each page.
    pages: Vec<usize>,
    by_url: HashMap<String, usize>,
    /// Pages served whole.
    held: Vec<bool>,
    struck: BTreeSet<usize>,
    /// Bytes of the log read so far.
    read: u64,
    /// Requests in floods, by host.
    floods: HashMap<usize, u64>,
}

impl HostileAccount {
    /// An empty account for these hosts and this truth.
    pub fn new(hosts: &[HostileHost], truth: &str) -> Result<HostileAccount, CrawlError> {
        let mut pages: Vec<HostileTruth> =
            json_lines(truth).map_err(|why| CrawlError::MockWeb(format!("/truth: {why}")))?;
        pages.sort_by_key(|page| page.page_id);
        let kinds: Vec<usize> = hosts.iter().map(|host| host.kind).collect();
        let kind = |url: &str| {
            let number = url.strip_prefix("http://h")?.split_once('.')?.0.parse::<usize>().ok()?;
            kinds.get(number.checked_sub(1)?).copied()
        };
        let of = |page: &HostileTruth| {
            kind(&page.url).ok_or_else(|| CrawlError::MockWeb(format!("unknown host of {}", page.url)))
        };
        Ok(HostileAccount {
            pages: pages.iter().map(of).collect::<Result<_, _>>()?,
            held: vec![false; pages.len()],
            by_url: pages.into_iter().map(|page| (page.url, page.page_id)).collect(),
            struck: BTreeSet::new(),
            read: 0,
            floods: HashMap::new(),
            kinds,
        })
    }

    /// The header line.
    pub fn header(&self) -> String {
        format!(
            "{:>5}{:>10}{:>9}{:>9}{:>9}{:>10}{:>10}{:>9}",
            "cycle", "scheduled", "fetched", "failed", "requests", "in floods", "coverage", "seconds"
        )
    }

    /// Reads the new log lines of a cycle and returns its row.
    pub fn cycle(&mut self, log: &Path, cycle: &HazardCycle) -> Result<String, CrawlError> {
        let failed = |e: std::io::Error| CrawlError::file(log, e);
        let mut file = File::open(log).map_err(failed)?;
        file.seek(SeekFrom::Start(self.read)).map_err(failed)?;
        let (mut requests, mut in_floods) = (0_u64, 0_u64);
        for line in BufReader::new(file).lines() {
            let line = line.map_err(failed)?;
            self.read += line.len() as u64 + 1;
            let access: HostileAccess = serde_json::from_str(&line).map_err(|e| CrawlError::file(log, e))?;
            requests += 1;
            in_floods += u64::from(is_flood(access.fault.as_deref()));
            self.take(&access);
        }
        let r = &cycle.report;
        Ok(format!(
            "{:>5}{:>10}{:>9}{:>9}{requests:>9}{in_floods:>10}{:>10.4}{:>9.1}",
            r.cycle,
            r.scheduled,
            r.fetched,
            r.failed,
            self.coverage(|_| true).2,
            cycle.wall.as_secs_f64()
        ))
    }

    fn take(&mut self, access: &HostileAccess) {
        let fault = access.fault.as_deref();
        if is_flood(fault) {
            *self.floods.entry(access.host_id.unwrap_or_default()).or_default() += 1;
        } else if let (Some(page), Some(_)) = (access.page_id, access.holds) {
            self.held[page] = true;
        } else if fault.is_some_and(|fault| !EXCUSES_NOTHING.contains(&fault))
            && let Some(page) = self.by_url.get(&format!("http://{}{}", access.host, access.path))
        {
            self.struck.insert(*page);
        }
    }

    /// Pages of these kinds, covered pages, and their share. A page is covered if it was served
    /// whole, or if a fault replaced it that no crawler can work around.
    fn coverage(&self, is_meant: impl Fn(usize) -> bool) -> (usize, usize, f64) {
        let meant = || self.pages.iter().enumerate().filter(|(_, kind)| is_meant(**kind));
        let covered = meant().filter(|(page, _)| self.held[*page] || self.struck.contains(page)).count();
        (meant().count(), covered, covered as f64 / meant().count().max(1) as f64)
    }

    fn demands(&self, manners: &MannersVerdict, least: f64) -> [(String, bool); 5] {
        let coverage = self.coverage(|_| true).2;
        let none = |what: &str, count: u64| (format!("{what}: {count}"), count == 0);
        [
            (format!("coverage of allowed pages: {coverage:.4}, at least {least}"), coverage >= least),
            none("requests that robots.txt forbids", manners.forbidden),
            none("requests before robots.txt was read", manners.before_robots),
            none("gaps under the delay on a host", manners.host_gaps_under),
            none("gaps under the delay on an address", manners.address_gaps_under),
        ]
    }

    /// Whether every requirement is met.
    pub fn is_met(&self, manners: &MannersVerdict, least: f64) -> bool {
        self.demands(manners, least).iter().all(|(_, is_met)| *is_met)
    }

    /// The table by kind of host, and the requirements.
    pub fn verdict(&self, manners: &MannersVerdict, least: f64) -> String {
        let mut text = format!("{:<16}{:>6}{:>9}{:>9}{:>10}\n", "hosts", "", "pages", "covered", "coverage");
        for (kind, name) in kinds::names().enumerate() {
            let hosts = self.kinds.iter().filter(|k| **k == kind).count();
            let (pages, covered, share) = self.coverage(|k| k == kind);
            let _ = writeln!(text, "{name:<16}{hosts:>6}{pages:>9}{covered:>9}{share:>10.4}");
        }
        let (pages, covered, share) = self.coverage(|_| true);
        let _ = writeln!(text, "{:<16}{:>6}{pages:>9}{covered:>9}{share:>10.4}", "all", self.kinds.len());
        let most = self.floods.values().max().copied().unwrap_or(0);
        let all: u64 = self.floods.values().sum();
        let _ =
            writeln!(text, "requests in floods: {all} on {} hosts, at most {most} on one", self.floods.len());
        for (demand, is_met) in self.demands(manners, least) {
            let _ = writeln!(text, "{demand}{}", if is_met { "" } else { "  not met" });
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account() -> HostileAccount {
        let hosts = [HostileHost { number: 0, kind: 0 }, HostileHost { number: 1, kind: 1 }];
        let truth = (0..4).map(|page| {
            format!("{{\"url\":\"http://h{}.mock.test:1/{page}\",\"page_id\":{page}}}\n", 1 + page / 2)
        });
        HostileAccount::new(&hosts, &truth.collect::<String>()).expect("a truth")
    }

    fn access(page: usize, holds: Option<u32>, fault: Option<&str>) -> HostileAccess {
        HostileAccess {
            host: format!("h{}.mock.test:1", 1 + page / 2),
            host_id: Some(page / 2),
            path: format!("/{page}"),
            page_id: holds.map(|_| page),
            holds,
            fault: fault.map(str::to_owned),
        }
    }

    fn manners(forbidden: u64) -> MannersVerdict {
        let text = r#""before_robots":0,"host_gaps_under":0,"address_gaps_under":0,
            "max_requests_per_host":1,"hosts":[]"#;
        serde_json::from_str(&format!("{{\"forbidden\":{forbidden},{text}}}")).expect("an account")
    }

    #[test]
    fn pages_are_covered_by_what_came_and_by_faults_that_nobody_can_mend() {
        let mut account = account();
        account.take(&access(0, Some(0), None));
        account.take(&access(1, None, Some("hollow")));
        account.take(&access(2, None, Some("idle")));
        assert_eq!(account.coverage(|_| true), (4, 2, 0.5));
        assert_eq!(account.coverage(|kind| kind == 0), (2, 2, 1.0));
        account.take(&access(2, Some(3), None));
        account.take(&access(3, None, Some("flood")));
        assert_eq!(account.coverage(|_| true), (4, 3, 0.75));
        assert_eq!(account.floods.values().sum::<u64>(), 1);
        assert!(account.is_met(&manners(0), 0.75) && !account.is_met(&manners(0), 0.76));
        let rude = manners(1);
        assert!(!account.is_met(&rude, 0.0));
        assert_eq!(account.verdict(&rude, 0.9).matches("not met").count(), 2);
    }
}
