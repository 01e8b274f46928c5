//! Requests in flight. A run that ends early leaves them to the next run, so that no answer is lost and no server is
//! asked twice.

use crate::host::feedback::retry_while_exhausted;
use crate::host::{HostRequest, RequestStart};
use crate::net::client::{Meter, NetworkError, Reply, Request};
use crate::run::Run;
use crate::run::resources::Ticket;
use std::fmt;
use std::future::pending;
use std::net::IpAddr;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// A request that was sent.
pub struct PendingRequest {
    /// Its start, as requests are written down.
    pub start: Option<RequestStart>,
    /// Its start by this clock.
    pub began: Instant,
    answer: Pin<Box<dyn Future<Output = Answered> + Send>>,
}

/// Its end.
pub struct Answered {
    pub answer: Result<Reply, NetworkError>,
    pub elapsed: Duration,
    /// Bytes received over the network.
    pub received: u64,
}

/// A request that a run left behind.
#[derive(Debug)]
pub struct InFlight {
    pub action: HostRequest,
    /// The address that it counts for.
    pub address: Option<IpAddr>,
    pub sent: PendingRequest,
}

impl fmt::Debug for PendingRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingRequest").field("start", &self.start).finish_non_exhaustive()
    }
}

impl PendingRequest {
    /// Sends it. A page that gives up what it asked for ends it: a server that holds its answer back must not hold back
    /// the other requests of its host.
    pub fn new(
        request: Request,
        start: Option<RequestStart>,
        ticket: Option<Ticket>,
        run: &Run,
    ) -> PendingRequest {
        let (network, timeout) = (run.network.clone(), run.config.timeout);
        let answer = async move {
            let meter = Meter::default();
            let get = || async {
                let answer = meter.within(timeout, network.get(&request, &meter)).await;
                answer.unwrap_or(Err(NetworkError::Timeout))
            };
            let given_up = async {
                match &ticket {
                    Some(ticket) => ticket.given_up().await,
                    None => pending().await,
                }
            };
            let began = Instant::now();
            let (answer, elapsed) = tokio::select! {
                biased;
                answer = retry_while_exhausted(get) => answer,
                // It says nothing about the host.
                () = given_up => (Err(NetworkError::Protocol), began.elapsed()),
            };
            // A host is not slow because its body waited here.
            Answered { answer, elapsed: elapsed.saturating_sub(meter.waited()), received: meter.total() }
        };
        PendingRequest { start, began: Instant::now(), answer: Box::pin(answer) }
    }

    /// Waits for the answer. Gives the request back if the run leaves before; it goes on meanwhile.
    pub async fn answered(mut self, leaving: Option<&CancellationToken>) -> Result<Answered, PendingRequest> {
        let left = async {
            match leaving {
                Some(leaving) => leaving.cancelled().await,
                None => pending().await,
            }
        };
        tokio::select! {
            biased;
            answered = &mut self.answer => return Ok(answered),
            () = left => {}
        }
        // A set ends its task when it is dropped: nobody would count the request any more.
        let mut answer = JoinSet::new();
        answer.spawn(self.answer);
        let answer = async move {
            match answer.join_next().await.expect("it has a task") {
                Ok(answered) => answered,
                // The visit that waits for it counts the panic.
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => resume_unwind(panic),
                    Err(_) => pending().await,
                },
            }
        };
        Err(PendingRequest { answer: Box::pin(answer), ..self })
    }
}
