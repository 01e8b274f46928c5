use super::*;
use crate::HostPages;
use crate::Ties;
use crate::WhyFirst;
use crate::testing::{
    ListedScores, MadePlan, MemorySpill, TestPage, by_definition, by_definition_in_blocks, columns, fetched,
    pages, plan, plan_within, request, requests, unfetched,
};
use proptest::prelude::*;
use recrawl_types::{Known, PageStatus, Share};
use std::io;

/// The ordinals of some shares.
fn ordinals(plan: &MadePlan, wanted: impl Fn(Share) -> bool) -> Vec<u64> {
    plan.chosen.iter().filter(|c| wanted(c.1)).map(|c| c.0).collect()
}

fn by_score(plan: &MadePlan) -> Vec<u64> {
    ordinals(plan, |s| s == Share::Score)
}

fn by_discovery(plan: &MadePlan) -> Vec<u64> {
    ordinals(plan, |s| s == Share::Discovery)
}

/// A plan for a list of scores, with all pages on one host.
fn plan_by(request: &PlanRequest, scores: &[f64], pages: &[TestPage]) -> MadePlan {
    plan(request, &mut ListedScores(scores.to_vec()), pages, &[pages.len() as u64], 3).unwrap()
}

#[test]
fn the_best_k_by_score_and_the_cutoff() {
    let pages = vec![fetched(3, 50); 6];
    let scores = [1.0, 5.0, f64::NAN, 3.0, f64::NEG_INFINITY, 4.0];
    let plan = plan_by(&PlanRequest { pages: 3, ..request() }, &scores, &pages);
    assert_eq!(by_score(&plan), [1, 3, 5]);
    assert_eq!(plan.cutoff, Some(3.0));
    let plan = plan_by(&PlanRequest { pages: 5, ..request() }, &scores, &pages);
    assert_eq!(plan.cutoff, Some(f64::NEG_INFINITY));
    assert_eq!(by_score(&plan), [0, 1, 3, 4, 5], "NaN is below −∞");
}

#[test]
fn no_pages_are_asked_for_and_none_chosen_but_the_warm_up_is_due() {
    let pages = [fetched(3, 50), fetched(1, 50), unfetched(0)];
    let plan = plan_by(&request(), &[1.0; 3], &pages);
    assert_eq!(plan.chosen, [(1, Share::Warmup)]);
    assert_eq!(plan.cutoff, None);
}

#[test]
fn what_is_announced_has_its_share_and_leaves_the_rest_to_the_score() {
    let announced = |page: TestPage| (Known { is_announced: true, ..page.0 }, page.1);
    let (quiet, loud) = (fetched(3, 50), announced(fetched(3, 50)));
    // Neither a page that was never fetched nor a warm-up page competes for this share.
    let pages = [quiet, loud, quiet, loud, loud, announced(unfetched(0)), announced(fetched(1, 50))];
    let scores = [9.0, 1.0, 8.0, 7.0, 2.0, 0.0, 0.0];
    let chosen = |announced_share| {
        let plan = plan_by(&PlanRequest { pages: 4, announced_share, ..request() }, &scores, &pages);
        let announced = ordinals(&plan, |s| s == Share::Announced);
        assert_eq!(plan.counts.announced, announced.len() as u64);
        (announced, by_score(&plan))
    };
    assert_eq!(chosen(0.0), (vec![], vec![0, 2, 3, 4]));
    assert_eq!(chosen(0.25), (vec![3], vec![0, 2, 4]), "the best of them first");
    assert_eq!(chosen(0.5), (vec![3, 4], vec![0, 2]));
    assert_eq!(chosen(1.0), (vec![1, 3, 4], vec![0]), "what it leaves goes to the score");
}

#[test]
fn more_are_asked_for_than_there_are() {
    let pages = [
        fetched(3, 50),
        fetched(1, 50),
        unfetched(0),
        (Known { status: PageStatus::Gone, ..Known::default() }, None),
    ];
    let plan =
        plan_by(&PlanRequest { pages: u64::MAX, discovery_share: 0.3, ..request() }, &[1.0; 4], &pages);
    assert_eq!(plan.chosen, [(0, Share::Score), (1, Share::Warmup), (2, Share::Discovery)]);
    assert_eq!(plan.counts.gone, 1);
}

#[test]
fn without_pages_the_plan_is_empty() {
    let request = PlanRequest { pages: 10, max_per_host: Some(1), ..request() };
    assert_eq!(plan(&request, &mut ListedScores(vec![]), &[], &[], 1).unwrap(), MadePlan::default());
    assert_eq!(plan(&request, &mut ListedScores(vec![]), &[], &[0, 0], 1).unwrap(), MadePlan::default());
}

#[test]
fn pages_without_a_score_are_chosen_when_there_are_no_others() {
    let pages = vec![fetched(3, 50); 4];
    let request = PlanRequest { pages: 2, ties: Ties::Index, ..request() };
    let plan = plan_by(&request, &[f64::NAN; 4], &pages);
    assert_eq!(by_score(&plan), [0, 1]);
    assert!(plan.cutoff.unwrap().is_nan());
}

#[test]
fn equal_scores_go_by_index_or_by_a_shuffle_of_the_cycle() {
    let pages = vec![fetched(3, 50); 200];
    let choose = |ties, cycle, seed| {
        by_score(&plan_by(
            &PlanRequest { pages: 20, ties, cycle: Cycle(cycle), seed, ..request() },
            &[0.0; 200],
            &pages,
        ))
    };
    assert_eq!(choose(Ties::Index, 100, 1), (0..20).collect::<Vec<_>>());
    let shuffled = choose(Ties::Hash, 100, 1);
    assert_eq!(shuffled, choose(Ties::Hash, 100, 1));
    assert_ne!(shuffled, choose(Ties::Hash, 101, 1), "another cycle, another order");
    assert_ne!(shuffled, choose(Ties::Hash, 100, 2), "another seed, another order");
    assert!(shuffled.iter().any(|&o| o >= 100), "not by ordinal");
}

#[test]
fn zero_and_minus_zero_are_equal_scores() {
    let pages = vec![fetched(3, 50); 4];
    let request = PlanRequest { pages: 2, ties: Ties::Index, ..request() };
    assert_eq!(by_score(&plan_by(&request, &[-0.0, 0.0, 0.0, -0.0], &pages)), [0, 1]);
}

#[test]
fn discovery_goes_by_depth_then_redirects_then_links() {
    let url = |depth, hops, in_links| (Known { depth, hops, in_links, ..Known::default() }, None);
    let pages = [url(2, 1, 9), url(1, 0, 1), url(1, 0, 7), url(1, 1, 0), url(0, 0, 0)];
    for (k, expected) in [(1, vec![4]), (2, vec![3, 4]), (3, vec![2, 3, 4]), (4, vec![1, 2, 3, 4])] {
        let request = PlanRequest { pages: k, discovery_share: 1.0, ..request() };
        assert_eq!(by_discovery(&plan_by(&request, &[0.0; 5], &pages)), expected);
    }
}

#[test]
fn what_a_share_cannot_use_goes_to_the_others() {
    let share = |discovery, revisit, audit_share| {
        let pages: Vec<TestPage> =
            (0..discovery).map(|_| unfetched(0)).chain((0..revisit).map(|_| fetched(3, 50))).collect();
        let scores = vec![1.0; pages.len()];
        let request = PlanRequest { pages: 10, discovery_share: 0.3, audit_share, ..request() };
        let counts = plan_by(&request, &scores, &pages).counts;
        (counts.discovery, counts.audit, counts.score)
    };
    assert_eq!(share(20, 20, 0.2), (3, 2, 5), "all shares are filled");
    assert_eq!(share(1, 20, 0.2), (1, 2, 7), "discovery leaves two to the score");
    assert_eq!(share(20, 4, 0.2), (6, 2, 2), "the score leaves three to discovery");
    assert_eq!(share(20, 1, 0.2), (9, 1, 0), "the audit leaves one, the score all");
    assert_eq!(share(2, 3, 0.0), (2, 0, 3), "there are no more");
}

#[test]
fn the_audit_is_uniform_and_says_with_what_probability() {
    let pages = vec![fetched(3, 50); 50];
    let mut times = vec![0u32; 50];
    let rounds = 2000u64;
    for seed in 0..rounds {
        let request = PlanRequest { pages: 10, audit_share: 0.5, seed, ..request() };
        let scores: Vec<f64> = (0..50).map(f64::from).collect();
        let plan = plan_by(&request, &scores, &pages);
        let sample = ordinals(&plan, |s| matches!(s, Share::Audit(_)));
        assert_eq!(sample.len(), 5);
        assert!(plan.chosen.iter().all(|c| matches!(c.1, Share::Score | Share::Audit(0.1))));
        // The best by score outside the audit sample.
        let best: Vec<u64> = (0..50).rev().filter(|o| !sample.contains(o)).take(5).collect();
        assert_eq!(by_score(&plan), best.into_iter().rev().collect::<Vec<_>>());
        sample.iter().for_each(|&o| times[o as usize] += 1);
    }
    // Each page is drawn in a tenth of the rounds: 200 times, with a standard deviation of 13.4.
    assert!(times.iter().all(|&t| (200 - 67..=200 + 67).contains(&t)), "{times:?}");
}

#[test]
fn a_host_gets_no_more_than_its_limit_and_its_best_first() {
    // Host 0: four pages by score. Host 1: two. Host 2: five URLs that were never fetched.
    let pages: Vec<TestPage> =
        (0..6).map(|_| fetched(3, 50)).chain((0..5).map(|d| unfetched(4 - d))).collect();
    let scores = [9.0, 8.0, 7.0, 6.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let request = PlanRequest { pages: 8, discovery_share: 0.5, max_per_host: Some(2), ..request() };
    let plan = plan(&request, &mut ListedScores(scores.to_vec()), &pages, &[4, 0, 2, 5], 4).unwrap();
    assert_eq!(by_score(&plan), [0, 1, 4, 5]);
    assert_eq!(by_discovery(&plan), [9, 10]);
}

#[test]
fn a_host_may_have_a_limit_of_its_own() {
    // Three hosts of four pages: one in warm-up, three by score. The limits allow all pages of the
    // first host, one of the second, and none of the third.
    let pages: Vec<TestPage> = (0..12).map(|page| fetched(if page % 4 == 0 { 1 } else { 3 }, 50)).collect();
    let hosts = [None, Some(1), Some(0)].map(|at_most| HostPages { pages: 4, at_most });
    let chosen_of = |max_per_host, audit_share| {
        let request = PlanRequest { pages: 9, max_per_host: Some(max_per_host), audit_share, ..request() };
        let mut policy = ListedScores((0..12).map(f64::from).collect());
        let mut planner =
            Planner::new(request, &mut policy, hosts.into_iter(), PlanMemory::unlimited()).unwrap();
        planner.scan(&columns(&pages)).unwrap();
        planner.finish().unwrap().chosen.map(|page| page.unwrap().ordinal).collect::<Vec<_>>()
    };
    // This limit affects no other host: the plan equals one without `max_per_host`.
    assert_eq!(chosen_of(12, 0.0), [0, 1, 2, 3, 4]);
    assert_eq!(chosen_of(2, 0.0), [0, 3, 4]);
    assert_eq!(chosen_of(12, 1.0), [0, 1, 2, 3, 4], "the sample too");
}

#[test]
fn hosts_that_cannot_be_read_are_an_error() {
    let unread =
        |at: usize| {
            let hosts = (0..3).map(move |host| {
                if host == at { Err(PlanError::Read("torn".into())) } else { Ok(HostPages::from(2)) }
            });
            let request = PlanRequest { max_per_host: Some(2), ..request() };
            let (mut policy, pages) = (ListedScores(vec![0.0; 4]), vec![fetched(3, 50); 4]);
            let mut planner = Planner::new(request, &mut policy, hosts, PlanMemory::unlimited()).unwrap();
            planner.scan(&columns(&pages)).and_then(|()| planner.finish().map(drop)).unwrap_err()
        };
    for at in 0..3 {
        let error = unread(at);
        assert!(matches!(error, PlanError::Read(_)) && error.to_string().contains("torn"), "{at}: {error}");
    }
}

#[test]
fn a_host_with_a_limit_of_its_own_is_not_audited() {
    // Two hosts of four pages; the second is down. All pages would be chosen, by audit or score.
    let pages: Vec<TestPage> = (0..8).map(|_| fetched(3, 50)).collect();
    let hosts = [None, Some(1)].map(|at_most| HostPages { pages: 4, at_most });
    let request = PlanRequest { pages: 8, max_per_host: Some(8), audit_share: 0.5, ..request() };
    let mut policy = ListedScores((0..8).map(f64::from).collect());
    let mut planner = Planner::new(request, &mut policy, hosts.into_iter(), PlanMemory::unlimited()).unwrap();
    planner.scan(&columns(&pages)).unwrap();
    let plan = planner.finish().unwrap();
    assert_eq!((plan.counts.audit_eligible, plan.counts.audit), (4, 4), "the sample is whole");
    let chosen: Vec<(u64, Share)> =
        plan.chosen.map(|page| page.unwrap()).map(|p| (p.ordinal, p.share)).collect();
    let audited = |share: Share| matches!(share, Share::Audit { .. });
    assert!(chosen[..4].iter().all(|(_, share)| audited(*share)), "{chosen:?}");
    assert_eq!(chosen[4..], [(7, Share::Score)], "the best of the one that is down, for any seed");
}

#[test]
fn warm_up_counts_for_the_limit_and_is_bound_by_it() {
    let mut pages = vec![fetched(1, 60), fetched(1, 40), fetched(0, 50), fetched(3, 50), unfetched(0)];
    pages.extend([fetched(1, 60), fetched(3, 50), fetched(3, 50)]);
    let request = PlanRequest { pages: 10, max_per_host: Some(2), ..request() };
    let scores = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0];
    let plan = plan(&request, &mut ListedScores(scores.to_vec()), &pages, &[5, 3], 8).unwrap();
    let expected = [(1, Share::Warmup), (2, Share::Warmup), (5, Share::Warmup), (7, Share::Score)];
    assert_eq!(plan.chosen, expected, "those that wait longest");
}

#[test]
fn score_and_discovery_share_the_places_of_a_single_host() {
    let pages: Vec<TestPage> = (0..40).map(|_| fetched(3, 50)).chain((0..40).map(unfetched)).collect();
    let request = PlanRequest { pages: 60, discovery_share: 0.25, max_per_host: Some(20), ..request() };
    let counts = plan_by(&request, &[1.0; 80], &pages).counts;
    assert_eq!((counts.score, counts.discovery), (15, 5));
}

#[test]
fn the_audit_weighs_without_bias_even_where_a_host_is_limited() {
    // Ninety pages of one host, ten of another. Most of the sample is on the first, whose limit is
    // 4.
    let pages = vec![fetched(3, 50); 100];
    let (mut first, mut second) = (0.0, 0.0);
    let rounds = 2000u64;
    for seed in 0..rounds {
        let request = PlanRequest { pages: 10, audit_share: 1.0, max_per_host: Some(4), seed, ..request() };
        let plan = plan(&request, &mut ListedScores(vec![0.0; 100]), &pages, &[90, 10], 100).unwrap();
        for (ordinal, share) in plan.chosen {
            let Share::Audit(probability) = share else { continue };
            *if ordinal < 90 { &mut first } else { &mut second } += 1.0 / probability;
        }
    }
    let (first, second) = (first / rounds as f64, second / rounds as f64);
    assert!((first - 90.0).abs() < 1.0 && (second - 10.0).abs() < 1.0, "{first} of 90, {second} of 10");
}

#[test]
fn hosts_that_do_not_fit_the_pages_are_an_error() {
    let pages = vec![fetched(3, 50); 4];
    let request = PlanRequest { pages: 2, max_per_host: Some(1), ..request() };
    for (hosts, error) in [
        (vec![3], PlanError::Hosts { pages: 3, more: false }),
        (vec![], PlanError::Hosts { pages: 0, more: false }),
        (vec![5], PlanError::Hosts { pages: 4, more: true }),
        (vec![4, 1], PlanError::Hosts { pages: 4, more: true }),
    ] {
        let made = plan(&request, &mut ListedScores(vec![0.0; 4]), &pages, &hosts, 4);
        assert_eq!(made.unwrap_err().to_string(), error.to_string(), "{hosts:?}");
    }
    assert!(plan(&request, &mut ListedScores(vec![0.0; 4]), &pages, &[0, 4, 0], 4).is_ok());
}

/// Plans are equal, also with a NaN cut-off.
fn assert_same(one: &MadePlan, other: &MadePlan) {
    assert_eq!(one.chosen, other.chosen);
    assert_eq!(one.counts, other.counts);
    let bits = |p: &MadePlan| p.cutoff.map(|c| if c.is_nan() { f64::NAN.to_bits() } else { c.to_bits() });
    assert_eq!(bits(one), bits(other));
}

#[test]
fn a_disk_that_is_full_is_an_error() {
    let pages = vec![fetched(3, 50); 100];
    let request = PlanRequest { pages: 50, audit_share: 0.2, ..request() };
    let made = |free| {
        let spill = MemorySpill::default();
        spill.0.borrow_mut().free = Some(free);
        let memory = PlanMemory::new(100, Box::new(spill));
        plan_within(memory, &request, &mut ListedScores(vec![1.0; 100]), &pages, &[], 8)
    };
    for free in [0, 200, 2000] {
        let error = made(free).unwrap_err();
        assert!(matches!(&error, PlanError::Spill(e) if e.kind() == io::ErrorKind::StorageFull), "{error}");
    }
    assert_eq!(
        made(1 << 20).unwrap(),
        plan(&request, &mut ListedScores(vec![1.0; 100]), &pages, &[], 8).unwrap()
    );
}

/// 128 bytes per page are enough, and many undiscovered URLs take no memory from the score.
#[test]
fn a_small_plan_never_spills() {
    let announced = (Known { is_announced: true, ..fetched(3, 50).0 }, fetched(3, 50).1);
    let pages = [fetched(3, 50), announced, unfetched(0)].repeat(300);
    let scores: Vec<f64> = (0..900).map(f64::from).collect();
    for (discovery_min, bytes, discovery) in [(0, 200 * 131, 40), (1 << 40, 40_000, 300)] {
        let request = PlanRequest {
            pages: 200,
            discovery_share: 0.2,
            discovery_min,
            audit_share: 0.1,
            announced_share: 0.1,
            ..request()
        };
        let spill = MemorySpill::default();
        spill.0.borrow_mut().free = Some(0);
        let memory = PlanMemory::new(bytes, Box::new(spill));
        let made = plan_within(memory, &request, &mut ListedScores(scores.clone()), &pages, &[], 90).unwrap();
        assert_eq!((made.counts.announced, made.counts.discovery), (20, discovery));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// The plan is the same with memory for a few candidates, so that nearly all are spilled.
    /// Nothing is left on the disk. At most two runs are open for each order and the plan.
    #[test]
    fn whatever_is_spilled_the_plan_is_the_same(
        request in requests(),
        pages in pages(400),
        scores in prop::collection::vec(prop::sample::select(vec![0.0, -0.0, 1.0, 2.5, -3.0, f64::NAN, f64::INFINITY]), 400),
        hosts in prop::collection::vec(1u64..80, 0..12),
        bytes in prop_oneof![Just(0), 0u64..4000],
    ) {
        let mut left = pages.len() as u64;
        let mut hosts: Vec<u64> = hosts.into_iter().map(|length| { let length = length.min(left); left -= length; length }).collect();
        hosts.push(left);
        let spill = MemorySpill::default();
        let memory = PlanMemory::new(bytes, Box::new(spill.clone()));
        let made = plan_within(memory, &request, &mut ListedScores(scores.clone()), &pages, &hosts, 30).unwrap();
        assert_same(&made, &by_definition(&request, &scores, &pages, &hosts));
        let shelved = spill.0.borrow();
        prop_assert!(shelved.runs.is_empty() && shelved.open == 0, "{} runs are left", shelved.runs.len());
        prop_assert!(shelved.most_open <= 8, "{} runs at a time", shelved.most_open);
    }

    /// Of each group of siblings, only the best page competes by score.
    #[test]
    fn a_sample_of_siblings_is_the_best_page_of_each_group(
        request in requests(),
        pages in pages(100),
        scores in prop::collection::vec(prop::sample::select(vec![0.0, -0.0, 1.0, 2.5, f64::NAN]), 100),
        (front, block) in (0u64..100, 1usize..100),
    ) {
        let request = PlanRequest { samples_siblings: true, ..request };
        let front = front.min(pages.len() as u64);
        let hosts = [front, pages.len() as u64 - front];
        let made = plan(&request, &mut ListedScores(scores.clone()), &pages, &hosts, block).unwrap();
        assert_same(&made, &by_definition_in_blocks(&request, &scores, &pages, &hosts, block, &[]));
    }

    /// Pages that are due first are visited whatever their score, within the limits of hosts, in places of k.
    #[test]
    fn what_is_due_first_comes_before_all_but_the_warm_up(
        request in requests(),
        pages in pages(100),
        scores in prop::collection::vec(prop::sample::select(vec![0.0, 1.0, 2.5, f64::NAN]), 100),
        first in prop::collection::vec((0u64..100, any::<bool>()), 0..20),
        (front, block) in (0u64..100, 1usize..100),
    ) {
        let front = front.min(pages.len() as u64);
        let hosts = [front, pages.len() as u64 - front];
        let why = |is_panel| if is_panel { WhyFirst::Panel } else { WhyFirst::Promised };
        let first: Vec<_> = first.into_iter().map(|(ordinal, is)| DueFirst { ordinal, why: why(is) }).collect();
        let mut policy = ListedScores(scores.clone());
        let planner = Planner::new(request.clone(), &mut policy, hosts.into_iter(), PlanMemory::unlimited()).unwrap();
        let made = crate::testing::scan(planner.due_first(first.clone()), &pages, block).unwrap();
        assert_same(&made, &by_definition_in_blocks(&request, &scores, &pages, &hosts, pages.len().max(1), &first));
    }

    /// What the population of the sample is expected to show is the sum over its pages, each by its own history.
    #[test]
    fn expected_changes_are_those_of_the_population(request in requests(), pages in pages(60), block in 1usize..60) {
        let request =
            PlanRequest { sums_expected: true, max_per_host: None, max_per_host_in_round: None, ..request };
        let mut policy = ListedScores(vec![0.0; 60]);
        let hosts = std::iter::empty::<u64>();
        let mut planner = Planner::new(request.clone(), &mut policy, hosts, PlanMemory::unlimited()).unwrap();
        pages.chunks(block).try_for_each(|pages| planner.scan(&columns(pages))).unwrap();
        let found = planner.finish().unwrap().expected;
        let mut expected = crate::ExpectedChanges::default();
        let formula = recrawl_formula::Formula::from_expression("p_eb").unwrap().compile();
        for page in &pages {
            let columns = columns(std::slice::from_ref(page));
            if crate::Gate::of_row(&columns, 0, request.cycle, request.warmup) == crate::Gate::Revisit {
                let mut probability = Vec::new();
                formula.evaluate(&columns, request.cycle, &mut probability);
                expected.add(probability[0]);
            }
        }
        prop_assert!((found.changes - expected.changes).abs() < 1e-9 && (found.variance - expected.variance).abs() < 1e-9);
    }

    /// One pass with bounded memory makes the plan of the definition, for any request, blocks and
    /// hosts. No host exceeds its limit.
    #[test]
    fn one_pass_equals_the_definition(
        request in requests(),
        pages in pages(400),
        scores in prop::collection::vec(prop::sample::select(vec![0.0, -0.0, 1.0, 2.5, -3.0, f64::NAN, f64::INFINITY]), 400),
        cuts in prop::collection::vec(0usize..400, 0..12),
        block in 1usize..200,
    ) {
        let mut ends: Vec<usize> = cuts.into_iter().map(|c| c.min(pages.len())).chain([pages.len()]).collect();
        ends.sort_unstable();
        let hosts: Vec<u64> = std::iter::once(0).chain(ends.iter().copied()).zip(&ends).map(|(a, b)| (b - a) as u64).collect();

        let made = plan(&request, &mut ListedScores(scores.clone()), &pages, &hosts, block).unwrap();
        assert_same(&made, &by_definition(&request, &scores, &pages, &hosts));

        let mut start = 0;
        for length in hosts {
            let of_host = made.chosen.iter().filter(|c| (start..start + length).contains(&c.0)).count() as u64;
            prop_assert!(request.max_per_host.is_none_or(|limit| of_host <= limit));
            start += length;
        }
        let c = made.counts;
        let due = c.discovery_due + c.warmup_due + c.revisit_due;
        prop_assert_eq!(c.gone + c.refused + c.backing_off + c.visited + due, c.pages);
        prop_assert!(c.score + c.announced + c.discovery + c.audit <= request.pages + request.discovery_min);
        prop_assert_eq!(c.score + c.announced + c.discovery + c.audit + c.warmup, made.chosen.len() as u64);
    }
}
