//! What a page asks to be done with it, and whether the page that it names as canonical agrees.

use crate::failure::Failure;
use recrawl_archive::timestamp;
use recrawl_repository::Generation;
use recrawl_types::{Canonical, CanonicalUrl, PageRecord, Site, Status};

/// Claims that are followed from page to page.
const MAX_STEPS: usize = 10;

/// What is known of the page that a page names as canonical.
#[derive(Debug, PartialEq)]
pub enum Standing {
    /// It names itself, or nothing: the claim holds.
    Agrees,
    /// It names a page of its own, and so on, to this one that names no other.
    LeadsOn(CanonicalUrl),
    /// The claims lead in a circle, or on and on: none of them holds.
    Circle,
    /// It was never visited.
    Unvisited,
    /// It is confirmed gone.
    Gone,
}

impl Standing {
    /// Looks at the pages that the claims lead to, one after the other; none where the page names no other.
    ///
    /// # Errors
    /// When a record cannot be read.
    pub fn of(
        generation: &Generation,
        url: &CanonicalUrl,
        record: &PageRecord,
    ) -> Result<Option<Standing>, Failure> {
        let Some(mut at) = claim(record) else { return Ok(None) };
        let mut seen = vec![url.clone()];
        let mut is_first = true;
        while !seen.contains(&at) && seen.len() < MAX_STEPS {
            let Some((_, record)) = generation.get(&at).map_err(Failure::work)? else {
                return Ok(Some(Standing::Unvisited));
            };
            if record.known.status == Status::Gone {
                return Ok(Some(Standing::Gone));
            }
            if record.visited.is_none() {
                return Ok(Some(Standing::Unvisited));
            }
            let Some(next) = claim(&record) else {
                return Ok(Some(if is_first { Standing::Agrees } else { Standing::LeadsOn(at) }));
            };
            seen.push(std::mem::replace(&mut at, next));
            is_first = false;
        }
        Ok(Some(Standing::Circle))
    }

    /// One word for machines.
    pub fn name(&self) -> &'static str {
        match self {
            Standing::Agrees => "agrees",
            Standing::LeadsOn(_) => "leads_on",
            Standing::Circle => "circle",
            Standing::Unvisited => "unvisited",
            Standing::Gone => "gone",
        }
    }
}

fn claim(record: &PageRecord) -> Option<CanonicalUrl> {
    record.visited.as_ref()?.content.consent.canonical.other().cloned()
}

/// Rows for people: what the page said at its last visit.
pub fn wishes(
    url: &CanonicalUrl,
    record: &PageRecord,
    standing: Option<&Standing>,
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
        rows.push(("asks for", said.join(", ")));
    }
    let canonical = match &consent.canonical {
        Canonical::Unclaimed => return rows,
        Canonical::Itself => "this address".to_owned(),
        Canonical::Contradictory => "several addresses, of which none is believed".to_owned(),
        Canonical::Other(other) => {
            let site = if Site::of(other) == Site::of(url) { "" } else { ", of another site" };
            let standing = match standing {
                None => String::new(),
                Some(Standing::Agrees) => ", which names no other: this page is its duplicate".into(),
                Some(Standing::LeadsOn(last)) => format!(", which leads on to {last}"),
                Some(Standing::Circle) => ", from which claims lead in a circle: none is believed".into(),
                Some(Standing::Unvisited) => ", which was never visited".into(),
                Some(Standing::Gone) => ", which is gone: this page stands for itself".into(),
            };
            format!("{other}{site}{standing}")
        }
    };
    rows.push(("canonical", canonical));
    rows
}
