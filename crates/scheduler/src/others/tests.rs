use super::*;
use crate::merge::{Merge, MergeSource};
use crate::testing::{ListedScores, MadePlan, MemorySpill, TestPage, columns, pages, plan, requests};
use crate::{PlanCounts, PlanMemory, PlanRequest, Planner};
use proptest::prelude::*;
use std::ops::Range;
use std::sync::{Condvar, Mutex};

/// Planners that hear each other: what each told in each exchange.
struct Room {
    planners: usize,
    told: Mutex<Vec<Vec<Option<Vec<u8>>>>>,
    changed: Condvar,
}

impl Room {
    fn new(planners: usize) -> Room {
        Room { planners, told: Mutex::default(), changed: Condvar::new() }
    }

    fn gather(&self, planner: usize, exchange: usize, own: &[u8]) -> Vec<Vec<u8>> {
        let mut told = self.told.lock().unwrap();
        if told.len() == exchange {
            told.push(vec![None; self.planners]);
        }
        told[exchange][planner] = Some(own.to_vec());
        self.changed.notify_all();
        while told[exchange].iter().any(Option::is_none) {
            told = self.changed.wait(told).unwrap();
        }
        told[exchange].iter().flatten().cloned().collect()
    }

    /// What each planner gets by `work`, with its number and its way to hear the others.
    fn each<T: Send>(&self, work: impl Fn(usize, &mut Gather<'_>) -> T + Sync) -> Vec<T> {
        std::thread::scope(|scope| {
            let run = |planner| {
                let (work, mut exchange) = (&work, 0);
                scope.spawn(move || {
                    work(planner, &mut |own| {
                        exchange += 1;
                        Ok(self.gather(planner, exchange - 1, own))
                    })
                })
            };
            let running: Vec<_> = (0..self.planners).map(run).collect();
            running.into_iter().map(|planner| planner.join().unwrap()).collect()
        })
    }
}

/// The ranges between these cuts of all pages; some may be empty.
fn parts(pages: usize, cuts: &[usize]) -> Vec<Range<usize>> {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (pages + 1)).chain([0, pages]).collect();
    ends.sort_unstable();
    ends.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

/// The plans of some parts, put together.
fn together(
    request: &PlanRequest,
    scores: &[f64],
    pages: &[TestPage],
    parts: &[Range<usize>],
    memory: u64,
) -> MadePlan {
    let plans = Room::new(parts.len()).each(|planner, gather| {
        let part = parts[planner].clone();
        // A score is asked for by the number among all pages.
        let mut policy = ListedScores(scores.to_vec());
        let memory = PlanMemory::new(memory, Box::new(MemorySpill::default()));
        let hosts = std::iter::empty::<u64>();
        let planner = Planner::new(request.clone(), &mut policy, hosts, memory).unwrap();
        let mut planner = planner.behind(part.start as u64);
        pages[part.clone()].chunks(7).for_each(|pages| planner.scan(&columns(pages)).unwrap());
        let mut plan = MadePlan::read(planner.finish_with(gather).unwrap()).unwrap();
        plan.chosen.iter_mut().for_each(|page| page.0 += part.start as u64);
        plan
    });
    let cutoff = plans[0].cutoff;
    let is_equal = |other: Option<f64>| other.map(f64::to_bits) == cutoff.map(f64::to_bits);
    assert!(plans.iter().all(|plan| is_equal(plan.cutoff)), "all know the same bar");
    let counts = plans.iter().fold(PlanCounts::default(), |sum, plan| sum + plan.counts);
    MadePlan { chosen: plans.into_iter().flat_map(|plan| plan.chosen).collect(), cutoff, counts }
}

proptest! {
    /// Few kinds of pages and scores, so that ties are everywhere.
    #[test]
    fn parts_choose_what_one_plan_of_all_pages_chooses(
        request in requests(),
        pages in pages(200),
        cuts in prop::collection::vec(any::<usize>(), 0..7),
        kinds in 1usize..9,
        memory in prop_oneof![Just(u64::MAX), Just(0)],
    ) {
        let request = PlanRequest { max_per_host: None, max_per_host_in_round: None, ..request };
        let scores: Vec<f64> = (0..pages.len()).map(|i| (i * 7919 % 1009 % kinds) as f64 - 1.0).collect();
        let all = plan(&request, &mut ListedScores(scores.clone()), &pages, &[pages.len() as u64], 30).unwrap();
        let parts = parts(pages.len(), &cuts);
        prop_assert_eq!(together(&request, &scores, &pages, &parts, memory), all);
    }

    #[test]
    fn bars_are_the_items_of_their_ranks(
        items in prop::collection::btree_set((0u64..40, any::<u64>()), 1..400),
        cuts in prop::collection::vec(any::<usize>(), 0..6),
        of in prop::collection::vec(0usize..6, 400),
        ranks in any::<[u16; 2]>(),
        named in 12usize..40,
        is_spilled: bool,
    ) {
        let all: Vec<RankedPage> = items.into_iter().map(|(key, tie)| RankedPage { key, tie }).collect();
        let planners = cuts.len() + 1;
        let ranks = ranks.map(|rank| u64::from(rank) % (all.len() as u64 + 1));
        let found = Room::new(planners).each(|planner, gather| {
            let own = all.iter().zip(&of).filter(|(_, of)| **of % planners == planner);
            let own: Vec<RankedPage> = own.map(|(item, _)| *item).collect();
            let mut disk = Runs::new(Box::new(MemorySpill::default()));
            let mut order = || {
                let mut items = Merge::new(vec![MergeSource::Memory(own.clone().into_iter())]).unwrap();
                match is_spilled {
                    true => ItemOrder::Run(disk.write(|| items.pop()).unwrap()),
                    false => ItemOrder::Memory(own.clone()),
                }
            };
            let (mut first, mut second) = (order(), order());
            let mut others = Others { gather, named };
            others.bars(ranks, [&mut first, &mut second], &mut disk).unwrap()
        });
        let of_rank = |rank: u64| rank.checked_sub(1).map(|at| all[at as usize]);
        for bars in found {
            prop_assert_eq!(bars, ranks.map(of_rank));
        }
    }

    /// Whatever others tell, the answer is an error or a bar, in few exchanges.
    #[test]
    fn what_cannot_be_is_refused(told in prop::collection::vec(any::<u8>(), 0..200), rank in 1u64..20) {
        let mut exchanges = 0;
        let mut gather = |own: &[u8]| {
            exchanges += 1;
            Ok(vec![own.to_vec(), told.clone()])
        };
        let mut order = ItemOrder::Memory((0..10).map(|key| RankedPage { key, tie: 0 }).collect());
        let mut disk = Runs::new(Box::new(MemorySpill::default()));
        let mut others = Others::new(&mut gather);
        let found = others.bars([rank], [&mut order], &mut disk);
        prop_assert!(found.is_err() || told.len() >= 32, "{:?}", found);
        prop_assert!(exchanges <= MAX_EXCHANGES);
    }
}

/// More candidates than are named at once, with few scores.
#[test]
fn many_ties_need_few_exchanges() {
    let pages = vec![crate::testing::fetched(3, 50); 60_000];
    let scores: Vec<f64> = (0..pages.len()).map(|i| (i % 3) as f64).collect();
    let request = PlanRequest { pages: 25_000, audit_share: 0.4, ..crate::testing::request() };
    let all = plan(&request, &mut ListedScores(scores.clone()), &pages, &[60_000], 9000).unwrap();
    let parts = parts(pages.len(), &[100, 31_000]);
    assert_eq!(together(&request, &scores, &pages, &parts, u64::MAX), all);
    let room = Room::new(3);
    let exchanges = room.each(|planner, gather| {
        let mut count = 0;
        let mut counted = |own: &[u8]| {
            count += 1;
            gather(own)
        };
        let own = (0..400_000).map(|n| RankedPage { key: n % 2, tie: 3 * n + planner as u64 });
        let mut items: Vec<RankedPage> = own.collect();
        items.sort_unstable();
        let mut order = ItemOrder::Memory(items);
        let mut disk = Runs::new(Box::new(MemorySpill::default()));
        Others::new(&mut counted).bars([700_001], [&mut order], &mut disk).unwrap();
        count
    });
    assert_eq!(exchanges, [2; 3]);
}
