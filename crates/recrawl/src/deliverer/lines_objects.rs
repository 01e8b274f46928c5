//! Objects of lines that are a target: each request makes one, whose number follows those before.

use super::lines_file::ReplayedLines;
use recrawl_vault::Store;
use recrawl_vault::store::{self, StoreError};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

/// Objects below a prefix. Several processes may write there, as the partitions of a fleet do: each creates new objects, and
/// takes lines out of those that others made.
pub struct LinesObjects {
    store: Arc<dyn Store>,
    /// The number that is tried next; 0 if it is not known. Locked while an object is written: a request that was given up
    /// may go on, and a takedown must find its object.
    next: Mutex<u64>,
}

/// By address, those of this process.
static OPENED: Mutex<BTreeMap<String, Arc<LinesObjects>>> = Mutex::new(BTreeMap::new());

impl LinesObjects {
    /// # Errors
    /// Why this is no address, or which credentials are missing.
    pub fn open(address: &str) -> Result<Arc<LinesObjects>, String> {
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(objects) = opened.get(address) {
            return Ok(objects.clone());
        }
        let store = store::open(address).map_err(|e| e.to_string())?;
        let objects = Arc::new(LinesObjects { store, next: Mutex::new(0) });
        opened.insert(address.to_owned(), objects.clone());
        Ok(objects)
    }

    /// Creates the next object, unless it is given up before. A number that is taken has lines of another process, or of a
    /// request whose answer never came: its lines come twice then.
    ///
    /// # Errors
    /// When nobody knows whether it is there.
    pub fn append(&self, lines: &[u8], is_given_up: &AtomicBool) -> Result<(), StoreError> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let last = || Ok(self.numbers()?.last().copied().unwrap_or(0));
        if *next == 0 {
            *next = last()? + 1;
        }
        loop {
            // Pages may have been taken down since.
            if is_given_up.load(Ordering::Relaxed) {
                return Err(StoreError::Failed("nobody waits for this any more".into()));
            }
            match self.store.create(&key(*next), lines) {
                // Others may have made many meanwhile.
                Err(StoreError::Exists(_)) => *next = last()?.max(*next) + 1,
                Ok(()) => {
                    *next += 1;
                    return Ok(());
                }
                failed => return failed,
            }
        }
    }

    /// Leaves only the lines that are kept. An object without lines stays: a reader that counts on finds no number twice.
    /// Objects that are made meanwhile are not looked at.
    ///
    /// # Errors
    /// When one cannot be read or replaced, or the program ends.
    pub fn rewrite(
        &self,
        is_kept: &dyn Fn(&[u8]) -> bool,
        is_ended: &dyn Fn() -> bool,
    ) -> Result<(), StoreError> {
        let check = || if is_ended() { Err(StoreError::Failed("the program ends".into())) } else { Ok(()) };
        let _no_append = loop {
            match self.next.try_lock() {
                Ok(locked) => break locked,
                Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => thread::sleep(LOOK_AGAIN),
            }
            check()?;
        };
        for number in self.numbers()? {
            let mut before = None;
            loop {
                check()?;
                let lines = self.store.read(&key(number), u64::MAX)?;
                let kept = lines.split_inclusive(|byte| *byte == b'\n').filter(|line| is_kept(line));
                let kept = kept.collect::<Vec<_>>().concat();
                if kept.len() == lines.len() {
                    break;
                }
                match self.store.exchange(&key(number), &lines, &kept) {
                    // Another process has taken lines out: it is read again.
                    Err(StoreError::Exists(_)) if before.as_ref() != Some(&lines) => before = Some(lines),
                    Err(StoreError::Exists(object)) => {
                        return Err(StoreError::Failed(format!("{object}: conditional writes are refused")));
                    }
                    Ok(()) => break,
                    failed => return failed,
                }
            }
        }
        Ok(())
    }

    /// The documents that a reader of all lines has at the end.
    ///
    /// # Errors
    /// When an object cannot be read.
    pub fn list(&self) -> Result<ReplayedLines, StoreError> {
        let mut documents = ReplayedLines::default();
        for number in self.numbers()? {
            let lines = self.store.read(&key(number), u64::MAX)?;
            lines.split_inclusive(|byte| *byte == b'\n').for_each(|line| documents.read(line));
        }
        Ok(documents)
    }

    /// Does all that a delivery and a takedown ask for, with an object that it removes. `name`: one that nobody has.
    ///
    /// # Errors
    /// Why the store cannot.
    pub fn probe(&self, name: &str) -> Result<(), StoreError> {
        self.numbers()?;
        self.store.create(name, b"probe")?;
        let again = self.store.create(name, b"probe");
        let exchanged = self.store.exchange(name, b"probe", b"");
        self.store.remove(name)?;
        match again {
            Err(StoreError::Exists(_)) => exchanged,
            Ok(()) => Err(StoreError::Refused(
                "the store creates an object that is there: it cannot be used".into(),
            )),
            failed => failed,
        }
    }

    /// The numbers of all objects, in order; what has another name is not ours.
    fn numbers(&self) -> Result<Vec<u64>, StoreError> {
        let number =
            |name: &str| name.strip_suffix(SUFFIX)?.parse().ok().filter(|number| key(*number) == name);
        let listed = self.store.list("")?;
        let mut numbers: Vec<u64> = listed.iter().filter_map(|object| number(&object.key)).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }
}

/// Between looks whether nothing is written any more.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
const SUFFIX: &str = ".jsonl";

/// Numbers of one length, so that a list by name is in their order.
fn key(number: u64) -> String {
    format!("{number:012}{SUFFIX}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_vault::store::MemoryStore;

    static GOES_ON: AtomicBool = AtomicBool::new(false);

    fn objects(store: &Arc<MemoryStore>) -> LinesObjects {
        LinesObjects { store: store.clone(), next: Mutex::new(0) }
    }

    /// Two partitions of a fleet take down pages at once: neither brings back what the other removed.
    #[test]
    fn of_two_that_take_lines_out_none_undoes_the_other() {
        let store = Arc::new(MemoryStore::new());
        let (one, other) = (objects(&store), objects(&store));
        one.append(b"a\nb\nc\n", &GOES_ON).unwrap();
        let has_met = std::cell::Cell::new(false);
        let is_kept = |line: &[u8]| {
            if !has_met.replace(true) {
                other.rewrite(&|line| line != b"b\n", &|| false).unwrap();
            }
            line != b"a\n"
        };
        one.rewrite(&is_kept, &|| false).unwrap();
        assert_eq!(store.image().into_values().collect::<Vec<_>>(), [b"c\n"]);
    }

    fn put(id: &str, version: u64) -> Vec<u8> {
        format!("{{\"op\":\"put\",\"id\":\"{id}\",\"version\":{version},\"url\":\"http://a.test/{id}\"}}\n")
            .into()
    }

    #[test]
    fn two_writers_take_turns_and_a_reader_has_the_last_of_each() {
        let store = Arc::new(MemoryStore::new());
        let (one, other) = (objects(&store), objects(&store));
        one.append(&[put("a", 1), put("b", 1)].concat(), &GOES_ON).unwrap();
        other.append(&put("a", 2), &GOES_ON).unwrap();
        other.append(b"{\"op\":\"delete\",\"id\":\"b\",\"version\":3}\n", &GOES_ON).unwrap();
        one.append(&put("c", 4), &GOES_ON).unwrap();
        assert_eq!(store.image().into_keys().next_back().unwrap(), "000000000004.jsonl");
        // A request that was given up, and comes after all.
        one.append(&[put("b", 1), put("a", 1)].concat(), &GOES_ON).unwrap();
        let listed = one.list().unwrap();
        let found: Vec<_> = listed.documents().map(|found| (&*found.id, found.version)).collect();
        assert_eq!(found, [("a", 2), ("c", 4)]);
        one.append(&put("a", 9), &AtomicBool::new(true)).unwrap_err();
        one.probe("probe").unwrap();
        assert_eq!(store.image().len(), 5);
    }

    #[test]
    fn lines_that_are_not_kept_are_in_no_object_and_no_number_comes_twice() {
        let store = Arc::new(MemoryStore::new());
        store.create("of-somebody-else", b"a\n").unwrap();
        let lines = objects(&store);
        lines.append(b"a\nb\n", &GOES_ON).unwrap();
        lines.append(b"a\n", &GOES_ON).unwrap();
        lines.rewrite(&|line| line != b"a\n", &|| true).unwrap_err();
        lines.rewrite(&|line| line != b"a\n", &|| false).unwrap();
        objects(&store).append(b"c\n", &GOES_ON).unwrap();
        let image: Vec<Vec<u8>> = store.image().into_values().collect();
        assert_eq!(image, [&b"b\n"[..], b"", b"c\n", b"a\n"]);
    }
}
