//! Copies of pages that are kept in step elsewhere (`[[deliver]]`): a search index, a file.
//!
//! No list of changes is kept. What a target holds ([`recrawl_repository::Held`]) is compared with the pages that it
//! should hold, both in the order of URLs; what differs is sent. So a rule that changes, a takedown, a restored backup and
//! a kill need nothing of their own: the next comparison finds what they left. Nothing here sends anything.

pub mod document;
pub mod protocol;
pub mod sync;
pub mod verify;

pub use document::{PageDocument, id, name_of};
pub use sync::{
    BatchAnswers, CopyChange, DoubtError, Interrupted, ItemAnswer, SendChanges, SentChanges, SkippedChanges,
    SyncError, TargetCopy, WaitingChanges, doubt, note_takedown,
};
