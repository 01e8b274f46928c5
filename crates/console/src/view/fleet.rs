//! A fleet, as one of its processes sees it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The fleet that the crawl is a partition of, as this process last saw it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct FleetFigures {
    /// Its address.
    pub address: String,
    /// The number of the map in force.
    pub map: u64,
    /// Milliseconds of a lease.
    pub lease_ms: u64,
    /// The partition of this process.
    pub partition: u32,
    /// Milliseconds since the store last answered this process.
    pub store_age_ms: u64,
    /// Why it does not answer; null if it does.
    pub error: Option<String>,
    /// Why a change that was made at another process cannot be made here yet; null if none waits.
    pub waiting: Option<String>,
    /// Milliseconds for which this process has not known when it may ask addresses that others ask: it asks none.
    pub turns_unknown_ms: u64,
    /// Milliseconds until it may know that; null if it does, or its clock does not tell.
    pub turns_begin_ms: Option<u64>,
    /// Hosts with pages that are due, which wait for that.
    pub hosts_waiting: u64,
    /// Milliseconds by which its clock may differ from the store's; null before it was measured, and in a fleet of one
    /// partition.
    pub clock_bound_ms: Option<u64>,
    /// The partitions, in the order of URLs.
    pub partitions: Vec<PartitionFigures>,
    /// The processes that told of themselves within a day, by name.
    pub nodes: Vec<NodeFigures>,
}

impl FleetFigures {
    /// Partitions that have had no owner for longer than two leases.
    pub fn unowned(&self) -> impl Iterator<Item = &PartitionFigures> {
        self.partitions.iter().filter(|partition| partition.unowned_ms > 2 * self.lease_ms)
    }
}

/// A partition of a fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct PartitionFigures {
    /// Its number.
    pub partition: u32,
    /// The site with which it begins; null for the first.
    pub begins: Option<String>,
    /// The process that owns it; null if none does.
    pub owner: Option<String>,
    /// Milliseconds for which it has had no owner; 0 if it has one.
    pub unowned_ms: u64,
    /// The epoch of the last owner that was seen; 0 without any. So are the figures below.
    pub epoch: u64,
    /// Its cycle.
    pub cycle: u32,
    /// Bytes that its vault has not.
    pub unshipped: u64,
    /// Its runs of links that others have not taken.
    pub untaken_runs: u64,
}

/// A process of a fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct NodeFigures {
    /// Its name.
    pub name: String,
    /// The version of its program.
    pub version: String,
    /// The partition that it says it owns; null if it stands by.
    pub partition: Option<u32>,
    /// Where its console listens.
    pub console: String,
    /// Milliseconds since it told of itself.
    pub age_ms: u64,
    /// Has it been silent for a whole lease?
    pub is_silent: bool,
}

/// Pages that somebody seeks in a fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SoughtPages {
    /// The page of this URL. Untrusted.
    Page(String),
    /// Pages of the partition of this number. Untrusted.
    Partition(u32),
}

/// A read of the API that another process of the fleet answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetQuestion {
    /// Path and query.
    pub path: String,
    /// The header `Accept`; may be empty.
    pub accept: String,
    /// The header `If-None-Match`; may be empty.
    #[serde(default)]
    pub known: String,
}

/// Its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetAnswer {
    /// HTTP status.
    pub status: u16,
    /// The header `Content-Type`.
    pub content_type: String,
    /// The header `ETag`; may be empty.
    #[serde(default)]
    pub tag: String,
    /// Text, or a problem.
    pub body: String,
    /// The process that answers.
    pub node: String,
}
