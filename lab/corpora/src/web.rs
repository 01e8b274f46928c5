//! A corpus as one topic sees it: what each page scores, and what each link shows of its target.

use crate::corpus::{Corpus, CorpusLink, LinkKind};
use recrawl_focus::classifier::{Assessment, Classifier, PageText, PageWords, terms::Terms};
use recrawl_focus::evidence::LinkEvidence;
use recrawl_focus::words::{MAX_TEXT, Words};

/// A corpus, scored for one topic.
pub struct Web<'a> {
    /// The corpus.
    pub corpus: &'a Corpus,
    /// The verdict on each page.
    pub assessments: Vec<Assessment>,
    /// Evidence of the links of each page, in their order.
    pub evidence: Vec<Vec<LinkEvidence>>,
}

impl<'a> Web<'a> {
    /// Scores all pages and reads all links. URLs are read unless `hide_urls`; then groups are the links of one page.
    pub fn new(
        corpus: &'a Corpus,
        readings: &[PageWords],
        classifier: &dyn Classifier,
        terms: &Terms,
        hide_urls: bool,
        words: &mut Words,
    ) -> Web<'a> {
        let assessments = readings.iter().map(|reading| classifier.assess(reading)).collect();
        let mut read = |parent: usize, link: &CorpusLink| {
            let url = (!hide_urls).then(|| corpus.pages[link.to as usize].url.as_str());
            let framed = link.kind == LinkKind::Nav;
            let language = readings[parent].language;
            LinkEvidence::from_link(parent as u32, &link.anchor, url, framed, language, terms, words)
        };
        let evidence = corpus
            .links
            .iter()
            .enumerate()
            .map(|(parent, links)| links.iter().map(|link| read(parent, link)).collect())
            .collect();
        Web { corpus, assessments, evidence }
    }
}

/// Reads all pages of a corpus, with or without their URLs.
pub fn readings(corpus: &Corpus, hide_urls: bool, words: &mut Words) -> Vec<PageWords> {
    let read = |(number, page): (usize, &crate::corpus::CorpusPage)| {
        let url = (!hide_urls).then_some(page.url.as_str());
        let language = corpus.language(number as u32);
        PageWords::read(&PageText { url, language, title: &page.title, text: &page.text }, MAX_TEXT, words)
    };
    corpus.pages.iter().enumerate().map(read).collect()
}

#[cfg(test)]
mod tests;
