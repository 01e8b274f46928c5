//! The data directory of a partition on this machine: a cache of its vault, which has the truth.

use recrawl_crawl::data_dir;
use recrawl_crawl::failure::Failure;
use recrawl_crawl::vault::lineage::Lineage;
use recrawl_crawl::vault::restore;
use recrawl_vault::{Founded, Restored, Store, VaultError, contents, found};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The file by which a data directory says whose partitions it has.
const FLEET: &str = "fleet";

/// Marks a data directory as that of a fleet: from then on its partitions are a cache. No other process uses it while the file that
/// is returned is open.
///
/// # Errors
/// [`Failure::Usage`] if it holds a crawl, is another fleet's, or another process uses it.
pub fn mark(folder: &Path, address: &str) -> Result<File, Failure> {
    let file = folder.join(FLEET);
    let wrong = |what: String| Err(Failure::Usage(format!("{}: {what}", folder.display())));
    match fs::read_to_string(&file) {
        Ok(marked) if marked.trim() == address && !data_dir::is_begun(folder) => {
            return locked(folder, &file);
        }
        Ok(marked) => {
            return wrong(format!("is of the fleet {}; use another data directory here", marked.trim()));
        }
        Err(e) if e.kind() == ErrorKind::NotFound => {}
        Err(e) => return Err(work("read", &file, e)),
    }
    if data_dir::is_begun(folder) {
        let begin = format!("recrawl fleet begin {address} --data-dir {}", folder.display());
        return wrong(format!("holds a crawl; ship it by `{begin}`, and use another data directory here"));
    }
    fs::create_dir_all(folder).map_err(|e| work("create", folder, e))?;
    fs::write(&file, format!("{address}\n")).map_err(|e| work("write", &file, e))?;
    locked(folder, &file)
}

/// Marks a data directory as that of a crawl which a fleet goes on with: nobody crawls it alone any more.
///
/// # Errors
/// When it cannot be written.
pub fn give(folder: &Path, address: &str) -> Result<(), Failure> {
    let file = folder.join(FLEET);
    fs::write(&file, format!("{address}\n")).map_err(|e| work("write", &file, e))
}

/// The fleet to which this data directory was given, or whose partitions it has.
pub fn given_to(folder: &Path) -> Option<String> {
    fs::read_to_string(folder.join(FLEET)).ok().map(|address| address.trim().to_owned())
}

fn locked(folder: &Path, file: &Path) -> Result<File, Failure> {
    let open = File::open(file).map_err(|e| work("open", file, e))?;
    match flock(&open, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(open),
        Err(Errno::WOULDBLOCK) => {
            let text = "another process of the fleet uses it; give each a data directory of its own";
            Err(Failure::Usage(format!("{}: {text}", folder.display())))
        }
        Err(e) => Err(work("lock", file, e.into())),
    }
}

/// The fleet and the number of the partition whose data directory this is; none of a crawl that is alone.
pub fn partition_in(data_dir: &Path) -> Option<(String, u32)> {
    let id = data_dir.file_name()?.to_str()?.strip_prefix("partition-")?.parse().ok()?;
    Some((given_to(data_dir.parent()?)?, id))
}

fn work(what: &str, at: &Path, error: std::io::Error) -> Failure {
    Failure::Work(format!("cannot {what} {}: {error}", at.display()))
}

/// The content with which a partition begins.
pub enum FolderState {
    /// Nothing: it has no pages yet.
    New,
    /// The folder is as new as the vault, or newer.
    Kept,
    /// The folder is made from the vault.
    Restored(Restored),
}

/// The folder of a partition.
pub fn path(folder: &Path, id: u32) -> PathBuf {
    folder.join(format!("partition-{id}"))
}

/// Was this epoch taken by a process of this machine's folder? Whoever opens the folder has its lock, so that process has ended.
///
/// # Errors
/// When the vault does not answer.
pub fn is_own(folder: &Path, id: u32, epoch: u64, vault: &dyn Store) -> Result<bool, VaultError> {
    let Ok(Some(lineage)) = Lineage::read(&path(folder, id)) else { return Ok(false) };
    let there = found(vault)?;
    // A restored folder has the nonce of the process that it was made from, until it ships.
    let is_own = |there: Founded| there.epoch == epoch && there.nonce == lineage.nonce;
    Ok(lineage.restored.is_none() && there.is_some_and(is_own))
}

/// Removes a folder whose partition another process owns by now, once that one's vault has all: what was taken down there
/// since must not stay here. Gives whether there was one.
///
/// # Errors
/// When it cannot be read or removed, or the vault does not answer.
pub fn remove_outdated(folder: &Path, vault: &str, store: &dyn Store) -> Result<bool, Failure> {
    let Some(here) = Lineage::read(folder)? else { return Ok(false) };
    let Some(there) = found(store)?.filter(|there| there.id == here.id && here.vault == vault) else {
        return Ok(false);
    };
    let has_all = || Ok::<_, VaultError>(contents(store)?.is_some_and(|held| held.nonce == there.nonce));
    if [&here.nonce, &here.previous].contains(&&there.nonce) || !has_all()? {
        return Ok(false);
    }
    remove(folder).map_err(|e| work("remove", folder, e))?;
    Ok(true)
}

/// Removes the folder of a partition that ended. Gives whether there was one.
///
/// # Errors
/// When it cannot be read or removed.
pub fn remove_former(folder: &Path, vault: &str) -> Result<bool, Failure> {
    // Another process was faster to begin it, if it has no lineage.
    let is_its = folder.exists() && Lineage::read(folder)?.is_none_or(|here| here.vault == vault);
    if is_its {
        remove(folder).map_err(|e| work("remove", folder, e))?;
    }
    Ok(is_its)
}

/// Makes the folder as new as the vault of this address, whose store is given. One that is older, since another process has shipped meanwhile, is made anew: what it had
/// not shipped is lost.
///
/// # Errors
/// When the folder is another's, or cannot be read or written; or the vault is damaged, or does not answer.
pub fn prepare(folder: &Path, vault: &str, store: &dyn Store) -> Result<FolderState, Failure> {
    let there = found(store)?;
    let here = Lineage::read(folder)?;
    match (&here, &there) {
        (Some(here), _) if here.vault != vault => {
            return Err(Failure::Usage(format!(
                "{}: is of the vault {}, and not of {vault}; move it away",
                folder.display(),
                here.vault
            )));
        }
        // Another process was faster when it began, or it begins now.
        (None, None) => {
            remove(folder).map_err(|e| work("remove", folder, e))?;
            return Ok(FolderState::New);
        }
        // A wiped vault is told when the crawl is opened.
        (Some(_), None) => return Ok(FolderState::Kept),
        (Some(here), Some(there)) => {
            let is_newest = here.nonce == there.nonce || here.previous == there.nonce;
            // A restored one that has not shipped yet is as good as new, until another process ships.
            let is_as_restored = || {
                let newest = contents(store)?.map(|contents| contents.newest());
                Ok::<_, VaultError>(here.restored.is_none_or(|restored| newest == Some(restored)))
            };
            if here.id == there.id && is_newest && is_as_restored()? {
                return Ok(FolderState::Kept);
            }
        }
        (None, Some(_)) => {}
    }
    // Restored beside the old one, which is of use as long as there is no other.
    let [new, old] = ["new", "old"].map(|state| folder.with_extension(state));
    for left in [&new, &old] {
        remove(left).map_err(|e| work("remove", left, e))?;
    }
    fs::create_dir_all(&new).map_err(|e| work("create", &new, e))?;
    let state = begun(&new, (vault, store), there)?;
    match fs::rename(folder, &old) {
        Err(e) if e.kind() == ErrorKind::NotFound => {}
        renamed => renamed.map_err(|e| work("rename", folder, e))?,
    }
    fs::rename(&new, folder).map_err(|e| work("rename", &new, e))?;
    remove(&old).map_err(|e| work("remove", &old, e))?;
    Ok(state)
}

/// Makes the content of a new folder from the vault.
fn begun(
    folder: &Path,
    (vault, store): (&str, &dyn Store),
    there: Option<Founded>,
) -> Result<FolderState, Failure> {
    if let Some(there) = there
        && contents(store)?.is_none()
    {
        // Others have founded it, and shipped nothing. The folder is of that vault all the same.
        let lineage =
            Lineage { vault: vault.to_owned(), id: there.id, nonce: there.nonce, ..Lineage::default() };
        return lineage.write(folder).map(|()| FolderState::New);
    }
    restore::restore(&restore::open(vault)?, folder).map(FolderState::Restored)
}

fn remove(folder: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
