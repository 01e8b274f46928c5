//! Makes documents of pages from the archive.

use super::local_index;
use crate::texts::{ArchivedVersion, MissingText, Versions, document_parts};
use recrawl_archive::ArchiveReader;
use recrawl_crawl::parts::deliver::{DeliverTarget, DocumentContent};
use recrawl_crawl::settings::Settings;
use recrawl_delivery::protocol::TargetProtocol;
use recrawl_delivery::{PageDocument, id};
use recrawl_extractor::{DocumentParts, Extracted, PageContent};
use recrawl_repository::Lookup;
use recrawl_types::{CanonicalUrl, Visited};

/// The pages of a commit, with their archive.
pub struct Documents<'s> {
    pub settings: &'s Settings,
    pub target: &'s DeliverTarget,
    pub archive: ArchiveReader,
    pub pages: Lookup<'s>,
}

impl Documents<'_> {
    /// The document of a page, from its last archived body.
    ///
    /// # Errors
    /// Why there is none.
    pub fn make(&mut self, version: u64, url: &CanonicalUrl) -> Result<PageDocument, MissingText> {
        let missing = |why: String| MissingText { none: "unreadable", why };
        let no_text = |why: &str| MissingText { none: "no_text", why: why.into() };
        let visited = self.pages.visited(url).map_err(|e| missing(e.to_string()))?;
        let Some(Visited { history, content }) = visited else {
            return Err(no_text("nothing of it is archived"));
        };
        let settings = self.settings;
        let mut versions = Versions::new(&self.archive, url, content.body(), settings.max_archived_body());
        let ArchivedVersion { answer, .. } = versions
            .in_force(content, settings)
            .unwrap_or_else(|| Err(no_text("nothing of it is archived")))?;
        let markdown = match self.target.content {
            DocumentContent::Markdown(extent) => Some(extent),
            DocumentContent::Text | DocumentContent::None => None,
        };
        let fields = match self.target.place.protocol {
            TargetProtocol::Index => &*local_index::FIELDS,
            _ => &self.target.fields,
        };
        let found = document_parts(&answer, url, settings, DocumentParts { markdown, fields });
        let is_text = markdown.is_none() || found.markdown.is_some();
        let (Extracted::Page(PageContent { title, language, text, .. }), true) = (found.page, is_text) else {
            return Err(no_text("its last archived body is no text"));
        };
        let text = match self.target.content {
            DocumentContent::Markdown(_) => found.markdown.map(|markdown| markdown.text),
            DocumentContent::Text => Some(text),
            DocumentContent::None => None,
        };
        Ok(PageDocument {
            id: id(url),
            version,
            url: url.to_string(),
            host: url.host().to_string(),
            title,
            language,
            content_type: answer.content_type(),
            status: answer.status(),
            fetched_at: answer.time(),
            changes: history.changes,
            text,
            fields: found.fields,
        })
    }
}
