//! Reading a log on a thread of its own, ahead of what is done with it.

use recrawl_repository::{LogChunk, ReadError, VisitReader};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Chunks of the log in memory: one is read, one is worked on, two wait.
const CHUNKS: usize = 4;

/// Calls `work` with all of the log, chunk by chunk, in order. Ends with the first error of either.
pub(crate) fn read_ahead<E: From<ReadError>>(
    log: VisitReader,
    mut work: impl FnMut(&mut LogChunk) -> Result<(), E>,
) -> Result<(), E> {
    let (full, filled) = sync_channel(CHUNKS);
    let (empty, emptied) = sync_channel(CHUNKS);
    for _ in 0..CHUNKS {
        empty.send(LogChunk::default()).expect("the channel has room for all chunks");
    }
    // What is captured is dropped before the thread is waited for, so that it never waits in vain.
    thread::scope(move |scope| {
        scope.spawn(move || read(log, emptied, full));
        for chunk in filled {
            let mut chunk = chunk?;
            work(&mut chunk)?;
            // After the log's last chunk nobody waits for an empty one.
            let _ = empty.send(chunk);
        }
        Ok(())
    })
}

/// Fills chunk after chunk, to the log's end or until nobody wants more.
fn read(mut log: VisitReader, empty: Receiver<LogChunk>, full: SyncSender<Result<LogChunk, ReadError>>) {
    for mut chunk in empty {
        let filled = match log.next_chunk(&mut chunk) {
            Ok(false) => return,
            Ok(true) => Ok(chunk),
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
    use crate::BatchError;
    use recrawl_repository::VisitLog;
    use recrawl_repository::storage::MemoryStorage;
    use recrawl_types::{Cycle, Link, LogRecord, UrlRules};

    const CYCLE: Cycle = Cycle(3);

    /// A log of more chunks than there are at a time.
    fn log(storage: &MemoryStorage) -> VisitReader {
        let url =
            UrlRules::keep_all().canonicalize(&format!("http://a.example/{}", "x".repeat(1500))).unwrap();
        let (mut log, _) = VisitLog::open(storage, CYCLE).unwrap();
        for depth in 0..15 {
            log.append(&LogRecord::Seeds(vec![Link::to(url.clone(), depth); 600])).unwrap();
        }
        VisitLog::read(storage, CYCLE).unwrap()
    }

    #[test]
    fn all_chunks_come_in_the_order_of_the_log() {
        let (mut depths, mut chunks) = (Vec::new(), 0);
        let done: Result<(), BatchError> = read_ahead(log(&MemoryStorage::default()), |chunk| {
            chunks += 1;
            depths.extend(chunk.drain().flat_map(|(_, links)| links.map(|link| link.depth)));
            Ok(())
        });
        assert!(done.is_ok() && chunks > CHUNKS, "{chunks}");
        assert_eq!(depths, (0..15).flat_map(|depth| [depth; 600]).collect::<Vec<_>>());
    }

    #[test]
    fn an_error_on_either_side_ends_it() {
        let mut chunks = 0;
        let failed = read_ahead(log(&MemoryStorage::default()), |_| {
            chunks += 1;
            Err(BatchError::MalformedWaiting { what: "the test says so" })
        });
        assert!(failed.is_err() && chunks == 1);

        let storage = MemoryStorage::default();
        drop(log(&storage));
        let mut files = storage.image();
        files.values_mut().for_each(|bytes| *bytes.last_mut().unwrap() ^= 1);
        let damaged = VisitLog::read(&MemoryStorage::with_files(files), CYCLE).unwrap();
        let mut links = 0;
        let failed: Result<(), BatchError> = read_ahead(damaged, |chunk| {
            links += chunk.drain().map(|(_, links)| links.len()).sum::<usize>();
            Ok(())
        });
        assert!(matches!(failed, Err(BatchError::Read(_))));
        assert!(links > 0, "what stands before the damage is worked on");
    }
}
