//! `recrawl repository verify --salvage OUT`: saves readable data to a new data directory.

use super::{archive, new_folder};
use crate::command::{counted, print, print_json, thousands};
use recrawl_archive::cap::Bodies;
use recrawl_archive::verify;
use recrawl_crawl::data_dir::TABLES;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_crawl::parts::repeated_links;
use recrawl_crawl::settings::{Settings, ranking};
use recrawl_repository::storage::{FileStorage, Storage};
use recrawl_repository::{Damage, LostRange, Repository, Salvaged, SledTables, TablesFound};
use recrawl_types::{CanonicalUrl, PageRecord};
use serde_json::{Value, json};
use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

pub fn run(settings: &Settings, out: &Path, as_json: bool) -> Result<(), Failure> {
    let folder = &settings.data_dir;
    let from = FileStorage::existing(folder).map_err(|e| recrawl_crawl::data_dir::cannot_open(folder, &e))?;
    let to: Arc<dyn Storage> = Arc::new(new_folder(out, Some(folder))?);
    // A body whose file is not there is not saved, but verifying tells of it.
    let (archive, may_be_gone) = archive(settings)?;
    let bodies = Bodies::in_storage(&*archive)?;
    let lost_bodies = Cell::new(0);
    let mend = |key: &[u8], record: &mut PageRecord| {
        if let Ok(url) = CanonicalUrl::from_key(key) {
            let is_lost = verify::forget_unreadable(&*archive, &bodies, &url, record);
            lost_bodies.set(lost_bodies.get() + u64::from(is_lost));
            // What it links to may be lost: its links are merged again.
            if let Some(visited) = &mut record.visited {
                visited.content.merged_links = Box::default();
            }
        }
    };
    let found = recrawl_repository::salvage(&from, &to, &|| older_decisions(folder), &mend);
    let mut found = Saved { pages: found.map_err(Failure::work)?, ..Saved::default() };
    found.lost_bodies = lost_bodies.get();
    found.tables = tables(folder, out)?;
    found.objective = ranking::damage(folder);
    if found.objective.is_none() {
        ranking::copy(folder, out)?;
    }
    let saved = Repository::open_read(to.clone()).map_err(Failure::work)?;
    found.warc_damage = verify::verify(&*archive, &saved.current(), may_be_gone)?.damage;
    if as_json {
        print_json(&json(&found))?
    } else {
        text(&found, out, folder)?
    }
    if found.lost_bodies == 0 && found.damage().next().is_none() {
        return Ok(());
    }
    let found = &found.pages;
    let [whole, lost] =
        [(found.whole, "complete page"), (found.lost, "page")].map(|(count, noun)| counted(count, noun));
    Err(Failure::Work(format!(
        "{}: damaged; saved to {}: {whole}, {} without data, {lost} lost",
        folder.display(),
        out.display(),
        counted(found.urls_only, "URL")
    )))
}

/// Saved data and damage.
#[derive(Default)]
struct Saved {
    pages: Salvaged,
    /// Pages with unreadable bodies.
    lost_bodies: u64,
    /// Unreadable records of the archive.
    warc_damage: Vec<Damage>,
    tables: TablesFound,
    /// Damage of the file that names the objective.
    objective: Option<Damage>,
}

impl Saved {
    fn damage(&self) -> impl Iterator<Item = &Damage> {
        self.pages.damage.iter().chain(&self.warc_damage).chain(&self.tables.damage).chain(&self.objective)
    }
}

/// Saves the readable rows of the tables.
fn tables(folder: &Path, out: &Path) -> Result<TablesFound, Failure> {
    let from = folder.join(TABLES);
    if !from.is_dir() {
        return Ok(TablesFound::default());
    }
    let scratch = out.join("hosts.sled.damaged");
    let found = SledTables::salvage(&from, &out.join(TABLES), &scratch)?;
    // Rows may be lost that old digests of links depend on.
    repeated_links::merge_all_again(&SledTables::open(&out.join(TABLES))?)?;
    let in_use = || Failure::Work(format!("{}: in use by a running crawl; stop it first", from.display()));
    found.ok_or_else(in_use)
}

/// Decisions of a crawl by an older version, which kept them in the tables.
fn older_decisions(folder: &Path) -> Option<String> {
    open_read::decisions(folder, || open_read::tables(folder)).ok().map(|decided| decided.to_json())
}

fn text(saved: &Saved, out: &Path, from: &Path) -> Result<(), Failure> {
    let found = &saved.pages;
    saved.damage().try_for_each(|place| print(place.to_string()))?;
    if !found.by_manifest {
        let number = found.generation;
        print(format!("no readable manifest: assuming that generation {number}, the newest, is committed"))?;
    }
    print(format!("generation    {}", found.generation))?;
    print(format!("complete      {}", counted(found.whole, "page")))?;
    print(format!("URL only      {}, stored as never visited", counted(found.urls_only, "page")))?;
    print(format!("lost          {}", counted(found.lost, "page")))?;
    for range in &found.lost_ranges {
        let to = range.to.as_deref().map_or_else(|| "the end".into(), url);
        print(format!("              {} from {} to before {to}", thousands(range.pages), url(&range.from)))?;
    }
    print(format!("reports       {}", thousands(found.reports)))?;
    print(format!("kept visits   {}", thousands(found.visits)))?;
    print(format!("pending links {}", thousands(found.waiting)))?;
    print(format!("decisions     {}", if found.has_decisions { "saved" } else { "lost" }))?;
    print(format!("bodies lost   {}; the next visits archive them again", thousands(saved.lost_bodies)))?;
    print(format!("hosts         {} of the tables", counted(saved.tables.rows, "row")))?;
    print(format!(
        "To continue the crawl in {}, move warc and formula.toml there from {}.",
        out.display(),
        from.display()
    ))?;
    if found.has_decisions {
        return Ok(());
    }
    print(
        "First restore decisions.json from a backup or a snapshot, or create it with the content {} (no \
         takedowns, blocks or pauses).",
    )
}

/// A key as printed text.
fn url(key: &[u8]) -> String {
    CanonicalUrl::from_key(key).map_or_else(|_| String::from_utf8_lossy(key).into_owned(), |u| u.to_string())
}

fn json(saved: &Saved) -> Value {
    let found = &saved.pages;
    let damage: Vec<Value> =
        saved.damage().map(|d| json!({"file": d.file, "offset": d.offset, "what": d.what})).collect();
    let range = |range: &LostRange| json!({"from": url(&range.from), "to": range.to.as_deref().map(url), "pages": range.pages});
    json!({
        "generation": found.generation, "by_manifest": found.by_manifest, "whole": found.whole,
        "urls_only": found.urls_only, "lost": found.lost,
        "lost_ranges": found.lost_ranges.iter().map(range).collect::<Vec<_>>(), "reports": found.reports,
        "visits": found.visits, "waiting_links": found.waiting, "decisions": found.has_decisions,
        "lost_bodies": saved.lost_bodies, "table_rows": saved.tables.rows, "damage": damage,
    })
}
