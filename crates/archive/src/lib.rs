//! Page bodies on disk: WARC 1.1 files, one gzip member per record (ISO 28500:2017).
//!
//! A fetched page becomes a `response` record. If its body equals that of the last visit byte for
//! byte, it becomes a `revisit` record without body (profile `identical-payload-digest`), as does a
//! 304 (profile `server-not-modified`). The fetcher hands over decoded bodies, so fields that describe
//! the transfer are kept under names such as `X-Archive-Orig-Content-Encoding`. With
//! `storage.archive_requests`, a `request` record follows.
//!
//! A `response` names the record of the page's previous body in the field [`BODY_BEFORE`]. So a
//! page's record leads to its last body, that one to the body before it, and a visit looks nothing
//! up.
//!
//! Page workers build and compress records ([`Record::compress`]); [`Archive`] only appends them in
//! order. [`opener`] knows where the archive is. A position in a page's record stays valid. Old files are thinned
//! ([`thin`]) or removed whole ([`cap`]), and a record that is taken down is overwritten in place ([`takedown`]).

pub mod answer;
pub mod cap;
mod files;
pub mod months;
mod moved;
pub mod opener;
mod overwrite;
mod reader;
mod record;
pub mod records;
pub mod recovery;
mod renumber;
mod rewrite;
mod spelling;
pub mod surt;
pub mod takedown;
pub mod thin;
pub mod verify;
mod warcinfo;
mod writer;

pub use files::{WarcFiles, is_thinned, name_now};
pub use moved::place;
pub use reader::ArchiveReader;
pub use record::{
    BODY_BEFORE, Compressor, EarlierCapture, HttpVersion, ROUND, Record, RecordHead, Truncation, rendered,
};
pub use recovery::{ArchiveMark, Recovery, recover};
pub use renumber::add_renumbered;
pub use rewrite::tidy;
pub use spelling::{LAST_SECOND, seconds_of, timestamp};
pub use warcinfo::WarcProvenance;
pub use writer::{Archive, ArchiveEnd};

#[cfg(test)]
mod tests;
