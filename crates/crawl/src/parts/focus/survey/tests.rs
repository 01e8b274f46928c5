use super::*;
use crate::config::Config;
use crate::config::units::DiscoveryShare;
use crate::parts::focus::discovery_share::next_share;
use recrawl_repository::Repository;
use recrawl_repository::storage::MemoryStorage;
use recrawl_types::{CanonicalUrl, Content, History, PageRecord, UrlRules, Verdict, Visited};
use std::collections::BTreeMap;

fn rules(change: impl FnOnce(&mut Config)) -> Arc<FocusRules> {
    let folder = tempfile::tempdir().unwrap();
    let terms = folder.path().join("terms.toml");
    std::fs::write(&terms, "genre = [\"syllabus\"]\ncontent = [\"database\"]\n").unwrap();
    let mut config = Config::default();
    (config.focus.enabled, config.focus.terms) = (true, terms);
    change(&mut config);
    Arc::new(FocusRules::from_config(&config).unwrap().unwrap())
}

/// Sets a discovery share that weighs revisits.
fn weighing(config: &mut Config) {
    config.cycle.discovery_share = DiscoveryShare::Auto;
}

fn url(text: &str) -> CanonicalUrl {
    UrlRules::keep_all().canonicalize(text).unwrap()
}

/// A page that was judged in cycle 8.
fn judged(relevance: f64, group: u32) -> PageRecord {
    let mut record = PageRecord::discovered(Cycle(7), 2);
    record.known.expectation = Some(Expectation::new(-2.0, 0, group));
    record.known.verdict = Some(Verdict::new(relevance, 0.5, 0.5, 0.0));
    record.visited = Some(Visited { history: History::first_fetch(Cycle(8)), content: Content::default() });
    record
}

fn waiting(logit: f64, tunnel: u8, group: u32) -> PageRecord {
    let mut record = PageRecord::discovered(Cycle(7), 2);
    record.known.expectation = Some(Expectation::new(logit, tunnel, group));
    record
}

/// A rich site with two groups, and a barren one.
fn pages() -> BTreeMap<CanonicalUrl, PageRecord> {
    let mut pages = BTreeMap::new();
    for n in 0..200 {
        let relevance = if n % 3 == 0 { 0.1 } else { 0.9 };
        pages.insert(url(&format!("http://rich.example/a/{n}")), judged(relevance, 1));
    }
    for n in 0..30 {
        pages.insert(url(&format!("http://rich.example/b/{n}")), judged(0.2, 2));
    }
    for n in 0..400 {
        pages.insert(url(&format!("http://barren.example/{n}")), judged(0.05, 3));
    }
    pages.insert(url("http://rich.example/a/next"), waiting(-2.0, 0, 1));
    pages.insert(url("http://rich.example/b/next"), waiting(-2.0, 0, 2));
    pages.insert(url("http://rich.example/far"), waiting(3.0, 9, 1));
    pages.insert(url("http://barren.example/next"), waiting(-2.0, 0, 3));
    pages.insert(url("http://seed.example/"), PageRecord::discovered(Cycle(7), 0));
    pages
}

fn generation(pages: &BTreeMap<CanonicalUrl, PageRecord>) -> Arc<Generation> {
    let mut repository = Repository::open(Arc::new(MemoryStorage::new())).unwrap();
    let empty = Generation::default();
    let mut writer = repository.begin(&empty, Cycle(8)).unwrap();
    pages.iter().for_each(|(url, record)| writer.push(url.key(), record).unwrap());
    repository.commit(writer, b"").unwrap();
    repository.current()
}

fn survey(rules: &Arc<FocusRules>, generation: &Generation) -> FocusSurvey {
    FocusSurvey::read(rules, LiveModel::default(), 0.05, Cycle(9), generation, &|_| {}).unwrap()
}

/// The expectation of each page, by path.
fn expected(
    survey: &FocusSurvey,
    generation: &Generation,
    is_satisfied: bool,
) -> (BTreeMap<String, f32>, AllPending) {
    let mut filler = survey.filler(is_satisfied);
    let mut found = BTreeMap::new();
    let scanned = generation.scan(true, |first, columns| -> Result<(), Failure> {
        filler.fill(first, columns);
        assert_eq!(columns.relevance.len(), columns.len());
        for (row, expected) in columns.expected.iter().enumerate().filter(|(row, _)| !columns.visited[*row]) {
            let url = CanonicalUrl::from_key(columns.keys.get(row)).unwrap();
            // By the block as by the page alone.
            let site = Some(survey.site_of(first + row as u64));
            let candidate = survey.candidate(&columns.known[row], site);
            let odds = survey.rules.order.planned(&survey.model, &candidate);
            let is_closed = survey.closed(&columns.known[row], site).is_some() || is_satisfied;
            assert!(if is_closed {
                *expected == f32::NEG_INFINITY
            } else {
                (f64::from(*expected) - odds).abs() < 1e-4
            });
            assert!((columns.relevance[row] - logistic(odds)).abs() < 1e-9);
            found.insert(url.to_string(), *expected);
        }
        Ok(())
    });
    scanned.unwrap();
    assert_eq!(survey.pending(generation).unwrap()[0], filler.pending());
    (found, filler.pending())
}

#[test]
fn visits_raise_their_group_and_exhaust_their_site() {
    let generation = generation(&pages());
    let rules = rules(|_| {});
    let survey = survey(&rules, &generation);
    let facts = survey.facts();
    assert_eq!((facts.judged, facts.relevant, facts.groups), (630, 133, 3));
    assert_eq!(facts.sites_exhausted, 1);
    let ExhaustedSite { site, visits, finds, .. } = &facts.exhausted[0];
    assert_eq!((site.as_str(), *visits, *finds), ("barren.example", 400, 0));
    let (found, pending) = expected(&survey, &generation, false);
    let open = found.values().filter(|expected| expected.is_finite()).count();
    assert_eq!(
        (facts.due, facts.open, open),
        (5, 3, 3),
        "beyond the tunnel and in the exhausted site, none is open"
    );
    assert_eq!(pending.iter().map(|stratum| stratum.urls).sum::<u64>(), 5);
    let of = |path: &str| found[&format!("http://{path}")];
    assert!(of("rich.example/a/next") > of("rich.example/b/next"), "{found:?}");
    assert_eq!(of("rich.example/far"), f32::NEG_INFINITY);
    assert_eq!(of("barren.example/next"), f32::NEG_INFINITY);
    assert!(of("seed.example/") > of("rich.example/a/next"), "a seed comes first");
    let (none, _) = expected(&survey, &generation, true);
    assert!(none.values().all(|expected| *expected == f32::NEG_INFINITY), "enough was found");
}

#[test]
fn a_pinned_order_ranks_by_scores_and_breadth_by_none() {
    let generation = generation(&pages());
    let by_siblings = survey(&rules(|config| config.focus.order = "fs-2".into()), &generation);
    let (found, _) = expected(&by_siblings, &generation, false);
    assert!(found["http://rich.example/a/next"] > 0.0, "{found:?}");
    let by_breadth = survey(&rules(|config| config.focus.order = "breadth".into()), &generation);
    assert_eq!((by_breadth.facts().sites_exhausted, by_breadth.facts().judged), (0, 630));
    let mut filler = by_breadth.filler(false);
    let mut states = generation.states();
    while let Some((first, columns)) = states.next_block().unwrap() {
        filler.fill(first, columns);
        assert!(columns.expected.is_empty() && columns.relevance.len() == columns.len());
        for (ordinal, known) in (first..).zip(&columns.known) {
            assert_eq!(
                by_breadth.closed(known, Some(by_breadth.site_of(ordinal))),
                None,
                "it closes nothing"
            );
        }
    }
}

#[test]
fn the_worth_of_revisits_falls_with_their_rank() {
    let generation = generation(&pages());
    let survey = survey(&rules(weighing), &generation);
    let [first, next, all] =
        [(0, 20), (300, 20), (0, 630)].map(|(from, places)| survey.worth_of_revisits(from, places));
    assert!(first > 4.0 * next && next > 0.0 && all >= first + next, "{first} {next} {all}");
    assert_eq!(survey.worth_of_revisits(630, 100), 0.0);
}

#[test]
fn the_discovery_share_moves_to_where_places_bring_more() {
    let generation = generation(&pages());
    let rules = rules(weighing);
    let survey = survey(&rules, &generation);
    let share = |odds: f64, worth: f64| {
        let state = FocusState { discovery_share: Some(0.2), ..FocusState::default() };
        let mut pending = AllPending::default();
        (0..1000).for_each(|_| Pending::add(&mut pending, odds));
        next_share(&state, worth, &survey, &pending, 100, 0.1, 0.2)
    };
    let (poor, rich) = (-30.0, 4.0);
    assert!((share(poor, 1.0) - 0.1).abs() < 1e-9, "at most a tenth");
    assert!(share(rich, 1.0) > 0.25 && share(rich, 1.0) <= 0.3);
    assert!(share(rich, 0.0) < 0.2, "finds that are worth nothing");
}
