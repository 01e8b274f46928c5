//! The rules, case by case.

use super::*;
use proptest::prelude::*;

/// Folds one cycle of comparisons after an interval of one cycle; `None` is an equal one.
fn cycle(floor: &mut NoiseFloor, comparisons: impl IntoIterator<Item = Option<u32>>) {
    let mut tally = NoiseTally::default();
    for comparison in comparisons {
        tally.observe(Share::Warmup, 1, comparison.is_none(), comparison.unwrap_or(0));
    }
    floor.fold(&tally);
}

/// Twenty comparisons with small differences, like noise.
fn noise() -> impl Iterator<Item = Option<u32>> {
    [1, 2, 3, 3, 4].into_iter().cycle().take(20).map(Some)
}

fn clean() -> impl Iterator<Item = Option<u32>> {
    std::iter::repeat_n(None, 20)
}

#[test]
fn a_new_noisy_site_has_its_floor_after_two_cycles() {
    let mut floor = NoiseFloor::default();
    cycle(&mut floor, noise());
    assert_eq!(floor.floor(), None);
    cycle(&mut floor, noise());
    assert_eq!(floor.floor(), Some(6));
}

#[test]
fn small_sites_need_as_many_comparisons() {
    let mut floor = NoiseFloor::default();
    for _ in 1..MIN_SEEN {
        cycle(&mut floor, [Some(0)]);
        assert_eq!(floor.floor(), None);
    }
    cycle(&mut floor, [Some(0)]);
    assert_eq!(floor.floor(), Some(0));
}

#[test]
fn a_clean_site_has_none_and_a_burst_of_changes_makes_none() {
    let mut floor = NoiseFloor::default();
    for _ in 0..10 {
        cycle(&mut floor, clean());
        assert_eq!(floor.floor(), None);
    }
    for burst in 1..=4 {
        cycle(&mut floor, noise());
        assert_eq!(floor.floor(), None, "after {burst} cycles of nothing but changes");
    }
    // Lasting noise is learned.
    for _ in 0..4 {
        cycle(&mut floor, noise());
    }
    assert_eq!(floor.floor(), Some(6));
}

#[test]
fn where_noise_stops_the_floor_goes() {
    let mut floor = NoiseFloor::default();
    (0..20).for_each(|_| cycle(&mut floor, noise()));
    assert!(floor.floor().is_some());
    cycle(&mut floor, clean());
    cycle(&mut floor, clean());
    assert_eq!(floor.floor(), None);
}

#[test]
fn a_lively_site_without_noise_has_none() {
    // A third of its pages do not change.
    let mut floor = NoiseFloor::default();
    for _ in 0..20 {
        cycle(&mut floor, noise().zip(0..).map(|(d, i)| d.filter(|_| i % 3 > 0)));
        assert_eq!(floor.floor(), None);
    }
    // All of them are rewritten.
    let mut floor = NoiseFloor::default();
    for _ in 0..20 {
        cycle(&mut floor, (0..20).map(|i| Some(5 + i)));
        assert_eq!(floor.floor(), None);
    }
}

#[test]
fn real_changes_on_a_noisy_site_do_not_raise_its_floor_above_them() {
    let mut floor = NoiseFloor::default();
    for _ in 0..20 {
        let changes = std::iter::repeat_n(Some(15), 8);
        cycle(&mut floor, noise().chain(changes));
    }
    assert!(floor.floor().is_some_and(|f| f < 15), "{:?}", floor.floor());
}

#[test]
fn rare_equals_leave_a_floor() {
    // One advertisement in ten comes twice in a row.
    let mut floor = NoiseFloor::default();
    for _ in 0..20 {
        cycle(&mut floor, noise().zip(0..).map(|(d, i)| d.filter(|_| i % 10 > 0)));
    }
    assert!(floor.floor().is_some());
}

#[test]
fn differences_after_a_long_time_and_on_chosen_pages_say_little() {
    let learn = |share, cycles| {
        let mut floor = NoiseFloor::default();
        for _ in 0..4 {
            let mut tally = NoiseTally::default();
            (0..4).for_each(|_| tally.observe(share, cycles, false, 2));
            floor.fold(&tally);
        }
        floor.floor()
    };
    assert_eq!(learn(Share::Warmup, 1), Some(4));
    assert_eq!(learn(Share::Audit(0.1), 1), Some(4));
    assert_eq!(learn(Share::Score, 1), None);
    assert_eq!(learn(Share::Warmup, 20), None);
}

fn comparison() -> impl Strategy<Value = (bool, u32, bool, u32)> {
    (any::<bool>(), 0u32..400, prop::bool::weighted(0.1), 0u32..65)
}

fn tally(comparisons: &[(bool, u32, bool, u32)]) -> NoiseTally {
    let mut tally = NoiseTally::default();
    for &(chosen, cycles, equal, distance) in comparisons {
        let share = if chosen { Share::Score } else { Share::Warmup };
        tally.observe(share, cycles, equal, distance);
    }
    tally
}

proptest! {
    #[test]
    fn the_order_within_a_cycle_does_not_matter(
        comparisons in proptest::collection::vec(comparison(), 0..40),
        shuffled in any::<u64>(),
    ) {
        let mut other = comparisons.clone();
        let len = other.len().max(1);
        other.rotate_left(shuffled as usize % len);
        other.reverse();
        prop_assert_eq!(tally(&comparisons), tally(&other));
        prop_assert_eq!(tally(&comparisons).is_empty(), comparisons.is_empty());
    }

    #[test]
    fn it_stays_bounded_and_comes_back_from_disk(
        cycles in proptest::collection::vec(proptest::collection::vec(comparison(), 0..80), 0..20)
    ) {
        let mut floor = NoiseFloor::default();
        for comparisons in &cycles {
            floor.fold(&tally(comparisons));
            prop_assert!(floor.total() <= MEMORY * FULL);
            prop_assert!(floor.floor().is_none_or(|f| f <= 10));
        }
        let text = serde_json::to_string(&floor).unwrap();
        prop_assert!(text.len() < 200);
        prop_assert_eq!(serde_json::from_str::<NoiseFloor>(&text).unwrap(), floor);
    }
}
