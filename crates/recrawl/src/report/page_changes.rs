//! Changes of kept visits, newest first, with what the archive has of each.

use crate::texts::Archived;
use recrawl_archive::{ArchiveReader, opener};
use recrawl_console::view::{PageChange, PageChangeList, PageChangeQuery, Refusal};
use recrawl_crawl::admission::pattern::Pattern;
use recrawl_crawl::settings::Settings;
use recrawl_notifications::message::{ChangeContents, ToldChange};
use recrawl_notifications::newest::{ChangePlace, Sought};
use recrawl_notifications::{ChangeKind, ChangeNotice};
use recrawl_repository::storage::Storage;
use recrawl_repository::{Generation, StoredRounds};
use recrawl_types::CanonicalUrl;
use std::cell::OnceCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

/// A part of the list, as of a commit.
///
/// # Errors
/// When the query is invalid, no visits are kept, or they cannot be read.
pub fn list(
    settings: &Settings,
    committed: &Generation,
    storage: &Arc<dyn Storage>,
    ask: &PageChangeQuery,
) -> Result<PageChangeList, Refusal> {
    let kinds = kinds(&ask.kinds)?;
    let pages = ask.pages.iter().map(|text| Pattern::parse(text, &settings.rules));
    let pages: Vec<Pattern> = pages.collect::<Result<_, _>>().map_err(|e| {
        Refusal::invalid(
            "pages",
            e.to_string(),
            "write a host, a URL, or the beginning of one with * behind it",
        )
    })?;
    let unknown = || Refusal::invalid("cursor", "unknown cursor", "use the `next` of the previous response");
    let from: Option<ChangePlace> =
        ask.cursor.as_deref().map(str::parse).transpose().map_err(|_| unknown())?;
    let kept = StoredRounds::new(storage.clone(), committed.number());
    let first = kept.list().map_err(Refusal::failed)?.first().copied();
    if first.is_none() && settings.config.storage.keep_visits == 0 {
        return Err(Refusal::conflict(
            "no visits are kept, so no changes",
            "set storage.keep_visits above 0",
        ));
    }
    // A commit may just have removed the file.
    let mut visits = first.map(|round| kept.visits(round)).transpose().map_err(Refusal::failed)?.flatten();
    let visit =
        visits.as_mut().map(|visits| visits.next_entry()).transpose().map_err(Refusal::failed)?.flatten();
    let taken_down = settings.scope.taken_down();
    let wants = |url: &CanonicalUrl| {
        let is_asked = pages.is_empty() || pages.iter().any(|pattern| pattern.matches(url));
        is_asked && !taken_down.iter().any(|pattern| pattern.matches(url))
    };
    let sought = Sought { kinds: &kinds, since: ask.since, wants: &wants };
    let found = sought.newest(&kept, from.as_ref(), ask.limit).map_err(Refusal::failed)?;
    let opened = OnceCell::new();
    let archive = || -> io::Result<Rc<ArchiveReader>> {
        if let Some(archive) = opened.get() {
            return Ok(Rc::clone(archive));
        }
        let archive = Rc::new(ArchiveReader::open(opener::open(&settings.data_dir)?)?);
        Ok(opened.get_or_init(|| archive).clone())
    };
    let mut archived = Archived { settings, pages: committed.lookup(), archive: Box::new(archive) };
    let changes = found.changes.into_iter();
    Ok(PageChangeList {
        changes: changes.map(|change| row(archived.told(change, ask.max_difference))).collect(),
        next: found.next.map(|place| place.to_string()),
        since_cycle: first.map(|round| round.cycle.0),
        since_time: visit.map(|visit| visit.at),
    })
}

fn kinds(names: &[String]) -> Result<Vec<ChangeKind>, Refusal> {
    if names.is_empty() {
        return Ok(ChangeKind::OF_KNOWN.into());
    }
    let named = |name: &String| {
        let invalid = |what: String| Refusal::invalid("changes", what, "leave it out for all but `new`");
        ChangeKind::named(name).map_err(invalid)
    };
    names.iter().map(named).collect()
}

fn row(ToldChange { change, contents }: ToldChange) -> PageChange {
    let ChangeNotice { id, kind, url, cycle, round, time, status, reason, is_same: _ } = change;
    let ChangeContents { title, difference, is_cut, no_text, hint, .. } = contents;
    PageChange {
        id,
        kind: kind.name(),
        url: url.to_string(),
        cycle: cycle.0,
        round: round.0,
        time,
        status,
        reason,
        title,
        difference,
        is_cut,
        no_text,
        hint,
    }
}
