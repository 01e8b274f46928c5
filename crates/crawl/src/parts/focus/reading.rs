//! Judges a fetched page, and what each of its links lets expect.

use super::FocusRules;
use recrawl_extractor::{FoundLink, PageContent};
use recrawl_focus::evidence::LinkEvidence;
use recrawl_focus::live::{LiveModel, Parent};
use recrawl_focus::words::Language;
use recrawl_focus::{Assessment, PageText, PageWords, Words};
use recrawl_types::{CanonicalUrl, Expectation, Known, Verdict};
use xxhash_rust::xxh3::xxh3_64;

/// Judges the pages of a round.
pub struct FocusReader<'r> {
    rules: &'r FocusRules,
    model: LiveModel,
}

/// A judged page, of whose links expectations are asked.
pub struct JudgedPage {
    /// The verdict to keep.
    pub verdict: Verdict,
    parent: Parent,
    language: Language,
    /// Hash of the page's key.
    key: u32,
    /// Irrelevant pages in a row up to this one.
    tunnel: u8,
}

impl<'r> FocusReader<'r> {
    /// Reads with the model of the last commit.
    pub fn new(rules: &'r FocusRules, model: LiveModel) -> FocusReader<'r> {
        FocusReader { rules, model }
    }

    /// Judges a page; one without text, such as an image, is not relevant.
    pub fn judge(
        &self,
        url: &CanonicalUrl,
        known: &Known,
        content: Option<&PageContent>,
        words: &mut Words,
    ) -> JudgedPage {
        let text = url.as_text();
        let language = content.and_then(|content| content.language.as_deref());
        let mut judged = JudgedPage {
            verdict: Verdict::new(0.0, 0.0, 0.0, 0.0),
            parent: Parent { verdict: Assessment::default(), threshold: self.rules.config.threshold.0 },
            language: Language::OTHER,
            key: (xxh3_64(url.key()) >> 32) as u32,
            tunnel: known.expectation.map_or(0, |expectation| expectation.tunnel).saturating_add(1),
        };
        let Some(content) = content else { return judged };
        let title = content.title.as_deref().unwrap_or_default();
        let page = PageText { url: Some(&text), language, title, text: &content.text };
        let reading = PageWords::read(&page, self.rules.config.max_text.0 as usize, words);
        let verdict = self.rules.classifier().assess(&reading);
        let Assessment { relevance, genre, content, url } = verdict;
        judged.verdict = Verdict::new(relevance, genre, content, url.unwrap_or(0.0));
        judged.parent.verdict = verdict;
        judged.language = reading.language;
        if self.rules.is_relevant(judged.verdict.relevance()) {
            judged.tunnel = 0;
        }
        judged
    }

    /// The expectation that a link of a judged page gives of its target.
    pub fn expectation(&self, of: &JudgedPage, link: &FoundLink, words: &mut Words) -> Expectation {
        let FocusRules { terms, order, .. } = self.rules;
        let url = link.url.as_text();
        let shown =
            LinkEvidence::from_link(of.key, &link.anchor, Some(&url), link.framed, of.language, terms, words);
        let logit = order.found(&self.model, &of.parent, &shown);
        Expectation::new(logit, of.tunnel, (shown.group >> 32) as u32)
    }
}
