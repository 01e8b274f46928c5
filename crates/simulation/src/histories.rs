//! Builds a data set page by page while it is read.

use crate::{Dataset, RecordedPage, Signals, Truth, truth::LAST_OF_A_WORD};
use recrawl_types::{Importance, Site};
use std::collections::HashMap;

/// Names in the order of their first use.
#[derive(Default)]
struct HistoryNames {
    all: Vec<String>,
    known: HashMap<String, u32>,
}

impl HistoryNames {
    /// The index of a name; an empty one is another each time.
    fn place(&mut self, name: &str) -> u32 {
        if let Some(&place) = self.known.get(name) {
            return place;
        }
        let place = self.all.len() as u32;
        self.all.push(name.to_owned());
        if !name.is_empty() {
            self.known.insert(name.to_owned(), place);
        }
        place
    }
}

/// The site of a URL; none if it has no host.
fn site(url: &str) -> Option<Site> {
    let authority = url.split_once("://")?.1.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    // The colon of a port comes after a bracket, if there is one.
    let port = host.rfind(':').filter(|&colon| !host[colon..].contains(']')).unwrap_or(host.len());
    let host = host[..port].to_ascii_lowercase();
    if host.is_empty() { None } else { Some(Site::of_host(&host)) }
}

/// The pages read so far.
#[derive(Default)]
pub struct PageHistories {
    pages: Vec<RecordedPage>,
    sites: HistoryNames,
    groups: HistoryNames,
    changes: Vec<(u32, u16)>,
    ends: Vec<usize>,
    signals: Signals,
    signal_count: usize,
    /// Whether any page shows an earlier content again.
    returns: bool,
}

impl PageHistories {
    /// A page with its site and its group. Without a name of a group, it gets one of its own. In a format without
    /// groups (none), the site is the group.
    pub fn page(
        &mut self,
        url: impl Into<Box<str>>,
        group: Option<&str>,
        first: u32,
        last: u32,
    ) -> RecordedPage {
        let url = url.into();
        let site = site(&url);
        let site = site.as_ref().map(Site::as_str).or(group).unwrap_or_default();
        let (site, group) = (self.sites.place(site), self.groups.place(group.unwrap_or(site)));
        RecordedPage { url, site, group, first, last, importance: Importance::ONE }
    }

    /// The names of sites and of groups so far.
    #[cfg(test)]
    pub fn names(self) -> (Vec<String>, Vec<String>) {
        (self.sites.all, self.groups.all)
    }

    /// Adds the next page. Its changes are as for [`Truth::from_changes`].
    ///
    /// # Errors
    /// If there are too many pages or changes.
    pub fn push(&mut self, page: RecordedPage, changes: &[(u32, u16)]) -> Result<(), String> {
        if self.pages.len() == Dataset::MAX_PAGES {
            return Err(format!("more than {} pages; split the data set", Dataset::MAX_PAGES));
        }
        if self.changes.len() + changes.len() > Dataset::MAX_CHANGES {
            return Err(format!("more than {} changes; split the data set", Dataset::MAX_CHANGES));
        }
        self.returns |= changes.iter().zip(1..).any(|(&(_, version), next)| version < next);
        self.changes.extend_from_slice(changes);
        self.ends.push(self.changes.len());
        self.pages.push(page);
        Ok(())
    }

    /// Adds the cycles of the signals of the page that was added last, ascending.
    ///
    /// # Errors
    /// If there are too many.
    pub fn signal(&mut self, cycles: &[u32]) -> Result<(), String> {
        self.signal_count += cycles.len();
        if self.signal_count > Dataset::MAX_CHANGES {
            return Err(format!("more than {} signals; split the data set", Dataset::MAX_CHANGES));
        }
        self.signals.push(self.pages.len() as u32 - 1, cycles);
        Ok(())
    }

    /// The data set; `cycles` is the number of the last cycle.
    ///
    /// # Errors
    /// If it is empty or larger than the memory limits.
    pub fn finish(self, name: String, dates: Vec<String>, cycles: u32) -> Result<Dataset, String> {
        if self.pages.is_empty() {
            return Err("no pages".into());
        }
        if cycles > Dataset::MAX_CYCLES {
            return Err(format!("last cycle {cycles}: the maximum is {}", Dataset::MAX_CYCLES));
        }
        let contents = self.pages.len() as u64 * (u64::from(cycles) + 1);
        if (self.returns || cycles > LAST_OF_A_WORD) && contents > Dataset::MAX_CONTENTS {
            let most = Dataset::MAX_CONTENTS;
            return Err(format!("{contents} pages times cycles: the maximum is {most}; split the data set"));
        }
        let starts = std::iter::once(&0).chain(&self.ends);
        let changes = starts.zip(&self.ends).map(|(&start, &end)| &self.changes[start..end]);
        let truth = Truth::from_changes(cycles, changes);
        Ok(Dataset {
            name,
            dates,
            pages: self.pages,
            sites: self.sites.all,
            groups: self.groups.all,
            truth,
            signals: self.signals,
            contents: None,
            beginning: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_site_of_an_address_is_its_registrable_domain() {
        for (url, expected) in [
            ("http://WWW.Example.co.uk:80/a", "example.co.uk"),
            ("https://user@blog.example.com?x", "example.com"),
            ("http://[::1]:8080/", "[::1]"),
            ("http://127.0.0.1/", "127.0.0.1"),
            ("com,example)/", ""),
            ("https://", ""),
            ("owner/name", ""),
        ] {
            assert_eq!(site(url).map_or(String::new(), |site| site.to_string()), expected, "{url}");
        }
    }

    #[test]
    fn a_page_has_the_site_of_its_url_and_the_group_of_its_file() {
        let mut histories = PageHistories::default();
        let mut page = |url: &str, group: &str| {
            let page = histories.page(url, Some(group), 0, 1);
            (page.site, page.group)
        };
        assert_eq!(page("https://a.example.com/x", "x"), (0, 0));
        assert_eq!(page("https://b.example.com/y", "y"), (0, 1));
        assert_eq!(page("name", "y"), (1, 1), "without a URL, the group is the site");
        assert_eq!(page("name", ""), (2, 2));
        assert_eq!(page("https://c.example.com/", ""), (0, 3));
        assert_eq!(page("other", ""), (3, 4), "of an unknown group");
    }
}
