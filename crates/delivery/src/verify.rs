//! Compares what a copy says of its target with what the target has.

use crate::document::{id, name_of};
use data_encoding::BASE32_NOPAD;
use recrawl_repository::storage::Storage;
use recrawl_repository::{CopyHead, CopyReader, CopyWriter, Held, ReadError};
use recrawl_types::{CanonicalUrl, UrlRules};
use std::collections::{BTreeSet, HashMap};

use crate::sync::DoubtError;

/// Documents that nobody knows of, of which a repair takes care at once. It can be run again.
const MAX_UNKNOWN: usize = 100_000;

/// A document, as its target lists it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedDocument {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: u64,
    /// Its page.
    pub url: String,
}

/// Documents by how they differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Differences {
    /// As they were taken.
    pub same: u64,
    /// The target has none of a page that it took.
    pub missing: u64,
    /// It has another version.
    pub other_version: u64,
    /// It has documents of pages that were never sent, or that it said to have deleted.
    pub unknown: u64,
    /// Documents that are not of recrawl. They are left alone.
    pub foreign: u64,
    /// Not compared, as they are not confirmed: the next delivery sends them.
    pub unsure: u64,
}

impl Differences {
    /// Does the target not hold what it took, or something else as well?
    pub fn differs(&self) -> bool {
        self.missing + self.other_version + self.unknown > 0
    }
}

/// A document that the target should have, by the number in its id. Memory: 40 bytes for each.
struct ExpectedDocument {
    /// None if it is not confirmed.
    version: Option<u64>,
    is_found: bool,
    is_right: bool,
}

/// A comparison that goes on.
pub struct CopyComparison<'s> {
    storage: &'s dyn Storage,
    name: String,
    head: CopyHead,
    expected: HashMap<u128, ExpectedDocument>,
    unknown: BTreeSet<CanonicalUrl>,
    differences: Differences,
}

fn number(id: &str) -> Option<u128> {
    let bytes = BASE32_NOPAD.decode(id.to_ascii_uppercase().as_bytes()).ok()?;
    Some(u128::from_be_bytes(bytes.try_into().ok()?))
}

fn number_of(url: &CanonicalUrl) -> u128 {
    number(&id(url)).expect("an id is a number")
}

impl<'s> CopyComparison<'s> {
    /// Reads the copy of a target with this address.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn new(storage: &'s dyn Storage, target: &str) -> Result<CopyComparison<'s>, ReadError> {
        let name = name_of(target);
        let (mut expected, mut differences) = (HashMap::new(), Differences::default());
        let mut head = CopyHead { target: target.to_owned(), ..CopyHead::default() };
        if let Some(mut copy) = CopyReader::open(storage, &name)? {
            head = copy.head().clone();
            while let Some((url, held)) = copy.next_page()? {
                let version = match held {
                    Held::Taken { version, .. } => Some(version),
                    Held::Unsure | Held::TakenDown | Held::Refused { .. } | Held::Skipped { .. } => None,
                };
                differences.unsure += u64::from(version.is_none());
                expected
                    .insert(number_of(&url), ExpectedDocument { version, is_found: false, is_right: true });
            }
        }
        Ok(CopyComparison { storage, name, head, expected, unknown: BTreeSet::new(), differences })
    }

    /// Takes a document that the target has. One that is listed twice counts once.
    pub fn take(&mut self, listed: &ListedDocument) {
        let number = number(&listed.id);
        match number.and_then(|number| self.expected.get_mut(&number)) {
            Some(ExpectedDocument { is_found: true, .. } | ExpectedDocument { version: None, .. }) => {}
            Some(expected) => {
                expected.is_found = true;
                expected.is_right = expected.version == Some(listed.version);
                match expected.is_right {
                    true => self.differences.same += 1,
                    false => self.differences.other_version += 1,
                }
            }
            None => match UrlRules::keep_all().canonicalize(&listed.url) {
                Ok(url) if id(&url) == listed.id => {
                    if self.unknown.len() < MAX_UNKNOWN && self.unknown.insert(url) {
                        self.differences.unknown += 1;
                    }
                }
                _ => self.differences.foreign += 1,
            },
        }
    }

    /// All have been listed.
    pub fn end(&mut self) -> Differences {
        for expected in self.expected.values_mut() {
            if expected.version.is_some() && !expected.is_found {
                expected.is_right = false;
                self.differences.missing += 1;
            }
        }
        self.differences
    }

    /// Notes that nobody knows what the target has of pages that differ, so that the next delivery sends or deletes them.
    ///
    /// # Errors
    /// When the copy cannot be read or written.
    pub fn repair(self) -> Result<(), DoubtError> {
        let mut file = CopyWriter::create(self.storage, &self.name, &self.head)?;
        let mut copy = CopyReader::open(self.storage, &self.name)?;
        let mut unknown = self.unknown.iter().peekable();
        while let Some((url, held)) = copy.as_mut().map_or(Ok(None), CopyReader::next_page)? {
            while let Some(before) = unknown.next_if(|before| **before < url) {
                file.push(before, &Held::Unsure)?;
            }
            let is_right = self.expected.get(&number_of(&url)).is_none_or(|expected| expected.is_right);
            file.push(&url, if is_right { &held } else { &Held::Unsure })?;
        }
        unknown.try_for_each(|url| file.push(url, &Held::Unsure))?;
        Ok(file.finish(self.storage)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::{BatchAnswers, CopyChange, ItemAnswer, TargetCopy};
    use recrawl_repository::DocumentState;
    use recrawl_repository::storage::MemoryStorage;
    use std::convert::Infallible;
    use std::time::Duration;

    fn url(page: u8) -> CanonicalUrl {
        UrlRules::keep_all().canonicalize(&format!("http://a.test/{page}")).unwrap()
    }

    fn state() -> DocumentState {
        DocumentState { page: 7, capture: 1 }
    }

    fn listed(page: u8, version: u64) -> ListedDocument {
        ListedDocument { id: id(&url(page)), version, url: url(page).to_string() }
    }

    /// Sends what differs from pages 1 to 4, of which 4 is not confirmed; gives it.
    fn sync(storage: &MemoryStorage) -> Vec<CopyChange> {
        let mut sent = Vec::new();
        let mut send = |_, changes: &[CopyChange]| {
            sent.extend_from_slice(changes);
            let answer = |change: &CopyChange| match change {
                CopyChange::Put(page, _) if *page == url(4) => ItemAnswer::Unknown,
                _ => ItemAnswer::Taken,
            };
            BatchAnswers { answers: changes.iter().map(answer).collect(), ..BatchAnswers::default() }
        };
        let pages = || [1, 2, 3, 4].map(|page| Ok::<_, Infallible>((url(page), state()))).into_iter();
        drop(
            TargetCopy { storage, target: "x", batch: 9, lateness: Duration::ZERO }
                .sync(50, &pages, &mut send),
        );
        sent
    }

    #[test]
    fn each_difference_is_found_and_repaired() {
        let storage = MemoryStorage::new();
        sync(&storage);
        let mut comparison = CopyComparison::new(&storage, "x").unwrap();
        let foreign = ListedDocument { id: "theirs".into(), ..ListedDocument::default() };
        for document in [listed(1, 50), listed(1, 50), listed(2, 49), listed(4, 1), listed(9, 50), foreign] {
            comparison.take(&document);
        }
        let found = comparison.end();
        let expected =
            Differences { same: 1, missing: 1, other_version: 1, unknown: 1, foreign: 1, unsure: 1 };
        assert_eq!(found, expected);
        comparison.repair().unwrap();
        let put = |page| CopyChange::Put(url(page), state());
        assert_eq!(sync(&storage), [CopyChange::Delete(url(9)), put(2), put(3), put(4)]);
        assert_eq!(sync(&storage), [put(4)]);
    }
}
