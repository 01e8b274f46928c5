//! Turns captures of a web archive, in any order, into histories of their pages.

use super::{DatasetError, calendar};
use crate::{Dataset, histories::PageHistories};
use std::collections::HashMap;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

/// Maximum captures of one file: 24 bytes each while reading.
pub const MAX_CAPTURES: usize = 200_000_000;

/// A capture, as in a line of an index.
pub struct Capture<'a> {
    /// The archive's key of the page: its URL in sortable form.
    pub key: &'a str,
    /// The time, in 14 digits.
    pub time: &'a str,
    /// The URL; empty if the line has none.
    pub url: &'a str,
    /// Media type.
    pub mime: &'a str,
    /// The status code; `-` if the line has none.
    pub status: &'a str,
    /// The digest of the content.
    pub digest: &'a str,
}

impl Capture<'_> {
    /// The time in seconds since 1970.
    ///
    /// # Errors
    /// If the time is invalid.
    pub fn seconds(&self) -> Result<u64, String> {
        let wrong = || format!("time {}: expected 14 digits, YYYYMMDDhhmmss", super::lines::shown(self.time));
        calendar::parse_time(self.time).ok_or_else(wrong)
    }

    /// Whether it shows a page: its status is 200, or it is a revisit, which repeats an earlier
    /// capture. Redirects, errors and non-HTTP captures show none.
    pub fn shows_a_page(&self) -> bool {
        let is_revisit = self.mime == "warc/revisit" && self.status == "-";
        let is_http =
            self.url.is_empty() || self.url.starts_with("http://") || self.url.starts_with("https://");
        is_http && (self.status == "200" || is_revisit)
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct SeenCaptures {
    page: u32,
    time: u64,
    /// 64 bits of the digest, enough to tell the contents of one page apart.
    content: u64,
}

/// The captures read so far.
#[derive(Default)]
pub struct Captures {
    places: HashMap<Box<str>, u32>,
    /// Each page's first capture, and its URL then.
    firsts: Vec<(u64, Box<str>)>,
    seen: Vec<SeenCaptures>,
}

impl Captures {
    /// Adds a capture that shows a page; ignores others.
    ///
    /// # Errors
    /// What is wrong with the capture.
    pub fn push(&mut self, capture: &Capture) -> Result<(), String> {
        let shown = super::lines::shown;
        let time = capture.seconds()?;
        if !capture.shows_a_page() {
            return Ok(());
        }
        if capture.digest.is_empty() || capture.digest == "-" {
            return Err("a capture without a digest; remove the line".into());
        }
        if capture.url.chars().chain(capture.key.chars()).any(char::is_control) {
            return Err(format!("address {}: contains a control character", shown(capture.url)));
        }
        if self.seen.len() == MAX_CAPTURES {
            return Err(format!("more than {MAX_CAPTURES} captures; split the file"));
        }
        let url = if capture.url.is_empty() { capture.key } else { capture.url };
        let page = match self.places.get(capture.key) {
            Some(&page) => {
                let first = &mut self.firsts[page as usize];
                if (time, url) < (first.0, &*first.1) {
                    *first = (time, url.into());
                }
                page
            }
            None if self.firsts.len() == Dataset::MAX_PAGES => {
                return Err(format!("more than {} pages; split the file", Dataset::MAX_PAGES));
            }
            None => {
                let page = self.firsts.len() as u32;
                self.places.insert(capture.key.into(), page);
                self.firsts.push((time, url.into()));
                page
            }
        };
        self.seen.push(SeenCaptures { page, time, content: xxh3_64(capture.digest.as_bytes()) });
        Ok(())
    }

    /// The histories, with pages in key order. Cycle 0 contains the first capture. The content of a
    /// cycle is that of the last capture up to its end. A page exists from its first capture to its
    /// last.
    ///
    /// # Errors
    /// If no page was captured, or there are too many cycles of this length.
    pub fn finish(mut self, path: &Path, seconds: u64) -> Result<Dataset, DatasetError> {
        let none = || DatasetError::whole(path, "no capture of a page (HTTP with status 200)");
        let start = self.seen.iter().map(|seen| seen.time).min().ok_or_else(none)? / seconds;
        let end = self.seen.iter().map(|seen| seen.time).max().ok_or_else(none)? / seconds;
        if end - start > u64::from(Dataset::MAX_CYCLES) {
            let what =
                format!("{} cycles: the maximum is {}; use longer cycles", end - start, Dataset::MAX_CYCLES);
            return Err(DatasetError::whole(path, what));
        }
        let last = (end - start) as u32;
        let date = |cycle: u64| calendar::date(((start + cycle) * seconds / calendar::DAY) as i64);
        let dates = (0..=u64::from(last)).map(date).collect();

        // Captures come in any order, and a history needs those of its page together, by time.
        self.seen.sort_unstable();
        let mut keys: Vec<(Box<str>, u32)> = self.places.into_iter().collect();
        keys.sort_unstable();
        let mut histories = PageHistories::default();
        let (mut changes, mut numbers) = (Vec::new(), HashMap::new());
        for (_, page) in keys {
            let from = self.seen.partition_point(|seen| seen.page < page);
            let to = self.seen.partition_point(|seen| seen.page <= page);
            let cycle_of = |seen: &SeenCaptures| (seen.time / seconds - start) as u32;
            changes.clear();
            numbers.clear();
            let (mut version, mut cycles) = (0, (0, 0));
            // Only the content at the end of a cycle is kept.
            for (place, captured) in
                self.seen[from..to].chunk_by(|a, b| cycle_of(a) == cycle_of(b)).enumerate()
            {
                let captured = &captured[captured.len() - 1];
                let cycle = cycle_of(captured);
                let unseen = numbers.len() as u16;
                let number = *numbers.entry(captured.content).or_insert(unseen);
                cycles = (if place == 0 { cycle } else { cycles.0 }, cycle);
                if number != version {
                    changes.push((cycle, number));
                    version = number;
                }
            }
            let url = std::mem::take(&mut self.firsts[page as usize].1);
            let page = histories.page(url, None, cycles.0, cycles.1);
            let pushed = histories.push(page, &changes);
            pushed.map_err(|what| DatasetError::whole(path, what))?;
        }
        super::finish(histories, path, dates, last)
    }
}
