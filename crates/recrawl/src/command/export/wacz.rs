//! `recrawl export wacz`: what the archive holds, in one file that replays in a browser (WACZ 1.1.1): the
//! WARC records, their index and the list of pages.
//!
//! Everything streams: memory is that of the sorted index lines (`storage.batch_memory`), and a few bytes
//! for each thousand captures.

mod index;
mod package;
mod pages;
mod records;
mod selection;

use super::archived_files::ArchivedFiles;
use super::report;
use crate::cli::ExportArgs;
use package::WaczPackage;
use recrawl_archive::{ArchiveReader, opener};
use recrawl_crawl::failure::Failure;
use recrawl_crawl::open_read;
use recrawl_crawl::output::sorted_lines::SortedLines;
use recrawl_crawl::settings::Settings;
use selection::CaptureSelection;
use std::path::Path;

/// Writes the file beside its name and renames it. Captures of pages that are taken down or blocked, or ask
/// not to be archived, are left out.
///
/// # Errors
/// When the archive cannot be read or changes meanwhile, or `out` cannot be written. Then nothing is left of
/// the file, and an older one stays.
pub fn export(settings: &Settings, args: &ExportArgs) -> Result<(), Failure> {
    let out = &args.out;
    if out == Path::new("-") {
        return Err(Failure::Usage("--out -: a WACZ file cannot be written to standard output".into()));
    }
    let repository = open_read::repository(settings)?;
    let generation = repository.current();
    let archive = ArchiveReader::open(opener::open(&settings.data_dir)?)?;
    let mut selection = CaptureSelection::new(settings, args, &generation)?;
    selection.choose_captures(settings, &generation, &archive)?;
    let mut package = WaczPackage::create(out)?;
    let mut lines = SortedLines::new(package.folder(), settings.config.storage.batch_memory.0 as usize);
    let mut files = ArchivedFiles::new(&archive);
    for (_, name) in archive.files.iter() {
        records::copy(&archive, name, &selection, &mut package, &mut lines, &mut files)?;
    }
    let captures = index::write(lines, &mut package)?;
    if captures == 0 {
        return Err(Failure::Work(
            "nothing to export: no archived page is asked for, or all are blocked or taken down".into(),
        ));
    }
    pages::write(settings, &archive, &generation, &selection, args.text, &mut package)?;
    // A takedown replaces files. What was read before it must not be passed on.
    package.finish(|| files.are_unchanged().and_then(|()| selection.is_unchanged(settings)))?;
    report(out, captures, "captures")
}
