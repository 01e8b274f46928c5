//! Files that only grow, as frames with a checksum each, and what a torn or damaged one still tells.

pub mod bytes;
pub mod checked_file;
pub mod error;
pub mod format;
pub mod frames;
pub mod sound_frames;
pub mod spill;
