use super::request::part_of;
use super::*;
use crate::clock::SoFar;
use crate::settings::Settings;
use recrawl_repository::spill::SpillRuns;
use recrawl_repository::storage::{FileStorage, Storage};
use recrawl_scheduler::PlanRequest;
use recrawl_scheduler::policy::age::AgePolicy;
use recrawl_scheduler::{Parts, PlanMemory, Planner, Ties};
use recrawl_types::{History, Known, StateColumns};
use recrawl_types::{Round, Share};
use std::path::Path;

const PAGES: u64 = 20_000;

fn planner_in(policy: &mut AgePolicy, memory: PlanMemory) -> Planner<'_, impl Iterator<Item = u64>> {
    let request = PlanRequest {
        cycle: Cycle(90),
        pages: 4_000,
        discovery_share: 0.2,
        announced_share: 0.1,
        audit_share: 0.1,
        discovery_min: 1_500,
        warmup: 2,
        max_per_host: Some(30),
        max_per_host_in_round: None,
        samples_siblings: false,
        sums_expected: false,
        explore: 0.0,
        round: 0,
        seed: 3,
        ties: Ties::Hash,
        policy: recrawl_scheduler::policy::PolicyKind::default(),
    };
    let mut planner =
        Planner::new(request, policy, std::iter::repeat_n(100, PAGES as usize / 100), memory).unwrap();
    for block in 0..PAGES / 1_000 {
        let mut columns = StateColumns::default();
        for ordinal in block * 1_000..(block + 1) * 1_000 {
            let known =
                Known { is_announced: ordinal % 9 == 0, depth: (ordinal % 7) as u16, ..Known::default() };
            let mut history = History::first_fetch(Cycle((ordinal % 50) as u32));
            (0..ordinal % 6).for_each(|visit| history.record(Cycle(51 + visit as u32), visit % 2 == 0));
            columns.push(known, Some(&history).filter(|_| ordinal % 4 > 0));
        }
        planner.scan(&columns).unwrap();
    }
    planner
}

fn listed(planner: Planner<'_, impl Iterator<Item = u64>>) -> Vec<(u64, Share)> {
    planner.finish().unwrap().chosen.map(|page| page.map(|p| (p.ordinal, p.share)).unwrap()).collect()
}

fn spilling(folder: &Path) -> (Arc<dyn Storage>, PlanMemory) {
    let storage: Arc<dyn Storage> = Arc::new(FileStorage::create(folder).unwrap());
    let runs = SpillRuns::new(storage.clone(), Round(90));
    (storage, PlanMemory::new(20_000, Box::new(runs)))
}

#[test]
fn a_plan_in_spill_files_is_the_plan_in_memory_and_leaves_none_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (storage, memory) = spilling(folder.path());
    let mut policy = AgePolicy::default();
    let planner = planner_in(&mut policy, memory);
    let spilled = storage.list().unwrap();
    assert!(spilled.iter().any(|name| name.contains(".spill-")), "{spilled:?}");
    let made = listed(planner);
    assert_eq!(storage.list().unwrap(), [""; 0]);
    assert_eq!(made, listed(planner_in(&mut AgePolicy::default(), PlanMemory::unlimited())));
    assert!(made.len() > 4_000, "{}", made.len());
}

#[test]
fn a_plan_that_is_given_up_leaves_no_spill_files() {
    let folder = tempfile::tempdir().unwrap();
    let (storage, memory) = spilling(folder.path());
    let mut policy = AgePolicy::default();
    let planner = planner_in(&mut policy, memory);
    assert!(!storage.list().unwrap().is_empty());
    drop(planner);
    assert_eq!(storage.list().unwrap(), [""; 0]);
}

/// The parts of a cycle's k add up to it, with the shares of a cycle of one round, and the audit sample is
/// drawn in the first.
#[test]
fn the_parts_of_k_add_up_to_a_whole_cycle() {
    let settings = Settings::check(crate::config::Config::default()).unwrap();
    for (k, shares) in
        [(1_000, [0.2, 0.1, 0.01]), (7, [0.5, 0.3, 0.2]), (0, [0.2, 0.1, 0.5]), (100, [0.0, 0.0, 1.0])]
    {
        let [discovery_share, announced_share, audit_share] = shares;
        let whole = PlanRequest {
            pages: k,
            discovery_share,
            announced_share,
            audit_share,
            discovery_min: 9,
            ..request(&settings, Cycle(3), 1, 1)
        };
        assert_eq!(part_of(whole.clone(), &Parts::Equal(1), None), whole, "as without parts");
        for parts in [Parts::Equal(3), Parts::Shares(vec![0.5, 0.3, 0.2])] {
            let (mut so_far, mut shared) = (SoFar::default(), [0.0; 3]);
            for part in 0..3 {
                let of = part_of(whole.clone(), &parts, Some(&so_far).filter(|_| part > 0));
                let all = [of.discovery_share, of.announced_share, of.audit_share];
                assert!(all.iter().all(|share| (0.0..=1.0).contains(share)), "{of:?}");
                assert!(all.iter().sum::<f64>() <= 1.0, "{of:?}");
                assert_eq!(of.discovery_min, if part == 0 { 9 } else { 0 });
                assert!(part == 0 || of.audit_share == 0.0, "{of:?}");
                assert_eq!(of.samples_siblings, part < 2, "the last round spends what is left");
                shared.iter_mut().zip(all).for_each(|(sum, share)| *sum += share * of.pages as f64);
                (so_far.revisits, so_far.revisits_left) = (part + 1, 2 - part);
                so_far.of_k += of.pages;
            }
            assert_eq!(so_far.of_k, k, "{parts:?}");
            for (sum, share) in shared.into_iter().zip(shares) {
                assert!(
                    (sum - share * k as f64).abs() <= 0.5 + 1e-6 * k as f64,
                    "{shared:?} of {k} {shares:?}"
                );
            }
        }
    }
}
