//! Outputs of a crawl for others: its events, and the history of a page; and where files lie that it writes
//! for them.

pub mod events;
pub mod page_history;
pub mod sorted_lines;

use std::fs::File;
use std::io;
use std::path::Path;

/// The folder of a file.
pub fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes the name of a file durable.
///
/// # Errors
/// When its folder cannot be opened or synced.
pub fn sync_folder_of(file: &Path) -> io::Result<()> {
    File::open(folder_of(file))?.sync_all()
}
