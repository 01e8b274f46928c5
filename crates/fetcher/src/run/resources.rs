//! Requests that pages make: what their scripts load while they are rendered, and requisites for the archive.
//!
//! They are requests of the run like those for pages: robots.txt, opt-outs, the host's delay and back-off, the address
//! guard, budgets and limits hold for them, and they come before the pages of their host. They are no pages: nothing is
//! delivered, and they count neither for nor against a host in the search for hosts that fail. What a server asks for, such
//! as a pause, counts.

use crate::net::client::{Network, NetworkError, RequestOptions};
use crate::outcome::FetchResult;
use crate::run::report::StoppedBy;
use recrawl_types::{CanonicalUrl, PageRecord, ScheduleEntry, Share};
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use tokio::sync::{Notify, oneshot};

/// Which pages load more than their document, and whether one more may come.
pub trait LoadingPages: Send + Sync {
    /// Is this page rendered? Then it is requested without validators: that its document is as before says nothing of
    /// what its scripts load.
    fn is_rendered(&self, url: &CanonicalUrl) -> bool;
    /// Must this page not be requested yet, since many like it still load?
    fn waits(&self, url: &CanonicalUrl) -> bool;
}

/// The requests of pages during a run.
pub struct Resources {
    state: Mutex<ResourceState>,
    changed: Notify,
    pages: Box<dyn LoadingPages>,
    network: Arc<dyn Network>,
}

#[derive(Debug, Default)]
struct ResourceState {
    asked: VecDeque<(ScheduleEntry, Ticket)>,
    /// Pages that load or wait for it.
    loads: usize,
    ended: Option<StoppedBy>,
}

impl fmt::Debug for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resources").field("state", &self.state).finish_non_exhaustive()
    }
}

/// A page that loads or waits for it. A run does not end by itself while one exists.
#[derive(Debug)]
pub struct PageLoad(Arc<Resources>);

impl Resources {
    /// For one run over this network.
    pub(crate) fn new(pages: Box<dyn LoadingPages>, network: Arc<dyn Network>) -> Arc<Resources> {
        Arc::new(Resources { state: Mutex::default(), changed: Notify::new(), pages, network })
    }

    /// Begins to load what a page needs. To be called before the page's hold ends.
    pub fn begin(self: &Arc<Resources>) -> PageLoad {
        self.state().loads += 1;
        PageLoad(self.clone())
    }

    /// The cause of the run's end, if it has ended: then nothing is requested any more.
    pub fn ended(&self) -> Option<StoppedBy> {
        self.state().ended
    }

    pub(crate) fn is_rendered(&self, entry: &ScheduleEntry) -> bool {
        self.pages.is_rendered(&entry.url)
    }

    pub(crate) fn waits(&self, entry: &ScheduleEntry) -> bool {
        self.pages.waits(&entry.url)
    }

    pub(crate) fn next(&self) -> Option<(ScheduleEntry, Ticket)> {
        self.state().asked.pop_front()
    }

    /// Does a page load, or wait for it?
    pub(crate) fn is_open(&self) -> bool {
        self.state().loads > 0
    }

    /// Ends all requests, also later ones.
    pub(crate) fn close(&self, stopped_by: StoppedBy) {
        let mut state = self.state();
        state.ended.get_or_insert(stopped_by);
        state.asked.clear();
    }

    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    fn state(&self) -> MutexGuard<'_, ResourceState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A resource that was asked for. If this is dropped, it is requested no more.
#[derive(Debug)]
pub struct PendingResource {
    started: oneshot::Receiver<()>,
    answer: oneshot::Receiver<FetchResult>,
}

impl PendingResource {
    /// Waits until it is requested, or answered without a request.
    pub async fn started(&mut self) {
        // It ends without a word if no request is needed.
        let _ = (&mut self.started).await;
    }

    /// The answer. None: the run has ended.
    pub async fn answer(self) -> Option<FetchResult> {
        self.answer.await.ok()
    }
}

impl PageLoad {
    /// The cause of the run's end, if it has ended: then nothing is requested any more.
    pub fn ended(&self) -> Option<StoppedBy> {
        self.0.ended()
    }

    /// Requests a URL in its turn. A redirect is an answer. None: the run has ended.
    ///
    /// With [`RequestOptions::is_public_only`], a host without a public address is refused here: before its queue, so that
    /// neither its robots.txt is requested nor its state tells the page that it exists.
    pub async fn ask(&self, url: CanonicalUrl, manner: RequestOptions) -> Option<PendingResource> {
        let ((start, started), (sender, answer)) = (oneshot::channel(), oneshot::channel());
        if manner.is_public_only && !self.0.network.is_public(&url.host()).await {
            // Its receiver is below.
            let _ = sender.send(FetchResult::Nothing(NetworkError::Refused.outcome()));
            return Some(PendingResource { started, answer });
        }
        let waiter = Arc::new(Mutex::new(Waiter { start: Some(start), answer: Some(sender) }));
        let ticket = Ticket { waiter, manner };
        let entry = ScheduleEntry::new(url, Share::Followed, PageRecord::default());
        {
            let mut state = self.0.state();
            if state.ended.is_some() {
                return None;
            }
            state.asked.push_back((entry, ticket));
        }
        self.0.changed.notify_one();
        Some(PendingResource { started, answer })
    }
}

impl Drop for PageLoad {
    fn drop(&mut self) {
        self.0.state().loads -= 1;
        self.0.changed.notify_one();
    }
}

/// The waiter for the answer to a request of a page. Without an answer, the end of the last copy tells.
#[derive(Clone, Debug)]
pub struct Ticket {
    waiter: Arc<Mutex<Waiter>>,
    /// How it is requested.
    pub manner: RequestOptions,
}

#[derive(Debug)]
struct Waiter {
    start: Option<oneshot::Sender<()>>,
    answer: Option<oneshot::Sender<FetchResult>>,
}

impl Ticket {
    /// Says that the request begins.
    pub fn start(&self) {
        let start = self.waiter().start.take();
        // The page may have given up.
        let _ = start.map(|start| start.send(()));
    }

    /// Answers, the first time.
    pub fn answer(&self, result: FetchResult) {
        let (_, answer) = {
            let mut waiter = self.waiter();
            (waiter.start.take(), waiter.answer.take())
        };
        let _ = answer.map(|answer| answer.send(result));
    }

    /// Has the page given up?
    pub fn is_given_up(&self) -> bool {
        self.waiter().answer.as_ref().is_some_and(oneshot::Sender::is_closed)
    }

    /// Waits until the page gives up.
    pub async fn given_up(&self) {
        poll_fn(|context| match &mut self.waiter().answer {
            Some(answer) => answer.poll_closed(context),
            None => Poll::Pending,
        })
        .await;
    }

    fn waiter(&self) -> MutexGuard<'_, Waiter> {
        self.waiter.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
