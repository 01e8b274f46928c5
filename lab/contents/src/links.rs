//! Where links lead: from their targets as written to pages of the data set.

use recrawl_simulation::contents::ContentKind;
use recrawl_types::{CanonicalUrl, UrlRules};
use std::collections::{HashMap, HashSet};

/// Targets whose page is remembered; then all are forgotten.
const REMEMBERED: usize = 1 << 18;

/// The pages of a data set by the addresses that links use.
pub struct LinkTargets {
    rules: UrlRules,
    urls: Vec<Option<CanonicalUrl>>,
    by_url: HashMap<CanonicalUrl, u32>,
    by_path: HashMap<Box<str>, u32>,
    hosts: HashSet<Box<str>>,
    remembered: HashMap<Box<str>, Option<u32>>,
}

impl LinkTargets {
    /// `paths` are the names of the pages in their source.
    pub fn new<'u>(
        urls: impl IntoIterator<Item = &'u str>,
        paths: impl IntoIterator<Item = Box<str>>,
    ) -> LinkTargets {
        let rules = UrlRules::keep_all();
        let urls: Vec<_> = urls.into_iter().map(|url| rules.canonicalize(url).ok()).collect();
        let (mut by_url, mut by_path) = (HashMap::new(), HashMap::new());
        for (url, page) in urls.iter().zip(0..) {
            if let Some(url) = url {
                by_url.entry(url.clone()).or_insert(page);
            }
        }
        for (path, page) in paths.into_iter().zip(0..).filter(|(path, _)| path.starts_with('/')) {
            by_path.entry(path).or_insert(page);
        }
        let hosts = urls.iter().flatten().map(|url| url.host().into()).collect();
        LinkTargets { rules, urls, by_url, by_path, hosts, remembered: HashMap::new() }
    }

    /// The pages that links of a page lead to, ascending, each once, without the page itself; and the number of links
    /// that lead to other pages, known or not.
    pub fn resolve<'a>(&mut self, page: usize, targets: impl Iterator<Item = &'a str>) -> (Box<[u32]>, u32) {
        let (mut links, mut links_out) = (Vec::new(), 0);
        for target in targets.map(str::trim).filter(|target| is_link(target)) {
            let found = self.find(page, target);
            links_out += u32::from(found != Some(page as u32));
            links.extend(found.filter(|&found| found != page as u32));
        }
        links.sort_unstable();
        links.dedup();
        (links.into(), links_out)
    }

    /// The page that a target leads to. A target that is the name of a page in the source leads to it; all others are
    /// resolved against the page's URL.
    fn find(&mut self, page: usize, target: &str) -> Option<u32> {
        let target = target.split('#').next()?;
        if let Some(&found) = self.by_path.get(target) {
            return Some(found);
        }
        match authority(target) {
            Some(host) if is_plain(host) && !self.hosts.contains(host) => None,
            Some(_) => match self.remembered.get(target) {
                Some(&found) => found,
                None => {
                    let url = self.rules.canonicalize(target).ok();
                    let found = url.and_then(|url| self.by_url.get(&url).copied());
                    if self.remembered.len() >= REMEMBERED {
                        self.remembered.clear();
                    }
                    self.remembered.insert(target.into(), found);
                    found
                }
            },
            None => {
                let url = self.rules.join(&self.urls[page].as_ref()?.to_url(), target).ok()?;
                self.by_url.get(&url).copied()
            }
        }
    }

    /// The kind of a page.
    pub fn kind(&self, page: usize) -> ContentKind {
        self.urls[page].as_ref().map_or(ContentKind::Html, |url| kind(url.path_and_query()))
    }
}

/// Whether a target is another page: no place on the same page, and no scheme but HTTP's.
fn is_link(target: &str) -> bool {
    let scheme = target.split_once(':').map_or("", |(scheme, _)| scheme);
    let has_scheme =
        !scheme.is_empty() && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    let is_http = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    !target.is_empty() && !target.starts_with('#') && (is_http || !has_scheme)
}

/// The host of an absolute HTTP URL as written, with all that stands beside it, such as a port.
fn authority(target: &str) -> Option<&str> {
    let (scheme, rest) = target.split_once("://")?;
    let is_http = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    rest.split(['/', '?', '\\']).next().filter(|_| is_http)
}

/// Whether a host is written as in a canonical URL, so that it can be looked up.
fn is_plain(host: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.';
    !host.is_empty() && host.bytes().all(is_plain) && !host.ends_with('.')
}

/// The kind of a page by the ending of its path.
fn kind(path_and_query: &str) -> ContentKind {
    let path = path_and_query.split('?').next().unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
    match ending.as_str() {
        "txt" | "text" | "md" | "rst" | "log" => ContentKind::Text,
        "pdf" | "ps" | "doc" | "docx" | "odt" | "rtf" | "xls" | "xlsx" | "ppt" | "pptx" | "xml" | "json"
        | "yaml" | "yml" | "csv" | "rss" | "zip" | "gz" | "jpg" | "jpeg" | "png" | "gif" | "svg" | "mp3"
        | "mp4" => ContentKind::Other,
        _ => ContentKind::Html,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_where_their_urls_lead() {
        let urls = [
            "https://a.test/",
            "https://a.test/x/y?q=1",
            "https://b.test/c",
            "",
            "https://a.test/",
            "https://a.test/x/z",
        ];
        let paths = ["/content/README.md", "/content/y", "a.test/x", "/three", "", ""].map(Box::from);
        let mut targets = LinkTargets::new(urls, paths);
        let mut links = |page, written: &[&str]| {
            let (links, out) = targets.resolve(page, written.iter().copied());
            (links.to_vec(), out)
        };
        let page = 1;
        assert_eq!(links(page, &["z", "/", "../x/z#top", "//b.test/c"]), (vec![0, 2, 5], 4));
        assert_eq!(
            links(page, &["HTTPS://A.test:443/x/z", "https://B.TEST./c", "http://b.test/c"]),
            (vec![2, 5], 3)
        );
        assert_eq!(links(page, &["/content/README.md#part", "/three", "a.test/x"]), (vec![0, 3], 3));
        assert_eq!(
            links(page, &["?q=1", "#here", "mailto:a@b.test", "javascript:f()", "", "https://[", "z:1"]),
            (vec![], 1)
        );
        assert_eq!(links(3, &["z", "https://a.test/"]), (vec![0], 2), "a page without a URL");
        for (path, expected) in
            [("/a.pdf?x", ContentKind::Other), ("/a/R.MD", ContentKind::Text), ("/v1.2/", ContentKind::Html)]
        {
            assert_eq!(kind(path), expected, "{path}");
        }
    }
}
