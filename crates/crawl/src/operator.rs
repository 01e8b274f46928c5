//! Decisions of people: seeds, imports, requested pages, pauses, blocks, takedowns.

pub mod control;
pub mod import;
pub(crate) mod removal;
pub mod rollback;
pub mod seeds;
pub mod stopped;
pub mod takedown;
