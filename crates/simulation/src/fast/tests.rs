use super::*;
use crate::dataset::tests::weighed;
use crate::policy::ReplayPolicy;
use crate::testing::{datasets, rules};
use crate::{Budget, Observed, RulesError, Truth, replay};
use proptest::prelude::*;
use recrawl_formula::{Basis, Expr, Protection, function, terminal};
use recrawl_scheduler::Ties;
use recrawl_types::History;

const LAST: u32 = 30;

/// The program as a policy of the plain replay.
struct Plain<'a>(&'a Program);

impl ReplayPolicy for Plain<'_> {
    fn name(&self) -> &str {
        "plain"
    }

    fn reads(&self) -> Reads {
        self.0.reads()
    }

    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        self.0.evaluate(observed.columns(), observed.cycle(), out);
    }
}

fn plain(data: &Dataset, rules: &Rules, program: &Program) -> Vec<CycleFigures> {
    replay::run(data, rules, &mut Plain(program)).unwrap().cycles
}

/// The requested figures as bits.
fn bits(figures: &[CycleFigures], wants: WantedFigures) -> Vec<[u64; 13]> {
    let of = |f: &CycleFigures| {
        let wanted = |wanted: bool, figure: u64| if wanted { figure } else { 0 };
        let always = [u64::from(f.cycle), f.pages, f.visited, f.changed];
        let wanted = [
            wanted(wants.freshness, f.pending),
            wanted(wants.freshness, f.stale),
            wanted(wants.age, f.age),
            wanted(wants.harmonic, f.harmonic.to_bits()),
            wanted(wants.ndcg, f.ndcg_log2.to_bits()),
            wanted(wants.ndcg, f.ndcg_gp4c.to_bits()),
            wanted(wants.importance, f.importance.pages),
            wanted(wants.importance, f.importance.changed),
            wanted(wants.importance, f.importance.stale),
        ];
        std::array::from_fn(|i| if i < 4 { always[i] } else { wanted[i - 4] })
    };
    figures.iter().map(of).collect()
}

fn expressions() -> impl Strategy<Value = Expr> {
    let constants = prop::sample::select(vec![0.0, 1.0, -1.0, 0.5, 2.0, 10.0, 1e-7, 1000.0]);
    let mut replayed = terminal::ALL.to_vec();
    let is_of_states = |reads: Reads| !reads.needs_neighbours() && !reads.contains(Reads::IMPORTANCE);
    replayed.retain(|terminal| is_of_states((terminal.reads)(Basis::Visits)));
    let leaf = prop_oneof![
        1 => constants.prop_map(Expr::Constant),
        3 => prop::sample::select(replayed).prop_map(Expr::Terminal),
    ];
    leaf.prop_recursive(5, 24, 2, |inner| {
        (prop::sample::select(function::ALL), inner.clone(), inner).prop_map(|(function, x, y)| {
            let mut arguments = vec![x, y];
            arguments.truncate(function.arity);
            Expr::Call(function, arguments)
        })
    })
}

fn programs() -> impl Strategy<Value = Program> {
    let bases = prop::sample::select(&Basis::ALL[..]);
    let protections = prop::sample::select(&Protection::ALL[..]);
    (expressions(), protections, bases)
        .prop_map(|(expr, protection, basis)| Program::compile(&expr, protection, basis))
}

fn wants() -> impl Strategy<Value = WantedFigures> {
    any::<[bool; 5]>().prop_map(|[ndcg, freshness, age, harmonic, importance]| WantedFigures {
        ndcg,
        freshness,
        age,
        harmonic,
        importance,
    })
}

/// Histories of a fixed set of pages of any importance, some of which change back, and rules without a limit per
/// site.
fn worlds() -> impl Strategy<Value = (Dataset, Rules)> {
    (weighed(datasets(true, LAST)), rules(LAST))
        .prop_map(|(data, rules)| (data, Rules { per_site: None, ..rules }))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Every figure of every cycle is equal, bit for bit, and also with a full, a small and no
    /// cache.
    #[test]
    fn figures_are_those_of_the_plain_replay(
        (data, rules) in worlds(),
        programs in prop::collection::vec((programs(), wants()), 1..8),
        little in 500usize..20_000,
    ) {
        let all = Replayer::new(&data, &rules).unwrap();
        let some = Replayer::new(&data, &rules).unwrap().with_memo(little);
        let none = Replayer::new(&data, &rules).unwrap().with_memo(0);
        let mut scratch = ReplayScratch::default();
        for (program, wants) in programs.iter().chain(&programs) {
            let expected = bits(&plain(&data, &rules, program), *wants);
            for replayer in [&all, &some, &none] {
                let figures = replayer.run(program, *wants, &mut scratch);
                prop_assert_eq!(bits(&figures, *wants), expected.clone());
            }
            prop_assert!(some.memo_bytes() <= little);
        }
        let (all, none) = (all.work(), none.work());
        prop_assert!(all.runs_remembered * 2 >= all.runs, "the second time all is known");
        prop_assert_eq!((none.runs_remembered, none.cycles_remembered), (0, 0));
        prop_assert_eq!((all.cycles, all.page_scores), (none.cycles, none.page_scores));
    }
}

/// The program, and the histories that it knew when it chose the visits of a cycle.
struct UpTo<'a>(Plain<'a>, u32, Vec<History>);

impl ReplayPolicy for UpTo<'_> {
    fn name(&self) -> &str {
        "up to"
    }

    fn reads(&self) -> Reads {
        self.0.reads()
    }

    fn score(&mut self, observed: &Observed, out: &mut Vec<f64>) {
        if observed.cycle() == Cycle(self.1) {
            let columns = observed.columns();
            self.2 = (0..columns.len()).map(|row| columns.history(row).unwrap()).collect();
        }
        self.0.score(observed, out);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// A replay that begins with what another one knew goes on like it, page by page and fast; also where the contents
    /// before are kept only as what is unseen.
    #[test]
    fn a_replay_goes_on_from_a_beginning(
        (data, rules) in worlds(), program in programs(), wants in wants(), begun in 1u32..LAST,
    ) {
        let begun = begun.max(rules.warmup);
        let mut whole = UpTo(Plain(&program), begun + 1, Vec::new());
        let trace = replay::run(&data, &rules, &mut whole).unwrap();
        prop_assume!(!whole.2.is_empty());
        let expected: Vec<CycleFigures> = trace.cycles.into_iter().filter(|c| c.cycle > begun).collect();
        let rest = Dataset {
            beginning: Some(Arc::new(crate::Beginning { cycle: begun, histories: whole.2 })),
            ..data
        };
        // Pages are out of their warm-up.
        let rules = Rules { warmup: 0, ..rules };
        // Only coverage begins anew.
        let without_coverage = |cycles: &[CycleFigures]| {
            let without = |cycle: &CycleFigures| {
                let importance = crate::ImportanceFigures { covered: 0, ..cycle.importance };
                CycleFigures { covered: 0, importance, ..*cycle }
            };
            cycles.iter().map(without).collect::<Vec<_>>()
        };
        prop_assert_eq!(without_coverage(&plain(&rest, &rules, &program)), without_coverage(&expected));
        let replayer = Replayer::new(&rest, &rules).unwrap();
        let figures = replayer.run(&program, wants, &mut ReplayScratch::default());
        prop_assert_eq!(bits(&figures, wants), bits(&expected, wants));
        let all: Vec<u32> = (0..rest.pages.len() as u32).collect();
        prop_assert_eq!(&rest.part(&all, 0..LAST + 1), &rest);
    }
}

/// Policies with a memory of their own begin as well.
#[test]
fn every_policy_goes_on_from_a_beginning() {
    let data = many_pages(false);
    let histories = vec![History::first_fetch(Cycle(3)); data.pages.len()];
    let data = Dataset { beginning: Some(Arc::new(crate::Beginning { cycle: 4, histories })), ..data };
    let rules = Rules { warmup: 0, ..Rules::default() };
    for kind in crate::policy::ALL {
        let trace = replay::run(&data, &rules, &mut *kind.build(&data, Basis::default())).unwrap();
        let visits: u64 = trace.cycles.iter().map(|cycle| cycle.visited).sum();
        assert_eq!((trace.cycles.len(), visits), (36, 36 * 150), "{}", kind.name);
    }
}

/// Many pages, so that tie classes are large and small, lists are compacted, and rows are reused.
fn many_pages(returns: bool) -> Dataset {
    let (pages, last) = (3000u32, 40u32);
    let mut random = 1u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    let mut changes = Vec::new();
    for page in 0..pages {
        let gap = 1 + next(if page.is_multiple_of(3) { 4 } else { 60 });
        let (mut list, mut version) = (Vec::new(), 0u16);
        for cycle in 1..=last {
            if next(gap) == 0 {
                version = if returns && next(3) == 0 && version > 0 { version - 1 } else { version + 1 };
                list.push((cycle, version));
            }
        }
        changes.push(list);
    }
    let page =
        |p: u32| crate::RecordedPage { site: p / 50, group: p / 50, last, ..crate::RecordedPage::default() };
    Dataset {
        name: "many".into(),
        dates: Vec::new(),
        pages: (0..pages).map(page).collect(),
        sites: (0..pages / 50).map(|site| site.to_string()).collect(),
        groups: (0..pages / 50).map(|group| group.to_string()).collect(),
        truth: Truth::from_changes(last, changes.iter().map(Vec::as_slice)),
        signals: Default::default(),
        contents: None,
        beginning: None,
    }
}

fn compile(text: &str) -> Program {
    Program::compile(&recrawl_formula::parse(text).unwrap(), Protection::default(), Basis::default())
}

#[test]
fn large_and_small_tie_classes_and_constant_scores_are_those_of_the_plain_replay() {
    for (returns, ties) in [(false, Ties::Hash), (true, Ties::Hash), (false, Ties::Index)] {
        let data = many_pages(returns);
        let rules = Rules { ties, seed: 7, ..Rules::default() };
        let replayer = Replayer::new(&data, &rules).unwrap();
        let mut scratch = ReplayScratch::default();
        for text in ["1", "t", "t * X", "nad", "t - 3 * t", "gad * t + n", "log(X - 1)"] {
            let program = compile(text);
            let figures = replayer.run(&program, WantedFigures::ALL, &mut scratch);
            let expected = bits(&plain(&data, &rules, &program), WantedFigures::ALL);
            assert_eq!(bits(&figures, WantedFigures::ALL), expected, "{text}");
        }
        assert_eq!(replayer.work().runs_remembered, 0);
    }
}

#[test]
fn formulas_that_rank_alike_are_one_policy() {
    let data = many_pages(false);
    let rules = Rules::default();
    let replayer = Replayer::new(&data, &rules).unwrap();
    let mut scratch = ReplayScratch::default();
    let mut run = |text: &str| replayer.run(&compile(text), WantedFigures::default(), &mut scratch);
    let first = run("t * X");
    let visits = replayer.work().visits;
    assert_eq!(first.len(), 38);
    assert_eq!(visits, 38 * 150);
    assert_eq!(run("3 + exp(2 * t * X / 500)"), first);
    let work = replayer.work();
    assert_eq!((work.runs, work.runs_remembered, work.cycles_remembered, work.visits), (2, 1, 38, visits));
    assert!(work.state_scores * 20 < work.page_scores, "{work:?}");
}

#[test]
fn threads_leave_no_trace() {
    let data = many_pages(true);
    let rules = Rules { budget: Budget::Pages(100), ..Rules::default() };
    let programs: Vec<Program> =
        ["t * X", "X * t", "t", "nad * t", "n - X", "t * X + n", "t * X - n"].map(compile).into();
    // So small that it is emptied again and again.
    let replayer = Replayer::new(&data, &rules).unwrap().with_memo(40_000);
    let all = |replayer: &Replayer<'_>| -> Vec<Vec<CycleFigures>> {
        let mut scratch = ReplayScratch::default();
        programs.iter().map(|program| replayer.run(program, WantedFigures::ALL, &mut scratch)).collect()
    };
    let expected = all(&Replayer::new(&data, &rules).unwrap().with_memo(0));
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| all(&replayer))).collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), expected);
        }
    });
}

#[test]
fn what_cannot_be_replayed_together_is_refused() {
    let mut data = many_pages(false);
    let refused = |data: &Dataset, rules: Rules| Replayer::new(data, &rules).unwrap_err();
    let rules = Rules { warmup: 40, ..Rules::default() };
    assert_eq!(refused(&data, rules), ReplayerError::Rules(RulesError::NoCycles { warmup: 40, cycles: 40 }));
    assert_eq!(refused(&data, Rules { per_site: Some(1), ..Rules::default() }), ReplayerError::PerSite);
    let rounds = recrawl_scheduler::Parts::Equal(2);
    assert_eq!(refused(&data, Rules { rounds, ..Rules::default() }), ReplayerError::Rounds);
    data.pages[5].first = 1;
    assert_eq!(refused(&data, Rules::default()), ReplayerError::NotFixed { page: 5 });
}
