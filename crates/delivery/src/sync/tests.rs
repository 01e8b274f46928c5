use super::*;
use proptest::prelude::*;
use recrawl_repository::copies;
use recrawl_repository::storage::{FaultyStorage, MemoryStorage, StorageFault};
use recrawl_types::UrlRules;
use std::collections::BTreeMap;
use std::convert::Infallible;

const DESK: &str = "jsonl+file:///desk";

/// Each has this answer.
fn all(answer: ItemAnswer, changes: &[CopyChange]) -> BatchAnswers {
    BatchAnswers { answers: vec![answer; changes.len()], ..BatchAnswers::default() }
}

fn url(page: u8) -> CanonicalUrl {
    UrlRules::keep_all().canonicalize(&format!("http://a.test/{page:03}")).unwrap()
}

/// Pages that should be there, with their states.
type WantedStates = BTreeMap<u8, u64>;

fn state(page: u64) -> DocumentState {
    DocumentState { page, capture: 0 }
}

fn pages(
    web: &WantedStates,
) -> impl Fn() -> std::vec::IntoIter<Result<(CanonicalUrl, DocumentState), Infallible>> + '_ {
    || web.iter().map(|(page, number)| Ok((url(*page), state(*number)))).collect::<Vec<_>>().into_iter()
}

/// A target with external versions.
#[derive(Clone, Debug, Default, PartialEq)]
struct VersionedTarget {
    documents: BTreeMap<CanonicalUrl, (u64, u64)>,
    /// The highest version seen of any page, also of deleted ones.
    versions: BTreeMap<CanonicalUrl, u64>,
    requests: usize,
}

impl VersionedTarget {
    fn apply(&mut self, version: u64, change: &CopyChange) {
        let (CopyChange::Put(page, _) | CopyChange::Delete(page)) = change;
        let last = self.versions.insert(page.clone(), version);
        assert!(last.is_none_or(|last| last <= version), "a version fell");
        match change {
            CopyChange::Put(page, state) => drop(self.documents.insert(page.clone(), (version, state.page))),
            CopyChange::Delete(page) => drop(self.documents.remove(page)),
        }
    }

    fn holds(&self) -> BTreeMap<CanonicalUrl, u64> {
        self.documents.iter().map(|(page, (_, state))| (page.clone(), *state)).collect()
    }
}

fn is_right(store: &VersionedTarget, web: &WantedStates) -> bool {
    store.holds() == web.iter().map(|(page, state)| (url(*page), *state)).collect()
}

fn copy(storage: &dyn Storage, batch: usize) -> TargetCopy<'_> {
    TargetCopy { storage, target: DESK, batch, lateness: Duration::ZERO }
}

/// Sends all, with a version that the clock gives.
fn bring(
    storage: &dyn Storage,
    store: &mut VersionedTarget,
    web: &WantedStates,
    batch: usize,
) -> SentChanges {
    let mut send = |version, changes: &[CopyChange]| {
        store.requests += 1;
        changes.iter().for_each(|change| store.apply(version, change));
        all(ItemAnswer::Taken, changes)
    };
    copy(storage, batch).sync(5, &pages(web), &mut send).unwrap()
}

#[test]
fn nothing_is_sent_twice_and_nothing_without_a_difference() {
    let (storage, mut store) = (MemoryStorage::new(), VersionedTarget::default());
    let web: WantedStates = (0..7).map(|page| (page, 1)).collect();
    assert_eq!(bring(&storage, &mut store, &web, 3), SentChanges { puts: 7, ..SentChanges::default() });
    assert_eq!((store.requests, is_right(&store, &web)), (3, true));
    let bytes = storage.open(&desk()).unwrap().identity().unwrap();
    assert_eq!(bring(&storage, &mut store, &web, 3), SentChanges::default());
    assert_eq!((store.requests, storage.open(&desk()).unwrap().identity().unwrap()), (3, bytes));
    let web: WantedStates = (2..9).map(|page| (page, u64::from(page > 5))).collect();
    assert_eq!(
        bring(&storage, &mut store, &web, 3),
        SentChanges { puts: 6, deletes: 2, ..SentChanges::default() }
    );
    assert!(is_right(&store, &web));
    assert_eq!(doubt(&storage, &name_of(DESK), None).unwrap(), None);
    assert_eq!(bring(&storage, &mut store, &web, 3).puts, 7);
}

#[test]
fn deletes_come_before_puts() {
    let (storage, mut store) = (MemoryStorage::new(), VersionedTarget::default());
    bring(&storage, &mut store, &(0..6).map(|page| (page, 1)).collect(), 2);
    let mut order = Vec::new();
    let web: WantedStates = (3..9).map(|page| (page, 2)).collect();
    let mut send = |_, changes: &[CopyChange]| {
        order.extend(changes.iter().map(|change| matches!(change, CopyChange::Put(..))));
        all(ItemAnswer::Taken, changes)
    };
    copy(&storage, 2).sync(9, &pages(&web), &mut send).unwrap();
    assert_eq!(order, [[false; 3].as_slice(), &[true; 6]].concat());
}

#[test]
fn what_is_refused_waits_for_another_state() {
    let (storage, web) = (MemoryStorage::new(), WantedStates::from([(1, 1), (2, 1)]));
    let refuse = |page: u8| {
        move |_, changes: &[CopyChange]| {
            let is_it =
                |change: &CopyChange| matches!(change, CopyChange::Put(found, _) if *found == url(page));
            let answer = |change| if is_it(change) { ItemAnswer::Refused } else { ItemAnswer::Taken };
            BatchAnswers { answers: changes.iter().map(answer).collect(), ..BatchAnswers::default() }
        }
    };
    let sync = |web: &WantedStates, send: &mut dyn SendChanges| {
        copy(&storage, 9).sync(1, &pages(web), send).unwrap()
    };
    assert_eq!(sync(&web, &mut refuse(2)), SentChanges { puts: 1, refused: 1, ..SentChanges::default() });
    assert_eq!(sync(&web, &mut refuse(9)), SentChanges::default());
    assert_eq!(
        sync(&WantedStates::from([(1, 1), (2, 2)]), &mut refuse(9)),
        SentChanges { puts: 1, ..SentChanges::default() }
    );
    // It may have an earlier state of what it refused, so it is deleted there.
    assert_eq!(sync(&WantedStates::from([(1, 1), (2, 3)]), &mut refuse(2)).refused, 1);
    assert_eq!(
        sync(&WantedStates::from([(1, 1)]), &mut refuse(9)),
        SentChanges { puts: 0, deletes: 1, ..SentChanges::default() }
    );
}

#[test]
fn answers_before_an_interruption_count() {
    let (storage, web) = (MemoryStorage::new(), (0..6).map(|page| (page, 1)).collect::<WantedStates>());
    let mut send = |_, changes: &[CopyChange]| {
        let answers = vec![ItemAnswer::Taken; changes.len() / 2];
        BatchAnswers { answers, interrupted: Some("busy".into()), ..BatchAnswers::default() }
    };
    let interrupted = copy(&storage, 4).sync(1, &pages(&web), &mut send).unwrap_err();
    assert!(matches!(interrupted, SyncError::Interrupted(interrupted) if interrupted.why == "busy"));
    let mut store = VersionedTarget::default();
    assert_eq!(bring(&storage, &mut store, &web, 9).puts, 4);
    assert!(store.holds().keys().eq((2..6).map(url).collect::<Vec<_>>().iter()));
}

#[test]
fn answers_before_the_pages_end_too_early_count_and_nothing_behind_is_taken_for_gone() {
    let (storage, mut store) = (MemoryStorage::new(), VersionedTarget::default());
    let old: WantedStates = (0..9).map(|page| (page, 1)).collect();
    bring(&storage, &mut store, &old, 2);
    let web: WantedStates = (0..9).map(|page| (page, 2)).collect();
    let asked = std::cell::Cell::new(0);
    // The pass that compares and the one that notes are whole; the one that sends ends at the fourth page.
    let cut = || {
        asked.set(asked.get() + 1);
        let (is_cut, all) = (asked.get() == 3, pages(&web)());
        let read = all.map(|page| page.map_err(|never| match never {})).enumerate();
        let ends = move |(at, page)| if is_cut && at == 4 { Err("the program ends") } else { page };
        read.map(ends).take(if is_cut { 5 } else { 9 })
    };
    let mut send = |version, changes: &[CopyChange]| {
        changes.iter().for_each(|change| store.apply(version, change));
        all(ItemAnswer::Taken, changes)
    };
    let failed = copy(&storage, 2).sync(9, &cut, &mut send).unwrap_err();
    assert!(matches!(failed, SyncError::Pages("the program ends")));
    assert_eq!(store.holds().len(), 9, "nothing was deleted");
    assert_eq!(bring(&storage, &mut store, &web, 9).puts, 5);
    assert!(is_right(&store, &web));
}

#[test]
fn what_cannot_be_read_stops_no_other_and_is_tried_again() {
    let (storage, web) = (MemoryStorage::new(), (0..6).map(|page| (page, 1)).collect::<WantedStates>());
    let mut send = |_, changes: &[CopyChange]| {
        let answer = |change: &CopyChange| match change {
            CopyChange::Put(page, _) if *page == url(1) => ItemAnswer::Unread,
            _ => ItemAnswer::Taken,
        };
        BatchAnswers { answers: changes.iter().map(answer).collect(), ..BatchAnswers::default() }
    };
    let sent = copy(&storage, 2).sync(1, &pages(&web), &mut send).unwrap();
    assert_eq!(sent, SentChanges { puts: 5, unread: 1, ..SentChanges::default() });
    assert_eq!(bring(&storage, &mut VersionedTarget::default(), &web, 9).puts, 1);
}

/// A name says nothing of what the target holds: its address does.
#[test]
fn another_address_has_another_copy() {
    let (storage, web) = (MemoryStorage::new(), WantedStates::from([(1, 1), (2, 1)]));
    bring(&storage, &mut VersionedTarget::default(), &web, 9);
    let moved =
        TargetCopy { storage: &storage, target: "jsonl+file:///other", batch: 9, lateness: Duration::ZERO };
    let mut send = |_, changes: &[CopyChange]| all(ItemAnswer::Taken, changes);
    assert_eq!(moved.sync(1, &pages(&web), &mut send).unwrap().puts, 2);
    assert_eq!(bring(&storage, &mut VersionedTarget::default(), &web, 9), SentChanges::default());
    let heads: Vec<CopyHead> = copies(&storage)
        .unwrap()
        .iter()
        .map(|name| CopyReader::open(&storage, name).unwrap().unwrap().head().clone())
        .collect();
    let mut targets: Vec<&str> = heads.iter().map(|head| head.target.as_str()).collect();
    targets.sort_unstable();
    assert_eq!(targets, [DESK, "jsonl+file:///other"]);
}

/// A page may be known again before the next delivery, with the state that it had.
#[test]
fn lines_that_are_to_go_are_noted_until_they_went() {
    let (storage, web) = (MemoryStorage::new(), WantedStates::from([(1, 1), (2, 1)]));
    assert_eq!(copy(&storage, 9).purge().unwrap(), None);
    bring(&storage, &mut VersionedTarget::default(), &web, 9);
    let server = TargetCopy { target: "solr+http://a.test/solr/docs", ..copy(&storage, 9) };
    let mut send = |_, changes: &[CopyChange]| all(ItemAnswer::Taken, changes);
    server.sync(1, &pages(&web), &mut send).unwrap();
    for pattern in ["http://a.test/001", "b.test", "b.test"] {
        note_takedown(&storage, pattern, &|_| false, &|target| target == DESK).unwrap();
    }
    assert_eq!(bring(&storage, &mut VersionedTarget::default(), &web, 9), SentChanges::default());
    let noted = ["http://a.test/001", "b.test"].map(str::to_owned).to_vec();
    assert_eq!(copy(&storage, 9).purge().unwrap(), Some(noted));
    assert_eq!(server.purge().unwrap(), Some(Vec::new()));
    copy(&storage, 9).purged::<Infallible>(&|page| *page == url(1)).unwrap();
    assert_eq!(copy(&storage, 9).purge().unwrap(), Some(Vec::new()));
    assert_eq!(bring(&storage, &mut VersionedTarget::default(), &web, 9).puts, 1);
}

/// A page may be allowed again before the next delivery. If its new document is refused or given up, the old one must not
/// stay: its delete survives parking, `rebuild` and `skip`, until the target confirms it.
#[test]
fn a_page_that_was_taken_down_is_deleted_whatever_becomes_of_it() {
    let (storage, web) = (MemoryStorage::new(), WantedStates::from([(1, 1), (2, 1), (3, 1)]));
    let server = TargetCopy { target: "solr+http://a.test/solr/docs", ..copy(&storage, 9) };
    let sync = |answer: ItemAnswer| {
        let mut sent = Vec::new();
        let mut send = |_, changes: &[CopyChange]| {
            sent.extend_from_slice(changes);
            all(answer.clone(), changes)
        };
        let _ = server.sync(2, &pages(&web), &mut send);
        sent
    };
    sync(ItemAnswer::Taken);
    note_takedown(&storage, "http://a.test/002", &|page| *page == url(2), &|_| false).unwrap();
    let delete = CopyChange::Delete(url(2));
    for answer in [ItemAnswer::Unknown, ItemAnswer::Refused, ItemAnswer::Unread, ItemAnswer::Later] {
        assert_eq!(sync(answer.clone()).first(), Some(&delete), "{answer:?}");
        doubt(&storage, &name_of(server.target), None).unwrap();
        assert_eq!(server.skip(pages(&web)(), None).unwrap().deletes, 1, "{answer:?}");
        server.purged::<Infallible>(&|_| true).unwrap();
    }
    let sent = sync(ItemAnswer::Taken);
    assert_eq!(sent[..2], [delete, CopyChange::Put(url(1), state(1))]);
    assert!(sent.contains(&CopyChange::Put(url(2), state(1))), "{sent:?}");
    assert_eq!(sync(ItemAnswer::Taken), []);
}

/// What is given up is sent when its page has another state, and deletes are not given up.
#[test]
fn skipped_documents_wait_for_another_state_of_their_pages() {
    let (storage, web) = (MemoryStorage::new(), WantedStates::from([(1, 1), (2, 1), (3, 1)]));
    let bad = |change: &CopyChange| matches!(change, CopyChange::Put(page, _) if *page == url(2));
    let refuse = |_, changes: &[CopyChange]| {
        let answer = |change| if bad(change) { ItemAnswer::Refused } else { ItemAnswer::Taken };
        let reasons = changes.iter().position(bad).map(|at| (at, "no".to_owned())).into_iter().collect();
        let answers = changes.iter().map(answer).collect();
        BatchAnswers { answers, reasons, ..BatchAnswers::default() }
    };
    assert_eq!(copy(&storage, 9).sync(7, &pages(&web), &mut refuse.clone()).unwrap().refused, 1);
    let held = || {
        let mut copy = CopyReader::open(&storage, &name_of(DESK)).unwrap().unwrap();
        std::iter::from_fn(move || copy.next_page().unwrap()).collect::<BTreeMap<_, _>>()
    };
    let parked = Held::Refused { state: state(1), digest: 0, since: 7, why: "no".into() };
    assert_eq!(held()[&url(2)], parked);

    // A refused document, a changed one, one that is new, and one to delete.
    let web = WantedStates::from([(1, 2), (2, 1), (4, 1)]);
    let skip = |only: Option<u8>| copy(&storage, 9).skip(pages(&web)(), only.map(url).as_ref()).unwrap();
    assert_eq!(skip(Some(3)), SkippedChanges { refused: 0, waiting: 0, deletes: 1 });
    assert_eq!(skip(Some(2)), SkippedChanges { refused: 1, waiting: 0, deletes: 1 });
    assert_eq!(held()[&url(2)], Held::Skipped { state: state(1), digest: 0 });
    assert_eq!(skip(None), SkippedChanges { refused: 0, waiting: 2, deletes: 1 });
    assert_eq!(skip(None), SkippedChanges { refused: 0, waiting: 0, deletes: 1 });
    let mut store = VersionedTarget::default();
    let sent = bring(&storage, &mut store, &web, 9);
    assert_eq!(sent, SentChanges { deletes: 1, ..SentChanges::default() });
    let web = WantedStates::from([(1, 3), (2, 2), (4, 2)]);
    assert_eq!(bring(&storage, &mut store, &web, 9).puts, 3);
    assert!(is_right(&store, &web));
    // A page that is given up and goes is deleted: the target may have an earlier state.
    copy(&storage, 9).skip(pages(&WantedStates::from([(1, 4)]))(), Some(&url(1))).unwrap();
    assert_eq!(bring(&storage, &mut store, &WantedStates::new(), 9).deletes, 3);
}

/// A sender whose documents have digests.
struct Digests<'d> {
    now: &'d BTreeMap<u8, u64>,
    sent: Vec<CopyChange>,
    made: usize,
}

impl SendChanges for Digests<'_> {
    fn send(&mut self, _: u64, changes: &[CopyChange]) -> BatchAnswers {
        self.sent.extend_from_slice(changes);
        let digest = |change: &CopyChange| match change {
            CopyChange::Put(page, _) => {
                self.now.iter().find(|(number, _)| url(**number) == *page).map_or(0, |(_, digest)| *digest)
            }
            CopyChange::Delete(_) => 0,
        };
        BatchAnswers { digests: changes.iter().map(digest).collect(), ..all(ItemAnswer::Taken, changes) }
    }

    fn digest(&mut self, page: &CanonicalUrl) -> Option<u64> {
        self.made += 1;
        self.now.iter().find(|(number, _)| url(**number) == *page).map(|(_, digest)| *digest)
    }
}

/// A title changes while the text stays, or only a number that no document has.
#[test]
fn another_body_is_sent_if_its_document_is_another() {
    let storage = MemoryStorage::new();
    let sync = |captures: &[(u8, u64)], now: &BTreeMap<u8, u64>| {
        let mut digests = Digests { now, sent: Vec::new(), made: 0 };
        let pages = || {
            let page = |(page, capture): &(u8, u64)| {
                Ok::<_, Infallible>((url(*page), DocumentState { page: 1, capture: *capture }))
            };
            captures.iter().map(page).collect::<Vec<_>>().into_iter()
        };
        let sent = copy(&storage, 9).sync(5, &pages, &mut digests).unwrap();
        (sent.puts, digests.sent.len(), digests.made)
    };
    let first = BTreeMap::from([(1, 11), (2, 12), (3, 13)]);
    assert_eq!(sync(&[(1, 1), (2, 2), (3, 3)], &first), (3, 3, 0));
    let then = BTreeMap::from([(1, 11), (2, 99), (3, 13)]);
    assert_eq!(sync(&[(1, 4), (2, 5), (3, 3)], &then), (1, 1, 2));
    // Neither is looked at again.
    assert_eq!(sync(&[(1, 4), (2, 5), (3, 3)], &then), (0, 0, 0));
    // Nothing is sent, and nothing is made twice.
    assert_eq!(sync(&[(1, 6), (2, 5), (3, 3)], &then), (0, 0, 1));
    assert_eq!(sync(&[(1, 6), (2, 5), (3, 3)], &then), (0, 0, 0));
}

/// Sent behind it, a delete would be undone by it.
#[test]
fn nothing_is_sent_while_an_abandoned_request_may_be_taken() {
    let storage = MemoryStorage::new();
    let late = TargetCopy { lateness: Duration::from_secs(30), ..copy(&storage, 9) };
    let web = WantedStates::from([(1, 1), (2, 1)]);
    let give_up = Interrupted { given_up: Some(5_000), ..Interrupted::from("no answer") };
    let mut lost =
        |_, _: &[CopyChange]| BatchAnswers { interrupted: Some(give_up.clone()), ..BatchAnswers::default() };
    late.sync(1_000, &pages(&web), &mut lost).unwrap_err();
    let interrupted = |now| match late.sync(now, &pages(&web), &mut |_, _: &[CopyChange]| panic!("sent")) {
        Err(SyncError::Interrupted(interrupted)) => interrupted.retry_after,
        other => panic!("{other:?}"),
    };
    assert_eq!(interrupted(15_000), Some(Duration::from_secs(20)));
    assert_eq!(interrupted(34_000), Some(Duration::from_secs(1)));
    let mut send = |_, changes: &[CopyChange]| all(ItemAnswer::Taken, changes);
    assert_eq!(late.sync(35_000, &pages(&web), &mut send).unwrap().puts, 2);
    assert_eq!(late.head().unwrap().given_up, 0);
    // A kill says nothing of the time.
    let head = CopyHead { given_up: CopyHead::SENDING, ..late.head().unwrap() };
    late.write_head::<Infallible>(&head, &|_, held| held.doubted()).unwrap();
    assert_eq!(interrupted(50_000), Some(Duration::from_secs(30)));
    assert_eq!(interrupted(60_000), Some(Duration::from_secs(20)));
    // The clock was put back.
    assert_eq!(interrupted(40_000), Some(Duration::from_secs(30)));
    assert_eq!(late.sync(70_000, &pages(&web), &mut send).unwrap().puts, 2);
}

/// Only damage is a reason to begin anew, and it is told.
#[test]
fn a_copy_that_cannot_be_read_is_no_damaged_one() {
    let web: WantedStates = (0..6).map(|page| (page, 1)).collect();
    let memory = MemoryStorage::new();
    bring(&memory, &mut VersionedTarget::default(), &web, 9);
    let bytes = bytes_of(&memory).unwrap();
    let unreadable = FaultyStorage::with_files([(desk(), bytes.clone())].into());
    for read in [1, 2] {
        unreadable.set_fault(StorageFault::FailRead(read));
        let failed = doubt(&unreadable, &name_of(DESK), None);
        assert!(matches!(failed, Err(DoubtError::Read(ReadError::Io { .. }))), "{read}: {failed:?}");
        unreadable.set_fault(StorageFault::FailRead(read));
        let error = copy(&unreadable, 9)
            .sync(1, &pages(&web), &mut |_, _: &[CopyChange]| panic!())
            .unwrap_err()
            .to_string();
        assert!(error.contains("cannot read") && !error.contains("rebuild"), "{error}");
        assert_eq!(unreadable.image()[&desk()], bytes);
    }

    for (at, left) in [(30, 6), (bytes.len() - 5, 6)] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        let storage = MemoryStorage::new();
        storage.create(&desk()).unwrap().write(&damaged).unwrap();
        let error = copy(&storage, 9)
            .sync(1, &pages(&web), &mut |_, _: &[CopyChange]| panic!())
            .unwrap_err()
            .to_string();
        assert!(error.contains("damaged at byte") && error.contains("deliver rebuild"), "{error}");
        assert!(doubt(&storage, &name_of(DESK), Some(DESK)).unwrap().is_some());
        let mut store = VersionedTarget::default();
        assert_eq!(bring(&storage, &mut store, &WantedStates::new(), 9).deletes, left);
        assert_eq!(bring(&storage, &mut store, &web, 9).puts, 6);
    }
}

/// How one request ends.
#[derive(Clone, Copy, Debug)]
enum RequestEnd {
    Answered,
    /// The first changes are made, then the connection breaks.
    Broken(usize),
    /// All is made, and the answer gets lost.
    Lost,
    /// The program is killed behind it: what was not stored before is gone.
    Killed,
    /// Some changes are answered as not made.
    InPart(usize),
}

fn end() -> impl Strategy<Value = RequestEnd> {
    prop_oneof![
        3 => Just(RequestEnd::Answered),
        1 => (0usize..5).prop_map(RequestEnd::Broken),
        1 => Just(RequestEnd::Lost),
        1 => Just(RequestEnd::Killed),
        1 => (0usize..5).prop_map(RequestEnd::InPart),
    ]
}

fn desk() -> String {
    copy_file(&name_of(DESK))
}

fn bytes_of(storage: &MemoryStorage) -> Option<Vec<u8>> {
    let file = storage.open(&desk()).ok()?;
    let mut bytes = vec![0; file.length().unwrap() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    Some(bytes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Whatever happens to requests and to the program, the next call that ends well leaves the copy right. And no page that
    /// is gone stays, once a call took all deletes.
    #[test]
    fn the_copy_is_exact(
        webs in proptest::collection::vec(proptest::collection::btree_map(0u8..12, 0u64..4, 0..12), 1..8),
        ends in proptest::collection::vec(end(), 0..25), batch in 1usize..6,
    ) {
        let (storage, mut store, mut ends) = (MemoryStorage::new(), VersionedTarget::default(), ends.into_iter());
        for web in &webs {
            let (mut killed_with, mut is_killed) = (None, false);
            let mut send = |version, changes: &[CopyChange]| {
                assert!(!is_killed, "a program that is killed sends nothing");
                let made = match ends.next().unwrap_or(RequestEnd::Answered) {
                    RequestEnd::Broken(made) => {
                        changes.iter().take(made).for_each(|change| store.apply(version, change));
                        return BatchAnswers { interrupted: Some("broken".into()), ..BatchAnswers::default() };
                    }
                    RequestEnd::InPart(made) => made,
                    end => {
                        changes.iter().for_each(|change| store.apply(version, change));
                        match end {
                            RequestEnd::Lost => {
                                return BatchAnswers { interrupted: Some("lost".into()), ..BatchAnswers::default() };
                            }
                            RequestEnd::Killed => {
                                (killed_with, is_killed) = (Some(bytes_of(&storage)), true);
                                return BatchAnswers { interrupted: Some("killed".into()), ..BatchAnswers::default() };
                            }
                            _ => return all(ItemAnswer::Taken, changes),
                        }
                    }
                };
                let answers = changes.iter().enumerate().map(|(at, change)| match at < made {
                    true => {
                        store.apply(version, change);
                        ItemAnswer::Taken
                    }
                    false => ItemAnswer::Unknown,
                });
                // The rest may have been sent in another request, that broke.
                let interrupted = (made % 2 == 0).then(|| "broken".into());
                let answers = answers.take(if interrupted.is_some() { made } else { usize::MAX });
                BatchAnswers { answers: answers.collect(), interrupted, ..BatchAnswers::default() }
            };
            let ended = copy(&storage, batch).sync(5, &pages(web), &mut send);
            match killed_with {
                Some(Some(bytes)) => storage.create(&desk()).unwrap().write(&bytes).unwrap(),
                Some(None) => panic!("nothing was stored before the first document was sent"),
                None => drop(ended),
            }
        }
        let last = webs.last().unwrap();
        bring(&storage, &mut store, last, batch);
        prop_assert!(is_right(&store, last), "{:?} is not {last:?}", store.holds());
    }
}
