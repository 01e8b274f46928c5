//! The pace of one host or address: when it may be asked again.
//!
//! No request starts before the delay has passed since the last request's start *and* since the last
//! answer's end. The second half is what a server can hold us to: a request may reach it late (a new
//! connection) and the next one at once (a kept one), but nothing it sees after its own answer comes
//! earlier than the delay. Where a host has several slots, requests that run side by side are the delay
//! apart as they leave here; what the server sees can differ by the time a connection takes.
//!
//! A pace begins as if the host had been asked a moment before the run did. So a restart keeps every
//! delay, also after a crash and whatever the clock says, and nothing has to be remembered for it.
//!
//! A host's delay grows: to a multiple of the time that its answers take, and by doubling with each 429
//! and 503. It comes back by a sixteenth with each answer that is none of these. Whoever configures no
//! delay at all (a server of one's own, a test) gets none, and nothing that could grow.

use crate::limits::FetchConfig;
use recrawl_types::HostState;
use std::time::Duration;
use tokio::time::Instant;

/// What a raised delay loses with each good answer: so slowly that a server which breaks at some rate
/// is not driven there again at once. From 30 s to 1 s it takes 53 answers.
const EASE: u32 = 16;
/// How much of a slower answer the smoothed time takes on: half, for a server in distress shows it here first.
const SLOWER: u32 = 2;
/// How much of a faster one.
const FASTER: u32 = 8;
/// Stands for a time that an [`Instant`] cannot hold.
const FAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// What an answer says of the strength of its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerHealth {
    /// It does its work.
    Healthy,
    /// 429 or 503: it asks for less.
    Overloaded,
    /// No answer within the time limit.
    TimedOut,
    /// Nothing: how fast an error or a refused connection comes is no measure.
    Unknown,
}

/// What made a host's delay longer than it was asked to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdaptiveDelay {
    /// How long answers take, smoothed.
    pub latency: Duration,
    /// The delay to which 429 and 503 have raised the host's; zero while they have not.
    pub raised: Duration,
}

impl AdaptiveDelay {
    /// What is kept of it between runs.
    pub fn of(state: &HostState) -> AdaptiveDelay {
        let [latency, raised] = [state.latency, state.slow_down].map(|ms| Duration::from_millis(ms.into()));
        AdaptiveDelay { latency, raised }
    }

    /// Keeps it.
    pub fn save(&self, state: &mut HostState) {
        let ms = |time: Duration| u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
        (state.latency, state.slow_down) = (ms(self.latency), ms(self.raised));
    }

    /// The delay kept where `base` is asked for.
    pub fn delay(&self, base: Duration, config: &FetchConfig) -> Duration {
        if base.is_zero() {
            return base;
        }
        let latency = Duration::try_from_secs_f64(self.latency.as_secs_f64() * config.delay_per_latency);
        let grown = latency.unwrap_or(Duration::MAX).max(self.raised);
        base.max(grown.min(config.max_adaptive_delay))
    }

    /// Learns from an answer that took `elapsed`.
    pub fn update(&mut self, health: ServerHealth, elapsed: Duration, base: Duration, config: &FetchConfig) {
        match health {
            ServerHealth::Overloaded => {
                self.raised = self.delay(base, config).saturating_mul(2).min(config.max_adaptive_delay);
            }
            ServerHealth::Healthy => {
                self.raised -= self.raised / EASE;
                if self.raised <= base {
                    self.raised = Duration::ZERO;
                }
                self.smooth_latency(elapsed);
            }
            ServerHealth::TimedOut => self.smooth_latency(elapsed),
            ServerHealth::Unknown => {}
        }
    }

    fn smooth_latency(&mut self, elapsed: Duration) {
        if elapsed > self.latency {
            // The first answer pays for the connection: half of it is nearer to what the next will take.
            self.latency += (elapsed - self.latency) / SLOWER;
        } else {
            self.latency -= (self.latency - elapsed) / FASTER;
        }
    }
}

/// When one host or address may be asked again.
#[derive(Debug)]
pub struct Pace {
    delay: Duration,
    /// When the last request started or the last answer ended, whichever is later.
    last: Instant,
    /// Not before this, whatever the delay: Retry-After.
    hold: Option<Instant>,
}

impl Pace {
    /// A pace in a run that began then.
    pub fn new(delay: Duration, began: Instant) -> Pace {
        Pace { delay, last: began, hold: None }
    }

    /// The delay.
    pub fn delay(&self) -> Duration {
        self.delay
    }

    /// Changes the delay, also that which is under way.
    pub fn set_delay(&mut self, delay: Duration) {
        self.delay = delay;
    }

    /// No request before `until`.
    pub fn hold(&mut self, until: Instant) {
        self.hold = Some(self.hold.map_or(until, |h| h.max(until)));
    }

    /// When the next request may start.
    pub fn free_at(&self) -> Instant {
        let free = self.last.checked_add(self.delay).unwrap_or_else(|| self.last + FAR);
        self.hold.map_or(free, |hold| hold.max(free))
    }

    /// When to try again; none when a request may start now.
    pub fn wait(&self) -> Option<Instant> {
        Some(self.free_at()).filter(|at| *at > Instant::now())
    }

    /// A request starts, or an answer has ended (or failed): the delay is counted from here.
    pub fn touch(&mut self) {
        self.last = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tokio::time::advance;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn the_delay_is_kept_from_the_start_and_from_the_end() {
        let mut pace = Pace::new(SECOND, Instant::now() - SECOND);
        let start = Instant::now();
        assert_eq!(pace.wait(), None);
        pace.touch();
        assert_eq!(pace.wait(), Some(start + SECOND), "from the start");
        advance(SECOND * 3 / 10).await;
        pace.touch();
        let end = Instant::now();
        assert_eq!(pace.wait(), Some(end + SECOND), "from the end");
        advance(SECOND).await;
        assert_eq!(pace.wait(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pace_begins_with_its_delay() {
        let pace = Pace::new(SECOND, Instant::now());
        assert_eq!(pace.wait(), Some(Instant::now() + SECOND));
        assert_eq!(Pace::new(Duration::ZERO, Instant::now()).wait(), None);
        assert!(Pace::new(Duration::MAX, Instant::now()).wait().is_some(), "no overflow");
    }

    #[tokio::test(start_paused = true)]
    async fn a_hold_is_kept_whatever_the_delay() {
        let mut pace = Pace::new(Duration::ZERO, Instant::now());
        let until = Instant::now() + SECOND;
        pace.hold(until);
        pace.hold(until - SECOND / 2);
        pace.touch();
        assert_eq!(pace.wait(), Some(until), "the later hold counts");
        advance(SECOND).await;
        assert_eq!(pace.wait(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_delay_holds_for_the_wait_under_way() {
        let mut pace = Pace::new(SECOND, Instant::now());
        pace.touch();
        pace.set_delay(SECOND * 5);
        assert_eq!(pace.wait(), Some(Instant::now() + SECOND * 5));
    }

    #[test]
    fn the_delay_follows_latency_within_its_bounds() {
        let config = FetchConfig::default();
        let mut adaptive_delay = AdaptiveDelay::default();
        let mut delay = |health, elapsed| {
            adaptive_delay.update(health, elapsed, SECOND, &config);
            adaptive_delay.delay(SECOND, &config)
        };
        assert_eq!(delay(ServerHealth::Healthy, SECOND / 5), SECOND, "a fast server is not asked faster");
        for _ in 0..20 {
            delay(ServerHealth::Healthy, SECOND * 2);
        }
        assert!(delay(ServerHealth::Healthy, SECOND * 2) > SECOND * 39 / 10, "twice the time of an answer");
        assert!(delay(ServerHealth::Healthy, SECOND / 10) > SECOND * 3, "one fast answer changes little");
        for _ in 0..20 {
            delay(ServerHealth::TimedOut, SECOND * 60);
        }
        assert_eq!(delay(ServerHealth::TimedOut, SECOND * 60), config.max_adaptive_delay);
    }

    #[test]
    fn overload_doubles_the_delay_and_it_comes_back_slowly() {
        let config = FetchConfig::default();
        let mut adaptive_delay = AdaptiveDelay::default();
        let mut delays = Vec::new();
        for _ in 0..7 {
            adaptive_delay.update(ServerHealth::Overloaded, SECOND / 10, SECOND, &config);
            delays.push(adaptive_delay.delay(SECOND, &config).as_secs());
        }
        assert_eq!(delays, [2, 4, 8, 16, 30, 30, 30]);
        let mut answers = 0;
        while adaptive_delay.delay(SECOND, &config) > SECOND {
            let before = adaptive_delay.delay(SECOND, &config);
            adaptive_delay.update(ServerHealth::Healthy, SECOND / 10, SECOND, &config);
            assert!(adaptive_delay.delay(SECOND, &config) >= before * 15 / 16);
            answers += 1;
        }
        assert_eq!((answers, adaptive_delay.raised), (53, Duration::ZERO));
    }

    proptest! {
        #[test]
        fn the_delay_is_never_under_what_is_asked_for_nor_over_the_cap(
            answers in proptest::collection::vec((0usize..4, 0u64..100_000), 0..60),
            base in 0u64..60_000,
            cap in 1u64..60_000,
        ) {
            let config = FetchConfig { max_adaptive_delay: Duration::from_millis(cap), ..FetchConfig::default() };
            let base = Duration::from_millis(base);
            let mut adaptive_delay = AdaptiveDelay::default();
            for (health, elapsed) in answers {
                let health = [ServerHealth::Healthy, ServerHealth::Overloaded, ServerHealth::TimedOut, ServerHealth::Unknown][health];
                adaptive_delay.update(health, Duration::from_millis(elapsed), base, &config);
                let delay = adaptive_delay.delay(base, &config);
                prop_assert!(delay >= base && delay <= base.max(config.max_adaptive_delay), "{delay:?}");
                prop_assert!(!base.is_zero() || delay.is_zero());
            }
        }
    }
}
