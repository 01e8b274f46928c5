//! The room that the archive takes, month by month.

use super::cap::lengths;
use super::moved::MEDIA;
use super::records::{Records, is_damage};
use recrawl_repository::storage::Storage;
use std::collections::BTreeMap;
use std::io;

/// The records of a month.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Month {
    /// Responses with their bodies.
    pub versions: u64,
    /// Visits that found the same body.
    pub revisits: u64,
    /// Bytes of all records, also of requests.
    pub bytes: u64,
}

/// The room that the archive takes, by month (`2026-11`), and by `indices` of thinned files. Damaged parts of files are left out.
///
/// # Errors
/// When a file cannot be read.
pub fn months(
    storage: &dyn Storage,
    go_on: &dyn Fn() -> io::Result<()>,
) -> io::Result<BTreeMap<String, Month>> {
    let mut months = BTreeMap::<String, Month>::new();
    for (_, _, name) in lengths(storage)? {
        go_on()?;
        let mut records = Records::open_at(storage, &name, 0)?;
        loop {
            let found = match records.next_record() {
                Ok(Some(found)) if !found.is_torn => found,
                Err(e) if !is_damage(&e) => return Err(e),
                _ => break,
            };
            let date = match found.field("Content-Type") {
                // It is of the day on which the file was thinned.
                Some(MEDIA) => "indices",
                _ => found.field("WARC-Date").and_then(|date| date.get(..7)).unwrap_or("unknown"),
            };
            let month = match months.get_mut(date) {
                Some(month) => month,
                None => months.entry(date.to_owned()).or_default(),
            };
            month.versions += u64::from(found.kind() == Some("response"));
            month.revisits += u64::from(found.kind() == Some("revisit"));
            month.bytes += found.length;
        }
    }
    Ok(months)
}
