//! Which captures are exported.

use super::super::{decided_meanwhile, decisions};
use crate::cli::ExportArgs;
use crate::cli::since_1970;
use recrawl_crawl::admission::blocks::Blocks;
use recrawl_crawl::admission::decisions::Decisions;
use recrawl_crawl::admission::pattern::Pattern;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::settings::Settings;
use recrawl_repository::Generation;
use recrawl_types::{CanonicalUrl, UrlRules};
use std::collections::HashSet;
use xxhash_rust::xxh3::xxh3_64;

/// Which captures are exported.
pub struct Selection {
    meant: Option<Pattern>,
    /// Earliest time of a fetch, in seconds since 1970.
    since: u64,
    decided: Decisions,
    blocks: Blocks,
    /// Hashes of the URLs of pages that ask not to be archived.
    not_archived: HashSet<u64>,
}

impl Selection {
    /// By the options of the command, the operators' decisions, and the directives of pages as last seen.
    ///
    /// # Errors
    /// When an option is invalid, or decisions or pages cannot be read.
    pub fn new(
        settings: &Settings,
        args: &ExportArgs,
        generation: &Generation,
    ) -> Result<Selection, Failure> {
        let meant = match (&args.host, &args.prefix) {
            (Some(host), _) if host.contains("://") => {
                Some(Err(format!("--host {host}: not a host; use --prefix for a URL")))
            }
            (Some(host), _) => Some(Pattern::parse(host, &settings.rules).map_err(|e| e.to_string())),
            (None, Some(prefix)) => Some(Pattern::named_prefix(prefix)),
            (None, None) => None,
        };
        let meant = meant.transpose().map_err(Failure::Usage)?;
        let since = args.since.as_deref().map(day_or_time).transpose()?.unwrap_or(0);
        let decided = decisions(settings)?;
        let blocks = Blocks::of(decided.blocks.keys());
        let now = recrawl_fetcher::system_clock()();
        let mut not_archived = HashSet::new();
        let mut records = generation.records();
        while let Some((_, key, record)) = records.next_record().map_err(Failure::work)? {
            let Some(visited) = record.visited else { continue };
            if !settings.config.consent.admits_archive(&visited.content.consent, now) {
                let url = CanonicalUrl::from_key(key).map_err(Failure::work)?;
                not_archived.insert(xxh3_64(url.as_text().as_bytes()));
            }
        }
        Ok(Selection { meant, since, decided, blocks, not_archived })
    }

    /// Are captures of this page exported?
    pub fn admits_page(&self, url: &CanonicalUrl) -> bool {
        self.meant.as_ref().is_none_or(|meant| meant.matches(url))
            && self.blocks.cover(url).is_none()
            && !self.decided.taken_down.iter().any(|pattern| pattern.matches(url))
            && !self.not_archived.contains(&xxh3_64(url.as_text().as_bytes()))
    }

    /// Is a capture of this time exported? In seconds since 1970.
    pub fn admits_time(&self, time: u64) -> bool {
        time >= self.since
    }

    /// Is the capture of this URL and `WARC-Date` exported?
    pub fn admits(&self, url: &str, date: &str) -> bool {
        let time = since_1970(date).map_or(0, |time| time.as_secs());
        let url = UrlRules::keep_all().canonicalize(url);
        self.admits_time(time) && url.is_ok_and(|url| self.admits_page(&url))
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

fn day_or_time(text: &str) -> Result<u64, Failure> {
    since_1970(text).map(|time| time.as_secs()).ok_or_else(|| {
        Failure::Usage(format!("--since {text}: write a day (2026-01-31) or a time (2026-01-31T12:00:00Z)"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_begins_at_midnight_and_anything_else_is_refused() {
        assert_eq!(day_or_time("1970-01-02").unwrap(), 86_400);
        assert_eq!(day_or_time("1970-01-02T00:00:01Z").unwrap(), 86_401);
        for wrong in ["", "yesterday", "2026-13-01", "20260131", "2026-01-31 12:00"] {
            assert!(day_or_time(wrong).unwrap_err().to_string().contains("2026-01-31T12:00:00Z"), "{wrong}");
        }
    }
}
