//! A synthetic web: sites of very unequal size, and pages with realistic URLs, each computed on
//! demand.
//!
//! Of four consecutive names of a site one is known; the other three are unknown. So a known page,
//! an unknown one and their positions in the order all follow by arithmetic. A repository of any
//! size is written in order without being held in memory; only a small entry per site is in memory.

use crate::mix::mix;
use recrawl_types::{
    ArchivePosition, CanonicalUrl, Content, Cycle, Fingerprint, History, Known, PageRecord, UrlRules,
    Validators, Visited,
};

/// One in this many names is known.
const GROUP: u64 = 4;
/// Mean number of known pages per site.
const PAGES_A_SITE: u64 = 500;
/// One in this many known pages was visited before.
const ONE_VISITED_IN: u64 = 10;
/// The cycle of the initial repository; its pages were found and visited in the cycles up to it.
pub const FIRST_CYCLE: Cycle = Cycle(30);

/// Purposes of random numbers, which make them independent.
mod purpose {
    pub const HOST: u64 = 1;
    pub const KNOWN: u64 = 2;
    pub const PLACE: u64 = 3;
    pub const VISITED: u64 = 4;
    pub const STATE: u64 = 5;
    pub const POPULAR: u64 = 6;
}

/// Sorted, also if a slash follows.
const SECTIONS: [&str; 16] = [
    "archive", "articles", "blog", "books", "culture", "docs", "events", "forum", "guide", "help", "news",
    "people", "products", "reviews", "science", "travel",
];
/// Words are a first and a second half. Both lists are sorted, and so are the words if a hyphen or
/// dot follows.
const FIRST_HALVES: [&str; 16] = [
    "al", "ber", "cor", "den", "est", "fin", "gar", "hol", "in", "jun", "kal", "lor", "mar", "nor", "per",
    "ste",
];
const SECOND_HALVES: [&str; 16] =
    ["a", "con", "do", "en", "er", "ger", "ia", "is", "lin", "man", "o", "on", "ra", "ton", "us", "y"];
const DOMAINS: [&str; 8] = ["com", "com", "com", "org", "net", "de", "fr", "io"];

/// Bits of a position in the space of paths: a section and four words.
const PLACE_BITS: u32 = 36;

/// Size of that space.
#[derive(Debug)]
pub struct Web {
    seed: u64,
    /// In URL order.
    sites: Vec<WebSite>,
    /// Indexes of `sites`, largest site first.
    by_size: Vec<u32>,
    pages: u64,
}

/// A site.
#[derive(Debug)]
pub struct WebSite {
    /// Common prefix of the keys of its pages.
    origin: Box<[u8]>,
    /// Number of known pages.
    pub pages: u64,
}

impl Web {
    /// A web with this many known pages. The site of rank r has a share proportional to 1/r (Zipf's
    /// law).
    pub fn new(pages: u64, seed: u64) -> Web {
        let count = (pages / PAGES_A_SITE).max(1);
        let harmonic: f64 = (1..=count).map(|rank| 1.0 / rank as f64).sum();
        let size = |rank: u64| ((pages as f64 / (rank as f64 * harmonic)) as u64).max(1);
        let rest = pages - (1..=count).map(size).sum::<u64>().min(pages);
        let site = |rank: u64| {
            let pages = size(rank) + if rank == 1 { rest } else { 0 };
            (rank, WebSite { origin: origin(seed, rank), pages })
        };
        let mut ranked: Vec<(u64, WebSite)> = (1..=count).map(site).collect();
        ranked.sort_unstable_by(|a, b| a.1.origin.cmp(&b.1.origin));
        let mut by_size = vec![0; ranked.len()];
        for (number, (rank, _)) in ranked.iter().enumerate() {
            by_size[*rank as usize - 1] = number as u32;
        }
        let sites: Vec<WebSite> = ranked.into_iter().map(|(_, site)| site).collect();
        let pages = sites.iter().map(|site| site.pages).sum();
        Web { seed, sites, by_size, pages }
    }

    /// The random seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The sites, in URL order.
    pub fn sites(&self) -> &[WebSite] {
        &self.sites
    }

    /// The index of the site with this rank by size, counted from 0.
    pub fn of_rank(&self, rank: u64) -> usize {
        self.by_size[rank as usize] as usize
    }

    /// Number of known pages of all sites.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// Writes the key of known page number `page` of a site to `key`.
    pub fn known_key(&self, site: usize, page: u64, key: &mut Vec<u8>) {
        self.put_key(site, GROUP * page + self.known_of(site, page), key);
    }

    /// Writes the key of an initially unknown page near known page number `page` to `key`; `which`
    /// chooses one of the three.
    pub fn unknown_key(&self, site: usize, page: u64, which: u64, key: &mut Vec<u8>) {
        let other = (self.known_of(site, page) + 1 + which % (GROUP - 1)) % GROUP;
        self.put_key(site, GROUP * page + other, key);
    }

    /// The known page of a site with this popularity rank.
    pub fn popular(&self, site: usize, rank: u64) -> u64 {
        match rank {
            0 => 0,
            _ => mix(self.seed, purpose::POPULAR, site as u64, rank) % self.sites[site].pages,
        }
    }

    /// Whether the page was visited before.
    pub fn is_visited(&self, site: usize, page: u64) -> bool {
        mix(self.seed, purpose::VISITED, site as u64, page).is_multiple_of(ONE_VISITED_IN)
    }

    /// Passes all known pages to `take`, in order.
    ///
    /// # Errors
    /// The first error of `take`.
    pub fn each_page<E>(&self, mut take: impl FnMut(&[u8], &PageRecord) -> Result<(), E>) -> Result<(), E> {
        let mut key = Vec::new();
        for site in 0..self.sites.len() {
            for page in 0..self.sites[site].pages {
                self.known_key(site, page, &mut key);
                take(&key, &self.record(site, page))?;
            }
        }
        Ok(())
    }

    /// The index of the known one of four names. A site's first page is its home page.
    fn known_of(&self, site: usize, page: u64) -> u64 {
        if page == 0 { 0 } else { mix(self.seed, purpose::KNOWN, site as u64, page) % GROUP }
    }

    fn put_key(&self, site: usize, name: u64, key: &mut Vec<u8>) {
        let WebSite { origin, pages } = &self.sites[site];
        key.clear();
        key.extend_from_slice(origin);
        key.push(b'/');
        if name == 0 {
            return;
        }
        // Names are spread evenly over the positions, each at a random position in its part.
        let names = GROUP * pages;
        let apart = (1 << PLACE_BITS) / names;
        assert!(apart > 0, "a site of {pages} pages has no room for names");
        let chance = mix(self.seed, purpose::PLACE, site as u64, name);
        let place = name * apart + chance % apart;
        key.extend_from_slice(SECTIONS[(place >> 32) as usize].as_bytes());
        for (word, before) in [b'/', b'-', b'-', b'-'].into_iter().enumerate() {
            let word = (place >> (24 - 8 * word)) as usize & 0xff;
            key.push(before);
            key.extend_from_slice(FIRST_HALVES[word >> 4].as_bytes());
            key.extend_from_slice(SECOND_HALVES[word & 0xf].as_bytes());
        }
        match site % 3 {
            0 => key.extend_from_slice(b".html"),
            1 => key.extend_from_slice(format!("-{:05}", (chance >> 32) % 100_000).as_bytes()),
            _ => {}
        }
    }

    fn record(&self, site: usize, page: u64) -> PageRecord {
        let chance = mix(self.seed, purpose::STATE, site as u64, page);
        let discovered = Cycle(1 + (chance % u64::from(FIRST_CYCLE.0)) as u32);
        let mut known = Known {
            depth: 1 + (chance >> 8) as u16 % 6,
            // Most pages have few links to them.
            in_links: 1 + ((chance >> 16) & 0xff).leading_zeros() - 56,
            discovered,
            ..Known::default()
        };
        if !self.is_visited(site, page) {
            return PageRecord { known, visited: None };
        }
        let mut history = History::first_fetch(discovered);
        let mut at = discovered.0 + 1 + (chance >> 24) as u32 % 6;
        while at <= FIRST_CYCLE.0 {
            let chance = mix(self.seed, purpose::STATE, chance, u64::from(at));
            history.record(Cycle(at), chance.is_multiple_of(4));
            at += 1 + (chance >> 8) as u32 % 9;
        }
        known.last_attempt = history.last;
        PageRecord { known, visited: Some(Visited { history, content: content(chance) }) }
    }
}

/// The content of a visit, as incompressible as real digests; half the pages have an ETag.
pub fn content(chance: u64) -> Content {
    let next = |i| mix(chance, purpose::STATE, i, 0);
    let etag = (chance & 1 == 1).then(|| format!("\"{:012x}\"", next(1) >> 16));
    let date = |x: u64| {
        format!("Mon, {:02} Nov 2026 {:02}:{:02}:{:02} GMT", 1 + x % 28, x % 24, x % 60, x / 60 % 60)
    };
    let last_modified = (chance & 2 == 2).then(|| date(next(2)));
    Content {
        fingerprint: Fingerprint {
            simhash: next(3),
            digest: u128::from(next(4)) << 64 | u128::from(next(5)),
        },
        payload: next(6),
        validators: Validators::new(etag.as_deref(), last_modified.as_deref()),
        archive: Some(ArchivePosition { file: 1 + (next(7) % 40) as u32, offset: next(8) % 1_000_000_000 }),
        ..Content::default()
    }
}

fn origin(seed: u64, rank: u64) -> Box<[u8]> {
    let chance = mix(seed, purpose::HOST, rank, 0);
    let word = |bits: u32| {
        let word = (chance >> bits) as usize & 0xff;
        [FIRST_HALVES[word >> 4], SECOND_HALVES[word & 0xf]].concat()
    };
    let www = if chance & 3 == 0 { "" } else { "www." };
    let domain = DOMAINS[(chance >> 2) as usize & 7];
    let text = format!("https://{www}{}{}{rank}.{domain}/", word(8), word(16));
    let url = UrlRules::keep_all().canonicalize(&text).expect("a host of letters and digits");
    CanonicalUrl::origin_key(&url).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    #[test]
    fn pages_come_in_order_are_urls_and_are_as_many_as_asked_for() {
        for (pages, seed) in [(1, 1), (700, 2), (20_000, 3)] {
            let web = Web::new(pages, seed);
            let (mut last, mut count, mut visited, mut letters) = (Vec::new(), 0, 0, 0);
            let end: Result<(), Infallible> = web.each_page(|key, record| {
                assert!(*last < *key, "in order");
                last = key.to_vec();
                count += 1;
                visited += u64::from(record.visited.is_some());
                letters += CanonicalUrl::from_key(key).expect("a key").as_text().len() as u64;
                Ok(())
            });
            assert_eq!((end, count), (Ok(()), web.pages()));
            assert!(count.abs_diff(pages) <= pages / 50, "{count} of {pages}");
            if pages > 10_000 {
                assert!((count / 12..count / 8).contains(&visited), "{visited} of {count} were visited");
                assert!((50..70).contains(&(letters / count)), "{} letters", letters / count);
            }
        }
    }

    #[test]
    fn names_that_are_not_known_lie_in_order_among_those_that_are() {
        let web = Web::new(5_000, 4);
        let site = web.of_rank(0);
        let (mut before, mut key, mut after) = (Vec::new(), Vec::new(), Vec::new());
        for page in 1..web.sites()[site].pages - 1 {
            web.known_key(site, page - 1, &mut before);
            web.known_key(site, page + 1, &mut after);
            for which in 0..3 {
                web.unknown_key(site, page, which, &mut key);
                assert!(before < key && key < after);
            }
            web.known_key(site, page, &mut before);
            assert_ne!(before, key);
        }
    }

    #[test]
    fn sizes_follow_zipf() {
        let web = Web::new(1_000_000, 5);
        let size = |rank: u64| web.sites()[web.of_rank(rank - 1)].pages;
        assert!(size(1).abs_diff(10 * size(10)) < size(1) / 20, "{} and {}", size(1), size(10));
        assert!(size(10).abs_diff(100 * size(1000)) < size(10) / 20);
    }
}
