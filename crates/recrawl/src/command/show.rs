//! `recrawl show`: what the archive holds of a page: text, Markdown, body, headers, versions and their differences.

mod elsewhere;

use super::{print, print_json, write_bytes};
use crate::cli::{ShowArgs, Where};
use crate::fleet::{self, PageOwner};
use crate::report::explain::unknown;
use crate::report::versions;
use crate::texts::{
    ArchivedPage, ArchivedText, ArchivedVersion, FoundVersion, MAX_VERSIONS, MissingText, WhichVersion,
    markdown_of, media_type, unified,
};
use recrawl_archive::{place, timestamp};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_crawl::settings::Settings;
use recrawl_extractor::{MAX_MARKDOWN_BYTES, PageExtent};
use recrawl_types::{CanonicalUrl, PageRecord, Visited};
use std::sync::Arc;

/// Looks a page up in the last commit.
///
/// # Errors
/// When the URL is invalid or unknown, or the page was never fetched.
pub fn archived(at: &Where, url: &str) -> Result<ArchivedPage, Failure> {
    let (settings, url, record) = known(at, url)?;
    opened(settings, url, record.visited)
}

fn opened(settings: Settings, url: CanonicalUrl, visited: Option<Visited>) -> Result<ArchivedPage, Failure> {
    ArchivedPage::open(Arc::new(settings), url.clone(), visited)
        .map_err(|missing| failure(&url.to_string(), &missing))
}

fn known(at: &Where, url: &str) -> Result<(Settings, CanonicalUrl, PageRecord), Failure> {
    let settings = at.settings_or_daemon()?;
    fleet::refuse_foreign(&settings.data_dir, &settings.named_page(url)?)?;
    known_here(settings, url)
}

/// The same of a page that no other partition of a fleet has.
fn known_here(mut settings: Settings, url: &str) -> Result<(Settings, CanonicalUrl, PageRecord), Failure> {
    let repository = open_read::repository(&settings)?;
    let data_dir = settings.data_dir.clone();
    let decided = || open_read::decisions(&data_dir, || open_read::tables(&data_dir));
    let (url, found) = settings.known_page(url, &repository.current())?;
    let Some((_, record)) = found else {
        return Err(unknown(&mut settings, &decided()?, &open_read::tables(&data_dir), &url)?);
    };
    settings.scope.refuse_taken_down(decided()?.taken_down);
    Ok((settings, url, record))
}

/// Maximum bytes of a difference on a terminal.
pub const MAX_SHOWN_DIFF: usize = 1 << 20;

/// Why a version cannot be shown.
fn failure(url: &str, missing: &MissingText) -> Failure {
    Failure::Work(format!("{url}: {}", missing.why))
}

impl ArchivedPage {
    /// Why a version cannot be shown.
    pub fn failure(&self, missing: &MissingText) -> Failure {
        failure(&self.url.to_string(), missing)
    }

    /// A version, and where it is among the others.
    fn version(&self, which: WhichVersion) -> Result<(FoundVersion, ArchivedVersion), Failure> {
        let found = self.find(which, now()).map_err(|missing| self.failure(&missing))?;
        let version = self.read(found.place.at, self.settings.max_archived_body());
        Ok((found, version.map_err(|missing| self.failure(&missing))?))
    }

    fn shown(&self, version: &ArchivedVersion) -> Result<ArchivedText, Failure> {
        self.text(version).map_err(|missing| self.no_text(&missing))
    }

    fn no_text(&self, MissingText { why, .. }: &MissingText) -> Failure {
        Failure::Work(format!("{}: {why}; use --html or --headers", self.url))
    }

    fn print_markdown(&self, version: &ArchivedVersion, extent: PageExtent) -> Result<(), Failure> {
        let page =
            markdown_of(version, &self.url, &self.settings, extent).map_err(|why| self.no_text(&why))?;
        if page.is_cut {
            tracing::warn!("the Markdown is longer than {MAX_MARKDOWN_BYTES} bytes, and shown in part");
        }
        print(page.text.trim_end())
    }
}

/// The last version of a page as Markdown: its main content; before it, of when it is, and whether the page is there now.
///
/// # Errors
/// As [`archived`], or that it is no text.
pub fn last_markdown(at: &Where, url: &str) -> Result<(String, String), Failure> {
    let (settings, url, record) = known(at, url)?;
    let missing = match record.known.not_found {
        0 => "",
        _ => "; the page is not found any more",
    };
    let page = opened(settings, url, record.visited)?;
    let (found, version) = page.version(WhichVersion::Number(1))?;
    let written = markdown_of(&version, &page.url, &page.settings, PageExtent::Main);
    let text = written.map_err(|why| page.failure(&why))?.text;
    Ok((format!("(text of {}{missing})", timestamp(found.place.time * 1000)), text))
}

/// The present time, in milliseconds since 1970.
pub fn now() -> u64 {
    recrawl_fetcher::system_clock()()
}

pub fn run(args: &ShowArgs) -> Result<(), Failure> {
    let settings = args.at.settings_or_daemon()?;
    if let Some(owner) = PageOwner::elsewhere(&settings.data_dir, &settings.named_page(&args.url)?)? {
        return elsewhere::show(args, &owner);
    }
    let (settings, url, record) = known_here(settings, &args.url)?;
    let page = opened(settings, url, record.visited)?;
    if args.list && args.json {
        return print_json(&versions::all(&page, now()).map_err(Failure::work)?);
    }
    if args.list {
        return list(&page);
    }
    let which = args
        .until
        .map_or(WhichVersion::Number(args.version as usize), |time| WhichVersion::Until(time.end()));
    let (FoundVersion { number, place, newer }, version) = page.version(which)?;
    if args.until.is_some() && !args.json {
        let of = |time: u64| timestamp(time * 1000);
        let until =
            newer.map_or("the newest".into(), |newer| format!("replaced by that of {}", of(newer.time)));
        eprintln!("version {number}, of {}, {until}", of(place.time));
    }
    if version.answer.is_cut {
        tracing::warn!("the body is longer than fetch.max_body and render.max_document, and shown in part");
    }
    if args.json {
        return print_json(&versions::content(&page, number, &version));
    }
    if args.html {
        return write_bytes(version.answer.document());
    }
    if args.markdown {
        return page.print_markdown(&version, if args.whole { PageExtent::Whole } else { PageExtent::Main });
    }
    if args.headers {
        return print(version.headers().trim_end());
    }
    let text = page.shown(&version)?;
    if !args.diff {
        return print(text.text);
    }
    page.find(WhichVersion::Number(number + 1), now()).map_err(|MissingText { why, .. }| {
        Failure::Work(format!("{}: no version before {number} to compare it with: {why}", page.url))
    })?;
    let (_, before) = page.version(WhichVersion::Number(number + 1))?;
    let before = page.shown(&before)?;
    if before.text == text.text {
        let last = last_change(&page, number, &text.text);
        tracing::warn!("the texts of versions {number} and {} are the same; {last}", number + 1);
        return Ok(());
    }
    print(unified(&before, &text, MAX_SHOWN_DIFF).text.trim_end())
}

/// Which version before this one was the last with another text than the one before it.
fn last_change(page: &ArchivedPage, number: usize, text: &str) -> String {
    for (version, last) in page.versions().take(MAX_VERSIONS).skip(number).zip(number..) {
        let Ok(version) = version else { return "what is older cannot be read".into() };
        // A redirect, for example, has no text.
        if page.text(&version).is_ok_and(|older| older.text != text) {
            return format!("the last other text is that of version {}: try --version {last}", last + 1);
        }
    }
    "no other text is archived before".into()
}

/// A line for each version: number, time, status, media type, bytes, where it lies, and whether its text is that of the
/// version before.
fn list(page: &ArchivedPage) -> Result<(), Failure> {
    let (mut known, mut newer) = (0, None::<(String, Option<ArchivedText>)>);
    for version in page.versions().take(MAX_VERSIONS) {
        known += 1;
        let version = match version {
            Ok(version) => version,
            Err(missing) if known == 1 => return Err(page.failure(&missing)),
            Err(missing) => {
                newer.take().map_or(Ok(()), |(line, _)| print(line))?;
                return print(format!("{known:>4}  {}", missing.why));
            }
        };
        let text = page.text(&version).ok();
        if let Some((line, newer)) = newer.take() {
            let is_same = newer.zip(text.as_ref()).is_some_and(|(newer, older)| newer.text == older.text);
            print(if is_same { format!("{line}  same text as before") } else { line })?;
        }
        let ArchivedVersion { at, answer } = version;
        let (time, bytes) = (timestamp(answer.time() * 1000), answer.body.len());
        let more = if answer.is_cut { "+" } else { "" };
        let name = page.archive.files.name(at.file)?;
        let place = format!("{name} {}", place(&**page.archive.storage(), name, at.offset)?);
        let (status, kind) = (answer.status(), media_type(&answer));
        newer = Some((format!("{known:>4}  {time}  {status}  {bytes}{more} bytes  {kind}  {place}"), text));
    }
    newer.map_or(Ok(()), |(line, _)| print(line))?;
    match known {
        0 => page.version(WhichVersion::Number(1)).map(|_| ()),
        MAX_VERSIONS => print(format!("      only the last {MAX_VERSIONS} versions are shown")),
        _ => Ok(()),
    }
}
