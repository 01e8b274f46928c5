//! The interface between a web and the server: finds, names, dates and renders pages at any cycle.
//!
//! There are two webs, [`crate::procedural`] and [`crate::replay`]. Equal arguments always give
//! equal results: webs know neither the clock nor sockets, faults or requests.

use crate::robots::HostRobots;
use std::time::SystemTime;

/// The location of a page: the host (counted from 0) and the path with its query, percent-encoded
/// as on the request line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PageAddress {
    /// The host, counted from 0.
    pub host: u32,
    /// Path and query, from the first slash on.
    pub target: String,
}

/// Host names in links: one `name:port` per host, in order.
pub type Authorities = [String];

/// A web whose pages change with a clock that counts cycles from 0.
pub trait Web: Send + Sync {
    /// `procedural` or `replay`.
    fn kind(&self) -> &'static str;

    /// Number of hosts.
    fn hosts(&self) -> u32;

    /// Number of pages; they are numbered from 0.
    fn pages(&self) -> u32;

    /// The last cycle; `None` for an endless web.
    fn last_cycle(&self) -> Option<u32>;

    /// The page behind a target, whether it exists at the moment or not.
    fn find(&self, host: u32, target: &str) -> Option<u32>;

    /// The location of the page, which never changes.
    fn address(&self, page: u32) -> PageAddress;

    /// First and last cycle at which the page exists; `None` if it never disappears.
    fn lifetime(&self, page: u32) -> (u32, Option<u32>);

    /// The version of the page at the cycle; `None` if it does not exist then. Equal versions of a
    /// page have equal contents, and different versions different ones.
    fn version(&self, page: u32, cycle: u32) -> Option<u32>;

    /// The changes after `from` and up to `to`, in order: pairs of a cycle and the new version.
    fn changes(&self, page: u32, from: u32, to: u32) -> Vec<(u32, u32)>;

    /// The cycle of the last change up to `cycle`.
    fn changed_at(&self, page: u32, cycle: u32) -> u32;

    /// The time of a cycle, as in `Last-Modified`.
    fn date(&self, cycle: u32) -> SystemTime;

    /// The page's HTML at this version. `notice` is inserted into the text unchanged.
    fn write_page(&self, page: u32, version: u32, notice: &str, names: &Authorities, out: &mut Vec<u8>);

    /// The HTML of a host's index page `/` at the cycle.
    fn write_index(&self, host: u32, cycle: u32, names: &Authorities, out: &mut Vec<u8>);

    /// The path of the sitemap that the host's robots.txt names; `None` if it names none.
    fn sitemap(&self, host: u32) -> Option<&'static str>;

    /// The sitemap or feed at this target, with its media type; `None` if there is none.
    fn hints(
        &self,
        host: u32,
        target: &str,
        cycle: u32,
        names: &Authorities,
    ) -> Option<(&'static str, Vec<u8>)>;

    /// The robots.txt rules of the host.
    fn robots(&self, host: u32) -> &HostRobots;

    /// Whether the page exists from the first to the last cycle.
    fn is_fixed(&self, page: u32) -> bool {
        let (first, last) = self.lifetime(page);
        first == 0 && last == self.last_cycle()
    }
}

/// Appends text, escaping the special characters of HTML and XML in text and quoted attributes.
pub fn push_escaped(text: &str, out: &mut Vec<u8>) {
    for &byte in text.as_bytes() {
        match byte {
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            b'"' => out.extend_from_slice(b"&quot;"),
            _ => out.push(byte),
        }
    }
}

/// Maximum URLs of a sitemap file (sitemap protocol).
pub const MAX_SITEMAP_URLS: usize = 50_000;

/// Appends a sitemap: targets on the host of this name, and the date of the last change of each.
pub fn push_sitemap(name: &str, entries: impl Iterator<Item = (String, String)>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    out.extend_from_slice(b"<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n");
    for (target, date) in entries {
        out.extend_from_slice(b"<url><loc>http://");
        push_escaped(name, out);
        push_escaped(&target, out);
        out.extend_from_slice(format!("</loc><lastmod>{date}</lastmod></url>\n").as_bytes());
    }
    out.extend_from_slice(b"</urlset>\n");
}

/// Appends a number in decimal.
pub fn push_number(number: u64, out: &mut Vec<u8>) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    let mut rest = number;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// The other hosts that a host's index page links to: all if they are few. Otherwise some
/// neighbours on a ring and two distant hosts, so that every host is reachable from every other.
pub fn neighbours(host: u32, hosts: u32) -> Vec<u32> {
    const FEW: u32 = 128;
    if hosts <= FEW {
        return (0..hosts).filter(|&h| h != host).collect();
    }
    let mut near: Vec<u32> = (1..=8).map(|step| (host + step) % hosts).collect();
    for far in [u64::from(host) * 2, u64::from(host) * 2 + 1] {
        let far = (far % u64::from(hosts)) as u32;
        if far != host && !near.contains(&far) {
            near.push(far);
        }
    }
    near
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_text_are_written_as_html_wants_them() {
        let mut out = Vec::new();
        push_number(0, &mut out);
        push_escaped("<a href=\"?x=1&y=2\">", &mut out);
        push_number(u64::MAX, &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            format!("0&lt;a href=&quot;?x=1&amp;y=2&quot;&gt;{}", u64::MAX)
        );
    }

    #[test]
    fn every_host_is_reached_over_index_pages_however_many_there_are() {
        for hosts in [1, 2, 64, 128, 129, 1_000] {
            let mut seen = vec![false; hosts as usize];
            let mut queue = vec![0];
            while let Some(host) = queue.pop() {
                if !std::mem::replace(&mut seen[host as usize], true) {
                    queue.extend(neighbours(host, hosts));
                }
            }
            assert!(seen.iter().all(|&s| s), "{hosts} hosts");
        }
    }
}
