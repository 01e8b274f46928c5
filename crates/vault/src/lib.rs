//! A vault: a copy of a folder on object storage that is never more than seconds old.
//!
//! For a crawl whose disk may burn. The folder is the source; the vault has its files as pieces, and numbered steps that
//! say which pieces make up which file. An object is created, if there is none of its name, and never
//! overwritten: who creates number N has written it. A step is created only after all that it names, so whatever
//! interrupts a process, the steps that are there make up the folder as it was at a moment.
//!
//! ```text
//! vault                  which crawl it is of
//! epoch/E                each start of a process takes the next epoch; the highest one writes
//! seal/E                 how far epoch E counts, if its successor must know
//! E/data/N               bytes of one file
//! E/manifest/N           a step that names all files
//! E/log/N                a step that says what changed since the step before it
//! ```
//!
//! Steps of an epoch have one sequence of numbers; its first is a manifest. The newest manifest and the logs behind it
//! are the folder (`contents`). A process of an older epoch that wakes up writes where nobody reads.
//!
//! This crate knows nothing of crawling: what a file is for, and when a folder is consistent, is its user's to know.

mod contents;
mod error;
mod object;
mod race;
mod restore;
mod seal;
mod shipper;
pub mod store;
mod sweep;
mod uploads;
mod vault;
mod verify;

pub use contents::{Piece, StoredFile, VaultContents, contents, numbers};
pub use error::VaultError;
pub use object::{ObjectKey, ObjectKind, create_or_find, framed, is_of_vault, read_framed};
pub use restore::{Restored, restore};
pub use seal::{Seal, epoch_taker, take_epoch};
pub use shipper::{MillisClock, ShippedFile, Shipper, ShipperFigures, Upkeep};
pub use store::{Listed, Store, StoreError};
pub use sweep::Swept;
pub use uploads::Uploads;
pub use vault::{
    CaptureExtent, CapturedFile, FolderCapture, Founded, Inherited, SealOlder, Shipped, Vault, found,
};
pub use verify::{ObjectDamage, VerifiedVault, verify};

#[cfg(test)]
mod tests;
