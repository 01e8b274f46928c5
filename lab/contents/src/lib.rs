//! Reads the contents of recorded pages, as counts: words, links, images, tables. The text itself is not kept.

mod links;
mod read;
mod text;
mod vocabulary;

pub use read::{MAX_COUNTS, MAX_TEXT_LINE, read};
pub use vocabulary::{MAX_VOCABULARY, MAX_WORD};

use recrawl_simulation::{Dataset, DatasetError};
use std::path::Path;
use std::sync::Arc;

/// Adds to a data set the contents of its pages, from the folder that it was read from.
/// [`part`](Dataset::part) keeps them.
///
/// # Errors
/// Those of [`read()`].
pub fn add(data: &mut Dataset, folder: &Path) -> Result<(), DatasetError> {
    data.contents = Some(Arc::new(read(data, folder)?));
    Ok(())
}

#[cfg(test)]
mod tests;
