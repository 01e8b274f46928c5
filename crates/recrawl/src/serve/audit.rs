//! The log of changes: `control.jsonl` in the data directory, a line a change.

use crate::failure::Failure;
use recrawl_console::Entry;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The log of changes, in the data directory.
pub const FILE: &str = "control.jsonl";
/// A longer log is put aside as `control.jsonl.1`, in place of the one before: two of these at most.
const MAX_LOG: u64 = 64 << 20;

/// Whom the console tells changes.
type Tell = dyn Fn(&Entry) + Send + Sync;

/// What the console tells changes to.
///
/// # Errors
/// When the file cannot be written.
pub fn log(data_dir: &Path) -> Result<Arc<Tell>, Failure> {
    let path = data_dir.join(FILE);
    let named = |e: io::Error| Failure::Work(format!("{}: {e}", path.display()));
    let log = Mutex::new(Log { file: open(&path).map_err(named)?, path: path.clone() });
    Ok(Arc::new(move |entry| {
        let mut log = log.lock().expect("no panic under the lock");
        if let Err(error) = log.append(entry) {
            // The change is in force: it is told where the program tells all else.
            tracing::error!(path = %log.path.display(), %error, ?entry, "a change could not be logged");
        }
    }))
}

struct Log {
    path: PathBuf,
    file: File,
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

impl Log {
    fn append(&mut self, entry: &Entry) -> io::Result<()> {
        if self.file.metadata()?.len() >= MAX_LOG {
            fs::rename(&self.path, self.path.with_extension("jsonl.1"))?;
            self.file = open(&self.path)?;
        }
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        self.file.write_all(&line)?;
        self.file.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_console::view::{Accepted, Change, Did, Who};

    #[test]
    fn each_change_is_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let who = Who { name: "anna".into(), from: [127, 0, 0, 1].into() };
        let accepted = Ok(Accepted { did: Did::Done, detail: "so be it".into() });
        let entry = Entry::of(7, &who, &Change::Pause { host: None }, &accepted);
        let tell = log(folder.path()).unwrap();
        tell(&entry);
        drop(tell);
        log(folder.path()).unwrap()(&entry);
        let text = fs::read_to_string(folder.path().join(FILE)).unwrap();
        let lines: Vec<serde_json::Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!(
            (lines.len(), &lines[0]["name"], &lines[1]["result"]),
            (2, &"anna".into(), &"done".into())
        );
    }
}
