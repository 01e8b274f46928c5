//! The files of a data directory that are shipped.

use crate::vault::lineage;
use recrawl_archive::opener;
use recrawl_repository::storage::Storage;
use recrawl_vault::{CapturedFile, ShippedFile};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::sync::Arc;

/// Parts of names of files that are not finished, or are of the process alone.
const NOT_SHIPPED: [&str; 4] = [".part", ".next", ".new", ".spill-"];

/// The data directory.
pub(super) struct CrawlFolder {
    pub storage: Arc<dyn Storage>,
    pub warc: Arc<dyn Storage>,
}

/// The name of a WARC file in the vault.
pub(super) fn of_warc(name: &str) -> String {
    format!("{}/{name}", opener::FOLDER)
}

/// Is it the name of a WARC file?
pub(super) fn is_of_warc(name: &str) -> bool {
    name.strip_prefix(opener::FOLDER).is_some_and(|rest| rest.starts_with('/'))
}

impl CrawlFolder {
    /// Its files, open as far as the vault has not all of them. What is removed meanwhile stays readable.
    pub fn capture(&self, known: &BTreeMap<String, ShippedFile>) -> io::Result<Vec<CapturedFile>> {
        // Logs before bodies: a visit that is captured has its body.
        let mut files = Vec::new();
        for name in self.storage.list()?.iter().filter(|name| is_shipped(name)) {
            files.extend(if_there(captured(&*self.storage, name, name.clone(), known))?);
        }
        for name in self.warc.list()?.iter().filter(|name| name.ends_with(".warc.gz")) {
            let file = if_there(captured(&*self.warc, name, of_warc(name), known))?;
            files.extend(file.map(|file| CapturedFile { is_lasting: true, counts: true, ..file }));
        }
        Ok(files)
    }
}

fn is_shipped(name: &str) -> bool {
    name != lineage::FILE && !NOT_SHIPPED.iter().any(|part| name.contains(part))
}

/// A file may be removed between two looks.
fn if_there(file: io::Result<CapturedFile>) -> io::Result<Option<CapturedFile>> {
    match file {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        file => file.map(Some),
    }
}

/// A file as it is now.
pub(super) fn captured(
    storage: &dyn Storage,
    name: &str,
    in_vault: String,
    known: &BTreeMap<String, ShippedFile>,
) -> io::Result<CapturedFile> {
    let source = storage.open(name)?;
    let (identity, length) = (source.identity()?, source.length()?);
    let is_there = known
        .get(&in_vault)
        .is_some_and(|known| known.is_settled && known.identity == identity && known.length == length);
    let source = (!is_there).then(|| Arc::from(source));
    // Pages would have to be asked for again if it were lost.
    let counts = name.starts_with("cycle-");
    Ok(CapturedFile { name: in_vault, identity, length, is_lasting: false, counts, source })
}
