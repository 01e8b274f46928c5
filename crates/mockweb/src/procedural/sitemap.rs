//! Sitemaps and feeds of a procedural web. Each host has one format; the dates may be wrong on
//! purpose.

use super::Procedural;
use super::page::date;
use crate::web::{Authorities, MAX_SITEMAP_URLS, Web, push_escaped, push_sitemap};
use std::io::Write;
use std::str::FromStr;

/// Number of sitemaps in an index.
const PARTS: u32 = 3;
/// Items of a feed.
const FEED_ITEMS: usize = 10_000;
const XML: &str = "application/xml";

/// How a host lists its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SitemapFormat {
    /// A sitemap in XML.
    Urlset,
    /// An index of an index, whose parts are gzipped sitemaps.
    Index,
    /// A sitemap in gzip.
    Gzip,
    /// URLs in plain text, without dates.
    Text,
    /// RSS 2.0, named by robots.txt as a sitemap.
    Rss,
    /// Atom, likewise.
    Atom,
    /// A feed that only the host's index page links to.
    Feed,
    /// A sitemap at its usual path that nothing names.
    Hidden,
}

/// Cycles by which [`LastmodMode::Late`] is late.
const LATE: u32 = 5;

/// The modification dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastmodMode {
    /// The date of the page's last change.
    True,
    /// The same, as it was five cycles ago: a host that writes its sitemaps now and then.
    Late,
    /// Always today.
    Today,
    /// Always the first day.
    Never,
}

impl FromStr for SitemapFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<SitemapFormat, String> {
        Ok(match text {
            "urlset" => SitemapFormat::Urlset,
            "index" => SitemapFormat::Index,
            "gzip" => SitemapFormat::Gzip,
            "text" => SitemapFormat::Text,
            "rss" => SitemapFormat::Rss,
            "atom" => SitemapFormat::Atom,
            "feed" => SitemapFormat::Feed,
            "hidden" => SitemapFormat::Hidden,
            _ => {
                return Err(format!(
                    "unknown format {text:?}; use urlset, index, gzip, text, rss, atom, feed, hidden"
                ));
            }
        })
    }
}

impl FromStr for LastmodMode {
    type Err = String;

    fn from_str(text: &str) -> Result<LastmodMode, String> {
        match text {
            "true" => Ok(LastmodMode::True),
            "late" => Ok(LastmodMode::Late),
            "today" => Ok(LastmodMode::Today),
            "never" => Ok(LastmodMode::Never),
            _ => Err(format!("unknown dates {text:?}; use true, late, today, never")),
        }
    }
}

/// The format of a host; formats are assigned in turn.
fn format(web: &Procedural, host: u32) -> Option<SitemapFormat> {
    let formats = &web.config.sitemap_formats;
    let format = formats.get(host as usize % formats.len().max(1)).copied().unwrap_or(SitemapFormat::Urlset);
    web.config.sitemaps.then_some(format)
}

/// The path of a format's document.
fn place(format: SitemapFormat) -> &'static str {
    match format {
        SitemapFormat::Urlset | SitemapFormat::Index | SitemapFormat::Hidden => "/sitemap.xml",
        SitemapFormat::Gzip => "/sitemap.xml.gz",
        SitemapFormat::Text => "/sitemap.txt",
        SitemapFormat::Rss | SitemapFormat::Feed => "/feed.rss",
        SitemapFormat::Atom => "/feed.atom",
    }
}

/// The path in robots.txt.
pub fn named(web: &Procedural, host: u32) -> Option<&'static str> {
    format(web, host).filter(|f| !matches!(f, SitemapFormat::Feed | SitemapFormat::Hidden)).map(place)
}

/// The `<link>` in the head of the index page.
pub fn head(web: &Procedural, host: u32) -> &'static str {
    match format(web, host) {
        Some(SitemapFormat::Feed) => {
            "<link rel=\"alternate\" type=\"application/rss+xml\" href=\"/feed.rss\">"
        }
        _ => "",
    }
}

/// The document at a target, and its media type.
pub fn document(
    web: &Procedural,
    host: u32,
    target: &str,
    cycle: u32,
    names: &Authorities,
) -> Option<(&'static str, Vec<u8>)> {
    let format = format(web, host)?;
    let name = &names[host as usize];
    let every = |_: u32| true;
    if target == place(format) {
        return Some(match format {
            SitemapFormat::Urlset | SitemapFormat::Hidden => (XML, sitemap(web, host, cycle, name, every)),
            SitemapFormat::Index => (XML, index(name, &["/sitemaps/index.xml".into()])),
            SitemapFormat::Gzip => ("application/gzip", packed(&sitemap(web, host, cycle, name, every))),
            SitemapFormat::Text => ("text/plain", text(web, host, name)),
            SitemapFormat::Rss | SitemapFormat::Feed => ("application/rss+xml", rss(web, host, cycle, name)),
            SitemapFormat::Atom => ("application/atom+xml", atom(web, host, cycle, name)),
        });
    }
    let part = target.strip_prefix("/sitemaps/").filter(|_| format == SitemapFormat::Index)?;
    if part == "index.xml" {
        let parts: Vec<String> = (0..PARTS).map(|part| format!("/sitemaps/{part}.xml.gz")).collect();
        return Some((XML, index(name, &parts)));
    }
    let part: u32 = part.strip_suffix(".xml.gz")?.parse().ok().filter(|part| *part < PARTS)?;
    let own = sitemap(web, host, cycle, name, |page| page % PARTS == part);
    Some(("application/octet-stream", packed(&own)))
}

/// The cycle of a page's date.
fn dated(web: &Procedural, page: u32, cycle: u32) -> u32 {
    match web.config.lastmod {
        LastmodMode::True => web.changed_at(page, cycle),
        LastmodMode::Late => web.changed_at(page, cycle.saturating_sub(LATE)),
        LastmodMode::Today => cycle,
        LastmodMode::Never => 0,
    }
}

fn target(web: &Procedural, page: u32) -> String {
    web.address(page).target
}

fn sitemap(web: &Procedural, host: u32, cycle: u32, name: &str, is_in: impl Fn(u32) -> bool) -> Vec<u8> {
    let mut out = Vec::new();
    let pages = web.layout.pages_of(host).filter(|page| is_in(*page)).take(MAX_SITEMAP_URLS);
    push_sitemap(name, pages.map(|page| (target(web, page), date(dated(web, page, cycle)))), &mut out);
    out
}

fn index(name: &str, targets: &[String]) -> Vec<u8> {
    let entry = |target: &String| format!("<sitemap><loc>http://{name}{target}</loc></sitemap>\n");
    let entries: String = targets.iter().map(entry).collect();
    format!("<?xml version=\"1.0\"?>\n<sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n{entries}</sitemapindex>\n")
        .into_bytes()
}

fn text(web: &Procedural, host: u32, name: &str) -> Vec<u8> {
    let pages = web.layout.pages_of(host).take(MAX_SITEMAP_URLS);
    pages.map(|page| format!("http://{name}{}\n", target(web, page))).collect::<String>().into_bytes()
}

/// The links of a feed to its hub and to itself, in Atom's namespace with this prefix.
fn push_hub(web: &Procedural, prefix: &str, own: &str, out: &mut Vec<u8>) {
    let Some(hub) = &web.config.hub else { return };
    for (rel, href) in [("hub", hub.as_str()), ("self", own)] {
        out.extend_from_slice(format!("<{prefix}link rel=\"{rel}\" href=\"").as_bytes());
        push_escaped(href, out);
        out.extend_from_slice(b"\"/>\n");
    }
}

fn rss(web: &Procedural, host: u32, cycle: u32, name: &str) -> Vec<u8> {
    let mut out = b"<?xml version=\"1.0\"?>\n<rss version=\"2.0\"><channel><title>News</title>\n".to_vec();
    out.extend_from_slice(format!("<link>http://{name}/</link>\n").as_bytes());
    push_hub(web, "atom:", &format!("http://{name}{}", place(SitemapFormat::Rss)), &mut out);
    for page in web.layout.pages_of(host).take(FEED_ITEMS) {
        let date = httpdate::fmt_http_date(web.date(dated(web, page, cycle)));
        out.extend_from_slice(b"<item><link>http://");
        push_escaped(&format!("{name}{}", target(web, page)), &mut out);
        out.extend_from_slice(format!("</link><pubDate>{date}</pubDate></item>\n").as_bytes());
    }
    out.extend_from_slice(b"</channel></rss>\n");
    out
}

fn atom(web: &Procedural, host: u32, cycle: u32, name: &str) -> Vec<u8> {
    let mut out = b"<?xml version=\"1.0\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n".to_vec();
    push_hub(web, "", &format!("http://{name}{}", place(SitemapFormat::Atom)), &mut out);
    for page in web.layout.pages_of(host).take(FEED_ITEMS) {
        out.extend_from_slice(b"<entry><link href=\"http://");
        push_escaped(&format!("{name}{}", target(web, page)), &mut out);
        let date = date(dated(web, page, cycle));
        out.extend_from_slice(format!("\"/><updated>{date}T00:00:00Z</updated></entry>\n").as_bytes());
    }
    out.extend_from_slice(b"</feed>\n");
    out
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).and_then(|()| packed.finish()).expect("memory takes every byte")
}
