//! The map: which partition has which range of the URL order.
//!
//! Ranges are cut between sites: politeness, noise, traps and rates of a site are one crawl's business.

use crate::key;
use recrawl_types::{CanonicalUrl, Site};
use recrawl_vault::{Store, StoreError, VaultError, create_or_find, framed, read_framed};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Milliseconds of a lease, unless the map says otherwise.
const LEASE: u64 = 90_000;
/// Partitions at most: an exchange reads an object of each.
const MAX_PARTITIONS: usize = 4096;

/// A partition, and where its range begins: it ends where the next one's begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartitionRange {
    /// Its number, which no other partition ever had.
    pub id: u32,
    /// The site with which it begins; none for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin: Option<String>,
    /// The partition of which it was a part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
}

/// Why ranges are no map.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapError {
    /// None or too many.
    #[error("{0} partitions; a map has 1 to {MAX_PARTITIONS}")]
    Count(usize),
    /// A number stands for two.
    #[error("partition {0} has two ranges")]
    Twice(u32),
    /// Only the first range begins with the first URL.
    #[error("partition {0}: only the first one has no `begin`, and it has none")]
    First(u32),
    /// Ranges must ascend in the order of URLs.
    #[error("partition {0} begins at {1}, which is not behind the one before it")]
    Order(u32, String),
    /// A cut within a site.
    #[error("partition {0} begins at {1}: cut between sites, such as at {2}")]
    WithinSite(u32, String, String),
}

/// The division of a partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapDivision {
    /// The partition, which keeps its number and the beginning of its range.
    pub parent: u32,
    /// The new one, which has the rest.
    pub child: u32,
    /// The epoch of the parent by which it is done.
    pub epoch: u64,
    /// Of the process that does it.
    pub nonce: String,
}

/// Partitions that are put together: two neighbours into a new partition, or all into a folder, by which the fleet ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapJoining {
    /// The partitions, in the order of URLs, each with the epoch by which its last owner does it.
    pub parts: Vec<PartitionEnd>,
    /// The new partition; none if the fleet ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub into: Option<u32>,
    /// Of the process that does it.
    pub nonce: String,
}

/// The end of a partition: nobody writes runs of that epoch or a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartitionEnd {
    /// The partition.
    pub id: u32,
    /// Its last epoch.
    pub epoch: u64,
}

/// A partition that ended, whose runs others may still have to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FormerPartition {
    /// Its number.
    pub id: u32,
    /// Its last epoch.
    pub epoch: u64,
    /// The partition that has its pages, or had.
    pub into: u32,
}

/// A map that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetMap {
    number: u64,
    lease: u64,
    ranges: Vec<PartitionRange>,
    division: Option<MapDivision>,
    joining: Option<MapJoining>,
    former: Vec<FormerPartition>,
    /// Where each begins, as a beginning of keys.
    begins: Vec<Vec<u8>>,
}

/// As stored.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredMap {
    number: u64,
    /// Milliseconds after which an owner that shows no sign of life has none.
    lease: u64,
    partitions: Vec<PartitionRange>,
    /// The division that makes the map.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    division: Option<MapDivision>,
    /// The partitions that are put together by the map.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    joining: Option<MapJoining>,
    /// The partitions that ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    former: Vec<FormerPartition>,
}

impl FleetMap {
    /// Checks ranges.
    ///
    /// # Errors
    /// Why they are no map.
    pub fn new(number: u64, ranges: Vec<PartitionRange>) -> Result<FleetMap, MapError> {
        if ranges.is_empty() || ranges.len() > MAX_PARTITIONS {
            return Err(MapError::Count(ranges.len()));
        }
        let (mut ids, mut begins) = (BTreeSet::new(), Vec::<Vec<u8>>::new());
        for PartitionRange { id, begin, .. } in &ranges {
            if !ids.insert(*id) {
                return Err(MapError::Twice(*id));
            }
            if begin.is_none() != begins.is_empty() {
                return Err(MapError::First(*id));
            }
            let site = begin.clone().unwrap_or_default();
            if let Some(whole) = begin.as_deref().and_then(cuts) {
                return Err(MapError::WithinSite(*id, site, whole));
            }
            let begin = begin.as_deref().map_or(Vec::new(), CanonicalUrl::key_of_host);
            if begins.last().is_some_and(|last| *last >= begin) {
                return Err(MapError::Order(*id, site));
            }
            begins.push(begin);
        }
        let (division, joining, former) = Default::default();
        Ok(FleetMap { number, lease: LEASE, ranges, division, joining, former, begins })
    }

    /// The same, with leases of so many milliseconds.
    pub fn with_lease(self, lease: u64) -> FleetMap {
        FleetMap { lease, ..self }
    }

    /// The same, in force once the division is done.
    pub(crate) fn with_division(self, division: Option<MapDivision>) -> FleetMap {
        FleetMap { division, ..self }
    }

    /// The same, in force once the partitions are put together.
    pub(crate) fn with_joining(self, joining: Option<MapJoining>) -> FleetMap {
        FleetMap { joining, ..self }
    }

    /// The same, after these partitions ended.
    pub(crate) fn with_former(self, former: Vec<FormerPartition>) -> FleetMap {
        FleetMap { former, ..self }
    }

    /// The partitions that are put together by the map, if so.
    pub fn joining(&self) -> Option<&MapJoining> {
        self.joining.as_ref()
    }

    /// The partitions that ended, oldest first.
    pub fn former(&self) -> &[FormerPartition] {
        &self.former
    }

    /// Is it the last map of a fleet, which went back to one machine?
    pub fn is_end(&self) -> bool {
        self.joining.as_ref().is_some_and(|joining| joining.into.is_none())
    }

    /// The partition that has the pages of one that ended, by now.
    pub fn heir_of(&self, former: u32) -> u32 {
        let next = |id: u32| self.former.iter().find(|ended| ended.id == id).map(|ended| ended.into);
        // Each ended before the one that it went into, so this ends.
        std::iter::successors(Some(former), |id| next(*id)).last().unwrap_or(former)
    }

    /// The division that makes the map; none of the first.
    pub fn division(&self) -> Option<&MapDivision> {
        self.division.as_ref()
    }

    /// The partition of which this one was a part; none of one that a fleet began with.
    pub fn parent_of(&self, partition: u32) -> Option<u32> {
        self.ranges.iter().find(|range| range.id == partition)?.parent
    }

    /// Milliseconds of a lease.
    pub fn lease(&self) -> u64 {
        self.lease
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The ranges, in the order of URLs.
    pub fn ranges(&self) -> &[PartitionRange] {
        &self.ranges
    }

    /// The place of a partition in that order.
    pub fn place_of(&self, partition: u32) -> Option<usize> {
        self.ranges.iter().position(|range| range.id == partition)
    }

    /// The place of the partition that has the URL of this key.
    pub fn place_of_key(&self, key: &[u8]) -> usize {
        self.begins.partition_point(|begin| begin.as_slice() <= key) - 1
    }

    /// The partition that has the URL of this key.
    pub fn owner_of(&self, key: &[u8]) -> u32 {
        self.ranges[self.place_of_key(key)].id
    }

    /// Has this map the same range of a partition as another one?
    pub(crate) fn has_alike(&self, other: &FleetMap, id: u32) -> bool {
        let bounds = |map: &FleetMap| {
            let (begin, end) = map.place_of(id).map(|place| map.bounds(place))?;
            Some((begin.to_vec(), end.map(<[u8]>::to_vec)))
        };
        bounds(self).is_some_and(|own| Some(own) == bounds(other))
    }

    /// The beginning of the keys of the partition at this place, and of those behind it; none for the last.
    pub fn bounds(&self, place: usize) -> (&[u8], Option<&[u8]>) {
        (&self.begins[place], self.begins.get(place + 1).map(Vec::as_slice))
    }
}

/// The site that would have pages on both sides of a cut before this host; none if none has.
fn cuts(host: &str) -> Option<String> {
    let whole = Site::of_host(host).to_string();
    if whole != host {
        return Some(whole);
    }
    // Customers of a host below a suffix of its own lie within the domain above: `x.foo.example.com`.
    let above = host.match_indices('.').map(|(at, _)| &host[at + 1..]);
    above.filter(|above| Site::is_domain(above)).map(|above| Site::of_host(above).to_string()).next()
}

/// Reads a map; none if there is none of that number.
///
/// # Errors
/// When it is damaged, or the store does not answer.
pub fn read_map(store: &dyn Store, number: u64) -> Result<Option<FleetMap>, VaultError> {
    let key = key::map(number);
    let Some(stored) = read_framed::<StoredMap>(store, &key)? else { return Ok(None) };
    let wrong = |what: String| VaultError::Damaged { object: store.locate(&key), offset: 0, what };
    if stored.number != number {
        return Err(wrong(format!("it is map {}", stored.number)));
    }
    let map = FleetMap::new(number, stored.partitions).map_err(|e| wrong(e.to_string()))?;
    Ok(Some(
        map.with_lease(stored.lease)
            .with_division(stored.division)
            .with_joining(stored.joining)
            .with_former(stored.former),
    ))
}

/// Creates, for each partition, an object that says in which map it began: so its vault has a folder.
///
/// # Errors
/// When the store does not answer.
pub fn begin_partitions(store: &dyn Store, map: &FleetMap) -> Result<(), VaultError> {
    for range in &map.ranges {
        let key = key::begun(range.id);
        match create_or_find(store, &key, &framed(&key, &map.number, b"")) {
            Err(StoreError::Exists(_)) => {}
            done => done?,
        }
    }
    Ok(())
}

/// Creates a map, unless there is one of its number. Its partitions have [begun](begin_partitions).
///
/// # Errors
/// [`VaultError::Away`] if another is there, or the store does not answer.
pub fn write_map(store: &dyn Store, map: &FleetMap) -> Result<(), VaultError> {
    let key = key::map(map.number);
    let stored = StoredMap {
        number: map.number,
        lease: map.lease,
        partitions: map.ranges.clone(),
        division: map.division.clone(),
        joining: map.joining.clone(),
        former: map.former.clone(),
    };
    Ok(create_or_find(store, &key, &framed(&key, &stored, b""))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_types::UrlRules;
    use recrawl_vault::store::MemoryStore;

    fn ranges(begins: &[&str]) -> Vec<PartitionRange> {
        let begins = std::iter::once(None).chain(begins.iter().map(|begin| Some((*begin).to_owned())));
        (1..).zip(begins).map(|(id, begin)| PartitionRange { id, begin, parent: None }).collect()
    }

    #[test]
    fn a_url_has_one_partition_and_a_site_is_in_one() {
        let map = FleetMap::new(1, ranges(&["b.com", "alice.github.io", "example.org"])).unwrap();
        let key = |url: &str| UrlRules::default().canonicalize(url).unwrap().key().to_vec();
        for (url, place) in [
            ("http://127.0.0.1/", 0),
            ("http://a.com/", 0),
            ("http://b.com/", 1),
            ("http://www.b.com/x", 1),
            ("http://b-c.com/", 1),
            ("http://github.io/", 1),
            ("http://alice.github.io/", 2),
            ("http://bob.github.io/", 2),
            ("http://example.org/", 3),
            ("http://z.test/", 3),
        ] {
            assert_eq!(map.place_of_key(&key(url)), place, "{url}");
            let (begin, end) = map.bounds(place);
            assert!(begin <= &key(url)[..] && end.is_none_or(|end| &key(url)[..] < end), "{url}");
        }
        assert_eq!((map.place_of(3), map.place_of(9)), (Some(2), None));
    }

    fn stored() -> StoredMap {
        StoredMap {
            number: 0,
            lease: 0,
            partitions: Vec::new(),
            division: None,
            joining: None,
            former: Vec::new(),
        }
    }

    #[test]
    fn what_is_no_map_is_refused_also_in_the_store() {
        for (begins, says) in [
            (vec!["www.example.com"], "such as at example.com"),
            (vec!["b.com", "a.com"], "not behind the one before"),
            (vec!["b.com", "b.com"], "not behind the one before"),
        ] {
            let error = FleetMap::new(1, ranges(&begins)).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        let twice = vec![
            ranges(&[])[0].clone(),
            PartitionRange { begin: Some("a.com".into()), ..ranges(&[])[0].clone() },
        ];
        assert_eq!(FleetMap::new(1, twice.clone()), Err(MapError::Twice(1)));
        assert_eq!(FleetMap::new(1, ranges(&["a.com"])[1..].to_vec()), Err(MapError::First(2)));
        assert_eq!(FleetMap::new(1, Vec::new()), Err(MapError::Count(0)));
        let store = MemoryStore::new();
        let map = FleetMap::new(7, ranges(&["b.com"])).unwrap();
        write_map(&store, &map).unwrap();
        assert_eq!(read_map(&store, 7).unwrap(), Some(map.clone()));
        assert_eq!(read_map(&store, 8).unwrap(), None);
        write_map(&store, &map).unwrap();
        write_map(&store, &FleetMap::new(7, ranges(&[])).unwrap()).unwrap_err();
        let key = key::map(9);
        store
            .create(
                &key,
                &framed(&key, &StoredMap { number: 9, lease: 1, partitions: twice, ..stored() }, b""),
            )
            .unwrap();
        let error = read_map(&store, 9).unwrap_err().to_string();
        assert!(error.contains("partition 1 has two ranges"), "{error}");
    }
}
