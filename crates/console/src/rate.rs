//! Rate limit per client: a token bucket for each recent address.

use crate::network;
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;
use tokio::time::Instant;

/// Maximum clients with a bucket. Further clients are rejected until a bucket is free.
pub const MAX_ADDRESSES: usize = 10_000;
/// Minimum interval between two sweeps of full buckets.
const SWEEP: Duration = Duration::from_secs(1);

/// Buckets by client.
pub struct Rates {
    per_second: f64,
    buckets: HashMap<IpAddr, Bucket>,
    swept: Option<Instant>,
}

struct Bucket {
    left: f64,
    at: Instant,
}

impl Bucket {
    fn at(&self, now: Instant, per_second: f64) -> f64 {
        (self.left + now.saturating_duration_since(self.at).as_secs_f64() * per_second).min(per_second)
    }
}

impl Rates {
    /// Limits each client to `per_second` requests on average, and to bursts of the same size.
    pub fn new(per_second: u32) -> Rates {
        Rates { per_second: f64::from(per_second), buckets: HashMap::new(), swept: None }
    }

    /// Counts a request of `from` at `now`.
    ///
    /// # Errors
    /// Whole seconds until the next request is admitted.
    pub fn admit(&mut self, from: IpAddr, now: Instant) -> Result<(), u32> {
        let from = network::of(from);
        if !self.buckets.contains_key(&from) && self.buckets.len() >= MAX_ADDRESSES {
            self.sweep(now);
            if self.buckets.len() >= MAX_ADDRESSES {
                return Err(1);
            }
        }
        let bucket = self.buckets.entry(from).or_insert(Bucket { left: self.per_second, at: now });
        bucket.left = bucket.at(now, self.per_second);
        bucket.at = now;
        if bucket.left < 1.0 {
            return Err(((1.0 - bucket.left) / self.per_second).ceil().max(1.0) as u32);
        }
        bucket.left -= 1.0;
        Ok(())
    }

    /// Removes full buckets.
    fn sweep(&mut self, now: Instant) {
        if self.swept.is_some_and(|at| now.saturating_duration_since(at) < SWEEP) {
            return;
        }
        self.swept = Some(now);
        let full = self.per_second;
        self.buckets.retain(|_, bucket| bucket.at(now, full) < full);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_burst_is_let_through_then_the_rate() {
        let (mut rates, now) = (Rates::new(5), Instant::now());
        let from = "127.0.0.1".parse().unwrap();
        for _ in 0..5 {
            assert_eq!(rates.admit(from, now), Ok(()));
        }
        assert_eq!(rates.admit(from, now), Err(1));
        assert_eq!(rates.admit("127.0.0.2".parse().unwrap(), now), Ok(()), "others are others");
        assert_eq!(rates.admit("::ffff:127.0.0.1".parse().unwrap(), now), Err(1), "the same by another name");
        let later = now + Duration::from_millis(200);
        assert_eq!((rates.admit(from, later), rates.admit(from, later)), (Ok(()), Err(1)));
    }

    #[test]
    fn a_network_of_version_6_is_one_client() {
        let (mut rates, now) = (Rates::new(1), Instant::now());
        assert_eq!(rates.admit("2001:db8::1".parse().unwrap(), now), Ok(()));
        assert_eq!(rates.admit("2001:db8::2".parse().unwrap(), now), Err(1));
        assert_eq!(rates.admit("2001:db8:0:1::1".parse().unwrap(), now), Ok(()));
    }

    #[test]
    fn the_table_is_bounded_and_forgets() {
        let (mut rates, now) = (Rates::new(1), Instant::now());
        let address = |i: usize| IpAddr::from((i as u32).to_be_bytes());
        for i in 0..MAX_ADDRESSES {
            assert_eq!(rates.admit(address(i), now), Ok(()));
        }
        assert_eq!(rates.admit(address(MAX_ADDRESSES), now), Err(1));
        assert_eq!(rates.buckets.len(), MAX_ADDRESSES);
        assert_eq!(rates.admit(address(MAX_ADDRESSES), now + Duration::from_secs(2)), Ok(()));
        assert_eq!(rates.buckets.len(), 1);
    }

    proptest! {
        #[test]
        fn never_more_than_the_burst_and_the_rate(rate in 1u32..20, steps in prop::collection::vec(0u64..400, 1..200)) {
            let (mut rates, begun) = (Rates::new(rate), Instant::now());
            let (mut now, mut admitted) = (begun, 0u32);
            for step in steps {
                now += Duration::from_millis(step);
                admitted += u32::from(rates.admit(IpAddr::from([10, 0, 0, 1]), now).is_ok());
                let most = f64::from(rate) * (1.0 + (now - begun).as_secs_f64());
                prop_assert!(f64::from(admitted) <= most + 1e-6);
            }
        }
    }
}
