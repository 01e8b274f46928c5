//! Standard output, whose reader may stand still. Then the crawl waits, which is how such a reader slows it; but not
//! once the program is to end.

use crate::failure::Failure;
use crate::terminal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::{self, Write};
use tokio_util::sync::CancellationToken;

/// A pipe that has room has room for so much: what is written at a time, so that no write waits.
const PIECE: usize = 4096;
/// How often it is asked whether the program is to end.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// Once it is, a reader that takes nothing for so many ticks takes nothing any more.
const PATIENCE: u32 = 10;

/// Standard output, past the buffer of the standard library: that one is written out when the program ends, and waits.
pub struct Printed {
    stop: CancellationToken,
    gave_up: bool,
}

impl Printed {
    /// Standard output, waited for until `stop` is cancelled.
    pub fn new(stop: CancellationToken) -> Printed {
        Printed { stop, gave_up: false }
    }

    /// Did a write fail because the program is to end, and nobody reads?
    pub fn gave_up(&self) -> bool {
        self.gave_up
    }

    /// Prints a line. A reader that went away (`recrawl … | head`) is no failure, nor is one that stands still at the end.
    ///
    /// # Errors
    /// When standard output takes no more for another reason.
    pub fn line(&mut self, text: &str) -> Result<(), Failure> {
        match self.write_all(format!("{}\n", terminal::lines(text)).as_bytes()) {
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe || self.gave_up => Ok(()),
            Err(e) => Err(Failure::Work(format!("standard output: {e}"))),
            Ok(()) => Ok(()),
        }
    }

    /// Waits until it takes something.
    fn wait(&mut self) -> io::Result<()> {
        let stdout = io::stdout();
        let mut patience = PATIENCE;
        loop {
            match poll(&mut [PollFd::new(&stdout, PollFlags::OUT)], Some(&TICK)) {
                Ok(0) if self.stop.is_cancelled() && patience == 0 => {
                    self.gave_up = true;
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "nobody reads it"));
                }
                Ok(0) if self.stop.is_cancelled() => patience -= 1,
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Write for Printed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.wait()?;
        Ok(rustix::io::write(io::stdout(), &bytes[..bytes.len().min(PIECE)])?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
