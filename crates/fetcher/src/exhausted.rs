//! Errors of this machine, not of a host: no file descriptor, buffer, port or memory is left.

use crate::client::NetworkError;
use crate::limits::{FIRST_EXHAUSTED_WAIT, MAX_EXHAUSTED_WAIT};
use rustix::io::Errno;
use std::io;
use std::time::Duration;
use tokio::time::Instant;

/// Did the system call fail because this machine lacks a resource?
pub fn is_exhausted(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM | Errno::ADDRNOTAVAIL)
    )
}

/// Repeats a request while this machine lacks resources, with growing pauses, for up to
/// [`MAX_EXHAUSTED_WAIT`]. Meanwhile other requests end and free theirs. Returns the last result
/// and its duration.
pub async fn retry_while_exhausted<T, F>(
    mut request: impl FnMut() -> F,
) -> (Result<T, NetworkError>, Duration)
where
    F: Future<Output = Result<T, NetworkError>>,
{
    let (mut waited, mut wait) = (Duration::ZERO, FIRST_EXHAUSTED_WAIT);
    loop {
        let start = Instant::now();
        let answer = request().await;
        if !matches!(answer, Err(NetworkError::Exhausted)) || waited >= MAX_EXHAUSTED_WAIT {
            return (answer, start.elapsed());
        }
        tokio::time::sleep(wait).await;
        waited += wait;
        wait *= 2;
    }
}
