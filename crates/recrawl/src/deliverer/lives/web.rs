//! The web of a life: its pages as they are, and as the crawl last saw them.

use rand::RngExt;
use rand::rngs::StdRng;
use recrawl_delivery::{PageDocument, id};
use recrawl_repository::Repository;
use recrawl_repository::storage::MemoryStorage;
use recrawl_types::{
    ArchivePosition, Canonical, CanonicalUrl, Consent, Content, ContentKind, Cycle, History, PageRecord,
    PageStatus, UrlRules, Visited,
};
use std::sync::Arc;

pub const PAGES: u8 = 10;
/// A word that the target refuses.
pub const BAD: &str = "bad";

pub fn url(page: u8) -> CanonicalUrl {
    UrlRules::keep_all().canonicalize(&format!("http://a.test/{page:03}")).expect("a URL")
}

/// The page that a URL is of.
pub fn page_of(url: &str) -> u8 {
    url.rsplit('/').next().and_then(|number| number.parse().ok()).expect("a page")
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum PageAnswer {
    Text,
    /// A duplicate of another page.
    Of(u8),
    NoIndex,
    Redirect,
    Gone,
}

/// A page. Each change makes another edition, of which there is one in the whole web.
#[derive(Clone, Copy, Debug, PartialEq)]
struct WebPage {
    answer: PageAnswer,
    edition: u64,
    is_bad: bool,
}

impl WebPage {
    fn text(self, is_markdown: bool) -> String {
        let (bad, content) =
            (if self.is_bad { BAD } else { "good" }, if is_markdown { "Markdown" } else { "text" });
        format!("{} {bad} {content}", self.edition)
    }
}

/// The edition in a text.
pub fn edition(text: &str) -> u64 {
    text.split(' ').next().and_then(|number| number.parse().ok()).expect("an edition")
}

#[derive(Debug)]
struct SeenPage {
    page: WebPage,
    history: History,
    /// Names the archived body: another one may have the same document.
    capture: u64,
}

#[derive(Debug)]
pub struct Web {
    pages: Vec<WebPage>,
    seen: Vec<Option<SeenPage>>,
    edition: u64,
    captures: u64,
    cycle: Cycle,
}

impl Web {
    pub fn new(lot: &mut StdRng) -> Web {
        let mut web = Web { pages: Vec::new(), seen: Vec::new(), edition: 0, captures: 0, cycle: Cycle(0) };
        for _ in 0..PAGES {
            let page = web.random(lot);
            web.pages.push(page);
            web.seen.push(None);
        }
        web
    }

    fn random(&mut self, lot: &mut StdRng) -> WebPage {
        let answer = match lot.random_range(0..12) {
            0 => PageAnswer::NoIndex,
            1 => PageAnswer::Redirect,
            2 => PageAnswer::Gone,
            3 | 4 => PageAnswer::Of(lot.random_range(0..PAGES)),
            _ => PageAnswer::Text,
        };
        self.edition += 1;
        WebPage { answer, edition: self.edition, is_bad: lot.random_ratio(1, 8) }
    }

    pub fn change(&mut self, page: u8, lot: &mut StdRng) {
        self.pages[usize::from(page)] = self.random(lot);
    }

    /// A takedown empties a page. It is another one when it is fetched again; gives the first edition of that.
    pub fn forget(&mut self, page: u8, lot: &mut StdRng) -> u64 {
        self.change(page, lot);
        self.seen[usize::from(page)] = None;
        self.edition
    }

    /// Visits the pages that may be visited, and commits all to a new repository.
    pub fn visit(&mut self, may: impl Fn(u8) -> bool, lot: &mut StdRng) -> Repository {
        let mut repository = Repository::open(Arc::new(MemoryStorage::new())).unwrap();
        self.cycle = self.cycle.next();
        let (base, cycle) = (repository.current(), self.cycle);
        let mut writer = repository.begin(&base, cycle).unwrap();
        for number in 0..PAGES {
            let at = usize::from(number);
            if may(number) {
                let (page, before) = (self.pages[at], self.seen[at].take());
                let is_changed = before.as_ref().is_some_and(|seen| seen.page != page);
                let mut history =
                    before.as_ref().map_or_else(|| History::first_fetch(cycle), |seen| seen.history);
                if before.is_some() {
                    history.record(cycle, is_changed);
                }
                let capture = match before {
                    Some(seen) if !is_changed && lot.random_ratio(3, 4) => seen.capture,
                    _ => {
                        self.captures += 1;
                        self.captures
                    }
                };
                self.seen[at] = Some(SeenPage { page, history, capture });
            }
            let record = self.seen[at].as_ref().map_or_else(PageRecord::default, |seen| seen.record(number));
            writer.push(url(number).key(), &record).unwrap();
        }
        repository.commit(writer, b"{}").unwrap();
        repository
    }

    /// The document of a page as it was last seen.
    pub fn document(&self, version: u64, page: &CanonicalUrl, is_markdown: bool) -> PageDocument {
        let seen = self.seen[usize::from(page_of(&page.to_string()))].as_ref().expect("it was visited");
        PageDocument {
            id: id(page),
            version,
            url: page.to_string(),
            host: "a.test".into(),
            title: None,
            language: None,
            content_type: None,
            status: 200,
            fetched_at: seen.capture,
            changes: seen.history.changes,
            text: Some(seen.page.text(is_markdown)),
            fields: [].into(),
        }
    }

    fn page(&self, page: u8) -> WebPage {
        self.pages[usize::from(page)]
    }

    /// The text of its document as the page is now; none if it has none.
    pub fn text(&self, page: u8, is_markdown: bool, obeys_noindex: bool) -> Option<String> {
        let found = self.page(page);
        let has_document = match found.answer {
            PageAnswer::Text | PageAnswer::Of(_) => true,
            PageAnswer::NoIndex => !obeys_noindex,
            PageAnswer::Redirect | PageAnswer::Gone => false,
        };
        has_document.then(|| found.text(is_markdown))
    }

    /// The other page that a page names as its original.
    pub fn original(&self, page: u8) -> Option<u8> {
        match self.page(page).answer {
            PageAnswer::Of(original) if original != page => Some(original),
            _ => None,
        }
    }
}

impl SeenPage {
    /// What the crawl knows of it.
    fn record(&self, page: u8) -> PageRecord {
        let canonical = match self.page.answer {
            PageAnswer::Of(original) if original == page => Canonical::Itself,
            PageAnswer::Of(original) => Canonical::Other(url(original)),
            _ => Canonical::Unclaimed,
        };
        let is_redirect = self.page.answer == PageAnswer::Redirect;
        let content = Content {
            kind: if is_redirect { ContentKind::Redirect } else { ContentKind::Text },
            archive: Some(ArchivePosition { file: 1, offset: self.capture }),
            consent: Consent {
                noindex: self.page.answer == PageAnswer::NoIndex,
                canonical,
                ..Consent::default()
            },
            ..Content::default()
        };
        let mut record = PageRecord::discovered(self.history.first, 0);
        if self.page.answer == PageAnswer::Gone {
            record.known.status = PageStatus::Gone;
        }
        PageRecord { visited: Some(Visited { history: self.history, content }), ..record }
    }
}
