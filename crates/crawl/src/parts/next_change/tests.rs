use super::*;
use crate::cycle::inputs::FormulaInputs;
use crate::page_rules::PageRules;
use recrawl_repository::storage::MemoryStorage;
use recrawl_repository::{BLOCK_PAGES, Repository};
use recrawl_types::{Content, History, PageRecord, Round, UrlRules, Visited};
use std::sync::Arc;

/// Pages of two blocks, of which every seventh was never visited.
fn generation() -> (Repository, Vec<CanonicalUrl>) {
    let rules = UrlRules::keep_all();
    let url = |i: usize| rules.canonicalize(&format!("http://{}.test/{}/{i}", i % 2, i % 300)).unwrap();
    let mut urls: Vec<CanonicalUrl> = (0..BLOCK_PAGES + 500).map(url).collect();
    urls.sort();
    let mut repository = Repository::open(Arc::new(MemoryStorage::new())).unwrap();
    let empty = Generation::default();
    let mut writer = repository.begin(&empty, Cycle(20)).unwrap();
    for (i, url) in (0..).zip(&urls) {
        let mut record = PageRecord::discovered(Cycle(1), 1);
        if i % 7 > 0 {
            let mut history = History::first_fetch(Cycle(1));
            history.record(Cycle(2 + i % 5), i % 3 == 0);
            history.record(Cycle(12 + i % 8), i % 4 == 0);
            record.visited = Some(Visited { history, content: Content::default() });
        }
        writer.push(url.key(), &record).unwrap();
    }
    repository.commit(writer, b"").unwrap();
    (repository, urls)
}

/// A formula as it is kept with a plan.
fn formula_of(formula: &str) -> Option<String> {
    Formula::from_expression(formula).unwrap().to_toml().ok()
}

fn dated(round: u32, cycle: u32) -> DatedRound {
    DatedRound { round: Round(round), cycle: Cycle(cycle) }
}

#[test]
fn a_round_teaches_once_and_by_the_pages_as_its_plan_read_them() {
    let of_sections = NEXT_CHANGE_WEIGHTS - 1;
    let plain = teach("p_next", "t * p_next");
    assert!(
        plain[..of_sections].iter().all(|weight| *weight != 0.0) && plain[of_sections] == 0.0,
        "{plain:?}"
    );
    assert_eq!(teach("p_next", "section_rate * p_next"), plain, "scored by the weights that it learned");
    let with = teach("p_next_section", "t * u_fresh_next_section");
    assert!(with.iter().all(|weight| *weight != 0.0), "{with:?}");
}

/// The weights after three lessons by a formula, which are those of a model that reads pages as a plan by `reading`.
fn teach(reading: &str, formula: &str) -> [f64; NEXT_CHANGE_WEIGHTS] {
    let (repository, urls) = generation();
    let (generation, tables) = (repository.current(), SledTables::temporary().unwrap());
    let (by, formula) = (formula, Formula::from_expression(reading).unwrap());
    let mut expected = NextChangeModel::default();
    let mut learned_at = 0;
    // The third is the second one again, after a crash before its commit.
    for (round, cycle, is_again) in [(7, 21, false), (8, 25, false), (8, 25, true)] {
        let mut lesson = expected.clone().lesson(cycle - learned_at);
        let inputs = FormulaInputs::read(
            &formula,
            Cycle(cycle),
            &generation,
            Some(&tables),
            &PageRules::default(),
            &|_| {},
        )
        .unwrap();
        let mut states = generation.states().with_keys(true);
        while let Some((first, columns)) = states.next_block().unwrap() {
            inputs.fill(first, columns);
            for row in (0..columns.len()).filter(|&row| columns.visited[row]) {
                if (first as usize + row).is_multiple_of(5) {
                    lesson.visit(&NextChange::of_row(columns, row, Cycle(cycle)), row.is_multiple_of(3));
                }
            }
        }
        let (revisit, formula) = ((dated(round, cycle), RoundKind::Revisit), formula_of(by));
        let taught = NextChangeLesson::of_round(&tables, &generation, revisit, formula.as_deref(), &|_| {});
        let mut taught = taught.unwrap().unwrap();
        taught.compared(&UrlRules::keep_all().canonicalize("http://a.aaa/").unwrap(), None, true);
        for (i, url) in urls.iter().enumerate().filter(|(i, _)| i.is_multiple_of(5)) {
            let row = i % BLOCK_PAGES;
            taught.compared(url, None, row.is_multiple_of(3));
            taught.compared(url, None, true);
        }
        taught.store(&tables, dated(round, cycle)).unwrap();
        if !is_again {
            (expected, learned_at) = (lesson.learned(), cycle);
        }
        assert_eq!(weights(&tables).unwrap(), expected.weights, "round {round}, again: {is_again}");
    }
    expected.weights
}

#[test]
fn other_rounds_and_other_formulas_read_nothing() {
    let (repository, _) = generation();
    let (generation, tables) = (repository.current(), SledTables::temporary().unwrap());
    for (kind, formula) in
        [(RoundKind::Fill, "p_next"), (RoundKind::Urgent, "p_next"), (RoundKind::Revisit, "p_burst")]
    {
        let no_pass = |_| panic!("a pass over the generation");
        let (round, toml) = ((dated(3, 21), kind), formula_of(formula));
        let lesson = NextChangeLesson::of_round(&tables, &generation, round, toml.as_deref(), &no_pass);
        assert!(lesson.unwrap().is_none(), "{kind:?} {formula}");
    }
}
