//! `recrawl show`: what the archive holds of a page: text, body, headers, versions and their differences.

use super::{print, write_bytes};
use crate::cli::{ShowArgs, Where};
use crate::command::explain::unknown;
use crate::texts::{ArchivedPage, MAX_VERSIONS, Missing, Text, Version, media_type, unified};
use recrawl_archive::timestamp;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use std::sync::Arc;

/// Looks a page up in the last commit.
///
/// # Errors
/// When the URL is invalid or unknown, or the page was never fetched.
pub fn archived(at: &Where, url: &str) -> Result<ArchivedPage, Failure> {
    let mut settings = at.settings()?;
    let url =
        settings.rules.canonicalize(url).map_err(|e| Failure::Usage(format!("invalid URL {url}: {e}")))?;
    let repository = open_read::repository(&settings)?;
    let data_dir = settings.data_dir.clone();
    let decided = || open_read::decisions(&data_dir, || open_read::tables(&data_dir));
    let Some((_, record)) = repository.current().get(&url).map_err(Failure::work)? else {
        return Err(unknown(&mut settings, &decided()?, &open_read::tables(&data_dir), &url)?);
    };
    // Only of a page without a visit they say why.
    let taken_down = if record.visited.is_some() { Vec::new() } else { decided()?.taken_down };
    ArchivedPage::of(Arc::new(settings), url.clone(), record.visited, &taken_down)
        .map_err(|missing| failure(&url.to_string(), &missing))
}

/// Why a version cannot be shown.
fn failure(url: &str, missing: &Missing) -> Failure {
    Failure::Work(format!("{url}: {}", missing.why))
}

impl ArchivedPage {
    /// Why a version cannot be shown.
    pub fn failure(&self, missing: &Missing) -> Failure {
        failure(&self.url.to_string(), missing)
    }

    /// Version number `n`, from 1.
    fn version(&self, n: u32) -> Result<Version, Failure> {
        let mut known = 0;
        for version in self.versions().take((n as usize).min(MAX_VERSIONS)) {
            let version = version.map_err(|missing| match known {
                0 => self.failure(&missing),
                known => Failure::Work(format!("{}: version {}: {}", self.url, known + 1, missing.why)),
            })?;
            known += 1;
            if known == n {
                return Ok(version);
            }
        }
        Err(match known {
            0 => self.failure(&self.none(now())),
            _ if known as usize == MAX_VERSIONS => {
                Failure::Work(format!("{}: version {n}: only the last {MAX_VERSIONS} are shown", self.url))
            }
            _ => Failure::Work(format!("{}: version {n}: only {known} archived", self.url)),
        })
    }

    fn shown(&self, version: &Version) -> Result<Text, Failure> {
        self.text(version).map_err(|Missing { why, .. }| {
            Failure::Work(format!("{}: {why}; use --html or --headers", self.url))
        })
    }
}

/// The present time, in milliseconds since 1970.
pub fn now() -> u64 {
    recrawl_fetcher::system_clock()()
}

pub fn run(args: &ShowArgs) -> Result<(), Failure> {
    let page = archived(&args.at, &args.url)?;
    if args.list {
        return list(&page);
    }
    let version = page.version(args.version)?;
    if version.answer.is_cut {
        tracing::warn!("the body is longer than fetch.max_body and shown in part");
    }
    if args.html {
        return write_bytes(version.answer.document());
    }
    if args.headers {
        return print(version.headers().trim_end());
    }
    let text = page.shown(&version)?;
    if !args.diff {
        return print(text.text);
    }
    let before = page.version(args.version + 1)?;
    print(unified(&page.shown(&before)?, &text).trim_end())
}

/// A line for each version: number, time, status, media type, bytes, and where it lies.
fn list(page: &ArchivedPage) -> Result<(), Failure> {
    let mut known = 0;
    for version in page.versions().take(MAX_VERSIONS) {
        known += 1;
        let Version { at, answer } = match version {
            Ok(version) => version,
            Err(missing) if known == 1 => return Err(page.failure(&missing)),
            Err(missing) => return print(format!("{known:>4}  {}", missing.why)),
        };
        let (time, bytes) = (timestamp(answer.time() * 1000), answer.body.len());
        let more = if answer.is_cut { "+" } else { "" };
        let place = format!("{} {}", page.archive.files.name(at.file)?, at.offset);
        print(format!(
            "{known:>4}  {time}  {}  {bytes}{more} bytes  {}  {place}",
            answer.status(),
            media_type(&answer)
        ))?;
    }
    match known {
        0 => page.version(1).map(|_| ()),
        _ => Ok(()),
    }
}
