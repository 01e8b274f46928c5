//! The log of changes: `control.jsonl` in the data directory, with two lines per change: the
//! attempt and its result.

use crate::failure::Failure;
use recrawl_console::{Audit, Entry};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The log of changes, in the data directory.
pub const FILE: &str = "control.jsonl";
/// Size at which the log is rotated to `control.jsonl.1`, replacing the one before.
const MAX_LOG: u64 = 64 << 20;

/// The audit log of the console.
///
/// # Errors
/// When the file cannot be written.
pub fn log(data_dir: &Path) -> Result<Arc<Audit>, Failure> {
    let path = data_dir.join(FILE);
    let named = |e: io::Error| Failure::Work(format!("cannot write {}: {e}", path.display()));
    let (file, is_torn) = open(&path).map_err(named)?;
    let log = Mutex::new(Log { file, is_torn, path: path.clone() });
    Ok(Arc::new(move |entry| {
        let mut log = log.lock().expect("no panic under the lock");
        log.append(entry)
            .map_err(|e| io::Error::new(e.kind(), format!("cannot write {}: {e}", log.path.display())))
    }))
}

struct Log {
    path: PathBuf,
    file: File,
    /// The last line is incomplete after a crash or on a full disk.
    is_torn: bool,
}

fn open(path: &Path) -> io::Result<(File, bool)> {
    let mut file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
    if file.metadata()?.len() == 0 {
        return Ok((file, false));
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok((file, last != *b"\n"))
}

impl Log {
    fn append(&mut self, entry: &Entry) -> io::Result<()> {
        if self.file.metadata()?.len() >= MAX_LOG {
            fs::rename(&self.path, self.path.with_extension("jsonl.1"))?;
            (self.file, self.is_torn) = open(&self.path)?;
        }
        let mut line = Vec::new();
        if self.is_torn {
            line.push(b'\n');
        }
        serde_json::to_writer(&mut line, entry)?;
        line.push(b'\n');
        self.is_torn = true;
        self.file.write_all(&line)?;
        self.is_torn = false;
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
        tell(&entry).unwrap();
        drop(tell);
        log(folder.path()).unwrap()(&entry).unwrap();
        let text = fs::read_to_string(folder.path().join(FILE)).unwrap();
        let lines: Vec<serde_json::Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!(
            (lines.len(), &lines[0]["name"], &lines[1]["result"]),
            (2, &"anna".into(), &"done".into())
        );
    }

    #[test]
    fn an_entry_after_a_torn_one_begins_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        fs::write(&path, "{\"at\":1,\"na").unwrap();
        let who = Who { name: "anna".into(), from: [127, 0, 0, 1].into() };
        let entry = Entry::begun(7, &who, &Change::Pause { host: None });
        for _ in 0..2 {
            log(folder.path()).unwrap()(&entry).unwrap();
        }
        let text = fs::read_to_string(path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        for line in &lines[1..] {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!((&line["result"], &line["name"]), (&"begun".into(), &"anna".into()));
        }
    }
}
