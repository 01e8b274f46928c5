//! Why a vault cannot be used.

use crate::store::StoreError;
use std::io;

/// Why a vault cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VaultError {
    /// The store refuses, and will refuse again: credentials, a missing bucket, no right to write.
    #[error("{0}")]
    Refused(String),
    /// The store did not answer, or not as it should. To try again may help.
    #[error("{0}")]
    Away(String),
    /// There is no vault.
    #[error("{0}: there is no vault here")]
    Absent(String),
    /// The store lets several writers create one object.
    #[error(
        "{place}: {winners} of {racers} racing creates of one object succeeded, and one must; this store cannot hold a vault"
    )]
    Unfit {
        /// The store.
        place: String,
        /// Creates that succeeded.
        winners: usize,
        /// Creates that ran at once.
        racers: usize,
    },
    /// Another process has taken the vault since.
    #[error("{object} exists: another process has taken this vault, so this one must not go on")]
    Lost {
        /// The object that it wrote.
        object: String,
    },
    /// An object is not what it was, or gone.
    #[error("{object}, byte {offset}: {what}")]
    Damaged {
        /// The object.
        object: String,
        /// The first byte of the damaged part.
        offset: u64,
        /// The kind of damage.
        what: String,
    },
    /// A file of the folder cannot be read or written.
    #[error("{file}: {source}")]
    File {
        /// The file.
        file: String,
        /// The cause.
        source: io::Error,
    },
}

impl From<StoreError> for VaultError {
    fn from(error: StoreError) -> VaultError {
        match error {
            StoreError::Refused(what) => VaultError::Refused(what),
            StoreError::Failed(what) => VaultError::Away(what),
            StoreError::Exists(object) => VaultError::Away(format!("{object}: exists already")),
            StoreError::Absent(object) => VaultError::Away(format!("{object}: is missing")),
            StoreError::TooLong { object, bytes } => {
                let what = format!("it has {bytes} bytes, more than any object of its kind");
                VaultError::Damaged { object, offset: 0, what }
            }
        }
    }
}

impl VaultError {
    /// A file of the folder that cannot be read or written.
    pub(crate) fn file(file: &str) -> impl FnOnce(io::Error) -> VaultError + '_ {
        |source| VaultError::File { file: file.to_owned(), source }
    }

    /// May it help to try again later? Also where the store refuses: credentials are renewed.
    pub fn is_passing(&self) -> bool {
        matches!(self, VaultError::Away(_) | VaultError::Refused(_) | VaultError::File { .. })
    }
}
