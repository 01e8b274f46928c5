//! The addresses that hosts share: each has a pace of its own, and a line of hosts that wait for it.
//!
//! A thousand names on one server are one server. A host that may be asked by its own pace stands in
//! line for its address; only the first of a line is granted, for the moment at which the address is
//! free. So a line costs its hosts no waking up in vain, and turns are taken in order.
//!
//! The address's delay is a constant: behind one address of a large provider stand thousands of sites,
//! and one of them that is slow or says 429 must not slow down the rest. An address that nobody asks or
//! waits for is forgotten when its delay has run out, so the table is bounded by the open hosts.

use crate::limits::FetchConfig;
use crate::politeness::Pace;
use crate::run::HostId;
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;
use tokio::time::Instant;

/// Addresses in the table before those are looked for that can be forgotten.
const FIRST_SWEEP: usize = 1024;

/// The addresses in use.
#[derive(Debug)]
pub struct Addresses {
    delay: Duration,
    /// Requests under way at a time at one address.
    slots: usize,
    began: Instant,
    known: HashMap<IpAddr, Address>,
    sweep_at: usize,
}

#[derive(Debug)]
struct Address {
    pace: Pace,
    in_flight: usize,
    waiting: VecDeque<HostId>,
    /// Was the first of the line granted, and has it not come yet?
    granted: bool,
}

impl Addresses {
    /// For a run that began then.
    pub fn new(config: &FetchConfig, began: Instant) -> Addresses {
        Addresses {
            delay: config.delay_per_ip,
            slots: config.connections_per_host,
            began,
            known: HashMap::new(),
            sweep_at: FIRST_SWEEP,
        }
    }

    /// Without a delay nothing is asked for, and no name need be resolved before its turn.
    pub fn are_paced(&self) -> bool {
        !self.delay.is_zero()
    }

    fn at(&mut self, address: IpAddr) -> &mut Address {
        if self.known.len() >= self.sweep_at {
            let in_use = |a: &Address| {
                a.in_flight > 0 || a.granted || !a.waiting.is_empty() || a.pace.wait().is_some()
            };
            self.known.retain(|_, a| in_use(a));
            self.sweep_at = FIRST_SWEEP.max(self.known.len() * 2);
        }
        let pace = || Pace::new(self.delay, self.began);
        self.known.entry(address).or_insert_with(|| Address {
            pace: pace(),
            in_flight: 0,
            waiting: VecDeque::new(),
            granted: false,
        })
    }

    /// RetryPolicy a request start there now? Only for the host that was granted, while others wait.
    pub fn is_free(&mut self, address: IpAddr, has_grant: bool) -> bool {
        let slots = self.slots;
        let at = self.at(address);
        at.in_flight < slots
            && at.pace.wait().is_none()
            && (has_grant || (at.waiting.is_empty() && !at.granted))
    }

    /// A request starts there.
    pub fn request_started(&mut self, address: IpAddr) {
        let at = self.at(address);
        at.in_flight += 1;
        at.pace.touch();
    }

    /// It has been answered.
    pub fn request_ended(&mut self, address: IpAddr) {
        let at = self.at(address);
        at.in_flight -= 1;
        at.pace.touch();
    }

    /// A request went there that was meant for another address: a connection outlived a change in DNS.
    pub fn unexpected_request(&mut self, address: IpAddr) {
        self.at(address).pace.touch();
    }

    /// A host stands in waiting.
    pub fn enqueue(&mut self, address: IpAddr, host: HostId) {
        self.at(address).waiting.push_back(host);
    }

    /// The host that was granted has come.
    pub fn use_grant(&mut self, address: IpAddr) {
        self.at(address).granted = false;
    }

    /// Calls the first of the line, if there is a place for it: the host, and when it may ask.
    pub fn grant_next(&mut self, address: IpAddr) -> Option<(HostId, Instant)> {
        let slots = self.slots;
        let at = self.at(address);
        if at.granted || at.in_flight >= slots {
            return None;
        }
        let host = at.waiting.pop_front()?;
        at.granted = true;
        Some((host, at.pace.free_at()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    const A: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(9, 9, 9, 9));
    const SECOND: Duration = Duration::from_secs(1);

    fn addresses() -> Addresses {
        let config = FetchConfig { delay_per_ip: SECOND, ..FetchConfig::default() };
        Addresses::new(&config, Instant::now() - SECOND)
    }

    #[tokio::test(start_paused = true)]
    async fn turns_are_taken_in_order_and_one_is_called_at_a_time() {
        let mut all = addresses();
        assert!(all.is_free(A, false));
        all.request_started(A);
        assert!(!all.is_free(A, false));
        all.enqueue(A, 7);
        all.enqueue(A, 8);
        assert_eq!(all.grant_next(A), None, "the slot is taken");
        advance(SECOND / 2).await;
        all.request_ended(A);
        let (host, at) = all.grant_next(A).unwrap();
        assert_eq!((host, at), (7, Instant::now() + SECOND));
        assert_eq!(all.grant_next(A), None, "one is granted already");
        advance(SECOND).await;
        assert!(!all.is_free(A, false), "whoever comes now stands behind");
        all.use_grant(A);
        assert!(all.is_free(A, true));
        // It did not ask after all: the next one is granted, for now.
        assert_eq!(all.grant_next(A), Some((8, Instant::now())));
    }

    #[tokio::test(start_paused = true)]
    async fn addresses_that_nobody_needs_are_forgotten() {
        let mut all = addresses();
        for i in 0..100_000u32 {
            let address = IpAddr::V4(i.into());
            all.request_started(address);
            all.request_ended(address);
            if i % 100 == 0 {
                advance(SECOND).await;
            }
        }
        assert!(all.known.len() <= FIRST_SWEEP, "{}", all.known.len());
        all.request_started(A);
        for i in 0..FIRST_SWEEP as u32 * 2 {
            advance(SECOND * 2).await;
            all.is_free(IpAddr::V4(i.into()), false);
        }
        assert!(!all.is_free(A, false), "what is under way is not forgotten");
    }
}
