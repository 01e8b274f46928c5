//! A look at a page that no crawl has fetched: one round of a crawl in a folder of its own, by all rules of a crawl.

use crate::action::waiting;
use crate::texts::{ArchivedPage, extracted};
use recrawl_archive::answer::Answer;
use recrawl_crawl::admission::blocks::Blocks;
use recrawl_crawl::clock::NextRound;
use recrawl_crawl::contact_check;
use recrawl_crawl::crawl::Crawl;
use recrawl_crawl::cycle;
use recrawl_crawl::data_dir::is_begun;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::first_look;
use recrawl_crawl::operator::stopped::StoppedCrawl;
use recrawl_crawl::process::Process;
use recrawl_crawl::settings::Settings;
use recrawl_fetcher::system_clock;
use recrawl_types::{CanonicalUrl, ContentKind, HostState, HostTable, Origin, Size};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::absolute;
use std::sync::Arc;
use tempfile::TempDir;
use tracing::subscriber::NoSubscriber;

/// A page that was just fetched.
pub struct Seen {
    pub page: ArchivedPage,
    /// Removed with it.
    _folder: TempDir,
}

/// Fetches the page, within the rules of `settings` and the decisions of their crawl.
///
/// # Errors
/// Why it may not be fetched, or was not.
pub fn look(settings: &Settings, url: &CanonicalUrl) -> Result<Seen, Failure> {
    let host = refuse(settings, url)?;
    let folder = tempfile::tempdir()?;
    let there = alone(settings, folder.path());
    if contact_check::needs_look(settings, url) {
        // Such requests count, wherever they are made.
        fs::create_dir_all(&settings.data_dir)?;
        let count = absolute(settings.data_dir.join(first_look::FILE))?;
        symlink(count, there.data_dir.join(first_look::FILE))?;
    }
    let mut crawl = Crawl::open(there, std::slice::from_ref(url), 0, Process::quiet()?)?;
    // Delays and robots.txt go on where the crawl left them.
    host.map_or(Ok(()), |state| crawl.tables.store(&Origin::of(url), &state))?;
    // What the log of a crawl would say of this page, the caller says.
    tracing::subscriber::with_default(NoSubscriber::default(), || {
        cycle::round(&mut crawl, NextRound::OF_NEXT_CYCLE, std::slice::from_ref(url))
    })?;
    let record = crawl.repository.current().get(url).map_err(Failure::work)?;
    let visited = record.and_then(|(_, record)| record.visited);
    let Some(visited) = visited else {
        let why = crawl.live.errors().kinds().first().map(|(outcome, _)| format!(": {outcome}"));
        return Err(Failure::Work(format!("{url} was not fetched{}", why.unwrap_or_default())));
    };
    let is_redirect = visited.content.kind == ContentKind::Redirect;
    let there = Arc::new(crawl.settings.clone());
    drop(crawl);
    let page = ArchivedPage::of(there, url.clone(), Some(visited));
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
    Ok(Seen { page, _folder: folder })
}

/// The settings of a crawl of one page, in this folder.
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
pub fn refuse_type(settings: &Settings, url: &CanonicalUrl, answer: &Answer) -> Result<(), Failure> {
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
        if let Some(page) = waiting::reason(&decided, settings, &tables, url, system_clock()())? {
            return Err(Failure::Work(format!("{url} is not fetched now: {}", waiting::words(&page))));
        }
        host = tables.load(&Origin::of(url))?;
        if let Some(pattern) = Blocks::of(decided.blocks.keys()).cover(url) {
            return refused(format!("blocked by {pattern}"));
        }
        scope.refuse_taken_down(decided.taken_down);
    }
    scope.refuse(url).map_or(Ok(host), |refusal| refused(refusal.to_string()))
}
