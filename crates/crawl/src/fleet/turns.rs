//! Turns of a partition at addresses that it shares with others.

use crate::crawl::Crawl;
use crate::partition::boot_clock;
use crate::settings::Settings;
use recrawl_fetcher::AddressTurns;
use recrawl_fleet::AddressSlots;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use xxhash_rust::xxh3::xxh3_64;

/// Milliseconds between an answer of an address and the next request, at least.
pub(super) fn delay(settings: &Settings) -> u64 {
    settings.fetch.delay_per_ip.as_nanos().div_ceil(1_000_000) as u64
}

impl Crawl {
    /// Asks addresses only in its turns, if it is a partition that shares them.
    pub(crate) fn take_turns(&mut self) {
        let slots = self.partition.as_deref().and_then(|partition| partition.slots());
        if let Some(slots) = slots.cloned() {
            slots.set_delay(delay(&self.settings));
            self.fetcher.take_turns(Arc::new(PartitionTurns(slots)));
        }
    }
}

/// The turns, by the clock that leases are counted by.
struct PartitionTurns(Arc<AddressSlots>);

fn key(host: &str) -> u64 {
    xxh3_64(host.as_bytes())
}

impl AddressTurns for PartitionTurns {
    fn wait(&self, address: IpAddr) -> Option<Duration> {
        self.0.wait(address, boot_clock()).map(Duration::from_millis)
    }

    fn met(&self, address: IpAddr, host: &str, pages: u64) {
        self.0.met(address, key(host), pages, boot_clock());
    }

    fn began(&self, address: IpAddr, host: &str) {
        self.0.began(address, key(host));
    }

    fn answered(&self, address: IpAddr, took: Duration) {
        self.0.answered(address, took.as_millis() as u64);
    }
}
