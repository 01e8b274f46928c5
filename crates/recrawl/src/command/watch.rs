//! `recrawl watch URL…`: shows what a page says now, and adds it to the configuration of a crawl that tells of changes.

mod additions;
mod destination;
mod revision;
mod targets;
mod wanted;

use super::{peek, print, print_json, print_labelled};
use crate::action;
use crate::cli::{HERE, WatchArgs};
use crate::daemon::Daemon;
use crate::exclusive_access::ExclusiveAccess;
use crate::notifier;
use crate::texts::{ArchivedPage, ArchivedVersion, extracted, titled_text};
use recrawl_console::view::Change;
use recrawl_crawl::config::operator_file;
use recrawl_crawl::config::units::Render;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::settings::{SecretUse, Settings};
use recrawl_extractor::{Extracted, media_type};
use recrawl_notifications::number::numbers;
use recrawl_types::CanonicalUrl;
use serde_json::{Value, json};
use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use wanted::{WatchConfig, wanted};

/// Lines and characters of a text that are shown.
const MAX_SHOWN: (usize, usize) = (12, 800);
/// About a text that the server did not send.
const RENDER: &str = "; if a script of the page shows it, add --render";
/// Numbers that are shown.
const MAX_SHOWN_NUMBERS: usize = 10;

pub fn run(args: &WatchArgs) -> Result<(), Failure> {
    let file = args.on.at.config.file().unwrap_or_else(|| PathBuf::from(HERE));
    let before = match operator_file::read_text(&file, operator_file::MAX_CONFIG) {
        Err(e) if e.kind() == ErrorKind::NotFound => None,
        read => Some(read.map_err(|e| Failure::Usage(format!("cannot read {}: {e}", file.display())))?),
    };
    let now = args.on.at.settings()?;
    let mut urls = Vec::new();
    for url in &args.urls {
        let url = now.named_page(url)?;
        if !urls.contains(&url) {
            urls.push(url);
        }
    }
    let WatchConfig { text, is_changed, told } = wanted(args, &now, &urls, before.as_deref(), &file)?;
    let written = text.map(|text| WrittenConfig::beside(&file, &text)).transpose()?;
    let settings = written.as_ref().map_or(Ok(now), |written| written.settings(args))?;
    let seen = {
        // A daemon sends nothing meanwhile, so that the hosts keep their delays, and has no page of a watch that fails.
        let _turn = ExclusiveAccess::alone(&settings.data_dir)?;
        let looked = peek::look(&settings, &urls)?;
        let seen = looked.pages.iter().map(|page| see(&settings, page, args));
        seen.collect::<Result<Vec<Value>, Failure>>()?
    };
    let done = match &written {
        None => "as it was  ",
        Some(_) if before.is_none() => "written    ",
        Some(_) if is_changed => "changed    ",
        Some(_) => "added to   ",
    };
    let is_written = written.is_some();
    written.map_or(Ok(()), WrittenConfig::take_place)?;
    let next = begin(args, &settings, &urls, is_written, &file)?;
    if args.on.json {
        let is_new = is_written && before.is_none();
        return print_json(&json!({
            "pages": seen, "configuration": file, "is_new": is_new, "changes": told, "next": next,
        }));
    }
    told.iter().try_for_each(print_labelled)?;
    print_labelled(format!("{done} {}", file.display()))?;
    print_labelled(format!("next        {next}"))
}

/// Adds the pages to the crawl. Returns what comes next.
fn begin(
    args: &WatchArgs,
    settings: &Settings,
    urls: &[CanonicalUrl],
    is_written: bool,
    file: &Path,
) -> Result<String, Failure> {
    let seeds = Change::AddSeeds { urls: urls.iter().map(ToString::to_string).collect() };
    let Some(daemon) = Daemon::in_charge(&settings.data_dir)? else {
        action::make(settings, &seeds)?;
        return Ok(format!("watch with `{}`", start(args, file)));
    };
    // First the rules, then the pages. An earlier watch may have written the rules, and not reached the daemon.
    let reloaded = daemon.make(&Change::Reload)?;
    let added = daemon.make(&seeds)?;
    Ok(if is_written { reloaded } else { added }.detail)
}

/// The command that starts the watch.
fn start(args: &WatchArgs, file: &Path) -> String {
    let config =
        if file == Path::new(HERE) { String::new() } else { format!(" --config {}", file.display()) };
    let data_dir = args.on.at.data_dir.as_ref().map(|dir| format!(" --data-dir {}", dir.display()));
    format!("recrawl serve{config}{}", data_dir.unwrap_or_default())
}

/// A configuration that is not in its place yet.
struct WrittenConfig {
    new: tempfile::NamedTempFile,
    /// Its place.
    file: PathBuf,
}

impl WrittenConfig {
    fn beside(file: &Path, text: &str) -> Result<WrittenConfig, Failure> {
        // A link stays a link.
        let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let cannot = |e: std::io::Error| Failure::Work(format!("cannot write {}: {e}", file.display()));
        let mut new =
            tempfile::Builder::new().prefix(".recrawl.toml.").tempfile_in(folder).map_err(cannot)?;
        new.write_all(text.as_bytes()).map_err(cannot)?;
        if let Ok(found) = fs::metadata(&file) {
            fs::set_permissions(new.path(), found.permissions()).map_err(cannot)?;
            let made = new.as_file().metadata().map_err(cannot)?;
            if (made.uid(), made.gid()) != (found.uid(), found.gid()) {
                // Its daemon may run as another user. Whoever may not give a file away keeps it.
                match chown(new.path(), Some(found.uid()), Some(found.gid())) {
                    Err(e) if e.kind() == ErrorKind::PermissionDenied => {}
                    done => done.map_err(cannot)?,
                }
            }
        }
        Ok(WrittenConfig { new, file })
    }

    /// Its settings, checked as at the start of a crawl.
    fn settings(&self, args: &WatchArgs) -> Result<Settings, Failure> {
        let settings = Settings::load(Some(self.new.path()), args.on.at.data_dir.as_deref(), SecretUse::Read);
        let checked = settings.and_then(|settings| notifier::check(&settings).map(|()| settings));
        // People know the file by its own name only.
        let [new, file] = [self.new.path(), &self.file].map(|path| path.display().to_string());
        checked.map_err(|failure| match failure {
            Failure::Usage(text) => Failure::Usage(text.replace(&new, &file)),
            Failure::Work(text) => Failure::Work(text.replace(&new, &file)),
        })
    }

    fn take_place(self) -> Result<(), Failure> {
        let WrittenConfig { new, file } = self;
        let cannot = |e: std::io::Error| Failure::Work(format!("cannot write {}: {e}", file.display()));
        new.as_file().sync_all().map_err(cannot)?;
        new.persist(&file).map(|_| ()).map_err(|e| cannot(e.error))
    }
}

/// Shows what the page says now.
fn see(settings: &Settings, page: &ArchivedPage, args: &WatchArgs) -> Result<Value, Failure> {
    let url = &page.url;
    let version = page.versions().next().ok_or_else(|| page.failure(&page.none(super::show::now())))?;
    let version = version.map_err(|missing| page.failure(&missing))?;
    let (title, text) = titled_text(&version, url, settings).map_err(|missing| page.failure(&missing))?;
    let found = numbers(&text);
    if !args.on.json {
        show(url, title.as_deref(), &text, &found, args.below)?;
    }
    let is_sent = settings.pages.rule_for(url).is_none_or(|rule| rule.render == Render::Never);
    let hint = if is_sent { RENDER } else { "" };
    let (consent, at) = (&page.visited.content.consent, version.answer.time() * 1000);
    let is_archived = settings.config.consent.admits_archive(consent, at);
    match &args.select {
        Some(_) if !has_elements(&version, url, settings) => Err(Failure::Work(format!(
            "{url}: --select chooses elements of HTML, which this is not, so nothing was written; leave it out"
        ))),
        Some(select) if text.trim().is_empty() => Err(Failure::Work(format!(
            "{url}: --select {select:?} finds no text, so nothing was written{hint}"
        ))),
        _ if args.below.is_some() && !is_archived => Err(Failure::Work(format!(
            "{url}: the page asks not to be archived (noindex or noarchive), so --below would never see a number of it, \
                 and nothing was written"
        ))),
        _ if args.below.is_some() && found.is_empty() => Err(Failure::Work(format!(
            "{url}: there is no number in the text, so nothing was written; use --select"
        ))),
        _ => {
            if text.trim().is_empty() {
                tracing::warn!(%url, "the page has no text, so only its coming and going will be told{hint}");
            }
            Ok(json!({"url": url.to_string(), "title": title, "text": text, "numbers": found}))
        }
    }
}

/// Is it a page of elements, and no feed?
fn has_elements(version: &ArchivedVersion, url: &CanonicalUrl, settings: &Settings) -> bool {
    let essence = media_type(version.answer.content_type().as_deref(), &version.answer.body);
    let is_listing = matches!(extracted(&version.answer, url, settings, None), Extracted::Listing(..));
    (essence.contains("html") || essence.ends_with("xml")) && !is_listing
}

fn show(
    url: &CanonicalUrl,
    title: Option<&str>,
    text: &str,
    found: &[f64],
    below: Option<f64>,
) -> Result<(), Failure> {
    print_labelled(format!("page        {url}"))?;
    print_labelled(format!("title       {}", title.unwrap_or("none")))?;
    let listed: Vec<String> = found.iter().take(MAX_SHOWN_NUMBERS).map(ToString::to_string).collect();
    let more = if found.len() > MAX_SHOWN_NUMBERS { ", …" } else { "" };
    let listed = if listed.is_empty() { "none".into() } else { listed.join(", ") };
    print_labelled(format!("numbers     {listed}{more}"))?;
    if let (Some(below), Some(first)) = (below, found.first())
        && *first < below
    {
        print_labelled(format!(
            "below       {first} is below {below} already: told at its next change, if it still is"
        ))?;
    }
    let (lines, characters) = MAX_SHOWN;
    let shown: String = text.trim().lines().take(lines).collect::<Vec<_>>().join("\n");
    let cut: String = shown.chars().take(characters).collect();
    let more = if cut.len() < text.trim().len() { "\n…" } else { "" };
    print(format!("\n{cut}{more}\n"))
}

#[cfg(test)]
mod tests;
