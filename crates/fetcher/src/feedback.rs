//! Feedback of a request to its host, and the rule for retries.

use crate::client::{NetworkError, Reply};
use crate::outcome::retry_after;
use crate::politeness::ServerHealth;
use std::net::IpAddr;
use std::time::Duration;

/// How a request that no server processed may be retried.
#[derive(Clone, Copy)]
pub struct RetryPolicy {
    /// If no connection can be made: retry at the next address of the name.
    pub try_next_address: bool,
    /// If the server closed a kept connection or refused the stream: repeat once.
    pub repeat: bool,
}

/// What a response, or its absence, says about the host.
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
    pub fn of(answer: &Result<Reply, NetworkError>, elapsed: Duration, now: u64) -> Option<HostFeedback> {
        let health = match answer {
            Err(error) if error.reached_no_server() => return None,
            Ok(reply) if matches!(reply.status, 429 | 503) => ServerHealth::Overloaded,
            Ok(reply) if reply.status < 500 => ServerHealth::Healthy,
            Err(NetworkError::Timeout) => ServerHealth::TimedOut,
            Ok(_) | Err(_) => ServerHealth::Unknown,
        };
        let peer = answer.as_ref().ok().and_then(|r| r.peer).map(|p| p.ip().to_canonical());
        Some(HostFeedback { elapsed, health, retry_after: retry_after(answer, now), peer })
    }
}
