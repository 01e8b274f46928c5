//! Objects of lines that are a target: each request makes one, whose number follows those before.

use super::lines_file::ReplayedLines;
use recrawl_delivery::verify::ListedDocument;
use recrawl_vault::Store;
use recrawl_vault::store::{self, StoreError};
use std::sync::{Arc, Mutex, PoisonError};

/// Objects below a prefix. Several processes may write there, as the partitions of a fleet do.
pub struct LinesObjects {
    store: Arc<dyn Store>,
    /// The number that is tried next; 0 if it is not known.
    next: Mutex<u64>,
}

impl LinesObjects {
    /// # Errors
    /// Why this is no address, or which credentials are missing.
    pub fn open(address: &str) -> Result<LinesObjects, String> {
        let store = store::open(address).map_err(|e| e.to_string())?;
        Ok(LinesObjects { store, next: Mutex::new(0) })
    }

    /// Creates the next object. A number that is taken has lines of another process, or of a request whose answer never
    /// came: its lines come twice then, with the same versions.
    ///
    /// # Errors
    /// When nobody knows whether it is there.
    pub fn append(&self, lines: &[u8]) -> Result<(), StoreError> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        if *next == 0 {
            *next = self.keys()?.last().map_or(1, |(number, _)| number + 1);
        }
        loop {
            match self.store.create(&key(*next), lines) {
                Err(StoreError::Exists(_)) => *next += 1,
                Ok(()) => {
                    *next += 1;
                    return Ok(());
                }
                failed => return failed,
            }
        }
    }

    /// Leaves only the lines that are kept. An object without lines stays: a reader that counts on finds no number twice.
    /// Looks again until nothing is found, as another process may have put back what it had read before.
    ///
    /// # Errors
    /// When one cannot be read or replaced, or the program ends.
    pub fn rewrite(
        &self,
        is_kept: &dyn Fn(&[u8]) -> bool,
        is_ended: &dyn Fn() -> bool,
    ) -> Result<(), StoreError> {
        loop {
            let mut is_changed = false;
            for (number, bytes) in self.keys()? {
                if is_ended() {
                    return Err(StoreError::Failed("the program ends".into()));
                }
                let lines = self.store.read(&key(number), bytes)?;
                let kept: Vec<&[u8]> =
                    lines.split_inclusive(|byte| *byte == b'\n').filter(|line| is_kept(line)).collect();
                let kept = kept.concat();
                if kept.len() < lines.len() {
                    self.store.replace(&key(number), &kept)?;
                    is_changed = true;
                }
            }
            if !is_changed {
                return Ok(());
            }
        }
    }

    /// The documents that a reader of all lines has at the end.
    ///
    /// # Errors
    /// When an object cannot be read.
    pub fn list(&self) -> Result<Vec<ListedDocument>, StoreError> {
        let mut documents = ReplayedLines::default();
        for (number, bytes) in self.keys()? {
            let lines = self.store.read(&key(number), bytes)?;
            lines.split_inclusive(|byte| *byte == b'\n').for_each(|line| documents.read(line));
        }
        Ok(documents.0.into_values().collect())
    }

    /// Writes an object and removes it.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn probe(&self) -> Result<(), StoreError> {
        self.store.replace(PROBE, b"")?;
        self.store.remove(PROBE)
    }

    /// Numbers and lengths of all objects, in order; what has another name is not ours.
    fn keys(&self) -> Result<Vec<(u64, u64)>, StoreError> {
        let number =
            |name: &str| name.strip_suffix(SUFFIX)?.parse().ok().filter(|number| key(*number) == name);
        let listed = self.store.list("")?;
        let mut keys: Vec<_> =
            listed.iter().filter_map(|object| Some((number(&object.key)?, object.bytes))).collect();
        keys.sort_unstable();
        Ok(keys)
    }
}

const SUFFIX: &str = ".jsonl";
/// What [`LinesObjects::probe`] writes.
const PROBE: &str = "probe";

/// Numbers of one length, so that a list by name is in their order.
fn key(number: u64) -> String {
    format!("{number:012}{SUFFIX}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_vault::store::MemoryStore;

    fn objects(store: &Arc<MemoryStore>) -> LinesObjects {
        LinesObjects { store: store.clone(), next: Mutex::new(0) }
    }

    fn put(id: &str, version: u64) -> Vec<u8> {
        format!("{{\"op\":\"put\",\"id\":\"{id}\",\"version\":{version},\"url\":\"http://a.test/{id}\"}}\n")
            .into()
    }

    #[test]
    fn two_writers_take_turns_and_a_reader_has_the_last_of_each() {
        let store = Arc::new(MemoryStore::new());
        let (one, other) = (objects(&store), objects(&store));
        one.append(&[put("a", 1), put("b", 1)].concat()).unwrap();
        other.append(&put("a", 2)).unwrap();
        other.append(b"{\"op\":\"delete\",\"id\":\"b\",\"version\":3}\n").unwrap();
        one.append(&put("c", 4)).unwrap();
        assert_eq!(store.image().into_keys().next_back().unwrap(), "000000000004.jsonl");
        let found: Vec<_> = one.list().unwrap().into_iter().map(|found| (found.id, found.version)).collect();
        assert_eq!(found, [("a".to_owned(), 2), ("c".to_owned(), 4)]);
        one.probe().unwrap();
        assert_eq!(store.image().len(), 4);
    }

    #[test]
    fn lines_that_are_not_kept_are_in_no_object_and_no_number_comes_twice() {
        let store = Arc::new(MemoryStore::new());
        store.create("of-somebody-else", b"a\n").unwrap();
        let lines = objects(&store);
        lines.append(b"a\nb\n").unwrap();
        lines.append(b"a\n").unwrap();
        lines.rewrite(&|line| line != b"a\n", &|| true).unwrap_err();
        lines.rewrite(&|line| line != b"a\n", &|| false).unwrap();
        objects(&store).append(b"c\n").unwrap();
        let image: Vec<Vec<u8>> = store.image().into_values().collect();
        assert_eq!(image, [&b"b\n"[..], b"", b"c\n", b"a\n"]);
    }
}
