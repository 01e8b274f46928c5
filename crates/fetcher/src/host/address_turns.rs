//! The seam to a crawl that shares addresses with others: when requests to an address may begin.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

/// The turns of a crawl at addresses that other crawls ask as well. It is asked beside the delays, right before each request.
pub trait AddressTurns: Send + Sync {
    /// How long to wait, and then ask again, before a request to this address may begin; none if it may begin now.
    fn wait(&self, address: IpAddr) -> Option<Duration>;

    /// A host was found to have this address, and so many pages that are due.
    fn met(&self, address: IpAddr, host: &str, pages: u64);

    /// A request of a host begins there.
    fn began(&self, address: IpAddr, host: &str);

    /// An answer came from there, after so long a time.
    fn answered(&self, address: IpAddr, took: Duration);
}

impl fmt::Debug for dyn AddressTurns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AddressTurns")
    }
}
