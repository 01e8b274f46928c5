//! The visits of a crawl, as written by `recrawl export visits`: JSON, one visit per line.

use super::lines::{LineReader, shown};
use super::{DatasetError, DatasetFormat, FormatStart, calendar};
use crate::{Dataset, RecordedPage, histories::PageHistories};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

pub const FORMAT: DatasetFormat = DatasetFormat {
    name: "visits",
    help: "visits from `recrawl export visits`: JSON, one visit per line",
    timed: false,
    recognises: |start| matches!(start, FormatStart::Line(line) if line.starts_with('{')),
    read,
    write: None,
};

/// The fields that matter here; others are ignored.
#[derive(Deserialize)]
struct VisitLine<'a> {
    cycle: u32,
    /// Seconds since 1970.
    time: u64,
    #[serde(borrow)]
    url: Cow<'a, str>,
    #[serde(borrow)]
    site: Cow<'a, str>,
    #[serde(borrow)]
    outcome: Cow<'a, str>,
    /// Null differs from missing.
    #[serde(deserialize_with = "Option::deserialize")]
    changed: Option<bool>,
}

/// The visits read so far.
#[derive(Default)]
struct Visits {
    places: HashMap<Box<str>, u32>,
    pages: Vec<RecordedPage>,
    /// For each page, the number of its current content.
    versions: Vec<u16>,
    /// For each page, whether it did not exist at its last visit.
    gone: Vec<bool>,
    changes: Vec<(u32, u32, u16)>,
    histories: PageHistories,
    /// The file's number of our cycle 0.
    start: Option<u32>,
    /// The last day with visits, for each cycle from 0 on.
    days: Vec<i64>,
}

fn read(path: &Path, _: u64) -> Result<Dataset, DatasetError> {
    let mut lines = LineReader::open(path)?;
    let mut visits = Visits::default();
    while let Some(line) = lines.next_line()? {
        let visit = serde_json::from_str(line).map_err(|e| format!("{}: {e}", shown(line)));
        visit.and_then(|visit| visits.push(&visit)).map_err(|what| lines.wrong(what))?;
    }
    visits.finish(path)
}

impl Visits {
    fn push(&mut self, visit: &VisitLine) -> Result<(), String> {
        let cycle = self.cycle(visit)?;
        match (&*visit.outcome, visit.changed) {
            ("fetched" | "not_modified" | "redirected", _) => {}
            ("not_found", None) => {
                if let Some(&place) = self.places.get(&*visit.url) {
                    self.gone[place as usize] = true;
                }
                return Ok(());
            }
            // No content was fetched, so nothing is known.
            (_, None) => return Ok(()),
            (outcome, Some(_)) => {
                return Err(format!("outcome {} has no content, but changed is not null", shown(outcome)));
            }
        }
        if let Some(&place) = self.places.get(&*visit.url) {
            return self.seen_again(place, cycle, visit);
        }
        if visit.url.is_empty() || visit.url.chars().chain(visit.site.chars()).any(char::is_control) {
            return Err(format!("url {}: contains control characters", shown(&visit.url)));
        }
        if self.pages.len() == Dataset::MAX_PAGES {
            return Err(format!("more than {} pages; split the file", Dataset::MAX_PAGES));
        }
        // The content that the first visit was compared with is not in the file.
        let page = self.histories.page(&*visit.url, Some(&visit.site), cycle, cycle);
        self.places.insert((&*visit.url).into(), self.pages.len() as u32);
        self.pages.push(page);
        self.versions.push(0);
        self.gone.push(false);
        Ok(())
    }

    /// The cycle of a visit, counted from the file's first.
    fn cycle(&mut self, visit: &VisitLine) -> Result<u32, String> {
        let start = *self.start.get_or_insert(visit.cycle);
        let latest = start + self.days.len().saturating_sub(1) as u32;
        if visit.cycle < latest {
            return Err(format!(
                "cycle {} after cycle {latest}: visits must be in the order of cycles",
                visit.cycle
            ));
        }
        let cycle = visit.cycle - start;
        if cycle > Dataset::MAX_CYCLES {
            return Err(format!(
                "cycle {} is more than {} after the first",
                visit.cycle,
                Dataset::MAX_CYCLES
            ));
        }
        let day = i64::try_from(visit.time / calendar::DAY).ok().filter(|day| *day <= calendar::LAST_DAY);
        let day = day.ok_or_else(|| format!("time {}: expected seconds since 1970", visit.time))?;
        // If the clock was set back, or a cycle has no visits, the previous day stays.
        let day = self.days.last().map_or(day, |&before| before.max(day));
        self.days.resize(cycle as usize, self.days.last().copied().unwrap_or(day));
        self.days.push(day);
        Ok(cycle)
    }

    fn seen_again(&mut self, place: u32, cycle: u32, visit: &VisitLine) -> Result<(), String> {
        let page = &mut self.pages[place as usize];
        if page.last == cycle {
            return Err(format!("{} was already visited in cycle {}", shown(&visit.url), visit.cycle));
        }
        let Some(changed) = visit.changed else {
            return Err("changed is null, but an earlier visit saw the page: expected true or false".into());
        };
        page.last = cycle;
        self.gone[place as usize] = false;
        if changed {
            if self.changes.len() == Dataset::MAX_CHANGES {
                return Err(format!("more than {} changes; split the file", Dataset::MAX_CHANGES));
            }
            // The file does not identify contents, so the new one counts as never seen before.
            self.versions[place as usize] += 1;
            self.changes.push((place, cycle, self.versions[place as usize]));
        }
        Ok(())
    }

    fn finish(mut self, path: &Path) -> Result<Dataset, DatasetError> {
        self.changes.sort_unstable();
        let last = self.days.len().saturating_sub(1) as u32;
        let (mut changes, mut rest) = (Vec::new(), self.changes.as_slice());
        for (place, (mut page, gone)) in (0..).zip(self.pages.into_iter().zip(self.gone)) {
            // A page that was not visited still exists.
            page.last = if gone { page.last } else { last };
            let (own, others) = rest.split_at(rest.partition_point(|change| change.0 == place));
            rest = others;
            changes.clear();
            changes.extend(own.iter().map(|&(_, cycle, version)| (cycle, version)));
            self.histories.push(page, &changes).map_err(|what| DatasetError::whole(path, what))?;
        }
        super::finish(self.histories, path, self.days.into_iter().map(calendar::date).collect(), last)
    }
}

#[cfg(test)]
mod tests;
