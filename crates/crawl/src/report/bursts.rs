//! Bursts: groups of siblings of which more pages changed than was expected.

use recrawl_formula::siblings::Group;
use recrawl_types::{CanonicalUrl, KeyRows};
use serde::{Deserialize, Serialize};

/// Bursts that a report names: those with the most changes beyond what was expected.
const NAMED: usize = 20;

/// The bursts that the plan of a round met, in visits of its cycle and of the one before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bursts {
    /// Their number.
    pub groups: u64,
    /// The strongest, strongest first; at most 20.
    pub strongest: Vec<SiblingVisits>,
}

/// Visits of a group of siblings, by what they met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SiblingVisits {
    /// The innermost folder of all its pages, as a URL.
    pub folder: String,
    /// Pages of the group.
    pub pages: u64,
    /// Visits that count.
    pub visits: u64,
    /// Changes that they found.
    pub changes: u64,
    /// Changes expected of them.
    pub expected: f64,
}

impl SiblingVisits {
    /// Of a group in a block with these keys.
    pub fn new(group: &Group, keys: &KeyRows) -> SiblingVisits {
        SiblingVisits {
            folder: folder(keys.get(group.first), keys.get(group.last)),
            pages: group.pages as u64,
            visits: group.met.visits,
            changes: group.met.changes,
            expected: group.met.expected,
        }
    }

    fn surplus(&self) -> f64 {
        self.changes as f64 - self.expected
    }
}

impl Bursts {
    /// None at all; absent in reports.
    pub fn is_none(&self) -> bool {
        self.groups == 0
    }

    /// Adds the bursting groups of a block with these keys. Of equally strong ones the first stay.
    pub fn add(&mut self, groups: &[Group], keys: &KeyRows) {
        for group in groups {
            self.groups += 1;
            let visits = SiblingVisits::new(group, keys);
            let place = self.strongest.partition_point(|other| other.surplus() >= visits.surplus());
            if place < NAMED {
                self.strongest.truncate(NAMED - 1);
                self.strongest.insert(place, visits);
            }
        }
    }

    /// With those of a later round of the cycle: its plan has met all that still count.
    pub fn then(&mut self, later: &Bursts) {
        if !later.is_none() {
            self.clone_from(later);
        }
    }
}

/// The innermost folder of two pages in key order.
fn folder(first: &[u8], last: &[u8]) -> String {
    let is_shared = |length: &usize| last.get(..*length) == first.get(..*length);
    let shared = CanonicalUrl::folders(first).take_while(is_shared).last().unwrap_or_default();
    CanonicalUrl::from_key(&first[..shared]).map_or(String::new(), |url| url.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use recrawl_formula::siblings::ObservedVisits;
    use recrawl_types::UrlRules;

    #[test]
    fn the_strongest_bursts_are_named_with_their_folders() {
        let mut keys = KeyRows::default();
        for page in 0..60 {
            let text = format!("https://a.test:8080/docs/{:02}/{page}?q=/", page / 2);
            keys.push(UrlRules::keep_all().canonicalize(&text).unwrap().key());
        }
        let group = |number: usize| {
            let met = ObservedVisits { visits: 9, changes: 3 + number as u64 % 25, expected: 0.5 };
            Group { first: 2 * number, last: 2 * number + 1, pages: 2, met }
        };
        let groups: Vec<Group> = (0..30).map(group).collect();
        let mut bursts = Bursts::default();
        bursts.add(&groups[..20], &keys);
        bursts.add(&groups[20..], &keys);
        assert_eq!((bursts.groups, bursts.strongest.len()), (30, NAMED));
        assert_eq!(bursts.strongest[0].folder, "https://a.test:8080/docs/24/");
        let changes: Vec<u64> = bursts.strongest.iter().map(|visits| visits.changes).collect();
        assert_eq!(changes, (8..28).rev().collect::<Vec<_>>(), "strongest first");
        let all = Group { first: 0, last: 59, ..group(0) };
        assert_eq!(SiblingVisits::new(&all, &keys).folder, "https://a.test:8080/docs/");
        assert_eq!(folder(b"no key", b"no keys"), "");
    }
}
