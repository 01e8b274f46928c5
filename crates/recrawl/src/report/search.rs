//! Answers of the full-text index, with what the archive has of each page.

use crate::deliverer::local_index::{folder, suspect};
use crate::texts::{ArchivedVersion, Versions, titled_text};
use recrawl_archive::{ArchiveReader, opener};
use recrawl_console::view::{Refusal, SearchList, SearchQuery, SearchResult, SearchSort, SnippetPart};
use recrawl_crawl::admission::pattern::Pattern;
use recrawl_crawl::parts::deliver::DeliverTarget;
use recrawl_crawl::settings::Settings;
use recrawl_delivery::protocol::TargetProtocol;
use recrawl_repository::{Generation, Lookup};
use recrawl_search::{Hit, SearchError, SnippetPiece, Snippets, TextQuery, search};
use recrawl_types::{CanonicalUrl, UrlRules};

/// Results that are read beyond those asked for: some may be of pages that were taken down a moment ago.
const MORE: usize = 100;

/// The best pages for a query.
///
/// # Errors
/// When the query is invalid, or there is no index, or it cannot be read.
pub fn answer(settings: &Settings, committed: &Generation, ask: &SearchQuery) -> Result<SearchList, Refusal> {
    let query = query(ask)?;
    let is_index = |target: &&DeliverTarget| matches!(target.place.protocol, TargetProtocol::Index);
    let Some(target) = settings.deliver.iter().find(is_index) else {
        return Err(Refusal::conflict(
            "no index is kept",
            "add to recrawl.toml: [[deliver]], name = \"index\", to = \"index\"",
        ));
    };
    let folder = folder(&settings.data_dir);
    let found = search(&folder, &query, ask.limit + MORE).map_err(|error| match error {
        SearchError::Absent => Refusal::NotFound(
            "there is no index yet: a daemon makes it after a round; without one, run `recrawl deliver send`"
                .into(),
        ),
        SearchError::Damaged(why) => {
            suspect(&folder);
            let name = &target.name;
            Refusal::Failed(format!(
                "the index is damaged: {why}; `recrawl deliver rebuild {name}` makes it anew"
            ))
        }
        other => Refusal::Failed(format!("{}: {other}", folder.display())),
    })?;
    let mut texts = ArchivedTexts {
        settings,
        pages: committed.lookup(),
        archive: opener::open(&settings.data_dir).and_then(ArchiveReader::open).map_err(Refusal::failed)?,
    };
    let (rules, taken_down) = (UrlRules::keep_all(), settings.scope.taken_down());
    let (mut snippets, mut results) = (Snippets::new(&query), Vec::new());
    for hit in found.hits {
        let Ok(url) = rules.canonicalize(&hit.url) else { continue };
        if results.len() < ask.limit && !taken_down.iter().any(|pattern| pattern.matches(&url)) {
            let pieces = texts.read(&url).map(|text| snippets.cut(&text, hit.language)).unwrap_or_default();
            let part = |SnippetPiece { text, is_match }| SnippetPart { text, is_match };
            let snippet = pieces.into_iter().map(part).collect();
            let Hit { url, title, fetched_at, .. } = hit;
            results.push(SearchResult { url, title, fetched_at, snippet });
        }
    }
    Ok(SearchList { results, total: found.total as u64, is_partial: found.is_partial })
}

fn query(ask: &SearchQuery) -> Result<TextQuery, Refusal> {
    let query = TextQuery::parse(&ask.words)
        .map_err(|e| Refusal::invalid("q", e.to_string(), "write a few words, \"several words\" or -word"))?;
    let host = ask.host.as_deref().filter(|host| *host != "*").map(Pattern::host).transpose();
    let host = host.map_err(|e| Refusal::invalid("host", e, "leave it out for all hosts"))?;
    let is_newest_first = ask.sort == SearchSort::Newest;
    let query = query.of_host(host.map(|host| host.to_string()).as_deref());
    Ok(query.since(ask.since).newest_first(is_newest_first))
}

/// The texts of pages.
struct ArchivedTexts<'a> {
    settings: &'a Settings,
    pages: Lookup<'a>,
    archive: ArchiveReader,
}

impl ArchivedTexts<'_> {
    /// The last archived text; none where the archive has it no more, or a page is not read.
    fn read(&mut self, url: &CanonicalUrl) -> Option<String> {
        let visited = self.pages.visited(url).ok().flatten()?;
        let max_body = self.settings.max_archived_body();
        let mut versions = Versions::new(&self.archive, url, visited.content.body(), max_body);
        let version: ArchivedVersion = versions.in_force(&visited.content, self.settings)?.ok()?;
        titled_text(&version, url, self.settings).ok().map(|(_, text)| text)
    }
}
