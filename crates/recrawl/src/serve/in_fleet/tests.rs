use super::*;
use recrawl_fleet::{FleetMap, PartitionRange, begin, counter, write_map};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::Instant;

/// Longer than any machine takes.
const PATIENCE: Duration = Duration::from_mins(2);

/// Telling may wait for a store that is slow there, while the lease runs.
#[test]
fn a_process_beats_before_it_tells_no_more_that_it_stands_by() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("file://{}", folder.path().display());
    let store = recrawl_vault::store::open(&address).unwrap();
    let map = FleetMap::new(1, vec![PartitionRange { id: 1, begin: None, parent: None }]).unwrap();
    write_map(&*store, &map).unwrap();
    let mut node = FleetNode::new(&address, "a", &folder.path().join("a")).unwrap();
    let free = node.look().unwrap().unwrap();
    let signals = Shutdown::new().unwrap();
    let taken = node.prepare(free, signals.token()).unwrap();
    let watch = FleetWatch::new(&address, map, 1, boot_clock());
    let status = NodeStatus { name: "a".into(), ..NodeStatus::default() };
    let own_node = OwnNode { status, identity: node.identity().clone(), watch: Arc::new(watch) };
    let epoch = begin(&*store, 1, 0, "a", 1).unwrap();
    // It waits for the first beat.
    let (telling_store, has_seen) = (store.clone(), Arc::new(AtomicBool::new(false)));
    let (seen, (asks, is_asked)) = (has_seen.clone(), mpsc::channel());
    let telling = Ticker::start("node", Duration::ZERO, move || {
        let (_, begun) = (asks.send(()), Instant::now());
        while !seen.load(Relaxed) && begun.elapsed() < PATIENCE {
            seen.store(counter(&*telling_store, 1, epoch).unwrap() > 0, Relaxed);
        }
    });
    is_asked.recv().unwrap();
    let (to_take, beats) = with_beats(&node, taken.to_take, (own_node, telling.unwrap()), &signals);
    (to_take.on_taken)(epoch, boot_clock());
    assert!(has_seen.load(Relaxed), "it waits for what it tells before it beats");
    beats.lock().unwrap().take().unwrap().unwrap().end(BeatsEnd::Silent);
}
