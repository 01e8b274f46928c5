//! Feedback of a request to its host, and the rules for retries.

use crate::host::politeness::ServerHealth;
use crate::net::client::{NetworkError, Reply};
use crate::net::limits::{FIRST_EXHAUSTED_WAIT, MAX_EXHAUSTED_WAIT};
use std::net::IpAddr;
use std::time::Duration;
use tokio::time::Instant;

/// How a request that no server processed may be retried.
#[derive(Clone, Copy)]
pub struct RetryPolicy {
    /// If no connection can be made: retry at the next address of the name.
    pub try_next_address: bool,
    /// If the server closed a kept connection or refused the stream: repeat once.
    pub repeat: bool,
}

/// Result of one request, as far as it concerns the host.
#[derive(Debug)]
pub struct HostFeedback {
    pub elapsed: Duration,
    pub health: ServerHealth,
    /// The Retry-After of the response.
    pub retry_after: Option<Duration>,
    /// Address of the server.
    pub peer: Option<IpAddr>,
}

impl HostFeedback {
    pub fn from_answer(
        answer: &Result<Reply, NetworkError>,
        elapsed: Duration,
        now: u64,
    ) -> Option<HostFeedback> {
        let health = match answer {
            Err(error) if error.reached_no_server() => return None,
            Ok(reply) if matches!(reply.status, 429 | 503) => ServerHealth::Overloaded,
            Ok(reply) if reply.status < 500 => ServerHealth::Healthy,
            Err(NetworkError::Timeout) => ServerHealth::TimedOut,
            Ok(_) | Err(_) => ServerHealth::Unknown,
        };
        let peer = answer.as_ref().ok().and_then(|r| r.peer).map(|p| p.ip().to_canonical());
        let retry_after = answer.as_ref().ok().and_then(|reply| reply.retry_after(now));
        Some(HostFeedback { elapsed, health, retry_after, peer })
    }
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
