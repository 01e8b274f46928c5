//! What all requests share: the view, who may change it, and how much may go on at a time.

use crate::config::{Audit, ConsoleConfig, Entry};
use crate::guard::rate::Rates;
use crate::metrics::traffic::Traffic;
use crate::news::News;
use crate::problem::{Kind, Problem};
use crate::token::Tokens;
use crate::view::{Accepted, Change, CrawlView, Refusal, Who};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Questions to the crawl that may read its disk at a time; more wait their turn.
pub const MAX_QUESTIONS: usize = 8;
/// Comparisons of formulas at a time; one more is told to come back, since each scores all pages.
pub const MAX_COMPARISONS: usize = 1;

/// Changes that wait for their turn, the one that is tried included; they wait also when nobody waits for them.
pub const MAX_CHANGES: usize = 100;

/// What all requests share.
pub struct Console {
    /// The crawl.
    pub view: Arc<dyn CrawlView>,
    /// [`ConsoleConfig::names`].
    pub names: Vec<String>,
    /// [`ConsoleConfig::stall`].
    pub stall: Duration,
    /// What happens, for those who listen.
    pub news: News,
    /// Counts of requests.
    pub traffic: Traffic,
    /// Cancelled at the end: streams of events break off.
    pub stop: CancellationToken,
    audit: Arc<Audit>,
    tokens: RwLock<Option<Tokens>>,
    rates: Mutex<Rates>,
    /// Of those who ask for life alone: what starts the process anew must not be kept out by who asks for more.
    probes: Mutex<Rates>,
    questions: Arc<Semaphore>,
    comparisons: Arc<Semaphore>,
    changes: Arc<Semaphore>,
    changes_waiting: Arc<Semaphore>,
}

impl Console {
    /// For `view`, as `config` has it, until `stop`.
    pub fn new(view: Arc<dyn CrawlView>, config: ConsoleConfig, stop: CancellationToken) -> Arc<Console> {
        Arc::new(Console {
            view,
            names: config.names.iter().map(|name| name.to_ascii_lowercase()).collect(),
            stall: config.stall,
            news: News::new(),
            traffic: Traffic::default(),
            stop,
            audit: config.audit,
            tokens: RwLock::new(config.tokens),
            rates: Mutex::new(Rates::new(config.requests)),
            probes: Mutex::new(Rates::new(config.requests)),
            questions: Arc::new(Semaphore::new(MAX_QUESTIONS)),
            comparisons: Arc::new(Semaphore::new(MAX_COMPARISONS)),
            changes: Arc::new(Semaphore::new(1)),
            changes_waiting: Arc::new(Semaphore::new(MAX_CHANGES)),
        })
    }

    /// Whose changes are taken from now on.
    pub fn set_tokens(&self, tokens: Option<Tokens>) {
        *self.tokens.write().unwrap_or_else(PoisonError::into_inner) = tokens;
    }

    /// Whose token this is.
    ///
    /// # Errors
    /// When nobody has one, or this is nobody's.
    pub fn name_of(&self, token: Option<&[u8]>) -> Result<String, Problem> {
        let tokens = self.tokens.read().unwrap_or_else(PoisonError::into_inner);
        let Some(tokens) = tokens.as_ref().filter(|tokens| !tokens.is_empty()) else {
            let text = "this console only shows: no tokens are configured";
            return Err(Problem::new(Kind::ReadOnly, text)
                .todo("name a file of lines `name token` by serve.tokens, and send SIGHUP"));
        };
        let Some(token) = token else {
            return Err(Problem::new(Kind::Unauthorized, "a change needs a token")
                .todo("send `Authorization: Bearer TOKEN` with one from the file of serve.tokens"));
        };
        tokens.name_of(token).map(str::to_owned).ok_or_else(|| {
            Problem::new(Kind::Unauthorized, "nobody has this token")
                .todo("send one from the file of serve.tokens")
        })
    }

    /// Counts a request of `from` for `path`.
    ///
    /// # Errors
    /// The whole seconds until one more is let through.
    pub fn admit(&self, from: IpAddr, path: &str) -> Result<(), u32> {
        let rates = if matches!(path, "/health" | "/ready") { &self.probes } else { &self.rates };
        rates.lock().unwrap_or_else(PoisonError::into_inner).admit(from, Instant::now())
    }

    /// Asks the crawl something that may take a while, on a thread that may wait.
    ///
    /// # Errors
    /// What the crawl refuses.
    pub async fn ask<T: Send + 'static>(
        self: &Arc<Self>,
        question: impl FnOnce(&dyn CrawlView) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Problem> {
        let turn = turn(&self.questions).await?;
        self.work(turn, move |console| question(&*console.view)).await
    }

    /// As [`Console::ask`], for what takes seconds: only so many at a time.
    ///
    /// # Errors
    /// Also when there are as many already.
    pub async fn ask_much<T: Send + 'static>(
        self: &Arc<Self>,
        question: impl FnOnce(&dyn CrawlView) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Problem> {
        let turn = self.comparisons.clone().try_acquire_owned();
        let turn = turn.map_err(|_| Problem::busy("formulas are being compared already"))?;
        self.work(turn, move |console| question(&*console.view)).await
    }

    /// Tries a change, and tells the log and those who listen what came of it. One change at a time, so that
    /// their log has the order in which they came into force. It has its turn also when its client is gone by then.
    ///
    /// # Errors
    /// What the crawl refuses; that [`MAX_CHANGES`] wait; that the log takes nothing.
    pub async fn change(self: &Arc<Self>, who: Who, change: Change) -> Result<Accepted, Problem> {
        let waiting = self.changes_waiting.clone().try_acquire_owned();
        let waiting = waiting.map_err(|_| Problem::busy(format!("{MAX_CHANGES} changes wait already")))?;
        let console = self.clone();
        let tried = task::spawn(async move {
            let _waiting = waiting;
            let turn = turn(&console.changes).await?;
            console.work(turn, move |console| console.try_now(&change, &who)).await
        });
        tried.await.unwrap_or_else(|_| Err(broke_off()))
    }

    /// Changes that wait for their turn, or have it.
    #[cfg(test)]
    pub fn changes_waiting(&self) -> usize {
        MAX_CHANGES - self.changes_waiting.available_permits()
    }

    /// The log has a line before anything is changed, so that no change is without one, whenever the process ends.
    fn try_now(&self, change: &Change, who: &Who) -> Result<Accepted, Refusal> {
        let now = || self.view.status().now;
        (self.audit)(&Entry::begun(now(), who, change)).map_err(|error| {
            Refusal::Failed(format!("the log of changes takes nothing, so nothing was changed: {error}"))
        })?;
        let result = self.view.change(change, who);
        let entry = Entry::of(now(), who, change, &result);
        let Who { name, from } = who;
        tracing::info!(name, %from, %change, result = %entry.result, "{}", entry.detail);
        if let Err(error) = (self.audit)(&entry) {
            // That it was begun is logged.
            tracing::error!(%error, ?entry, "what came of a change could not be logged");
        }
        self.news.change(&entry);
        result
    }

    /// Works on a thread that may wait, and gives the turn back. What has begun is finished even when the client is gone.
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
            Err(_) => Err(broke_off()),
        }
    }
}

fn broke_off() -> Problem {
    Problem::new(Kind::Failed, "the question broke off; the log of the program says where")
}

/// Waits for a turn.
async fn turn(turns: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Problem> {
    turns.clone().acquire_owned().await.map_err(|_| Problem::busy("the console ends"))
}
