//! Rate limit per client.

use crate::network;
use governor::clock::{Clock, MonotonicClock};
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::num::NonZeroU32;

/// Requests of each client at most.
///
/// A client counts at one of 65,536 places, by a hash whose key no client knows. So the table is bounded whoever asks, and
/// no client is rejected since it is full. Two clients at one place share its rate.
pub struct Rates<C: Clock = MonotonicClock> {
    places: RandomState,
    limiter: RateLimiter<u16, HashMapStateStore<u16>, C, NoOpMiddleware<C::Instant>>,
}

impl Rates {
    /// Limits each client to `per_second` requests on average, and to bursts of the same size.
    pub fn new(per_second: NonZeroU32) -> Rates {
        Rates::over(per_second, MonotonicClock)
    }
}

impl<C: Clock> Rates<C> {
    fn over(per_second: NonZeroU32, clock: C) -> Rates<C> {
        let limiter = RateLimiter::hashmap_with_clock(Quota::per_second(per_second), clock);
        Rates { places: RandomState::new(), limiter }
    }

    /// Counts a request.
    ///
    /// # Errors
    /// Whole seconds until the next request is admitted.
    pub fn admit(&self, from: IpAddr) -> Result<(), u32> {
        let checked = self.limiter.check_key(&self.place(from));
        checked.map_err(|until| {
            let wait = until.wait_time_from(self.limiter.clock().now());
            wait.as_secs_f64().ceil().max(1.0) as u32
        })
    }

    fn place(&self, from: IpAddr) -> u16 {
        // The lowest bits.
        self.places.hash_one(network::client(from)) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use governor::clock::FakeRelativeClock;
    use proptest::prelude::*;
    use std::time::Duration;

    fn rates(per_second: u32) -> (Rates<FakeRelativeClock>, FakeRelativeClock) {
        let clock = FakeRelativeClock::default();
        (Rates::over(NonZeroU32::new(per_second).unwrap(), clock.clone()), clock)
    }

    /// An address that is not at the same place.
    fn other(rates: &Rates<FakeRelativeClock>, than: IpAddr) -> IpAddr {
        let all = (1..=255u8).map(|last| IpAddr::from([127, 0, 1, last]));
        all.into_iter().find(|address| rates.place(*address) != rates.place(than)).unwrap()
    }

    #[test]
    fn a_burst_is_let_through_then_the_rate() {
        let (rates, clock) = rates(5);
        let from = "127.0.0.1".parse().unwrap();
        for _ in 0..5 {
            assert_eq!(rates.admit(from), Ok(()));
        }
        assert_eq!(rates.admit(from), Err(1));
        assert_eq!(rates.admit(other(&rates, from)), Ok(()), "others are others");
        assert_eq!(rates.admit("::ffff:127.0.0.1".parse().unwrap()), Err(1), "the same by another name");
        clock.advance(Duration::from_millis(200));
        assert_eq!((rates.admit(from), rates.admit(from)), (Ok(()), Err(1)));
    }

    #[test]
    fn a_network_of_version_6_is_one_client() {
        let (rates, _) = rates(1);
        assert_eq!(rates.admit("2001:db8::1".parse().unwrap()), Ok(()));
        assert_eq!(rates.admit("2001:db8::2".parse().unwrap()), Err(1));
    }

    #[test]
    fn the_table_is_bounded_and_a_client_keeps_its_rate_whoever_else_asks() {
        let (rates, clock) = rates(1);
        let known = "192.0.2.1".parse().unwrap();
        assert_eq!(rates.admit(known), Ok(()));
        for address in 0..200_000u32 {
            let address = IpAddr::from((0x0a00_0000 | address).to_be_bytes());
            if rates.place(address) != rates.place(known) {
                let _ = rates.admit(address);
            }
        }
        assert!(rates.limiter.len() <= 1 << 16);
        assert_eq!(rates.admit(known), Err(1));
        clock.advance(Duration::from_secs(1));
        assert_eq!(rates.admit(known), Ok(()));
    }

    /// Nobody can choose whose rate to use up.
    #[test]
    fn places_are_another_order_in_each_process() {
        let places = || {
            let (rates, _) = rates(1);
            (0..8u8).map(|last| rates.place(IpAddr::from([192, 0, 2, last]))).collect::<Vec<_>>()
        };
        assert_ne!(places(), places());
    }

    proptest! {
        #[test]
        fn never_more_than_the_burst_and_the_rate(rate in 1u32..20, steps in prop::collection::vec(0u64..400, 1..200)) {
            let ((rates, clock), mut elapsed, mut admitted) = (rates(rate), Duration::ZERO, 0u32);
            for step in steps.into_iter().map(Duration::from_millis) {
                clock.advance(step);
                elapsed += step;
                admitted += u32::from(rates.admit(IpAddr::from([10, 0, 0, 1])).is_ok());
                prop_assert!(f64::from(admitted) <= f64::from(rate) * (1.0 + elapsed.as_secs_f64()) + 1e-6);
            }
        }
    }
}
