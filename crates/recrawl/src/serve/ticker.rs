//! Work that a thread of its own repeats.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Repeats the work until it is dropped. Then the thread has ended, and what the work held is closed.
pub struct Ticker {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Starts the thread `name`, which works each time `every` has passed.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(name: &str, every: Duration, mut work: impl FnMut() + Send + 'static) -> io::Result<Ticker> {
        Ticker::start_paced(name, every, move || {
            work();
            every
        })
    }

    /// The same, after a first wait; the work says how long to wait before the next time.
    ///
    /// # Errors
    /// As [`Ticker::start`].
    pub fn start_paced(
        name: &str,
        mut wait: Duration,
        mut work: impl FnMut() -> Duration + Send + 'static,
    ) -> io::Result<Ticker> {
        let (sender, end) = mpsc::channel();
        let repeat = move || {
            while end.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                wait = work();
            }
        };
        let thread = thread::Builder::new().name(name.into()).spawn(repeat)?;
        Ok(Ticker { end: Some(sender), thread: Some(thread) })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was logged when it happened.
            drop(thread.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    #[test]
    fn it_works_until_it_is_dropped_and_holds_nothing_then() {
        let count = Arc::new(AtomicU32::new(0));
        let counted = count.clone();
        let ticker = Ticker::start("test", Duration::from_millis(1), move || {
            counted.fetch_add(1, Relaxed);
        });
        while count.load(Relaxed) < 3 {
            thread::yield_now();
        }
        drop(ticker.unwrap());
        assert_eq!(Arc::strong_count(&count), 1);
        let slow = Ticker::start("test", Duration::from_hours(1), || unreachable!("it is dropped before"));
        drop(slow.unwrap());
    }
}
