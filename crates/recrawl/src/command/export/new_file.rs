//! The file that an export writes. It gets its name when it is whole and durable: until then an older file stays.

use super::named;
use recrawl_crawl::failure::Failure;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Ending of the name until the file is whole. What a killed export leaves, the next one to this name replaces.
const PART: &str = "part";

/// A file being written. It vanishes unless it is finished.
pub struct NewFile {
    out: PathBuf,
    /// Where it is until it is finished; none for standard output, pipes and devices, which are written as they are.
    part: Option<PathBuf>,
    file: File,
}

impl NewFile {
    /// Begins a file; standard output for `-`.
    ///
    /// # Errors
    /// With the file's name.
    pub fn create(out: &Path) -> Result<NewFile, Failure> {
        NewFile::begin(out).map_err(|e| named(out, &e))
    }

    fn begin(out: &Path) -> io::Result<NewFile> {
        if out == Path::new("-") {
            let file = File::from(io::stdout().as_fd().try_clone_to_owned()?);
            return Ok(NewFile { out: out.into(), part: None, file });
        }
        if fs::metadata(out).is_ok_and(|there| !there.is_file()) {
            return Ok(NewFile { out: out.into(), part: None, file: File::create(out)? });
        }
        // A link stays, and what it leads to is replaced.
        let out = fs::canonicalize(out).unwrap_or_else(|_| out.into());
        let mut name = out.clone().into_os_string();
        name.push(".");
        name.push(PART);
        let part = PathBuf::from(name);
        loop {
            let file = OpenOptions::new().write(true).create(true).truncate(false).open(&part)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK) => {
                    let text = format!("another export writes {}", part.display());
                    return Err(io::Error::new(io::ErrorKind::ResourceBusy, text));
                }
                locked => locked?,
            }
            // Another export may have finished or removed it since it was opened.
            let is_same = fs::metadata(&part).is_ok_and(|at| Some(at.ino()) == inode(&file));
            if is_same {
                file.set_len(0)?;
                return Ok(NewFile { out, part: Some(part), file });
            }
        }
    }

    /// What it is called when it is finished.
    pub fn out(&self) -> &Path {
        &self.out
    }

    /// The same file, to be written.
    ///
    /// # Errors
    /// With the file's name.
    pub fn writer(&self) -> Result<File, Failure> {
        self.file.try_clone().map_err(|e| named(&self.out, &e))
    }

    /// Makes the file durable and, if `may` agrees then, gives it its name.
    ///
    /// # Errors
    /// With the file's name, or that of `may`. Then an older file stays.
    pub fn finish(mut self, may: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
        let Some(part) = &self.part else { return may() };
        self.file.sync_all().map_err(|e| named(&self.out, &e))?;
        may()?;
        let renamed = fs::rename(part, &self.out).and_then(|()| File::open(folder_of(&self.out))?.sync_all());
        renamed.map_err(|e| named(&self.out, &e))?;
        self.part = None;
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            // It may be gone; the next export replaces what stays.
            let _ = fs::remove_file(part);
        }
    }
}

fn inode(file: &File) -> Option<u64> {
    Some(file.metadata().ok()?.ino())
}

/// The folder of a file.
pub fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn an_older_file_stays_until_the_new_one_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let (out, link) = (folder.path().join("x.csv"), folder.path().join("link.csv"));
        fs::write(&out, "old").unwrap();
        std::os::unix::fs::symlink("x.csv", &link).unwrap();
        // What a killed export left.
        fs::write(folder.path().join("x.csv.part"), "much longer than what follows").unwrap();
        let names = || fs::read_dir(folder.path()).unwrap().count();

        let given_up = NewFile::create(&out).unwrap();
        given_up.writer().unwrap().write_all(b"half").unwrap();
        let busy = NewFile::create(&link).map(drop).unwrap_err().to_string();
        assert!(busy.contains("another export writes"), "{busy}");
        drop(given_up);
        assert_eq!((fs::read_to_string(&out).unwrap().as_str(), names()), ("old", 2));

        let refused = NewFile::create(&out).unwrap();
        let refused = refused.finish(|| Err(Failure::Work("taken down".into()))).unwrap_err();
        assert_eq!(refused.to_string(), "taken down");
        assert_eq!((fs::read_to_string(&out).unwrap().as_str(), names()), ("old", 2));

        let whole = NewFile::create(&link).unwrap();
        whole.writer().unwrap().write_all(b"new").unwrap();
        whole.finish(|| Ok(())).unwrap();
        assert_eq!((fs::read_to_string(&out).unwrap().as_str(), names()), ("new", 2));
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn devices_are_written_as_they_are_and_folders_are_refused() {
        let null = NewFile::create(Path::new("/dev/null")).unwrap();
        null.finish(|| Ok(())).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        let folder = tempfile::tempdir().unwrap();
        let refused = NewFile::create(folder.path()).map(drop).unwrap_err().to_string();
        assert!(refused.contains("irectory"), "{refused}");
    }
}
