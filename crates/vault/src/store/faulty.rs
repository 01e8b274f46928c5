//! A store that fails as stores do, by a seed: before it did what was asked for, after, or much later.

use super::{Listed, MemoryStore, Store, StoreError};
use std::sync::{Arc, Mutex};

/// Kinds of trouble, each with its weight among 1,000 requests.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// The request fails and did nothing.
    pub before: u32,
    /// The request is done, and its answer is an error.
    pub after: u32,
    /// The answer is an error; the object appears at a later request.
    pub late: u32,
}

/// A store in memory, with faults.
#[derive(Debug)]
pub struct FaultyStore {
    objects: Arc<MemoryStore>,
    state: Mutex<FaultyState>,
}

#[derive(Debug)]
struct FaultyState {
    seed: u64,
    faults: Faults,
    /// Creates that are still on their way.
    late: Vec<(String, Vec<u8>)>,
    /// Requests until the process that asks is dead: then each fails and does nothing.
    lives: Option<u64>,
}

impl FaultyStore {
    /// Over these objects, with these faults.
    pub fn new(objects: Arc<MemoryStore>, seed: u64, faults: Faults) -> FaultyStore {
        let state = FaultyState { seed: seed.wrapping_mul(2) | 1, faults, late: Vec::new(), lives: None };
        FaultyStore { objects, state: Mutex::new(state) }
    }

    /// The process that asks dies after so many requests.
    pub fn die_after(&self, requests: u64) {
        self.state.lock().expect("no panic under the lock").lives = Some(requests);
    }

    /// The fault of a request: none if it is done and answered.
    fn fault(&self) -> Option<StoreFault> {
        let mut state = self.state.lock().expect("no panic under the lock");
        if let Some(lives) = &mut state.lives {
            *lives = lives.saturating_sub(1);
            if *lives == 0 {
                return Some(StoreFault::Dead);
            }
        }
        let drawn = draw(&mut state.seed) % 1000;
        // Some of what is on its way arrives.
        if !state.late.is_empty() && draw(&mut state.seed).is_multiple_of(3) {
            let (key, bytes) = state.late.remove(0);
            // A store refuses it like any other create.
            let _ = self.objects.create(&key, &bytes);
        }
        let Faults { before, after, late } = state.faults;
        match drawn as u32 {
            n if n < before => Some(StoreFault::Before),
            n if n < before + after => Some(StoreFault::After),
            n if n < before + after + late => Some(StoreFault::Late),
            _ => None,
        }
    }
}

enum StoreFault {
    Before,
    After,
    Late,
    Dead,
}

/// A number of a sequence that a seed begins (splitmix64).
pub fn draw(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *seed;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn failed(key: &str) -> StoreError {
    StoreError::Failed(format!("{key}: no answer"))
}

impl Store for FaultyStore {
    fn create(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        match self.fault() {
            None => self.objects.create(key, bytes),
            Some(StoreFault::Before | StoreFault::Dead) => Err(failed(key)),
            Some(StoreFault::After) => self.objects.create(key, bytes).and(Err(failed(key))),
            Some(StoreFault::Late) => {
                let mut state = self.state.lock().expect("no panic under the lock");
                state.late.push((key.to_owned(), bytes.to_vec()));
                Err(failed(key))
            }
        }
    }

    fn read(&self, key: &str, most: u64) -> Result<Vec<u8>, StoreError> {
        self.fault().map_or_else(|| self.objects.read(key, most), |_| Err(failed(key)))
    }

    fn replace(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        match self.fault() {
            None => self.objects.replace(key, bytes),
            Some(StoreFault::After) => self.objects.replace(key, bytes).and(Err(failed(key))),
            Some(_) => Err(failed(key)),
        }
    }

    fn list(&self, folder: &str) -> Result<Vec<Listed>, StoreError> {
        self.fault().map_or_else(|| self.objects.list(folder), |_| Err(failed(folder)))
    }

    fn remove(&self, key: &str) -> Result<(), StoreError> {
        match self.fault() {
            None => self.objects.remove(key),
            Some(StoreFault::After) => self.objects.remove(key).and(Err(failed(key))),
            Some(_) => Err(failed(key)),
        }
    }

    fn locate(&self, key: &str) -> String {
        self.objects.locate(key)
    }
}
