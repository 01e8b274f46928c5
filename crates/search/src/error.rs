//! Why an index cannot be read or written.

use rustix::io::Errno;
use std::any::Any;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use tantivy::TantivyError;
use tantivy::directory::error::{LockError, OpenDirectoryError, OpenReadError};

/// The reason why an index cannot be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// There is none in the folder.
    #[error("there is no index yet")]
    Absent,
    /// It is damaged, or of another version of this crate.
    #[error("the index is damaged: {0}")]
    Damaged(String),
    /// Somebody else writes to it.
    #[error("another process writes to the index")]
    Busy,
    /// The program ends, or has another configuration.
    #[error("the program ends, or has another configuration")]
    Ended,
    /// A file cannot be read or written.
    #[error("{0}")]
    Failed(String),
}

/// The file that a commit replaces.
const META: &str = "meta.json";

impl From<TantivyError> for SearchError {
    fn from(error: TantivyError) -> SearchError {
        match error {
            TantivyError::OpenDirectoryError(OpenDirectoryError::DoesNotExist(_)) => SearchError::Absent,
            TantivyError::OpenReadError(OpenReadError::FileDoesNotExist(path)) => {
                match path.as_path() == Path::new(META) {
                    true => SearchError::Absent,
                    false => SearchError::Damaged(format!("{} is missing", path.display())),
                }
            }
            TantivyError::OpenReadError(OpenReadError::IoError { io_error: error, .. })
            | TantivyError::IoError(error) => SearchError::from(&*error),
            TantivyError::LockFailure(LockError::LockBusy, _) => SearchError::Busy,
            TantivyError::OpenReadError(_)
            | TantivyError::DataCorruption(_)
            | TantivyError::IncompatibleIndex(_)
            | TantivyError::SchemaError(_)
            | TantivyError::DeserializeError(_) => SearchError::Damaged(error.to_string()),
            other => SearchError::Failed(other.to_string()),
        }
    }
}

impl From<OpenDirectoryError> for SearchError {
    fn from(error: OpenDirectoryError) -> SearchError {
        TantivyError::from(error).into()
    }
}

impl From<&std::io::Error> for SearchError {
    fn from(error: &std::io::Error) -> SearchError {
        match error.kind() {
            // A sector of the disk: it gets another one when the file is made anew.
            _ if error.raw_os_error() == Some(Errno::IO.raw_os_error()) => {
                SearchError::Damaged(error.to_string())
            }
            // A file is too short, or begins or ends with other bytes.
            ErrorKind::UnexpectedEof | ErrorKind::InvalidData => SearchError::Damaged(error.to_string()),
            _ => SearchError::Failed(error.to_string()),
        }
    }
}

impl From<std::io::Error> for SearchError {
    fn from(error: std::io::Error) -> SearchError {
        SearchError::from(&error)
    }
}

/// Calls tantivy, which panics on some damaged files.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T, SearchError>) -> Result<T, SearchError> {
    let said = |panic: Box<dyn Any + Send>| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no reason given".into())
    };
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(SearchError::Damaged(said(panic))))
}
