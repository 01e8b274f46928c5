//! Removing the data of pages from a stopped crawl whose rounds are all committed: pages that are taken down, or that another
//! partition has.

use crate::failure::Failure;
use crate::operator::control::Control;
use crate::part::{Forget, InTables, MeantPages, Takedown};
use crate::parts::PARTS;
use crate::report::RoundReport;
use crate::settings::Settings;
use recrawl_archive::opener;
use recrawl_archive::takedown::{TakenDown, take_down};
use recrawl_notifications::store;
use recrawl_repository::{Generation, Malformed, OriginTable, Repository, is_untried};
use recrawl_types::{CanonicalUrl, DatedRound, PageRecord, UrlRules};
use recrawl_verifier::MergeReport;

/// Removed data of what is kept beside the pages.
#[derive(Default)]
pub(crate) struct Removed {
    pub visits: u64,
    pub host_rows: u64,
    pub messages: u64,
}

/// Overwrites the bodies of pages in the archive, and removes their visits and messages, or only counts all this.
pub(crate) fn beside_pages(
    settings: &Settings,
    repository: &Repository,
    meant: &dyn MeantPages,
    (now, only_count): (u64, bool),
) -> Result<(TakenDown, Removed), Failure> {
    let archive = opener::open(&settings.data_dir)?;
    // URLs in our WARC files are canonical.
    let is_address = |address: &str| {
        UrlRules::keep_all()
            .canonicalize(address)
            .is_ok_and(|url| meant.matches_requisite(&url, &settings.rules))
    };
    let warc = take_down(&*archive, &is_address, now, only_count)?;
    let is_page = |url: &CanonicalUrl| meant.matches(url);
    let visits = repository.remove_visits(&is_page, only_count).map_err(Failure::work)?;
    let messages = store::remove(&**repository.storage(), &repository.kept(), &is_page, only_count);
    let messages = messages.map_err(Failure::work)?;
    let host_rows =
        repository.remove_hosts(&|host| meant.covers_host(host), only_count).map_err(Failure::work)?;
    Ok((warc, Removed { visits, host_rows, messages }))
}

/// Removes data from the tables, or only counts it: that of hosts and of operators, and that of all parts.
pub(crate) fn from_tables(takedown: &Takedown<'_>) -> Result<InTables, Failure> {
    let Takedown { tables, meant, only_count, .. } = takedown;
    let mut removed = InTables {
        hosts: takedown.rows(OriginTable::Hosts)?,
        asked: Control::forget(tables, &|url| meant.matches(url), *only_count)?,
        ..InTables::default()
    };
    for part in PARTS {
        match part.forget {
            Forget::Rows(forget) => forget(takedown, &mut removed)?,
            Forget::Nothing(_) => {}
        }
    }
    Ok(removed)
}

/// A generation that is made from the current one without visits.
pub(crate) struct Rewriting<'r> {
    /// As reports name it.
    pub name: &'static str,
    /// Its round.
    pub round: DatedRound,
    /// The record that a page has in it; none for a page that goes.
    pub page: &'r dyn Fn(&CanonicalUrl, PageRecord) -> Option<PageRecord>,
    /// Does a waiting link stay, by the key of its URL?
    pub link: &'r dyn Fn(&[u8]) -> bool,
}

/// Commits such a generation. It is written from the first page to the last, since an unused part of an old file would still
/// contain the data.
pub(crate) fn rewrite(
    repository: &mut Repository,
    rewriting: &Rewriting<'_>,
    now: u64,
) -> Result<(), Failure> {
    let Rewriting { name, round, page, link } = rewriting;
    let generation = repository.current();
    let nothing = Generation::default();
    let mut next = repository.begin(&nothing, round.cycle).map_err(Failure::work)?;
    let mut merged = MergeReport::default();
    let mut records = generation.records();
    while let Some((_, key, record)) = records.next_record()? {
        let Some(record) = page(&CanonicalUrl::from_key(key).map_err(Failure::work)?, record) else {
            continue;
        };
        merged.pages += 1;
        merged.visited += u64::from(record.visited.is_some());
        merged.never_tried += u64::from(is_untried(&record.known));
        next.push(key, &record).map_err(Failure::work)?;
    }
    if let Some(mut links) = generation.waiting() {
        let mut key = Vec::new();
        while let Some(record) = links.next_record()? {
            recrawl_verifier::key_of_waiting(record, &mut key).map_err(|Malformed(what)| {
                Failure::Work(format!("a link that waits is malformed: {what}"))
            })?;
            if link(&key) {
                merged.links_waiting += 1;
                next.wait(record).map_err(Failure::work)?;
            }
        }
    }
    let report = RoundReport::without_visits(name, *round, now, &merged, now);
    repository.commit(next, &report.to_json()).map_err(Failure::work)
}
