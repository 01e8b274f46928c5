//! The tables of one recording: its cycles and its pages with their changes, without the contents.

use super::{RecordingError, RecordingSource};
use jiff::civil::Date;

/// A page and its history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TablePage {
    /// Original URL; can be empty.
    pub url: String,
    /// The page's name in the recording, unique there.
    pub path: String,
    /// Site, service or section; can be empty.
    pub group: String,
    /// Title; can be empty.
    pub title: String,
    /// First cycle at which the page exists, with version 0.
    pub first: u32,
    /// Last cycle at which it exists.
    pub last: u32,
    /// Pairs of a cycle and the version from then on, by cycle.
    pub changes: Vec<(u32, u32)>,
}

impl TablePage {
    /// The version at the cycle; `None` if the page does not exist.
    pub fn version(&self, cycle: u32) -> Option<u32> {
        if cycle < self.first || cycle > self.last {
            return None;
        }
        Some(self.last_change(cycle).1)
    }

    /// The last change up to the cycle, and its version. A page without a change changed when it
    /// first appeared.
    pub fn last_change(&self, cycle: u32) -> (u32, u32) {
        let past = self.changes.partition_point(|&(at, _)| at <= cycle);
        past.checked_sub(1).map_or((self.first, 0), |i| self.changes[i])
    }

    /// Number of contents so far.
    pub fn versions(&self) -> u32 {
        self.changes.iter().map(|&(_, version)| version + 1).max().unwrap_or(1).max(1)
    }
}

/// The tables of one recording.
pub(super) struct Table {
    pub(super) dates: Vec<String>,
    pub(super) pages: Vec<TablePage>,
}

impl Table {
    pub(super) fn read(source: &RecordingSource) -> Result<Table, RecordingError> {
        let dates = read_dates(source)?;
        let pages = read_pages(source, dates.len() as u32)?;
        Ok(Table { dates, pages })
    }
}

fn read_dates(source: &RecordingSource) -> Result<Vec<String>, RecordingError> {
    let mut lines = source.cycles()?;
    let mut dates: Vec<String> = Vec::new();
    lines.next_line()?;
    while let Some(line) = lines.next_line()? {
        let date = match line.split_once('\t') {
            Some((cycle, date)) if cycle.parse() == Ok(dates.len()) => date.to_string(),
            _ => return Err(lines.error(format!("expected cycle {} and its date", dates.len()))),
        };
        if seconds_of_date(&date).is_none() {
            return Err(lines.error(format!("{date:?} is not a date of the form 2001-12-31")));
        }
        if dates.last().is_some_and(|last| *last >= date) {
            return Err(lines.error("the dates are not in order"));
        }
        dates.push(date);
    }
    if dates.is_empty() { Err(lines.error("no cycles")) } else { Ok(dates) }
}

fn read_pages(source: &RecordingSource, cycles: u32) -> Result<Vec<TablePage>, RecordingError> {
    let mut lines = source.pages()?;
    let mut pages = Vec::new();
    lines.next_line()?;
    while let Some(line) = lines.next_line()? {
        match read_page(line, pages.len(), cycles) {
            Ok(page) => pages.push(page),
            Err(why) => return Err(lines.error(why)),
        }
    }
    Ok(pages)
}

fn read_page(line: &str, expected_id: usize, cycles: u32) -> Result<TablePage, String> {
    let columns: Vec<&str> = line.split('\t').collect();
    let &[id, url, path, group, title, first, last, changes] = &columns[..] else {
        return Err(format!("expected 8 columns, found {}", columns.len()));
    };
    if id.parse() != Ok(expected_id) {
        return Err(format!("expected page_id {expected_id}, found {id:?}"));
    }
    let cycle = |text: &str| text.parse::<u32>().map_err(|_| format!("{text:?} is not a cycle"));
    let (first, last) = (cycle(first)?, cycle(last)?);
    if first > last || last >= cycles {
        return Err(format!("present from cycle {first} to {last}, with {cycles} cycles in all"));
    }
    let changes = changes
        .split_ascii_whitespace()
        .map(|pair| {
            let (at, version) = pair.split_once(':').ok_or_else(|| format!("{pair:?} is not a change"))?;
            let version = version.parse::<u32>().map_err(|_| format!("{version:?} is not a version"))?;
            Ok((cycle(at)?, version))
        })
        .collect::<Result<Vec<(u32, u32)>, String>>()?;
    let mut before = (first, 0);
    let mut versions = 1;
    for &(at, version) in &changes {
        if at <= before.0 || at > last || version == before.1 || version > versions {
            return Err(format!("change {at}:{version} does not follow {}:{}", before.0, before.1));
        }
        versions = versions.max(version + 1);
        before = (at, version);
    }
    let text = |column: &str| column.to_string();
    Ok(TablePage {
        url: text(url),
        path: text(path),
        group: text(group),
        title: text(title),
        first,
        last,
        changes,
    })
}

/// Seconds from 1970-01-01 to the start of a day written as `YYYY-MM-DD` (UTC); `None` for an
/// invalid date or one before 1970.
pub fn seconds_of_date(date: &str) -> Option<u64> {
    let date: Date = date.parse().ok().filter(|_| date.len() == 10)?;
    u64::try_from(date.duration_since(jiff::civil::date(1970, 1, 1)).as_secs()).ok()
}
