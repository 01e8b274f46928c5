//! The WARC files of a backup by name and length, in a file of the backup: restoring tells what has been lost of them since.

use recrawl_archive::opener;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::whole_file;
use recrawl_repository::Damage;
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// The file, in the backup.
pub const FILE: &str = "archive.json";

/// Names and lengths.
pub type WarcLengths = BTreeMap<String, u64>;

/// Writes what a backup has. Must run before its manifest, without which it is none.
///
/// # Errors
/// When it cannot be written.
pub fn write(out: &Path, files: &WarcLengths) -> Result<(), Failure> {
    whole_file::replace(&out.join(FILE), &serde_json::to_vec(files).map_err(Failure::work)?)
}

/// The first file that is missing or cut short; none in a backup by an older version, which does not say.
///
/// # Errors
/// When the backup cannot be read.
pub fn damage(from: &Path) -> Result<Option<Damage>, Failure> {
    let path = from.join(FILE);
    let text = match fs::read(&path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|e| Failure::Work(format!("cannot read {}: {e}", path.display())))?,
    };
    let files: WarcLengths = match serde_json::from_slice(&text) {
        Ok(files) => files,
        Err(e) => {
            return Ok(Some(Damage { file: path.display().to_string(), offset: 0, what: e.to_string() }));
        }
    };
    let archive = opener::open(from)?;
    Ok(files.iter().find_map(|(name, bytes)| {
        let damage = |offset, what| Some(Damage { file: archive.locate(name), offset, what });
        match archive.open(name).and_then(|file| file.length()) {
            // A crawl may have gone on in the backup itself.
            Ok(length) if length >= *bytes => None,
            Ok(length) => damage(length, format!("it had {bytes} bytes")),
            Err(e) => damage(0, e.to_string()),
        }
    }))
}
