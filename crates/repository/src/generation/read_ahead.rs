//! Reading on threads of its own, ahead of what is done with it.

use crate::file::error::ReadError;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Items in memory for each thread: one is read, one is worked on, two wait.
pub(crate) const AHEAD: usize = 4;

/// Calls `work` with each item that `fills` make, each on a thread of its own, in turns: the first of the first, the first
/// of the second, and so on, up to the first false or the first error of either side. Items are used again and again.
pub(crate) fn read_ahead<T: Default + Send, E: From<ReadError>>(
    fills: Vec<impl FnMut(&mut T) -> Result<bool, ReadError> + Send>,
    mut work: impl FnMut(&mut T) -> Result<(), E>,
) -> Result<(), E> {
    thread::scope(|scope| {
        // They are dropped before the threads are waited for, so that none waits in vain.
        let mut lanes = Vec::with_capacity(fills.len());
        for fill in fills {
            let (full, filled) = sync_channel(AHEAD);
            let (empty, emptied) = sync_channel(AHEAD);
            for _ in 0..AHEAD {
                empty.send(T::default()).expect("the channel has room for all items");
            }
            scope.spawn(move || read(fill, emptied, full));
            lanes.push((filled, empty));
        }
        for (filled, empty) in lanes.iter().cycle() {
            // Where one has no more, none has.
            let Ok(item) = filled.recv() else { break };
            let mut item: T = item?;
            work(&mut item)?;
            // After the last item nobody waits for an empty one.
            let _ = empty.send(item);
        }
        Ok(())
    })
}

/// Fills item after item, to the end or until nobody wants more.
fn read<T>(
    mut fill: impl FnMut(&mut T) -> Result<bool, ReadError>,
    empty: Receiver<T>,
    full: SyncSender<Result<T, ReadError>>,
) {
    for mut item in empty {
        let filled = match fill(&mut item) {
            Ok(false) => return,
            Ok(true) => Ok(item),
            Err(e) => Err(e),
        };
        let is_end = filled.is_err();
        if full.send(filled).is_err() || is_end {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
