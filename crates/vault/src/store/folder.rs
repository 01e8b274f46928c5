//! Objects as files of a folder: for tests, and for a disk of another machine. Unlike `object_store`'s, a file is
//! on the disk when its create returns, with its name.

use super::{Listed, Store, StoreError, UNFINISHED, VAULT};
use crate::error::VaultError;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// A name that no process has or had for an object that is not whole yet. One that was killed may have left it as a second
/// name of an object, and numbers of processes come again.
fn unfinished() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |at| at.as_nanos());
    format!("{UNFINISHED}{now}-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Times that a folder is made again which another process removes, since its last object has gone.
const MAX_FOLDERS: u32 = 100;

/// Objects as files of a folder.
#[derive(Debug)]
pub struct FolderStore {
    folder: PathBuf,
}

impl FolderStore {
    /// The objects in a folder, which must exist: where a disk is not mounted, another one would fill up.
    ///
    /// # Errors
    /// [`VaultError::Refused`] if it does not.
    pub fn open(folder: &Path) -> Result<FolderStore, VaultError> {
        let shown = folder.display();
        match fs::metadata(folder) {
            Ok(found) if found.is_dir() => Ok(FolderStore { folder: folder.to_owned() }),
            Ok(_) => Err(VaultError::Refused(format!("{shown}: is no folder"))),
            Err(e) if e.kind() == ErrorKind::NotFound => {
                Err(VaultError::Refused(format!("{shown}: no such folder; create it, or mount its disk")))
            }
            Err(e) => Err(VaultError::Refused(format!("{shown}: {e}"))),
        }
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(key)
    }

    fn told(&self, key: &str) -> impl Fn(io::Error) -> StoreError {
        let object = self.locate(key);
        move |e| match e.kind() {
            ErrorKind::NotFound => StoreError::Absent(object.clone()),
            ErrorKind::AlreadyExists => StoreError::Exists(object.clone()),
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                StoreError::Refused(format!("{object}: {e}"))
            }
            _ => StoreError::Failed(format!("{object}: {e}")),
        }
    }

    /// Makes the folder of a key, durably.
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        let Some(folder) = path.parent().filter(|folder| !folder.is_dir()) else { return Ok(()) };
        if !self.folder.is_dir() {
            return Err(io::Error::other("the folder of the store is gone; is its disk mounted?"));
        }
        fs::create_dir_all(folder).map_err(|e| match e.kind() {
            // It was there, and is not: another process has removed it. No object is.
            ErrorKind::AlreadyExists => ErrorKind::NotFound.into(),
            _ => e,
        })?;
        for made in folder.ancestors().take_while(|made| made.starts_with(&self.folder)) {
            File::open(made)?.sync_all()?;
        }
        Ok(())
    }

    fn link(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let unfinished = self.path(&unfinished());
        let write = || {
            let mut file = self.in_folder(&unfinished, || File::create_new(&unfinished))?;
            file.write_all(bytes)?;
            file.sync_all()?;
            // A second name is refused where there is one: rename(2) would replace it.
            self.in_folder(path, || fs::hard_link(&unfinished, path))
        };
        let linked = write();
        let _ = fs::remove_file(&unfinished);
        linked?;
        path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    }

    /// Does something in the folder of a path, which is made if need be. Others may remove it meanwhile, as long as it is empty.
    fn in_folder<T>(&self, path: &Path, work: impl Fn() -> io::Result<T>) -> io::Result<T> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.make_folder(path).and_then(|()| work()) {
                Err(e) if e.kind() == ErrorKind::NotFound && tries < MAX_FOLDERS => {}
                done => return done,
            }
        }
    }

    /// Removes the folders of an object that has gone, as far as they are empty: else each plan of a fleet leaves some, and each
    /// list walks them all.
    fn remove_folders(&self, path: &Path) {
        let above = path.ancestors().skip(1);
        let within = above.take_while(|folder| *folder != self.folder && folder.starts_with(&self.folder));
        for folder in within {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
    }

    /// Files whose names are keys, and not what systems and people leave in a folder. Links are not followed.
    fn walk(&self, folder: &Path, listed: &mut Vec<Listed>) -> io::Result<()> {
        let entries = match fs::read_dir(folder) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
            if !name.as_encoded_bytes().iter().all(is_part) {
                continue;
            }
            let path = entry.path();
            let found = match fs::symlink_metadata(&path) {
                // It was removed meanwhile.
                Err(e) if e.kind() == ErrorKind::NotFound => continue,
                found => found?,
            };
            if found.is_dir() {
                self.walk(&path, listed)?;
                continue;
            }
            let key = path.strip_prefix(&self.folder).ok().and_then(Path::to_str);
            let Some(key) = key.filter(|_| found.is_file()) else { continue };
            let created = found.modified()?.duration_since(UNIX_EPOCH).map_or(0, |at| at.as_millis() as u64);
            listed.push(Listed { key: key.to_owned(), bytes: found.len(), created });
        }
        Ok(())
    }
}

impl Store for FolderStore {
    fn create(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        // Objects of an epoch begin with its number. The disk may have been unmounted since: what is written below the mount
        // point cannot be restored.
        if key.starts_with(|first: char| first.is_ascii_digit()) && !self.path(VAULT).exists() {
            let folder = self.folder.display();
            return Err(StoreError::Failed(format!(
                "{folder}: holds no vault any more; is its disk mounted?"
            )));
        }
        self.link(&self.path(key), bytes).map_err(self.told(key))
    }

    fn read(&self, key: &str, most: u64) -> Result<Vec<u8>, StoreError> {
        let file = File::open(self.path(key)).map_err(self.told(key))?;
        let mut bytes = Vec::new();
        file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(self.told(key))?;
        match bytes.len() as u64 {
            bytes if bytes > most => Err(StoreError::TooLong { object: self.locate(key), bytes }),
            _ => Ok(bytes),
        }
    }

    fn read_range(&self, key: &str, at: u64, bytes: u64) -> Result<Vec<u8>, StoreError> {
        let read = || {
            let mut file = File::open(self.path(key))?;
            file.seek(SeekFrom::Start(at))?;
            let mut found = Vec::new();
            file.take(bytes).read_to_end(&mut found)?;
            Ok(found)
        };
        read().map_err(self.told(key))
    }

    fn replace(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.path(key);
        let write = || {
            let unfinished = self.path(&unfinished());
            self.in_folder(&unfinished, || fs::write(&unfinished, bytes))?;
            self.in_folder(&path, || fs::rename(&unfinished, &path))
        };
        write().map_err(self.told(key))
    }

    fn list(&self, folder: &str) -> Result<Vec<Listed>, StoreError> {
        let mut listed = Vec::new();
        self.walk(&self.path(folder), &mut listed).map_err(self.told(folder))?;
        Ok(listed)
    }

    fn remove(&self, key: &str) -> Result<(), StoreError> {
        let path = self.path(key);
        match fs::remove_file(&path).map_err(self.told(key)) {
            Err(StoreError::Absent(_)) => Ok(()),
            Err(error) => Err(error),
            Ok(()) => {
                self.remove_folders(&path);
                Ok(())
            }
        }
    }

    fn locate(&self, key: &str) -> String {
        self.path(key).display().to_string()
    }
}
