//! Visits come back in order; a file that is not whole is told.

use super::*;
use crate::file::format::FileKind;
use crate::file::frames::FrameReader;
use crate::generation::codec::put_key;
use crate::kept::entries::{EntryWriter, entries_in, remove};
use crate::storage::{MemoryStorage, Storage};
use crate::testing::{canonical, visit};
use proptest::collection::vec;
use proptest::prelude::*;
use recrawl_types::{Cycle, DatedRound, Round};

const ROUND: DatedRound = DatedRound { round: Round(12), cycle: Cycle(12) };

fn written(visits: &[StoredVisit]) -> MemoryStorage {
    let storage = MemoryStorage::new();
    let mut writer = EntryWriter::create(&storage, StoredKind::Visits, ROUND).unwrap();
    visits.iter().for_each(|visit| writer.push(visit).unwrap());
    writer.finish().unwrap();
    storage
}

fn read(storage: &dyn Storage) -> Result<Vec<StoredVisit>, ReadError> {
    let mut reader = StoredVisits::open(storage, ROUND)?.expect("the file is there");
    std::iter::from_fn(|| reader.next_entry().transpose()).collect()
}

fn visits_of(storage: &dyn Storage, url: &CanonicalUrl) -> Vec<StoredVisit> {
    StoredVisits::open(storage, ROUND).unwrap().expect("the file is there").visits_of(url).unwrap()
}

proptest! {
    #[test]
    fn they_come_back_and_no_part_of_a_file_passes_for_all_of_it(visits in vec((visit(), any::<u8>(), any::<u8>()), 0..30), cut in any::<usize>()) {
        let kept = |(v, confirmed, missed): (recrawl_types::Visit, u8, u8)| {
            let confirmed = if tells_absence(v.outcome) { confirmed } else { 0 };
            let learned = VisitLesson::from_visit(&v);
            StoredVisit { url: v.url, at: v.at, share: v.share, outcome: v.outcome, confirmed, missed, learned }
        };
        let mut visits: Vec<StoredVisit> = visits.into_iter().map(kept).collect();
        visits.sort_by(|a, b| a.url.cmp(&b.url));
        let storage = written(&visits);
        prop_assert_eq!(&read(&storage).unwrap(), &visits);
        for visit in visits.iter().step_by(3) {
            let of_page: Vec<StoredVisit> = visits.iter().filter(|other| other.url == visit.url).cloned().collect();
            prop_assert_eq!(visits_of(&storage, &visit.url), of_page);
        }
        prop_assert_eq!(visits_of(&storage, &canonical("http://nowhere.example/x")), []);
        let mut reader = StoredVisits::open(&storage, ROUND).unwrap().unwrap();
        let mut urls: Vec<&CanonicalUrl> = visits.iter().map(|visit| &visit.url).collect();
        urls.dedup();
        for url in urls.into_iter().step_by(2) {
            let found = reader.next_from(url.key()).unwrap();
            prop_assert_eq!(found.map(|found| found.url), Some(url.clone()));
        }
        let mut image = storage.image();
        let bytes = image.get_mut(&StoredKind::Visits.file(ROUND)).unwrap();
        bytes.truncate(cut % bytes.len());
        prop_assert!(read(&MemoryStorage::with_files(image)).is_err());
    }
}

#[test]
fn a_frame_that_is_missing_is_told() {
    let visits: Vec<StoredVisit> = (10_000..20_000)
        .map(|i| StoredVisit {
            url: canonical(&format!("http://a.example/{i}")),
            at: 1_700_000_000 + i,
            share: Share::Audit(1.0 / i as f64),
            outcome: Outcome::NotModified,
            confirmed: 0,
            missed: 0,
            learned: None,
        })
        .collect();
    let storage = written(&visits);
    assert_eq!(read(&storage).unwrap(), visits);
    for visit in visits.iter().step_by(997) {
        assert_eq!(visits_of(&storage, &visit.url), std::slice::from_ref(visit));
    }
    let mut frames =
        FrameReader::open(&storage, &StoredKind::Visits.file(ROUND), FileKind::StoredVisits, ROUND.round)
            .unwrap();
    let mut ends = vec![frames.offset() as usize];
    while frames.next_frame().unwrap().is_some() {
        ends.push(frames.offset() as usize);
    }
    assert!(ends.len() > 4, "it has several frames");
    for pair in ends.windows(2) {
        let mut image = storage.image();
        image.get_mut(&StoredKind::Visits.file(ROUND)).unwrap().drain(pair[0]..pair[1]);
        let error = read(&MemoryStorage::with_files(image)).unwrap_err().to_string();
        assert!(
            error.contains("it has no end") || error.contains("the number of visits does not match"),
            "{error}"
        );
    }
}

#[test]
fn absences_from_before_they_were_counted_are_read() {
    let mut payload = Vec::new();
    let url = canonical("http://a.example/");
    put_key(&mut payload, &[], url.key());
    payload.put_varint(7);
    put_reason(&mut payload, Share::Score, None);
    crate::generation::codec::put_outcome(&mut payload, Outcome::NotFound(410));
    let outcome = Outcome::NotFound(410);
    assert_eq!(
        entries_in::<StoredVisit>(&payload),
        [StoredVisit { url, at: 7, share: Share::Score, outcome, confirmed: 0, missed: 0, learned: None }]
    );
    let mut large = payload.clone();
    large.truncate(payload.len() - 2);
    large.put_varint(410 | 256 << MISSED);
    assert!(entries_in::<StoredVisit>(&large).is_empty(), "no count is that large");
}

#[test]
fn visits_are_removed_whole_file_by_whole_file_whatever_stops_it() {
    use crate::storage::{FaultyStorage, StorageFault, Survivors};
    let visits: Vec<StoredVisit> = (10..40)
        .map(|i| StoredVisit {
            url: canonical(&format!("http://{}.example/{i}", if i % 3 == 0 { "b" } else { "a" })),
            at: 1_700_000_000 + i,
            share: Share::Score,
            outcome: Outcome::NotFound(404),
            confirmed: 1,
            missed: 0,
            learned: None,
        })
        .collect();
    let mut visits = visits;
    visits.sort_by(|a, b| a.url.cmp(&b.url));
    let is_meant = |visit: &StoredVisit| visit.url.host() == "b.example";
    let image = written(&visits).image();
    let rest: Vec<StoredVisit> = visits.iter().filter(|visit| !is_meant(visit)).cloned().collect();
    let count = (visits.len() - rest.len()) as u64;
    let storage = FaultyStorage::with_files(image.clone());
    assert_eq!(remove(&storage, ROUND, &is_meant, true).unwrap(), count);
    assert_eq!(read(&storage).unwrap(), visits, "only counted");
    let before = storage.points();
    assert_eq!(remove(&storage, ROUND, &is_meant, false).unwrap(), count);
    assert_eq!(read(&storage).unwrap(), rest);
    for point in 1..=storage.points() - before {
        for fault in [StorageFault::Fail(point), StorageFault::Stop(point)] {
            let storage = FaultyStorage::with_files(image.clone());
            storage.set_fault(fault);
            assert!(remove(&storage, ROUND, &is_meant, false).is_err(), "{fault:?}");
            let left = storage.after_power_cut(Survivors::Some(point));
            let found = read(&left).unwrap();
            assert!(found == visits || found == rest, "{fault:?}");
            remove(&left, ROUND, &is_meant, false).unwrap();
            assert_eq!(read(&left).unwrap(), rest);
        }
    }
}

#[test]
fn a_round_whose_visits_are_not_kept_has_none() {
    assert!(StoredVisits::open(&MemoryStorage::new(), ROUND).unwrap().is_none());
}
