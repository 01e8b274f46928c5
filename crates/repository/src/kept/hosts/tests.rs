//! Hosts come back in order; a file that is not whole is told.

use super::*;
use crate::kept::entries::{EntryWriter, remove};
use crate::storage::{MemoryStorage, Storage};
use crate::testing::url;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use recrawl_types::{AnswerClass, Cycle, DatedRound, Round};
use std::collections::BTreeMap;

const ROUND: DatedRound = DatedRound { round: Round(12), cycle: Cycle(3) };

fn robots() -> impl Strategy<Value = (Scheme, u16, RobotsInForce)> {
    let robots = prop_oneof![
        Just(RobotsInForce::Unknown),
        Just(RobotsInForce::Absent),
        Just(RobotsInForce::Unreachable),
        any::<[u8; 32]>().prop_map(RobotsInForce::File),
    ];
    (prop_oneof![Just(Scheme::Http), Just(Scheme::Https)], any::<u16>(), robots)
}

fn requests() -> impl Strategy<Value = HostRequests> {
    let gap = option::of(any::<(u64, u64)>());
    let times = (0..u64::MAX / 2, 0..u64::MAX / 2);
    (any::<[u32; AnswerClass::ALL.len()]>(), times, gap, any::<[u64; 7]>()).prop_map(
        |(answers, (first, time), gap, [bytes, early, delay, at, requests, start, end])| HostRequests {
            answers: answers.map(u64::from),
            bytes,
            first,
            last: first + time,
            shortest: gap.map(|(millis, delay)| ShortestGap { millis, delay }),
            early,
            delay,
            busiest: Minute { at, requests },
            at_ends: [start, end],
        },
    )
}

/// A host's requests and robots.txt.
type Asked = (HostRequests, Vec<(Scheme, u16, RobotsInForce)>);

/// Hosts in the order of their keys.
fn hosts(any: Vec<(CanonicalUrl, Asked)>) -> Vec<StoredHost> {
    let kept = |(url, (requests, robots)): (CanonicalUrl, Asked)| {
        let host = StoredHost { host: url.host().into(), requests, robots };
        (host.home(), host)
    };
    any.into_iter().map(kept).collect::<BTreeMap<CanonicalUrl, StoredHost>>().into_values().collect()
}

fn written(hosts: &[StoredHost]) -> MemoryStorage {
    let storage = MemoryStorage::new();
    let mut writer = EntryWriter::create(&storage, StoredKind::Hosts, ROUND).unwrap();
    hosts.iter().for_each(|host| writer.push(host).unwrap());
    writer.finish().unwrap();
    storage
}

fn read(storage: &dyn Storage) -> Result<Vec<StoredHost>, ReadError> {
    let mut reader = StoredHosts::open(storage, ROUND)?.expect("the file is there");
    std::iter::from_fn(|| reader.next_entry().transpose()).collect()
}

proptest! {
    #[test]
    fn they_come_back_and_no_part_of_a_file_passes_for_all_of_it(
        any in vec((url(), (requests(), vec(robots(), 0..3))), 0..20), cut in any::<usize>(), removed in "a|b|example"
    ) {
        let hosts = hosts(any);
        let storage = written(&hosts);
        prop_assert_eq!(&read(&storage).unwrap(), &hosts);
        let mut image = storage.image();
        let bytes = image.get_mut(&StoredKind::Hosts.file(ROUND)).unwrap();
        bytes.truncate(cut % bytes.len());
        prop_assert!(read(&MemoryStorage::with_files(image)).is_err());

        let is_meant = |host: &StoredHost| host.host.starts_with(&removed);
        let (meant, rest): (Vec<StoredHost>, Vec<StoredHost>) =
            hosts.iter().cloned().partition(is_meant);
        prop_assert_eq!(remove(&storage, ROUND, &is_meant, true).unwrap(), meant.len() as u64);
        prop_assert_eq!(&read(&storage).unwrap(), &hosts);
        prop_assert_eq!(remove(&storage, ROUND, &is_meant, false).unwrap(), meant.len() as u64);
        prop_assert_eq!(&read(&storage).unwrap(), &rest);
        prop_assert_eq!(storage.image().len(), 1, "nothing unfinished is left");
    }
}
