//! The cost model of docs/internals/verifier.md: bytes read and written per check by each
//! contender.

use crate::outcome::ContenderOutcome;
use serde::{Deserialize, Serialize};

/// H: bytes of a fingerprint.
const FINGERPRINT: f64 = 8.0;
/// Bytes of a text's length prefix.
const LENGTH: f64 = 2.0;

/// Bytes per check.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CheckCost {
    /// Read.
    pub read: f64,
    /// Written.
    pub written: f64,
}

/// Parameters of a cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CycleLoad {
    /// U: known URLs.
    pub known: f64,
    /// B: checks of the cycle.
    pub checks: f64,
    /// p: share of the checks with a new URL.
    pub new: f64,
    /// b: bytes of a URL's text.
    pub text: f64,
    /// l: bytes of the log per check.
    pub log: f64,
}

/// Stored bytes per known page of each part of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BlockBytes {
    /// Keys.
    pub keys: f64,
    /// States, which every known page has.
    pub known: f64,
    /// Histories and contents of visited pages.
    pub past: f64,
}

/// Locality: known pages in the blocks that a cycle touches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TouchedBlocks {
    /// In all touched blocks: these are read.
    pub opened: u64,
    /// In blocks with a visit, a new URL or a counted link: states are written.
    pub changed: u64,
    /// In blocks with a new URL: keys are written.
    pub grown: u64,
    /// In blocks with a visit: histories and contents are read and written.
    pub visited: u64,
}

/// (a) This design: the touched blocks. Garbage, which at most doubles the bytes, is not included.
pub fn blocks(load: CycleLoad, parts: BlockBytes, named: TouchedBlocks) -> CheckCost {
    let of = |pages: u64, bytes: f64| pages as f64 * bytes / load.checks;
    let past = of(named.visited, parts.past);
    CheckCost {
        read: load.log + of(named.opened, parts.keys + parts.known) + past,
        written: of(named.grown, parts.keys) + of(named.changed, parts.known) + past,
    }
}

/// (b) DRUM: fingerprint and text of each check go to a bucket and back; each cycle reads and
/// writes all fingerprints.
pub fn drum(load: CycleLoad) -> CheckCost {
    let bucket = FINGERPRINT + LENGTH + load.text;
    let pass = FINGERPRINT * load.known / load.checks;
    CheckCost { read: load.log + bucket + pass, written: bucket + pass + FINGERPRINT * load.new }
}

/// (c) The sieve: fingerprints stay in memory and only texts go to disk and back; the pass is the
/// same.
pub fn sieve(load: CycleLoad) -> CheckCost {
    let text = LENGTH + load.text;
    let pass = FINGERPRINT * load.known / load.checks;
    CheckCost { read: load.log + text + pass, written: text + pass + FINGERPRINT * load.new }
}

/// Parameters of a store with point lookups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LookupStore {
    /// Bytes read per lookup that misses the cache.
    pub block: f64,
    /// Stored bytes per key.
    pub stored: f64,
    /// Number of times that a new key is written: to the log, then by flushes and compactions.
    pub rewritten: f64,
    /// Size of the cache in bytes.
    pub cache: f64,
}

/// (d) A store with point lookups: reads a block for each check that misses the cache, as if all
/// keys were equally popular. Popular keys stay in the cache, which reduces the bytes.
pub fn store(load: CycleLoad, store: LookupStore) -> CheckCost {
    let misses = (1.0 - store.cache / (store.stored * load.known)).max(0.0);
    CheckCost { read: load.log + misses * store.block, written: load.new * store.rewritten * load.text }
}

/// The prediction for an outcome's median cycle; none for a contender without a formula.
pub fn predict(outcome: &ContenderOutcome) -> Option<CheckCost> {
    let load = CycleLoad {
        known: outcome.pages as f64,
        checks: outcome.median(|cycle| cycle.checks as f64),
        new: outcome.median(|cycle| cycle.new as f64 / cycle.checks as f64),
        text: outcome.text,
        log: outcome.median(|cycle| cycle.log as f64 / cycle.logged as f64),
    };
    let pages = |of: fn(&TouchedBlocks) -> u64| outcome.median(|cycle| of(&cycle.named) as f64) as u64;
    let cache = outcome.memory_limit.map_or(f64::INFINITY, |bytes| bytes as f64);
    match outcome.contender.as_str() {
        "ours" => {
            let named = TouchedBlocks {
                opened: pages(|named| named.opened),
                changed: pages(|named| named.changed),
                grown: pages(|named| named.grown),
                visited: pages(|named| named.visited),
            };
            Some(blocks(load, outcome.parts, named))
        }
        "drum" => Some(drum(load)),
        "sieve" => Some(sieve(load)),
        "fjall" | "sled" => {
            let stored = outcome.stored as f64 / outcome.pages as f64;
            Some(store(load, LookupStore { block: 4096.0, stored, rewritten: 3.0, cache }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: CycleLoad = CycleLoad { known: 1e8, checks: 5e6, new: 0.1, text: 60.0, log: 30.0 };

    #[test]
    fn a_pass_over_all_fingerprints_is_shared_by_the_checks_of_a_cycle() {
        assert_eq!(drum(LOAD), CheckCost { read: 30.0 + 70.0 + 160.0, written: 70.0 + 160.0 + 0.8 });
        assert_eq!(sieve(LOAD), CheckCost { read: 30.0 + 62.0 + 160.0, written: 62.0 + 160.0 + 0.8 });
        let twice = CycleLoad { checks: 1e7, ..LOAD };
        assert_eq!(drum(LOAD).read - drum(twice).read, 80.0);
    }

    #[test]
    fn blocks_that_nothing_names_cost_nothing() {
        let parts = BlockBytes { keys: 20.0, known: 5.0, past: 11.0 };
        let none = blocks(LOAD, parts, TouchedBlocks::default());
        assert_eq!(none, CheckCost { read: 30.0, written: 0.0 });
        let all = TouchedBlocks { opened: 100_000_000, changed: 0, grown: 0, visited: 0 };
        assert_eq!(blocks(LOAD, parts, all), CheckCost { read: 30.0 + 500.0, written: 0.0 });
        let some =
            TouchedBlocks { opened: 50_000_000, changed: 25_000_000, grown: 5_000_000, visited: 1_000_000 };
        assert_eq!(
            blocks(LOAD, parts, some),
            CheckCost { read: 30.0 + 250.0 + 2.2, written: 20.0 + 25.0 + 2.2 }
        );
        let more = CycleLoad { known: 1e9, ..LOAD };
        assert_eq!(blocks(more, parts, some), blocks(LOAD, parts, some), "what counts is what is named");
    }

    #[test]
    fn a_store_reads_a_block_for_each_miss() {
        let all_cached = LookupStore { block: 4096.0, stored: 40.0, rewritten: 3.0, cache: 4e9 };
        let cost = store(LOAD, all_cached);
        assert!(cost.read == 30.0 && (cost.written - 18.0).abs() < 1e-9, "{cost:?}");
        let half = LookupStore { cache: 2e9, ..all_cached };
        assert_eq!(store(LOAD, half).read, 30.0 + 2048.0);
    }
}
