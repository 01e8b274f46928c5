//! The pages of a host that are in flight.

use crate::host::QueuedPage;
use crate::run::control::PageInFlight;
use std::sync::Weak;

/// Pages in flight, with the time of their start in milliseconds since 1970. The visits own the pages, so
/// a page is listed exactly as long as its visit lasts. At most `politeness.connections_per_host`.
#[derive(Debug, Default)]
pub struct Fetches(Vec<(Weak<QueuedPage>, u64)>);

impl Fetches {
    /// Adds a page, and removes those that are finished.
    pub fn start(&mut self, page: Weak<QueuedPage>, at: u64) {
        self.0.retain(|(page, _)| page.strong_count() > 0);
        self.0.push((page, at));
    }

    /// The pages in flight.
    pub fn pages(&self) -> impl Iterator<Item = PageInFlight> {
        let url = |(page, since): &(Weak<QueuedPage>, u64)| {
            page.upgrade().map(|page| PageInFlight { url: page.entry.url.clone(), since: *since })
        };
        self.0.iter().filter_map(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::{Cycle, PageRecord, ScheduleEntry, Share, UrlRules};
    use std::sync::Arc;

    #[test]
    fn a_page_is_listed_as_long_as_its_visit_lasts() {
        let page = |url: &str| {
            let url = UrlRules::default().canonicalize(url).unwrap();
            let record = PageRecord::discovered(Cycle(1), 0);
            Arc::new(QueuedPage::new(Some(0), ScheduleEntry::new(url, Share::Discovery, record)))
        };
        let (first, second) = (page("http://a.test/1"), page("http://a.test/2"));
        let mut fetches = Fetches::default();
        fetches.start(Arc::downgrade(&first), 5);
        drop(first);
        assert_eq!(fetches.pages().count(), 0);
        fetches.start(Arc::downgrade(&second), 7);
        assert_eq!(fetches.0.len(), 1, "the finished one is removed");
        let listed: Vec<(String, u64)> = fetches.pages().map(|p| (p.url.to_string(), p.since)).collect();
        assert_eq!(listed, [("http://a.test/2".to_owned(), 7)]);
    }
}
