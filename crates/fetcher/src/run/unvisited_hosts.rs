//! Hosts that a round did not visit. The next round begins with them.

use recrawl_types::Round;
use std::collections::BTreeMap;

/// Bytes of a host in [`UnvisitedHosts::to_bytes`].
const ENTRY: usize = 12;

/// Hosts that were due and not visited, each with the first round in a row that did not visit it.
/// 12 bytes per host on disk; empty if every round completes.
///
/// A host is stored as a 64-bit hash of its name. If two names collide, one of them comes too
/// early.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnvisitedHosts(BTreeMap<u64, Round>);

impl UnvisitedHosts {
    /// Number of hosts.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Is it empty?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first round in a row that did not visit the host; none if the last round did.
    pub fn since(&self, host: &[u8]) -> Option<Round> {
        if self.0.is_empty() { None } else { self.0.get(&hash(host, 0)).copied() }
    }

    /// Records that this round did not visit the host.
    pub fn add(&mut self, host: &[u8], round: Round) {
        self.0.entry(hash(host, 0)).or_insert(round);
    }

    /// Records that this round visited the host.
    pub fn remove(&mut self, host: &[u8]) {
        if !self.0.is_empty() {
            self.0.remove(&hash(host, 0));
        }
    }

    /// Encodes it for storage.
    pub fn to_bytes(&self) -> Vec<u8> {
        let entry = |(hash, since): (&u64, &Round)| {
            let mut bytes = [0; ENTRY];
            bytes[..8].copy_from_slice(&hash.to_le_bytes());
            bytes[8..].copy_from_slice(&since.0.to_le_bytes());
            bytes
        };
        self.0.iter().flat_map(entry).collect()
    }

    /// Decodes it. Ignores an incomplete entry: only the order of hosts depends on it.
    pub fn from_bytes(bytes: &[u8]) -> UnvisitedHosts {
        let entry = |bytes: &[u8]| {
            let (hash, since) = bytes.split_at(8);
            (u64::from_le_bytes(hash.try_into().ok()?), Round(u32::from_le_bytes(since.try_into().ok()?)))
                .into()
        };
        UnvisitedHosts(bytes.chunks_exact(ENTRY).filter_map(entry).collect())
    }
}

/// A seeded hash of a name. It is stored, so it is the same on every machine.
pub fn hash(host: &[u8], seed: u64) -> u64 {
    xxhash_rust::xxh3::xxh3_64_with_seed(host, seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_unvisited_since_the_first_round_in_a_row() {
        let mut left = UnvisitedHosts::default();
        left.add(b"a", Round(3));
        left.add(b"a", Round(4));
        left.add(b"b", Round(4));
        assert_eq!([b"a", b"b", b"c"].map(|h| left.since(h)), [Some(Round(3)), Some(Round(4)), None]);
        assert_eq!(UnvisitedHosts::from_bytes(&left.to_bytes()), left);
        left.remove(b"a");
        assert_eq!((left.since(b"a"), left.len()), (None, 1));
        assert_eq!(UnvisitedHosts::from_bytes(&left.to_bytes()[..7]), UnvisitedHosts::default());
    }
}
