//! Replays a recorded web: at cycle c every page has the content that it had at cycle c.
//!
//! Page groups are assigned to hosts by hash, so that the pages of a section stay together. The URL
//! path of a page is its `path`, percent-encoded. Recorded links reach only some of the pages, so
//! each host has an index page with all current pages, and a sitemap.

mod render;

use crate::procedural::Prose;
use crate::recording::{Recording, RecordingError, RecordingSource, seconds_of_date};
use crate::robots::HostRobots;
use crate::seed::mix_text;
use crate::web::{Authorities, PageAddress, Web, neighbours, push_escaped, push_sitemap};
use std::collections::HashMap;
use std::time::{Duration, SystemTime};

/// How to show links to pages that are not in the recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExternalLinks {
    /// Show their text and mention their target, so that no crawler of this web sends requests to
    /// the outside.
    #[default]
    Drop,
    /// Show them as recorded.
    Keep,
}

/// Configuration of a replay.
#[derive(Clone, Debug)]
pub struct ReplayConfig {
    /// The recordings, joined over their common dates.
    pub sources: Vec<RecordingSource>,
    /// Number of hosts to assign the groups to.
    pub hosts: u32,
    /// Handling of external links.
    pub external_links: ExternalLinks,
}

impl Default for ReplayConfig {
    fn default() -> Self {
        ReplayConfig {
            sources: vec![RecordingSource::Bundled],
            hosts: 16,
            external_links: ExternalLinks::Drop,
        }
    }
}

/// A replayed web.
pub struct ReplayedWeb {
    recording: Recording,
    external_links: ExternalLinks,
    addresses: Vec<PageAddress>,
    by_target: HashMap<String, u32>,
    /// Pages by the targets of recorded links: original URL or path.
    by_link: HashMap<String, u32>,
    by_host: Vec<Vec<u32>>,
    robots: HostRobots,
    /// Texts for recordings without contents.
    prose: Prose,
}

/// The path that every host forbids and that its index page links to.
const REFUSED: &str = "/private/";

impl ReplayedWeb {
    /// Reads the recordings.
    ///
    /// # Errors
    /// [`RecordingError`] names file and line.
    pub fn new(config: &ReplayConfig) -> Result<ReplayedWeb, RecordingError> {
        let recording = Recording::load(&config.sources)?;
        let hosts = config.hosts.max(1);
        let mut addresses = Vec::with_capacity(recording.pages.len());
        let mut by_target = HashMap::new();
        let mut by_link = HashMap::new();
        let mut by_host = vec![Vec::new(); hosts as usize];
        for (id, page) in recording.pages.iter().enumerate() {
            let id = id as u32;
            let group = if page.group.is_empty() { &page.path } else { &page.group };
            let host = (mix_text(0, group) % u64::from(hosts)) as u32;
            let target = target_of(&page.path);
            let is_taken = target == "/" || target == "/robots.txt" || target == "/sitemap.xml";
            if is_taken || target.starts_with(REFUSED) || by_target.insert(target.clone(), id).is_some() {
                return Err(RecordingError::SamePath(page.path.clone()));
            }
            by_host[host as usize].push(id);
            addresses.push(PageAddress { host, target });
            by_link.entry(page.path.clone()).or_insert(id);
        }
        // Whole URLs first; a URL with a fragment also matches without it.
        for (id, page) in recording.pages.iter().enumerate().filter(|(_, page)| !page.url.is_empty()) {
            by_link.entry(page.url.clone()).or_insert(id as u32);
        }
        for (id, page) in recording.pages.iter().enumerate() {
            if let Some((url, _)) = page.url.split_once('#') {
                by_link.entry(url.to_string()).or_insert(id as u32);
            }
        }
        Ok(ReplayedWeb {
            recording,
            external_links: config.external_links,
            addresses,
            by_target,
            by_link,
            by_host,
            robots: HostRobots::new(&[REFUSED], &[], None),
            prose: Prose::new(0),
        })
    }

    /// The replayed recording.
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// The page's text at this version, as Markdown.
    pub fn markdown(&self, page: u32, version: u32) -> String {
        match &self.recording.texts {
            Some(texts) => texts.text(page, version),
            None => self.invented(page, version),
        }
    }

    /// If only changes are recorded, generates a text that changes with them.
    fn invented(&self, page: u32, version: u32) -> String {
        const SENTENCES: u64 = 60;
        let id = u64::from(page);
        let mut text = Vec::new();
        for sentence in 0..SENTENCES {
            let is_edited = version > 0 && sentence % 20 == u64::from(version) % 20;
            let revision = if is_edited { u64::from(version) } else { 0 };
            self.prose.push_sentence([id, sentence + 1, revision], &mut text);
            if sentence % 6 == 5 {
                text.extend_from_slice(b"\n\n");
            }
        }
        String::from_utf8(text).expect("prose is ASCII")
    }

    /// The local target of a recorded link, with its fragment.
    fn local_link(&self, link: &str, names: &Authorities) -> Option<String> {
        let (whole, fragment) = link.split_at(link.find('#').unwrap_or(link.len()));
        let (page, fragment) = match self.by_link.get(link) {
            Some(&page) => (page, ""),
            None => (*self.by_link.get(whole)?, fragment),
        };
        let PageAddress { host, target } = &self.addresses[page as usize];
        Some(format!("http://{}{target}{fragment}", names[*host as usize]))
    }

    fn title(&self, page: u32) -> &str {
        let page = &self.recording.pages[page as usize];
        if page.title.is_empty() { &page.path } else { &page.title }
    }

    fn present(&self, host: u32, cycle: u32) -> impl Iterator<Item = u32> + '_ {
        let pages = &self.by_host[host as usize];
        pages.iter().copied().filter(move |&page| self.version(page, cycle).is_some())
    }
}

/// The path of a page in requests. Characters allowed by RFC 3986 stay; others are percent-encoded
/// in upper case, so that every crawler keeps the spelling.
fn target_of(path: &str) -> String {
    let mut target = String::from("/");
    for &byte in path.trim_start_matches('/').as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => target.push(char::from(byte)),
            b'-' | b'.' | b'_' | b'~' | b'/' | b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+'
            | b',' | b';' | b'=' | b':' | b'@' => target.push(char::from(byte)),
            _ => target.push_str(&format!("%{byte:02X}")),
        }
    }
    target
}

impl Web for ReplayedWeb {
    fn kind(&self) -> &'static str {
        "replay"
    }

    fn hosts(&self) -> u32 {
        self.by_host.len() as u32
    }

    fn pages(&self) -> u32 {
        self.addresses.len() as u32
    }

    fn last_cycle(&self) -> Option<u32> {
        Some(self.recording.dates.len() as u32 - 1)
    }

    fn find(&self, host: u32, target: &str) -> Option<u32> {
        self.by_target.get(target).copied().filter(|&page| self.addresses[page as usize].host == host)
    }

    fn address(&self, page: u32) -> PageAddress {
        self.addresses[page as usize].clone()
    }

    fn lifetime(&self, page: u32) -> (u32, Option<u32>) {
        let page = &self.recording.pages[page as usize];
        (page.first, Some(page.last))
    }

    fn version(&self, page: u32, cycle: u32) -> Option<u32> {
        self.recording.pages[page as usize].version(cycle)
    }

    fn changes(&self, page: u32, from: u32, to: u32) -> Vec<(u32, u32)> {
        let changes = &self.recording.pages[page as usize].changes;
        changes.iter().copied().filter(|&(at, _)| at > from && at <= to).collect()
    }

    fn changed_at(&self, page: u32, cycle: u32) -> u32 {
        self.recording.pages[page as usize].last_change(cycle).0
    }

    fn date(&self, cycle: u32) -> SystemTime {
        let date = &self.recording.dates[cycle as usize];
        let seconds = seconds_of_date(date).expect("dates were checked when they were read");
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn write_page(&self, page: u32, version: u32, notice: &str, names: &Authorities, out: &mut Vec<u8>) {
        let host = self.addresses[page as usize].host as usize;
        out.extend_from_slice(b"<!DOCTYPE html>\n<html>\n<head><meta charset=\"utf-8\"><title>");
        push_escaped(self.title(page), out);
        out.extend_from_slice(b"</title></head>\n<body>\n<nav><a href=\"/\">");
        push_escaped(&names[host], out);
        out.extend_from_slice(b"</a></nav>\n");
        out.extend_from_slice(notice.as_bytes());
        out.extend_from_slice(b"<main>\n");
        let markdown = self.markdown(page, version);
        let html = render::html(&markdown, self.external_links, |link| self.local_link(link, names));
        out.extend_from_slice(html.as_bytes());
        out.extend_from_slice(b"</main>\n</body>\n</html>\n");
    }

    fn write_index(&self, host: u32, cycle: u32, names: &Authorities, out: &mut Vec<u8>) {
        out.extend_from_slice(b"<!DOCTYPE html>\n<html>\n<head><meta charset=\"utf-8\"><title>");
        push_escaped(&names[host as usize], out);
        out.extend_from_slice(b"</title></head>\n<body>\n<main><h1>Pages</h1>\n<ul>\n");
        for page in self.present(host, cycle) {
            out.extend_from_slice(b"<li><a href=\"");
            push_escaped(&self.addresses[page as usize].target, out);
            out.extend_from_slice(b"\">");
            push_escaped(self.title(page), out);
            out.extend_from_slice(b"</a></li>\n");
        }
        out.extend_from_slice(b"</ul></main>\n<nav><ul>\n");
        for other in neighbours(host, self.hosts()) {
            let name = &names[other as usize];
            out.extend_from_slice(format!("<li><a href=\"http://{name}/\">{name}</a></li>\n").as_bytes());
        }
        out.extend_from_slice(b"</ul></nav>\n<footer><a href=\"/private/notes.html\">notes</a></footer>\n");
        out.extend_from_slice(b"</body>\n</html>\n");
    }

    fn sitemap(&self, _host: u32) -> Option<&'static str> {
        Some("/sitemap.xml")
    }

    fn hints(
        &self,
        host: u32,
        target: &str,
        cycle: u32,
        names: &Authorities,
    ) -> Option<(&'static str, Vec<u8>)> {
        if target != "/sitemap.xml" {
            return None;
        }
        let mut out = Vec::new();
        let entries = self.present(host, cycle).map(|page| {
            let date = &self.recording.dates[self.changed_at(page, cycle) as usize];
            (self.addresses[page as usize].target.clone(), date.clone())
        });
        push_sitemap(&names[host as usize], entries, &mut out);
        Some(("application/xml", out))
    }

    fn robots(&self, _host: u32) -> &HostRobots {
        &self.robots
    }
}

#[cfg(test)]
mod tests;
