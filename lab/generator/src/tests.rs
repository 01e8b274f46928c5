use super::*;
use recrawl_formula::Basis;
use recrawl_simulation::policy::ReplayPolicyKind;
use recrawl_simulation::{Rules, Truth, replay};

/// Many small sites, so that no single one decides a figure.
fn small() -> Recipe {
    Recipe { pages: 6000, sites: 1500, cycles: 56, returns: 0.0, ..Recipe::default() }
}

/// Changes per page and cycle.
fn rate(truth: &Truth) -> f64 {
    let changes: u64 = truth.changes().iter().map(|&changes| u64::from(changes)).sum();
    changes as f64 / (truth.pages() as f64 * f64::from(truth.cycles()))
}

/// Changed pages on each of the seven days of a week that begins with cycle 0.
fn week(data: &Dataset) -> [usize; 7] {
    std::array::from_fn(|day| {
        (1..=data.truth.cycles())
            .filter(|c| *c as usize % 7 == day)
            .map(|c| data.truth.changed_in(c).len())
            .sum()
    })
}

#[test]
fn the_same_recipe_gives_the_same_on_every_machine() {
    let data = generate(&Recipe { pages: 300, sites: 20, ..Recipe::default() }).unwrap();
    assert_eq!(data.digest(), "4e8debf11273fef432a1841c09ec02a7");
    let other = generate(&Recipe { pages: 300, sites: 20, seed: 1, ..Recipe::default() }).unwrap();
    assert_ne!(other.digest(), data.digest());
}

#[test]
fn pages_sites_and_days_are_those_asked_for() {
    let data = generate(&Recipe { start: "2024-02-28".into(), ..small() }).unwrap();
    assert_eq!((data.pages.len(), data.sites.len(), data.truth.cycles()), (6000, 1500, 56));
    assert_eq!(
        (data.dates.len(), data.dates[1].as_str(), data.dates[2].as_str()),
        (57, "2024-02-29", "2024-03-01")
    );
    assert_eq!(data.fixed().len(), 6000);
    assert!(data.pages.is_sorted_by_key(|page| page.site), "the pages of a site lie together");
    let mut urls: Vec<&str> = data.pages.iter().map(|page| &*page.url).collect();
    urls.sort_unstable();
    urls.dedup();
    assert_eq!(urls.len(), 6000);
}

#[test]
fn the_shape_of_brdc12_is_that_of_the_papers() {
    let recipe = Recipe::brdc12();
    let sizes = sites::sizes(&recipe);
    assert_eq!(sizes.len(), 7_171);
    assert_eq!(sizes.iter().sum::<u32>(), 417_048);
    assert_eq!((sizes.iter().min(), sizes.iter().max()), (Some(&1), Some(&2_336)));
    assert_eq!((recipe.cycles, recipe.returns), (57, 0.0));
}

#[test]
fn sizes_keep_within_their_bounds() {
    for (pages, sites, most) in [(1, 1, 1), (5, 5, 1), (10, 5, 2), (1000, 3, 2336), (999, 500, 2), (7, 2, 6)]
    {
        let recipe = Recipe { pages, sites, site_pages_max: most, ..Recipe::default() };
        let sizes = sites::sizes(&recipe);
        assert_eq!((sizes.len(), sizes.iter().sum::<u32>()), (sites as usize, pages));
        assert!(sizes.iter().all(|size| (1..=most).contains(size)), "{pages} {sites} {most}: {sizes:?}");
    }
}

#[test]
fn rates_are_heavy_tailed_and_shared_by_sites() {
    let data = generate(&small()).unwrap();
    assert!((0.05..0.10).contains(&rate(&data.truth)), "{}", rate(&data.truth));
    let mut changes = data.truth.changes();
    let never = changes.iter().filter(|&&c| c == 0).count();
    assert!((3500..4600).contains(&never), "{never} never change");
    // Two pages of one site are more alike than two of different sites.
    let alike = |step: usize, same: bool| {
        let pairs: Vec<bool> = (0..6000 - step)
            .filter(|&p| (data.pages[p].site == data.pages[p + step].site) == same)
            .map(|p| (changes[p] > 0) == (changes[p + step] > 0))
            .collect();
        pairs.iter().filter(|&&alike| alike).count() as f64 / pairs.len() as f64
    };
    let (within, between) = (alike(1, true), alike(1500, false));
    assert!(within > between + 0.05, "{within} within sites, {between} between");
    changes.sort_unstable_by(|a, b| b.cmp(a));
    let share = changes[..300].iter().sum::<u32>() as f64 / changes.iter().sum::<u32>() as f64;
    assert!((0.35..0.75).contains(&share), "{share} of the changes on one page in twenty");
}

#[test]
fn a_share_of_pages_is_still_and_a_share_fast() {
    let recipe = Recipe { still: 0.5, fast: 0.5, fast_rate: 3.0, burst: 0.0, quiet: 0.0, ..small() };
    let data = generate(&recipe).unwrap();
    let changes = data.truth.changes();
    let still = changes.iter().filter(|&&c| c == 0).count();
    assert!((2700..3300).contains(&still), "{still}");
    let mean = changes.iter().sum::<u32>() as f64 / (6000 - still) as f64 / 56.0;
    assert!((mean - 0.950).abs() < 0.005, "1 − e^−3 of the cycles: {mean}");
}

#[test]
fn the_weekend_is_quiet() {
    // Cycle 0 is a Monday.
    let week_of =
        |quiet, shifted| week(&generate(&Recipe { quiet, shifted, quiet_rate: 0.2, ..small() }).unwrap());
    let [_, tuesday, _, _, friday, saturday, sunday] = week_of(1.0, 0.0);
    assert!(saturday * 3 < friday * 2 && sunday * 3 < tuesday * 2, "{saturday} {sunday} of {friday}");
    let spread = |week: [usize; 7]| *week.iter().max().unwrap() as f64 / *week.iter().min().unwrap() as f64;
    assert!(spread(week_of(0.0, 0.0)) < 1.15);
    assert!(spread(week_of(1.0, 1.0)) < spread(week_of(1.0, 0.0)));
}

#[test]
fn an_edit_makes_more_edits_likely() {
    // How much likelier a change is the day after one; all pages have one rate, so that nothing
    // else matters.
    let ratio = |burst| {
        let one_rate =
            Recipe { still: 0.0, fast: 1.0, fast_rate: 0.1, quiet: 0.0, burst, burst_length: 4.0, ..small() };
        let data = generate(&one_rate).unwrap();
        let (mut after, mut again) = (0, 0);
        for cycle in 1..data.truth.cycles() {
            let next = data.truth.changed_in(cycle + 1);
            after += data.truth.changed_in(cycle).len();
            again +=
                data.truth.changed_in(cycle).iter().filter(|page| next.binary_search(page).is_ok()).count();
        }
        (again as f64 / after as f64) / rate(&data.truth)
    };
    let (without, with) = (ratio(0.0), ratio(0.25));
    assert!((0.9..1.1).contains(&without), "{without}");
    assert!(with > 1.8, "{with}");
}

#[test]
fn signals_have_the_precision_and_recall_asked_for() {
    // Of pages that change in most cycles, many false signals meet a change.
    let small = || Recipe { fast: 0.0, mu: -4.0, sigma: 0.5, burst: 0.0, ..small() };
    let plain = generate(&small()).unwrap();
    assert!(plain.signals.is_empty());
    for (signal_precision, signal_recall) in [(1.0, 1.0), (0.9, 0.3), (0.3, 0.9)] {
        let data = generate(&Recipe { signal_precision, signal_recall, ..small() }).unwrap();
        assert_eq!(data.truth, plain.truth, "signals leave the changes as they are");
        assert_eq!(generate(&Recipe { signal_precision, signal_recall, ..small() }).unwrap(), data);
        let (mut right, mut changes) = (0, 0);
        for cycle in 1..=data.truth.cycles() {
            let changed = data.truth.changed_in(cycle);
            changes += changed.len();
            right += data
                .signals
                .in_cycle(cycle)
                .iter()
                .filter(|page| changed.binary_search(page).is_ok())
                .count();
        }
        let recall = right as f64 / changes as f64;
        let precision = right as f64 / data.signals.count() as f64;
        assert!((recall - signal_recall).abs() < 0.02, "{recall} for {signal_recall}");
        assert!((precision - signal_precision).abs() < 0.03, "{precision} for {signal_precision}");
    }
}

#[test]
fn pages_of_a_folder_change_together() {
    let recipe = |folder_bursts| Recipe { pages: 2000, sites: 20, folder_bursts, ..small() };
    let data = generate(&recipe(0.02)).unwrap();
    assert_eq!(generate(&recipe(0.02)).unwrap(), data);
    let folder = |page: usize| data.pages[page].url.rsplit_once('/').unwrap().0;
    let plain = generate(&recipe(0.0)).unwrap();
    // Pages change as without folders, and besides with their folder.
    let rises =
        (1..=56).all(|c| plain.truth.changed_in(c).iter().all(|p| data.truth.changed_in(c).contains(p)));
    assert!(rises && rate(&data.truth) > rate(&plain.truth));
    // How much likelier a page changes if its neighbour does, that has the same folder or the same site.
    let likelier = |data: &Dataset, same: bool| {
        let (mut pairs, mut both, mut changed) = (0, 0, 0);
        for cycle in 1..=56 {
            let now = data.truth.changed_in(cycle);
            for page in (1..2000).filter(|&p| (folder(p) == folder(p - 1)) == same) {
                let is = |page: usize| now.binary_search(&(page as u32)).is_ok();
                (pairs, changed) = (pairs + 1, changed + i32::from(is(page)));
                both += i32::from(is(page) && is(page - 1));
            }
        }
        f64::from(both) * f64::from(pairs) / f64::from(changed) / f64::from(changed)
    };
    let (folders, sites) = (likelier(&data, true), likelier(&plain, true));
    assert!(folders > 1.2 * sites, "{folders} for {sites}");
}

#[test]
fn siblings_tell_of_bursts_of_folders() {
    // Rates are alike, so that only folders tell pages apart.
    let recipe = |folder_bursts| Recipe {
        pages: 2000,
        sites: 20,
        still: 0.0,
        fast: 0.0,
        mu: -6.0,
        sigma: 0.5,
        burst: 0.0,
        folder_bursts,
        ..small()
    };
    let found = |folder_bursts, name: &str| {
        let data = generate(&recipe(folder_bursts)).unwrap();
        let mut policy = ReplayPolicyKind::named(name).unwrap().build(&data, Basis::Visits);
        let trace = replay::run(&data, &Rules::default(), &mut *policy).unwrap();
        trace.cycles.iter().map(|cycle| cycle.changed).sum::<u64>() as f64
    };
    let (with, without) = (found(0.02, "p_burst"), found(0.02, "p_site"));
    assert!(with > 1.1 * without, "{with} for {without}");
    let (with, without) = (found(0.0, "p_burst"), found(0.0, "p_site"));
    assert!(with < 1.1 * without, "no folders: {with} for {without}");
}

#[test]
fn contents_come_back_as_often_as_asked() {
    let data = generate(&Recipe { returns: 0.3, fast: 0.3, ..small() }).unwrap();
    let (mut back, mut could) = (0u32, 0u32);
    let each = |_, changes: &[(u32, u16)]| {
        let mut known = 0;
        for &(_, version) in changes {
            could += u32::from(known > 0);
            back += u32::from(version <= known);
            known = known.max(version);
        }
        Ok::<(), ()>(())
    };
    data.truth.try_each_page(each).unwrap();
    let share = f64::from(back) / f64::from(could);
    assert!((share - 0.3).abs() < 0.02, "{share}");
}

#[test]
fn what_cannot_be_is_refused_and_says_why() {
    type Change = fn(&mut Recipe);
    let cases: [(Change, &str); 18] = [
        (|r| r.sites = 0, "0 sites"),
        (|r| r.pages = 1, "at least one page per site"),
        (|r| r.pages = 60_000_000, "at most 50000000"),
        (|r| r.site_pages_max = 2, "use more sites"),
        (|r| r.cycles = 0, "0 cycles"),
        (|r| r.cycles = 20_001, "20001 cycles"),
        (|r| (r.pages, r.cycles, r.sites) = (5_000_000, 1000, 50_000), "the maximum is"),
        (|r| r.still = -0.1, "still = -0.1"),
        (|r| (r.still, r.fast) = (0.6, 0.5), "still and fast = 1.1"),
        (|r| r.signal_recall = 0.5, "use both above 0, or neither"),
        (|r| r.signal_precision = 1.5, "signal_precision = 1.5"),
        (|r| r.folder_bursts = 1.5, "folder_bursts = 1.5"),
        (|r| r.folder_pages = 0, "folder_pages = 0"),
        (|r| r.mu = f64::NAN, "mu = NaN"),
        (|r| r.burst = 1.0, "burst = 1"),
        (|r| (r.burst, r.burst_length) = (0.9, 2.0), "burst_length = 2"),
        (|r| r.start = "tomorrow".into(), "start = \"tomorrow\""),
        (|r| r.start = "9999-12-31".into(), "start = \"9999-12-31\""),
    ];
    for (change, wants) in cases {
        let mut recipe = Recipe { sigma: 1.0, ..Recipe::default() };
        change(&mut recipe);
        let message = generate(&recipe).unwrap_err().to_string();
        assert!(message.contains(wants), "{wants}: {message}");
    }
    assert!(Recipe::named("brdc21").unwrap_err().to_string().contains("default, brdc12"));
}

#[test]
fn presets_can_be_followed() {
    for preset in PRESETS {
        assert!(Recipe::named(preset.name).unwrap().check().is_ok(), "{}", preset.name);
    }
}

#[test]
fn every_cycle_is_the_history_itself() {
    let recipe = Recipe { pages: 60, sites: 6, cycles: 40, ..Recipe::default() };
    let recipe = Recipe { signal_precision: 0.9, signal_recall: 0.5, ..recipe };
    let data = generate(&recipe).unwrap();
    assert_eq!(Dataset { name: data.name.clone(), ..data.every(1) }, data);
    // Policies see fewer visits, and not the history between them.
    let weeks = data.every(7);
    let mut age = ReplayPolicyKind::named("age").unwrap().build(&weeks, Basis::Visits);
    let trace = replay::run(&weeks, &Rules::default(), &mut *age).unwrap();
    assert_eq!(trace.cycles.len(), 3, "cycles 3 to 5");
}
