//! The turn of a command in the data directory of a running daemon.
//!
//! A command that needs the directory alone takes the turn, and asks the daemon to step aside. The daemon ends its
//! round, closes everything, waits until nobody has the turn, and opens the crawl again. The turn is a lock on the
//! folder itself (flock(2)), so it ends with the command, however that ends.

use crate::daemon::Daemon;
use crate::process::logging;
use recrawl_crawl::failure::Failure;
use recrawl_repository::storage::FileStorage;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use tracing::Level;

/// Interval of looks at a lock.
pub const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Time for a daemon that is just opening the directory, or stepping back into it, to listen at its socket.
const OPENING: Duration = Duration::from_secs(2);

/// The turn of this process, until it is dropped.
#[derive(Debug)]
pub struct Turn(#[expect(dead_code, reason = "closing it gives the turn back")] File);

impl Turn {
    /// Waits until this command has the directory for itself. Without a directory there is nothing to wait for.
    ///
    /// # Errors
    /// Why a daemon cannot be asked, or what it refused.
    pub fn alone(data_dir: &Path) -> Result<Option<Turn>, Failure> {
        let folder = match File::open(data_dir) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|e| cannot(data_dir, &e))?,
        };
        let turn = Turn::take(folder).map_err(|e| cannot(data_dir, &e))?;
        let (begun, mut is_asked) = (Instant::now(), false);
        while FileStorage::is_locked(data_dir).map_err(|e| cannot(data_dir, &e))? {
            if !is_asked && let Some(daemon) = Daemon::in_charge(data_dir)? {
                let accepted = daemon.change("POST", "/api/v1/step-aside", None)?;
                logging::say(Level::INFO, &accepted.detail);
                is_asked = true;
            }
            if !is_asked && begun.elapsed() > OPENING {
                // No daemon: opening the directory tells who has it.
                break;
            }
            thread::sleep(LOOK_EVERY);
        }
        Ok(Some(turn))
    }

    fn take(folder: File) -> io::Result<Turn> {
        if let Err(Errno::WOULDBLOCK) = flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            logging::say(Level::INFO, "waiting for another command to finish");
            flock(&folder, FlockOperation::LockExclusive)?;
        }
        Ok(Turn(folder))
    }

    /// Does a process have the turn in this directory?
    ///
    /// # Errors
    /// When the folder cannot be opened, or its file system has no locks.
    pub fn is_taken(data_dir: &Path) -> io::Result<bool> {
        match flock(&File::open(data_dir)?, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Ok(true),
            taken => taken.map(|()| false).map_err(io::Error::from),
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
        assert!(!Turn::is_taken(folder.path()).unwrap());
        let turn = Turn::alone(folder.path()).unwrap().expect("there is a folder");
        assert!(Turn::is_taken(folder.path()).unwrap());
        let (told, tells) = std::sync::mpsc::channel();
        let path = folder.path().to_owned();
        let second = thread::spawn(move || {
            let turn = Turn::alone(&path).unwrap();
            told.send(()).unwrap();
            turn
        });
        assert!(tells.recv_timeout(Duration::from_millis(100)).is_err(), "it waits");
        drop(turn);
        tells.recv().unwrap();
        drop(second.join().unwrap());
        assert!(!Turn::is_taken(folder.path()).unwrap());
        assert!(Turn::alone(&folder.path().join("none")).unwrap().is_none());
    }
}
