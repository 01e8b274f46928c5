//! A folder that changes, a store that fails, and processes that die: what a restore finds.

mod lives;
mod uploads;

use crate::contents::VaultContents;
use crate::object::{framed, unframed};
use crate::restore::restore;
use crate::store::{FolderStore, MemoryStore, Store, StoreError};
use crate::vault::{CaptureExtent, CapturedFile, FolderCapture, Founded, Inherited, Vault, found};
use crate::{Uploads, VaultError, contents, verify};
use recrawl_repository::storage::{MemoryStorage, ReadFile, Storage};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A file of a test: its identity, and its bytes.
pub(crate) type FolderImage = BTreeMap<String, (String, Vec<u8>)>;

struct MemoryFile(Vec<u8>);

impl ReadFile for MemoryFile {
    fn length(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let end = offset as usize + buffer.len();
        let found = self.0.get(offset as usize..end).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(found);
        Ok(())
    }

    fn identity(&self) -> io::Result<String> {
        Ok(String::new())
    }
}

/// Files whose names begin with `w` are lasting.
pub(crate) fn capture(folder: &FolderImage, extent: CaptureExtent) -> FolderCapture {
    let file = |(name, (identity, bytes)): (&String, &(String, Vec<u8>))| CapturedFile {
        name: name.clone(),
        identity: identity.clone(),
        length: bytes.len() as u64,
        is_lasting: name.starts_with('w'),
        counts: true,
        source: Some(Arc::new(MemoryFile(bytes.clone()))),
    };
    FolderCapture { files: folder.iter().map(file).collect(), extent }
}

pub(crate) fn folder(files: &[(&str, &[u8])]) -> FolderImage {
    files.iter().map(|(name, bytes)| ((*name).to_owned(), ("1".to_owned(), bytes.to_vec()))).collect()
}

/// The files that a restore writes.
fn restored(store: &dyn Store, contents: &VaultContents) -> Result<BTreeMap<String, Vec<u8>>, VaultError> {
    let disk = MemoryStorage::new();
    restore(store, contents, "last", &|name| disk.create(name), &|| Ok(()))?;
    Ok(disk.image())
}

fn bytes_of(folder: &FolderImage) -> BTreeMap<String, Vec<u8>> {
    folder.iter().map(|(name, (_, bytes))| (name.clone(), bytes.clone())).collect()
}

fn fresh() -> Founded {
    Founded { id: "crawl".into(), epoch: 0, nonce: String::new() }
}

fn begin(store: &Arc<MemoryStore>, nonce: &str, identities: &BTreeMap<String, String>) -> Vault {
    let before = Inherited { identities: identities.clone(), uploads: Uploads::default() };
    let founded = found(&**store).unwrap().unwrap_or_else(fresh);
    Vault::begin(store.clone(), &founded, nonce, 1, &before).unwrap()
}

/// The writer of the next epoch of a store.
pub(crate) fn begin_in(store: Arc<dyn Store>, nonce: &str) -> Vault {
    let founded = found(&*store).unwrap().unwrap_or_else(fresh);
    Vault::begin(store, &founded, nonce, 1, &Inherited::default()).unwrap()
}

fn in_vault(store: &Arc<MemoryStore>) -> BTreeMap<String, Vec<u8>> {
    restored(&**store, &contents(&**store).unwrap().expect("something was shipped")).unwrap()
}

#[test]
fn each_flipped_bit_of_a_step_is_noticed_and_so_is_another_key() {
    let object = framed("a", &7, b"bytes");
    assert_eq!(unframed::<i32>("a", &object), Ok(7));
    assert!(unframed::<i32>("b", &object).is_err());
    for bit in 0..object.len() * 8 {
        let mut flipped = object.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(unframed::<i32>("a", &flipped).is_err(), "bit {bit}");
    }
    (0..object.len()).for_each(|length| assert!(unframed::<i32>("a", &object[..length]).is_err()));
}

#[test]
fn a_folder_comes_back_as_it_was_at_each_step() {
    let store = Arc::new(MemoryStore::new());
    let mut vault = begin(&store, "a", &BTreeMap::new());
    let mut files = folder(&[("last", b"generation 1"), ("warc", b"body"), ("log", b"visit ")]);
    vault.ship(&capture(&files, CaptureExtent::Changes), 1).unwrap();
    assert_eq!(in_vault(&store), bytes_of(&files));
    files.get_mut("log").unwrap().1.extend_from_slice(&[b'v'; 100_000]);
    files.get_mut("warc").unwrap().1.extend_from_slice(b" and body");
    vault.ship(&capture(&files, CaptureExtent::Changes), 2).unwrap();
    assert_eq!(in_vault(&store), bytes_of(&files));
    // Cut, and written on.
    files.get_mut("log").unwrap().1.truncate(50_000);
    files.get_mut("log").unwrap().1.extend_from_slice(b"other");
    files.remove("warc");
    files.insert("last".into(), ("2".into(), b"generation 2".to_vec()));
    vault.ship(&capture(&files, CaptureExtent::Changes), 3).unwrap();
    assert_eq!(in_vault(&store), bytes_of(&files));
    vault.ship(&capture(&files, CaptureExtent::Commit), 4).unwrap();
    assert_eq!(in_vault(&store), bytes_of(&files));
    let nothing = vault.ship(&capture(&files, CaptureExtent::Changes), 5).unwrap();
    assert_eq!((nothing.bytes, nothing.is_manifest), (0, false), "nothing has changed");
    assert_eq!(contents(&*store).unwrap().unwrap().at, 4);
}

#[test]
fn the_next_process_ships_only_what_differs_also_if_it_knows_no_identities() {
    for knows in [true, false] {
        let store = Arc::new(MemoryStore::new());
        let mut vault = begin(&store, "a", &BTreeMap::new());
        let mut files = folder(&[("warc-1", &[7; 100_000]), ("warc-2", b"short")]);
        vault.ship(&capture(&files, CaptureExtent::Commit), 1).unwrap();
        let identities = if knows { vault.identities() } else { BTreeMap::new() };
        let mut vault = begin(&store, "b", &identities);
        files.get_mut("warc-2").unwrap().1.extend_from_slice(b"er");
        assert_eq!(vault.ship(&capture(&files, CaptureExtent::Commit), 2).unwrap().bytes, 2);
        assert_eq!(in_vault(&store), bytes_of(&files));
    }
}

#[test]
fn a_long_file_has_lists_and_comes_back() {
    let store = Arc::new(MemoryStore::new());
    let mut vault = begin(&store, "a", &BTreeMap::new());
    let mut files = folder(&[("warc", b""), ("other", b"o")]);
    for n in 0..300_u32 {
        files.get_mut("warc").unwrap().1.extend_from_slice(&n.to_le_bytes());
        let extent = if n % 100 == 99 { CaptureExtent::Commit } else { CaptureExtent::Changes };
        vault.ship(&capture(&files, extent), 1).unwrap();
    }
    vault.ship(&capture(&files, CaptureExtent::Commit), 1).unwrap();
    let found = contents(&*store).unwrap().unwrap();
    let manifest = store.image()[&found.manifest.to_string()].len();
    assert!(manifest < 2_000, "{manifest} bytes, and not a line for each of 300 pieces");
    assert_eq!(in_vault(&store), bytes_of(&files));
    assert_eq!(verify(&*store).unwrap().unwrap().damage, []);
    // A cut within a list.
    files.get_mut("warc").unwrap().1.truncate(401);
    vault.ship(&capture(&files, CaptureExtent::Changes), 1).unwrap();
    assert_eq!(in_vault(&store), bytes_of(&files));
    vault.ship(&capture(&files, CaptureExtent::Commit), 1).unwrap();
    store.set_time(1);
    vault.sweep(u64::MAX).unwrap();
    assert_eq!(in_vault(&store), bytes_of(&files));
}

#[test]
fn damage_is_told_by_object_and_offset() {
    let store = Arc::new(MemoryStore::new());
    let mut vault = begin(&store, "a", &BTreeMap::new());
    let files = folder(&[("warc", &[7; 1000]), ("small", b"s"), ("last", b"m")]);
    vault.ship(&capture(&files, CaptureExtent::Commit), 1).unwrap();
    let whole = store.image();
    for (key, bytes) in &whole {
        store.damage(key, |bytes| bytes[0] ^= 1);
        let found = verify(&*store).unwrap().unwrap().damage;
        assert_eq!(found.len(), 1, "{key}");
        assert_eq!((&*found[0].object, found[0].offset), (&*format!("memory:{key}"), 0), "{found:?}");
        store.damage(key, |bytes| bytes[0] ^= 1);
        store.remove(key).unwrap();
        let missing = verify(&*store).unwrap();
        assert!(
            missing.is_none_or(|verified| verified.damage.iter().any(|d| d.what.contains("missing"))),
            "{key}"
        );
        store.create(key, bytes).unwrap();
    }
    assert_eq!(verify(&*store).unwrap().unwrap().damage, []);
}

#[test]
fn a_process_that_slept_learns_that_the_vault_was_taken() {
    let store = Arc::new(MemoryStore::new());
    let mut asleep = begin(&store, "a", &BTreeMap::new());
    let mut files = folder(&[("log", b"1")]);
    asleep.ship(&capture(&files, CaptureExtent::Commit), 1).unwrap();
    let founded = found(&*store).unwrap().unwrap();
    let mut awake = begin(&store, "b", &BTreeMap::new());
    files.get_mut("log").unwrap().1.push(b'2');
    awake.ship(&capture(&files, CaptureExtent::Commit), 2).unwrap();
    let error = asleep.ship(&capture(&folder(&[]), CaptureExtent::Commit), 3).unwrap_err();
    assert!(matches!(&error, VaultError::Lost { object } if object.ends_with("epoch/0000000002")), "{error}");
    assert_eq!(in_vault(&store), bytes_of(&files));
    let late = Vault::begin(store.clone(), &founded, "c", 4, &Inherited::default());
    assert!(matches!(late, Err(VaultError::Lost { .. })), "an epoch is taken once");
}

/// A store that lets each writer create an object, and one that forgets the condition now and then.
#[derive(Debug)]
struct Overwriting(MemoryStore, usize, AtomicUsize);

impl Store for Overwriting {
    fn create(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        match self.0.create(key, bytes) {
            Err(StoreError::Exists(_)) if self.2.fetch_add(1, Ordering::Relaxed).is_multiple_of(self.1) => {
                self.0.remove(key).and_then(|()| self.0.create(key, bytes)).or(Ok(()))
            }
            created => created,
        }
    }
    fn read(&self, key: &str, most: u64) -> Result<Vec<u8>, StoreError> {
        self.0.read(key, most)
    }
    fn replace(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.0.replace(key, bytes)
    }
    fn list(&self, folder: &str) -> Result<Vec<crate::store::Listed>, StoreError> {
        self.0.list(folder)
    }
    fn remove(&self, key: &str) -> Result<(), StoreError> {
        self.0.remove(key)
    }
    fn locate(&self, key: &str) -> String {
        self.0.locate(key)
    }
}

#[test]
fn a_store_must_have_one_winner_among_32_and_is_left_as_it_was() {
    let disk = tempfile::tempdir().unwrap();
    let stores: [Box<dyn Store>; 2] =
        [Box::new(MemoryStore::new()), Box::new(FolderStore::open(disk.path()).unwrap())];
    for store in stores {
        for race in 0..20 {
            Vault::try_store(&*store, &race.to_string()).unwrap();
        }
        assert_eq!(store.list("").unwrap(), []);
    }
    for one_in in [1, 7, 31] {
        let store = Overwriting(MemoryStore::new(), one_in, AtomicUsize::new(0));
        let error = Vault::try_store(&store, "race").unwrap_err();
        assert!(matches!(error, VaultError::Unfit { racers: 32, .. }), "{error}");
        assert!(error.to_string().contains("cannot hold a vault"), "{error}");
    }
}

#[test]
fn a_folder_keeps_objects_and_creates_each_once() {
    let disk = tempfile::tempdir().unwrap();
    let store = FolderStore::open(disk.path()).unwrap();
    let unmounted = store.create("0000000001/data/0000000000", b"one").unwrap_err();
    assert!(
        matches!(&unmounted, StoreError::Failed(why) if why.contains("is its disk mounted?")),
        "{unmounted}"
    );
    assert_eq!(store.list("").unwrap(), []);
    store.create("vault", b"id").unwrap();
    store.create("0000000001/data/0000000000", b"one").unwrap();
    let again = store.create("0000000001/data/0000000000", b"two").unwrap_err();
    assert!(matches!(again, StoreError::Exists(_)));
    assert_eq!(store.read("0000000001/data/0000000000", 3).unwrap(), b"one");
    let long = store.read("0000000001/data/0000000000", 2).unwrap_err();
    assert!(matches!(long, StoreError::TooLong { bytes: 3, .. }), "{long}");
    let listed = store.list("0000000001/").unwrap();
    assert_eq!((listed.len(), &*listed[0].key, listed[0].bytes), (1, "0000000001/data/0000000000", 3));
    assert!(listed[0].created > 0);
    assert_eq!(store.list("0000000002/").unwrap(), []);
    store.remove("0000000001/data/0000000000").unwrap();
    store.remove("0000000001/data/0000000000").unwrap();
    assert!(matches!(store.read("0000000001/data/0000000000", 3), Err(StoreError::Absent(_))));
    assert!(!disk.path().join("0000000001").exists(), "else lists walk folders of what has long gone");
    // What a process that was killed leaves, and what systems and people put there.
    fs::create_dir(disk.path().join("lost+found")).unwrap();
    fs::write(disk.path().join("lost+found").join("0000000001"), "x").unwrap();
    for name in ["unfinished/17-1-0", ".hidden", "a b"] {
        fs::write(disk.path().join(name), "x").unwrap();
    }
    std::os::unix::fs::symlink(disk.path(), disk.path().join("loop")).unwrap();
    let keys: Vec<String> = store.list("").unwrap().into_iter().map(|object| object.key).collect();
    assert_eq!(keys, ["unfinished/17-1-0", "vault"], "a sweep removes the first");
    let missing = FolderStore::open(&disk.path().join("none")).unwrap_err().to_string();
    assert!(missing.contains("no such folder; create it, or mount its disk"), "{missing}");
}

/// The last object of a folder takes that along, while others put theirs there.
#[test]
fn a_folder_that_goes_is_made_again() {
    let disk = tempfile::tempdir().unwrap();
    let store = FolderStore::open(disk.path()).unwrap();
    let store = &store;
    std::thread::scope(|scope| {
        for name in ["a", "b", "c"] {
            scope.spawn(move || {
                let (created, replaced) = (format!("plan/step/{name}"), format!("plan/call/{name}"));
                for _ in 0..300 {
                    store.create(&created, b"told").unwrap();
                    store.replace(&replaced, b"called").unwrap();
                    assert_eq!(store.read(&created, 9).unwrap(), b"told");
                    [&created, &replaced].into_iter().for_each(|key| store.remove(key).unwrap());
                }
            });
        }
    });
    assert_eq!(store.list("").unwrap(), []);
    assert!(!disk.path().join("plan").exists());
}

#[test]
fn an_address_is_checked_before_anything_is_asked() {
    for (address, why) in [
        ("", "is no address of a vault"),
        ("bucket", "is no address of a vault"),
        ("http://a.test/b", "http:// is not supported"),
        ("file://data/vault", "three slashes"),
        ("file:///", "three slashes"),
        ("s3://bucket/a?b=c", "a query or a fragment"),
        ("s3:///prefix", "it names no bucket"),
        ("s3://key:secret@bucket/prefix", "credentials come from the environment"),
        ("s3://bucket/crawl~1", "signs that stores write differently"),
        ("s3://bucket/a//b", "signs that stores write differently"),
        ("file:///no/such/folder", "no such folder"),
    ] {
        let error = crate::store::open(address).unwrap_err();
        assert!(
            matches!(error, VaultError::Refused(_)) && error.to_string().contains(why),
            "{address}: {error}"
        );
    }
}

#[test]
fn a_sweep_keeps_the_newest_manifest_and_the_newest_numbers_and_a_purge_too() {
    let store = Arc::new(MemoryStore::new());
    let mut vault = begin(&store, "a", &BTreeMap::new());
    let mut files = folder(&[("last", b"1"), ("warc", b"SECRET body")]);
    let ship = |vault: &mut Vault, files: &mut FolderImage, text: &str, extent| {
        files.insert("last".into(), (text.into(), format!("SECRET {text}").into_bytes()));
        files.get_mut("warc").unwrap().1.extend_from_slice(text.as_bytes());
        vault.ship(&capture(files, extent), 1).unwrap();
    };
    for n in 0..4 {
        store.set_time(n);
        ship(&mut vault, &mut files, &format!("log {n}"), CaptureExtent::Changes);
        ship(&mut vault, &mut files, &format!("commit {n}"), CaptureExtent::Commit);
    }
    let before = store.image().len();
    assert_eq!(vault.sweep(1000).unwrap().objects, 0, "they are not a day old");
    store.create("race/1", b"").unwrap();
    store.create("unfinished/1", b"SECRET").unwrap();
    let swept = vault.sweep(u64::MAX).unwrap();
    assert!(swept.objects > 2 && store.image().len() + swept.objects as usize == before + 2);
    assert_eq!(in_vault(&store), bytes_of(&files));
    let keys: Vec<String> = store.image().into_keys().filter(|key| key.contains("/manifest/")).collect();
    assert_eq!(keys, ["0000000001/manifest/0000000007"]);
    assert!(!store.image().contains_key("race/1") && !store.image().contains_key("unfinished/1"));
    store.create("unfinished/2", b"SECRET").unwrap();
    // The secret is taken down by a later process; what is lasting is written anew.
    let mut later = begin(&store, "b", &vault.identities());
    let clean = folder(&[("last", b"clean"), ("log", b"clean")]);
    let clean: FolderImage = clean.into_iter().map(|(n, (_, b))| (n, ("new".to_owned(), b))).collect();
    assert_eq!(later.purge().unwrap().objects, 0, "not before there is a manifest of its own");
    later.ship(&capture(&clean, CaptureExtent::Commit), 2).unwrap();
    later.purge().unwrap();
    assert_eq!(in_vault(&store), bytes_of(&clean));
    for (key, bytes) in store.image() {
        assert!(!bytes.windows(6).any(|part| part == b"SECRET"), "{key}");
    }
    assert!(store.image().contains_key("epoch/0000000001"), "an epoch is never taken again");
}

/// A restore that began when the old manifest was the newest has a day, however old its objects are.
#[test]
fn an_object_stays_for_a_day_after_it_was_named_last() {
    const DAY: u64 = 24 * 60 * 60 * 1000;
    let store = Arc::new(MemoryStore::new());
    let mut vault = begin(&store, "a", &BTreeMap::new());
    let old = folder(&[("last", b"old"), ("warc", &[1; 100_000])]);
    vault.ship(&capture(&old, CaptureExtent::Commit), 1).unwrap();
    let reading = contents(&*store).unwrap().unwrap();
    store.set_time(10 * DAY);
    let mut new = folder(&[("last", b"new"), ("warc", &[2; 100_000])]);
    for n in 0..3 {
        new.iter_mut().for_each(|(_, (identity, _))| *identity = format!("new {n}"));
        vault.ship(&capture(&new, CaptureExtent::Commit), 1).unwrap();
    }
    vault.sweep(10 * DAY + 1000).unwrap();
    assert_eq!(restored(&*store, &reading).unwrap(), bytes_of(&old));
    vault.sweep(11 * DAY - 1).unwrap();
    assert_eq!(restored(&*store, &reading).unwrap(), bytes_of(&old));
    assert!(vault.sweep(11 * DAY).unwrap().objects > 0);
    assert!(restored(&*store, &reading).is_err());
    assert_eq!(in_vault(&store), bytes_of(&new));
}

/// Whoever can write to the bucket can make steps with right digests.
#[test]
fn objects_that_no_vault_writes_take_no_memory_and_are_told_by_name() {
    let piece = |at: u64, length: u64| {
        let digest = String::from(crate::object::Digest::of_bytes(if length == 2 { b"[]" } else { b"" }));
        serde_json::json!({"object": "0000000001/data/0000000000", "at": at, "length": length, "digest": digest})
    };
    let list = |covers: u64| serde_json::json!({"list": piece(0, 2), "covers": covers});
    let key = "0000000001/manifest/0000000000";
    let unlikely = "which no object of its kind has";
    for (change, what) in [
        (serde_json::json!({"pieces": [piece(0, u64::MAX), piece(0, u64::MAX)]}), unlikely),
        (serde_json::json!({"pieces": [piece(u64::MAX, 1)]}), unlikely),
        (serde_json::json!({"pieces": [piece(0, (8 << 20) + 1)]}), unlikely),
        (serde_json::json!({"lists": [list(u64::MAX), list(u64::MAX)]}), "a list has pieces of other than"),
        (serde_json::json!({"kept": u64::MAX}), "a file that has no such part"),
    ] {
        let store = Arc::new(MemoryStore::new());
        begin(&store, "a", &BTreeMap::new());
        let step = serde_json::json!({"nonce": "a", "at": 1, "files": {"log": change}});
        store.create(key, &framed(key, &step, b"")).unwrap();
        store.create("0000000001/data/0000000000", b"[]").unwrap();
        let damage = verify(&*store).unwrap().unwrap().damage;
        assert!(damage.len() == 1 && damage[0].what.contains(what), "{change}: {damage:?}");
        assert!(damage[0].object.starts_with("memory:0000000001/"), "{damage:?}");
    }
    // An object that has become endless.
    let store = Arc::new(MemoryStore::new());
    let mut vault = begin(&store, "a", &BTreeMap::new());
    vault.ship(&capture(&folder(&[("warc", &[7; 1000])]), CaptureExtent::Commit), 1).unwrap();
    store.damage("0000000001/data/0000000000", |bytes| bytes.resize((8 << 20) + 1, 0));
    let damage = verify(&*store).unwrap().unwrap().damage;
    assert!(damage[0].what.contains("8388609 bytes, more than any object of its kind"), "{damage:?}");
}

/// A store that lists a manifest that it does not have.
#[derive(Debug)]
struct Lying(MemoryStore);

impl Store for Lying {
    fn create(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.0.create(key, bytes)
    }
    fn read(&self, key: &str, most: u64) -> Result<Vec<u8>, StoreError> {
        match key.contains("/manifest/") {
            true => Err(StoreError::Absent(key.to_owned())),
            false => self.0.read(key, most),
        }
    }
    fn replace(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.0.replace(key, bytes)
    }
    fn list(&self, folder: &str) -> Result<Vec<crate::store::Listed>, StoreError> {
        self.0.list(folder)
    }
    fn remove(&self, key: &str) -> Result<(), StoreError> {
        self.0.remove(key)
    }
    fn locate(&self, key: &str) -> String {
        self.0.locate(key)
    }
}

#[test]
fn a_store_that_lists_what_it_does_not_have_is_told_of() {
    let store = Arc::new(Lying(MemoryStore::new()));
    begin_in(store.clone(), "a");
    store.create("0000000001/manifest/0000000000", b"").unwrap();
    let error = contents(&*store).unwrap_err();
    assert!(error.to_string().contains("0000000001/manifest/: the store does not list"), "{error}");
}
