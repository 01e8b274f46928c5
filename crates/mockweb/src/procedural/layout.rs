//! Assigns pages to hosts, URLs and parents in the link tree.
//!
//! A host's pages are numbered from 0 like a heap whose root is the index page. The index page has
//! the children 0 … 7, and page i has the children 8i + 8 … 8i + 15. The URL of a page is an
//! invertible function of its number, so no table of URLs is needed.

use crate::seed::Stream;
use crate::web::push_number;
use std::ops::Range;

/// Children of a page in the tree.
pub const BRANCHES: u32 = 8;

const ADDRESS: u64 = 0x6164_6472;

const SECTIONS: [&str; 20] = [
    "about",
    "archive",
    "articles",
    "blog",
    "catalog",
    "docs",
    "events",
    "guide",
    "help",
    "history",
    "library",
    "manual",
    "maps",
    "news",
    "notes",
    "people",
    "press",
    "projects",
    "reference",
    "topics",
];

const WORDS: [&str; 32] = [
    "amber", "anchor", "basalt", "beacon", "birch", "canyon", "cedar", "comet", "copper", "delta", "ember",
    "falcon", "garnet", "harbor", "island", "juniper", "kestrel", "lantern", "maple", "meadow", "nectar",
    "onyx", "orchard", "pebble", "quartz", "raven", "saffron", "thistle", "umber", "violet", "walnut",
    "zephyr",
];

/// The hosts and their pages.
pub struct WebLayout {
    seed: u64,
    /// First page of each host, and one past the last page at the end.
    starts: Vec<u32>,
}

impl WebLayout {
    /// Assigns the pages to hosts by a power law. Every host gets at least one page, and the last
    /// `single` hosts get exactly one.
    pub fn new(seed: u64, pages: u32, hosts: u32, skew: f64, single: u32) -> WebLayout {
        let weight = |h: u32| if h < hosts - single { f64::from(h + 1).powf(-skew) } else { 0.0 };
        let weights: Vec<f64> = (0..hosts).map(weight).collect();
        let total: f64 = weights.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let spare = f64::from(pages - hosts);
        let mut starts = Vec::with_capacity(hosts as usize + 1);
        let mut before = 0.0;
        for (host, weight) in weights.iter().enumerate() {
            starts.push(host as u32 + (before / total * spare).floor().min(spare) as u32);
            before += weight;
        }
        starts.push(pages);
        WebLayout { seed, starts }
    }

    pub fn pages_of(&self, host: u32) -> Range<u32> {
        self.starts[host as usize]..self.starts[host as usize + 1]
    }

    pub fn host_of(&self, page: u32) -> u32 {
        self.starts.partition_point(|&start| start <= page) as u32 - 1
    }

    /// The children of a page of the host, or of its index page (`None`).
    pub fn below(&self, host: u32, page: Option<u32>) -> Range<u32> {
        let pages = self.pages_of(host);
        let first = match page {
            None => u64::from(pages.start),
            Some(page) => u64::from(pages.start) + u64::from(page - pages.start + 1) * u64::from(BRANCHES),
        };
        let clip = |at: u64| at.min(u64::from(pages.end)) as u32;
        clip(first)..clip(first + u64::from(BRANCHES))
    }

    /// Appends path and query of a page.
    pub fn push_target(&self, page: u32, out: &mut Vec<u8>) {
        let number = page - self.pages_of(self.host_of(page)).start;
        let mut stream = Stream::new(&[self.seed, ADDRESS, u64::from(page)]);
        let form = stream.below(16);
        if form == 0 {
            out.extend_from_slice(b"/view?item=");
            push_number(u64::from(number), out);
            out.extend_from_slice(b"&part=");
            push_number(u64::from(1 + stream.below(9)), out);
            return;
        }
        out.push(b'/');
        if form == 1 {
            out.extend_from_slice(b"caf%C3%A9");
        } else {
            out.extend_from_slice(SECTIONS[stream.below(SECTIONS.len() as u32) as usize].as_bytes());
        }
        out.push(b'/');
        for _ in 0..2 {
            out.extend_from_slice(WORDS[stream.below(WORDS.len() as u32) as usize].as_bytes());
            out.push(b'-');
        }
        push_number(u64::from(number), out);
        match form {
            2 => out.push(b'/'),
            3..=6 => {}
            _ => out.extend_from_slice(b".html"),
        }
    }

    /// The page at a target: parses the number, then compares the URL that it gives.
    pub fn find(&self, host: u32, target: &str) -> Option<u32> {
        let digits = match target.strip_prefix("/view?item=") {
            Some(rest) => rest.split('&').next()?,
            None => {
                let stem =
                    target.strip_suffix(".html").or_else(|| target.strip_suffix('/')).unwrap_or(target);
                stem.rsplit('-').next()?
            }
        };
        let number: u32 = digits.parse().ok()?;
        let pages = self.pages_of(host);
        let page = pages.start.checked_add(number).filter(|page| pages.contains(page))?;
        let mut written = Vec::with_capacity(target.len());
        self.push_target(page, &mut written);
        (written == target.as_bytes()).then_some(page)
    }

    /// A random page of the host; pages near the index page are likelier.
    pub fn page_near_index(&self, host: u32, stream: &mut Stream) -> u32 {
        let pages = self.pages_of(host);
        let at = stream.unit();
        pages.start + (at * at * f64::from(pages.end - pages.start)) as u32
    }

    /// A random page of another host, large hosts likelier; of the same host only if there is no
    /// other.
    pub fn page_elsewhere(&self, host: u32, stream: &mut Stream) -> u32 {
        let own = self.pages_of(host);
        let all = *self.starts.last().expect("there is an end");
        let others = all - (own.end - own.start);
        if others == 0 {
            return self.page_near_index(host, stream);
        }
        let at = stream.below(others);
        if at < own.start { at } else { at + (own.end - own.start) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_page_has_one_host_and_one_address(
            seed: u64, pages in 1..3_000_u32, hosts in 1..80_u32, skew in 0.0..2.0_f64,
        ) {
            let hosts = hosts.min(pages);
            let layout = WebLayout::new(seed, pages, hosts, skew, 0);
            prop_assert_eq!(layout.starts.len() as u32, hosts + 1);
            prop_assert!(layout.starts.windows(2).all(|w| w[0] < w[1]));
            let mut seen = std::collections::HashSet::new();
            for page in 0..pages {
                let host = layout.host_of(page);
                prop_assert!(layout.pages_of(host).contains(&page));
                let mut target = Vec::new();
                layout.push_target(page, &mut target);
                let target = String::from_utf8(target).unwrap();
                prop_assert_eq!(layout.find(host, &target), Some(page));
                prop_assert!(seen.insert((host, target)));
            }
        }

        #[test]
        fn a_target_nobody_has_is_no_page(seed: u64, target in "/[a-z]{0,5}[-/?]?[0-9]{0,12}(\\.html)?") {
            prop_assert_eq!(WebLayout::new(seed, 100, 3, 1.0, 0).find(0, &target), None);
        }
    }

    #[test]
    fn the_last_hosts_may_have_one_page_each() {
        let layout = WebLayout::new(1, 1_000, 20, 0.0, 15);
        let sizes: Vec<usize> = (0..20).map(|host| layout.pages_of(host).len()).collect();
        assert!(sizes[..5].iter().all(|size| (196..=198).contains(size)), "{sizes:?}");
        assert!(sizes[5..].iter().all(|size| *size == 1), "{sizes:?}");
        assert_eq!(WebLayout::new(1, 3, 3, 0.8, 3).pages_of(2), 2..3);
    }

    #[test]
    fn sizes_are_skewed_and_the_tree_holds_every_page_once() {
        let layout = WebLayout::new(1, 10_000, 64, 0.8, 0);
        let size = |host: u32| layout.pages_of(host).len();
        assert!(size(0) > 10 * size(63), "{} and {}", size(0), size(63));
        for host in 0..64 {
            let mut reached = 0;
            let mut queue = vec![None];
            while let Some(page) = queue.pop() {
                let below = layout.below(host, page);
                reached += below.len();
                queue.extend(below.map(Some));
            }
            assert_eq!(reached, size(host));
        }
    }
}
