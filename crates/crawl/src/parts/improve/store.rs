//! The stored state of the loop, which the crawl thread and operators change, one at a time.

use crate::failure::Failure;
use crate::parts::improve::steps::LoopState;
use recrawl_repository::SledTables;
use std::sync::{Arc, Mutex};

/// The state in the tables of a crawl.
pub struct LoopStore {
    tables: Arc<SledTables>,
    turn: Mutex<()>,
}

impl LoopStore {
    /// The store in these tables. There must be one only.
    pub fn new(tables: Arc<SledTables>) -> LoopStore {
        LoopStore { tables, turn: Mutex::default() }
    }

    /// The state.
    ///
    /// # Errors
    /// When the tables cannot be read.
    pub fn read(&self) -> Result<LoopState, Failure> {
        LoopState::read(&self.tables)
    }

    /// Changes the state, and keeps it durably.
    ///
    /// # Errors
    /// When the tables cannot be read or written.
    pub fn change<T>(&self, change: impl FnOnce(&mut LoopState) -> T) -> Result<T, Failure> {
        let _turn = self.turn.lock().expect("no panic under the lock");
        let mut state = self.read()?;
        let done = change(&mut state);
        state.keep(&self.tables)?;
        self.tables.flush()?;
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_at_once_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let store = LoopStore::new(Arc::new(SledTables::open(folder.path()).unwrap()));
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    for _ in 0..25 {
                        store.change(|state| state.tries += 1).unwrap();
                    }
                });
            }
        });
        assert_eq!(store.read().unwrap().tries, 100);
    }
}
