//! The seam to a store of objects: the operations that are asked for, and what each promises.

pub mod faulty;
mod folder;
mod memory;
mod remote;
mod within;

pub use folder::FolderStore;
pub use memory::MemoryStore;
pub use remote::RemoteStore;
pub use within::StoreWithin;

use crate::error::VaultError;
use percent_encoding::percent_decode_str;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;
use url::Url;

/// The object that says which crawl a vault is of. Every vault has it.
pub(crate) const VAULT: &str = "vault";
/// The folder of objects that are not whole yet: only a [`FolderStore`] has some.
pub(crate) const UNFINISHED: &str = "unfinished/";

/// A store of objects by key. Keys are ASCII letters, digits and `-`, with `/` between their parts.
pub trait Store: Send + Sync + Debug {
    /// Creates an object, whole, unless there is one of that key. Durable when it returns.
    ///
    /// # Errors
    /// [`StoreError::Exists`] if there is one. After [`StoreError::Failed`] nobody knows whether it was created, or will
    /// be yet.
    fn create(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError>;

    /// Reads an object of at most so many bytes. What was created is seen by each read that begins later.
    ///
    /// # Errors
    /// [`StoreError::Absent`] if there is none, and [`StoreError::TooLong`] before it takes memory.
    fn read(&self, key: &str, most: u64) -> Result<Vec<u8>, StoreError>;

    /// Reads so many bytes of an object from a place on: fewer where it ends, of which there is one at least.
    ///
    /// # Errors
    /// [`StoreError::Absent`] if there is none.
    fn read_range(&self, key: &str, at: u64, bytes: u64) -> Result<Vec<u8>, StoreError> {
        let found = self.read(key, u64::MAX)?;
        Ok(found.into_iter().skip(at as usize).take(bytes as usize).collect())
    }

    /// Writes an object, whole, in place of one of that key. For what carries no truth: the last of two writers stays.
    ///
    /// # Errors
    /// When the store does not answer, or refuses.
    fn replace(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError>;

    /// Writes an object, whole, in place of one of that key that has the bytes `before`: of several writers, none undoes what
    /// another did meanwhile.
    ///
    /// # Errors
    /// [`StoreError::Exists`] if it has others by now, and [`StoreError::Refused`] if the store cannot do this.
    fn exchange(&self, key: &str, _before: &[u8], _bytes: &[u8]) -> Result<(), StoreError> {
        Err(StoreError::Refused(format!("{}: the store has no conditional writes", self.locate(key))))
    }

    /// Lists the objects whose keys begin with this folder, in no promised order. Empty: all.
    ///
    /// # Errors
    /// When the store does not answer.
    fn list(&self, folder: &str) -> Result<Vec<Listed>, StoreError>;

    /// When an object was created, in milliseconds since 1970, by the store's clock. Some stores tell whole seconds.
    ///
    /// # Errors
    /// [`StoreError::Absent`] if there is none.
    fn created(&self, key: &str) -> Result<u64, StoreError> {
        let folder = key.rfind('/').map_or("", |end| &key[..=end]);
        let listed = self.list(folder)?.into_iter().find(|object| object.key == key);
        listed.map(|object| object.created).ok_or_else(|| StoreError::Absent(self.locate(key)))
    }

    /// Removes an object; none to remove is no error.
    ///
    /// # Errors
    /// When the store does not answer, or refuses.
    fn remove(&self, key: &str) -> Result<(), StoreError>;

    /// Where an object is, in words for a person. An empty key means the vault.
    fn locate(&self, key: &str) -> String;
}

/// An object that was listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its key.
    pub key: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// When it was created, in milliseconds since 1970, by the store's clock.
    pub created: u64,
}

/// Why a store did not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// There is an object of that key.
    #[error("{0}: exists already")]
    Exists(String),
    /// There is no object of that key.
    #[error("{0}: no such object")]
    Absent(String),
    /// There is an object of that key that is longer than any that is written there.
    #[error("{object}: has {bytes} bytes, more than any object of its kind")]
    TooLong {
        /// The object.
        object: String,
        /// Its length.
        bytes: u64,
    },
    /// Refused, now and later.
    #[error("{0}")]
    Refused(String),
    /// Not answered, or by an error that may pass. It may have been done all the same.
    #[error("{0}")]
    Failed(String),
}

/// Checks the address of a vault and opens its store. Nothing is asked of it.
///
/// # Errors
/// [`VaultError::Refused`], saying how an address is written, or which credentials are missing.
pub fn open(address: &str) -> Result<Arc<dyn Store>, VaultError> {
    let wrong = |why: &str| {
        VaultError::Refused(format!(
            "{address:?} is no address of a vault: {why}; write s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, \
             az://CONTAINER/PREFIX or file:///FOLDER"
        ))
    };
    let url = Url::parse(address).map_err(|e| wrong(&e.to_string()))?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("it has a query or a fragment"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(VaultError::Refused(
            "the address of the vault has a user or password; credentials come from the environment".into(),
        ));
    }
    let path = percent_decode_str(url.path()).decode_utf8().map_err(|_| wrong("its path is not UTF-8"))?;
    let host = url.host_str().unwrap_or_default();
    match url.scheme() {
        "file" if host.is_empty() && path.len() > 1 => {
            Ok(Arc::new(FolderStore::open(Path::new(path.as_ref()))?))
        }
        "file" => Err(wrong("a folder is named by its whole path, behind three slashes")),
        "s3" | "gs" | "az" if host.is_empty() => Err(wrong("it names no bucket")),
        "s3" | "gs" | "az" => Ok(Arc::new(RemoteStore::open(&url, path.trim_matches('/'))?)),
        other => Err(wrong(&format!("{other}:// is not supported"))),
    }
}
