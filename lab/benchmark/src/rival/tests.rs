use super::*;
use crate::ours::{NO_WAITING, Ours};
use crate::stream::LinkStream;
use recrawl_verifier::BatchLimits;
use std::collections::HashSet;

/// The answers of a set in memory, cycle by cycle.
fn answers(stream: &LinkStream<'_>, turns: u64) -> Vec<u64> {
    let mut known = HashSet::new();
    let loaded: Result<(), Failure> = stream.web.each_page(|key, _| {
        known.insert(key.to_vec());
        Ok(())
    });
    loaded.unwrap();
    let of_turn = |turn| {
        let mut new = 0;
        let written = stream.each_visit(turn, |visit, _| {
            new += visit.links.iter().filter(|link| known.insert(link.url.key().to_vec())).count() as u64;
            Ok(())
        });
        assert!(written.unwrap().links > 0);
        new
    };
    (0..turns).map(of_turn).collect()
}

#[test]
fn all_contenders_find_the_same_new_urls() {
    let size = BenchmarkSize {
        pages: 30_000,
        checks: Some(9_000),
        links_a_page: 60,
        cycles: 3,
        visited_share: 0.05,
        batch_memory: 64,
        memory: 64,
        seconds: 1_000_000,
        seed: 3,
        dir: "unused".into(),
    };
    let web = Web::new(size.pages, size.seed);
    let stream = size.stream(&web);
    let expected = answers(&stream, size.cycles);
    assert!(expected.iter().all(|&new| new > 400), "{expected:?}");
    assert!(expected[0] > expected[2], "later cycles meet some of the same: {expected:?}");

    let of = |make: fn(&Path) -> Result<Box<dyn Rival>, Failure>| {
        let dir = tempfile::tempdir().unwrap();
        let outcome = run(&size, dir.path(), &mut *make(dir.path()).unwrap()).unwrap();
        assert!(outcome.cycles.iter().all(|cycle| !cycle.is_cut && cycle.checks == 9_000));
        outcome.cycles.iter().map(|cycle| cycle.new).collect::<Vec<u64>>()
    };
    assert_eq!(of(|dir| Ok(Box::new(Drum::new(dir)?))), expected, "DRUM");
    assert_eq!(of(|dir| Ok(Box::new(Sieve::new(dir)?))), expected, "sieve");
    assert_eq!(of(|dir| Ok(Box::new(FjallStore::new(dir, 16 << 20)?))), expected, "fjall");
    assert_eq!(of(|dir| Ok(Box::new(SledStore::new(dir, 16 << 20)?))), expected, "sled");

    let dir = tempfile::tempdir().unwrap();
    let mut ours = Ours::prepare(&web, dir.path(), BatchLimits::default()).unwrap();
    let new = |turn| ours.cycle(&stream, turn, NO_WAITING).unwrap().new;
    assert_eq!((0..size.cycles).map(new).collect::<Vec<u64>>(), expected, "the verifier");
}

#[test]
fn a_link_that_waits_is_not_lost() {
    let web = Web::new(20_000, 4);
    let stream = LinkStream { web: &web, checks: 3_000, links_a_page: 60, visited_share: 0.3 };
    let expected: u64 = answers(&stream, 12).iter().sum();
    let dir = tempfile::tempdir().unwrap();
    let mut ours = Ours::prepare(&web, dir.path(), BatchLimits::default()).unwrap();
    let waiting = recrawl_verifier::Waiting { max_cycles: 3, has_turns: true, enough: 64 };
    let cycles: Vec<CycleOutcome> = (0..12).map(|turn| ours.cycle(&stream, turn, waiting).unwrap()).collect();
    assert!(cycles.iter().any(|cycle| cycle.waiting > 0), "some wait");
    let before: u64 = cycles.iter().map(|cycle| cycle.new).sum();
    assert!(before <= expected && before + cycles[11].waiting >= expected, "{before} of {expected}");
    assert_eq!(ours.generation().pages(), web.pages() + before);
}
