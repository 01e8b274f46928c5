//! Floors on recorded sites: the real changes that a learned floor suppresses.
//!
//! The recorded pages have no noise, so a perfect rule would never give them a floor.

use crate::recorded::{Page, Set};
use crate::{Prints, percent};
use recrawl_change::detector::{ChosenDetector, ContentComparison};
use recrawl_change::noise::remember;
use recrawl_change::{Compared, LastComparisons, NoiseFloor, NoiseTally};
use recrawl_types::{Content, Cycle, History, Share, Visited};
use std::collections::HashMap;

/// Cycles in which every page is visited, after the first.
const WARM_UP: u32 = 2;

/// Selection of the pages of a cycle.
#[derive(Clone, Copy)]
enum Policy {
    /// Each page every twentieth cycle.
    Turns,
    /// The 5 % of pages with the highest t·(X + 0.1)/(n + 1).
    Score,
}

/// Record of a page.
#[derive(Clone)]
struct State<'s> {
    page: &'s Page,
    site: usize,
    seen: &'s Prints,
    visited: Visited,
}

/// Table: real changes that a detector with floors misses.
pub fn print_table(sets: &[Set]) {
    println!("## Floors on recorded sites: suppressed real changes\n");
    println!(
        "| set | site | policy | features | changes found | suppressed by the floors alone | suppressed | sites | with a floor |"
    );
    println!("|---|---|---|---|--:|--:|--:|--:|--:|");
    for set in sets {
        for (site, sites) in [("group", None), ("one of 16 hosts", Some(16))] {
            for (policy, policy_name) in [(Policy::Turns, "in turn"), (Policy::Score, "by score")] {
                for (features, features_name) in [(0, "words"), (1, "3 words")] {
                    let alone = replay(set, sites, policy, features, false);
                    let row = replay(set, sites, policy, features, true);
                    println!(
                        "| {} | {site} | {policy_name} | {features_name} | {} | {:.2} % | {:.2} % | {} | {} |",
                        set.name,
                        row.met,
                        percent(alone.swallowed, alone.met),
                        percent(row.swallowed, row.met),
                        row.sites,
                        row.noisy
                    );
                }
            }
        }
    }
    println!();
}

struct Row {
    met: u64,
    swallowed: u64,
    sites: usize,
    noisy: usize,
}

/// With `by_page`, a floor does not judge a page whose own visits are quiet.
fn replay(set: &Set, sites: Option<u64>, policy: Policy, features: usize, by_page: bool) -> Row {
    let mut names = HashMap::new();
    let mut states: Vec<State> = Vec::new();
    for page in set.pages.iter().filter(|p| p.first == 0 && p.last == set.last) {
        let name = match sites {
            None => page.group.clone(),
            Some(n) => (hash(&page.group) % n).to_string(),
        };
        let next = names.len();
        let site = *names.entry(name).or_insert(next);
        let visited = Visited { history: History::first_fetch(Cycle(0)), content: Content::default() };
        states.push(State { page, site, seen: page.at(0), visited });
    }
    let mut floors = vec![NoiseFloor::default(); names.len()];
    let mut ever = vec![false; names.len()];
    let mut row = Row { met: 0, swallowed: 0, sites: names.len(), noisy: 0 };
    for cycle in 1..=set.last {
        let mut tallies = vec![NoiseTally::default(); names.len()];
        let (share, chosen) = choose(&states, cycle, policy);
        for i in chosen {
            let state = &mut states[i];
            let now = state.page.at(cycle);
            let equal = now.equal(state.seen);
            let distance = now.distances(state.seen)[features];
            let is_quiet = by_page && LastComparisons::from_visited(&state.visited).are_quiet();
            let comparison = ContentComparison {
                digest_equal: equal,
                distance,
                max_distance: 0,
                floor: floors[state.site].floor().filter(|_| !is_quiet),
            };
            let changed = ChosenDetector::DEFAULT.changed(&comparison);
            row.met += u64::from(!equal);
            row.swallowed += u64::from(!equal && !changed);
            let Visited { history, content } = &mut state.visited;
            tallies[state.site].observe(share, cycle - history.last.0, equal, distance);
            state.seen = now;
            let found = match (equal, changed) {
                (true, _) => Compared::Equal,
                (_, true) => Compared::Changed,
                _ => Compared::WithinNoise,
            };
            content.within_noise = remember(content.within_noise, found);
            history.record(Cycle(cycle), changed);
        }
        for ((floor, tally), ever) in floors.iter_mut().zip(&tallies).zip(&mut ever) {
            floor.fold(tally);
            *ever |= floor.floor().is_some();
        }
    }
    row.noisy = ever.iter().filter(|e| **e).count();
    row
}

fn choose(states: &[State], cycle: u32, policy: Policy) -> (Share, Vec<usize>) {
    if cycle <= WARM_UP {
        return (Share::Warmup, (0..states.len()).collect());
    }
    match policy {
        Policy::Turns => {
            (Share::Audit(0.05), (0..states.len()).filter(|i| *i as u32 % 20 == cycle % 20).collect())
        }
        Policy::Score => {
            let score = |s: &State| {
                let h = &s.visited.history;
                f64::from(cycle - h.last.0) * (f64::from(h.changes) + 0.1) / (f64::from(h.visits) + 1.0)
            };
            let mut order: Vec<usize> = (0..states.len()).collect();
            order.sort_by(|a, b| score(&states[*b]).total_cmp(&score(&states[*a])).then(a.cmp(b)));
            order.truncate((states.len() / 20).max(1));
            (Share::Score, order)
        }
    }
}

/// FNV-1a: the same sites in every run.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}
