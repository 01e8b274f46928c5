//! Figures of a running cycle, and signs that it moves.

pub mod answers;
pub mod errors;
pub mod figures;
pub mod storage;
