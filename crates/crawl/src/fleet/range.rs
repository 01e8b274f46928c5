//! The range of a partition in its data directory: a partition that was divided drops what the other one has.
//!
//! Both begin with all of it: the new one with a copy, the divided one with its vault as it was. Each drops what lies
//! outside of its range before it asks a host. So nothing is lost whatever stops them, and nothing is visited by both.

use crate::clock::SoFar;
use crate::failure::Failure;
use crate::open_read;
use crate::operator::removal::{self, Rewriting};
use crate::operator::stopped::StoppedCrawl;
use crate::part::{MeantPages, Takedown};
use crate::report::DIVISION;
use crate::report::cycle_totals::CycleTotals;
use crate::settings::Settings;
use crate::space::Space;
use crate::stored::{keep, kept};
use crate::{data_dir::TABLES, vault};
use recrawl_fleet::FleetMap;
use recrawl_repository::storage::Storage;
use recrawl_repository::{CarriedPages, CarriedWriter, CopyReader, CopyWriter, SledTables, copies};
use recrawl_types::{CanonicalUrl, DatedRound, Origin, Round, UrlRules};
use serde::{Deserialize, Serialize};

/// The range of which the data directory has the pages, and nothing else; in the tables.
pub(super) const RANGE: &str = "fleet_range";

/// The range to which a data directory was last cut.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct StoredRange {
    /// The first site; none if it begins with the first URL.
    begin: Option<String>,
    /// The first site behind it; none if it ends with the last URL.
    end: Option<String>,
    /// Pages before it was cut, and after that; none while it is being cut.
    pages: (u64, Option<u64>),
    /// The cycle of that.
    cycle: u32,
}

/// The pages of other partitions.
struct Foreign<'m> {
    map: &'m FleetMap,
    place: usize,
}

impl Foreign<'_> {
    fn has(&self, key: &[u8]) -> bool {
        self.map.place_of_key(key) != self.place
    }
}

/// Ranges are cut between sites, so all pages of a host lie on one side.
impl MeantPages for Foreign<'_> {
    fn matches(&self, url: &CanonicalUrl) -> bool {
        self.has(url.key())
    }
    fn matches_requisite(&self, url: &CanonicalUrl, _rules: &UrlRules) -> bool {
        self.has(url.key())
    }
    fn covers_host(&self, host: &str) -> bool {
        self.has(&CanonicalUrl::key_of_host(host))
    }
    fn touches_site(&self, site: &str) -> bool {
        self.covers_host(site)
    }
}

/// The result of cutting a data directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutPages {
    /// Pages that stay.
    pub kept: u64,
    /// Pages that another partition has.
    pub dropped: u64,
}

/// Drops from a stopped crawl what partitions other than `id` have by this map; none if there is nothing to drop. Decisions
/// stay: they are about all. Reports stay as well.
///
/// The order of writes: first a note of the range, then what a takedown removes, in its order, and at last that it is
/// done. Done again after a crash, it drops what is left. All steps keep what is within the range, so the directory is one from
/// which a crawl can go on at each of them; but only a finished one is opened.
///
/// # Errors
/// When a round is in progress, or something cannot be read or written.
pub fn keep_range(
    settings: &Settings,
    map: &FleetMap,
    id: u32,
    now: u64,
) -> Result<Option<CutPages>, Failure> {
    // Most fleets never change, and tables take long to open.
    if map.number() == 1 || !settings.data_dir.join("MANIFEST").exists() {
        return Ok(None);
    }
    let (place, begin, end) = sites_of(map, id)?;
    let foreign = Foreign { map, place };
    let stopped = StoppedCrawl::open(settings)?;
    let noted: StoredRange = kept(&stopped.tables, RANGE)?.unwrap_or_default();
    let is_noted = (&noted.begin, &noted.end) == (&begin, &end);
    if is_noted && noted.pages.1.is_some() {
        return Ok(None);
    }
    refuse_in_progress(&stopped)?;
    let StoppedCrawl { storage, mut repository, tables, .. } = stopped;
    let generation = repository.current();
    let mut so_far = SoFar::default();
    open_read::last_rounds(&repository)?.iter().for_each(|report| so_far.add(report));
    let before = if is_noted { noted.pages.0 } else { generation.pages() };
    let mut range = StoredRange { begin, end, pages: (before, None), cycle: so_far.cycle };
    keep(&tables, RANGE, &range)?;
    tables.flush()?;
    // As of a takedown: the vault must lose what is dropped here, with the next manifest.
    vault::will_purge(settings)?;
    Space::new(&storage, settings.config.storage.reserve).check_merge(&generation, 0, 0)?;
    let (warc, _) = removal::beside_pages(settings, &repository, &foreign, (now, false))?;
    if !warc.unreadable.is_empty() {
        tracing::warn!(
            "bodies of another partition may stay in damaged files: {}",
            warc.unreadable.join("; ")
        );
    }
    cut_copies(&*storage, &foreign)?;
    let last = generation.dated();
    let round = DatedRound { round: last.round.next(), ..last };
    // Void unless the commit follows.
    cut_carried(&*storage, round.round, &foreign)?;
    CycleTotals::hand_on(&tables, last.round, &|origin: &Origin| !foreign.covers_host(&origin.host))?;
    tables.flush()?;
    let page = |url: &CanonicalUrl, record| (!foreign.matches(url)).then_some(record);
    let link = |key: &[u8]| !foreign.has(key);
    removal::rewrite(&mut repository, &Rewriting { name: DIVISION, round, page: &page, link: &link }, now)?;
    removal::from_tables(&Takedown {
        tables: &tables,
        meant: &foreign,
        rules: &settings.rules,
        only_count: false,
    })?;
    let after = repository.current().pages();
    range.pages.1 = Some(after);
    keep(&tables, RANGE, &range)?;
    tables.flush()?;
    drop(tables.written_anew(&settings.data_dir.join(TABLES))?);
    Ok(Some(CutPages { kept: after, dropped: before.saturating_sub(after) }))
}

/// Notes that a data directory has all pages of a partition and no others, so many, in this cycle.
pub(super) fn note_whole(
    tables: &SledTables,
    map: &FleetMap,
    id: u32,
    (pages, cycle): (u64, u32),
) -> Result<(), Failure> {
    let (_, begin, end) = sites_of(map, id)?;
    keep(tables, RANGE, &StoredRange { begin, end, pages: (pages, Some(pages)), cycle })
}

/// The place of a partition, its first site, and the first site behind it: none at the ends of the URL order.
fn sites_of(map: &FleetMap, id: u32) -> Result<(usize, Option<String>, Option<String>), Failure> {
    let place = map.place_of(id).ok_or_else(|| Failure::Usage(format!("fleet: no partition {id}")))?;
    let begin_of = |place: usize| map.ranges().get(place).and_then(|range| range.begin.clone());
    Ok((place, begin_of(place), begin_of(place + 1)))
}

/// Refuses to change what has a round in progress: others may have its links already, and not those of pages that become
/// another partition's.
pub(super) fn refuse_in_progress(stopped: &StoppedCrawl) -> Result<(), Failure> {
    let StoppedCrawl { storage, repository, tables, .. } = stopped;
    match open_read::in_progress(&**storage, &repository.current(), Some(tables))? {
        None => Ok(()),
        Some(begun) => Err(Failure::Work(format!(
            "fleet: round {} of the partition is in progress; start a process that finishes it, and try again then",
            begun.round
        ))),
    }
}

/// Of the pages that a partition spent in a cycle, its part, if it was divided since.
pub(super) fn part_of(tables: &SledTables, cycle: u32, spent: u64) -> Result<u64, Failure> {
    let range: Option<StoredRange> = kept(tables, RANGE)?;
    Ok(match range {
        Some(StoredRange { pages: (before @ 1.., Some(after)), cycle: of, .. }) if of == cycle => {
            (u128::from(spent) * u128::from(after) / u128::from(before)) as u64
        }
        _ => spent,
    })
}

/// Documents of pages that another partition has: that one keeps them in step from now on.
fn cut_copies(storage: &dyn Storage, foreign: &Foreign<'_>) -> Result<(), Failure> {
    for name in copies(storage).map_err(Failure::work)? {
        let Some(mut copy) = CopyReader::open(storage, &name)? else { continue };
        let mut writer = CopyWriter::create(storage, &name, copy.head()).map_err(Failure::work)?;
        while let Some((url, held)) = copy.next_page()? {
            if !foreign.matches(&url) {
                writer.push(&url, &held).map_err(Failure::work)?;
            }
        }
        writer.finish(storage).map_err(Failure::work)?;
    }
    Ok(())
}

/// Pages that the last round did not reach, for the round behind the next one.
fn cut_carried(storage: &dyn Storage, round: Round, foreign: &Foreign<'_>) -> Result<(), Failure> {
    let Some(mut carried) = CarriedPages::open(storage, round)? else { return Ok(()) };
    let mut writer = CarriedWriter::create(storage, round.next()).map_err(Failure::work)?;
    while let Some(page) = carried.next_page()? {
        if !foreign.matches(&page.entry.url) {
            writer.push(&page).map_err(Failure::work)?;
        }
    }
    writer.finish().map_err(Failure::work).map(drop)
}
