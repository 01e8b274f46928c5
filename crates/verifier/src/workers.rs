//! Worker threads for jobs that need no order: unpacking, matching and packing blocks.

use crate::pass::BLOCKS_A_THREAD;
use recrawl_repository::Scratch;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Scope;

type Job<'s> = Box<dyn FnOnce(&mut Scratch) + Send + 's>;

/// Queued jobs per thread. The pass never has more blocks in flight, so queuing a job never blocks.
const JOBS_A_THREAD: usize = 2 * BLOCKS_A_THREAD;

/// A few threads with one queue.
pub(crate) struct Workers<'s> {
    /// `None` if the caller's thread does all jobs.
    jobs: Option<SyncSender<Job<'s>>>,
}

/// The future result of a job.
pub(crate) struct JobResult<T>(Receiver<T>);

impl<'s> Workers<'s> {
    /// Starts `threads` threads, which end with `self`. Below two, the caller's thread does all
    /// jobs.
    pub fn start<'e>(scope: &'s Scope<'s, 'e>, threads: usize) -> Workers<'s> {
        if threads < 2 {
            return Workers { jobs: None };
        }
        let (jobs, queue) = sync_channel::<Job<'s>>(JOBS_A_THREAD * threads);
        let queue = Arc::new(Mutex::new(queue));
        for _ in 0..threads {
            let queue = queue.clone();
            scope.spawn(move || {
                let mut scratch = Scratch::default();
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok(job) = next else { return };
                    job(&mut scratch);
                }
            });
        }
        Workers { jobs: Some(jobs) }
    }

    /// Queues a job.
    pub fn submit<T: Send + 's>(&self, job: impl FnOnce(&mut Scratch) -> T + Send + 's) -> JobResult<T> {
        let (answer, promise) = sync_channel(1);
        let job = move |scratch: &mut Scratch| {
            // The merge has failed if nobody waits for the result.
            let _ = answer.send(job(scratch));
        };
        match &self.jobs {
            Some(jobs) => jobs.send(Box::new(job)).expect("the workers live as long as the queue"),
            None => job(&mut Scratch::default()),
        }
        JobResult(promise)
    }
}

impl<T> JobResult<T> {
    /// Waits for the result.
    ///
    /// # Panics
    /// If the job panicked.
    pub fn wait(self) -> T {
        self.0.recv().expect("a job ends with an answer")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::thread;

    #[test]
    fn answers_come_whatever_the_number_of_threads_and_promises_may_be_dropped() {
        for threads in 0..5 {
            let sum: u32 = thread::scope(|scope| {
                let workers = Workers::start(scope, threads);
                let promises: Vec<_> = (0..100).map(|i| workers.submit(move |_| i)).collect();
                promises.into_iter().skip(50).map(JobResult::wait).sum()
            });
            assert_eq!(sum, (50..100).sum::<u32>(), "{threads} threads");
        }
    }

    /// The scope ends only when all threads end: a thread that blocked for ever would hang this
    /// test.
    #[test]
    fn a_panic_reaches_the_one_that_waits_and_leaves_no_thread_behind() {
        for (threads, panics) in [(1, 1), (2, 1), (2, 40), (4, 2)] {
            let caught = catch_unwind(AssertUnwindSafe(|| {
                thread::scope(|scope| {
                    let workers = Workers::start(scope, threads);
                    let jobs =
                        (0..40).map(|i| workers.submit(move |_| assert!(i >= panics, "as the test wants")));
                    jobs.collect::<Vec<_>>().into_iter().for_each(JobResult::wait);
                });
            }));
            assert!(caught.is_err(), "{threads} threads, {panics} panics");
        }
    }
}
