//! A limit of requests over time.

use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use std::num::NonZeroU32;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Requests of this time may come at once: no timer is finer.
const BURST: Duration = Duration::from_millis(100);

/// Requests per time, on average and over every tenth of a second.
#[derive(Debug)]
pub struct RequestRate {
    limiter: RateLimiter<NotKeyed, InMemoryState, TimeSince, NoOpMiddleware<Duration>>,
}

/// Tokio's time, which tests control, since an instant.
#[derive(Clone, Debug)]
struct TimeSince(Instant);

impl Clock for TimeSince {
    type Instant = Duration;

    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

impl RequestRate {
    /// At most so many requests per such a time.
    pub fn new(requests: NonZeroU32, per: Duration) -> RequestRate {
        let interval = (per / requests.get()).max(Duration::from_nanos(1));
        let burst = u32::try_from(BURST.as_nanos() / interval.as_nanos()).unwrap_or(u32::MAX);
        let quota = Quota::with_period(interval).expect("it is not 0");
        let quota = quota.allow_burst(NonZeroU32::new(burst).unwrap_or(NonZeroU32::MIN));
        RequestRate { limiter: RateLimiter::direct_with_clock(quota, TimeSince(Instant::now())) }
    }

    /// Reads `10/s`, `10/m` or `10/h`.
    ///
    /// # Errors
    /// That it is no rate, and how to write one.
    pub fn parse(text: &str) -> Result<RequestRate, String> {
        let wrong =
            || format!("{text:?}: write a number and a unit of time, as \"10/s\", \"10/m\" or \"10/h\"");
        let (requests, unit) = text.split_once('/').ok_or_else(wrong)?;
        let seconds = match unit.trim() {
            "s" => 1,
            "m" => 60,
            "h" => 3600,
            _ => return Err(wrong()),
        };
        let requests = requests.trim().parse().map_err(|_| wrong())?;
        Ok(RequestRate::new(requests, Duration::from_secs(seconds)))
    }

    /// Takes the turn for one request.
    ///
    /// # Errors
    /// The time until there is one.
    pub fn take(&self) -> Result<(), Duration> {
        self.limiter.check().map_err(|until| until.wait_time_from(self.limiter.clock().now()))
    }

    /// Waits for the turn for one request.
    pub async fn turn(&self) {
        while let Err(wait) = self.take() {
            sleep(wait).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    #[tokio::test(start_paused = true)]
    async fn the_rate_holds_over_every_second_also_after_a_pause() {
        for (text, seconds, most) in
            [("10/s", 1, 11), ("1000/s", 1, 1101), ("30/m", 60, 31), ("1/h", 3600, 2)]
        {
            let rate = RequestRate::parse(text).unwrap();
            advance(Duration::from_secs(10_000)).await;
            for _ in 0..3 {
                let (begun, mut taken) = (Instant::now(), 0);
                while begun.elapsed() < Duration::from_secs(seconds) {
                    match rate.take() {
                        Ok(()) => taken += 1,
                        Err(wait) => advance(wait).await,
                    }
                }
                assert!(taken <= most && taken + most / 10 + 2 >= most, "{text}: {taken}");
            }
        }
    }

    #[test]
    fn what_is_no_rate_is_told() {
        for text in ["", "10", "0/s", "-1/s", "10/d", "ten/s", "10/s/s", "99999999999/s"] {
            let told = RequestRate::parse(text).err().unwrap();
            assert!(told.contains("\"10/s\""), "{told}");
        }
        assert!(RequestRate::parse("4294967295/s").is_ok());
    }
}
