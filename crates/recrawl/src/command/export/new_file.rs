//! The file that an export writes. It gets its name when it is whole and durable: until then an older file stays.

use super::named;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::output::sync_folder_of;
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
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
        // A link to a file stays, and the file is replaced.
        let out = fs::canonicalize(out).unwrap_or_else(|_| out.into());
        let mut name = out.clone().into_os_string();
        name.push(".");
        name.push(PART);
        let part = PathBuf::from(name);
        loop {
            // Whatever else has this name is neither followed nor waited for.
            let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
            let file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .custom_flags(flags)
                .open(&part)?;
            let opened = file.metadata()?;
            if !opened.is_file() {
                let text = format!("{} is in the way, and no file", part.display());
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
            }
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK) => {
                    let text = format!("another export writes {}", part.display());
                    return Err(io::Error::new(io::ErrorKind::ResourceBusy, text));
                }
                // Some file systems have no locks.
                Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOLCK) => {}
                locked => locked?,
            }
            // Another export may have finished or removed it since it was opened.
            if fs::metadata(&part).is_ok_and(|at| at.ino() == opened.ino()) {
                file.set_len(0)?;
                if let Ok(old) = fs::metadata(&out) {
                    file.set_permissions(old.permissions())?;
                }
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
    /// With the file's name, or that of `may`. Then an older file stays, unless only the folder cannot be made durable.
    pub fn finish(mut self, may: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
        let Some(part) = &self.part else { return may() };
        self.file.sync_all().map_err(|e| named(&self.out, &e))?;
        may()?;
        fs::rename(part, &self.out).map_err(|e| named(&self.out, &e))?;
        // The name is free for another export.
        self.part = None;
        sync_folder_of(&self.out).map_err(|e| named(&self.out, &e))
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn an_older_file_stays_until_the_new_one_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let (out, link) = (folder.path().join("x.csv"), folder.path().join("link.csv"));
        fs::write(&out, "old").unwrap();
        fs::set_permissions(&out, fs::Permissions::from_mode(0o600)).unwrap();
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
        assert_eq!(fs::metadata(&out).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn what_else_has_the_name_of_the_part_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (out, other) = (folder.path().join("x"), folder.path().join("other"));
        fs::write(&other, "other").unwrap();
        std::os::unix::fs::symlink(&other, folder.path().join("x.part")).unwrap();
        assert!(NewFile::create(&out).is_err());
        assert_eq!(fs::read_to_string(&other).unwrap(), "other");
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
