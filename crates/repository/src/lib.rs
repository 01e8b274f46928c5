//! Generations of page records on disk, the cycle's own files, and the tables of small state.
//!
//! For the crawl cycle, which reads generation g, logs what it does, and commits generation g+1. The main
//! types are [`Repository`] and [`Generation`]. A generation is written once, in the one order of URLs:
//! sorted, front-coded keys apart from fixed-width state columns, and these apart from what only visited
//! pages have, so that scoring reads state alone. Every block carries a checksum; one atomic rename of the
//! manifest is the commit. The bytes are described in docs/internals/formats.md.
//!
//! An embedded database was considered for the pages and refused: a cycle touches a twentieth of all
//! pages, which is nearly every block, and a sequential rewrite of small columns moves fewer bytes than
//! point updates do. Where point updates are the rule (hosts), there is one: [`SledTables`].
//!
//! This crate knows nothing of scoring and of HTTP.

pub mod decisions;
mod file;
mod generation;
mod kept;
mod repository;
mod round;
pub mod storage;
mod tables;
#[cfg(test)]
mod testing;

pub use file::bytes::Malformed;
pub use file::error::{CommitError, Damage, OpenError, ReadError, WriteError};
pub use file::format::{FORMAT_VERSION, MAX_FRAME_BYTES, OLDEST_VERSION, WRITTEN_VERSION};
pub use file::frames::FrameWriter;
pub use file::{checked_file, spill};
pub use generation::block::{BLOCK_PAGES, MAX_BLOCK_PAGES};
pub use generation::codec;
pub use generation::front_coded::{KeyGap, KeyPlace};
pub use generation::manifest::GenerationSummary;
pub use generation::open_block::{NewPages, OpenBlock};
pub use generation::origins::{OriginIndex, OriginRun, OriginRuns};
pub use generation::page_block::{
    BlockExtent, Changed, PackedBlock, PackedPages, PageBlock, Scratch, is_untried,
};
pub use generation::walk::{Gather, Lookup, PackedBlocks, PageRecords, PageStateBlocks, Row};
pub use generation::{Generation, PartStats};
pub use kept::copies::{CopyHead, CopyReader, CopyWriter, DocumentState, Held, copies, copy_file};
pub use kept::follow::{Followed, StoredPosition, VisitFollower};
pub use kept::hosts::{StoredHost, StoredHosts};
pub use kept::joined::{JoinedRound, join_kept};
pub use kept::rounds::StoredRounds;
pub use kept::visits::{StoredVisit, StoredVisits, VisitLesson};
pub use repository::Repository;
pub use repository::reports::Reports;
pub use repository::salvage::{LostRange, SalvageError, Salvaged, salvage};
pub use repository::snapshot::{Snapshot, SnapshotError, UnfinishedSnapshot};
pub use repository::writer::GenerationWriter;
pub use round::carried_pages::{CarriedPages, CarriedWriter};
pub use round::log_file::LogError;
pub use round::request_log::{RequestFile, RequestReader};
pub use round::requisite_log::{RequisiteChanges, RequisiteFile};
pub use round::schedule_file::{Ranked, ScheduleFile, ScheduleWriter};
pub use round::visit_log::{LogChunk, Recovered, VisitLog, VisitReader, VisitedIndexes};
pub use tables::{
    DropCounts, OriginTable, RequisiteChange, RequisiteRow, RowKey, SledTables, SyncFolder, TablesFound,
    sync_files,
};
