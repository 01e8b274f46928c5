//! Generations of page records on disk, the cycle's own files, and the tables of small state.
//!
//! For the crawl cycle, which reads generation g, logs what it does, and commits generation g+1. The main
//! types are [`Repository`] and [`Generation`]. A generation is written once, in the one order of URLs:
//! sorted, front-coded keys apart from fixed-width state columns, and these apart from what only visited
//! pages have, so that scoring reads state alone. Every block carries a checksum; one atomic rename of the
//! manifest is the commit. Every byte is described in docs/internals/formats.md.
//!
//! An embedded database was considered for the pages and refused: a cycle touches a twentieth of all
//! pages, which is nearly every block, and a sequential rewrite of small columns moves fewer bytes than
//! point updates do. Where point updates are the rule (hosts), there is one: [`SledTables`].
//!
//! This crate knows nothing of scoring and of HTTP.

mod block;
mod bytes;
mod carried_pages;
pub mod checked_file;
pub mod codec;
mod column;
mod compaction;
mod contents;
pub mod decisions;
mod error;
mod format;
mod frames;
mod front_coded;
mod generation;
mod index;
mod kept_file;
mod kept_hosts;
mod kept_rounds;
mod kept_visits;
mod log_file;
mod manifest;
mod open_block;
mod origins;
mod page_block;
mod read_ahead;
mod reports;
mod repository;
mod request_log;
mod salvage;
mod schedule_file;
mod snapshot;
mod sound_frames;
pub mod spill;
pub mod storage;
mod symbols;
mod tables;
#[cfg(test)]
mod testing;
mod version_1;
mod visit_log;
mod walk;
mod writer;

pub use block::{BLOCK_PAGES, MAX_BLOCK_PAGES};
pub use bytes::Malformed;
pub use carried_pages::{CarriedPages, CarriedWriter};
pub use error::{CommitError, Damage, OpenError, ReadError, WriteError};
pub use format::{FORMAT_VERSION, MAX_FRAME_BYTES, OLDEST_VERSION, WRITTEN_VERSION};
pub use frames::FrameWriter;
pub use front_coded::{Gap, Place};
pub use generation::{Generation, PartStats};
pub use kept_hosts::{KeptHost, KeptHosts};
pub use kept_rounds::KeptRounds;
pub use kept_visits::{KeptVisit, KeptVisits, Learned};
pub use manifest::Summary;
pub use open_block::{NewPages, OpenBlock};
pub use origins::{OriginIndex, OriginRun, OriginRuns};
pub use page_block::{Changed, Extent, PackedBlock, PackedPages, PageBlock, Scratch};
pub use reports::Reports;
pub use repository::Repository;
pub use request_log::{RequestFile, RequestReader};
pub use salvage::{LostRange, SalvageError, Salvaged, salvage};
pub use schedule_file::{Ranked, ScheduleFile, ScheduleWriter};
pub use snapshot::{Snapshot, SnapshotError};
pub use tables::{OriginTable, SledTables, SyncFolder, TablesFound, sync_files};
pub use visit_log::{Done, LogChunk, LogError, Recovered, VisitLog, VisitReader};
pub use walk::{Gather, Lookup, PackedBlocks, Records, Row, States};
pub use writer::GenerationWriter;
