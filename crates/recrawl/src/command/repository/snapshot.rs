//! `recrawl backup OUT --last-commit`: a copy of the last committed generation, also during a crawl.

use super::{last_backup, new_folder};
use crate::command::{counted, print, print_json};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_crawl::settings::{Settings, ranking};
use recrawl_fetcher::system_clock;
use recrawl_repository::storage::FileStorage;
use recrawl_repository::{Repository, UnfinishedSnapshot};
use recrawl_types::Size;
use serde_json::json;
use std::path::Path;

/// Copies the current generation of `repository` to a new folder, and by which objective the crawl began. It is no copy
/// until it is finished there.
///
/// # Errors
/// When the folder is not new, or a file cannot be read or written.
pub fn make(
    settings: &Settings,
    repository: &Repository,
    out: &Path,
) -> Result<(FileStorage, UnfinishedSnapshot), Failure> {
    let folder = &settings.data_dir;
    let from = FileStorage::existing(folder).map_err(|e| recrawl_crawl::data_dir::cannot_open(folder, &e))?;
    let to = new_folder(out, Some(folder))?;
    // If a hard link fails (another disk, a file system without links), the file is copied.
    let link = |name: &str| from.link(name, &to).is_ok();
    let decided = open_read::decisions(folder, || open_read::tables(folder))?.to_json();
    // The manifest comes last, so that a backup that was cut short is none.
    ranking::copy(folder, out)?;
    let copied = repository.snapshot(&to, &link, &decided).map_err(Failure::work)?;
    Ok((to, copied))
}

pub fn run(settings: &Settings, out: &Path, as_json: bool) -> Result<(), Failure> {
    let at = system_clock()();
    let (to, copied) = make(settings, &open_read::repository(settings)?, out)?;
    let made = copied.finish(&to).map_err(Failure::work)?;
    last_backup::note(&settings.data_dir, &made, out, at)?;
    if as_json {
        return print_json(&json!({
            "generation": made.generation, "pages": made.pages, "linked": made.linked, "copied": made.copied,
            "copied_bytes": made.copied_bytes, "left_out": ["hosts.sled", "warc", "formula.toml"],
        }));
    }
    print(format!("generation  {}, {}", made.generation, counted(made.pages, "page")))?;
    print(format!(
        "files       {} linked, {} copied ({})",
        made.linked,
        made.copied,
        Size(made.copied_bytes).rounded()
    ))?;
    print(
        "not copied  hosts.sled (a crawl learns it again), warc, formula.toml; `recrawl backup` without --last-commit \
         copies all",
    )
}
