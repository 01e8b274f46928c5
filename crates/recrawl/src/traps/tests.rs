use super::*;
use crate::config;
use recrawl_types::{Content, ContentKind, Cycle, Fingerprint, PageRecord, Share, UrlRules, Visited};

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

/// Tables that know of a calendar on this host since cycle 3.
fn tables(rules: &TrapRules) -> Arc<SledTables> {
    let tables = Arc::new(SledTables::temporary().unwrap());
    teach(rules, &tables, 3);
    tables
}

fn teach(rules: &TrapRules, tables: &SledTables, cycle: u32) {
    let lesson = TrapLesson::new(rules, tables, Cycle(cycle));
    for host in ["a", "b"] {
        (1..=30)
            .for_each(|month| lesson.observe(&url(&format!("http://{host}.example/cal/{month}")), &text(7)));
    }
    lesson.keep().unwrap();
}

/// An address of the calendar that is no probe, and one that is.
fn addresses(host: &str) -> [CanonicalUrl; 2] {
    let all = || (1000..).map(|month| url(&format!("http://{host}/cal/{month}")));
    [all().find(|url| !is_probe(url)).unwrap(), all().find(is_probe).unwrap()]
}

fn entry(url: &CanonicalUrl, visited: bool) -> ScheduleEntry {
    let visited = visited.then(|| Visited { history: Default::default(), content: text(7) });
    let record = PageRecord { visited, ..PageRecord::discovered(Cycle(1), 0) };
    ScheduleEntry { url: url.clone(), share: Share::Discovery, record }
}

#[test]
fn links_and_first_visits_of_a_trap_are_cut_off_and_probes_and_known_pages_are_not() {
    let rules = rules(|_| {});
    let tables = tables(&rules);
    let traps = Traps::new(&rules, &tables);
    let [cut, probe] = addresses("a.example");
    let honest = url("http://a.example/about");
    let link = |url: &CanonicalUrl| Link { url: url.clone(), depth: 1, hops: 0, counted: true, lastmod: 0 };
    let long = url(&format!("http://c.example/{}", "x/".repeat(40)));
    let mut links = [&cut, &probe, &long, &honest].map(link).to_vec();
    let filters = Filters::new(&config::Scope::default());
    let left_out = traps.sift(&filters, &mut links).unwrap();
    assert_eq!(left_out, LeftOut { filtered: 1, trapped: 1 });
    assert_eq!(links, [&probe, &honest].map(link));
    for (url, visited, refused) in
        [(&cut, false, true), (&cut, true, false), (&probe, false, false), (&honest, false, false)]
    {
        assert_eq!(traps.refuse(&entry(url, visited)), refused, "{url} {visited}");
    }
}

#[test]
fn a_cycle_is_counted_once_and_judged_by_what_was_known_when_it_began() {
    let rules = rules(|_| {});
    let empty = Arc::new(SledTables::temporary().unwrap());
    let traps = Traps::new(&rules, &empty);
    let [cut, _] = addresses("a.example");
    assert!(!traps.refuse(&entry(&cut, false)));
    let origin = Origin::of(&cut);
    teach(&rules, &empty, 3);
    let once = known(&empty, &origin).unwrap();
    teach(&rules, &empty, 3);
    assert_eq!(known(&empty, &origin).unwrap(), once, "a cycle repeated after a crash");
    assert!(!traps.refuse(&entry(&cut, false)), "the rule of this cycle");
    assert!(Traps::new(&rules, &empty).refuse(&entry(&cut, false)), "the rule of the next");
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
        assert_eq!(Traps::new(&rules(edit), &learned).refuse(&entry(&cut, false)), refused);
        let fresh = SledTables::temporary().unwrap();
        teach(&rules(edit), &fresh, 1);
        assert_eq!(known(&fresh, &Origin::of(&cut)).unwrap().cut_patterns().count(), usize::from(refused));
    }
}

#[test]
fn what_is_damaged_is_noticed() {
    let rules = rules(|_| {});
    let tables = tables(&rules);
    let [cut, _] = addresses("a.example");
    tables.keep_traps(&Origin::of(&cut), b"{\"version\":2,\"as_of\":1,\"patterns\":[]}").unwrap();
    let traps = Traps::new(&rules, &tables);
    let mut links = vec![Link { url: cut.clone(), depth: 0, hops: 0, counted: false, lastmod: 0 }];
    let error = traps.sift(&Filters::new(&config::Scope::default()), &mut links).unwrap_err();
    assert!(error.to_string().contains("a.example"), "{error}");
    assert!(error.to_string().contains("version 2"), "{error}");
    assert!(!traps.refuse(&entry(&cut, false)), "rather a visit too many");
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    for (edit, key) in [
        ((|c| c.min_pages = 1) as fn(&mut config::Traps), "traps.min_pages"),
        (|c| c.near_duplicates = crate::units::Share(0.5), "traps.near_duplicates"),
        (|c| c.max_distance = 17, "traps.max_distance"),
        (|c| c.allow_hosts = vec!["a/b".into()], "traps.allow_hosts"),
    ] {
        let mut config = config::Traps::default();
        edit(&mut config);
        assert!(TrapRules::new(&config).unwrap_err().contains(key));
    }
}
