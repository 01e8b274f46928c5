//! The order of a host's pages: each once, by share and rank, with a bounded wait.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

fn due(share: Share, rank: u64, waiting: u32) -> DuePage {
    DuePage { share, rank, waiting, is_suspected: false }
}

#[test]
fn places_are_dealt_to_the_longest_wait_the_audit_and_the_best() {
    let pages = [
        due(Share::Score, 5, 9),
        due(Share::Score, 1, 1),
        due(Share::Audit(0.1), 4, 2),
        due(Share::Audit(0.1), 3, 1),
        due(Share::Discovery, 0, 1),
        due(Share::Score, 2, 1),
    ];
    assert_eq!(visit_order(&pages), [0, 3, 1, 2, 5, 4]);
    assert_eq!(visit_order(&[]), [] as [u32; 0]);
}

#[test]
fn promised_pages_come_first() {
    let pages = [
        due(Share::Score, 1, 9),
        due(Share::Promised, 7, 1),
        due(Share::Audit(0.1), 3, 9),
        due(Share::Promised, 4, 0),
    ];
    assert_eq!(visit_order(&pages), [3, 1, 0, 2]);
}

#[test]
fn shares_are_mixed_in_proportion_to_their_pages() {
    let score = (0..20).map(|rank| due(Share::Score, rank, 1));
    let discovery = (0..5).map(|rank| due(Share::Discovery, 1000 + rank, 1));
    let order = visit_order(&score.chain(discovery).collect::<Vec<_>>());
    for (count, part) in (1..).zip(order.chunks(5)) {
        let found = order[..count * 5].iter().filter(|page| **page >= 20).count();
        assert_eq!(found, count, "{part:?}");
    }
    let ranks: Vec<u32> = order.into_iter().filter(|page| *page < 20).collect();
    assert_eq!(ranks, (0..20).collect::<Vec<_>>(), "best first within a share");
}

fn shares() -> impl Strategy<Value = Share> {
    prop_oneof![
        5 => Just(Share::Score), 2 => Just(Share::Discovery), 1 => Just(Share::Warmup),
        1 => Just(Share::Announced), 2 => Just(Share::Audit(0.1)),
    ]
}

proptest! {
    #[test]
    fn each_page_comes_once_and_the_audit_early(pages in vec((shares(), 0u64..50, 0u32..9), 0..80)) {
        let pages: Vec<DuePage> = pages.into_iter().map(|(s, r, w)| due(s, r, w)).collect();
        let order = visit_order(&pages);
        let mut each = order.clone();
        each.sort_unstable();
        prop_assert_eq!(each, (0..pages.len() as u32).collect::<Vec<_>>());
        let is_audit = |page: &u32| matches!(pages[*page as usize].share, Share::Audit(_));
        let audits = order.iter().filter(|page| is_audit(page)).count();
        for count in 1..=order.len() {
            let met = order[..count].iter().filter(|page| is_audit(page)).count();
            prop_assert!(met >= (count / 2).min(audits), "{} of {} in {}", met, audits, count);
        }
    }

    /// Tests the bound in the module documentation. Everything except the waits is random in each
    /// cycle.
    #[test]
    fn no_page_waits_longer_than_the_bound(
        count in 1usize..40, room in 1usize..12, draws in vec((shares(), any::<u64>()), 2000),
    ) {
        let bound = count.div_ceil(room.div_ceil(4)) as u32;
        let (mut last, mut draws) = (vec![0u32; count], draws.into_iter().cycle());
        for cycle in 1..=3 * bound {
            let pages: Vec<DuePage> =
                last.iter().zip(&mut draws).map(|(last, (share, rank))| due(share, rank, cycle - last)).collect();
            for page in visit_order(&pages).into_iter().take(room) {
                last[page as usize] = cycle;
            }
            let longest = last.iter().map(|last| cycle - last).max().unwrap();
            prop_assert!(longest < bound.max(1), "{} of {} cycles with room for {} of {}", longest, bound, room, count);
        }
    }
}

#[test]
fn what_looks_like_a_trap_has_a_bounded_share_while_others_wait_and_no_bound_after() {
    let honest: Vec<DuePage> = (0..12).map(|rank| due(Share::Discovery, rank, 1)).collect();
    // The trap was found first, waits longest and has the best ranks.
    let trap: Vec<DuePage> =
        (0..40).map(|rank| DuePage { is_suspected: true, ..due(Share::Discovery, rank, 9) }).collect();
    let pages = [trap, honest].concat();
    let order = visit_order(&pages);
    let is_trap: Vec<bool> = order.iter().map(|page| pages[*page as usize].is_suspected).collect();
    assert_eq!(is_trap[..16], [false, false, false, true].repeat(4), "{order:?}");
    assert!(is_trap[16..].iter().all(|is_trap| *is_trap), "nothing else waits");
    assert_eq!(order.iter().collect::<std::collections::BTreeSet<_>>().len(), 52, "each once");
    let alone = visit_order(&pages[..40]);
    let plain: Vec<DuePage> =
        pages[..40].iter().map(|page| DuePage { is_suspected: false, ..*page }).collect();
    assert_eq!(alone, visit_order(&plain), "the order among themselves is as ever");
    // A promise is kept whatever its page looks like.
    let promised = DuePage { is_suspected: true, ..due(Share::Promised, 0, 1) };
    assert_eq!(visit_order(&[&pages[40..], &[promised]].concat())[0], 12);
}
