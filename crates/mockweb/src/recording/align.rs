//! Several recordings as one, over the dates they share.
//!
//! At each common date, a page of the joined recording has the content of its own recording.
//! Contents between two common dates are skipped, and versions are renumbered by first appearance.
//! A single recording stays unchanged.

use super::RecordingError;
use super::table::{Table, TablePage};
use std::collections::HashSet;

/// A page of the joined recording.
#[derive(Clone)]
pub(super) struct AlignedPage {
    /// Index of its recording.
    pub(super) source: usize,
    /// Its record there.
    pub(super) page: TablePage,
    pub(super) old_id: u32,
    /// For each version, its number there.
    pub(super) old_versions: Vec<u32>,
}

/// The joined tables.
pub(super) struct Alignment {
    pub(super) dates: Vec<String>,
    pub(super) pages: Vec<AlignedPage>,
}

impl Alignment {
    /// Joins the tables.
    pub(super) fn new(tables: &[Table]) -> Result<Alignment, RecordingError> {
        let (first, others) = tables.split_first().ok_or(RecordingError::NoPage)?;
        let dates: Vec<String> = first
            .dates
            .iter()
            .filter(|date| others.iter().all(|table| table.dates.binary_search(date).is_ok()))
            .cloned()
            .collect();
        if dates.is_empty() {
            return Err(RecordingError::NoSharedDate);
        }
        let mut pages = Vec::new();
        let mut paths = HashSet::new();
        for (source, table) in tables.iter().enumerate() {
            let old_cycles: Vec<u32> = dates
                .iter()
                .map(|date| table.dates.binary_search(date).expect("a shared date is in every table") as u32)
                .collect();
            for (old_id, page) in table.pages.iter().enumerate() {
                let Some((page, old_versions)) = seen_at(page, &old_cycles) else { continue };
                if !paths.insert(page.path.trim_start_matches('/').to_string()) {
                    return Err(RecordingError::SamePath(page.path));
                }
                pages.push(AlignedPage { source, page, old_id: old_id as u32, old_versions });
            }
        }
        if pages.is_empty() { Err(RecordingError::NoPage) } else { Ok(Alignment { dates, pages }) }
    }
}

/// The page as observed at only these cycles, and the old number of each new version; `None` if it
/// does not exist at any of them.
fn seen_at(page: &TablePage, old_cycles: &[u32]) -> Option<(TablePage, Vec<u32>)> {
    let mut old_versions: Vec<u32> = Vec::new();
    let mut changes = Vec::new();
    let (mut first, mut last, mut before) = (None, 0, 0);
    for (cycle, &old_cycle) in old_cycles.iter().enumerate() {
        let Some(old) = page.version(old_cycle) else { continue };
        let known = old_versions.iter().position(|&v| v == old);
        let version = known.unwrap_or(old_versions.len()) as u32;
        if known.is_none() {
            old_versions.push(old);
        }
        if first.is_some() && version != before {
            changes.push((cycle as u32, version));
        }
        first.get_or_insert(cycle as u32);
        last = cycle as u32;
        before = version;
    }
    Some((TablePage { first: first?, last, changes, ..page.clone() }, old_versions))
}
