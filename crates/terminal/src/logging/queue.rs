//! Non-blocking queue of lines for a slow writer.
//!
//! One thread writes. Meanwhile up to [`MAX_WAITING`] bytes of lines are queued; further lines are
//! dropped and counted, and a line with their number is written in their place.

use std::io::Write;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Maximum bytes of queued lines; the writing thread may hold as many more.
pub const MAX_WAITING: usize = 1 << 20;

pub struct LogQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

struct QueueState {
    /// The queued lines, and the end of each, since a line may contain line ends.
    waiting: Vec<u8>,
    ends: Vec<usize>,
    /// A line was dropped since the queue was last emptied. Later lines are dropped too, so that
    /// the gap is in one place.
    is_full: bool,
    /// Dropped and not yet reported.
    unsaid: u64,
    /// Dropped since the start.
    lost: u64,
    /// Does the writing thread hold lines?
    is_writing: bool,
    /// Lines that were written or failed.
    written: u64,
}

impl LogQueue {
    pub const fn new() -> LogQueue {
        let state = QueueState {
            waiting: Vec::new(),
            ends: Vec::new(),
            is_full: false,
            unsaid: 0,
            lost: 0,
            is_writing: false,
            written: 0,
        };
        LogQueue { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().expect("no panic under the lock")
    }

    /// Queues a line with its line end, or drops and counts it.
    pub fn put(&self, line: &[u8]) {
        let mut state = self.state();
        if state.is_full || state.waiting.len() + line.len() > MAX_WAITING {
            state.is_full = true;
            state.lost += 1;
            state.unsaid += 1;
        } else {
            state.waiting.extend_from_slice(line);
            let end = state.waiting.len();
            state.ends.push(end);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Lines dropped since the start.
    pub fn lost(&self) -> u64 {
        self.state().lost
    }

    /// Waits for lines and writes them, followed by the report of dropped lines, if any.
    pub fn write(&self, out: &mut impl Write, gap: &impl Fn(u64) -> String) {
        let mut state = self.state();
        while state.ends.is_empty() {
            state = self.changed.wait(state).expect("no panic under the lock");
        }
        let (lines, ends) = (std::mem::take(&mut state.waiting), std::mem::take(&mut state.ends));
        let mut unsaid = std::mem::take(&mut state.unsaid);
        (state.is_full, state.is_writing) = (false, true);
        drop(state);
        let mut start = 0;
        for end in ends {
            let is_out = out.write_all(&lines[start..end]).is_ok();
            start = end;
            unsaid += u64::from(!is_out);
            let mut state = self.state();
            state.lost += u64::from(!is_out);
            state.written += 1;
            drop(state);
            self.changed.notify_all();
        }
        let is_said = unsaid == 0 || out.write_all(gap(unsaid).as_bytes()).is_ok();
        let mut state = self.state();
        state.unsaid += if is_said { 0 } else { unsaid };
        state.is_writing = false;
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until all lines are written, at most `patience` for each. Returns false if lines are
    /// left.
    pub fn settle(&self, patience: Duration) -> bool {
        let mut state = self.state();
        let (mut written, mut until) = (state.written, Instant::now() + patience);
        while state.is_writing || !state.ends.is_empty() {
            if state.written != written {
                (written, until) = (state.written, Instant::now() + patience);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self.changed.wait_timeout(state, left).expect("no panic under the lock").0;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::sync::mpsc::{Receiver, Sender, channel};

    fn gap(lines: u64) -> String {
        format!("({lines} lost)\n")
    }

    /// A writer that takes a piece only when allowed.
    struct GatedWriter {
        let_in: Receiver<()>,
        seen: Sender<Vec<u8>>,
    }

    impl Write for GatedWriter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.let_in.recv().map_err(|_| io::ErrorKind::BrokenPipe)?;
            self.seen.send(bytes.to_vec()).map_err(|_| io::ErrorKind::BrokenPipe)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_come_out_whole_and_in_order() {
        let queue = LogQueue::new();
        let mut out = Vec::new();
        for line in ["a\n", "b\nof two\n", "c\n"] {
            queue.put(line.as_bytes());
        }
        queue.write(&mut out, &gap);
        queue.put(b"d\n");
        queue.write(&mut out, &gap);
        assert_eq!(String::from_utf8(out).unwrap(), "a\nb\nof two\nc\nd\n");
        assert!(queue.settle(Duration::ZERO));
        assert_eq!(queue.lost(), 0);
    }

    #[test]
    fn beyond_the_limit_lines_are_lost_and_their_number_stands_in_their_place() {
        let queue = LogQueue::new();
        let long = [b"x".repeat(MAX_WAITING / 4 - 1), b"\n".to_vec()].concat();
        for _ in 0..6 {
            queue.put(&long);
        }
        queue.put(b"short, and behind lost ones\n");
        assert_eq!(queue.lost(), 3);
        let mut out = Vec::new();
        queue.write(&mut out, &gap);
        queue.put(b"after\n");
        queue.write(&mut out, &gap);
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), 6);
        assert!(text.ends_with("x\n(3 lost)\nafter\n"));
        assert_eq!(queue.lost(), 3);
    }

    #[test]
    fn nobody_waits_for_a_writer_that_stands_still() {
        let queue = LogQueue::new();
        let (let_in, gate) = channel();
        let (sees, seen) = channel();
        std::thread::scope(|scope| {
            let mut gate = GatedWriter { let_in: gate, seen: sees };
            let queue = &queue;
            queue.put(b"first\n");
            let writer = scope.spawn(move || {
                for _ in 0..2 {
                    queue.write(&mut gate, &gap);
                }
            });
            // The writer holds the first line now, or soon: later lines wait, up to the limit.
            let line = [b"y".repeat(1023), b"\n".to_vec()].concat();
            for _ in 0..3 * MAX_WAITING / line.len() {
                queue.put(&line);
            }
            assert!(queue.lost() > 0);
            assert!(!queue.settle(Duration::from_millis(1)), "it cannot be written");
            for _ in 0..3 * MAX_WAITING / line.len() {
                let_in.send(()).unwrap();
            }
            assert!(queue.settle(Duration::from_secs(60)));
            // If the writer took all at once, this is its second turn.
            queue.put(b"last\n");
            writer.join().unwrap();
        });
        let lines: Vec<Vec<u8>> = seen.try_iter().collect();
        assert_eq!(lines[0], b"first\n");
        // In one gap, or in two if the writer started in between.
        let gaps = lines.iter().filter_map(|line| {
            let text = std::str::from_utf8(line).expect("UTF-8").strip_prefix('(')?;
            text.split(' ').next()?.parse::<u64>().ok()
        });
        assert_eq!(gaps.sum::<u64>(), queue.lost());
    }

    #[test]
    fn a_writer_that_is_gone_costs_lines_and_no_more() {
        struct Gone(Vec<u8>, bool);
        impl Write for Gone {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                if self.1 { Err(io::ErrorKind::BrokenPipe.into()) } else { self.0.write(bytes) }
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (queue, mut out) = (LogQueue::new(), Gone(Vec::new(), true));
        queue.put(b"a\n");
        queue.put(b"b\n");
        queue.write(&mut out, &gap);
        assert!(queue.settle(Duration::ZERO));
        assert_eq!(queue.lost(), 2);
        out.1 = false;
        queue.put(b"c\n");
        queue.write(&mut out, &gap);
        assert_eq!(out.0, b"c\n(2 lost)\n");
    }
}
