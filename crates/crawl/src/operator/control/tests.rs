use super::*;
use crate::admission::decisions::Marks;
use recrawl_repository::decisions;
use recrawl_repository::storage::{FaultyStorage, MemoryStorage, StorageFault};
use recrawl_types::UrlRules;

fn url(text: &str) -> CanonicalUrl {
    UrlRules::keep_all().canonicalize(text).unwrap()
}

fn pattern(text: &str) -> Pattern {
    Pattern::parse(text, &UrlRules::keep_all()).unwrap()
}

fn mark() -> Mark {
    Mark { who: "anna".into(), at: 7 }
}

/// The data that outlives a process: the file of decisions and the tables.
fn kept() -> (Arc<MemoryStorage>, Arc<SledTables>) {
    (Arc::new(MemoryStorage::new()), Arc::new(SledTables::temporary().unwrap()))
}

fn open((storage, tables): &(Arc<MemoryStorage>, Arc<SledTables>)) -> (Control, Arc<RunControl>) {
    let steering = Arc::new(RunControl::default());
    let decided = Decisions::open(&**storage, tables, true).unwrap();
    let control = Control::open(decided, storage.clone(), tables.clone(), steering.clone());
    (control.unwrap(), steering)
}

#[test]
fn decisions_are_in_force_at_once_and_after_a_restart() {
    let tables = kept();
    let (control, steering) = open(&tables);
    assert_eq!(control.pause(Some(mark())).unwrap(), DecisionResult::Done);
    assert_eq!(control.pause(Some(mark())).unwrap(), DecisionResult::Already);
    assert_eq!(control.pause_host("a.test", Some(mark())).unwrap(), DecisionResult::Done);
    assert_eq!(control.block(&pattern("*.b.test"), Some(mark())).unwrap(), DecisionResult::Done);
    assert_eq!(control.add_seeds(&[url("http://s.test/")]).unwrap(), Some(1));
    assert_eq!(control.add_seeds(&[url("http://s.test/")]).unwrap(), Some(0));
    assert_eq!(control.ask(&url("http://q.test/"), mark()).unwrap(), DecisionResult::Done);
    assert!(steering.is_held() && steering.is_host_held("a.test"));
    drop(control);

    let (control, steering) = open(&tables);
    assert!(steering.is_held() && steering.is_host_held("a.test"));
    assert_eq!(control.paused(), Some(mark()));
    assert_eq!(control.blocks().cover(&url("http://www.b.test/x")), Some(pattern("*.b.test")));
    assert_eq!(
        (control.seeds(), control.asked()),
        (vec![url("http://s.test/")], vec![url("http://q.test/")])
    );
    assert_eq!(control.counts(), [1, 1, 1, 1]);
    assert_eq!(control.pause(None).unwrap(), DecisionResult::Done);
    assert_eq!(control.pause_host("a.test", None).unwrap(), DecisionResult::Done);
    assert_eq!(control.pause_host("a.test", None).unwrap(), DecisionResult::Already);
    assert_eq!(control.block(&pattern("*.b.test"), None).unwrap(), DecisionResult::Done);
    control.forget_seeds(&control.seeds()).unwrap();
    assert!(!steering.is_held() && !steering.is_host_held("a.test"));
    assert_eq!(control.counts(), [0, 0, 0, 1]);
}

#[test]
fn a_page_asked_for_is_answered_by_a_visit_and_not_by_a_deadline() {
    let tables = kept();
    let (control, _) = open(&tables);
    let page = url("http://a.test/");
    control.ask(&page, mark()).unwrap();
    control.recorded(&Visit::new(page.clone(), Outcome::Skipped(Skip::Deadline)), Cycle(1));
    control.recorded(&Visit::new(url("http://a.test/other"), Outcome::NotModified), Cycle(1));
    assert_eq!(control.counts()[3], 1);
    control.recorded(&Visit::new(page, Outcome::NotFound(404)), Cycle(1));
    assert_eq!(control.counts()[3], 0);
    control.keep_answers();
    assert_eq!(open(&tables).0.counts()[3], 0);
}

#[test]
fn a_page_asked_for_outlives_skips_that_pass_and_not_for_ever() {
    let tables = kept();
    tables.1.set_setting(ASKED, br#"{"http://old.test/":{"who":"x","at":1}}"#).unwrap();
    let (mut control, _) = open(&tables);
    let (page, old) = (url("http://a.test/"), url("http://old.test/"));
    control.ask(&page, mark()).unwrap();
    let skipped = |page: &CanonicalUrl, skip| Visit::new(page.clone(), Outcome::Skipped(skip));
    for tried in 1..MAX_TRIES {
        // The rounds of a cycle count once.
        for skip in [Skip::HostBackOff, Skip::HostBackOff, Skip::Deadline] {
            control.recorded(&skipped(&page, skip), Cycle(tried));
        }
        control.keep_answers();
        control = open(&tables).0;
        assert_eq!(control.asked(), [page.clone(), old.clone()], "after {tried} cycles");
    }
    control.recorded(&skipped(&page, Skip::CrawlDelay), Cycle(MAX_TRIES));
    assert_eq!(control.asked(), std::slice::from_ref(&old));
    control.recorded(&skipped(&old, Skip::ByteBudget), Cycle(1));
    assert_eq!(control.counts()[3], 1);
    control.recorded(&skipped(&old, Skip::Blocked), Cycle(1));
    assert_eq!(control.counts()[3], 0, "that does not pass by itself");
}

#[test]
fn nobody_who_looks_waits_for_a_change_that_waits_for_the_disk() {
    let tables = kept();
    let (control, _) = open(&tables);
    control.block(&pattern("*.b.test"), Some(mark())).unwrap();
    for i in 0..2 * ANSWERS_A_WRITE {
        assert_eq!(control.ask(&url(&format!("http://a.test/{i}")), mark()).unwrap(), DecisionResult::Done);
    }
    // Hold the lock as a writing change does: on this thread, so that a caller who waits for it
    // deadlocks.
    let writing = control.turn();
    assert!(control.paused().is_none() && control.seeds().is_empty() && !control.has_seeds());
    assert!(
        control.decided().blocks.contains_key(&pattern("*.b.test"))
            && !control.decided().paused_hosts.contains_key("b.test")
    );
    for i in 0..2 * ANSWERS_A_WRITE {
        control.recorded(&Visit::new(url(&format!("http://a.test/{i}")), Outcome::NotModified), Cycle(1));
    }
    assert_eq!((control.counts(), control.lists()[1].len(), control.chosen().len()), ([0, 1, 0, 0], 1, 0));
    drop(writing);
    control.keep_answers();
    assert_eq!(open(&tables).0.counts()[3], 0);
}

#[test]
fn what_has_no_room_is_refused_and_nothing_is_lost() {
    let tables = kept();
    let (control, _) = open(&tables);
    let seeds: Vec<_> = (0..MAX_WAITING_SEEDS).map(|i| url(&format!("http://a.test/{i}"))).collect();
    assert_eq!(control.add_seeds(&seeds).unwrap(), Some(MAX_WAITING_SEEDS));
    assert_eq!(control.add_seeds(&[url("http://b.test/")]).unwrap(), None);
    assert_eq!(control.counts()[2], MAX_WAITING_SEEDS as u64);
    let (control, _) = open(&kept());
    let long = |i: usize| url(&format!("http://a.test/{i:05}{}", "x".repeat(1_900)));
    let fit = MAX_WAITING_BYTES / long(0).to_string().len();
    let urls: Vec<CanonicalUrl> = (0..=fit).map(long).collect();
    assert_eq!(control.add_seeds(&urls).unwrap(), None, "few, and too many bytes");
    assert_eq!(control.add_seeds(&urls[..fit]).unwrap(), Some(fit));
    let mut marks = Marks::<&str>::new();
    assert_eq!(decided::set(&mut marks, &"a", Some(mark()), 1), DecisionResult::Done);
    assert_eq!(decided::set(&mut marks, &"b", Some(mark()), 1), DecisionResult::Full);
    assert_eq!(decided::set(&mut marks, &"a", Some(mark()), 1), DecisionResult::Already);
    let chosen = |i: usize| ChosenFormula { toml: i.to_string(), mark: mark(), from_cycle: None };
    control.set_chosen((0..=MAX_CHOSEN).map(chosen).collect()).unwrap();
    assert_eq!((control.chosen().len(), control.chosen()[0].toml.as_str()), (MAX_CHOSEN, "1"));
}

#[test]
fn seeds_come_in_the_order_of_urls_and_not_of_their_texts() {
    let texts =
        ["http://a.com/", "http://a.org:8080/", "https://a.org/", "https://a.org/x", "https://b.com/"];
    let tables = kept();
    tables.1.set_setting(SEEDS, &serde_json::to_vec(&texts).unwrap()).unwrap();
    let (control, _) = open(&tables);
    let seeds = control.seeds();
    assert!(seeds.is_sorted() && seeds.len() == texts.len(), "{seeds:?}");
    assert_ne!(seeds, texts.map(url), "the two orders differ here");
    control.add_seeds(&[url("http://a.net/"), url("https://a.org/")]).unwrap();
    assert!(control.seeds().is_sorted() && control.counts()[2] == 6);
}

#[test]
fn what_an_older_program_kept_is_read() {
    let kept = kept();
    kept.1.set_setting("control", br#"{"blocks":{"a.test":{"who":"x","at":1}}}"#).unwrap();
    let (control, steering) = open(&kept);
    assert!(!steering.is_held() && control.decided().blocks.contains_key(&pattern("*.a.test")));
    control.block(&pattern("*.b.test"), Some(mark())).unwrap();
    let (control, _) = open(&kept);
    assert!(
        control.decided().blocks.contains_key(&pattern("*.a.test"))
            && control.decided().blocks.contains_key(&pattern("*.b.test"))
    );
    kept.0.create(decisions::DECISIONS).unwrap();
    let damaged = Decisions::open(&*kept.0, &kept.1, true);
    assert!(damaged.is_err(), "what is damaged is not taken for nothing");
}

/// A change that cannot be stored does not take effect.
#[test]
fn a_decision_that_the_disk_refuses_has_changed_nothing() {
    let (storage, tables) = (Arc::new(FaultyStorage::new()), kept().1);
    let steering = Arc::new(RunControl::default());
    let control =
        Control::open(Decisions::default(), storage.clone(), tables.clone(), steering.clone()).unwrap();
    control.block(&pattern("*.a.test"), Some(mark())).unwrap();
    let points = storage.points();
    for point in 1..=points {
        storage.set_fault(StorageFault::Fail(point));
        assert!(
            control.pause(Some(mark())).is_err() && control.block(&pattern("*.b.test"), Some(mark())).is_ok()
        );
        assert!(control.paused().is_none() && !steering.is_held(), "point {point}");
        storage.set_fault(StorageFault::None);
        control.block(&pattern("*.b.test"), None).unwrap();
        let kept = Decisions::read(&*storage).unwrap().unwrap();
        assert!(kept == *control.decided(), "point {point}: {kept:?}");
    }
    assert_eq!(points, 5, "made, written, synced, renamed, and the name synced");
}
