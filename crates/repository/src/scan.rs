//! The state of all pages, read and unpacked on a thread of its own ahead of what is done with it.

use crate::error::ReadError;
use crate::generation::Generation;
use recrawl_types::StateColumns;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Blocks in memory: one is unpacked, one is worked on, two wait.
const BLOCKS: usize = 4;

type Filled = Result<(u64, StateColumns), ReadError>;

impl Generation {
    /// Calls `work` with the state of each block and the ordinal of its first page, in order. Ends with the first
    /// error of either.
    ///
    /// # Errors
    /// When a block cannot be read, or what `work` returns.
    pub fn scan<E: From<ReadError>>(
        &self,
        mut work: impl FnMut(u64, &mut StateColumns) -> Result<(), E>,
    ) -> Result<(), E> {
        let (full, filled) = sync_channel(BLOCKS);
        let (empty, emptied) = sync_channel(BLOCKS);
        for _ in 0..BLOCKS {
            empty.send(StateColumns::default()).expect("the channel has room for all blocks");
        }
        // What is captured is dropped before the thread is waited for, so that it never waits in vain.
        thread::scope(move |scope| {
            scope.spawn(move || read(self, emptied, full));
            for block in filled {
                let (first, mut columns) = block?;
                work(first, &mut columns)?;
                // After the last block nobody waits for empty columns.
                let _ = empty.send(columns);
            }
            Ok(())
        })
    }
}

/// Fills columns after columns, to the last block or until nobody wants more.
fn read(generation: &Generation, empty: Receiver<StateColumns>, full: SyncSender<Filled>) {
    let mut states = generation.states();
    for mut columns in empty {
        let filled = match states.next_block() {
            Ok(None) => return,
            Ok(Some((first, block))) => {
                std::mem::swap(block, &mut columns);
                Ok((first, columns))
            }
            Err(e) => Err(e),
        };
        let is_end = filled.is_err();
        if full.send(filled).is_err() || is_end {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Repository;
    use crate::block::BLOCK_PAGES;
    use crate::storage::{MemoryStorage, Storage};
    use crate::testing::canonical;
    use recrawl_types::{Cycle, PageRecord};
    use std::sync::Arc;

    fn of_ten_blocks(storage: Arc<MemoryStorage>) -> Arc<Generation> {
        let mut repository = Repository::open(storage).unwrap();
        let empty = Generation::default();
        let mut writer = repository.begin(&empty).unwrap();
        for i in 0..10 * BLOCK_PAGES {
            let url = canonical(&format!("http://a.example/{i:06}"));
            writer.push(url.key(), &PageRecord::discovered(Cycle(1), (i % 1000) as u16)).unwrap();
        }
        repository.commit(writer, b"").unwrap();
        repository.current()
    }

    #[test]
    fn it_gives_what_the_walk_gives() {
        let generation = of_ten_blocks(Arc::default());
        let mut walk = generation.states();
        let scanned: Result<(), ReadError> = generation.scan(|first, columns| {
            assert_eq!(walk.next_block().unwrap(), Some((first, columns)));
            Ok(())
        });
        scanned.unwrap();
        assert!(walk.next_block().unwrap().is_none());
    }

    #[test]
    fn an_error_on_either_side_ends_it() {
        let storage = Arc::new(MemoryStorage::new());
        let generation = of_ten_blocks(storage.clone());
        let mut blocks = 0;
        let scanned = generation.scan(|_, _| {
            blocks += 1;
            Err(ReadError::damaged("the test", 0, "says so"))
        });
        assert!(scanned.is_err() && blocks == 1);

        let mut image = storage.image();
        let known = image.get_mut("generation-0000000001.known").unwrap();
        let middle = known.len() / 2;
        known[middle] ^= 1;
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::with_files(image));
        let mut blocks = 0;
        let scanned: Result<(), ReadError> =
            Repository::open_read(storage).unwrap().current().scan(|_, _| {
                blocks += 1;
                Ok(())
            });
        assert!(scanned.is_err() && (1..9).contains(&blocks), "{blocks} blocks");
    }
}
