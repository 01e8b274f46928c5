use super::*;
use crate::PlanMemory;
use crate::testing::MemorySpill;
use proptest::prelude::*;

fn quota(bytes: u64) -> MemoryQuota {
    PlanMemory::new(bytes, Box::new(MemorySpill::default())).divide([f64::INFINITY]).quota(f64::INFINITY)
}

fn rest(mut merge: Merge<u64>, most: u64) -> Vec<u64> {
    (0..most).map_while(|_| merge.pop().unwrap()).collect()
}

#[test]
fn a_quota_for_twice_k_never_spills() {
    let (spill, mut best) = (MemorySpill::default(), SpillingTopK::new(1000, quota(16_000)));
    spill.0.borrow_mut().free = Some(0);
    let mut disk = Runs::new(Box::new(spill));
    (0..50_000u64).rev().for_each(|item| best.offer(item, &mut disk).unwrap());
    assert_eq!(rest(best.into_merge(&mut disk).unwrap(), 1000), (0..1000).collect::<Vec<_>>());
}

#[test]
fn spilled_items_are_bounded_by_k_for_any_stream() {
    let (spill, mut best) = (MemorySpill::default(), SpillingTopK::new(1000, quota(800)));
    let mut disk = Runs::new(Box::new(spill.clone()));
    for item in (0..50_000u64).rev() {
        best.offer(item, &mut disk).unwrap();
        assert!(best.spilled() < 2000 + 100, "{}", best.spilled());
    }
    let bytes: usize = spill.0.borrow().runs.values().map(Vec::len).sum();
    assert!(bytes < 2100 * 8, "{bytes} bytes on disk");
    assert_eq!(rest(best.into_merge(&mut disk).unwrap(), 1000), (0..1000).collect::<Vec<_>>());
    assert_eq!(spill.0.borrow().most_open, 2);
}

#[test]
fn an_item_is_written_once_a_level() {
    let (spill, mut best) = (MemorySpill::default(), SpillingTopK::new(u64::MAX, quota(0)));
    spill.0.borrow_mut().free = Some(usize::MAX);
    let mut disk = Runs::new(Box::new(spill.clone()));
    (0..4096u64).for_each(|item| best.offer(item, &mut disk).unwrap());
    // Runs of 4 items, merged in pairs: ten levels.
    let written = usize::MAX - spill.0.borrow().free.unwrap();
    assert!(written <= 11 * 4096 * 8, "{written} bytes");
    assert_eq!(rest(best.into_merge(&mut disk).unwrap(), 5000), (0..4096).collect::<Vec<_>>());
}

proptest! {
    #[test]
    fn the_k_least_for_any_quota(
        streams in prop::collection::vec(prop::collection::vec(0u64..500, 0..600), 1..5),
        k in prop_oneof![0u64..200, Just(u64::MAX)],
        n in 0u64..250,
        bytes in 0u64..1000,
    ) {
        let spill = MemorySpill::default();
        let (mut best, mut disk) = (SpillingTopK::new(k, quota(bytes)), Runs::new(Box::new(spill.clone())));
        let sorted = |stream: &[u64], n: u64| {
            let mut sorted = stream.to_vec();
            sorted.sort_unstable();
            sorted.truncate(usize::try_from(n).unwrap_or(usize::MAX));
            sorted
        };
        for stream in &streams {
            stream.iter().for_each(|&item| best.offer(item, &mut disk).unwrap());
            let mut drained = Vec::new();
            best.drain(n, &mut disk, |item, _| { drained.push(item); Ok(()) }).unwrap();
            drained.sort_unstable();
            prop_assert_eq!(drained, sorted(stream, n.min(k)));
            prop_assert!(spill.0.borrow().runs.is_empty());
        }
        streams[0].iter().for_each(|&item| best.offer(item, &mut disk).unwrap());
        prop_assert_eq!(rest(best.into_merge(&mut disk).unwrap(), k), sorted(&streams[0], k));
    }
}
