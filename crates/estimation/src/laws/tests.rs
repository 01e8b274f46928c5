use super::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

fn gaps(cycles: u32, changed: bool, count: u32) -> Gaps {
    Gaps { cycles, changed, count }
}

/// A distribution that holds one law alone.
fn only(place: usize) -> Weights {
    let mut weights = [0.0; LAWS];
    weights[place] = 1.0;
    Weights(weights)
}

/// The spells of a chance of .95, 5 cycles long, 21 cycles apart.
const OF_SPELLS: usize = RATES + 2 * LENGTHS.len() * RESTS.len() + RESTS.len() + 1;

#[test]
fn likelihoods_are_those_of_the_gaps() {
    // Checked by scripts/check-estimation.py, which enumerates all courses of a page.
    let laws = Laws::up_to(30);
    let earlier = vec![gaps(3, true, 2), gaps(1, false, 4), gaps(30, true, 1), gaps(7, false, 1)];
    let page = Visited { earlier, gaps: vec![(2, true), (3, false), (1, true), (4, true)] };
    let likelihood = laws.likelihood(&page);
    let ratio = likelihood[OF_SPELLS] / likelihood[20];
    assert!((ratio / 1.058_537_394_117_856 - 1.0).abs() < 1e-9, "{ratio:.17}");
    let behind = laws.changes_behind(&page, &only(OF_SPELLS));
    assert!((behind / 5.439_669_659_854_895_5 - 1.0).abs() < 1e-9, "{behind:.17}");
    assert_eq!(laws.likelihood(&Visited::default()), [1.0; LAWS]);
    // A gap that is put together is the same gap.
    let page = Visited { gaps: vec![(399, true)], ..page };
    let [long, short] = [400, 3].map(|cycles| Laws::up_to(cycles).likelihood(&page));
    assert!(long.iter().zip(short).all(|(long, short)| (long - short).abs() < 1e-12));
}

#[test]
fn a_steady_law_has_its_closed_form() {
    let laws = Laws::up_to(40);
    for (place, cycles) in [(3, 40), (20, 6), (31, 2)] {
        let step = (FASTEST / SLOWEST).ln() / (RATES - 1) as f64;
        let rate = SLOWEST * (step * place as f64).exp();
        let (once, ever) = (-(-rate).exp_m1(), -(-rate * f64::from(cycles)).exp_m1());
        let page = Visited { earlier: Vec::new(), gaps: vec![(cycles, true)] };
        let behind = laws.changes_behind(&page, &only(place));
        assert!((behind - f64::from(cycles) * once / ever).abs() < 1e-9, "{behind}");
        assert!((laws.rate(&only(place)) - once).abs() < 1e-12);
    }
}

#[test]
fn drawn_changes_are_those_of_the_law_and_of_the_visits() {
    let laws = Laws::up_to(12);
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for place in [14, 22, OF_SPELLS, LAWS - 1] {
        let page = Visited { earlier: Vec::new(), gaps: vec![(4, true), (3, false), (5, true)] };
        let (mut behind, mut ahead) = (0u32, 0u32);
        const DRAWS: u32 = 40_000;
        for _ in 0..DRAWS {
            let (mut last, mut in_gaps) = (0, [0u32; 4]);
            laws.draw(&page, &only(place), 6, &mut random, |cycle| {
                assert!(cycle > last && cycle <= 18, "{cycle} after {last}");
                last = cycle;
                in_gaps[[4, 7, 12].iter().filter(|end| cycle > **end).count()] += 1;
            });
            assert!(in_gaps[0] > 0 && in_gaps[1] == 0 && in_gaps[2] > 0, "{in_gaps:?}");
            behind += in_gaps[2];
            ahead += in_gaps[3];
        }
        // Of the last gap all is known that comes before it, so the mean is that of `changes_behind`.
        let until = |gaps: usize| Visited { earlier: Vec::new(), gaps: page.gaps[..gaps].to_vec() };
        let of = |gaps: usize| laws.changes_behind(&until(gaps), &only(place));
        let mean = f64::from(behind) / f64::from(DRAWS);
        assert!((mean - (of(3) - of(2))).abs() < 0.03, "law {place}: {mean} for {}", of(3) - of(2));
        let likelihood = |gaps: &[(u32, bool)]| {
            let page = Visited { earlier: Vec::new(), gaps: gaps.to_vec() };
            let mut states = laws.laws[place].states();
            for &(cycles, changed) in &page.gaps {
                let reached = after(states, &laws.gap(place, cycles).found(changed));
                states = reached.map(|state| state / sum(reached));
            }
            sum(after(states, &laws.gap(place, 6).changes))
        };
        let mean = f64::from(ahead) / f64::from(DRAWS);
        assert!((mean - likelihood(&page.gaps)).abs() < 0.05, "law {place}: {mean} ahead");
    }
}

#[test]
fn the_prior_is_that_of_the_pages() {
    // A third of the pages change at 0.3 a cycle, the others at 0.01; gaps of 1 to 20 cycles, 60 visits each.
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let laws = Laws::up_to(20);
    let mut page = |rate: f64| {
        let mut visit = |_| {
            let cycles = random.random_range(1..=20);
            (cycles, random.random_bool(1.0 - (-rate * f64::from(cycles)).exp()))
        };
        laws.likelihood(&Visited { earlier: Vec::new(), gaps: (0..60).map(&mut visit).collect() })
    };
    let pages: Vec<_> =
        (0..900).map(|number| (page(if number % 3 == 0 { 0.3 } else { 0.01 }), 1.0)).collect();
    let prior = Weights::fit(&pages);
    let chances = [0.3f64, 0.01].map(|rate| -(-rate).exp_m1());
    let mean = (chances[0] + 2.0 * chances[1]) / 3.0;
    assert!((laws.rate(&prior) - mean).abs() < 0.005, "{}", laws.rate(&prior));
    let in_spells: f64 = prior.0[RATES..].iter().sum();
    assert!(in_spells < 0.1, "{in_spells} of steady pages");
    assert_eq!(Weights::fit(&[]), Weights::unknown());
}

/// Pages changed at a steady rate, or in spells of a fixed length, which is no law of the grid; visited after gaps of 1 to
/// 30 cycles, or in each cycle of a spell as a crawl does that follows changes. Returns the missed changes told, over
/// the true ones.
fn told(in_spells: bool, seed: u64) -> f64 {
    const CYCLES: usize = 200;
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let laws = Laws::up_to(30);
    let mut pages = Vec::new();
    for _ in 0..2000 {
        let rate = 0.3f64.powf(1.0 + 3.0 * random.random::<f64>());
        let mut truth = [false; CYCLES];
        let mut left = 0;
        for changes in &mut truth {
            if left == 0 && random.random_bool((rate / 5.0).min(0.5)) {
                left = 10;
            }
            let chance = match (in_spells, left > 0) {
                (false, _) => 1.0 - (-rate).exp(),
                (true, true) => 0.6,
                (true, false) => 0.0,
            };
            left = u32::saturating_sub(left, 1);
            *changes = random.random_bool(chance);
        }
        let (mut visits, mut changes, mut last) = (Vec::new(), 0, 0);
        while last < CYCLES {
            let just_changed = visits.last().is_some_and(|(_, changed)| *changed);
            let longest = if just_changed { 4 } else { 30 };
            let cycles = random.random_range(1..=longest).min(CYCLES - last);
            let behind = truth[last..last + cycles].iter().filter(|changed| **changed).count();
            visits.push((cycles as u32, behind > 0));
            changes += behind.saturating_sub(1);
            last += cycles;
        }
        pages.push((Visited { earlier: Vec::new(), gaps: visits }, changes));
    }
    let likelihoods: Vec<_> = pages.iter().map(|(page, _)| (laws.likelihood(page), 1.0)).collect();
    let prior = Weights::fit(&likelihoods);
    let (mut truth, mut told) = (0.0, 0.0);
    for ((page, changes), (likelihood, _)) in pages.iter().zip(&likelihoods) {
        let found = page.gaps.iter().filter(|(_, changed)| *changed).count() as f64;
        told += laws.changes_behind(page, &prior.posterior(likelihood)) - found;
        truth += *changes as f64;
    }
    told / truth
}

#[test]
fn missed_changes_are_told_also_where_they_come_in_spells() {
    for (in_spells, name, error) in [(false, "steady", 0.05), (true, "spells", 0.15)] {
        let told: Vec<f64> = (0..6).map(|seed| told(in_spells, seed)).collect();
        println!("{name}: {told:.3?}");
        let mean = told.iter().sum::<f64>() / told.len() as f64;
        assert!((mean - 1.0).abs() < error, "{name}: {mean}");
    }
}
