//! `recrawl repository verify --salvage OUT`: what can still be read, in a new data directory.

use super::new_folder;
use crate::command::{print, print_json, thousands};
use crate::failure::Failure;
use crate::settings::Settings;
use recrawl_repository::storage::{FileStorage, Storage};
use recrawl_repository::{LostRange, Salvaged};
use recrawl_types::CanonicalUrl;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

pub fn run(settings: &Settings, out: &Path, as_json: bool) -> Result<(), Failure> {
    let folder = &settings.data_dir;
    let from = FileStorage::existing(folder)
        .map_err(|e| Failure::Usage(format!("data directory {}: {e}", folder.display())))?;
    let to: Arc<dyn Storage> = Arc::new(new_folder(out, folder)?);
    let found = recrawl_repository::salvage(&from, &to).map_err(Failure::work)?;
    if as_json {
        print_json(&json(&found))?
    } else {
        text(&found, out, folder)?
    }
    if found.damage.is_empty() {
        return Ok(());
    }
    let (urls, lost) = (thousands(found.urls_only), thousands(found.lost));
    Err(Failure::Work(format!(
        "{}: damaged; {} holds what could be read: {} pages whole, {urls} as URLs alone, {lost} lost",
        folder.display(),
        out.display(),
        thousands(found.whole)
    )))
}

fn text(found: &Salvaged, out: &Path, from: &Path) -> Result<(), Failure> {
    found.damage.iter().try_for_each(|place| print(place.to_string()))?;
    if !found.by_manifest {
        let number = found.generation;
        print(format!("no manifest can be read: taken for committed is generation {number}, the newest"))?;
    }
    print(format!("generation    {}", found.generation))?;
    print(format!("saved whole   {} pages", thousands(found.whole)))?;
    print(format!("URLs alone    {} pages, as known and never visited", thousands(found.urls_only)))?;
    print(format!("lost          {} pages", thousands(found.lost)))?;
    for range in &found.lost_ranges {
        let to = range.to.as_deref().map_or_else(|| "the end".into(), url);
        print(format!("              {} from {} to before {to}", thousands(range.pages), url(&range.from)))?;
    }
    print(format!("reports       {}", thousands(found.reports)))?;
    print(format!("kept visits   {}", thousands(found.visits)))?;
    print(format!("links waiting {}", thousands(found.waiting)))?;
    print(format!(
        "To crawl on in {}, move hosts.sled, warc and formula.toml there from {}.",
        out.display(),
        from.display()
    ))
}

/// A key as people write it.
fn url(key: &[u8]) -> String {
    CanonicalUrl::from_key(key).map_or_else(|_| String::from_utf8_lossy(key).into_owned(), |u| u.to_string())
}

fn json(found: &Salvaged) -> Value {
    let damage: Vec<Value> =
        found.damage.iter().map(|d| json!({"file": d.file, "offset": d.offset, "what": d.what})).collect();
    let range = |range: &LostRange| json!({"from": url(&range.from), "to": range.to.as_deref().map(url), "pages": range.pages});
    json!({
        "generation": found.generation, "by_manifest": found.by_manifest, "whole": found.whole,
        "urls_only": found.urls_only, "lost": found.lost,
        "lost_ranges": found.lost_ranges.iter().map(range).collect::<Vec<_>>(), "reports": found.reports,
        "visits": found.visits, "waiting_links": found.waiting, "damage": damage,
    })
}
