//! The pace of one host or address: when the next request may start.
//!
//! No request starts before the delay has passed since the last request's start *and* since the end
//! of the last response. A server can check the second half. A request may arrive late (a new
//! connection) and the next one at once (a kept one). But after its own response, a server sees no
//! request before the delay. If a host has several connections, parallel requests leave one delay
//! apart. The server may see a difference of one connection time.
//!
//! A pace begins as if a request had been made at the start of the run. So a restart keeps every
//! delay, even after a crash or a clock change, and nothing needs to be stored.
//!
//! The delay of a host grows to a multiple of its latency, which follows the median of its last
//! responses: single slow pages do not raise it. It doubles with each 429 and 503. It
//! shrinks by a sixteenth with each good response. If the configured delay is zero (your own
//! server, a test), it does not grow.

use crate::net::limits::FetchConfig;
use recrawl_types::HostState;
use std::time::Duration;
use tokio::time::Instant;

/// Each good response reduces a raised delay by 1/16. This is slow, so that a server that fails at
/// some rate is not driven there again at once. From 30 s to 1 s it takes 53 responses.
const EASE: u32 = 16;
/// A slower response moves the smoothed latency by half the difference: overload shows here first.
const SLOWER: u32 = 2;
/// A faster response moves it by an eighth.
const FASTER: u32 = 8;
/// Responses of whose times the latency follows the median: most must be slow to raise the delay.
const RECENT: usize = 7;
/// Replaces a time that an [`Instant`] cannot hold.
const FAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// Load of a server, as shown by a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerHealth {
    Healthy,
    /// 429 or 503: the server asks for fewer requests.
    Overloaded,
    /// No response within the time limit.
    TimedOut,
    /// Unknown: the speed of an error or a refused connection measures nothing.
    Unknown,
}

/// The part of a host's delay that adapts to its load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdaptiveDelay {
    /// Smoothed latency.
    pub latency: Duration,
    /// The delay to which 429 and 503 raised the host's; zero if they did not.
    pub raised: Duration,
    /// The times of the last responses; before there were as many, the latency then known.
    recent: [Duration; RECENT],
    /// Which of them is the oldest.
    oldest: usize,
}

impl AdaptiveDelay {
    /// Loads it from the stored state.
    pub fn load(state: &HostState) -> AdaptiveDelay {
        let [latency, raised] = [state.latency, state.slow_down].map(|ms| Duration::from_millis(ms.into()));
        AdaptiveDelay { latency, raised, recent: [latency; RECENT], oldest: 0 }
    }

    /// Adds what another origin of the host, or an earlier run, learned: the slower one counts.
    pub fn join(&mut self, other: &AdaptiveDelay) {
        if other.latency > self.latency {
            (self.latency, self.recent) = (other.latency, other.recent);
        }
        self.raised = self.raised.max(other.raised);
    }

    /// Writes it to the stored state.
    pub fn save(&self, state: &mut HostState) {
        let ms = |time: Duration| u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
        (state.latency, state.slow_down) = (ms(self.latency), ms(self.raised));
    }

    /// The delay to keep if configuration and robots.txt ask for `base`.
    pub fn delay(&self, base: Duration, config: &FetchConfig) -> Duration {
        if base.is_zero() {
            return base;
        }
        let latency = Duration::try_from_secs_f64(self.latency.as_secs_f64() * config.delay_per_latency);
        let grown = latency.unwrap_or(Duration::MAX).max(self.raised);
        base.max(grown.min(config.max_adaptive_delay))
    }

    /// Updates it after a response that took `elapsed`.
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
        self.recent[self.oldest] = elapsed;
        self.oldest = (self.oldest + 1) % RECENT;
        let mut times = self.recent;
        let usual = *times.select_nth_unstable(RECENT / 2).1;
        if usual > self.latency {
            self.latency += (usual - self.latency) / SLOWER;
        } else {
            self.latency -= (self.latency - usual) / FASTER;
        }
    }
}

/// The pace of one host or address.
#[derive(Debug)]
pub struct Pace {
    delay: Duration,
    /// Start of the last request or end of the last response, whichever is later.
    last: Instant,
    /// No request before this time, whatever the delay: Retry-After.
    hold: Option<Instant>,
}

impl Pace {
    /// The pace of a run that began at `began`.
    pub fn new(delay: Duration, began: Instant) -> Pace {
        Pace { delay, last: began, hold: None }
    }

    pub fn delay(&self) -> Duration {
        self.delay
    }

    /// Changes the delay, including the current wait.
    pub fn set_delay(&mut self, delay: Duration) {
        self.delay = delay;
    }

    pub fn hold(&mut self, until: Instant) {
        self.hold = Some(self.hold.map_or(until, |h| h.max(until)));
    }

    /// When the next request may start.
    pub fn free_at(&self) -> Instant {
        let free = self.last.checked_add(self.delay).unwrap_or_else(|| self.last + FAR);
        self.hold.map_or(free, |hold| hold.max(free))
    }

    /// When to try again; none if a request may start now.
    pub fn wait(&self) -> Option<Instant> {
        Some(self.free_at()).filter(|at| *at > Instant::now())
    }

    /// Records the start of a request or the end of a response. The delay counts from now.
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
    async fn a_new_delay_applies_to_the_current_wait() {
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
    fn a_slow_page_is_no_slow_host() {
        let config = FetchConfig::default();
        let slowest = |elapsed: &dyn Fn(u32) -> Duration, known: AdaptiveDelay| {
            let mut adaptive_delay = known;
            let delays = (0..200).map(|answer| {
                let health = if elapsed(answer) > SECOND * 20 {
                    ServerHealth::TimedOut
                } else {
                    ServerHealth::Healthy
                };
                adaptive_delay.update(health, elapsed(answer), SECOND, &config);
                adaptive_delay.delay(SECOND, &config)
            });
            delays.max().unwrap()
        };
        let (fast, new) = (SECOND / 20, AdaptiveDelay::default());
        let page = |slow: Duration, every: u32| move |answer| if answer % every == 0 { slow } else { fast };
        for slow in [SECOND * 3, SECOND * 10, SECOND * 30] {
            assert_eq!(slowest(&page(slow, 200), new), SECOND, "the very first page alone");
            assert_eq!(slowest(&page(slow, 3), new), SECOND, "every third page");
            assert_eq!(
                slowest(&|answer| if answer / 3 == 30 { slow } else { fast }, new),
                SECOND,
                "three in a row"
            );
            assert!(slowest(&|_| slow, new) > SECOND * 5, "all pages");
            assert!(
                slowest(&|answer| if answer % 3 == 0 { fast } else { slow }, new) > SECOND * 5,
                "most pages"
            );
        }
        // One slow page ends no delay that was learned, and one fast page neither.
        let slow = AdaptiveDelay::load(&HostState { latency: 3000, ..HostState::default() });
        let mut known = AdaptiveDelay::default();
        known.join(&slow);
        for elapsed in [fast, fast, fast] {
            known.update(ServerHealth::Healthy, elapsed, SECOND, &config);
            assert_eq!(known.delay(SECOND, &config), SECOND * 6);
        }
        // A host whose origin is read again continues, with the times that it has seen since.
        let mut stored = HostState::default();
        known.save(&mut stored);
        let before = known;
        known.join(&AdaptiveDelay::load(&stored));
        assert_eq!(known, before);
        known.update(ServerHealth::Healthy, fast, SECOND, &config);
        assert!(known.delay(SECOND, &config) < SECOND * 6, "fast for four answers");
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
