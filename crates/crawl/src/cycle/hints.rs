//! Sitemaps and feeds: where they are looked for, and which of their entries become links.
//!
//! They are pages like any other: known URLs that are scheduled, visited and compared. This module
//! holds what differs. docs/discovery.md describes it for users.

use crate::admission::scope::Scope;
use crate::config;
use recrawl_extractor::{Listing, ListingKind};
use recrawl_fetcher::robots::{self, RobotsRules};
use recrawl_fetcher::{Cut, FetchResult, FetchedPage};
use recrawl_types::host::RobotsBody;
use recrawl_types::{CanonicalUrl, HostTable, Link, Origin, Site, UrlRules};
use std::collections::HashMap;
use std::io;

/// Path that is tried if robots.txt names no sitemap.
const GUESS: &str = "/sitemap.xml";
/// Maximum hosts in one sitemap whose robots.txt is looked up; entries of further hosts are
/// skipped.
const MAX_FOREIGN: usize = 1_000;
/// Seconds that a date may be ahead of now, which covers all time zones; later dates are ignored.
const MAX_AHEAD: u64 = 86_400;

/// The rules for sitemaps, feeds and their entries.
pub struct HintRules<'c> {
    /// Which hints are followed.
    pub config: &'c config::Hints,
    /// Which URLs are in scope.
    pub scope: &'c Scope,
    /// URL normalization.
    pub canonical: &'c UrlRules,
    /// The table with the robots.txt of other hosts.
    pub hosts: &'c dyn HostTable,
    /// Our name in robots.txt.
    pub product_token: &'c str,
}

/// The relation of an entry to the sitemap or feed that lists it.
#[derive(Clone, Copy, PartialEq)]
enum Authority {
    /// On the same host, or on one whose robots.txt names the sitemap: its date counts.
    Own,
    /// On the same site, or in a feed: a plain link.
    Link,
    /// On a host for which the sitemap may not speak.
    Foreign,
}

impl HintRules<'_> {
    /// Links to the sitemaps named in the robots.txt fetched with this page, or to the guessed one.
    pub fn named(&self, page: &FetchedPage) -> Vec<Link> {
        let Some(named) = page.sitemaps.as_ref().filter(|_| self.config.sitemaps) else { return Vec::new() };
        let guess = || page.entry.url.at_origin(GUESS);
        let guessed = (self.config.guess && named.is_empty()).then(guess);
        let depth = page.entry.record.known.depth;
        let in_scope = named.iter().cloned().chain(guessed).filter(|url| self.scope.admits_link(url, depth));
        in_scope.map(|url| Link::to(url, depth)).collect()
    }

    /// Links to the feeds that a page names.
    pub fn feeds(&self, page: &FetchedPage, feeds: Vec<CanonicalUrl>) -> Vec<Link> {
        let depth = page.entry.record.known.depth.saturating_add(1);
        let feeds = feeds.into_iter().filter(|url| self.config.feeds && self.scope.admits_link(url, depth));
        feeds.map(|url| Link::to(url, depth)).collect()
    }

    /// Links to the entries of a sitemap or feed.
    ///
    /// # Errors
    /// When the table of hosts cannot be read.
    pub fn entries(&self, page: &FetchedPage, hints: Listing) -> io::Result<Vec<Link>> {
        let url = &page.entry.url;
        let Listing { kind, mut entries, refused, over_limit, mut damage, further, hub: _, work: _, text: _ } =
            hints;
        if let FetchResult::Page(response) = &page.result
            && response.is_cut()
            && damage.is_none()
        {
            let is_long = response.cut == Some(Cut::Limit);
            damage = Some(
                if is_long { "larger than fetch.max_body" } else { "its content coding is damaged" }.into(),
            );
            if kind == ListingKind::Text {
                // The last URL may be truncated, and then names another page.
                entries.pop();
            }
        }
        let is_index = kind == ListingKind::Index;
        // Indexes can name each other without end; only this limit stops them.
        if is_index && page.hops >= self.config.max_nesting {
            let depth = page.hops;
            tracing::info!(%url, "ignored a sitemap index nested in {depth} others (hints.max_nesting)");
            return Ok(Vec::new());
        }
        let depth = page.entry.record.known.depth.saturating_add(1);
        let hops = if is_index { page.hops + 1 } else { 0 };
        let latest = page.at / 1000 + MAX_AHEAD;
        let (mut links, mut foreign) = (Vec::with_capacity(entries.len()), 0);
        let mut hosts = HashMap::new();
        for entry in entries {
            if !self.scope.admits_link(&entry.url, depth) {
                continue;
            }
            // A sitemap speaks for its own host, and for hosts whose robots.txt names it (sitemaps.org, cross
            // submits). Otherwise any site could fill the crawl with URLs of others.
            let authority = self.authority(url, &entry.url, kind, &mut hosts)?;
            if authority == Authority::Foreign {
                foreign += 1;
                continue;
            }
            // A date in the future announces no change that has happened.
            let is_dated = authority == Authority::Own && u64::from(entry.lastmod) <= latest;
            let lastmod = if is_dated { entry.lastmod } else { 0 };
            links.push(Link { hops, listed: true, lastmod, ..Link::to(entry.url, depth) });
        }
        let further = further.into_iter().filter(|url| self.scope.admits_link(url, depth));
        links.extend(further.map(|url| Link { listed: true, ..Link::to(url, depth) }));
        if let Some(damage) = damage {
            tracing::info!(%url, entries = links.len(), "damaged sitemap or feed: {damage}");
        }
        if refused > 0 || over_limit > 0 || foreign > 0 {
            tracing::info!(%url, refused, over_limit, foreign, "skipped entries of a sitemap or feed");
        }
        Ok(links)
    }

    fn authority(
        &self,
        list: &CanonicalUrl,
        entry: &CanonicalUrl,
        kind: ListingKind,
        hosts: &mut HashMap<Origin, bool>,
    ) -> io::Result<Authority> {
        if list.host() == entry.host() {
            return Ok(Authority::Own);
        }
        let origin = Origin::from_url(entry);
        let names_it = match hosts.get(&origin) {
            Some(&known) => known,
            None if hosts.len() == MAX_FOREIGN => false,
            None => {
                let names_it = self.robots_names(&origin, list)?;
                hosts.insert(origin, names_it);
                names_it
            }
        };
        Ok(match names_it {
            true => Authority::Own,
            false if kind.is_feed() || Site::from_url(list) == Site::from_url(entry) => Authority::Link,
            false => Authority::Foreign,
        })
    }

    /// Does the robots.txt of this origin name the sitemap? Uses the robots.txt fetched before this
    /// cycle's pages.
    fn robots_names(&self, origin: &Origin, sitemap: &CanonicalUrl) -> io::Result<bool> {
        let state = self.hosts.load(origin)?;
        let Some(RobotsBody::Rules(body)) = state.and_then(|s| s.robots).map(|r| r.body) else {
            return Ok(false);
        };
        let rules = RobotsRules::parse(&body, self.product_token);
        Ok(robots::sitemaps(&rules, origin, self.canonical).contains(sitemap))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_extractor::ListingEntry;
    use recrawl_fetcher::{Condition, Hold, Response};
    use recrawl_types::host::{MemoryHostTable, RobotsState};
    use recrawl_types::{
        Cycle, HostState, Known, Outcome, PageRecord, ScheduleEntry, Share, Skip, Validators,
    };
    use std::time::Duration;

    const NOW: u64 = 1_790_000_000;

    fn url(text: &str) -> CanonicalUrl {
        UrlRules::default().canonicalize(text).unwrap()
    }

    fn page(text: &str, hops: u8, sitemaps: Option<Vec<CanonicalUrl>>) -> FetchedPage {
        let record =
            PageRecord { known: Known { hops, ..PageRecord::discovered(Cycle(1), 2).known }, visited: None };
        FetchedPage {
            index: None,
            entry: ScheduleEntry::new(url(text), Share::Score, record),
            hops,
            result: FetchResult::Nothing(Outcome::Skipped(Skip::Deadline)),
            condition: Condition::Unconditional,
            at: NOW * 1000,
            elapsed: Duration::ZERO,
            sitemaps,
            hold: Hold::default(),
        }
    }

    fn hints(kind: ListingKind, entries: &[(&str, u32)]) -> Listing {
        let entries =
            entries.iter().map(|(text, lastmod)| ListingEntry { url: url(text), lastmod: *lastmod });
        Listing { kind, entries: entries.collect(), ..Listing::default() }
    }

    /// The links as URL, redirects and date.
    fn told(links: Vec<Link>) -> Vec<(String, u8, u32)> {
        assert!(links.iter().all(|l| !l.counted && l.depth <= 3), "no vote, and near");
        links.into_iter().map(|l| (l.url.as_text(), l.hops, l.lastmod)).collect()
    }

    fn with_rules<T>(edit: impl FnOnce(&mut config::Hints), test: impl FnOnce(&HintRules<'_>) -> T) -> T {
        let mut config = config::Hints::default();
        edit(&mut config);
        let everything = config::Scope { hosts: vec!["*".into()], ..config::Scope::default() };
        let hosts = MemoryHostTable::default();
        let body = RobotsBody::Rules(b"Sitemap: https://maps.example/s.xml\n".to_vec());
        let robots =
            RobotsState { fetched: 1, unreachable_since: None, body, validators: Validators::default() };
        let state = HostState { robots: Some(robots), ..HostState::default() };
        hosts.store(&Origin::from_url(&url("https://vouching.example/")), &state).unwrap();
        test(&HintRules {
            config: &config,
            scope: &Scope::new(&everything, &UrlRules::default()).unwrap(),
            canonical: &UrlRules::default(),
            hosts: &hosts,
            product_token: "recrawl",
        })
    }

    #[test]
    fn sitemaps_org_cross_submits_need_the_word_of_the_other_host() {
        let entries = [
            ("https://maps.example/1", 500),
            ("http://maps.example/2", 500),
            ("https://www.maps.example/3", 500),
            ("https://vouching.example/4", 500),
            ("https://stranger.example/5", 500),
        ];
        let of = |kind| {
            with_rules(
                |_| {},
                |rules| {
                    let links = rules
                        .entries(&page("https://maps.example/s.xml", 0, None), hints(kind, &entries))
                        .unwrap();
                    assert!(links.iter().all(|link| link.listed), "they leave places to pages");
                    told(links)
                },
            )
        };
        let expected = [
            ("https://maps.example/1".to_owned(), 0, 500),
            ("http://maps.example/2".to_owned(), 0, 500),
            ("https://www.maps.example/3".to_owned(), 0, 0),
            ("https://vouching.example/4".to_owned(), 0, 500),
            ("https://stranger.example/5".to_owned(), 0, 0),
        ];
        assert_eq!(of(ListingKind::Urlset), expected[..4]);
        assert_eq!(of(ListingKind::Rss), expected, "a feed links where it likes");
    }

    #[test]
    fn the_other_pages_of_a_feed_are_links_within_the_scope() {
        let further = ["https://maps.example/f?page=2", "https://other.example/old"].map(url).to_vec();
        let feed = || Listing {
            further: further.clone(),
            ..hints(ListingKind::Atom, &[("https://maps.example/1", 7)])
        };
        let entry = ("https://maps.example/1".to_owned(), 0, 7);
        let next = ("https://maps.example/f?page=2".to_owned(), 0, 0);
        with_rules(
            |_| {},
            |rules| {
                let page = page("https://maps.example/f", 0, None);
                let links = rules.entries(&page, feed()).unwrap();
                assert!(links.iter().all(|link| link.listed), "they leave places to pages");
                assert_eq!(
                    told(links),
                    [entry.clone(), next.clone(), ("https://other.example/old".to_owned(), 0, 0)]
                );
                let own = config::Scope { hosts: vec!["maps.example".into()], ..config::Scope::default() };
                let scope = Scope::new(&own, &UrlRules::default()).unwrap();
                let links = HintRules { scope: &scope, ..*rules }.entries(&page, feed()).unwrap();
                assert_eq!(told(links), [entry, next]);
            },
        );
    }

    #[test]
    fn indexes_lead_to_indexes_so_many_times() {
        with_rules(
            |config| config.max_nesting = 2,
            |rules| {
                for (hops, expected) in [(0, Some(1)), (1, Some(2)), (2, None)] {
                    let index = hints(ListingKind::Index, &[("https://maps.example/t.xml", 7)]);
                    let links =
                        told(rules.entries(&page("https://maps.example/s.xml", hops, None), index).unwrap());
                    let expected = expected.map(|hops| ("https://maps.example/t.xml".to_owned(), hops, 7));
                    assert_eq!(links, Vec::from_iter(expected), "{hops}");
                }
                let sitemap = hints(ListingKind::Urlset, &[("https://maps.example/1", 0)]);
                let links =
                    told(rules.entries(&page("https://maps.example/s.xml", 2, None), sitemap).unwrap());
                assert_eq!(links, [("https://maps.example/1".to_owned(), 0, 0)], "its pages are no sitemaps");
            },
        );
    }

    #[test]
    fn a_list_that_was_cut_loses_the_address_that_the_cut_goes_through() {
        let list =
            || hints(ListingKind::Text, &[("https://maps.example/1", 0), ("https://maps.example/2", 0)]);
        for (cut, left) in
            [(None, 2), (Some(Cut::Checksum), 2), (Some(Cut::Limit), 1), (Some(Cut::Coding), 1)]
        {
            let response = Response { cut, ..Response::default() };
            let page = FetchedPage {
                result: FetchResult::Page(Box::new(response)),
                ..page("https://maps.example/s.txt", 0, None)
            };
            let links = with_rules(|_| {}, |rules| rules.entries(&page, list()).unwrap());
            assert_eq!(links.len(), left);
        }
    }

    #[test]
    fn dates_of_the_future_are_none() {
        let (soon, late) = (NOW as u32 + 86_400, NOW as u32 + 86_401);
        let entries = [("https://maps.example/1", soon), ("https://maps.example/2", late)];
        let links = with_rules(
            |_| {},
            |rules| {
                let page = page("https://maps.example/s.xml", 0, None);
                rules.entries(&page, hints(ListingKind::Urlset, &entries)).unwrap()
            },
        );
        assert_eq!(links.iter().map(|l| l.lastmod).collect::<Vec<_>>(), [soon, 0]);
    }

    #[test]
    fn sitemaps_are_looked_for_where_the_configuration_says() {
        let named = [url("https://maps.example/s.xml")];
        let told_with = |edit: fn(&mut config::Hints), named: Option<&[CanonicalUrl]>| {
            let page = page("https://a.example/page", 3, named.map(<[_]>::to_vec));
            let links = with_rules(edit, |rules| rules.named(&page));
            assert!(links.iter().all(|link| !link.listed));
            told(links)
        };
        let at = |text: &str| vec![(text.to_owned(), 0, 0)];
        assert_eq!(told_with(|_| {}, Some(&named)), at("https://maps.example/s.xml"));
        assert_eq!(told_with(|c| c.guess = true, Some(&named)), at("https://maps.example/s.xml"));
        assert_eq!(told_with(|c| c.guess = true, Some(&[])), at("https://a.example/sitemap.xml"));
        assert_eq!(told_with(|c| c.guess = true, None), [], "not yet told");
        assert_eq!(told_with(|_| {}, Some(&[])), []);
        assert_eq!(told_with(|c| c.sitemaps = false, Some(&named)), []);
        let feeds = |edit: fn(&mut config::Hints)| {
            with_rules(edit, |rules| told(rules.feeds(&page("https://a.example/", 0, None), named.to_vec())))
        };
        assert_eq!(feeds(|_| {}), at("https://maps.example/s.xml"));
        assert_eq!(feeds(|c| c.feeds = false), []);
    }
}
