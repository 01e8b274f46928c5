//! Standard output that the program can abandon. A slow reader slows the crawl, but does not keep
//! the program from stopping.

use recrawl_crawl::failure::Failure;
use recrawl_crawl::process::Printer;
use recrawl_terminal::escape;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::{self, Write};
use tokio_util::sync::CancellationToken;

/// Bytes per write: at least this many fit into a pipe that `poll` calls writable (`PIPE_BUF`), so
/// a write never blocks.
const PIECE: usize = 4096;
/// Interval of checks for a stop request.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// After a stop request: ticks without any progress until the output is abandoned.
const PATIENCE: u32 = 10;

/// Standard output without the standard library's buffer, whose flush at the end of the program
/// would block.
pub struct Printed {
    stop: CancellationToken,
    gave_up: bool,
}

impl Printed {
    /// Waits for the reader until `stop` is cancelled.
    pub fn new(stop: CancellationToken) -> Printed {
        Printed { stop, gave_up: false }
    }

    /// Prints a line. Succeeds also if the reader has closed the pipe (`recrawl … | head`), or if
    /// it no longer reads after a stop request.
    ///
    /// # Errors
    /// When a write fails for another reason.
    pub fn line(&mut self, text: &str) -> Result<(), Failure> {
        match self.write_all(format!("{}\n", escape::lines(text)).as_bytes()) {
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe || self.gave_up => Ok(()),
            Err(e) => Err(Failure::Work(format!("cannot write to standard output: {e}"))),
            Ok(()) => Ok(()),
        }
    }

    /// Waits until standard output is writable.
    fn wait(&mut self) -> io::Result<()> {
        let stdout = io::stdout();
        let mut patience = PATIENCE;
        loop {
            match poll(&mut [PollFd::new(&stdout, PollFlags::OUT)], Some(&TICK)) {
                Ok(0) if self.stop.is_cancelled() && patience == 0 => {
                    self.gave_up = true;
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "nobody reads the output"));
                }
                Ok(0) if self.stop.is_cancelled() => patience -= 1,
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Printer for Printed {
    fn gave_up(&self) -> bool {
        self.gave_up
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
