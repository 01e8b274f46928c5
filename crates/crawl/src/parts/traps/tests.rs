use super::*;
use crate::config;
use crate::lesson::RoundLesson;
use recrawl_types::{Content, ContentKind, Cycle, Fingerprint, Round, Share, Skip, UrlRules};

fn url(text: &str) -> CanonicalUrl {
    UrlRules::default().canonicalize(text).unwrap()
}

fn rules(edit: impl FnOnce(&mut config::Traps)) -> TrapRules {
    let mut config = config::Traps { min_pages: 20, ..config::Traps::default() };
    edit(&mut config);
    TrapRules::new(&config).unwrap()
}

fn text(simhash: u64) -> Content {
    Content { kind: ContentKind::Text, fingerprint: Fingerprint { simhash, digest: 0 }, ..Content::default() }
}

/// Tables with a calendar on this host that is cut off since cycle 3.
fn tables(rules: &TrapRules) -> Arc<SledTables> {
    let tables = Arc::new(SledTables::temporary().unwrap());
    teach(rules, &tables, 3);
    tables
}

fn teach(rules: &TrapRules, tables: &Arc<SledTables>, cycle: u32) {
    let round = DatedRound::only_of(Cycle(cycle));
    let mut lesson = TrapLesson::new(rules, tables, round);
    for host in ["a", "b"] {
        (1..=30).for_each(|month| {
            lesson.visited_first(&url(&format!("http://{host}.example/cal/{month}")), &text(7))
        });
    }
    lesson.store(tables, round).unwrap();
}

/// A URL of the calendar that is no probe, and one that is.
fn addresses(host: &str) -> [CanonicalUrl; 2] {
    let all = || (1000..).map(|month| url(&format!("http://{host}/cal/{month}")));
    [all().find(|url| !is_probe(url)).unwrap(), all().find(is_probe).unwrap()]
}

#[test]
fn links_and_first_visits_of_a_trap_are_cut_off_and_probes_and_known_pages_are_not() {
    let rules = rules(|_| {});
    let tables = tables(&rules);
    let traps = Traps::new(&rules, &tables, DatedRound::only_of(Cycle(4)));
    let [cut, probe] = addresses("a.example");
    let honest = url("http://a.example/about");
    let long = url(&format!("http://c.example/{}", "x/".repeat(40)));
    let mut links = [&cut, &probe, &long, &honest].map(link).to_vec();
    let filters = Filters::new(&config::Scope::default());
    let (left_out, has_probe) = traps.sift(&filters, &mut links).unwrap();
    assert_eq!(left_out, LeftOut { filtered: 1, trapped: 1, repeated: 0 });
    assert!(has_probe);
    assert_eq!(links, [&probe, &honest].map(link));
    for (url, refused) in [(&cut, true), (&probe, false), (&honest, false)] {
        assert_eq!(traps.refuse(url), refused, "{url}");
    }
}

fn link(url: &CanonicalUrl) -> Link {
    Link { counted: true, ..Link::to(url.clone(), 1) }
}

fn visit(url: &CanonicalUrl, outcome: Outcome, content: Option<Content>) -> Visit {
    Visit {
        standing: None,
        took: 0,
        url: url.clone(),
        index: Some(0),
        share: Share::Discovery,
        at: 0,
        outcome,
        content,
        difference: None,
        sign: None,
        left_out: LeftOut::default(),
        links: Vec::new(),
        bytes: 0,
        verdict: None,
    }
}

/// First visits of the calendar of this host, month by month.
fn months(host: &str, count: u32) -> impl Iterator<Item = Visit> + '_ {
    let page = move |month| url(&format!("http://{host}.example/cal/{month}"));
    (1..=count).map(move |month| visit(&page(month), Outcome::Fetched(Change::First), Some(text(7))))
}

#[test]
fn a_running_cycle_cuts_off_what_its_log_shows_and_a_resumed_one_the_same() {
    let rules = rules(|_| {});
    let tables = Arc::new(SledTables::temporary().unwrap());
    let [cut, probe] = addresses("a.example");
    let honest = url("http://a.example/about");
    let filters = Filters::new(&config::Scope::default());
    let trapped = |traps: &Traps| {
        let mut links = [&cut, &probe, &honest].map(link).to_vec();
        let (left_out, _) = traps.sift(&filters, &mut links).unwrap();
        assert_eq!(left_out.trapped as usize + links.len(), 3);
        let mut late = traps.late();
        assert_eq!(late.leave_out(cut.key()), left_out.trapped == 1, "links that were taken before");
        assert!(!late.leave_out(probe.key()) && !late.leave_out(honest.key()));
        assert_eq!(traps.refuse(&cut), left_out.trapped == 1);
        assert!(!traps.refuse(&probe));
        left_out.trapped
    };
    let log: Vec<Visit> = months("a", 30).collect();
    let traps = Traps::new(&rules, &tables, DatedRound::only_of(Cycle(3)));
    log[..19].iter().for_each(|visit| traps.observe(visit).unwrap());
    assert_eq!(trapped(&traps), 0, "19 visits are too few");
    log[19..20].iter().for_each(|visit| traps.observe(visit).unwrap());
    assert_eq!(trapped(&traps), 1);
    // The run ends here; the next one reads the log and continues.
    let resumed = Traps::new(&rules, &tables, DatedRound::only_of(Cycle(3)));
    log[..20].iter().for_each(|visit| resumed.observe(visit).unwrap());
    assert_eq!(trapped(&resumed), 1);
    // The merge makes the verdict over the cycle, starting from the evidence before it.
    teach(&rules, &tables, 3);
    assert_eq!(known(&tables, &Origin::from_url(&cut)).unwrap().cut_patterns().count(), 1);
    let again = Traps::new(&rules, &tables, DatedRound::only_of(Cycle(3)));
    log.iter().for_each(|visit| again.observe(visit).unwrap());
    let counted = again.running.read().unwrap().signs(cut.origin_key()).unwrap().cloned().unwrap();
    assert_eq!(*counted, known(&tables, &Origin::from_url(&cut)).unwrap(), "a cycle counts once");
}

/// A trap with more than 64 links per page does not grow by its probes.
#[test]
fn probes_of_a_pattern_are_bounded_in_a_cycle() {
    let rules = rules(|_| {});
    let tables = tables(&rules);
    let probes: Vec<CanonicalUrl> = (1000..)
        .map(|month| url(&format!("http://a.example/cal/{month}")))
        .filter(is_probe)
        .take(2 * MAX_PROBES as usize)
        .collect();
    for cycle in [4, 5] {
        let traps = Traps::new(&rules, &tables, DatedRound::only_of(Cycle(cycle)));
        let mut visits = 0;
        for probe in &probes {
            if !traps.refuse(probe) {
                traps.observe(&visit(probe, Outcome::Fetched(Change::First), Some(text(7)))).unwrap();
                visits += 1;
            }
        }
        assert_eq!(visits, MAX_PROBES);
        let mut late = traps.late();
        let taken = probes.iter().filter(|probe| !late.leave_out(probe.key())).count();
        assert_eq!(taken, MAX_PROBES as usize);
    }
    // The next round of a cycle that visited them all visits and records none.
    let round = |round| DatedRound { round: Round(round), cycle: Cycle(5) };
    let mut lesson = TrapLesson::new(&rules, &tables, round(5));
    probes.iter().take(MAX_PROBES as usize).for_each(|probe| lesson.visited_first(probe, &text(7)));
    lesson.store(&tables, round(5)).unwrap();
    let traps = Traps::new(&rules, &tables, round(6));
    assert!(probes.iter().all(|probe| traps.refuse(probe)));
    traps
        .observe(&visit(&url("http://a.example/other"), Outcome::Fetched(Change::First), Some(text(9))))
        .unwrap();
    let mut late = traps.late();
    assert!(probes.iter().all(|probe| late.leave_out(probe.key())));
}

#[test]
fn only_first_visits_that_saw_text_are_evidence() {
    let rules = rules(|_| {});
    let tables = Arc::new(SledTables::temporary().unwrap());
    let traps = Traps::new(&rules, &tables, DatedRound::only_of(Cycle(3)));
    let bytes = Content { kind: ContentKind::Opaque, ..text(7) };
    for (outcome, content) in [
        (Outcome::Fetched(Change::Unchanged), Some(text(7))),
        (Outcome::Fetched(Change::First), Some(bytes)),
        (Outcome::Skipped(Skip::Trap), None),
        (Outcome::NotModified, None),
    ] {
        for month in months("a", 200) {
            traps.observe(&visit(&month.url, outcome, content.clone())).unwrap();
        }
    }
    let [cut, _] = addresses("a.example");
    assert!(!traps.refuse(&cut));
    let exempt = Traps::new(
        &self::rules(|c| c.allow_hosts = vec!["a.example".into()]),
        &tables,
        DatedRound::only_of(Cycle(3)),
    );
    months("a", 200).for_each(|visit| exempt.observe(&visit).unwrap());
    assert!(!exempt.refuse(&cut));
}

#[test]
fn the_merge_of_a_cycle_is_counted_once_and_holds_from_the_next_on() {
    let rules = rules(|_| {});
    let empty = Arc::new(SledTables::temporary().unwrap());
    let traps = Traps::new(&rules, &empty, DatedRound::only_of(Cycle(3)));
    let [cut, _] = addresses("a.example");
    assert!(!traps.refuse(&cut));
    let origin = Origin::from_url(&cut);
    teach(&rules, &empty, 3);
    let once = known(&empty, &origin).unwrap();
    teach(&rules, &empty, 3);
    assert_eq!(known(&empty, &origin).unwrap(), once, "a cycle repeated after a crash");
    assert!(Traps::new(&rules, &empty, DatedRound::only_of(Cycle(4))).refuse(&cut), "the rule of the next");
    let [(pattern, evidence)] = once.cut_patterns().collect::<Vec<_>>()[..] else { panic!("{once:?}") };
    assert_eq!((pattern.text.as_str(), evidence.cut_since), ("/cal/#", Some(Cycle(3))));
}

#[test]
fn where_traps_are_not_to_be_cut_nothing_is() {
    let [cut, _] = addresses("a.example");
    let learned = tables(&rules(|_| {}));
    for (edit, refused) in [
        ((|c| c.allow_hosts = vec!["*.example".into()]) as fn(&mut config::Traps), false),
        (|c| c.allow_hosts = vec!["b.example".into()], true),
        (|c| c.enabled = false, false),
    ] {
        assert_eq!(Traps::new(&rules(edit), &learned, DatedRound::only_of(Cycle(4))).refuse(&cut), refused);
        let fresh = Arc::new(SledTables::temporary().unwrap());
        teach(&rules(edit), &fresh, 1);
        assert_eq!(
            known(&fresh, &Origin::from_url(&cut)).unwrap().cut_patterns().count(),
            usize::from(refused)
        );
    }
}

#[test]
fn what_is_damaged_is_noticed() {
    let rules = rules(|_| {});
    let tables = tables(&rules);
    let [cut, _] = addresses("a.example");
    tables.keep_traps(&Origin::from_url(&cut), b"{\"version\":2,\"as_of\":1,\"patterns\":[]}").unwrap();
    let traps = Traps::new(&rules, &tables, DatedRound::only_of(Cycle(4)));
    let mut links = vec![Link::to(cut.clone(), 0)];
    let error = traps.sift(&Filters::new(&config::Scope::default()), &mut links).unwrap_err();
    assert!(error.to_string().contains("a.example"), "{error}");
    assert!(error.to_string().contains("version 2"), "{error}");
    assert!(!traps.refuse(&cut), "rather a visit too many");
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    for (edit, key) in [
        ((|c| c.min_pages = 1) as fn(&mut config::Traps), "traps.min_pages"),
        (|c| c.near_duplicates = crate::config::units::Proportion(0.5), "traps.near_duplicates"),
        (|c| c.max_distance = 17, "traps.max_distance"),
        (|c| c.allow_hosts = vec!["a/b".into()], "traps.allow_hosts"),
    ] {
        let mut config = config::Traps::default();
        edit(&mut config);
        assert!(TrapRules::new(&config).unwrap_err().contains(key));
    }
}

/// Before a verdict, a pattern with similar pages alone is suspected; honest ones never are.
#[test]
fn what_looks_like_a_trap_is_suspected_until_the_verdict() {
    let rules = TrapRules::new(&config::Traps::default()).unwrap();
    let tables = Arc::new(SledTables::temporary().unwrap());
    let traps = Traps::new(&rules, &tables, DatedRound::only_of(Cycle(3)));
    let (month, honest) = (url("http://a.example/cal/1000"), url("http://a.example/about"));
    let sign = |url: &CanonicalUrl| traps.signs_of(url.origin_key()).map(|signs| signs(url.key()));
    let log: Vec<Visit> = months("a", 100).collect();
    for (count, visit) in log.iter().enumerate() {
        assert_eq!(traps.suspects(&month), count >= 10, "after {count} visits");
        assert!(!traps.refuse(&month) && !traps.suspects(&honest));
        traps.observe(visit).unwrap();
    }
    let [cut, probe] = addresses("a.example");
    assert_eq!(
        [&cut, &probe, &honest].map(sign),
        [TrapSign::CutOff, TrapSign::None, TrapSign::None].map(Some)
    );
    // Nine similar pages of ten are not enough, and a host that is exempt is never suspected.
    let mixed = Traps::new(&rules, &tables, DatedRound::only_of(Cycle(3)));
    for (number, visit) in months("a", 60).enumerate() {
        let different = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let simhash = if number % 10 == 3 { different } else { 7 };
        mixed.observe(&Visit { content: Some(text(simhash)), ..visit }).unwrap();
    }
    assert!(!mixed.suspects(&month));
    let exempt = self::rules(|config| config.allow_hosts = vec!["a.example".into()]);
    let exempt = Traps::new(&exempt, &tables, DatedRound::only_of(Cycle(3)));
    log.iter().for_each(|visit| exempt.observe(visit).unwrap());
    assert!(!exempt.suspects(&month) && exempt.signs_of(month.origin_key()).is_none());
}
