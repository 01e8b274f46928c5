//! Where what outgrows its memory is put for a while.

use std::io::{self, Read, Write};

/// Takes runs of bytes and gives each back once, from front to back. Whoever writes them chooses their numbers.
/// What was not taken back is removed when this is dropped.
pub trait Spill {
    /// Begins run number `run`. It is complete once it was flushed; it need not outlive the process.
    ///
    /// # Errors
    /// When there is no room for it, with its name.
    fn create(&mut self, run: u32) -> io::Result<Box<dyn Write>>;

    /// Opens a complete run for its one reading; it is gone when it is closed. Reading takes a quarter of
    /// a MiB of memory at most, whatever the run's length.
    ///
    /// # Errors
    /// When it cannot be read, with its name.
    fn take(&mut self, run: u32) -> io::Result<Box<dyn Read>>;
}
