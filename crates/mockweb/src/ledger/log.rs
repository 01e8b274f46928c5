//! The access log: one line per request, in memory up to a limit, or in a file without one.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

/// One request and its response. `http://{host}{path}` is its URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessEntry {
    /// Number of the line, from 0, in the order in which exchanges ended.
    pub seq: u64,
    /// Milliseconds from the start of the server to the arrival of the request.
    pub ms: u64,
    /// The clock when the request arrived; it decides what is served.
    pub cycle: u32,
    /// The host as the client named it, `name:port`; empty for an unknown host.
    pub host: String,
    /// The host's number, from 0; `None` for an unknown host.
    pub host_id: Option<u32>,
    /// Method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// The page that was served, where it was one.
    pub page_id: Option<u32>,
    /// The page's version at the cycle.
    pub version: Option<u32>,
    /// The status sent; 0 when no head was.
    pub status: u16,
    /// Whether the operating system accepted the whole response. That can be true for a client that
    /// disconnected before reading, and is always true for one that has read everything.
    pub complete: bool,
    /// Bytes written to the socket, head included.
    pub bytes: u64,
    /// Whether the request was conditional.
    pub conditional: bool,
    /// The version that the client holds after this exchange: the one served, or the one a 304
    /// truly confirms. `None` when the exchange says nothing about it.
    pub holds: Option<u32>,
    /// The fault of the response.
    pub fault: Option<String>,
}

/// Why a log cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AccessLogError {
    /// The file could not be used.
    #[error("log {}: {cause}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// A line is invalid.
    #[error(
        "log {} line {line}: {why}; name another file, or remove this one to start afresh",
        .path.display()
    )]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong with it.
        why: String,
    },
}

enum LogPlace {
    Memory { lines: VecDeque<AccessEntry>, max_lines: usize },
    File { path: PathBuf, file: File, failed: Option<io::Error> },
}

/// The log.
pub struct AccessLog {
    next: u64,
    place: LogPlace,
}

impl AccessLog {
    /// A log in memory that keeps the last `max_lines` lines.
    pub fn in_memory(max_lines: usize) -> AccessLog {
        AccessLog { next: 0, place: LogPlace::Memory { lines: VecDeque::new(), max_lines } }
    }

    /// A log in a file. `replay` gets every existing line and says whether it can belong to this
    /// web. A last line cut short by a crash is dropped.
    pub fn in_file(
        path: &Path,
        mut replay: impl FnMut(&AccessEntry) -> bool,
    ) -> Result<AccessLog, AccessLogError> {
        let named = |cause| AccessLogError::Io { path: path.to_path_buf(), cause };
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(named)?;
        let mut reader = BufReader::new(&file);
        let (mut next, mut sound) = (0, 0);
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = reader.read_until(b'\n', &mut line).map_err(named)?;
            if read == 0 || line.last() != Some(&b'\n') {
                break;
            }
            let wrong = |why: String| AccessLogError::Line { path: path.to_path_buf(), line: next + 1, why };
            let access: AccessEntry = serde_json::from_slice(&line).map_err(|e| wrong(e.to_string()))?;
            if access.seq != next || !replay(&access) {
                return Err(wrong("it belongs to another web".into()));
            }
            next += 1;
            sound += read as u64;
        }
        file.set_len(sound).map_err(named)?;
        file.flush().map_err(named)?;
        Ok(AccessLog { next, place: LogPlace::File { path: path.to_path_buf(), file, failed: None } })
    }

    /// The number of the next line.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Appends a line and numbers it.
    pub fn push(&mut self, mut access: AccessEntry) {
        access.seq = self.next;
        self.next += 1;
        match &mut self.place {
            LogPlace::Memory { lines, max_lines } => {
                while lines.len() >= (*max_lines).max(1) {
                    lines.pop_front();
                }
                lines.push_back(access);
            }
            LogPlace::File { file, failed, .. } => {
                let mut line = serde_json::to_vec(&access).expect("a line is plain data");
                line.push(b'\n');
                // The exchange itself succeeded; readers of the log get the error.
                if let Err(cause) = file.write_all(&line) {
                    failed.get_or_insert(cause);
                }
            }
        }
    }

    /// The lines from number `from` on, as far as they are kept.
    pub fn lines(&mut self, from: u64) -> Result<LogLines, AccessLogError> {
        match &mut self.place {
            LogPlace::Memory { lines, .. } => {
                let first = self.next - lines.len() as u64;
                let skip = from.saturating_sub(first).min(lines.len() as u64) as usize;
                Ok(LogLines::Kept(lines.range(skip..).cloned().collect::<Vec<_>>().into_iter()))
            }
            LogPlace::File { path, failed, .. } => {
                let named = |cause| AccessLogError::Io { path: path.clone(), cause };
                if let Some(cause) = failed.take() {
                    return Err(named(cause));
                }
                let mut reader = BufReader::new(File::open(&*path).map_err(named)?);
                for _ in 0..from.min(self.next) {
                    reader.skip_until(b'\n').map_err(named)?;
                }
                Ok(LogLines::Spooled { reader, left: self.next.saturating_sub(from), path: path.clone() })
            }
        }
    }

    /// Forgets all lines; numbers start at 0 again.
    pub fn clear(&mut self) -> Result<(), AccessLogError> {
        self.next = 0;
        match &mut self.place {
            LogPlace::Memory { lines, .. } => lines.clear(),
            LogPlace::File { path, file, .. } => {
                file.set_len(0).map_err(|cause| AccessLogError::Io { path: path.clone(), cause })?;
            }
        }
        Ok(())
    }
}

/// Lines of the log, one after the other.
pub enum LogLines {
    /// From memory.
    Kept(std::vec::IntoIter<AccessEntry>),
    /// From the file.
    Spooled {
        /// Stands at the next line.
        reader: BufReader<File>,
        /// Lines still to come.
        left: u64,
        /// The file.
        path: PathBuf,
    },
}

impl Iterator for LogLines {
    type Item = Result<AccessEntry, AccessLogError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            LogLines::Kept(lines) => lines.next().map(Ok),
            LogLines::Spooled { left: 0, .. } => None,
            LogLines::Spooled { reader, left, path } => {
                *left -= 1;
                let mut line = String::new();
                Some(match reader.read_line(&mut line) {
                    Ok(_) => serde_json::from_str(&line).map_err(|e| AccessLogError::Line {
                        path: path.clone(),
                        line: 0,
                        why: e.to_string(),
                    }),
                    Err(cause) => Err(AccessLogError::Io { path: path.clone(), cause }),
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(path: &str) -> AccessEntry {
        AccessEntry {
            seq: 0,
            ms: 1,
            cycle: 2,
            host: "127.1.0.1:80".into(),
            host_id: Some(0),
            method: "GET".into(),
            path: path.into(),
            page_id: Some(1),
            version: Some(3),
            status: 200,
            complete: true,
            bytes: 10,
            conditional: false,
            holds: Some(3),
            fault: None,
        }
    }

    fn paths(log: &mut AccessLog, from: u64) -> Vec<(u64, String)> {
        log.lines(from).unwrap().map(|line| line.map(|a| (a.seq, a.path)).unwrap()).collect()
    }

    #[test]
    fn memory_is_bounded_and_numbers_go_on() {
        let mut log = AccessLog::in_memory(2);
        for path in ["/a", "/b", "/c"] {
            log.push(access(path));
        }
        assert_eq!(paths(&mut log, 0), [(1, "/b".into()), (2, "/c".into())]);
        assert_eq!(paths(&mut log, 2), [(2, "/c".into())]);
        assert_eq!(paths(&mut log, 9), []);
        log.clear().unwrap();
        log.push(access("/d"));
        assert_eq!(paths(&mut log, 0), [(0, "/d".into())]);
    }

    #[test]
    fn a_file_goes_on_where_it_ended_even_in_the_middle_of_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = AccessLog::in_file(&path, |_| true).unwrap();
        log.push(access("/a"));
        log.push(access("/b"));
        drop(log);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 5]).unwrap();
        let mut seen = Vec::new();
        let mut log = AccessLog::in_file(&path, |access| {
            seen.push(access.path.clone());
            true
        })
        .unwrap();
        assert_eq!(seen, ["/a"]);
        log.push(access("/c"));
        assert_eq!(paths(&mut log, 0), [(0, "/a".into()), (1, "/c".into())]);
        assert_eq!(paths(&mut log, 1), [(1, "/c".into())]);
    }

    #[test]
    fn a_log_of_another_web_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        AccessLog::in_file(&path, |_| true).unwrap().push(access("/a"));
        let why = AccessLog::in_file(&path, |_| false).err().unwrap().to_string();
        assert!(why.contains("line 1: it belongs to another web"), "{why}");
    }
}
