//! State shared by all requests: the view, the tokens, and limits on concurrent work.

use crate::config::{Audit, ConsoleConfig, Entry};
use crate::event_hub::EventHub;
use crate::metrics::traffic::Traffic;
use crate::problem::{Problem, ProblemType};
use crate::rate::Rates;
use crate::session::{self, LINK_LIFETIME, SESSION_LIFETIME, Sessions};
use crate::token::Tokens;
use crate::view::{Accepted, Actor, Change, CrawlView, FleetAnswer, FleetQuestion, Refusal};
use recrawl_types::Span;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio::{task, task_local};
use tokio_util::sync::CancellationToken;

/// Maximum concurrent reads of the crawl that may touch its disk. Further ones wait.
pub const MAX_READS: usize = 8;
/// The same for other processes of the fleet, whose questions must not block clients.
pub const MAX_RELAYED: usize = 2;
/// Maximum concurrent comparisons of formulas. Further ones get 503, because each scores all pages.
pub const MAX_COMPARISONS: usize = 1;
/// Maximum questions that wait for other partitions of a fleet. Further ones get 503.
pub const MAX_ELSEWHERE: usize = 8;

/// Maximum queued changes, including the running one. A change stays queued when its client
/// disconnects.
pub const MAX_CHANGES: usize = 100;

/// Remedy for a client without a session.
const NEW_LINK: &str = "open the one-time link in the daemon's log; `recrawl reload` logs it again, or a new one. \
    For programs, set serve.tokens to a file of lines `name token`";

task_local! {
    /// Set while a request of another process of the fleet is answered.
    pub static IS_RELAYED: ();
}

/// Is this request one of another process? It is answered here, whatever it is about, and counts for no client.
pub fn is_relayed() -> bool {
    IS_RELAYED.try_with(|()| ()).is_ok()
}

/// How changes are authorized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangesBy {
    /// A token of the configured file.
    Token,
    /// A session that began with a one-time link: no tokens are configured.
    Link,
    /// The configured file has no token.
    Nothing,
}

/// State shared by all requests.
pub struct Console {
    /// The crawl.
    pub view: Arc<dyn CrawlView>,
    /// [`ConsoleConfig::names`].
    pub names: Vec<String>,
    /// Publishes live events.
    pub events: EventHub,
    /// Counts of requests.
    pub traffic: Traffic,
    /// Cancelled at shutdown; ends the event streams.
    pub stop: CancellationToken,
    address: SocketAddr,
    audit: Arc<Audit>,
    tokens: RwLock<Option<Tokens>>,
    sessions: Arc<Sessions>,
    rates: Rates,
    /// Separate rates for `/health` and `/ready`: other requests must not block a supervisor.
    probes: Rates,
    reads: Arc<Semaphore>,
    relayed: Arc<Semaphore>,
    comparisons: Arc<Semaphore>,
    elsewhere: Arc<Semaphore>,
    changes: Arc<Semaphore>,
    changes_waiting: Arc<Semaphore>,
}

impl Console {
    /// The state for `view`, as configured, until `stop`.
    pub fn new(view: Arc<dyn CrawlView>, config: ConsoleConfig, stop: CancellationToken) -> Arc<Console> {
        // Checked by `ConsoleConfig::wrong`.
        let requests = NonZeroU32::new(config.requests).unwrap_or(NonZeroU32::MIN);
        Arc::new(Console {
            view,
            names: config.names.clone(),
            events: EventHub::new(),
            traffic: Traffic::default(),
            stop,
            address: config.listen,
            audit: config.audit,
            tokens: RwLock::new(config.tokens),
            sessions: config.sessions,
            rates: Rates::new(requests),
            probes: Rates::new(requests),
            reads: Arc::new(Semaphore::new(MAX_READS)),
            relayed: Arc::new(Semaphore::new(MAX_RELAYED)),
            comparisons: Arc::new(Semaphore::new(MAX_COMPARISONS)),
            elsewhere: Arc::new(Semaphore::new(MAX_ELSEWHERE)),
            changes: Arc::new(Semaphore::new(1)),
            changes_waiting: Arc::new(Semaphore::new(MAX_CHANGES)),
        })
    }

    /// Replaces the tokens that authorize changes.
    pub fn set_tokens(&self, tokens: Option<Tokens>) {
        if tokens.is_some() {
            self.sessions.end();
        }
        *self.tokens.write().unwrap_or_else(PoisonError::into_inner) = tokens;
    }

    /// Logs the one-time link if changes need one, also where the log has little else.
    pub fn offer_link(&self) {
        if self.changes_by() != ChangesBy::Link {
            return;
        }
        if let Some(secret) = self.sessions.offer(Instant::now()) {
            let (link, lifetime) = (session::link(self.address, &secret), Span(LINK_LIFETIME));
            let text = format!(
                "to change the crawl in the dashboard, open {link} within {lifetime} (it works once)"
            );
            match tracing::enabled!(tracing::Level::INFO) {
                true => tracing::info!("{text}"),
                false => tracing::warn!("{text}"),
            }
        }
    }

    /// The same at a start, unless this daemon has logged one before.
    pub fn offer_first_link(&self) {
        if !self.sessions.was_offered() {
            self.offer_link();
        }
    }

    /// Exchanges the secret of the one-time link for a session: the value of `Set-Cookie`. Without a path, the
    /// cookie belongs to the folder of the request, which is right at a proxy's sub-path too.
    ///
    /// # Errors
    /// If this is not the secret of the link, or the link was used, has expired or is not offered.
    pub fn begin_session(&self, secret: &str, is_secure: bool) -> Result<String, Problem> {
        let session = self.sessions.begin(secret.as_bytes(), Instant::now()).ok_or_else(|| {
            Problem::new(
                ProblemType::Unauthorized,
                "this link was used, has expired, or is not of this daemon",
            )
            .todo(NEW_LINK)
        })?;
        let (name, age) = (self.cookie_name(), SESSION_LIFETIME.as_secs());
        let secure = if is_secure { "; Secure" } else { "" };
        Ok(format!("{name}={session}; Max-Age={age}; HttpOnly; SameSite=Strict{secure}"))
    }

    /// The cookie of a session. Browsers send it to all ports of a host, so the port is in its name.
    pub fn cookie_name(&self) -> String {
        format!("recrawl-{}", self.address.port())
    }

    /// Is this the cookie of a session?
    pub fn has_session(&self, cookie: &str) -> bool {
        self.sessions.has(cookie.as_bytes(), Instant::now())
    }

    /// How changes are authorized.
    pub fn changes_by(&self) -> ChangesBy {
        match &*self.tokens.read().unwrap_or_else(PoisonError::into_inner) {
            None => ChangesBy::Link,
            Some(tokens) if tokens.is_empty() => ChangesBy::Nothing,
            Some(_) => ChangesBy::Token,
        }
    }

    /// The operator name of a token.
    ///
    /// # Errors
    /// If no tokens are configured, or the token is missing or unknown.
    pub fn name_of(&self, token: Option<&[u8]>) -> Result<String, Problem> {
        let tokens = self.tokens.read().unwrap_or_else(PoisonError::into_inner);
        let Some(tokens) = tokens.as_ref() else {
            return Err(Problem::new(ProblemType::Unauthorized, "a change needs a session").todo(NEW_LINK));
        };
        if tokens.is_empty() {
            return Err(Problem::new(ProblemType::ReadOnly, "the file named by serve.tokens has no token")
                .todo("add a line `name token` to it, then run `recrawl reload`"));
        }
        let Some(token) = token else {
            return Err(Problem::new(ProblemType::Unauthorized, "a change needs a token").todo(
                "send `Authorization: Bearer TOKEN` with a token from the file named by serve.tokens",
            ));
        };
        tokens.name_of(token).map(str::to_owned).ok_or_else(|| {
            Problem::new(ProblemType::Unauthorized, "unknown token")
                .todo("use a token from the file named by serve.tokens")
        })
    }

    /// Counts a request of `from` for `path` against its rate limit.
    ///
    /// # Errors
    /// Whole seconds until the next request is admitted.
    pub fn admit(&self, from: IpAddr, path: &str) -> Result<(), u32> {
        let rates = if matches!(path, "/health" | "/ready") { &self.probes } else { &self.rates };
        rates.admit(from)
    }

    /// Runs a possibly slow read of the crawl on a blocking thread.
    ///
    /// # Errors
    /// The error of the crawl.
    pub async fn ask<T: Send + 'static>(
        self: &Arc<Self>,
        question: impl FnOnce(&dyn CrawlView) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Problem> {
        let turn = turn(if is_relayed() { &self.relayed } else { &self.reads }).await?;
        self.work(turn, move |console| question(&*console.view)).await
    }

    /// As [`Console::ask`], for reads that take seconds: at most [`MAX_COMPARISONS`] at a time.
    ///
    /// # Errors
    /// As [`Console::ask`], and if that many are running.
    pub async fn ask_slow<T: Send + 'static>(
        self: &Arc<Self>,
        question: impl FnOnce(&dyn CrawlView) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Problem> {
        let turn = self.comparisons.clone().try_acquire_owned();
        let turn = turn.map_err(|_| Problem::busy("another comparison is running"))?;
        self.work(turn, move |console| question(&*console.view)).await
    }

    /// Asks the owner of another partition of the fleet: at most [`MAX_ELSEWHERE`] at a time, since that takes seconds.
    ///
    /// # Errors
    /// As [`Console::ask`], and if that many are waiting.
    pub async fn ask_elsewhere(
        self: &Arc<Self>,
        partition: u32,
        question: FleetQuestion,
    ) -> Result<FleetAnswer, Problem> {
        let turn = self.elsewhere.clone().try_acquire_owned();
        let turn = turn.map_err(|_| {
            Problem::busy(format!("{MAX_ELSEWHERE} questions to other partitions are waiting already"))
        })?;
        self.work(turn, move |console| console.view.ask_elsewhere(partition, &question)).await
    }

    /// Makes a change, logs it and publishes the result. Changes run one at a time, so that the log
    /// has their order. A queued change runs even if its client disconnects.
    ///
    /// # Errors
    /// The error of the crawl, [`MAX_CHANGES`] queued changes, or a change log that cannot be
    /// written.
    pub async fn change(self: &Arc<Self>, who: Actor, change: Change) -> Result<Accepted, Problem> {
        let waiting = self.changes_waiting.clone().try_acquire_owned();
        let waiting =
            waiting.map_err(|_| Problem::busy(format!("{MAX_CHANGES} changes are queued already")))?;
        let console = self.clone();
        let tried = task::spawn(async move {
            let _waiting = waiting;
            let turn = turn(&console.changes).await?;
            console.work(turn, move |console| console.try_now(&change, &who)).await
        });
        tried.await.unwrap_or_else(|_| Err(internal_error()))
    }

    /// The link and its sessions.
    #[cfg(test)]
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// Queued and running changes.
    #[cfg(test)]
    pub fn changes_waiting(&self) -> usize {
        MAX_CHANGES - self.changes_waiting.available_permits()
    }

    /// Writes a log line before the change, so that no change lacks a line even if the process
    /// dies.
    fn try_now(&self, change: &Change, who: &Actor) -> Result<Accepted, Refusal> {
        let now = || self.view.status().now;
        (self.audit)(&Entry::begun(now(), who, change)).map_err(|error| {
            Refusal::Failed(format!("cannot write the change log, so the change was not made: {error}"))
        })?;
        let result = self.view.change(change, who);
        let entry = Entry::new(now(), who, change, &result);
        let Actor { name, from } = who;
        tracing::info!(name, %from, %change, result = %entry.result, "{}", entry.detail);
        if let Err(error) = (self.audit)(&entry) {
            // The line of its start is logged.
            tracing::error!(%error, ?entry, "cannot log the result of a change");
        }
        self.events.change(&entry);
        result
    }

    /// Runs `work` on a blocking thread, then releases the permit. Started work is finished even if
    /// the client disconnects.
    async fn work<T: Send + 'static>(
        self: &Arc<Self>,
        turn: OwnedSemaphorePermit,
        work: impl FnOnce(&Console) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Problem> {
        let console = self.clone();
        let done = task::spawn_blocking(move || {
            let result = work(&console);
            drop(turn);
            result
        });
        match done.await {
            Ok(result) => result.map_err(Problem::from),
            Err(_) => Err(internal_error()),
        }
    }
}

fn internal_error() -> Problem {
    Problem::new(ProblemType::Failed, "the request failed with an internal error; see the log")
}

/// Waits for a permit.
async fn turn(turns: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Problem> {
    turns.clone().acquire_owned().await.map_err(|_| Problem::busy("the console is shutting down"))
}
