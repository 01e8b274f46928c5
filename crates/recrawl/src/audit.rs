//! The log of operators' changes: `control.jsonl` in the data directory, with two lines per change:
//! the attempt and its result. The console and the commands that change decisions write it.

use recrawl_console::view::{Accepted, Actor};
use recrawl_console::{Audit, Entry};
use recrawl_crawl::failure::Failure;
use recrawl_fetcher::system_clock;
use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::Ipv4Addr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The log of changes, in the data directory.
pub const FILE: &str = "control.jsonl";
/// The name of the operator in entries of commands. No token has it, since it has a space.
pub const COMMAND_LINE: &str = "command line";
/// Size at which the log is rotated to `control.jsonl.1`, replacing the one before.
const MAX_LOG: u64 = 64 << 20;
/// Rotations by other processes that one entry outlasts.
const MAX_ROTATIONS: u32 = 100;

/// The audit log of the console.
///
/// # Errors
/// When the file cannot be written.
pub fn log(data_dir: &Path) -> Result<Arc<Audit>, Failure> {
    let path = data_dir.join(FILE);
    open(&path).map_err(|e| Failure::Work(named(&path, &e).to_string()))?;
    let turn = Mutex::new(());
    Ok(Arc::new(move |entry| {
        let _turn = turn.lock().expect("no panic under the lock");
        append(&path, entry)
    }))
}

/// Makes a change of a command, and logs the attempt and the result.
///
/// # Errors
/// When the attempt cannot be logged, then nothing has changed; the error of the change; or when
/// its result cannot be logged.
pub fn logged<C: Clone + Serialize, T>(
    data_dir: &Path,
    change: &C,
    make: impl FnOnce() -> Result<(T, Accepted), Failure>,
) -> Result<T, Failure> {
    let path: PathBuf = data_dir.join(FILE);
    let who = Actor { name: COMMAND_LINE.into(), from: Ipv4Addr::LOCALHOST.into() };
    let now = system_clock();
    append(&path, &Entry::begun(now(), &who, change)).map_err(Failure::work)?;
    let (done, result) = match make() {
        Ok((done, accepted)) => (Ok(done), Ok(accepted)),
        Err(failure) => {
            let detail = failure.to_string();
            (Err(failure), Err(detail))
        }
    };
    let written = append(&path, &Entry::new(now(), &who, change, &result));
    // The error of the change matters more.
    let done = done?;
    written.map_err(Failure::work)?;
    Ok(done)
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display()))
}

/// Opens the file for this process alone. Other processes wait, so that only one of them rotates it.
/// The last line may be incomplete, after a crash or on a full disk: then the second value is true.
fn open(path: &Path) -> io::Result<(File, bool)> {
    let mut rounds = 0;
    let mut file = loop {
        let file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
        flock(&file, FlockOperation::LockExclusive)?;
        rounds += 1;
        if rounds > MAX_ROTATIONS {
            return Err(io::Error::other("it is rotated again and again"));
        }
        let of = |found: fs::Metadata| (found.dev(), found.ino());
        let is_newest =
            fs::metadata(path).map(of).is_ok_and(|newest| file.metadata().map(of).is_ok_and(|f| f == newest));
        if is_newest {
            break file;
        }
    };
    if file.metadata()?.len() == 0 {
        return Ok((file, false));
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok((file, last != *b"\n"))
}

/// Appends a line durably. The file is opened for each line, since another process may have rotated
/// it.
fn append<C: Serialize>(path: &Path, entry: &Entry<C>) -> io::Result<()> {
    let write = || {
        let (mut file, mut is_torn) = open(path)?;
        if file.metadata()?.len() >= MAX_LOG {
            fs::rename(path, path.with_extension("jsonl.1"))?;
            drop(file);
            (file, is_torn) = open(path)?;
        }
        let mut line = Vec::new();
        if is_torn {
            line.push(b'\n');
        }
        serde_json::to_writer(&mut line, entry)?;
        line.push(b'\n');
        file.write_all(&line)?;
        file.sync_data()
    };
    write().map_err(|e| named(path, &e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_console::view::{Change, Effect};

    #[test]
    fn each_change_is_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let who = Actor { name: "anna".into(), from: [127, 0, 0, 1].into() };
        let accepted = Ok::<_, String>(Accepted { did: Effect::Done, detail: "so be it".into() });
        let entry = Entry::new(7, &who, &Change::Pause { host: None }, &accepted);
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
        let who = Actor { name: "anna".into(), from: [127, 0, 0, 1].into() };
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

    /// The rows of a command have the keys of the console's rows.
    #[test]
    fn a_change_of_a_command_is_logged_like_one_of_the_console() {
        let folder = tempfile::tempdir().unwrap();
        let change = Change::UseFormula { text: "t".into() };
        let accepted = || Accepted { did: Effect::NextCycle, detail: "from the next cycle on".into() };
        assert_eq!(logged(folder.path(), &change, || Ok((7, accepted()))).unwrap(), 7);
        let failed = logged::<_, ()>(folder.path(), &change, || Err(Failure::Work("disk full".into())));
        assert_eq!(failed.unwrap_err().to_string(), "disk full");
        let who = Actor { name: "anna".into(), from: [127, 0, 0, 1].into() };
        log(folder.path()).unwrap()(&Entry::begun(7, &who, &change)).unwrap();
        let text = fs::read_to_string(folder.path().join(FILE)).unwrap();
        let lines: Vec<serde_json::Map<_, _>> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let results: Vec<_> = lines.iter().map(|line| line["result"].as_str().unwrap()).collect();
        assert_eq!(results, ["begun", "next_cycle", "begun", "refused", "begun"]);
        assert_eq!((&lines[0]["name"], &lines[3]["detail"]), (&COMMAND_LINE.into(), &"disk full".into()));
        let keys = |at: usize| lines[at].keys().collect::<Vec<_>>();
        assert!((0..4).all(|at| keys(at) == keys(4)), "{text}");
    }

    /// The file at the path is the newest: another process may have rotated it.
    #[test]
    fn after_a_rotation_the_new_file_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let who = Actor { name: "anna".into(), from: [127, 0, 0, 1].into() };
        let entry = Entry::begun(7, &who, &Change::Pause { host: None });
        let tell = log(folder.path()).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(MAX_LOG).unwrap();
        for lines in [1, 2] {
            tell(&entry).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), lines);
        }
        fs::rename(&path, path.with_extension("jsonl.1")).unwrap();
        tell(&entry).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 1);
    }

    #[test]
    fn processes_that_rotate_at_once_lose_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let who = Actor { name: "anna".into(), from: [127, 0, 0, 1].into() };
        let entry = Entry::begun(7, &who, &Change::Pause { host: None });
        for _ in 0..50 {
            File::create(&path).unwrap().set_len(MAX_LOG).unwrap();
            std::thread::scope(|threads| {
                (0..8).for_each(|_| {
                    threads.spawn(|| append(&path, &entry).unwrap());
                });
            });
            assert_eq!(fs::metadata(path.with_extension("jsonl.1")).unwrap().len(), MAX_LOG);
            assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 8);
        }
    }
}
