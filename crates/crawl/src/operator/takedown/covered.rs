//! The known pages that a takedown covers, and what else keeps them from being requested.

use crate::admission::decisions::Decisions;
use crate::admission::gates::ClosedGate;
use crate::admission::pattern::Pattern;
use crate::failure::Failure;
use crate::forbidding::{MAX_LOOKED_AT, OfOrigin};
use crate::settings::Settings;
use recrawl_fetcher::LeftAlone;
use recrawl_repository::{Generation, SledTables};
use recrawl_types::{CanonicalUrl, Origin, PageStatus};
use std::collections::BTreeMap;

/// Pages that are listed: the first in URL order.
const LISTED: usize = 20;

/// Known pages.
#[derive(Debug, Default)]
pub struct Covered {
    /// All of them.
    pub pages: u64,
    /// Visited pages among them.
    pub visited: u64,
    /// The first pages.
    pub listed: Vec<String>,
    /// Pages whose other rules were looked up: the first, or none if the tables could not be read.
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
        tables: Option<&SledTables>,
        decided: &Decisions,
        generation: &Generation,
    ) -> Result<Covered, Failure> {
        // This takedown forbids all its pages anyway: the question is which other rules do.
        let mut others = decided.clone();
        others.taken_down.retain(|pattern| pattern != meant);
        let forbidding = match tables {
            Some(tables) => Some((tables, settings.forbidding(tables, &others)?)),
            None => None,
        };
        let mut covered = Covered::default();
        let mut last: Option<(Origin, OfOrigin)> = None;
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
            let Some((tables, forbidding)) = forbidding.as_ref().filter(|_| covered.pages <= MAX_LOOKED_AT)
            else {
                continue;
            };
            covered.checked += 1;
            let origin = Origin::from_url(&url);
            // The pages of an origin stand together, so its rules are read once.
            let of = match last.take() {
                Some((last, of)) if last == origin => of,
                _ => forbidding.of_origin(tables, &origin)?,
            };
            let gone = (record.known.status == PageStatus::Gone).then(|| "gone; add it as a seed".to_owned());
            // The takedown empties the page's record, and forgets what was learned of whole hosts.
            let is_forgotten = meant.covers_host(&origin.host);
            let stays = |gate: &&ClosedGate| {
                !is_forgotten
                    || !matches!(gate, ClosedGate::Trap | ClosedGate::Host(LeftAlone::NoRobots { .. }))
            };
            let closed = forbidding.gates(&of, &url, false);
            last = Some((origin, of));
            for rule in closed.iter().filter(stays).map(ToString::to_string).chain(gone) {
                *covered.forbidden.entry(rule).or_default() += 1;
            }
        }
        Ok(covered)
    }
}
