//! The time of a page by the clock on the wall, without the time in which its requests wait to be sent: a crawl that is
//! paused, or polite to a host, must not fail pages.

use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

/// How long the requests of a page may wait in all. A page holds its tab meanwhile.
pub const MAX_WAIT: Duration = Duration::from_secs(15 * 60);

/// The clock of one page.
#[derive(Debug)]
pub struct PageClock {
    begun: Instant,
    state: Mutex<ClockState>,
}

#[derive(Debug)]
struct ClockState {
    /// Requests that wait.
    waiting: usize,
    /// Since when one waits.
    since: Instant,
    /// Time in which one waited, before that.
    waited: Duration,
}

/// A request that waits to be sent. To be dropped when it is sent.
#[derive(Debug)]
pub struct WaitingRequest {
    clock: Arc<PageClock>,
    /// Dropped with it, for the one who waits until it is sent.
    sent: Option<oneshot::Sender<Infallible>>,
}

impl WaitingRequest {
    /// Ends when it is dropped.
    pub fn sent(&mut self) -> impl Future<Output = ()> + use<> {
        let (sender, sent) = oneshot::channel::<Infallible>();
        self.sent = Some(sender);
        async move {
            // Nothing is ever told: its end is the news.
            let _ = sent.await;
        }
    }
}

impl PageClock {
    /// Starts a clock.
    pub fn start() -> Arc<PageClock> {
        let begun = Instant::now();
        Arc::new(PageClock {
            begun,
            state: Mutex::new(ClockState { waiting: 0, since: begun, waited: Duration::ZERO }),
        })
    }

    /// A request begins to wait.
    pub fn wait(self: &Arc<PageClock>) -> WaitingRequest {
        let mut state = self.state();
        if state.waiting == 0 {
            state.since = Instant::now();
        }
        state.waiting += 1;
        drop(state);
        WaitingRequest { clock: self.clone(), sent: None }
    }

    /// The result of a future, unless this much time of the page passes before.
    pub async fn within<F: Future>(&self, time: Duration, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        loop {
            let left = self.left(time);
            if left.is_zero() {
                return None;
            }
            tokio::select! {
                output = &mut future => return Some(output),
                () = sleep(left) => {}
            }
        }
    }

    /// Waits until this much time of the page has passed.
    pub async fn passed(&self, time: Duration) {
        // The future never ends.
        let _: Option<Infallible> = self.within(time, std::future::pending()).await;
    }

    /// What is left of this much time of the page.
    fn left(&self, time: Duration) -> Duration {
        let state = self.state();
        let waits = if state.waiting > 0 { state.since.elapsed() } else { Duration::ZERO };
        let waited = (state.waited + waits).min(MAX_WAIT);
        time.saturating_sub(self.begun.elapsed().saturating_sub(waited))
    }

    fn state(&self) -> MutexGuard<'_, ClockState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for WaitingRequest {
    fn drop(&mut self) {
        let mut state = self.clock.state();
        state.waiting -= 1;
        if state.waiting == 0 {
            let waited = state.since.elapsed();
            state.waited += waited;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;

    async fn after(seconds: u64) {
        sleep(Duration::from_secs(seconds)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn time_passes_only_while_nothing_waits() {
        let (time, clock) = (Duration::from_secs(60), PageClock::start());
        let page = async {
            after(30).await;
            // Two that overlap count once.
            let (first, second) = (clock.wait(), clock.wait());
            after(100).await;
            drop(first);
            after(100).await;
            drop(second);
            after(29).await;
        };
        assert_eq!(clock.within(time, page).await, Some(()));
        assert_eq!(clock.begun.elapsed(), Duration::from_secs(259));
        assert_eq!(clock.within(time, after(2)).await, None);
        assert_eq!(clock.begun.elapsed(), Duration::from_secs(260));
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_tells_when_it_is_sent() {
        let clock = PageClock::start();
        let mut waiting = clock.wait();
        let sent = waiting.sent();
        let sending = async {
            after(7).await;
            drop(waiting);
        };
        tokio::join!(sent, sending);
        assert_eq!(clock.begun.elapsed(), Duration::from_secs(7));
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_waits_for_ever() {
        let (time, clock) = (Duration::from_secs(60), PageClock::start());
        let _waiting = clock.wait();
        assert_eq!(clock.within(time, pending::<()>()).await, None);
        assert_eq!(clock.begun.elapsed(), MAX_WAIT + time);
    }
}
