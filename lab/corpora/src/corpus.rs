//! A web of pages in memory, with what is known of each page: its genre, and the topics of its site.

mod read;

pub use read::{CorpusError, read_links, read_pages, read_sites, read_texts};

use std::collections::HashMap;
use std::io::BufRead;

/// Reads a part of a corpus into it.
pub type ReadPart = fn(Box<dyn BufRead>, &mut Corpus) -> Result<(), CorpusError>;

/// The files of a corpus, in the order in which they are read.
pub const PARTS: [(&str, ReadPart); 4] = [
    ("sites.tsv", read_sites),
    ("pages.tsv", read_pages),
    ("links.tsv", read_links),
    ("text.jsonl", read_texts),
];

/// Pages, their links and sites.
#[derive(Clone, Debug, Default)]
pub struct Corpus {
    /// Pages, numbered from 0.
    pub pages: Vec<CorpusPage>,
    /// The links of each page, in order.
    pub links: Vec<Vec<CorpusLink>>,
    /// Sites, numbered from 0.
    pub sites: Vec<CorpusSite>,
}

/// A page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CorpusPage {
    /// Its URL.
    pub url: String,
    /// Number of its site.
    pub site: u32,
    /// Its title.
    pub title: String,
    /// Its visible text.
    pub text: String,
    /// Its genre, as labelled.
    pub genre: String,
    /// Length of its source in characters.
    pub chars: u32,
}

/// A site.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CorpusSite {
    /// Its name.
    pub name: String,
    /// Its topics, as labelled.
    pub topics: Vec<String>,
    /// The tag of its language.
    pub language: String,
    /// Number of its home page.
    pub home: u32,
}

/// A link.
#[derive(Clone, Debug, PartialEq)]
pub struct CorpusLink {
    /// Number of the page that it leads to.
    pub to: u32,
    /// Where it stands.
    pub kind: LinkKind,
    /// Its visible text.
    pub anchor: String,
}

/// Where a link stands in its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// In the text.
    Body,
    /// In the site's menu, given once, from the home page.
    Nav,
    /// In a list that the site's generator is assumed to make. Its anchor is the page's title.
    List,
}

impl LinkKind {
    /// All kinds.
    pub const ALL: [LinkKind; 3] = [LinkKind::Body, LinkKind::Nav, LinkKind::List];

    /// Name in the file of links.
    pub fn name(self) -> &'static str {
        match self {
            LinkKind::Body => "body",
            LinkKind::Nav => "nav",
            LinkKind::List => "list",
        }
    }
}

/// Characters below which a syllabus is a stub that leads to a file.
pub const STUB_CHARS: u32 = 300;

impl Corpus {
    /// Whether each page has the genre while its site has the topic. Pages that count neither for nor against have no
    /// value: parts and stubs of syllabi, if syllabi are looked for.
    pub fn labels(&self, genre: &str, topic: &str) -> Vec<Option<bool>> {
        let label = |page: &CorpusPage| {
            let is_partial =
                page.genre == "syllabus-part" || page.genre == "syllabus" && page.chars < STUB_CHARS;
            let of_topic = || self.sites[page.site as usize].topics.iter().any(|t| t == topic);
            (genre != "syllabus" || !is_partial).then(|| page.genre == genre && of_topic())
        };
        self.pages.iter().map(label).collect()
    }

    /// Replaces the path of every URL by the number of its page, since labels of genres come from paths.
    pub fn hide_urls(&mut self) {
        for (number, page) in self.pages.iter_mut().enumerate() {
            let scheme = page.url.find("://").map_or(0, |at| at + 3);
            let end = page.url[scheme..].find('/').map_or(page.url.len(), |at| scheme + at);
            page.url.truncate(end);
            page.url.push_str(&format!("/{number}"));
        }
    }

    /// Empties the anchors of assumed links.
    pub fn hide_list_anchors(&mut self) {
        let assumed = self.links.iter_mut().flatten().filter(|link| link.kind == LinkKind::List);
        assumed.for_each(|link| link.anchor.clear());
    }

    /// The language tag of a page: that of its site.
    pub fn language(&self, page: u32) -> Option<&str> {
        let tag = &self.sites[self.pages[page as usize].site as usize].language;
        Some(tag.as_str()).filter(|tag| !tag.is_empty())
    }

    /// Home pages, in order of sites.
    pub fn homes(&self) -> Vec<u32> {
        self.sites.iter().map(|site| site.home).collect()
    }

    /// Number of pages by genre, for messages.
    pub fn genres(&self) -> HashMap<&str, usize> {
        let mut genres = HashMap::new();
        self.pages.iter().for_each(|page| *genres.entry(page.genre.as_str()).or_default() += 1);
        genres
    }

    /// Whether some site has the topic.
    pub fn has_topic(&self, topic: &str) -> bool {
        self.sites.iter().any(|site| site.topics.iter().any(|t| t == topic))
    }
}

#[cfg(test)]
mod tests;
