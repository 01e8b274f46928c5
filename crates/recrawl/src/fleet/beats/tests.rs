use super::*;
use recrawl_fleet::{FleetMap, PartitionRange, begin};
use recrawl_vault::StoreError;
use recrawl_vault::store::{Listed, MemoryStore};

/// The thread that beats lists nothing before the crawl has to stop.
#[derive(Debug)]
struct WatchedStore {
    objects: MemoryStore,
    stop: CancellationToken,
    /// By lists of that thread, had the crawl to stop?
    lists: Mutex<Vec<bool>>,
}

impl Store for WatchedStore {
    fn create(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.objects.create(key, bytes)
    }
    fn read(&self, key: &str, most: u64) -> Result<Vec<u8>, StoreError> {
        self.objects.read(key, most)
    }
    fn replace(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.objects.replace(key, bytes)
    }
    fn list(&self, folder: &str) -> Result<Vec<Listed>, StoreError> {
        if thread::current().name() == Some("beats") {
            self.lists.lock().unwrap().push(self.stop.is_cancelled());
        }
        self.objects.list(folder)
    }
    fn remove(&self, key: &str) -> Result<(), StoreError> {
        self.objects.remove(key)
    }
    fn locate(&self, key: &str) -> String {
        key.to_owned()
    }
}

/// A machine may have been suspended, and the store be slow to tell who owns the partition now.
#[test]
fn a_partition_that_another_has_taken_is_lost_before_it_is_asked_who_that_is() {
    let stop = CancellationToken::new();
    let (objects, lists) = (MemoryStore::new(), Mutex::default());
    let store = Arc::new(WatchedStore { objects, stop: stop.clone(), lists });
    let epoch = begin(&*store, 1, 0, "a", 1).unwrap();
    begin(&*store, 1, epoch, "b", 1).unwrap();
    let map = FleetMap::new(1, vec![PartitionRange { id: 1, begin: None, parent: None }]).unwrap();
    let watch = Arc::new(FleetWatch::new("memory:", map, 1, boot_clock()));
    let identity = Arc::new(NodeIdentity::new("run".into(), 1, 90_000));
    let node = OwnNode { status: NodeStatus::default(), identity, watch };
    // So long that it is not over while this test runs.
    let own = OwnEpoch { partition: 1, epoch, began: boot_clock(), lease: 3_600_000 };
    let beats = Beats::begin(store.clone(), own, stop, node).unwrap();
    while store.lists.lock().unwrap().is_empty() {
        thread::sleep(LOOK_EVERY);
    }
    assert_eq!(*store.lists.lock().unwrap(), [true]);
    assert!(beats.lost().unwrap().starts_with("another process has taken it ("), "{:?}", beats.lost());
    beats.end(BeatsEnd::Silent);
}
