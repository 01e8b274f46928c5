//! `recrawl export pages`: every known URL with its record.

use super::changed::ChangedSince;
use super::rows::RowFile;
use crate::cli::{ExportArgs, ExportFormat};
use crate::report::page::{columns, row};
use recrawl_archive::cap::Bodies;
use recrawl_archive::opener;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_crawl::settings::Settings;
use recrawl_types::CanonicalUrl;

/// Writes all known pages in URL order.
///
/// # Errors
/// When the pages cannot be read, or the file cannot be written.
pub fn export(settings: &Settings, args: &ExportArgs, format: ExportFormat) -> Result<(), Failure> {
    let repository = open_read::repository(settings)?;
    let bodies = Bodies::in_storage(&*opener::open(&settings.data_dir)?)?;
    let generation = repository.current();
    let columns = columns(generation.summary().is_focused);
    let changed = ChangedSince::read(args.changed_since, &repository)?;
    let mut rows = RowFile::create(&args.out, format, columns)?;
    let mut records = generation.records();
    while let Some((_, key, record)) = records.next_record().map_err(Failure::work)? {
        let url = CanonicalUrl::from_key(key).map_err(Failure::work)?;
        if !changed.admits(&record) {
            continue;
        }
        if !rows.write(&row(&url, &record, &bodies)[..columns.len()])? {
            return Ok(());
        }
    }
    rows.finish("pages")
}
