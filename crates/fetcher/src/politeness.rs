//! The pace of one host: when it may be asked again.
//!
//! No request starts before the delay has passed since the last request's start *and* since the last
//! answer's end. The second half is what a server can hold us to: a request may reach it late (a new
//! connection) and the next one at once (a kept one), but nothing it sees after its own answer comes
//! earlier than the delay. Where a host has several slots, requests that run side by side are the delay
//! apart as they leave here; what the server sees can differ by the time a connection takes.
//!
//! governor's GCRA keeps the delay, one limiter of burst 1 a host, on tokio's clock (which tests can
//! stop). The end of an answer starts the limiter anew with its one cell spent.

use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use std::time::Duration;
use tokio::time::Instant;

/// tokio's clock, as governor wants it.
#[derive(Clone, Debug)]
struct TokioClock;

impl Clock for TokioClock {
    type Instant = std::time::Instant;

    fn now(&self) -> Self::Instant {
        Instant::now().into_std()
    }
}

type Limiter = RateLimiter<NotKeyed, InMemoryState, TokioClock, NoOpMiddleware<std::time::Instant>>;

/// When one host may be asked again.
#[derive(Debug)]
pub struct Pace {
    delay: Duration,
    /// None while the delay is 0.
    limiter: Option<Limiter>,
    /// Not before this, whatever the delay: Retry-After, or what an earlier cycle left behind.
    hold: Option<Instant>,
    /// Was a request made?
    used: bool,
}

impl Pace {
    pub fn new(delay: Duration) -> Pace {
        Pace { delay, limiter: limiter(delay), hold: None, used: false }
    }

    /// The delay now.
    pub fn delay(&self) -> Duration {
        self.delay
    }

    /// Changes the delay. If there was a request, the new delay is counted from now.
    pub fn set_delay(&mut self, delay: Duration) {
        if delay != self.delay {
            self.delay = delay;
            if self.used {
                self.ended();
            } else {
                self.limiter = limiter(delay);
            }
        }
    }

    /// No request before `until`.
    pub fn hold(&mut self, until: Instant) {
        self.hold = Some(self.hold.map_or(until, |h| h.max(until)));
    }

    /// Takes the right to start a request now.
    ///
    /// # Errors
    /// The moment to try again.
    pub fn begin(&mut self) -> Result<(), Instant> {
        if let Some(until) = self.hold {
            if until > Instant::now() {
                return Err(until);
            }
            self.hold = None;
        }
        match self.limiter.as_ref().map(Limiter::check) {
            Some(Err(not_until)) => Err(Instant::from_std(not_until.earliest_possible())),
            _ => {
                self.used = true;
                Ok(())
            }
        }
    }

    /// An answer has ended (or failed): the delay is counted from here.
    pub fn ended(&mut self) {
        self.limiter = limiter(self.delay);
        if let Some(limiter) = &self.limiter {
            limiter.check().expect("a new limiter has its cell");
        }
    }
}

fn limiter(delay: Duration) -> Option<Limiter> {
    Quota::with_period(delay).map(|quota| Limiter::direct_with_clock(quota, TokioClock))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::{advance, sleep_until};

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn the_delay_is_kept_from_the_start_and_from_the_end() {
        let mut pace = Pace::new(SECOND);
        let start = Instant::now();
        assert_eq!(pace.begin(), Ok(()));
        assert_eq!(pace.begin(), Err(start + SECOND), "from the start");
        advance(SECOND * 3 / 10).await;
        pace.ended();
        let end = Instant::now();
        assert_eq!(pace.begin(), Err(end + SECOND), "from the end");
        sleep_until(end + SECOND).await;
        assert_eq!(pace.begin(), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn no_delay_means_no_wait_but_a_hold_is_kept() {
        let mut pace = Pace::new(Duration::ZERO);
        assert_eq!((pace.begin(), pace.begin()), (Ok(()), Ok(())));
        let until = Instant::now() + SECOND;
        pace.hold(until);
        pace.hold(until - SECOND / 2);
        pace.ended();
        assert_eq!(pace.begin(), Err(until), "the later hold counts");
        advance(SECOND).await;
        assert_eq!(pace.begin(), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_delay_counts_from_now() {
        let mut pace = Pace::new(SECOND);
        pace.set_delay(SECOND * 2);
        pace.begin().unwrap();
        pace.set_delay(SECOND * 5);
        assert_eq!(pace.begin(), Err(Instant::now() + SECOND * 5));
    }
}
