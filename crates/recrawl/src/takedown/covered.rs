//! The known pages that a takedown covers, and what else keeps them from being requested.

use super::Pattern;
use crate::decisions::Decisions;
use crate::failure::Failure;
use crate::forbidding::{Forbidding, MAX_LOOKED_AT};
use crate::settings::Settings;
use recrawl_fetcher::robots::Rules;
use recrawl_repository::{Generation, SledTables};
use recrawl_types::{CanonicalUrl, HostTable, Origin, Status};
use std::collections::BTreeMap;

/// Pages that are listed: the first in URL order.
const LISTED: usize = 20;

/// Known pages.
#[derive(Debug, Default)]
pub struct Covered {
    pub pages: u64,
    /// Visited pages among them.
    pub visited: u64,
    /// The first pages.
    pub listed: Vec<String>,
    /// Pages whose other rules were looked up: the first.
    pub checked: u64,
    /// Rules apart from this takedown that forbid some of the checked pages, with their number.
    pub forbidden: BTreeMap<String, u64>,
}

impl Covered {
    /// The pages of a pattern, under the decisions as they will be.
    ///
    /// # Errors
    /// When pages or tables cannot be read.
    pub fn by(
        meant: &Pattern,
        settings: &Settings,
        tables: &SledTables,
        decided: &Decisions,
        generation: &Generation,
    ) -> Result<Covered, Failure> {
        let mut others = decided.clone();
        others.taken_down.retain(|pattern| pattern != meant);
        let forbidding = Forbidding::of(settings, tables, &others)?;
        let mut covered = Covered::default();
        let mut last: Option<(Origin, Option<Rules>)> = None;
        let mut records = generation.records();
        while let Some((_, key, record)) = records.next_record()? {
            let url = CanonicalUrl::from_key(key).map_err(Failure::work)?;
            if !meant.matches(&url) {
                continue;
            }
            covered.pages += 1;
            covered.visited += u64::from(record.visited.is_some());
            if covered.listed.len() < LISTED {
                covered.listed.push(url.to_string());
            }
            if covered.pages > MAX_LOOKED_AT {
                continue;
            }
            covered.checked += 1;
            let origin = Origin::of(&url);
            if last.as_ref().is_none_or(|(last, _)| *last != origin) {
                let state = tables.load(&origin)?.unwrap_or_default();
                last = Some((origin, forbidding.robots(&state)));
            }
            let robots = last.as_ref().and_then(|(_, robots)| robots.as_ref());
            let gone = (record.known.status == Status::Gone).then(|| "gone; add it as a seed".to_owned());
            for rule in forbidding.rules(robots, &url).chain(gone) {
                *covered.forbidden.entry(rule).or_default() += 1;
            }
        }
        Ok(covered)
    }
}
