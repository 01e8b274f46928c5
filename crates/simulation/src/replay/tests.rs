use super::*;
use crate::dataset::tests::weighed;
use crate::policy::{ReplayFormula, ReplayPolicyKind};
use crate::testing::{datasets, rules};
use crate::{Budget, RecordedPage, Signals, Truth, metric};
use proptest::prelude::*;
use recrawl_formula::{Basis, Formula};
use recrawl_scheduler::{PlanMemory, PlanRequest, Planner, Ties};
use recrawl_types::{Share, StateColumns};
use std::collections::HashSet;

const LAST: u32 = 30;

fn formula(text: &str) -> ReplayFormula {
    ReplayFormula::new(&Formula::from_expression(text).unwrap())
}

/// Few distinct scores, so that many tie; some are NaN.
const FORMULA: &str = "log(n - 3) * X + pow(t - 3, 0.5)";

/// Records the calls that a policy gets.
struct Recorder {
    policy: ReplayFormula,
    visits: Vec<Vec<PolicyVisit>>,
    scored: Vec<(Cycle, u64, StateColumns, Vec<f64>)>,
}

impl Recorder {
    fn new(policy: ReplayFormula) -> Recorder {
        Recorder { policy, visits: Vec::new(), scored: Vec::new() }
    }
}

impl ReplayPolicy for Recorder {
    fn name(&self) -> &str {
        "recorder"
    }

    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        self.policy.score(observed, out);
        self.scored.push((observed.cycle(), observed.k(), observed.columns().clone(), out.clone()));
    }

    fn observe(&mut self, observed: &Observed, visits: &[PolicyVisit]) {
        assert!(observed.cycle().0 as usize <= self.visits.len(), "each cycle is observed");
        self.visits.push(visits.to_vec());
    }
}

/// Recorded scores, for a planner.
struct Listed(Vec<f64>);

impl recrawl_scheduler::Policy for Listed {
    fn name(&self) -> &str {
        "listed"
    }

    fn prepare(&mut self, _cycle: Cycle, _seed: u64) {}

    fn score(&self, _columns: &StateColumns, _first_ordinal: u64, out: &mut Vec<f64>) {
        out.clone_from(&self.0);
    }
}

/// A plan of revisits only.
fn request(cycle: Cycle, pages: u64, rules: &Rules) -> PlanRequest {
    PlanRequest {
        cycle,
        pages,
        discovery_share: 0.0,
        audit_share: 0.0,
        announced_share: 0.0,
        discovery_min: 0,
        warmup: rules.warmup,
        max_per_host: rules.per_site,
        max_per_host_in_round: None,
        samples_siblings: false,
        sums_expected: false,
        explore: 0.0,
        round: 0,
        seed: rules.seed,
        ties: rules.ties,
        policy: recrawl_scheduler::policy::PolicyKind::default(),
    }
}

/// The pages that the crawler's planner would visit, by their shares.
fn planned(
    data: &Dataset,
    rules: &Rules,
    scored: &(Cycle, u64, StateColumns, Vec<f64>),
) -> Vec<(u64, Share)> {
    let (cycle, k, columns, scores) = scored;
    let request = request(*cycle, *k, rules);
    let lengths =
        (0..data.sites.len() as u32).map(|s| data.pages.iter().filter(|p| p.site == s).count() as u64);
    let mut policy = Listed(scores.clone());
    let mut planner = Planner::new(request, &mut policy, lengths, PlanMemory::unlimited()).unwrap();
    planner.scan(columns).unwrap();
    planner.finish().unwrap().chosen.map(|page| page.map(|p| (p.ordinal, p.share)).unwrap()).collect()
}

/// 400 pages of 20 sites, each with a rhythm of its own; nine changes in ten have a signal.
fn signalled() -> Dataset {
    const LAST: u32 = 30;
    let page = |n: u32| RecordedPage { site: n / 20, group: n / 20, last: LAST, ..RecordedPage::default() };
    let changes = |n: u32| (1..=LAST).filter(move |cycle| (cycle + n).is_multiple_of(2 + n % 13));
    let mut signals = Signals::default();
    for n in 0..400 {
        let told: Vec<u32> = changes(n).filter(|cycle| !(cycle + n).is_multiple_of(10)).collect();
        signals.push(n, &told);
    }
    let names: Vec<String> = (0..20).map(|site| site.to_string()).collect();
    Dataset {
        name: "signalled".into(),
        dates: Vec::new(),
        pages: (0..400).map(page).collect(),
        sites: names.clone(),
        groups: names,
        truth: Truth::from_words(
            LAST,
            (0..400).map(|n| changes(n).fold(0, |word, cycle| word | 1 << cycle)).collect(),
        ),
        signals,
        contents: None,
        beginning: None,
    }
}

/// The share for announced pages is that of the planner.
#[test]
fn the_announced_share_is_the_planners() {
    let data = signalled();
    let rules = Rules { budget: Budget::Share(0.1), ..Rules::default() };
    /// Makes the planner's choice beside the policy's.
    struct Both<'a> {
        announced: Box<dyn ReplayPolicy + 'a>,
        score: ReplayFormula,
        planned: HashSet<u64>,
        announced_pages: u64,
    }
    impl ReplayPolicy for Both<'_> {
        fn name(&self) -> &str {
            self.announced.name()
        }

        fn reads(&self) -> Reads {
            self.score.reads()
        }

        fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
            let mut columns = observed.columns().clone();
            for page in 0..columns.len() {
                columns.known[page].is_announced = columns.signals[page] > 0 && observed.trust(page) >= 0.5;
            }
            self.score.score(observed, out);
            let request = PlanRequest {
                announced_share: 0.1,
                ..request(observed.cycle(), observed.k(), &Rules::default())
            };
            let mut policy = Listed(out.clone());
            let hosts = std::iter::empty::<u64>();
            let mut planner = Planner::new(request, &mut policy, hosts, PlanMemory::unlimited()).unwrap();
            planner.scan(&columns).unwrap();
            let plan = planner.finish().unwrap();
            self.announced_pages += plan.counts.announced;
            self.planned = plan.chosen.map(|page| page.unwrap().ordinal).collect();
            self.announced.score(observed, out);
        }

        fn observe(&mut self, observed: &Observed, visits: &[PolicyVisit]) {
            if observed.k() > 0 {
                assert_eq!(visited(visits, |v| v.changed.is_some()), self.planned);
            }
        }
    }
    let announced = ReplayPolicyKind::named("announced_u_fresh_site").unwrap().build(&data, Basis::Visits);
    let mut both =
        Both { announced, score: formula("u_fresh_site"), planned: HashSet::new(), announced_pages: 0 };
    run(&data, &rules, &mut both).unwrap();
    assert!(both.announced_pages > 50, "{} pages were announced", both.announced_pages);
}

fn visited(visits: &[PolicyVisit], kind: impl Fn(&PolicyVisit) -> bool) -> HashSet<u64> {
    visits.iter().filter(|v| kind(v)).map(|v| u64::from(v.page)).collect()
}

proptest! {
    /// Simulation and crawl choose the same pages. A limit per site is compared only without
    /// warm-up, which counts against the limit in a crawl.
    #[test]
    fn a_replay_visits_what_the_planner_chooses(
        (data, rules) in any::<bool>().prop_flat_map(|fixed| (datasets(fixed, LAST), rules(LAST))
            .prop_map(move |(data, rules)| (data, Rules { per_site: rules.per_site.filter(|_| fixed), ..rules }))),
    ) {
        let mut recorder = Recorder::new(formula(FORMULA));
        run(&data, &rules, &mut recorder).unwrap();
        let peopled = (rules.warmup + 1..=LAST)
            .filter(|cycle| data.pages.iter().any(|p| (p.first..=p.last).contains(cycle)));
        prop_assert_eq!(recorder.scored.len(), peopled.count());
        for scored in &recorder.scored {
            // Discovery takes the rest of the budget; in a replay pages appear by themselves.
            let plan = planned(&data, &rules, scored);
            let plan: HashSet<u64> = plan.into_iter().filter(|p| p.1 != Share::Discovery).map(|p| p.0).collect();
            let visits = &recorder.visits[scored.0.0 as usize];
            prop_assert_eq!(visited(visits, |v| v.changed.is_some()), plan);
        }
    }

    /// Pages of an importance of 1 each give the usual figures, to the last bit.
    #[test]
    fn with_an_importance_of_one_figures_are_the_usual_ones(
        data in any::<bool>().prop_flat_map(|fixed| datasets(fixed, LAST)), rules in rules(LAST),
    ) {
        let trace = run(&data, &rules, &mut formula(FORMULA)).unwrap();
        let usual = [metric::CHANGE_RATE, metric::FRESHNESS, metric::COVERAGE];
        for (by_importance, usual) in metric::BY_IMPORTANCE.iter().zip(usual) {
            let [a, b] = [by_importance, &usual].map(|metric| metric.of_cycle().unwrap());
            for cycle in &trace.cycles {
                prop_assert_eq!(a(cycle).to_bits(), b(cycle).to_bits());
            }
            let [Some(a), Some(b)] = [by_importance, &usual].map(|metric| metric.of_sites) else { continue };
            for site in &trace.sites {
                prop_assert_eq!(a(site).to_bits(), b(site).to_bits());
            }
        }
    }

    /// Recomputes every figure from the list of visits and its definition alone.
    #[test]
    fn figures_are_what_their_definitions_say(
        data in any::<bool>().prop_flat_map(|fixed| weighed(datasets(fixed, LAST))), rules in rules(LAST),
    ) {
        let mut recorder = Recorder::new(formula(FORMULA));
        let importance = |page: usize| data.pages[page].importance.thousandths();
        let trace = run(&data, &rules, &mut recorder).unwrap();
        let truth = &data.truth;
        let mut last: Vec<Option<u32>> = vec![None; data.pages.len()];
        let mut visits_of = vec![Vec::new(); data.pages.len()];
        let (mut sites, mut delays) = (vec![SiteFigures::default(); 3], vec![0; LAST as usize + 1]);
        let mut by_budget = HashSet::new();
        for (now, visits) in (0..).zip(&recorder.visits) {
            let here: Vec<usize> =
                (0..data.pages.len()).filter(|&p| (data.pages[p].first..=data.pages[p].last).contains(&now)).collect();
            let warmed = |p: u32| now > data.pages[p as usize].first + rules.warmup;
            let (mut figures, mut hits) = (CycleFigures { cycle: now, ..CycleFigures::default() }, Vec::new());
            figures.pages = here.len() as u64;
            figures.pending = here.iter().filter(|&&p| warmed(p as u32))
                .filter(|&&p| truth.differs(p, last[p].unwrap(), now)).count() as u64;
            let changes = |p: usize, since: u32| (since + 1..=now).filter(move |&c| truth.changed_in(c).contains(&(p as u32)));
            for visit in visits {
                let page = visit.page as usize;
                prop_assert!(here.contains(&page));
                prop_assert_eq!(visit.changed, last[page].map(|last| truth.differs(page, last, now)));
                if visit.changed.is_none() {
                    figures.first_visits += 1;
                } else if !warmed(visit.page) {
                    figures.warmup_visits += 1;
                } else {
                    by_budget.insert(page);
                    hits.push(visit.changed.unwrap());
                    let site = &mut sites[data.pages[page].site as usize];
                    site.visited += 1;
                    if visit.changed.unwrap() {
                        site.changed += 1;
                        site.importance.changed += importance(page);
                        figures.importance.changed += importance(page);
                        delays[(now - changes(page, last[page].unwrap()).next().unwrap()) as usize] += 1;
                    }
                }
                last[page] = Some(now);
                visits_of[page].push(now);
            }
            if now <= rules.warmup {
                continue;
            }
            figures.visited = hits.len() as u64;
            figures.changed = hits.iter().filter(|h| **h).count() as u64;
            let mut harmonic = 0.0;
            for &page in &here {
                let site = &mut sites[data.pages[page].site as usize];
                if by_budget.contains(&page) {
                    figures.covered += 1;
                    figures.importance.covered += importance(page);
                }
                site.pages += 1;
                site.importance.pages += importance(page);
                figures.importance.pages += importance(page);
                let seen = last[page].unwrap();
                if truth.differs(page, seen, now) {
                    let age = u64::from(now - changes(page, seen).next().unwrap());
                    (figures.stale, figures.age) = (figures.stale + 1, figures.age + age);
                    (site.stale, site.age) = (site.stale + 1, site.age + age);
                    site.importance.stale += importance(page);
                    figures.importance.stale += importance(page);
                    let missed: f64 = (1..=changes(page, seen).count()).map(|m| 1.0 / m as f64).sum();
 harmonic += missed; site.harmonic += missed;
                }
            }
            let counted = trace.cycles[(now - rules.warmup - 1) as usize];
            prop_assert!((counted.harmonic - harmonic).abs() < 1e-9);
            let gained: f64 = hits.iter().zip(2u32..).filter(|h| *h.0).map(|h| 1.0 / f64::from(h.1).log2()).sum();
            let ideal: f64 = (2u32..).take(hits.len().min(figures.pending as usize)).map(|r| 1.0 / f64::from(r).log2()).sum();
            let ndcg = if ideal > 0.0 { gained / ideal } else { 0.0 };
            prop_assert!((counted.ndcg_log2 - ndcg).abs() < 1e-12, "{} for {}", counted.ndcg_log2, ndcg);
            let floats = CycleFigures {
                harmonic: counted.harmonic, ndcg_log2: counted.ndcg_log2, ndcg_gp4c: counted.ndcg_gp4c, ..figures
            };
            prop_assert_eq!(counted, floats);
        }
        prop_assert_eq!(&trace.sites, &sites);
        prop_assert_eq!(trace.visited, by_budget.len() as u64);
        let competed = data.pages.iter().filter(|p| p.first + rules.warmup < p.last).count() as u64;
        prop_assert_eq!(trace.pages, competed);
        let mut counted = trace.delays.clone();
        counted.resize(delays.len(), 0);
        prop_assert_eq!(counted, delays);
        let longest = visits_of.iter().zip(&data.pages).flat_map(|(visits, page)| {
            let ends = visits.iter().skip(1).copied().chain([page.last]);
            visits.iter().zip(ends).map(|(from, to)| to - from).collect::<Vec<_>>()
        });
        prop_assert_eq!(trace.longest_neglect, longest.max().unwrap());
    }
}

fn three_pages() -> Dataset {
    let page = |site| RecordedPage { site, group: site, first: 0, last: 6, ..RecordedPage::default() };
    Dataset {
        name: "three".into(),
        dates: Vec::new(),
        pages: vec![page(0), page(0), page(1)],
        sites: vec!["a".into(), "b".into()],
        groups: vec!["a".into(), "b".into()],
        truth: Truth::from_words(6, vec![0b111_1110, 0b100_0000, 0b000_0000]),
        signals: Default::default(),
        contents: None,
        beginning: None,
    }
}

#[test]
fn a_policy_that_multiplies_by_the_changes_seen_starves_what_never_changed() {
    let one = Rules { budget: Budget::Pages(1), ties: Ties::Index, ..Rules::default() };
    let trace = run(&three_pages(), &one, &mut formula("t * X")).unwrap();
    assert_eq!(trace.cycles.len(), 4);
    assert!(
        trace.cycles.iter().all(|c| (c.visited, c.changed, c.ndcg_log2, c.ndcg_gp4c) == (1, 1, 1.0, 1.0))
    );
    assert_eq!((trace.pages, trace.visited, trace.longest_neglect), (3, 1, 4));
    let last = trace.cycles[3];
    assert_eq!((last.pending, last.stale, last.age, last.harmonic), (2, 1, 0, 1.0));
    assert_eq!(trace.delays, [4]);
    let fair = run(&three_pages(), &one, &mut formula("t")).unwrap();
    assert_eq!((fair.visited, fair.longest_neglect), (3, 3));
}

#[test]
fn a_limit_on_sites_goes_to_the_next_best() {
    let two = Rules { budget: Budget::Pages(2), ties: Ties::Index, ..Rules::default() };
    let limited = Rules { per_site: Some(1), ..two.clone() };
    let visits = |rules: &Rules| {
        let mut recorder = Recorder::new(formula("X"));
        run(&three_pages(), rules, &mut recorder).unwrap();
        recorder.visits[3].iter().map(|v| v.page).collect::<Vec<_>>()
    };
    assert_eq!(visits(&two), [0, 1]);
    assert_eq!(visits(&limited), [0, 2]);
    let none = Rules { per_site: Some(0), ..two };
    assert_eq!(visits(&none), [0u32; 0]);
}

/// Twelve pages of two sites. The pages of the first all change in each cycle, those of the second never.
fn two_sites() -> Dataset {
    let pages = (0..12).map(|page| RecordedPage {
        site: page / 6,
        group: page,
        first: 0,
        last: 20,
        ..RecordedPage::default()
    });
    let each_cycle = (1..=20).map(|cycle| (cycle, cycle as u16)).collect::<Vec<_>>();
    let changes = (0..12).map(|page| if page < 6 { each_cycle.as_slice() } else { &[] });
    Dataset {
        name: "two sites".into(),
        dates: Vec::new(),
        pages: pages.collect(),
        sites: vec!["a".into(), "b".into()],
        groups: (0..12).map(|group: u32| group.to_string()).collect(),
        truth: Truth::from_changes(20, changes),
        signals: crate::Signals::default(),
        contents: None,
        beginning: None,
    }
}

#[test]
fn a_round_knows_what_the_earlier_ones_found_and_no_page_is_visited_twice_in_a_cycle() {
    let data = two_sites();
    let rules = |rounds: &str, per_site| Rules {
        warmup: 1,
        budget: Budget::Pages(6),
        rounds: rounds.parse().unwrap(),
        per_site,
        ..Rules::default()
    };
    for (rounds, parts) in
        [("1", vec![6]), ("3", vec![2, 2, 2]), ("0.5,0.5", vec![3, 3]), ("0.1,0.9", vec![1, 5])]
    {
        let mut recorder = Recorder::new(formula("t"));
        run(&data, &rules(rounds, None), &mut recorder).unwrap();
        // The first fetches and the warm-up are in the first round of two cycles, which have no other.
        let mut calls = recorder.visits[2..].iter();
        for cycle in 2..=20 {
            let of_cycle: Vec<&Vec<PolicyVisit>> = calls.by_ref().take(parts.len()).collect();
            let sizes: Vec<usize> = of_cycle.iter().map(|visits| visits.len()).collect();
            assert_eq!(sizes, parts, "{rounds}, cycle {cycle}");
            let pages: std::collections::BTreeSet<u32> =
                of_cycle.iter().flat_map(|visits| visits.iter().map(|visit| visit.page)).collect();
            assert_eq!(pages.len(), 6, "{rounds}, cycle {cycle}");
        }
        assert!(calls.next().is_none());
    }
    // A limit holds over the rounds of a cycle.
    let trace = run(&data, &rules("3", Some(2)), &mut formula("t")).unwrap();
    assert!(trace.cycles.iter().all(|cycle| cycle.visited == 4), "{:?}", trace.cycles);
    // The rates of sites are those after the last round.
    let found = |rounds: &str| {
        let trace = run(&data, &rules(rounds, None), &mut formula("site_rate + t / 1000")).unwrap();
        trace.cycles.iter().map(|cycle| cycle.changed).sum::<u64>()
    };
    assert!(found("3") >= found("1"));
}

#[test]
fn rules_that_cannot_be_are_refused() {
    let rules = Rules { warmup: 6, ..Rules::default() };
    assert_eq!(
        run(&three_pages(), &rules, &mut formula("t")),
        Err(RulesError::NoCycles { warmup: 6, cycles: 6 })
    );
}

#[test]
fn where_nothing_changes_there_is_nothing_to_find() {
    let still = Dataset { truth: Truth::from_words(6, vec![0; 3]), ..three_pages() };
    let trace = run(&still, &Rules::default(), &mut formula("t / X")).unwrap();
    assert!(trace.cycles.iter().all(|c| (c.visited, c.changed, c.pending, c.ndcg_log2) == (1, 0, 0, 0.0)));
    assert_eq!(trace.delays, [0u64; 0]);
}
