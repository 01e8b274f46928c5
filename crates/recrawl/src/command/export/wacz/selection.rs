//! Which captures are exported.

use super::super::{decided_meanwhile, decisions};
use crate::cli::{ExportArgs, PastTime};
use crate::texts::{
    ArchivedRequisites, ArchivedVersion, MAX_VERSIONS, VersionPlace, VersionPlaces, Versions,
};
use recrawl_archive::records::FoundRecord;
use recrawl_archive::{ArchiveReader, ROUND, seconds_of};
use recrawl_crawl::admission::blocks::Blocks;
use recrawl_crawl::admission::decisions::Decisions;
use recrawl_crawl::admission::loading::is_inside;
use recrawl_crawl::admission::pattern::Pattern;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_crawl::settings::Settings;
use recrawl_repository::Generation;
use recrawl_types::{ArchivePosition, CanonicalUrl, UrlRules};
use std::collections::{HashMap, HashSet};
use xxhash_rust::xxh3::xxh3_64;

/// Which captures are exported.
pub struct CaptureSelection {
    meant: Option<Pattern>,
    /// Earliest time of a fetch, in seconds since 1970.
    since: u64,
    /// Each page as it was at this time, in seconds since 1970.
    at: Option<u64>,
    /// Hashes of the captures of pages and requisites at that time.
    captures: HashSet<u64>,
    /// By hashes of their URLs, the requisites of the selected pages, and whether these may ask inside addresses for them.
    /// Their captures are exported whenever they were made.
    requisites: HashMap<u64, bool>,
    rules: UrlRules,
    decided: Decisions,
    blocks: Blocks,
    /// Hashes of the URLs of pages that ask not to be archived.
    not_archived: HashSet<u64>,
}

impl CaptureSelection {
    /// By the options of the command, the operators' decisions, and the directives of pages as last seen.
    ///
    /// # Errors
    /// When an option is invalid, or decisions or pages cannot be read.
    pub fn new(
        settings: &Settings,
        args: &ExportArgs,
        generation: &Generation,
    ) -> Result<CaptureSelection, Failure> {
        let meant = match (&args.host, &args.prefix) {
            (Some(host), _) if host.contains("://") => {
                Some(Err(format!("--host {host}: not a host; use --prefix for a URL")))
            }
            (Some(host), _) => Some(Pattern::parse(host, &settings.rules).map_err(|e| e.to_string())),
            (None, Some(prefix)) => Some(Pattern::named_prefix(prefix)),
            (None, None) => None,
        };
        let meant = meant.transpose().map_err(Failure::Usage)?;
        let (since, at) = (args.since.map_or(0, PastTime::begin), args.until.map(PastTime::end));
        let decided = decisions(settings)?;
        let blocks = Blocks::from_patterns(decided.blocks.keys());
        let now = recrawl_fetcher::system_clock()();
        let mut not_archived = HashSet::new();
        let mut records = generation.records();
        while let Some((_, key, record)) = records.next_record().map_err(Failure::work)? {
            let Some(visited) = record.visited else { continue };
            if !settings.config.consent.admits_archive(&visited.content.consent, now) {
                let url = CanonicalUrl::from_key(key).map_err(Failure::work)?;
                not_archived.insert(hash(&url));
            }
        }
        let (captures, requisites) = Default::default();
        let rules = settings.rules.clone();
        Ok(CaptureSelection { meant, since, at, captures, requisites, rules, decided, blocks, not_archived })
    }

    /// Chooses the requisites of the selected pages, if not all pages are, and their captures at the time that is asked for.
    ///
    /// # Errors
    /// When a page or the table of requisites cannot be read.
    pub fn choose_captures(
        &mut self,
        settings: &Settings,
        generation: &Generation,
        archive: &ArchiveReader,
    ) -> Result<(), Failure> {
        if self.meant.is_none() && self.since == 0 && self.at.is_none() {
            return Ok(());
        }
        let tables = match settings.pages.need_requisites() {
            true => Some(open_read::tables(&settings.data_dir).map_err(|why| {
                Failure::Work(format!(
                    "cannot read which requisites the pages have: {why}, or export all pages"
                ))
            })?),
            false => None,
        };
        let requisites = tables.as_deref().map(|tables| ArchivedRequisites::new(tables, archive, settings));
        let max_body = settings.max_archived_body();
        let mut records = generation.records();
        while let Some((_, key, record)) = records.next_record().map_err(Failure::work)? {
            let Some(last) = record.visited.and_then(|visited| visited.content.newest_version()) else {
                continue;
            };
            let url = CanonicalUrl::from_key(key).map_err(Failure::work)?;
            if !self.admits_page(&url) {
                continue;
            }
            let Some(place) = self.last_place(archive, &url, last) else { continue };
            self.captures.extend(self.at.map(|_| capture(&url, place.time, place.round)));
            let Some(requisites) = &requisites else { continue };
            // At a time, of one version; else of each.
            let versions = Versions::new(archive, &url, Some(place.at), max_body);
            let versions =
                versions.map_while(Result::ok).take(if self.at.is_some() { 1 } else { MAX_VERSIONS });
            for ArchivedVersion { answer, .. } in
                versions.take_while(|version| version.answer.time() >= self.since)
            {
                requisites.of_version(&answer, &url, &mut |url, place, may_be_inside| match self.at {
                    Some(_) => _ = self.captures.insert(capture(url, place.time, place.round)),
                    None => *self.requisites.entry(hash(url)).or_default() |= may_be_inside,
                });
            }
        }
        Ok(())
    }

    /// The last selected capture of a page whose last capture this is.
    pub fn last_place(
        &self,
        archive: &ArchiveReader,
        url: &CanonicalUrl,
        last: ArchivePosition,
    ) -> Option<VersionPlace> {
        let mut places = VersionPlaces::new(archive, url, Some(last)).map_while(Result::ok);
        let place = places.find(|place| self.at.is_none_or(|at| place.time <= at))?;
        self.admits_time(place.time).then_some(place)
    }

    /// Are captures of this page exported?
    pub fn admits_page(&self, url: &CanonicalUrl) -> bool {
        self.meant.as_ref().is_none_or(|meant| meant.matches(url)) && self.may_pass(url)
    }

    /// May it be passed on, whatever was asked for?
    fn may_pass(&self, url: &CanonicalUrl) -> bool {
        self.blocks.cover(url).is_none()
            && !self.decided.taken_down.iter().any(|pattern| pattern.matches_requisite(url, &self.rules))
            && !self.not_archived.contains(&hash(url))
    }

    /// Is a capture of this time exported? In seconds since 1970.
    pub fn admits_time(&self, time: u64) -> bool {
        time >= self.since
    }

    /// Is this response or revisit exported?
    pub fn admits(&self, record: &FoundRecord) -> bool {
        let named = record.field("WARC-Target-URI").zip(record.field("WARC-Date"));
        let Some((url, date)) = named else { return false };
        let Ok(url) = UrlRules::keep_all().canonicalize(url) else { return false };
        let time = seconds_of(date);
        if self.at.is_some() {
            let round = record.field(ROUND).and_then(|round| round.parse().ok());
            let is_one = self.captures.contains(&capture(&url, time, round));
            return record.kind() == Some("response") && is_one && self.may_pass(&url);
        }
        if self.admits_time(time) && self.admits_page(&url) {
            return true;
        }
        let address = record.field("WARC-IP-Address").and_then(|address| address.parse().ok());
        let requisite = self.requisites.get(&hash(&url));
        requisite.is_some_and(|may_be_inside| *may_be_inside || !is_inside(&url, address))
            && self.may_pass(&url)
    }

    /// Refuses the export if operators have decided something about pages since.
    ///
    /// # Errors
    /// That they have, or that their decisions cannot be read.
    pub fn is_unchanged(&self, settings: &Settings) -> Result<(), Failure> {
        let now = decisions(settings)?;
        match now.blocks == self.decided.blocks && now.taken_down == self.decided.taken_down {
            true => Ok(()),
            false => Err(decided_meanwhile()),
        }
    }
}

fn hash(url: &CanonicalUrl) -> u64 {
    xxh3_64(url.as_text().as_bytes())
}

/// Of a URL at this time, in seconds since 1970. Two rounds may be in one second.
fn capture(url: &CanonicalUrl, time: u64, round: Option<u32>) -> u64 {
    xxh3_64(format!("{url} {time} {round:?}").as_bytes())
}
