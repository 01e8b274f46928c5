//! Errors of this machine, which are no fault of a host: no file descriptor, buffer, port or memory is left.

use crate::client::NetworkError;
use crate::limits::{FIRST_EXHAUSTED_WAIT, MAX_EXHAUSTED_WAIT};
use rustix::io::Errno;
use std::io;
use std::time::Duration;
use tokio::time::Instant;

/// Did the system refuse for want of a resource of this machine?
pub fn is_exhausted(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM | Errno::ADDRNOTAVAIL)
    )
}

/// Repeats a request until this machine has what it takes, with growing pauses, for [`MAX_EXHAUSTED_WAIT`]:
/// meanwhile other requests end and leave what they held. What came of the last try, and how long it took.
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
