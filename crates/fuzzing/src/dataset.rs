//! Recorded histories of pages. Input: a line with the name of a format, and perhaps the seconds of a cycle; then
//! the file, of the native format both files with a line `--` between.

use crate::{FuzzTarget, first_line};
use recrawl_simulation::format::{self, ReadOptions};
use recrawl_simulation::{Dataset, DatasetError};
use std::fs;
use std::path::Path;

/// Readers of data sets as a target.
pub const TARGET: FuzzTarget = FuzzTarget { name: "dataset", check };

/// Asserts that a data set is consistent, and comes back from the native format and, where that can hold it, from
/// the one of bit strings.
pub fn check(data: &[u8]) {
    let (head, file) = first_line(data);
    let head = String::from_utf8_lossy(head);
    let (name, seconds) = head.split_once(' ').unwrap_or((&head, ""));
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let path = folder.path().join("data");
    let put = |path: &Path, bytes: &[u8]| fs::write(path, bytes).expect("temporary files can be written");
    if name == "native" {
        fs::create_dir(&path).expect("temporary folders can be made");
        let middle = file.windows(4).position(|part| part == b"\n--\n").map_or(file.len(), |at| at + 1);
        put(&path.join("cycles.tsv"), &file[..middle]);
        put(&path.join("pages.tsv.gz"), file.get(middle + 3..).unwrap_or_default());
    } else {
        put(&path, file);
    }
    let format = Some(name).filter(|name| !name.is_empty());
    match (ReadOptions { format, cycle_seconds: seconds.parse().ok() }).open(&path) {
        Ok(data) => {
            is_consistent(&data);
            comes_back(&data, folder.path());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn is_consistent(data: &Dataset) {
    let last = data.truth.cycles();
    assert!(last <= Dataset::MAX_CYCLES && !data.pages.is_empty());
    assert!(data.dates.is_empty() || data.dates.len() == last as usize + 1);
    assert!(data.dates.is_sorted());
    for page in &data.pages {
        assert!(page.first <= page.last && page.last <= last && (page.site as usize) < data.sites.len());
    }
    let each = data.truth.try_each_page(|page, changes| {
        let page = &data.pages[page];
        assert!(changes.is_sorted_by(|a, b| a.0 < b.0));
        assert!(changes.iter().all(|(cycle, _)| page.first < *cycle && *cycle <= page.last));
        Ok::<_, ()>(())
    });
    assert!(each.is_ok() && data.settled() <= last && data.fixed().len() <= data.pages.len());
}

fn comes_back(data: &Dataset, folder: &Path) {
    for name in ["native", "gp4c"] {
        let path = folder.join(name);
        match format::create(data, &path, name) {
            Ok(losses) => {
                let again = format::open(&path, Some(name)).expect("what was written can be read");
                is_consistent(&again);
                assert_eq!(again.truth.cycles(), data.truth.cycles());
                if losses.is_empty() {
                    assert_eq!(Dataset { name: data.name.clone(), ..again }, *data);
                }
            }
            // A name with a line's end in it, pages that are not there in all cycles.
            Err(error) => assert!(!matches!(error, DatasetError::Io { .. }), "{error}"),
        }
    }
}
