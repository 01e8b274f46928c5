//! Where a page leads that redirects.

use recrawl_archive::answer::ArchivedAnswer;
use recrawl_archive::{ArchiveReader, opener};
use recrawl_crawl::admission::scope::ScopeRefusal;
use recrawl_crawl::settings::Settings;
use recrawl_types::{CanonicalUrl, ContentKind, Fingerprint, PageRecord};
use serde_json::{Value, json};

/// The target of a redirect.
pub struct RedirectTarget {
    url: CanonicalUrl,
    /// Why it is outside the scope, if it is.
    refusal: Option<ScopeRefusal>,
}

impl RedirectTarget {
    /// Where the page led at its last visit, by the archive, as records have no room for it; none if it did not redirect, or
    /// the archive does not tell. The settings have the scope with its sites.
    pub fn archived(url: &CanonicalUrl, record: &PageRecord, settings: &Settings) -> Option<RedirectTarget> {
        let content = record.visited.as_ref().map(|visited| &visited.content);
        let content = content.filter(|content| content.kind == ContentKind::Redirect)?;
        let archive = opener::open(&settings.data_dir).and_then(ArchiveReader::open).ok()?;
        let answer = ArchivedAnswer::read(&archive, content.body()?, 0).ok()?;
        let target = settings.rules.join(&url.to_url(), &answer.http_field("Location")?).ok()?;
        // What the request of a chain was sent to may be written in another way than the page.
        let is_it = Fingerprint::of_redirect(&target) == content.fingerprint;
        is_it.then(|| RedirectTarget { refusal: settings.scope.refuse(&target), url: target })
    }

    /// A line.
    pub fn line(&self) -> String {
        let why = self.refusal.as_ref().map_or(String::new(), |why| format!(", which is not visited: {why}"));
        format!("redirects   to {}{why}", self.url)
    }

    /// The document.
    pub fn json(&self) -> Value {
        json!({ "url": self.url.to_string(), "refused_by": self.refusal.as_ref().map(ToString::to_string) })
    }
}
