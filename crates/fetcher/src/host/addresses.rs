//! Addresses that hosts share. Each has its own pace, and a queue of hosts that wait for it.
//!
//! A thousand names on one server are one server. A host that is ready by its own pace waits in the
//! queue of its address. Only the first of the queue gets a grant, for the time at which the
//! address is free. So waiting hosts are not woken in vain, and are served in order.
//!
//! The delay of an address is constant. Thousands of sites may share one address of a large
//! provider, and one slow or overloaded site must not slow down the rest. An address without
//! requests and waiting hosts is forgotten after its delay, so open hosts bound the table.

use crate::host::address_turns::AddressTurns;
use crate::host::politeness::Pace;
use crate::net::limits::FetchConfig;
use crate::run::HostId;
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Size of the table from which on unused addresses are removed.
const FIRST_SWEEP: usize = 1024;

/// The addresses in use.
#[derive(Debug)]
pub struct Addresses {
    delay: Duration,
    /// Maximum number of requests in flight per address.
    slots: usize,
    began: Instant,
    known: HashMap<IpAddr, PacedAddress>,
    sweep_at: usize,
    /// Of a crawl that shares its addresses with others.
    turns: Option<Arc<dyn AddressTurns>>,
}

#[derive(Debug)]
struct PacedAddress {
    pace: Pace,
    in_flight: usize,
    waiting: VecDeque<HostId>,
    /// Did the first waiting host get a grant that it has not used yet?
    granted: bool,
}

impl Addresses {
    pub fn new(config: &FetchConfig, began: Instant, turns: Option<Arc<dyn AddressTurns>>) -> Addresses {
        Addresses {
            delay: config.delay_per_ip,
            slots: config.connections_per_host,
            began,
            known: HashMap::new(),
            sweep_at: FIRST_SWEEP,
            turns,
        }
    }

    /// Is there a delay per address? If not, names need not be resolved before requests.
    pub fn are_paced(&self) -> bool {
        !self.delay.is_zero()
    }

    fn at(&mut self, address: IpAddr) -> &mut PacedAddress {
        if self.known.len() >= self.sweep_at {
            let in_use = |a: &PacedAddress| {
                a.in_flight > 0 || a.granted || !a.waiting.is_empty() || a.pace.wait().is_some()
            };
            self.known.retain(|_, a| in_use(a));
            self.sweep_at = FIRST_SWEEP.max(self.known.len() * 2);
        }
        let pace = || Pace::new(self.delay, self.began);
        self.known.entry(address).or_insert_with(|| PacedAddress {
            pace: pace(),
            in_flight: 0,
            waiting: VecDeque::new(),
            granted: false,
        })
    }

    /// May a request start there now? While hosts wait, only with a grant.
    pub fn is_free(&mut self, address: IpAddr, has_grant: bool) -> bool {
        let slots = self.slots;
        let at = self.at(address);
        at.in_flight < slots
            && at.pace.wait().is_none()
            && (has_grant || (at.waiting.is_empty() && !at.granted))
            && self.wait_for_turn(address).is_none()
    }

    /// How long others have the address; none if they do not.
    fn wait_for_turn(&self, address: IpAddr) -> Option<Duration> {
        self.turns.as_ref()?.wait(address)
    }

    /// A host was found to have this address, and so many pages.
    pub fn met(&self, address: IpAddr, host: &str, pages: impl FnOnce() -> u64) {
        if let Some(turns) = self.turns.as_ref().filter(|_| self.are_paced()) {
            turns.met(address, host, pages());
        }
    }

    pub fn request_started(&mut self, address: IpAddr, host: &str) {
        if let Some(turns) = &self.turns {
            turns.began(address, host);
        }
        let at = self.at(address);
        at.in_flight += 1;
        at.pace.touch();
    }

    /// Records the end of a request, and how long its answer took if there was one.
    pub fn request_ended(&mut self, address: IpAddr, took: Option<Duration>) {
        if let (Some(turns), Some(took)) = (&self.turns, took) {
            turns.answered(address, took);
        }
        let at = self.at(address);
        at.in_flight -= 1;
        at.pace.touch();
    }

    /// Records a request that was meant for another address: a connection outlived a DNS change.
    pub fn unexpected_request(&mut self, address: IpAddr) {
        self.at(address).pace.touch();
    }

    pub fn enqueue(&mut self, address: IpAddr, host: HostId) {
        self.at(address).waiting.push_back(host);
    }

    /// The host with the grant has come.
    pub fn use_grant(&mut self, address: IpAddr) {
        self.at(address).granted = false;
    }

    /// Grants the address to the first waiting host, if a connection is free. Returns the host and
    /// the time of its request.
    pub fn grant_next(&mut self, address: IpAddr) -> Option<(HostId, Instant)> {
        let slots = self.slots;
        let at = self.at(address);
        if at.granted || at.in_flight >= slots {
            return None;
        }
        let host = at.waiting.pop_front()?;
        at.granted = true;
        let free_at = at.pace.free_at();
        let turn = self.wait_for_turn(address).map(|wait| Instant::now() + wait);
        Some((host, turn.map_or(free_at, |turn| turn.max(free_at))))
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
        Addresses::new(&config, Instant::now() - SECOND, None)
    }

    #[tokio::test(start_paused = true)]
    async fn turns_are_taken_in_order_and_one_is_called_at_a_time() {
        let mut all = addresses();
        assert!(all.is_free(A, false));
        all.request_started(A, "a.test");
        assert!(!all.is_free(A, false));
        all.enqueue(A, 7);
        all.enqueue(A, 8);
        assert_eq!(all.grant_next(A), None, "the slot is taken");
        advance(SECOND / 2).await;
        all.request_ended(A, None);
        let (host, at) = all.grant_next(A).unwrap();
        assert_eq!((host, at), (7, Instant::now() + SECOND));
        assert_eq!(all.grant_next(A), None, "one is granted already");
        advance(SECOND).await;
        assert!(!all.is_free(A, false), "a host without a grant must wait");
        all.use_grant(A);
        assert!(all.is_free(A, true));
        // It made no request, so the next host gets a grant for now.
        assert_eq!(all.grant_next(A), Some((8, Instant::now())));
    }

    #[tokio::test(start_paused = true)]
    async fn addresses_that_nobody_needs_are_forgotten() {
        let mut all = addresses();
        for i in 0..100_000u32 {
            let address = IpAddr::V4(i.into());
            all.request_started(address, "a.test");
            all.request_ended(address, None);
            if i % 100 == 0 {
                advance(SECOND).await;
            }
        }
        assert!(all.known.len() <= FIRST_SWEEP, "{}", all.known.len());
        all.request_started(A, "a.test");
        for i in 0..FIRST_SWEEP as u32 * 2 {
            advance(SECOND * 2).await;
            all.is_free(IpAddr::V4(i.into()), false);
        }
        assert!(!all.is_free(A, false), "an address in use is kept");
    }
}
