//! Detours for a cookie. Some sites send a visitor without a cookie from a page to another one, which sets the cookie
//! and sends the visitor back. Browsers end with the page. A crawler that takes each redirect for a response of its own
//! would know two redirects that lead to each other, and never the page.
//!
//! So a page that redirects within its origin is not delivered before the target has answered. The target is requested
//! as always: as a page of its own. If it leads back with a cookie that the page has not seen, the page is requested
//! again, and that response counts. If that request is not made, or the target does not lead back, the redirect is
//! delivered.
//!
//! A target that is in the schedule, or that this run has followed, has a visit of its own. It is requested once more
//! only if it is known to lead back: from an earlier detour of the origin, or from its record. Nothing else is requested
//! that would not have been.

use crate::host::QueuedPage;
use crate::net::client::Hop;
use crate::net::limits::MAX_WAITING_HEADERS;
use crate::outcome::chain::Chain;
use crate::outcome::{FetchError, FetchResult, FetchedPage, is_new_redirect};
use crate::run::Run;
use bytes::Bytes;
use recrawl_types::{CanonicalUrl, Failure, Known, Outcome, PageRecord, ScheduleEntry, Share, Skip};
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

/// The pages that wait for another page, to which they redirect.
#[derive(Clone, Debug, Default)]
pub struct Detour {
    /// Each redirects to the next, and the last to the page that has this detour.
    pub pages: Vec<FetchedPage>,
    /// The redirect of that page itself, if it is requested again behind a detour.
    pub answered: Option<FetchedPage>,
    /// The path by which that detour led back.
    led_back_by: Option<Box<str>>,
    /// Their requests.
    requests: Vec<Hop>,
    /// That page has a visit of its own, so this one is not delivered.
    is_unrecorded: bool,
    /// For one of [`MAX_DETOURS`](crate::net::limits::MAX_DETOURS) targets.
    permit: Option<Arc<OwnedSemaphorePermit>>,
}

/// The pages to deliver after a response, and the one to request.
#[derive(Debug, Default)]
pub struct Onward {
    pub delivered: Vec<FetchedPage>,
    pub follow: Option<QueuedPage>,
    /// Lesson for the origin.
    pub end: Option<DetourEnd>,
}

/// How a detour ended.
#[derive(Debug)]
pub enum DetourEnd {
    /// It led back by this path, and there was a page.
    LedBack(Box<str>),
    /// It took the path that the origin has learned, and there was none.
    Vain,
}

impl Detour {
    /// Is the request of its page one more than the visit of that page has?
    pub fn asks_again(&self) -> bool {
        self.answered.is_some() || self.is_unrecorded
    }

    /// The pages to deliver if the detour ends with this page.
    pub fn end(self, page: FetchedPage) -> Vec<FetchedPage> {
        let mut pages = self.pages;
        pages.extend(Some(page).filter(|_| !self.is_unrecorded));
        pages
    }

    /// Goes on behind this page, if it redirects. `chain` is the chain at the target. `known` is the path by which a
    /// detour of the origin led back before.
    pub fn go_on(
        self,
        mut page: FetchedPage,
        chain: Option<Chain>,
        known: Option<&str>,
        run: &Run,
    ) -> Result<Onward, FetchError> {
        let FetchResult::Redirect { target, .. } = &page.result else {
            return Ok(self.ended(page, known));
        };
        let target = target.clone();
        if let Some((at, back)) = chain.as_ref().and_then(|chain| self.way_back(&target, chain, run)) {
            return Ok(self.lead_back(page, at, back));
        }
        let is_new = is_new_redirect(&page.entry, &target) && !self.is_unrecorded;
        if page.hops >= run.config.max_redirects {
            if is_new {
                page.result = FetchResult::Nothing(Outcome::Failed(Failure::Redirect));
            }
            return Ok(self.ended(page, known));
        }
        let next = followed(target, page.hops + 1, &page.entry.record.known);
        let is_followed = is_new && run.follows(&next.entry)?;
        let is_same_origin = next.entry.url.same_origin(&page.entry.url);
        let is_unrecorded = !is_followed
            && is_same_origin
            && self.is_known(&page.entry.url, &next, chain.as_ref(), known, run)?;
        if !is_followed && !is_unrecorded {
            return Ok(self.ended(page, known));
        }
        // A page that waits for its target takes memory: without a permit, it is delivered as it is.
        let permit = if is_same_origin { self.permit_for(&page, run) } else { None };
        if permit.is_none() && is_unrecorded {
            return Ok(self.ended(page, known));
        }
        if permit.is_some()
            && let FetchResult::Redirect { response, .. } = &mut page.result
        {
            // While the page waits, its body must not take the memory of others. That of a redirect means nothing.
            response.body = Bytes::new();
        }
        let mut requests = self.requests.clone();
        requests.extend(chain.iter().flat_map(Chain::requests).cloned());
        let chain = chain.and_then(|chain| chain.at(&next.entry.url)).map(Box::new);
        let pages = self.end(page);
        let (delivered, detour) = match permit {
            Some(_) => (
                Vec::new(),
                Some(Box::new(Detour { pages, requests, is_unrecorded, permit, ..Detour::default() })),
            ),
            None => (pages, None),
        };
        Ok(Onward { delivered, follow: Some(QueuedPage { chain, detour, ..next }), end: None })
    }

    /// The detour ends with this page.
    fn ended(self, page: FetchedPage, known: Option<&str>) -> Onward {
        let is_failed = matches!(page.result, FetchResult::Nothing(Outcome::Failed(_)));
        let end = match (&page.result, &self.led_back_by) {
            // A page of a media type that is left out was found, too.
            (FetchResult::Page(_) | FetchResult::Nothing(Outcome::Skipped(Skip::MediaType)), Some(path)) => {
                Some(DetourEnd::LedBack(path.clone()))
            }
            _ if is_failed || known.is_none() => None,
            (_, Some(path)) if known == Some(path) => Some(DetourEnd::Vain),
            _ => self.ways().any(|way| self.is_unrecorded && known == Some(way)).then_some(DetourEnd::Vain),
        };
        Onward { delivered: self.end(page), follow: None, end }
    }

    /// May this page wait, too?
    fn permit_for(&self, page: &FetchedPage, run: &Run) -> Option<Arc<OwnedSemaphorePermit>> {
        let bytes: usize = self.pages.iter().chain([page]).map(header_bytes).sum();
        if bytes > MAX_WAITING_HEADERS {
            return None;
        }
        let permit = || run.detours.clone().try_acquire_owned().ok().map(Arc::new);
        self.permit.clone().or_else(permit)
    }

    /// The waiting page to which this target leads back, and the chain there.
    fn way_back(&self, target: &CanonicalUrl, chain: &Chain, run: &Run) -> Option<(usize, Chain)> {
        let at = self.pages.iter().rposition(|page| page.entry.url == *target)?;
        let page = &self.pages[at];
        let back = chain.back(self.requests.clone());
        let is_again = back.hop().cookies.is_some() && !back.is_loop();
        let is_short = usize::from(page.hops) + back.steps() <= usize::from(run.config.max_redirects);
        (is_again && is_short).then_some((at, back))
    }

    /// Requests the page at this place again, behind the page to which it redirected.
    fn lead_back(self, from: FetchedPage, at: usize, chain: Chain) -> Onward {
        let (permit, mut pages) = (self.permit.clone(), self.end(from));
        let delivered = pages.split_off(at + 1);
        let again = pages.pop().map(|answered| {
            let FetchedPage { index, entry, hops, condition, sitemaps, .. } = answered.clone();
            let led_back_by = target_of(&answered).map(|target| path(target).into());
            // The chain has all requests.
            let detour = Detour { pages, answered: Some(answered), led_back_by, permit, ..Detour::default() };
            let (chain, detour) = (Some(Box::new(chain)), Some(Box::new(detour)));
            QueuedPage { index, entry, hops, condition, sitemaps, ticket: None, chain, detour }
        });
        Onward { delivered, follow: again, end: None }
    }

    /// The paths to which the waiting pages redirect.
    fn ways(&self) -> impl Iterator<Item = &str> {
        self.pages.iter().filter_map(target_of).map(path)
    }

    /// Is this page, which has a visit of its own, known to lead back?
    fn is_known(
        &self,
        page: &CanonicalUrl,
        next: &QueuedPage,
        chain: Option<&Chain>,
        known: Option<&str>,
        run: &Run,
    ) -> Result<bool, FetchError> {
        let Some(chain) = chain else { return Ok(false) };
        let is_waiting = self.pages.iter().any(|page| page.entry.url == next.entry.url);
        let is_requested = self.requests.contains(&chain.hop()) || chain.is_loop();
        if is_waiting || is_requested || (run.refuses)(&next.entry).is_some() {
            return Ok(false);
        }
        if known.is_some_and(|known| self.ways().chain([path(&next.entry.url)]).any(|way| way == known)) {
            return Ok(true);
        }
        // Two redirects to each other are worth a request only if something is different this time.
        let found = if chain.has_cookie_for(page) { run.find(&next.entry.url)? } else { None };
        Ok(found.is_some_and(|found| !is_new_redirect(&found.entry, page)))
    }
}

fn target_of(page: &FetchedPage) -> Option<&CanonicalUrl> {
    match &page.result {
        FetchResult::Redirect { target, .. } => Some(target),
        _ => None,
    }
}

/// Bytes of the header of a redirect, as long as it waits.
fn header_bytes(page: &FetchedPage) -> usize {
    let FetchResult::Redirect { response, .. } = &page.result else { return 0 };
    let fields = response.headers.iter().map(|(name, value)| name.as_str().len() + value.len());
    response.lines.as_ref().map_or_else(|| fields.sum(), |lines| lines.len())
}

/// The query often names the page to return to.
fn path(url: &CanonicalUrl) -> &str {
    let text = url.path_and_query();
    text.split_once('?').map_or(text, |(path, _)| path)
}

/// A redirect target, as a page to visit at once. A redirect is not a link, so the depth stays the
/// same.
fn followed(target: CanonicalUrl, hops: u8, source: &Known) -> QueuedPage {
    let known = Known { depth: source.depth, hops, ..Known::default() };
    let entry = ScheduleEntry::new(target, Share::Followed, PageRecord { known, visited: None });
    QueuedPage { hops, ..QueuedPage::new(None, entry) }
}
