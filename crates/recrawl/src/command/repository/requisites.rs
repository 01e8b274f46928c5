//! Checks that each row of a requisite leads to a record of it.

use recrawl_archive::answer::ArchivedAnswer;
use recrawl_archive::{ArchiveReader, opener};
use recrawl_crawl::data_dir::TABLES;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_repository::{Damage, SledTables};
use std::io::ErrorKind;
use std::path::Path;

/// Maximum number of requisites that are listed.
const NAMED: usize = 10;

/// The rows that lead to no record. Those that cannot be read are told with the tables.
///
/// # Errors
/// When the archive cannot be listed.
pub fn damage(data_dir: &Path) -> Result<Vec<Damage>, Failure> {
    let folder = data_dir.join(TABLES);
    // To open the tables themselves would write to them.
    let scratch = open_read::scratch().map_err(Failure::usage)?;
    let copy = scratch.path().join(TABLES);
    if !folder.is_dir() || !SledTables::back_up(&folder, &copy)? {
        return Ok(Vec::new());
    }
    let Ok(tables) = SledTables::open(&copy) else { return Ok(Vec::new()) };
    let archive = ArchiveReader::open(opener::open(data_dir)?)?;
    let mut told = |_| {};
    let lost = tables.requisites(&mut told).filter_map(Result::ok).filter_map(|(url, row)| {
        let what = match ArchivedAnswer::read_head(&archive, row.archive) {
            // With its file, by the limit of the archive.
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            Err(error) => format!("requisite {url}: {error}"),
            Ok(head) => match (head.field("WARC-Type"), head.field("WARC-Target-URI")) {
                (Some("response"), Some(of)) if of == url.as_text() => return None,
                _ => format!("requisite {url}: another record"),
            },
        };
        let name = archive.files.name(row.archive.file).unwrap_or_default();
        Some(Damage { file: archive.storage().locate(name), offset: row.archive.offset, what })
    });
    Ok(lost.take(NAMED).collect())
}
