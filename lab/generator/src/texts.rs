//! Writes the texts of pages.

use recrawl_simulation::DatasetError;
use recrawl_simulation::format::native;
use serde_json::json;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Writes the contents of a data set into its folder: for each page its versions, from 0, with the cycle that first
/// shows each.
///
/// # Errors
/// If the disk fails.
pub fn write_texts(folder: &Path, pages: &[Vec<(u32, String)>]) -> Result<(), DatasetError> {
    let path = folder.join(native::CONTENTS);
    let write = || {
        let mut out = zstd::Encoder::new(BufWriter::new(File::create(&path)?), 9)?;
        for (page, versions) in pages.iter().enumerate() {
            for (version, (cycle, text)) in versions.iter().enumerate() {
                let line = json!({"page_id": page, "cycle": cycle, "version": version, "text": text});
                writeln!(out, "{line}")?;
            }
        }
        out.finish()?.flush()
    };
    write().map_err(DatasetError::io(&path))
}
