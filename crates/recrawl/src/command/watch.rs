//! `recrawl watch URL…`: shows what a page says now, and adds it to the configuration of a crawl that tells of changes.

mod additions;
mod destination;

use super::{fetch, peek, print, print_json, print_labelled};
use crate::action;
use crate::cli::{HERE, WatchArgs};
use crate::command::show::archived;
use crate::daemon::Daemon;
use crate::notifier;
use crate::texts::titled_text;
use additions::Additions;
use recrawl_console::view::Change;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::settings::Settings;
use recrawl_notifications::ChangeKind;
use recrawl_notifications::number::numbers;
use recrawl_types::CanonicalUrl;
use serde_json::{Value, json};
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Lines and characters of a text that are shown.
const MAX_SHOWN: (usize, usize) = (12, 800);
/// Numbers that are shown.
const MAX_SHOWN_NUMBERS: usize = 10;

pub fn run(args: &WatchArgs) -> Result<(), Failure> {
    let file = args.on.at.config.file().unwrap_or_else(|| PathBuf::from(HERE));
    let before = match fs::read_to_string(&file) {
        Err(e) if e.kind() == ErrorKind::NotFound => None,
        read => Some(read.map_err(|e| Failure::Usage(format!("cannot read {}: {e}", file.display())))?),
    };
    let now = args.on.at.settings()?;
    let urls = args.urls.iter().map(|url| now.named_page(url)).collect::<Result<Vec<_>, _>>()?;
    let text = added(args, &now, &urls, before.as_deref())?;
    let written = Written::beside(&file, &text)?;
    let settings = written.settings(args)?;
    let daemon = Daemon::in_charge(&settings.data_dir)?;
    let seen = urls.iter().map(|url| see(&settings, daemon.as_ref(), url, args));
    let seen: Vec<Value> = seen.collect::<Result<_, Failure>>()?;
    written.take_place(&file)?;
    let texts: Vec<String> = urls.iter().map(ToString::to_string).collect();
    let next = match &daemon {
        Some(daemon) => daemon.make(&Change::Reload)?.detail,
        None => {
            action::make(&settings, &Change::AddSeeds { urls: texts })?;
            format!("watch with `{}`", start(args, &file))
        }
    };
    let is_new = before.is_none();
    if args.on.json {
        return print_json(&json!({"pages": seen, "configuration": file, "is_new": is_new, "next": next}));
    }
    print_labelled(format!("{}  {}", if is_new { "written   " } else { "added to  " }, file.display()))?;
    print_labelled(format!("next        {next}"))
}

/// The command that starts the watch.
fn start(args: &WatchArgs, file: &Path) -> String {
    let config =
        if file == Path::new(HERE) { String::new() } else { format!(" --config {}", file.display()) };
    let data_dir = args.on.at.data_dir.as_ref().map(|dir| format!(" --data-dir {}", dir.display()));
    format!("recrawl serve{config}{}", data_dir.unwrap_or_default())
}

/// The configuration with the pages and whom to tell of them.
fn added(
    args: &WatchArgs,
    now: &Settings,
    urls: &[CanonicalUrl],
    before: Option<&str>,
) -> Result<String, Failure> {
    let is_known = |url: &&CanonicalUrl| now.config.pages.iter().any(|rule| rule.matches == url.to_string());
    let (known, news): (Vec<_>, Vec<_>) = urls.iter().partition(is_known);
    if let Some(url) = known.first().filter(|_| args.select.is_some() || args.to.is_none()) {
        return Err(Failure::Usage(format!(
            "{url} is watched already; change its [[pages]] in the configuration"
        )));
    }
    let to = args.to.as_deref().map(destination::keys).transpose();
    let changes = ChangeKind::OF_KNOWN.map(ChangeKind::name);
    let texts = |urls: &[&CanonicalUrl]| urls.iter().map(ToString::to_string).collect::<Vec<_>>();
    let additions = Additions {
        news: &texts(&news),
        urls: &texts(&urls.iter().collect::<Vec<_>>()),
        select: args.select.as_deref(),
        every: args.every.to_string(),
        changes: &changes,
        // Of a page that is gone there is no number.
        when: args.below.map(|below| format!("kind != 'changed' or number < {below}")),
        to: to.map_err(|e| Failure::Usage(format!("--to: {e}")))?,
        host: &urls[0].host(),
    };
    Ok(additions.to(before))
}

/// A configuration that is not in its place yet.
struct Written(tempfile::NamedTempFile);

impl Written {
    fn beside(file: &Path, text: &str) -> Result<Written, Failure> {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let cannot = |e: std::io::Error| Failure::Work(format!("cannot write {}: {e}", file.display()));
        let mut new =
            tempfile::Builder::new().prefix(".recrawl.toml.").tempfile_in(folder).map_err(cannot)?;
        new.write_all(text.as_bytes()).map_err(cannot)?;
        if let Ok(found) = fs::metadata(file) {
            fs::set_permissions(new.path(), found.permissions()).map_err(cannot)?;
        }
        Ok(Written(new))
    }

    /// Its settings, checked as at the start of a crawl.
    fn settings(&self, args: &WatchArgs) -> Result<Settings, Failure> {
        let settings = Settings::load(Some(self.0.path()), args.on.at.data_dir.as_deref())?;
        notifier::check(&settings)?;
        Ok(settings)
    }

    fn take_place(self, file: &Path) -> Result<(), Failure> {
        let cannot = |e: std::io::Error| Failure::Work(format!("cannot write {}: {e}", file.display()));
        self.0.as_file().sync_all().map_err(cannot)?;
        self.0.persist(file).map(drop).map_err(|e| cannot(e.error))
    }
}

/// Shows what the page says now. A daemon fetches it itself.
fn see(
    settings: &Settings,
    daemon: Option<&Daemon>,
    url: &CanonicalUrl,
    args: &WatchArgs,
) -> Result<Value, Failure> {
    let (archived_page, looked);
    let page = match daemon {
        Some(daemon) => {
            fetch::fetched_by(daemon, url)?;
            archived_page = archived(&args.on.at, &url.to_string())?;
            &archived_page
        }
        None => {
            looked = peek::look(settings, url)?;
            &looked.page
        }
    };
    let version = page.versions().next().ok_or_else(|| page.failure(&page.none(super::show::now())))?;
    let version = version.map_err(|missing| page.failure(&missing))?;
    let (title, text) = titled_text(&version, url, settings).map_err(|missing| page.failure(&missing))?;
    let found = numbers(&text);
    if !args.on.json {
        show(url, title.as_deref(), &text, &found)?;
    }
    match &args.select {
        Some(select) if text.trim().is_empty() => {
            Err(Failure::Work(format!("{url}: --select {select:?} finds no text, so nothing was written")))
        }
        _ if args.below.is_some() && found.is_empty() => Err(Failure::Work(format!(
            "{url}: there is no number in the text, so nothing was written; use --select"
        ))),
        _ => Ok(json!({"url": url.to_string(), "title": title, "text": text, "numbers": found})),
    }
}

fn show(url: &CanonicalUrl, title: Option<&str>, text: &str, found: &[f64]) -> Result<(), Failure> {
    print_labelled(format!("page        {url}"))?;
    print_labelled(format!("title       {}", title.unwrap_or("none")))?;
    let listed: Vec<String> = found.iter().take(MAX_SHOWN_NUMBERS).map(ToString::to_string).collect();
    let more = if found.len() > MAX_SHOWN_NUMBERS { ", …" } else { "" };
    let listed = if listed.is_empty() { "none".into() } else { listed.join(", ") };
    print_labelled(format!("numbers     {listed}{more}"))?;
    let (lines, characters) = MAX_SHOWN;
    let shown: String = text.trim().lines().take(lines).collect::<Vec<_>>().join("\n");
    let cut: String = shown.chars().take(characters).collect();
    let more = if cut.len() < text.trim().len() { "\n…" } else { "" };
    print(format!("\n{cut}{more}\n"))
}

#[cfg(test)]
mod tests;
