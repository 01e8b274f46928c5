//! Compares n and X of every page in the crawler's repository with an independent count from the
//! mock web's log and truth. It shares no code with the crawler.
//!
//! n must agree. X may differ if the change detector disagrees with the recording, which calls two
//! contents different if more than white space differs. The number of such pages is the result.

use crate::truth::{TruthPage, json_lines};
use clap::Args;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// Examples per kind of difference.
const EXAMPLES: usize = 5;

/// `xtask replay-check`
#[derive(Args)]
pub struct ReplayCheckOptions {
    /// File with the mock web's `/truth`
    #[arg(long, default_value = "data/recorded-web/truth.jsonl")]
    truth: PathBuf,
    /// Access log of the mock web
    #[arg(long, default_value = "data/recorded-web/log.jsonl")]
    log: PathBuf,
    /// Output of `recrawl export pages`
    #[arg(long, default_value = "data/recorded-web/pages.jsonl")]
    pages: PathBuf,
}

/// An unreadable input.
#[derive(Debug)]
pub struct ReplayError(PathBuf, String);

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.display(), self.1)
    }
}

/// One line of the mock web's access log.
#[derive(Clone, Debug, Deserialize)]
struct Access {
    /// Host and port, as requested.
    host: String,
    /// Path and query.
    path: String,
    method: String,
    status: u16,
    /// Whether the whole response was sent.
    complete: bool,
    /// The clock when the request arrived.
    cycle: u32,
}

impl Access {
    /// Whether the client got the page, or a 304.
    fn is_visit(&self) -> bool {
        let whole = self.complete && self.method == "GET" && matches!(self.status, 200 | 304);
        whole && self.path != "/robots.txt"
    }

    fn url(&self) -> String {
        format!("http://{}{}", self.host, self.path)
    }
}

/// One page of the repository; other columns are ignored.
#[derive(Debug, Deserialize)]
struct CheckedRecord {
    url: String,
    /// Comparisons; none for a page never fetched.
    n: Option<u64>,
    /// Comparisons that found a change.
    #[serde(rename = "X")]
    x: Option<u64>,
}

/// n and X of one page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PageCounters {
    n: u64,
    x: u64,
}

/// Result of the comparison.
#[derive(Debug, Default, PartialEq, Eq)]
struct ReplayComparison {
    /// Pages of the recording whose n and X agree.
    agree: usize,
    /// Pages outside the recording, such as indexes, whose n agrees. There is no truth for their X.
    agree_outside: usize,
    /// Comparisons made by the crawler on pages of the recording.
    comparisons: u64,
    /// n differs, or the page is on one side only: (URL, replayed, recorded).
    n_differs: Vec<(String, Option<u64>, Option<u64>)>,
    /// n agrees and X is smaller than replayed: missed changes.
    missed: Vec<(String, PageCounters, u64)>,
    /// n agrees and X is larger than replayed: false changes.
    invented: Vec<(String, PageCounters, u64)>,
}

/// Compares the three files and prints the result. True if every n agrees.
pub fn run(options: &ReplayCheckOptions) -> Result<bool, ReplayError> {
    let comparison = compare(&read(&options.truth)?, &read(&options.log)?, &read(&options.pages)?);
    print!("{comparison}");
    Ok(comparison.n_differs.is_empty())
}

fn read<T: DeserializeOwned>(file: &Path) -> Result<Vec<T>, ReplayError> {
    let text = fs::read_to_string(file).map_err(|e| ReplayError(file.into(), e.to_string()))?;
    json_lines(&text).map_err(|why| ReplayError(file.into(), why))
}

fn compare(truth: &[TruthPage], log: &[Access], records: &[CheckedRecord]) -> ReplayComparison {
    let truth: BTreeMap<&str, &TruthPage> = truth.iter().map(|p| (p.url.as_str(), p)).collect();
    let mut replayed = replay(&truth, log);
    let mut result = ReplayComparison::default();
    for record in records {
        let expected = replayed.remove(record.url.as_str());
        let (Some(expected), Some(n), Some(x)) = (expected, record.n, record.x) else {
            if expected.is_some() || record.n.is_some() {
                result.n_differs.push((record.url.clone(), expected.map(|e| e.n), record.n));
            }
            continue;
        };
        let in_recording = truth.contains_key(record.url.as_str());
        if in_recording {
            result.comparisons += n;
        }
        if n != expected.n {
            result.n_differs.push((record.url.clone(), Some(expected.n), Some(n)));
        } else if !in_recording {
            result.agree_outside += 1;
        } else if x < expected.x {
            result.missed.push((record.url.clone(), expected, x));
        } else if x > expected.x {
            result.invented.push((record.url.clone(), expected, x));
        } else {
            result.agree += 1;
        }
    }
    let lost = replayed.into_iter().map(|(url, expected)| (url, Some(expected.n), None));
    result.n_differs.extend(lost);
    result
}

/// The counters of every served page. The first response is the first fetch, each later one a
/// comparison. It is a change if the version differs from the previous response.
fn replay(truth: &BTreeMap<&str, &TruthPage>, log: &[Access]) -> BTreeMap<String, PageCounters> {
    let mut pages: BTreeMap<String, (PageCounters, Option<u32>)> = BTreeMap::new();
    for access in log.iter().filter(|a| a.is_visit()) {
        let url = access.url();
        let version = truth.get(url.as_str()).and_then(|page| page.version_at(access.cycle));
        pages
            .entry(url)
            .and_modify(|(counters, seen)| {
                counters.n += 1;
                counters.x += u64::from(*seen != version);
                *seen = version;
            })
            .or_insert((PageCounters::default(), version));
    }
    pages.into_iter().map(|(url, (counters, _))| (url, counters)).collect()
}

impl fmt::Display for ReplayComparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |list: &[(String, PageCounters, u64)]| -> u64 {
            list.iter().map(|(_, e, x)| e.x.abs_diff(*x)).sum()
        };
        writeln!(f, "pages of the recording whose n and X agree     {:>8}", self.agree)?;
        writeln!(f, "other pages (indexes, site maps) whose n agrees {:>7}", self.agree_outside)?;
        writeln!(f, "pages whose n differs                          {:>8}", self.n_differs.len())?;
        for (url, replayed, recorded) in self.n_differs.iter().take(EXAMPLES) {
            let say = |n: &Option<u64>| n.map_or("no visit".to_owned(), |n| format!("n = {n}"));
            writeln!(f, "    {url}: log: {}, repository: {}", say(replayed), say(recorded))?;
        }
        let disagreements = [
            ("pages whose X is smaller: missed changes        ", &self.missed),
            ("pages whose X is larger: false changes          ", &self.invented),
        ];
        for (what, list) in disagreements {
            writeln!(f, "{what} {:>5}, {} in {} comparisons", list.len(), count(list), self.comparisons)?;
            for (url, expected, x) in list.iter().take(EXAMPLES) {
                writeln!(f, "    {url}: n = {}, X = {x}, in the recording X = {}", expected.n, expected.x)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(url: &str, changes: &[(u32, u32)]) -> TruthPage {
        TruthPage { url: format!("http://h:1/{url}"), first: 0, last: None, changes: changes.into() }
    }

    fn access(path: &str, cycle: u32) -> Access {
        let (host, method) = ("h:1".into(), "GET".into());
        Access { host, path: format!("/{path}"), method, status: 200, complete: true, cycle }
    }

    fn log(visits: &[(&str, u32)]) -> Vec<Access> {
        visits.iter().map(|&(path, cycle)| access(path, cycle)).collect()
    }

    fn record(url: &str, counters: Option<(u64, u64)>) -> CheckedRecord {
        CheckedRecord { url: format!("http://h:1/{url}"), n: counters.map(|c| c.0), x: counters.map(|c| c.1) }
    }

    #[test]
    fn the_replay_counts_comparisons_and_changes_seen() {
        let pages = [page("a", &[(2, 1), (3, 0), (5, 1)])];
        let truth: BTreeMap<&str, &TruthPage> = pages.iter().map(|p| (p.url.as_str(), p)).collect();
        // Changed and changed back between two visits is no change; the index page is only counted.
        let log = log(&[("a", 0), ("index", 0), ("a", 0), ("a", 4), ("a", 5), ("index", 5)]);
        let counters = replay(&truth, &log);
        assert_eq!(counters["http://h:1/a"], PageCounters { n: 3, x: 1 });
        assert_eq!(counters["http://h:1/index"], PageCounters { n: 1, x: 0 });
    }

    #[test]
    fn only_whole_answers_with_a_page_are_visits() {
        assert!(access("a", 0).is_visit());
        assert!(Access { status: 304, ..access("a", 0) }.is_visit());
        assert!(!Access { status: 404, ..access("a", 0) }.is_visit());
        assert!(!Access { complete: false, ..access("a", 0) }.is_visit());
        assert!(!Access { method: "HEAD".into(), ..access("a", 0) }.is_visit());
        assert!(!access("robots.txt", 0).is_visit());
    }

    #[test]
    fn each_kind_of_difference_is_told_apart() {
        let names = ["same", "missed", "invented", "twice", "lost"];
        let truth = names.map(|name| page(name, &[(1, 1)]));
        let visits: Vec<(&str, u32)> = [0, 1].iter().flat_map(|&c| names.map(|name| (name, c))).collect();
        let mut log = log(&visits);
        log.push(access("index", 0));
        let records = [
            record("same", Some((1, 1))),
            record("missed", Some((1, 0))),
            record("invented", Some((1, 2))),
            record("twice", Some((2, 1))),
            record("index", Some((0, 0))),
            record("dreamt", Some((3, 0))),
            record("known", None),
        ];
        let found = compare(&truth, &log, &records);
        assert_eq!((found.agree, found.agree_outside), (1, 1));
        assert_eq!(found.missed, [("http://h:1/missed".to_owned(), PageCounters { n: 1, x: 1 }, 0)]);
        assert_eq!(found.invented, [("http://h:1/invented".to_owned(), PageCounters { n: 1, x: 1 }, 2)]);
        assert_eq!(
            found.n_differs,
            [
                ("http://h:1/twice".to_owned(), Some(1), Some(2)),
                ("http://h:1/dreamt".to_owned(), None, Some(3)),
                ("http://h:1/lost".to_owned(), Some(1), None)
            ]
        );
        let text = found.to_string();
        assert!(text.contains("lost: log: n = 1, repository: no visit"), "{text}");
    }
}
