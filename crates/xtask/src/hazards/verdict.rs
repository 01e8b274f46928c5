//! The rows of the cycles, and the table of figures with their limits.

use super::cycle::{HazardCycle, MAX_CYCLE};
use super::faults;
use crate::crawl::error::CrawlError;
use crate::crawl::mockweb::MockWeb;
use crate::truth::json_lines;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

/// Memory limit of a judged cycle, in MiB, for 100 and more concurrent faulty responses with bodies
/// of 2 MiB.
const MAX_MEMORY_MIB: u64 = 192;
/// Maximum peak memory of a judged cycle, in percent of the lowest peak.
const FLAT_PERCENT: u64 = 150;

/// Faults despite which a crawler can get the page.
pub const EXCUSES_NOTHING: [&str; 1] = ["idle"];

/// A judged cycle.
pub struct JudgedCycle {
    /// Peak memory, in KiB.
    pub peak_kib: u64,
    /// Run time.
    pub wall: Duration,
}

/// The judged part of `/violations`.
#[derive(Deserialize)]
pub struct MannersVerdict {
    /// Requests that robots.txt forbids.
    pub forbidden: u64,
    /// Requests before robots.txt was read.
    pub before_robots: u64,
    /// Gaps under the delay on a host.
    pub host_gaps_under: u64,
    /// Gaps under the delay on an address.
    pub address_gaps_under: u64,
    max_requests_per_host: u64,
    hosts: Vec<JudgedManners>,
}

#[derive(Deserialize)]
struct JudgedManners {
    requests: u64,
}

/// A line of `/log`.
#[derive(Deserialize)]
struct LogLine {
    host: String,
    path: String,
    fault: Option<String>,
}

/// A line of `/truth`.
#[derive(Deserialize)]
struct TruthLine {
    url: String,
    page_id: u32,
}

/// A line of `/held/pages`.
#[derive(Deserialize)]
struct HeldLine {
    page_id: u32,
    held: Option<u32>,
}

/// The verdict.
pub struct Verdict {
    delay_ms: u64,
    manners: MannersVerdict,
    pages: u64,
    held: u64,
    /// Pages not held because every response was a fault.
    always_struck: u64,
    /// Kinds of faults that never applied.
    idle: Vec<&'static str>,
    connections: u64,
    judged: Vec<JudgedCycle>,
    /// Pages not held for another reason, with the number of requests.
    missed: BTreeMap<String, usize>,
}

impl Verdict {
    /// Reads the figures from the web.
    pub fn read(
        web: &MockWeb,
        delay_ms: u64,
        judged: Vec<JudgedCycle>,
        connections: u64,
    ) -> Result<Verdict, CrawlError> {
        fn lines<T: for<'a> Deserialize<'a>>(web: &MockWeb, path: &str) -> Result<Vec<T>, CrawlError> {
            json_lines(&web.text(path)?).map_err(|why| CrawlError::MockWeb(format!("{path}: {why}")))
        }
        let pages: Vec<TruthLine> = lines(web, "/truth?from=0&to=0")?;
        let held: Vec<HeldLine> = lines(web, "/held/pages")?;
        let log: Vec<LogLine> = lines(web, "/log")?;
        let struck: BTreeSet<&str> = log.iter().filter_map(|a| a.fault.as_deref()).collect();
        let held: BTreeSet<u32> = held.iter().filter(|h| h.held.is_some()).map(|h| h.page_id).collect();
        let (always_struck, missed) = not_held(&pages, &held, &log);
        Ok(Verdict {
            delay_ms,
            manners: web.get(&format!("/violations?delay_ms={delay_ms}"))?,
            pages: pages.len() as u64,
            held: held.len() as u64,
            always_struck,
            idle: faults::kinds().into_iter().filter(|kind| !struck.contains(kind)).collect(),
            connections,
            judged,
            missed,
        })
    }

    /// Whether every requirement is met.
    pub fn is_clean(&self) -> bool {
        self.lines().iter().all(|line| line.is_met)
    }

    fn lines(&self) -> Vec<VerdictLine> {
        let peaks = || self.judged.iter().map(|c| c.peak_kib);
        let (lowest, highest) = (peaks().min().unwrap_or(0), peaks().max().unwrap_or(u64::MAX));
        let longest = self.judged.iter().map(|c| c.wall).max().unwrap_or(Duration::MAX);
        let m = &self.manners;
        let delay = self.delay_ms;
        vec![
            VerdictLine::new(
                "requests, including robots.txt",
                m.hosts.iter().map(|h| h.requests).sum(),
                None,
            ),
            VerdictLine::new("pages that robots.txt allows and links reach", self.pages, None),
            VerdictLine::new("pages held", self.held, None),
            VerdictLine::new("not held: every response was a fault", self.always_struck, None),
            VerdictLine::new("not held for another reason", self.missed.len() as u64, Some(0)),
            VerdictLine::new("requests that robots.txt forbids", m.forbidden, Some(0)),
            VerdictLine::new("requests before robots.txt was read", m.before_robots, Some(0)),
            VerdictLine::new(&format!("gaps under {delay} ms on a host"), m.host_gaps_under, Some(0)),
            VerdictLine::new(&format!("gaps under {delay} ms on an address"), m.address_gaps_under, Some(0)),
            VerdictLine::new("concurrent requests on a host", m.max_requests_per_host, Some(1)),
            VerdictLine::new("connections to rejected addresses", self.connections, Some(0)),
            VerdictLine::new("kinds of faults that never applied", self.idle.len() as u64, Some(0)),
            VerdictLine::new("peak memory of a judged cycle, MiB", highest / 1024, Some(MAX_MEMORY_MIB)),
            VerdictLine::new(
                "highest peak in percent of the lowest",
                highest.saturating_mul(100) / lowest.max(1),
                Some(FLAT_PERCENT),
            ),
            VerdictLine::new("longest judged cycle, seconds", longest.as_secs(), Some(MAX_CYCLE.as_secs())),
        ]
    }
}

/// Of the pages that are not held: the number of those whose every response was a fault, and the
/// others with their number of requests.
fn not_held(pages: &[TruthLine], held: &BTreeSet<u32>, log: &[LogLine]) -> (u64, BTreeMap<String, usize>) {
    let lacking = pages.iter().filter(|page| !held.contains(&page.page_id));
    let mut answers: BTreeMap<&str, Vec<bool>> =
        lacking.map(|page| (page.url.as_str(), Vec::new())).collect();
    for access in log {
        if let Some(faults) = answers.get_mut(format!("http://{}{}", access.host, access.path).as_str()) {
            let fault = access.fault.as_deref();
            faults.push(fault.is_some_and(|fault| !EXCUSES_NOTHING.contains(&fault)));
        }
    }
    let (struck, missed): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|(_, faults)| !faults.is_empty() && faults.iter().all(|fault| *fault));
    (struck.len() as u64, missed.into_iter().map(|(url, faults)| (url.to_owned(), faults.len())).collect())
}

struct VerdictLine {
    title: String,
    found: u64,
    at_most: Option<u64>,
    is_met: bool,
}

impl VerdictLine {
    fn new(title: &str, found: u64, at_most: Option<u64>) -> VerdictLine {
        VerdictLine {
            title: title.to_owned(),
            found,
            at_most,
            is_met: at_most.is_none_or(|most| found <= most),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<46}{:>9}{:>9}", "", "found", "at most")?;
        for line in self.lines() {
            let at_most = line.at_most.map_or(String::new(), |most| most.to_string());
            let mark = if line.is_met { "" } else { "  not met" };
            write!(f, "\n{:<46}{:>9}{at_most:>9}{mark}", line.title, line.found)?;
        }
        for (url, asked) in &self.missed {
            write!(f, "\nnot held: {url}, requested {asked} times")?;
        }
        for kind in &self.idle {
            write!(f, "\nnever applied: {kind}")?;
        }
        Ok(())
    }
}

/// Pages that the crawler holds in any version, by the web's count.
pub fn held(web: &MockWeb) -> Result<u64, CrawlError> {
    #[derive(Deserialize)]
    struct HeldTotals {
        held: u64,
    }
    #[derive(Deserialize)]
    struct HeldAnswer {
        all: HeldTotals,
    }
    web.get::<HeldAnswer>("/held").map(|answer| answer.all.held)
}

/// The header line.
pub fn header() -> String {
    format!(
        "{:<10}{:>5}{:>10}{:>9}{:>8}{:>8}{:>9}{:>9}",
        "phase", "cycle", "scheduled", "fetched", "failed", "held", "peak MiB", "seconds"
    )
}

/// The row of a cycle. `held` is the number of held pages after it, by the web's count.
pub fn row(phase: &str, cycle: &HazardCycle, held: u64) -> String {
    let r = &cycle.report;
    format!(
        "{phase:<10}{:>5}{:>10}{:>9}{:>8}{held:>8}{:>9}{:>9.1}",
        r.cycle,
        r.scheduled,
        r.fetched,
        r.failed,
        cycle.peak_kib / 1024,
        cycle.wall.as_secs_f64()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean() -> Verdict {
        let manners = r#"{"forbidden":0,"before_robots":0,"host_gaps_under":0,"address_gaps_under":0,
            "max_requests_per_host":1,"hosts":[{"requests":3},{"requests":4}]}"#;
        let cycle = |mib: u64| JudgedCycle { peak_kib: mib << 10, wall: Duration::from_secs(60) };
        Verdict {
            delay_ms: 200,
            manners: serde_json::from_str(manners).expect("an account"),
            pages: 9,
            held: 9,
            always_struck: 0,
            idle: Vec::new(),
            connections: 0,
            judged: vec![cycle(60), cycle(80)],
            missed: BTreeMap::new(),
        }
    }

    #[test]
    fn each_demand_alone_decides() {
        assert!(clean().is_clean(), "{}", clean());
        let breaches: [fn(&mut Verdict); 12] = [
            |v| v.manners.forbidden = 1,
            |v| v.manners.before_robots = 1,
            |v| v.manners.host_gaps_under = 1,
            |v| v.manners.address_gaps_under = 1,
            |v| v.manners.max_requests_per_host = 2,
            |v| v.connections = 1,
            |v| v.idle.push("drip"),
            |v| v.missed.extend([("http://127.1.0.1:1/".to_owned(), 0)]),
            |v| v.judged[0].peak_kib = 30 << 10,
            |v| v.judged.iter_mut().for_each(|c| c.peak_kib = 300 << 10),
            |v| v.judged[1].wall = Duration::from_secs(6_000),
            |v| v.judged.clear(),
        ];
        for breach in breaches {
            let mut verdict = clean();
            breach(&mut verdict);
            let text = verdict.to_string();
            assert!(!verdict.is_clean() && text.contains("not met"), "{text}");
        }
    }

    #[test]
    fn a_page_is_excused_when_each_answer_was_a_fault_and_there_was_one() {
        let page = |page_id: u32| TruthLine { url: format!("http://h:1/{page_id}"), page_id };
        let access = |page: u32, fault: Option<&str>| LogLine {
            host: "h:1".into(),
            path: format!("/{page}"),
            fault: fault.map(str::to_owned),
        };
        let log = [
            access(0, None),
            access(1, Some("drip")),
            access(1, Some("reset")),
            access(2, Some("drip")),
            access(2, None),
        ];
        let pages: Vec<TruthLine> = (0..4).map(page).collect();
        let (struck, missed) = not_held(&pages, &BTreeSet::from([0]), &log);
        assert_eq!(struck, 1, "page 1");
        assert_eq!(missed, BTreeMap::from([("http://h:1/2".to_owned(), 2), ("http://h:1/3".to_owned(), 0)]));
    }
}
