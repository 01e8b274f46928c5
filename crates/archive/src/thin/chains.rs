//! Chains of versions in some files that are due, and what stays of them.

use crate::records::FoundRecord;
use recrawl_types::ArchivePosition;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// The last version of a chain in a month, as far as the files were read.
#[derive(Clone, Copy)]
pub(super) struct Tip {
    pub(super) at: ArchivePosition,
    /// The body before it; of file 0 if there is none.
    pub(super) before: ArchivePosition,
    /// Hash of its record's name; 0 of the first revisit of a version that is of another month or an earlier file.
    pub(super) id: u64,
}

/// Some files that are due, and the last versions of each of their pages in each month.
#[derive(Default)]
pub struct DueFiles {
    /// The files before them have this number at most.
    pub(super) after: u32,
    pub(super) files: Vec<(u32, String)>,
    /// Files that may end with versions whose visits a crash lost: pages still have the bodies before them.
    pub(super) crashed: BTreeSet<u32>,
    /// By page and month.
    pub(super) tips: HashMap<u128, Tip>,
    /// Those of further chains of the same page.
    branches: HashMap<u128, Vec<Tip>>,
    /// Versions that stay all the same: pages' records name them, or revisits in files that are not due refer to them.
    pub(super) stays: BTreeSet<ArchivePosition>,
    /// The last month of these files.
    pub(super) until: String,
    /// The number of the last file, also of one that cannot be read.
    pub(super) end: u32,
}

impl DueFiles {
    /// None yet behind number `after`.
    pub(super) fn new(after: u32) -> DueFiles {
        DueFiles { after, ..DueFiles::default() }
    }

    /// The number of the last file.
    pub fn end(&self) -> u32 {
        self.end
    }

    fn tips(&self, key: u128) -> impl Iterator<Item = &Tip> {
        self.tips.get(&key).into_iter().chain(self.branches.get(&key).into_iter().flatten())
    }

    pub(super) fn all_tips(&self) -> impl Iterator<Item = &Tip> {
        self.tips.values().chain(self.branches.values().flatten())
    }

    /// A version takes the place of the one that it follows.
    pub(super) fn follow(&mut self, key: u128, tip: Tip) {
        let is_followed = |known: &Tip| known.at == tip.before || known.id == 0;
        match self.tips.entry(key) {
            Entry::Vacant(first) => drop(first.insert(tip)),
            Entry::Occupied(mut first) if is_followed(first.get()) => *first.get_mut() = tip,
            Entry::Occupied(_) => {
                let others = self.branches.entry(key).or_default();
                match others.iter_mut().find(|other| is_followed(other)) {
                    Some(other) => *other = tip,
                    None => others.push(tip),
                }
            }
        }
    }

    /// The last versions of a month to which a revisit may refer.
    pub(super) fn referred(&mut self, key: u128, month: &str, found: &FoundRecord) -> Vec<ArchivePosition> {
        let Some(target) = target(found) else { return self.tips(key).map(|tip| tip.at).collect() };
        if let Some(tip) = self.tips(key).find(|tip| tip.id == target) {
            return vec![tip.at];
        }
        // A crash may leave a version whose visit is lost: the page still has the one before it.
        if found.field("WARC-Refers-To-Date").is_some_and(|date| date.starts_with(month)) {
            let before: Vec<ArchivePosition> = self.tips(key).map(|tip| tip.before).collect();
            self.stays.extend(before);
        }
        Vec::new()
    }

    /// Does this response or revisit stay?
    pub(super) fn keeps(&self, found: &FoundRecord, url: &str, at: ArchivePosition) -> bool {
        let Some((key, _)) = key(found, url).filter(|(key, _)| self.tips.contains_key(key)) else {
            return true;
        };
        if found.kind() == Some("response") {
            return self.stays.contains(&at) || self.tips(key).any(|tip| tip.at == at);
        }
        let target = target(found);
        self.tips(key).any(|tip| Some(tip.id) == target) || self.tips(key).all(|tip| tip.at <= at)
    }
}

/// The key of a page in a month, and the month.
pub(super) fn key<'f>(found: &'f FoundRecord, url: &str) -> Option<(u128, &'f str)> {
    let month = found.field("WARC-Date")?.get(..7)?;
    Some((xxh3_128(format!("{month} {url}").as_bytes()), month))
}

/// Hash of the name of the record that a revisit refers to, if it says so.
fn target(found: &FoundRecord) -> Option<u64> {
    found.field("WARC-Refers-To").map(|id| xxh3_64(id.as_bytes()))
}
