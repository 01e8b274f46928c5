//! A look at pages that no crawl has fetched: one round of a crawl in a folder of its own, by all rules of a crawl.

use crate::action::waiting;
use crate::converter::Commands;
use crate::texts::{ArchivedPage, extracted};
use recrawl_archive::answer::ArchivedAnswer;
use recrawl_crawl::admission::blocks::Blocks;
use recrawl_crawl::clock::RoundToRun;
use recrawl_crawl::contact_check;
use recrawl_crawl::crawl::Crawl;
use recrawl_crawl::cycle;
use recrawl_crawl::data_dir::is_begun;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::first_look;
use recrawl_crawl::operator::stopped::StoppedCrawl;
use recrawl_crawl::process::ProgramServices;
use recrawl_crawl::settings::Settings;
use recrawl_fetcher::system_clock;
use recrawl_types::{CanonicalUrl, ContentKind, HostState, HostTable, Origin, Size, Visited};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::absolute;
use std::sync::Arc;
use tempfile::TempDir;
use tracing::subscriber::NoSubscriber;

/// Pages that were just fetched.
pub struct PeekedPages {
    pub pages: Vec<ArchivedPage>,
    /// Removed with it.
    _folder: TempDir,
}

/// Fetches the pages, within the rules of `settings` and the decisions of their crawl: all in one round, so that the delays
/// of their hosts hold between them.
///
/// # Errors
/// Why one may not be fetched, or was not.
pub fn look(settings: &Settings, urls: &[CanonicalUrl]) -> Result<PeekedPages, Failure> {
    let hosts = urls.iter().map(|url| refuse(settings, url)).collect::<Result<Vec<_>, _>>()?;
    let folder = tempfile::tempdir()?;
    let mut there = alone(settings, folder.path());
    there.config.cycle.discovery_min = urls.len() as u64;
    if urls.iter().any(|url| contact_check::needs_look(settings, url)) {
        // Such requests count, wherever they are made.
        fs::create_dir_all(&settings.data_dir)?;
        let count = absolute(settings.data_dir.join(first_look::FILE))?;
        symlink(count, there.data_dir.join(first_look::FILE))?;
    }
    let process = ProgramServices { converter: Arc::new(Commands), ..ProgramServices::quiet()? };
    let mut crawl = Crawl::open(there, urls, 0, process)?;
    // Delays and robots.txt go on where the crawl left them.
    for (url, state) in urls.iter().zip(hosts) {
        state.map_or(Ok(()), |state| crawl.tables.store(&Origin::from_url(url), &state))?;
    }
    // What the log of a crawl would say of these pages, the caller says.
    tracing::subscriber::with_default(NoSubscriber::default(), || {
        cycle::round(&mut crawl, RoundToRun::OF_NEXT_CYCLE, urls)
    })?;
    let there = Arc::new(crawl.settings.clone());
    let visited = urls.iter().map(|url| visited(&crawl, url)).collect::<Result<Vec<_>, _>>()?;
    drop(crawl);
    let pages = urls.iter().zip(visited).map(|(url, visited)| page_of(settings, &there, url, visited));
    Ok(PeekedPages { pages: pages.collect::<Result<_, _>>()?, _folder: folder })
}

/// A page as its visit left it.
fn visited(crawl: &Crawl, url: &CanonicalUrl) -> Result<Visited, Failure> {
    let record = crawl.repository.current().get(url).map_err(Failure::work)?;
    record.and_then(|(_, record)| record.visited).ok_or_else(|| {
        let errors = crawl.live.errors();
        let own = errors.last().find(|missed| missed.url == *url).map(|missed| missed.outcome);
        let outcome = own.or_else(|| errors.kinds().first().map(|(outcome, _)| *outcome));
        let why = outcome.map(|outcome| format!(": {outcome}"));
        Failure::Work(format!("{url} was not fetched{}", why.unwrap_or_default()))
    })
}

/// A page that was visited, unless it is none that the crawl would read.
fn page_of(
    settings: &Settings,
    there: &Arc<Settings>,
    url: &CanonicalUrl,
    visited: Visited,
) -> Result<ArchivedPage, Failure> {
    let is_redirect = visited.content.kind == ContentKind::Redirect;
    let page = ArchivedPage::open(there.clone(), url.clone(), Some(visited));
    let page = page.map_err(|missing| Failure::Work(format!("{url}: {}", missing.why)))?;
    if is_redirect {
        let version = page.versions().next().and_then(Result::ok);
        let target =
            version.and_then(|version| version.answer.http_field("Location").map(|to| format!(", to {to}")));
        let target = target.unwrap_or_default();
        return Err(Failure::Work(format!("{url} redirects{target}: name the page that it leads to")));
    }
    if let Some(Ok(version)) = page.versions().next() {
        refuse_type(settings, url, &version.answer)?;
    }
    Ok(page)
}

/// The settings of a crawl of some pages, in this folder.
fn alone(settings: &Settings, folder: &std::path::Path) -> Settings {
    let mut there = settings.clone();
    there.data_dir = folder.to_owned();
    (there.is_measured, there.loop_rules, there.focus) = (false, None, None);
    // The answer tells its media type, also where no crawl would read it.
    there.scope = there.scope.of_all_types();
    there.notify.clear();
    there.promises.clear();
    let config = &mut there.config;
    config.cycle.fill = false;
    config.hints.sitemaps = false;
    config.storage.archive = true;
    config.storage.reserve = Size(0);
    config.storage.vault.clear();
    // The folder is no archive: it is removed when the page was shown.
    (config.consent.noindex, config.consent.noarchive) = (false, false);
    there
}

/// Refuses an answer whose media type the crawl leaves out.
///
/// # Errors
/// The media type.
pub fn refuse_type(settings: &Settings, url: &CanonicalUrl, answer: &ArchivedAnswer) -> Result<(), Failure> {
    let extracted = extracted(answer, url, settings, None);
    let refused = settings.scope.refuse_type(answer.content_type().as_deref(), &answer.body, &extracted);
    refused.map_or(Ok(()), |essence| {
        Err(Failure::Usage(format!("{url}: its media type, {essence}, is not in scope.types")))
    })
}

/// Refuses what the crawl would not fetch, or not now. Returns the state of the page's host, if the crawl knows it.
fn refuse(settings: &Settings, url: &CanonicalUrl) -> Result<Option<HostState>, Failure> {
    let mut host = None;
    let refused = |why: String| Err(Failure::Usage(format!("{url}: {why}")));
    let mut scope = settings.scope_with_seed(url);
    if is_begun(&settings.data_dir) {
        let StoppedCrawl { tables, decided, .. } = StoppedCrawl::begin(settings)?;
        if let Some(page) = waiting::reason(&decided, settings, &tables, url, system_clock()(), None)? {
            return Err(Failure::Work(format!("{url} is not fetched now: {}", waiting::words(&page))));
        }
        host = tables.load(&Origin::from_url(url))?;
        if let Some(pattern) = Blocks::from_patterns(decided.blocks.keys()).cover(url) {
            return refused(format!("blocked by {pattern}"));
        }
        scope.refuse_taken_down(decided.taken_down);
    }
    scope.refuse(url).map_or(Ok(host), |refusal| refused(refusal.to_string()))
}
