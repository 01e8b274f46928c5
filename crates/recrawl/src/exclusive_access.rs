//! Exclusive access of a command to the data directory of a running daemon.
//!
//! A command that needs the directory alone takes a lock on the folder itself (flock(2)), and asks the daemon to step
//! aside. The daemon ends its round, closes everything, waits until nobody holds the lock, and opens the crawl again.
//! The lock ends with the command, however that ends. The command then waits until the daemon answers again, so that
//! the next command finds it.

use crate::daemon::Daemon;
use recrawl_console::view::Change;
use recrawl_crawl::failure::Failure;
use recrawl_repository::storage::FileStorage;
use recrawl_terminal::logging;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use tracing::Level;

/// Interval of looks at a lock.
pub const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Time for a daemon that is just opening the directory to listen at its socket.
const OPENING: Duration = Duration::from_secs(2);
/// Time for a daemon that closes the directory, from its last answer on.
const CLOSING: Duration = Duration::from_secs(60);
/// Interval of requests to step aside. A daemon that restarted has not heard the first.
const ASK_EVERY: Duration = Duration::from_secs(5);
/// Time for a daemon that stepped aside to answer again.
const RETURN: Duration = Duration::from_secs(10);

/// The lock of this process, until it is dropped.
#[derive(Debug)]
pub struct ExclusiveAccess {
    data_dir: PathBuf,
    /// The lock; none once it is given back.
    lock: Option<File>,
    /// Has a daemon stepped aside?
    has_asked: bool,
}

impl ExclusiveAccess {
    /// Waits until this command has the directory for itself. Without a directory there is nothing to wait for.
    ///
    /// # Errors
    /// Why a daemon cannot be asked, or what it refused.
    pub fn alone(data_dir: &Path) -> Result<Option<ExclusiveAccess>, Failure> {
        let folder = match File::open(data_dir) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|e| cannot(data_dir, &e))?,
        };
        let lock = ExclusiveAccess::take(folder).map_err(|e| cannot(data_dir, &e))?;
        let mut access =
            ExclusiveAccess { data_dir: data_dir.to_owned(), lock: Some(lock), has_asked: false };
        // Of the daemon, if it has answered.
        let mut heard = Instant::now();
        while FileStorage::is_locked(data_dir).map_err(|e| cannot(data_dir, &e))? {
            if (!access.has_asked || heard.elapsed() > ASK_EVERY)
                && let Some(daemon) = Daemon::in_charge(data_dir)?
            {
                let accepted = daemon.make(&Change::StepAside)?;
                if !access.has_asked {
                    logging::say(Level::INFO, &accepted.detail);
                }
                (access.has_asked, heard) = (true, Instant::now());
            }
            if heard.elapsed() > if access.has_asked { CLOSING } else { OPENING } {
                // No daemon: opening the directory tells who has it.
                break;
            }
            thread::sleep(LOOK_EVERY);
        }
        Ok(Some(access))
    }

    fn take(folder: File) -> io::Result<File> {
        if !try_lock(&folder, FlockOperation::NonBlockingLockExclusive)? {
            logging::say(Level::INFO, "waiting for another command to finish");
            flock(&folder, FlockOperation::LockExclusive)?;
        }
        Ok(folder)
    }

    /// For a daemon that stepped aside: none while a command has exclusive access. Hold it until the directory is open, so
    /// that no command takes it in between.
    ///
    /// # Errors
    /// When the folder cannot be opened, or its file system has no locks.
    pub fn back(data_dir: &Path) -> io::Result<Option<ExclusiveAccess>> {
        let folder = File::open(data_dir)?;
        let is_mine = try_lock(&folder, FlockOperation::NonBlockingLockExclusive)?;
        let access =
            || ExclusiveAccess { data_dir: data_dir.to_owned(), lock: Some(folder), has_asked: false };
        Ok(is_mine.then(access))
    }

    /// Does a process have exclusive access to this directory?
    ///
    /// # Errors
    /// When the folder cannot be opened, or its file system has no locks.
    pub fn is_taken(data_dir: &Path) -> io::Result<bool> {
        // Shared: several processes may look at once.
        Ok(!try_lock(&File::open(data_dir)?, FlockOperation::NonBlockingLockShared)?)
    }
}

/// Takes a lock that does not block; false while another process has it.
fn try_lock(folder: &File, lock: FlockOperation) -> io::Result<bool> {
    match flock(folder, lock) {
        Err(Errno::WOULDBLOCK) => Ok(false),
        taken => taken.map(|()| true).map_err(io::Error::from),
    }
}

impl Drop for ExclusiveAccess {
    fn drop(&mut self) {
        self.lock = None;
        let begun = Instant::now();
        while self.has_asked && !matches!(Daemon::find(&self.data_dir), Ok(Some(_))) {
            if begun.elapsed() > RETURN {
                // While the next command has the lock, the daemon stays aside.
                if !ExclusiveAccess::is_taken(&self.data_dir).unwrap_or(false) {
                    logging::say(Level::WARN, "the daemon does not answer yet; see its log");
                }
                return;
            }
            thread::sleep(LOOK_EVERY);
        }
    }
}

fn cannot(data_dir: &Path, error: &io::Error) -> Failure {
    Failure::Work(format!("data directory {}: {error}", data_dir.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_has_the_turn() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!ExclusiveAccess::is_taken(folder.path()).unwrap());
        let access = ExclusiveAccess::alone(folder.path()).unwrap().expect("there is a folder");
        assert!(ExclusiveAccess::is_taken(folder.path()).unwrap());
        let (told, tells) = std::sync::mpsc::channel();
        let path = folder.path().to_owned();
        let second = thread::spawn(move || {
            let access = ExclusiveAccess::alone(&path).unwrap();
            told.send(()).unwrap();
            access
        });
        assert!(tells.recv_timeout(Duration::from_millis(100)).is_err(), "it waits");
        drop(access);
        tells.recv().unwrap();
        drop(second.join().unwrap());
        assert!(!ExclusiveAccess::is_taken(folder.path()).unwrap());
        assert!(ExclusiveAccess::alone(&folder.path().join("none")).unwrap().is_none());
    }
}
