//! The directives of a page, and whether its canonical claim holds.

use recrawl_archive::timestamp;
use recrawl_crawl::failure::Failure;
use recrawl_repository::Generation;
use recrawl_types::{Canonical, CanonicalUrl, PageRecord, PageStatus, Site};

/// Longest chain of canonical claims that is followed.
const MAX_STEPS: usize = 10;

/// State of the page that a canonical claim names.
#[derive(Debug, PartialEq)]
pub enum CanonicalState {
    /// It names itself or nothing: the claim holds.
    Agrees,
    /// It names yet another page; this one is the end of the chain.
    LeadsOn(CanonicalUrl),
    /// The claims form a loop or a chain that is too long: all are ignored.
    Circle,
    /// Never visited.
    Unvisited,
    /// Confirmed gone.
    Gone,
}

impl CanonicalState {
    /// Follows the chain of claims; none if the page names no other page.
    ///
    /// # Errors
    /// When a record cannot be read.
    pub fn follow(
        generation: &Generation,
        url: &CanonicalUrl,
        record: &PageRecord,
    ) -> Result<Option<CanonicalState>, Failure> {
        let Some(mut at) = claim(record) else { return Ok(None) };
        let mut seen = vec![url.clone()];
        let mut is_first = true;
        while !seen.contains(&at) && seen.len() < MAX_STEPS {
            let Some((_, record)) = generation.get(&at).map_err(Failure::work)? else {
                return Ok(Some(CanonicalState::Unvisited));
            };
            if record.known.status == PageStatus::Gone {
                return Ok(Some(CanonicalState::Gone));
            }
            if record.visited.is_none() {
                return Ok(Some(CanonicalState::Unvisited));
            }
            let Some(next) = claim(&record) else {
                return Ok(Some(if is_first { CanonicalState::Agrees } else { CanonicalState::LeadsOn(at) }));
            };
            seen.push(std::mem::replace(&mut at, next));
            is_first = false;
        }
        Ok(Some(CanonicalState::Circle))
    }

    /// The name in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            CanonicalState::Agrees => "agrees",
            CanonicalState::LeadsOn(_) => "leads_on",
            CanonicalState::Circle => "circle",
            CanonicalState::Unvisited => "unvisited",
            CanonicalState::Gone => "gone",
        }
    }
}

fn claim(record: &PageRecord) -> Option<CanonicalUrl> {
    record.visited.as_ref()?.content.consent.canonical.other().cloned()
}

/// Printed rows: label and text of what the page said at its last visit.
pub fn wishes(
    url: &CanonicalUrl,
    record: &PageRecord,
    state: Option<&CanonicalState>,
) -> Vec<(&'static str, String)> {
    let Some(consent) = record.visited.as_ref().map(|v| &v.content.consent) else { return Vec::new() };
    let mut rows = Vec::new();
    let said =
        [(consent.noindex, "noindex"), (consent.nofollow, "nofollow"), (consent.noarchive, "noarchive")];
    let mut said: Vec<String> =
        said.iter().filter(|(set, _)| *set).map(|(_, word)| (*word).to_owned()).collect();
    said.extend(
        consent
            .unavailable_after
            .map(|at| format!("unavailable after {}", timestamp(at.saturating_mul(1000)))),
    );
    if !said.is_empty() {
        rows.push(("directives", said.join(", ")));
    }
    let canonical = match &consent.canonical {
        Canonical::Unclaimed => return rows,
        Canonical::Itself => "this URL".to_owned(),
        Canonical::Contradictory => "several conflicting URLs; ignored".to_owned(),
        Canonical::Other(other) => {
            let site = if Site::from_url(other) == Site::from_url(url) { "" } else { " (other site)" };
            let note = match state {
                None => String::new(),
                Some(CanonicalState::Agrees) => {
                    ", which names no other URL; this page is a duplicate of it".into()
                }
                Some(CanonicalState::LeadsOn(last)) => format!(", whose canonical URL is {last}"),
                Some(CanonicalState::Circle) => ", part of a canonical loop; ignored".into(),
                Some(CanonicalState::Unvisited) => ", not visited yet".into(),
                Some(CanonicalState::Gone) => ", which is gone; this page is its own canonical".into(),
            };
            format!("{other}{site}{note}")
        }
    };
    rows.push(("canonical", canonical));
    rows
}
