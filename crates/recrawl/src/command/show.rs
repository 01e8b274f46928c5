//! `recrawl show`: what the archive holds of a page: text, body, headers, versions and their differences.

use super::{print, write_bytes};
use crate::cli::{ShowArgs, Where};
use crate::command::explain::unknown;
use crate::texts::{Missing, Text, Version, Versions, none_before, text_of, unified};
use recrawl_archive::answer::Answer;
use recrawl_archive::{ArchiveFolder, timestamp};
use recrawl_crawl::data_dir::WARC;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_crawl::settings::Settings;
use recrawl_types::{CanonicalUrl, Visited};

/// Versions of a page that are read at most. Each is a read at another place of the disk.
const MAX_VERSIONS: usize = 1000;

/// A page that was visited, with its archive.
pub struct ArchivedPage {
    pub settings: Settings,
    pub url: CanonicalUrl,
    pub visited: Visited,
    archive: ArchiveFolder,
}

impl ArchivedPage {
    /// Looks the page up in the last commit.
    ///
    /// # Errors
    /// When the URL is invalid or unknown, or the page was never fetched.
    pub fn find(at: &Where, url: &str) -> Result<ArchivedPage, Failure> {
        let mut settings = at.settings()?;
        let url = settings
            .rules
            .canonicalize(url)
            .map_err(|e| Failure::Usage(format!("invalid URL {url}: {e}")))?;
        let repository = open_read::repository(&settings)?;
        let data_dir = settings.data_dir.clone();
        let Some((_, record)) = repository.current().get(&url).map_err(Failure::work)? else {
            let tables = open_read::tables(&data_dir);
            let decided = open_read::decisions(&data_dir, || tables.clone())?;
            return Err(unknown(&mut settings, &decided, &tables, &url)?);
        };
        let Some(visited) = record.visited else {
            let decided = open_read::decisions(&data_dir, || open_read::tables(&data_dir))?;
            let down = decided.taken_down.iter().find(|pattern| pattern.matches(&url));
            let why = match down {
                Some(pattern) => {
                    format!("taken down (recrawl takedown, {pattern}), so nothing of it is kept")
                }
                None => format!("never fetched; recrawl explain {url} says why"),
            };
            return Err(Failure::Work(format!("{url}: {why}")));
        };
        Ok(ArchivedPage { archive: ArchiveFolder::open(&data_dir.join(WARC))?, settings, url, visited })
    }

    /// Its versions, newest first.
    pub fn versions(&self) -> Versions<'_> {
        let max_body = self.settings.fetch.max_body;
        Versions::of(&self.archive, &self.url, self.visited.content.archive).with_bodies(max_body)
    }

    /// Why a version cannot be shown.
    pub fn failure(&self, missing: &Missing) -> Failure {
        Failure::Work(format!("{}: {}", self.url, missing.why))
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
            0 => self.failure(&none_before(None, &self.visited, &self.settings, now())),
            _ if known as usize == MAX_VERSIONS => {
                Failure::Work(format!("{}: version {n}: only the last {MAX_VERSIONS} are shown", self.url))
            }
            _ => Failure::Work(format!("{}: version {n}: only {known} archived", self.url)),
        })
    }

    fn text(&self, version: &Version) -> Result<Text, Failure> {
        let part = self.settings.pages.of(&self.url).map(|rule| &rule.part);
        let Version { at, answer } = version;
        let not_text = || {
            let what = match answer.http_field("Location").filter(|_| (300..400).contains(&answer.status())) {
                Some(target) => format!("a redirect to {target}"),
                None => format!("no text ({}); use --html", media_type(answer)),
            };
            Failure::Work(format!(
                "{}: the version of {} is {what}",
                self.url,
                timestamp(answer.time() * 1000)
            ))
        };
        let is_page = (200..300).contains(&answer.status());
        let text =
            Some(answer).filter(|_| is_page).and_then(|of| text_of(of, &self.url, &self.settings, part));
        Ok(Text { time: answer.time(), at: *at, text: text.ok_or_else(not_text)? })
    }
}

/// The present time, in milliseconds since 1970.
pub fn now() -> u64 {
    recrawl_fetcher::system_clock()()
}

pub fn run(args: &ShowArgs) -> Result<(), Failure> {
    let page = ArchivedPage::find(&args.at, &args.url)?;
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
        return print(String::from_utf8_lossy(version.answer.http_head()).trim_end().replace("\r\n", "\n"));
    }
    let text = page.text(&version)?;
    if !args.diff {
        return print(text.text);
    }
    let before = page.version(args.version + 1)?;
    print(unified(&page.text(&before)?, &text).trim_end())
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

fn media_type(answer: &Answer) -> &str {
    let declared = answer.http_field("Content-Type").and_then(|value| value.split(';').next());
    declared.map(str::trim).filter(|kind| !kind.is_empty()).unwrap_or("of no declared type")
}
