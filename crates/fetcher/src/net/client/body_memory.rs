//! A bound on the memory of all bodies together, from their first bytes until they are read.
//!
//! A body of up to [`MAX_SMALL_BODY`] bytes asks nobody. A larger one takes a share of the memory before it
//! grows, and keeps it until its last copy is dropped. While there is too little, the body waits, and its
//! server is not read.
//!
//! Bodies that all wait for each other would never end. So a part of the memory is the reserve: room for one
//! body of any size. The first one that waits gets it, and then waits no more.

use crate::net::client::Meter;
use crate::net::limits::{MAX_SMALL_BODY, least_body_memory};
use bytes::Bytes;
use std::fmt;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes per permit.
const UNIT: usize = 1 << 10;

/// The memory of bodies.
#[derive(Clone)]
pub struct BodyMemory {
    shared: Arc<Semaphore>,
    reserve: Arc<Semaphore>,
}

impl fmt::Debug for BodyMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BodyMemory").field("free", &self.free()).finish_non_exhaustive()
    }
}

/// The memory that a body has taken.
#[derive(Default)]
pub struct MemoryShare {
    shared: Option<OwnedSemaphorePermit>,
    reserve: Option<OwnedSemaphorePermit>,
}

impl BodyMemory {
    /// Memory of so many bytes for bodies of up to `max_body`. At least one of these fits, and one robots.txt.
    pub fn new(bytes: usize, max_body: usize) -> BodyMemory {
        let shared = bytes.saturating_sub(least_body_memory(max_body)) / UNIT;
        let shared = shared.min(u32::MAX as usize).min(Semaphore::MAX_PERMITS);
        BodyMemory { shared: Arc::new(Semaphore::new(shared)), reserve: Arc::new(Semaphore::new(1)) }
    }

    /// Waits until the body may have `bytes` of memory in all. The meter counts the time.
    pub async fn grow(&self, share: &mut MemoryShare, bytes: usize, meter: &Meter) {
        if bytes <= MAX_SMALL_BODY || share.reserve.is_some() {
            return;
        }
        let has = share.shared.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let more = u32::try_from(bytes.div_ceil(UNIT).saturating_sub(has)).unwrap_or(u32::MAX);
        if let Ok(more) = self.shared.clone().try_acquire_many_owned(more) {
            return share.add(more);
        }
        let _waiting = meter.wait();
        tokio::select! {
            biased;
            more = self.shared.clone().acquire_many_owned(more) => share.add(more.expect("it is never closed")),
            reserve = self.reserve.clone().acquire_owned() => {
                let reserve = Some(reserve.expect("it is never closed"));
                // The reserve has room for the whole body.
                *share = MemoryShare { shared: None, reserve };
            }
        }
    }

    /// Bytes that are free, without the reserve.
    fn free(&self) -> usize {
        self.shared.available_permits() * UNIT
    }
}

impl MemoryShare {
    fn add(&mut self, more: OwnedSemaphorePermit) {
        match &mut self.shared {
            Some(shared) => shared.merge(more),
            shared => *shared = Some(more),
        }
    }

    /// The body, which returns its share when its last copy is dropped. What it does not need returns at once.
    pub fn keep(mut self, mut body: Vec<u8>) -> Bytes {
        if self.shared.is_none() && self.reserve.is_none() {
            return body.into();
        }
        body.shrink_to_fit();
        if let Some(shared) = &mut self.shared {
            let surplus = shared.num_permits().saturating_sub(body.len().div_ceil(UNIT));
            drop(shared.split(surplus));
        }
        Bytes::from_owner(StoredBody { body, _share: self })
    }
}

/// A body and its share.
struct StoredBody {
    body: Vec<u8>,
    _share: MemoryShare,
}

impl AsRef<[u8]> for StoredBody {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

#[cfg(test)]
mod tests;
